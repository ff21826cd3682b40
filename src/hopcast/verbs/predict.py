"""predict: how long a collective takes, beside the bound, with what to change."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hopcast import algorithms
from hopcast.choose import every
from hopcast.findings import find
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.question import Question
from hopcast.result import Result, Row
from hopcast.units import show_both, show_seconds

from . import _together, _traffic, ask
from ._advice import answer, working
from ._stages import stages

IDEAL = "ideal: links at their rated one-way bandwidth; real machines reach 80-95 % of this"
# all_reduce of 8 GiB: 69 % on 8 H200, 61 % on 8 B200; 50 % on GB200 NVL72, of whatever size NVIDIA meant.
# Source: stas00/ml-engineering, network/README.md, read 2026-11-29.
IN_NETWORK = IDEAL.replace("real machines reach 80-95 %", "sums in switches reach 50-70 %")
SHOWN = (
    "cluster",
    "collective",
    "algorithm",
    "algorithm_source",
    "price",
    "over",
    "ranks",
    "groups",
    "size_bytes",
    "per_rank_bytes",
    "steps",
    "time_us",
    "latency_us",
    "bandwidth_us",
    "algbw_GBps",
    "busbw_GBps",
    "bound_us",
    "bound_kind",
    "limit_us",
    "efficiency",
    "bottleneck",
    "max_link_bytes",
)
SEVERAL = (
    "algorithm",
    "price",
    "steps",
    "time_us",
    "latency_us",
    "bandwidth_us",
    "busbw_GBps",
    "bound_us",
    "efficiency",
    "bottleneck",
)


def predict(
    collective: str | Schedule,
    cluster: str | Cluster,
    *,
    size: str | float | None = None,
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    algorithm: str = "auto",
    price: str = "",
    combine: str = "add",
    per_rank: bool = False,
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    explain: bool = False,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
    matrix: _traffic.Given | None = None,
    moe: str | None = None,
    beside: str | None = None,
    shortcut: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """How long a collective takes on a cluster.

    Args:
        collective: A name, or a schedule (object, or file as on the command line).
        cluster: A name or an object.
        size: D, bytes of the whole array of one group: ``8MiB``, ``bf16[2048,2048]`` or a number. A traffic
            matrix is in bytes; with a size it is scaled so that this is its sum.
        over: Axes that it runs over; default all.
        mesh: Logical axes, ``data=4,model=8``.
        order: How the mesh lies on the chips: row, jax, row-major over axes as z,y,x, or a file.
        algorithm: ``auto``, ``best``, ``all`` (a row each) or a name with options.
        price: ``formula``, ``steps`` or ``flows``; default the formula where it is exact, else flows, and
            steps where sends are too many to follow.
        combine: ``add`` or ``max``.
        per_rank: The size of all_to_all is per rank, as nccl-tests counts it.
        root: Of rooted collectives.
        shift: Of permute.
        seed: Of random choices.
        explain: Notes say how the number comes about.
        slow: Slow cables, ``3,3:3,4=0.5``.
        dead: Dead cables, ``3,3:3,4``.
        matrix: Of all_to_all_v: n x n bytes, a .csv or .npy file or an array.
        moe: Of all_to_all_v: the layer of experts that the matrix comes from,
            ``tokens=4096,hidden=7168,dtype=bf16,experts=256,top=8,skew=zipf:1.0,seed=1,phase=dispatch``.
        beside: Another collective at the same time, ``all_gather:1GiB over gpu by ring``; on the command line
            ``--with``.
        shortcut: Whether flows may use symmetry; without, every send is simulated. The answer is the same.
        progress: Called now and then with the part of a simulation that is done.

    Returns:
        One row, or one for each algorithm or each of two collectives, with times in microseconds and rates
        in GB/s.

    Raises:
        InputError: for anything that cannot be read or does not fit.

    >>> r = predict("all_gather", "v5e:4x4,latency=0", size="bf16[2048,8192]", over="x", algorithm="chain")
    >>> round(r.rows[0]["time_us"], 3), r.rows[0]["groups"]
    (559.241, 4)
    """
    sent = _traffic.asked(matrix, moe, size, cluster, over, mesh, order)
    q, where = ask.question(
        collective,
        cluster,
        size=sent.some(),
        over=over,
        mesh=mesh,
        order=order,
        root=root,
        shift=shift,
        seed=seed,
        per_rank=per_rank,
        slow=slow,
        dead=dead,
        matrix=sent.matrix,
        words=sent.words,
    )
    if not shortcut and price in ("formula", "steps"):
        raise InputError(f"--no-shortcut is for --price flows; {price} simulates nothing")
    q, said = replace(q, progress=progress, shortcut=shortcut), list(sent.said)
    if beside is not None:
        return _together.result(q, where, beside, algorithm, price, combine, said)
    return _result(q, where, algorithm, price, combine, said, explain)


def _result(
    q: Question, where: ask.Place, algorithm: str, price: str, combine: str, said: list[str], explain: bool
) -> Result:
    """One collective by one algorithm, or a row for each."""
    several = algorithm == "all" and q.schedule is None
    if several:
        with working(q, "best", price, combine):
            found = every(q, price, combine)
    else:
        found = [answer(q, algorithm, price, combine)]
    rows = [_row(a) for a in found]
    notes = said + ([] if several else _notes(found[0], rows[0], explain))
    in_network = not several and found[0].algorithm.split(",")[0] in ("nvls", "sharp")
    ideal = IN_NETWORK if in_network else IDEAL
    title = f"{q.collective} of {show_both(q.size)} on {q.cluster.name}: {ideal}"
    return Result(
        rows,
        SEVERAL if several else SHOWN,
        title,
        notes,
        [*where.warnings, *dict.fromkeys(n for a in found for n in a.notes)],
        dict(ask.understood(q)),
        found if several else found[0],
    )


def _row(a: Answer) -> Row:
    return {**a.row(), "findings": [f.row() for f in find(a)]}


def _notes(a: Answer, row: Row, explain: bool) -> list[str]:
    notes = [
        f"{f['code']}: {f['text']}" + (f"\n  try: {f['try']}" if f["try"] else "") for f in row["findings"]
    ]
    how = [] if a.question.shortcut or a.flows is None else [f"{a.flows.how}; {a.flows.events:,} events"]
    return (_explain(a) if explain else []) + how + stages(a) + notes


def _explain(a: Answer) -> list[str]:
    """How the number comes about: the algorithm's own words, the three prices, the bound."""
    said = []
    name = a.algorithm.split(",")[0]
    if name in algorithms.names():
        one = algorithms.get(name)
        text = " ".join((one.module.__doc__ or "").split())
        said.append(f"{name}: {text} Source: {one.source}.")
    if a.steps is not None:
        s = a.steps
        said.append(
            f"by steps (a barrier after each): {show_seconds(s.latency)} of latency + "
            f"{show_seconds(s.bandwidth)} of bytes in {a.schedule.step_count} steps"
        )
    if a.flows is not None:
        said.append(
            f"by flows (no barrier, max-min fair): {show_seconds(a.flows.seconds)}, {a.flows.events} events; "
            f"{a.flows.how}"
        )
    for name, b in (("bound", a.bound), ("limit with every link", a.limit)):
        tight = "; some schedule reaches this for large D" if b.tight and b.kind != "latency" else ""
        said.append(f"{name}: {show_seconds(b.seconds)} ({b.kind}: {b.what}{tight})")
    return said
