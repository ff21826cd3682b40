"""roofline: how much a chip must compute for each byte that it reads, or sends, to be bound by its FLOP/s."""

from collections.abc import Mapping

from hopcast import chips
from hopcast.dtypes import dtype as named
from hopcast.dtypes import itemsize
from hopcast.ir import sharding
from hopcast.ir.cluster import Cluster, Figure
from hopcast.names import InputError
from hopcast.result import Result, Row
from hopcast.units import show_rate

from . import ask


def roofline(where: str | Cluster, dtype: str = "bf16", *, weights: str = "") -> Result:
    """The rates of one chip and the intensities from which on its FLOP/s bind.

    A matmul of large weights reads each weight once and does 2 FLOPs with it for every row of the batch, so
    that the batch from which on it is compute-bound is half the bytes of a weight times the critical
    intensity. With ``weights`` the rows of the batch that come and go count, too:
    2 b D F / C = (D F + b D + b F) / B in bytes, solved for b.

    Args:
        where: A chip, a cluster or an object.
        dtype: Of the matmul.
        weights: ``int8[16384,4096]``, for the exact batch.

    Returns:
        One row: chip, dtype, flops (FLOP/s), hbm_GBps and vmem_GBps, link_GBps one way, axis_GBps (two links,
        as a ring uses them); critical_hbm, critical_vmem, critical_link and critical_axis in FLOPs per byte;
        critical_batch and critical_batch_vmem.

    Raises:
        InputError: for an unknown chip, a dtype without FLOP/s, weights that no batch is enough for.

    Source: Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785; jax-ml scaling-book, chapters
    Rooflines and TPUs.

    >>> row = roofline("v5e").rows[0]
    >>> round(row["critical_hbm"], 1), round(row["critical_batch"], 1), round(row["critical_axis"], 1)
    (240.2, 240.2, 2188.9)
    """
    name, figures = _figures(where)
    found = flops_of(figures, dtype)
    if found is None:
        have = ", ".join(k.removeprefix("flops.") for k in figures if k.startswith("flops.")) or "none"
        raise InputError(f"no FLOP/s of {dtype} is known for {name}; there is: {have}")
    flops = found.value
    row: Row = {"chip": name, "dtype": dtype, "flops": flops}
    rates = {k: figures[f"{k}.bandwidth"].value for k in ("hbm", "vmem") if f"{k}.bandwidth" in figures}
    if "ici.bandwidth" in figures:
        rates |= {"link": figures["ici.bandwidth"].value, "axis": 2 * figures["ici.bandwidth"].value}
    row |= {f"{k}_GBps": r / 1e9 for k, r in rates.items()}
    row |= {f"critical_{k}": flops / r for k, r in rates.items()}
    row |= {
        f"critical_batch{'' if k == 'hbm' else '_vmem'}": _batch(name, flops, rates[k], dtype, weights)
        for k in ("hbm", "vmem")
        if k in rates
    }
    notes = [f"{k}: {show_rate(r)}, {flops / r:.4g} FLOPs per byte" for k, r in rates.items()]
    return Result(
        [row], (), f"{name}: {flops:.4g} FLOP/s of {dtype}", notes, (), {"chip": name, "dtype": dtype}
    )


def _figures(where: str | Cluster) -> tuple[str, Mapping[str, Figure]]:
    if isinstance(where, str) and chips.known(where):
        chip = chips.load(where)
        return chip.name, chip.figures
    cluster = ask.cluster_of(where)
    return cluster.name, cluster.figures


def flops_of(figures: Mapping[str, Figure], dtype: str) -> Figure | None:
    """FLOP/s of one chip with that dtype, where a source gives it."""
    return figures.get(f"flops.{named(dtype).flops}")


def _batch(name: str, flops: float, rate: float, dtype: str, weights: str) -> float:
    """Rows from which on a matmul is compute-bound."""
    if not weights:
        return flops / rate * itemsize(dtype) / 2
    w = sharding.parse(weights, {})
    if len(w.shape) != 2:
        raise InputError(f"weights {weights!r}: write a matrix, as in int8[16384,4096]")
    d, f = w.shape
    each = 2 * d * f / flops - itemsize(dtype) * (d + f) / rate
    if each <= 0:
        raise InputError(f"weights {weights!r} are so small that no batch is compute-bound on {name}")
    return sharding.whole_bytes(w) / rate / each
