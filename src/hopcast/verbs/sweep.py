"""sweep: one collective over many sizes, in nccl-tests' columns."""

from collections.abc import Callable, Sequence

from hopcast import units
from hopcast.choose import every
from hopcast.dtypes import itemsize
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ROOTED, busbw_factor, per_rank_size
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.predict import BY_STEPS, Answer
from hopcast.question import Question
from hopcast.result import Result, Row

from . import ask
from ._advice import answer, working
from .predict import IDEAL

MOST_SIZES = 10_000


def sizes(
    first: str | float, last: str | float, factor: float = 2.0, step: str | float | None = None
) -> list[int]:
    """Sizes from ``first`` to ``last``, each ``factor`` times or ``step`` bytes more than the one before.

    >>> sizes("8", "64", 2)
    [8, 16, 32, 64]

    Raises:
        InputError: for a range that is empty or endless.
    """
    low, high = units.size(first), units.size(last)
    if high < low:
        raise InputError(
            f"sizes from {first} to {last}: the first is above the last; write the smallest first"
        )
    if step is None and not 1 < factor < 2.0**63:
        raise InputError(f"-f {factor:g}: the factor between sizes is above 1, as in -f 2")
    more = units.size(step) if step is not None else 0
    found, at = [low], float(low)
    while True:
        at = at + more if step is not None else at * factor
        if at > high * (1 + 1e-12):
            return found
        if round(at) > found[-1]:
            found.append(round(at))
        if len(found) > MOST_SIZES:
            raise InputError(
                f"more than {MOST_SIZES:,} sizes from {first} to {last}; take a larger factor or step"
            )


def sweep(
    collective: str | Schedule,
    cluster: str | Cluster,
    *,
    first: str | float = "8",
    last: str | float = "8G",
    factor: float = 2.0,
    step: str | float | None = None,
    algorithm: str = "auto",
    price: str = "",
    combine: str = "add",
    dtype: str = "f32",
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
    doing: Callable[[str], None] | None = None,
) -> Result:
    """One row per size (and algorithm, with ``all``), as nccl-tests prints them.

    Its size of all_to_all is per rank, and its sizes are whole elements, in some collectives 16 bytes of each
    rank: a size that has none is a row of which nothing is sent.

    Args:
        collective: A name or a schedule.
        cluster: A name or an object.
        first: Smallest size.
        last: Largest size.
        factor: Between sizes.
        step: Or bytes between sizes.
        algorithm: ``auto``, ``best``, ``all`` or a name.
        price: formula, steps or flows; default the formula where it is exact, else flows, and steps where
            there are too many sends to follow.
        combine: add or max.
        dtype: For the count column.
        over: Axes.
        mesh: Logical axes.
        order: Of the mesh.
        root: Of rooted collectives.
        shift: Of permute.
        seed: Of random choices.
        slow: Slow cables.
        dead: Dead cables.
        doing: Told which size is looked at.

    >>> r = sweep("all_reduce", "ring:4,bandwidth=45GB/s,latency=0", first="1M", last="4M")
    >>> [row["size_bytes"] for row in r]
    [1048576, 2097152, 4194304]
    """
    item = itemsize(dtype)
    rows: list[Row] = []
    warnings: Sequence[str] = ()
    inputs: Row = {}
    barred: dict[str, None] = {}
    every_size = sizes(first, last, factor, step)
    for nth, size in enumerate(every_size, 1):
        if doing is not None:
            doing(f"looking at {units.show_size(size)}, {nth} of {len(every_size)} sizes")

        def asked(nbytes: int) -> tuple[Question, ask.Place]:
            return ask.question(
                collective, cluster, size=nbytes, over=over, mesh=mesh, order=order, root=root, shift=shift,
                seed=seed, per_rank=True, slow=slow, dead=dead,
            )  # fmt: skip

        q, where = asked(size)
        warnings, inputs = where.warnings, dict(ask.understood(q))
        sent = count(q.collective, q.group.ranks, size, item) * _each(q.collective, q.group.ranks) * item
        if not sent:
            rows.append(_nothing(q, dtype))
            continue
        if sent != size:
            q, _ = asked(round(sent))
        if algorithm == "all" and q.schedule is None:
            with working(q, "best", price, combine):
                found = every(q, price, combine)
        else:
            found = [answer(q, algorithm, price, combine)]
        rows += [_row(a, dtype, item) for a in found]
        barred |= dict.fromkeys(note for a in found for note in a.notes if note.startswith(BY_STEPS))
    inputs.pop("size_bytes")
    return Result(
        rows, (), f"{inputs['collective']} on {inputs['cluster']}: {IDEAL}", (), [*warnings, *barred], inputs
    )


# nccl-tests counts one rank's elements where every rank has a part of its own, and leaves off what would not
# be a multiple of 16 bytes (src/*.cu, *GetCollByteCount, 2.17).
_COUNTED_EACH = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
_ALIGNED = 16
# It prints the operation that it was asked for, a sum, also for sendrecv (src/sendrecv.cu, 2.17).
_OPERATED = ("all_reduce", "reduce_scatter", "reduce", "permute")


def count(collective: str, ranks: int, size: int, item: float) -> int:
    """Elements that nccl-tests prints for a size: all of them, or those of one rank.

    >>> count("all_gather", 80, 2**25, 4), count("all_reduce", 80, 2**25, 4), count("all_gather", 8, 8, 4)
    (104856, 8388608, 0)
    """
    elements, aligned = int(size // item), int(_ALIGNED // item)
    if collective not in _COUNTED_EACH:
        return elements
    return elements // ranks // aligned * aligned


def _each(collective: str, ranks: int) -> int:
    """How many of those counts the size has."""
    return ranks if collective in _COUNTED_EACH else 1


def _nothing(q: Question, dtype: str) -> Row:
    """The row of a size that is too small to be sent."""
    none = {"size_bytes": 0, "count": 0, **_kind(q, dtype), "algorithm": "none", "time_us": 0.0}
    return {**none, "algbw_GBps": None, "busbw_GBps": None, "bound_us": 0.0}


def _kind(q: Question, dtype: str) -> Row:
    redop = "sum" if q.collective in _OPERATED else "none"
    return {"type": dtype, "redop": redop, "root": q.hint.root if q.collective in ROOTED else -1}


def _row(a: Answer, dtype: str, item: float) -> Row:
    q = a.question
    name, n = q.collective, q.group.ranks
    size = per_rank_size(name, n, q.size)
    algbw = size / a.time / 1e9 if a.time > 0 else None
    return {
        "size_bytes": round(size),
        "count": count(name, n, round(size), item),
        **_kind(q, dtype),
        "algorithm": a.algorithm,
        "time_us": a.time * 1e6,
        "algbw_GBps": algbw,
        "busbw_GBps": algbw * busbw_factor(name, n) if algbw is not None else None,
        "bound_us": a.bound.seconds * 1e6,
    }
