"""simulate: every link while a collective runs, and the sends that each waited for the one before."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.findings import find
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Floats
from hopcast.names import InputError
from hopcast.predict import BY_STEPS, Answer
from hopcast.question import Question
from hopcast.result import Result, Row
from hopcast.simulate import flows as engine
from hopcast.simulate import listing, window
from hopcast.simulate.flows import Flows
from hopcast.simulate.listing import TooManyError
from hopcast.simulate.noise import Noise
from hopcast.units import show_both, show_seconds

from . import _traffic, _uneven, ask
from ._advice import answer, working
from ._report import report

_SHOWN_PATH = 12
_SHOWN_LINKS = 12
_PERCENTILES = (5, 50, 95, 99)
_PRICES = ("flows",)
_LOADS = (
    f"too many sends to follow one by one, so {BY_STEPS}, gives the time; what each link carries is exact, "
    "and when is not known"
)


def simulate(
    collective: str | Schedule,
    cluster: str | Cluster,
    *,
    size: str | float | None = None,
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    algorithm: str = "auto",
    per_rank: bool = False,
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
    matrix: _traffic.Given | None = None,
    moe: str | None = None,
    jitter: str | float = 0.0,
    samples: int = 1,
    straggler: Sequence[str] = (),
    background: Sequence[str] = (),
    shortcut: bool = True,
    every: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a collective by flows; one row per link that carries bytes, hottest first.

    Args: as `predict`, and

        jitter: ``1%`` or 0.01: the bytes of each send take (1 + 0.01 abs(z)) times as long, z close to a
            normal number of variance 1, drawn for each send by itself from the seed.
        samples: Runs with jitter, each with other numbers; rows and notes are of the first, percentiles of
            all.
        straggler: Ranks that start late, ``3,3=10us``, or send more slowly, ``3,3=2x``.
        background: Other traffic, which is served first: ``20%`` of every link, or ``0,0:3,3=10GB/s`` along
            the route between two chips and back (``>``: one way).
        shortcut: Without, every send is simulated, where else symmetry may spare most of them.
        every: Keep the times of all sends, as `trace` needs.

    Returns:
        Rows of link, src, dst, bytes, busy_us and utilization (busy part of the whole time); the notes
        give the time beside the bound, the critical path and what to change. ``detail`` is the answer
        with its flows. Of more sends than can be followed the loads of links are told and no times of
        sends; the whole time is then that by steps.

    >>> r = simulate("all_gather", "ring:4,bandwidth=45GB/s,latency=0", size="4MiB", algorithm="ring")
    >>> len(r), r.rows[0]["utilization"]
    (4, 1.0)
    >>> slow = {"size": "4MiB", "algorithm": "ring", "straggler": ["2=2x"]}
    >>> late = simulate("all_gather", "ring:4,bandwidth=45GB/s,latency=0", **slow)
    >>> late.inputs["time_us"] / late.inputs["rated_us"]
    2.0
    """
    straggler, background, slow, dead = (
        [f] if isinstance(f, str) else list(f) for f in (straggler, background, slow, dead)
    )
    there = _uneven.background(ask.cluster_of(cluster, slow, dead), background)
    sent = _traffic.asked(matrix, moe, size, there, over, mesh, order)
    faults = [w for key, many in (("--slow", slow), ("--dead", dead)) for one in many for w in (key, one)]
    q, where = ask.question(
        collective, there, size=sent.some(), over=over, mesh=mesh, order=order, root=root, shift=shift,
        seed=seed, per_rank=per_rank, matrix=sent.matrix, words=[*faults, *sent.words],
    )  # fmt: skip
    uneven = _uneven.noise(there.topology, jitter, straggler, seed)
    runs = _uneven.samples(samples, uneven)
    watched = replace(q, progress=progress, shortcut=shortcut, detail=True)
    a = _rated(watched, algorithm, uneven is None and not every)
    rated, times = a.time, np.zeros(0)
    with working(watched, algorithm, "flows", prices=_PRICES):
        if uneven is not None:
            a, times = _with_noise(a, uneven, runs, every)
        elif every and a.flows is not None and not a.flows.detailed:
            a = replace(a, flows=_run(a, None, True))
    said = [*sent.said, *([_spread(uneven, times, rated)] if uneven is not None else [])]
    said += (
        [f"other traffic takes {' and '.join(background)}; bounds are of what is left"] if background else []
    )
    inputs = dict(ask.understood(q))
    if background:
        inputs["background"] = background
    if uneven is not None:
        inputs |= {"jitter": uneven.jitter, "straggler": straggler, "samples": runs, "rated_us": rated * 1e6}
        inputs |= {f"p{p}_us": float(np.percentile(times, p)) * 1e6 for p in _PERCENTILES if runs > 1}
    return _result(a, said, inputs, where.warnings)


def _rated(q: Question, algorithm: str, loads_will_do: bool) -> Answer:
    """The answer by flows; by steps, which tell what each link carries, where there are too many sends.

    Raises:
        InputError: if there are too many for steps too, or what is asked takes the times of all sends.
    """
    try:
        return answer(q, algorithm, "flows", prices=_PRICES)
    except TooManyError as reason:
        if not loads_will_do:
            raise
        try:
            return answer(q, algorithm, "steps")
        except InputError:
            raise reason from None


def _result(a: Answer, said: list[str], inputs: Row, warnings: Sequence[str]) -> Result:
    q, flows, load = a.question, a.flows, a.load
    assert load is not None
    how = flows.how if flows else _LOADS
    title = (
        f"{q.collective} of {show_both(q.size)} on {q.cluster.name} by {a.algorithm}: "
        f"{show_seconds(a.time)}, "
        f"bound {show_seconds(a.bound.seconds)} ({a.efficiency:.1%})"
    )
    # Links that other traffic slows are not slow links.
    known = "slow_link" if "background" in inputs and "--slow" not in q.words else ""
    notes = [
        f"{how}, {flows.events:,} events" if flows and flows.events else how,
        *said,
        *([*report(a, flows), _path(a, flows)] if flows else []),
        *(f"{f.code}: {f.text}" for f in find(a) if f.code != known),
    ]
    inputs |= {
        "algorithm": a.algorithm,
        "time_us": a.time * 1e6,
        "bound_us": a.bound.seconds * 1e6,
        "events": flows.events if flows else 0,
        "solved": flows.solved if flows else 0,
        "how": how,
    }
    notes = [n for n in notes if n]
    return Result(_links(a, load), (), title, notes, [*warnings, *a.notes], inputs, a, most=_SHOWN_LINKS)


def _run(a: Answer, uneven: Noise | None, detail: bool) -> Flows:
    """The answer's schedule once more."""
    q = a.question
    return engine.simulate(
        a.schedule, q.cluster, q.size, shortcut=q.shortcut, detail=detail, progress=q.progress, uneven=uneven,
        most=window.MOST, kept=listing.WELCOME,
    )  # fmt: skip


def _with_noise(a: Answer, uneven: Noise, runs: int, every: bool) -> tuple[Answer, npt.NDArray[np.float64]]:
    """The answer of the first sample, and the time of each."""
    assert a.flows is not None
    first = _run(a, uneven, every or a.flows.detailed)
    others = (_run(a, replace(uneven, sample=i), False).seconds for i in range(1, runs))
    times = np.array([first.seconds, *others])
    time, latency = first.seconds, first.critical_latency()
    notes = (first.note,) if first.note else ()
    return replace(a, flows=first, notes=notes, time=time, latency=latency, bandwidth=time - latency), times


def _spread(uneven: Noise, times: npt.NDArray[np.float64], rated: float) -> str:
    """How far the times lie from the rated one, in words."""
    said = [f"jitter {uneven.jitter:.2%} with seed {uneven.seed}"] if uneven.jitter else []
    said += [f"{len(uneven.late)} late"] if uneven.late else []
    said += [f"{len(uneven.slow)} slow"] if uneven.slow else []
    about = f"as rated {show_seconds(rated)}; {', '.join(said)}: "
    if len(times) == 1:
        return f"{about}{show_seconds(float(times[0]))}{_apart(float(times[0]), rated)}"
    at = {p: float(np.percentile(times, p)) for p in _PERCENTILES}
    parts = (f"p{p} {show_seconds(t)}{_apart(t, rated)}" for p, t in at.items())
    return f"{about}{', '.join(parts)} of {len(times):,} samples; the rest is of the first of them"


def _apart(time: float, rated: float) -> str:
    """By how much a time is longer, in words; nothing beside that of one rank, which is 0."""
    return f" ({time / rated - 1:+.2%})" if rated else ""


def _links(a: Answer, load: Floats) -> list[Row]:
    topology = a.question.cluster.topology
    used = np.flatnonzero(load)
    busy = load[used] / topology.bandwidth[used]
    order = np.lexsort((used, -busy))
    used, busy = used[order], busy[order]
    ends = [c[used].tolist() for c in (topology.src, topology.dst)]
    place = {v: topology.place(v) for v in {*ends[0], *ends[1]}}
    axes = [topology.axes[i].name for i in topology.axis[used].tolist()]
    part = np.minimum(busy / a.time, 1.0)
    columns = (axes, *ends, load[used].tolist(), (busy * 1e6).tolist(), part.tolist())
    return [
        {
            "link": f"{axis} {place[src]}>{place[dst]}",
            "src": place[src],
            "dst": place[dst],
            "bytes": carried,
            "busy_us": time,
            "utilization": share,
        }
        for axis, src, dst, carried, time, share in zip(*columns, strict=True)
    ]


def _path(a: Answer, flows: Flows) -> str:
    """The critical path in words."""
    topology, path = a.question.cluster.topology, flows.critical_path()
    if not path:
        return ""
    lines = []
    shown = path if len(path) <= _SHOWN_PATH else [*path[: _SHOWN_PATH // 2], -1, *path[-_SHOWN_PATH // 2 :]]
    for i in shown:
        if i < 0:
            lines.append(f"  ... {len(path) - _SHOWN_PATH} more ...")
            continue
        src, dst = topology.place(int(flows.rows.src[i])), topology.place(int(flows.rows.dst[i]))
        lines.append(
            f"  {flows.ready[i] * 1e6:12.3f} us  step {flows.step[i]:<4} {src} -> {dst}  "
            f"received at {flows.end[i] * 1e6:.3f} us"
        )
    return f"critical path, {len(path)} sends of which each waited for the one before:\n" + "\n".join(lines)


def trace(a: Answer) -> str:
    """The simulation as a Chrome / Perfetto trace: one process per source, one thread per lane, microseconds.

    Source: the Trace Event Format (complete events).

    Raises:
        InputError: if the sends are too many for their times to have been kept.
    """
    assert a.flows is not None
    flows = a.flows
    if not flows.detailed:
        raise InputError(
            f"a trace lists every send, and these are too many ({flows.how}); take a smaller cluster"
        )
    topology = a.question.cluster.topology
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": int(v),
            "tid": 0,
            "args": {"name": f"rank {v} ({topology.place(int(v))})"},
        }
        for v in np.unique(flows.rows.src)
    ]
    rows, place = flows.rows, {v: topology.place(v) for v in np.unique(flows.rows.dst).tolist()}
    columns = (
        rows.src, rows.lane, flows.ready * 1e6, (flows.end - flows.ready) * 1e6, flows.step, rows.dst,
        rows.chunk, rows.count, rows.op, flows.start * 1e6,
    )  # fmt: skip
    for src, lane, ready, lasts, step, dst, chunk, count, op, start in zip(
        *(c.tolist() for c in columns), strict=True
    ):
        events.append(
            {
                "ph": "X",
                "pid": src,
                "tid": lane,
                "ts": ready,
                "dur": lasts,
                "name": f"step {step} to {place[dst]}",
                "args": {
                    "chunk": chunk,
                    "count": count,
                    "op": "reduce" if op else "copy",
                    "bytes_start_us": start,
                },
            }
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})
