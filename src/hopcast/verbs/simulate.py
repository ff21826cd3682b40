"""simulate: every link while a collective runs, and the sends that each waited for the one before."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hopcast.choose import answer
from hopcast.findings import find
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.predict import Answer
from hopcast.result import Result, Row
from hopcast.simulate import flows as engine
from hopcast.simulate.flows import Flows
from hopcast.units import show_seconds, show_size

from . import ask

_SHOWN_PATH = 12
_SHOWN_LINKS = 12


def simulate(
    collective: str | Schedule,
    cluster: str | Cluster,
    *,
    size: str | float,
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
    shortcut: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a collective by flows; one row per link that carries bytes, hottest first.

    Args: as `predict`; without ``shortcut`` every send is simulated, where else symmetry may spare most of
    them.

    Returns:
        Rows of link, src, dst, bytes, busy_us and utilization (busy part of the whole time); the notes
        give the time beside the bound, the critical path and what to change. ``detail`` is the answer
        with its flows.

    >>> r = simulate("all_gather", "ring:4,bandwidth=45GB/s,latency=0", size="4MiB", algorithm="ring")
    >>> len(r), r.rows[0]["utilization"]
    (4, 1.0)
    """
    q, where = ask.question(
        collective,
        cluster,
        size=size,
        over=over,
        mesh=mesh,
        order=order,
        root=root,
        shift=shift,
        seed=seed,
        per_rank=per_rank,
        slow=slow,
        dead=dead,
    )
    a = answer(replace(q, progress=progress), algorithm, "flows")
    assert a.flows is not None
    flows = a.flows if shortcut or a.flows.detailed else _whole(a, shortcut=False)
    title = (
        f"{q.collective} of {show_size(q.size)} on {q.cluster.name} by {a.algorithm}: "
        f"{show_seconds(a.time)}, "
        f"bound {show_seconds(a.bound.seconds)} ({a.efficiency:.1%})"
    )
    notes = [
        f"{flows.how}, {flows.events:,} events",
        _path(a, flows),
        *(f"{f.code}: {f.text}" for f in find(a)),
    ]
    inputs = {
        **ask.understood(q),
        "algorithm": a.algorithm,
        "time_us": a.time * 1e6,
        "bound_us": a.bound.seconds * 1e6,
        "events": flows.events,
        "solved": flows.solved,
        "how": flows.how,
    }
    notes = [n for n in notes if n]
    return Result(
        _links(a, flows), (), title, notes, [*where.warnings, *a.notes], inputs, a, most=_SHOWN_LINKS
    )


def _whole(a: Answer, shortcut: bool = True) -> Flows:
    """The same flows with the times of all sends."""
    return engine.simulate(
        a.schedule, a.question.cluster, a.question.size, shortcut=shortcut, progress=a.question.progress
    )


def _links(a: Answer, flows: Flows) -> list[Row]:
    topology = a.question.cluster.topology
    used = np.flatnonzero(flows.load)
    busy = flows.load[used] / topology.bandwidth[used]
    order = np.lexsort((used, -busy))
    return [
        {
            "link": topology.link_name(int(used[i])),
            "src": topology.place(int(topology.src[used[i]])),
            "dst": topology.place(int(topology.dst[used[i]])),
            "bytes": float(flows.load[used[i]]),
            "busy_us": float(busy[i]) * 1e6,
            "utilization": min(float(busy[i]) / flows.seconds, 1.0),
        }
        for i in order
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
    """
    assert a.flows is not None
    flows = a.flows if a.flows.detailed else _whole(a)
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
    rows = flows.rows
    for i in range(len(rows)):
        events.append(
            {
                "ph": "X",
                "pid": int(rows.src[i]),
                "tid": int(rows.lane[i]),
                "ts": flows.ready[i] * 1e6,
                "dur": (flows.end[i] - flows.ready[i]) * 1e6,
                "name": f"step {flows.step[i]} to {topology.place(int(rows.dst[i]))}",
                "args": {
                    "chunk": int(rows.chunk[i]),
                    "count": int(rows.count[i]),
                    "op": "reduce" if rows.op[i] else "copy",
                    "bytes_start_us": flows.start[i] * 1e6,
                },
            }
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})
