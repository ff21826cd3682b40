"""chip: the data sheet of one chip, each figure with its source, and what they come to on a whole slice."""

import math

from hopcast import chips
from hopcast.chips.slices import spell
from hopcast.ir.cluster import Cluster, Figure
from hopcast.names import InputError
from hopcast.result import Result, Row

from . import ask

SHOWN = ("figure", "value", "unit", "all", "trust", "source", "other")
_UNITS = {"bandwidth": "B/s", "capacity": "B", "latency": "s"}
# Figures of one chip that add up over the chips of a slice.
_ADD = ("cores", "devices", "hbm.capacity", "hbm.bandwidth", "vmem.capacity", "vmem.bandwidth")
_ADD_UNDER = ("flops.",)
_VPU = ("vpu.shape", "vpu.alus", "clock")


def chip(where: str | Cluster) -> Result:
    """Every figure of a chip, or of the chips of a cluster.

    Two figures are derived where their parts are known: ``ici.hop_bytes``, what a link carries one way in
    the latency of one hop, so that smaller messages are a matter of latency; and ``vpu.flops`` of one core,
    lanes x ALUs x clock.

    Args:
        where: A chip, ``v5e``; or a cluster, ``v5e:16x16``, to have the sum over its chips as well.

    Returns:
        One row for each figure: figure, value (SI; a shape as 16x16), unit, all (of all chips together, where
        that adds up and a cluster is given), trust, seen, source, other (what others say). The row ``chips``
        counts them.

    Raises:
        InputError: for an unknown chip, or a cluster of none in particular.

    >>> v5e = {row["figure"]: row["value"] for row in chip("v5e")}
    >>> v5e["ici.bandwidth"], round(v5e["ici.hop_bytes"])
    (45000000000.0, 45000)
    >>> [row["all"] for row in chip("v5e:16x16") if row["figure"] in ("chips", "flops.bf16")]
    [256, 5.0432e+16]
    """
    if isinstance(where, str) and chips.known(where):
        one = chips.load(where)
        name, figures, count = one.title, dict(one.figures), 1
    else:
        cluster = ask.cluster_of(where)
        name, figures, count = cluster.name, dict(cluster.figures), cluster.topology.chips
        if not figures:
            raise InputError(f"{name} is no hardware in particular; there is: {', '.join(chips.names())}")
    rows = [_row(key, figure, count) for key, figure in {**figures, **_derived(figures)}.items()]
    if count > 1:
        rows.insert(0, _row("chips", Figure(1.0, f"the shape of {name}", "", "C"), count))
    return Result(rows, SHOWN, f"{name}: one chip, SI units, bandwidths one way", (), (), {"chip": name})


def _derived(figures: dict[str, Figure]) -> dict[str, Figure]:
    """Products of figures; their source is that of the parts."""
    found = {}
    for key, parts in (("ici.hop_bytes", ("ici.bandwidth", "ici.latency")), ("vpu.flops", _VPU)):
        if all(p in figures for p in parts):
            value = math.prod(figures[p].value for p in parts)
            found[key] = Figure(value, " x ".join(parts), figures[parts[0]].seen, "C")
    return found


def _row(key: str, figure: Figure, count: int) -> Row:
    last = key.rpartition(".")[2]
    unit = "B" if last == "hop_bytes" else "FLOP/s" if "flops" in key else _UNITS.get(last, "")
    adds = key == "chips" or key in _ADD or key.startswith(_ADD_UNDER)
    total = figure.value * count if adds and count > 1 else None
    return {
        "figure": key,
        "value": spell(figure.shape) if figure.shape else figure.value,
        "unit": unit,
        "all": int(total) if total is not None and key in ("chips", "cores", "devices") else total,
        "trust": figure.trust,
        "seen": figure.seen or None,
        "source": figure.source,
        "other": list(figure.other),
    }
