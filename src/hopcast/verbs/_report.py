"""What a simulation tells beside its links: stages, the ranks that end last, the busiest link over time."""

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Floats, Topology
from hopcast.predict import Answer
from hopcast.simulate import network
from hopcast.simulate.flows import Flows
from hopcast.units import show_seconds

Longs = npt.NDArray[np.int64]
_SLICES = 10  # equal parts of the time
_STAGES = 8  # more are no help
_SAME = 1e-9  # part of the time within which ranks end together


def report(a: Answer, flows: Flows) -> list[str]:
    """Notes; none where the times of the sends are not known."""
    if not len(flows.rows) or flows.seconds <= 0:
        return []
    return [n for n in (_stages(a, flows), _ranks(a, flows), _over_time(a, flows)) if n]


def _stages(a: Answer, flows: Flows) -> str:
    """When sends of each kind are under way, and for how long nothing else is."""
    names, kind = _kinds(a.question.cluster.topology, flows)
    if not 1 < len(names) <= _STAGES:
        return ""
    spans = [_merged(flows.ready[kind == i], flows.end[kind == i]) for i in range(len(names))]
    time = np.concatenate([side for both in zip(*spans, strict=True) for side in both])
    kinds = np.tile(np.repeat(np.arange(len(names)), [len(begin) for begin, _ in spans]), 2)
    change = np.zeros((len(time), len(names)), np.int64)
    change[np.arange(len(time)), kinds] = np.repeat([1, -1], len(time) // 2)
    order = np.argsort(time, kind="stable")
    active = np.cumsum(change[order], axis=0)[:-1] > 0
    span = np.diff(time[order])
    alone = active & (active.sum(1) == 1)[:, None]
    lines = []
    for i, name in enumerate(names):
        begin, end = show_seconds(float(spans[i][0][0])), show_seconds(float(spans[i][1][-1]))
        busy, exposed = (show_seconds(float(span[m[:, i]].sum())) for m in (active, alone))
        lines.append(f"  {name}: {begin} to {end}, under way for {busy}, {exposed} of it with nothing else")
    return "stages:\n" + "\n".join(lines)


def _merged(begin: Floats, end: Floats) -> tuple[Floats, Floats]:
    """The times that spans cover together: as many as there are gaps between them, and one.

    >>> [t.tolist() for t in _merged(np.array([0.0, 5.0, 1.0]), np.array([2.0, 6.0, 3.0]))]
    [[0.0, 5.0], [3.0, 6.0]]
    """
    order = np.argsort(begin)
    begin, last = begin[order], np.maximum.accumulate(end[order])
    first = np.append(True, begin[1:] > last[:-1])
    return begin[first], last[np.append(first[1:], True)]


def _kinds(topology: Topology, flows: Flows) -> tuple[list[str], Longs]:
    """Names of the kinds of sends, by the time at which the first is ready, and the kind of each send."""
    rows, chips = flows.rows, topology.chips
    through = (rows.src >= chips) | (rows.dst >= chips)
    ends = [topology.coords[np.minimum(v, chips - 1)] for v in (rows.src, rows.dst)]
    differs = (ends[0] != ends[1]) & ~through[:, None]
    code = (differs @ (1 << np.arange(differs.shape[1]))) * 4 + through * 2 + (rows.op == 1)
    known, first, kind = np.unique(code, return_index=True, return_inverse=True)
    start = np.full(len(known), np.inf)
    np.minimum.at(start, kind.ravel(), flows.ready)
    order = np.lexsort((flows.step[first], start))
    names = [_name(topology, differs[first[i]], int(known[i])) for i in order]
    return names, np.argsort(order)[kind.ravel()].astype(np.int64)


def _name(topology: Topology, differs: Bools, code: int) -> str:
    what = "reduce" if code & 1 else "copy"
    if code & 2:
        return f"{what} in a switch"
    return f"{what} along {','.join(a.name for a, d in zip(topology.axes, differs, strict=True) if d)}"


def _ranks(a: Answer, flows: Flows) -> str:
    """The ranks that have all they wait for last, and first."""
    topology = a.question.cluster.topology
    end = np.full(topology.vertices, -1.0)
    np.maximum.at(end, flows.rows.dst, flows.end)
    ranks = np.flatnonzero(end[: topology.chips] >= 0)
    if len(ranks) < 2:
        return ""
    last, first = (int(ranks[f(end[ranks])]) for f in (np.argmax, np.argmin))
    if end[first] >= end[last] * (1 - _SAME):
        return f"all {len(ranks):,} ranks have their last byte at {show_seconds(float(end[last]))}"
    late = int((end[ranks] >= end[last] * (1 - _SAME)).sum())
    more = f" and {late - 1:,} more" if late > 1 else ""
    return (
        f"last byte: at {topology.place(last)}{more} at {show_seconds(float(end[last]))}; "
        f"half of the ranks have theirs by {show_seconds(float(np.median(end[ranks])))}, "
        f"the first, {topology.place(first)}, at {show_seconds(float(end[first]))}"
    )


def _over_time(a: Answer, flows: Flows) -> str:
    """How busy the busiest link is in equal parts of the time; bytes count evenly while they flow."""
    topology, rows = a.question.cluster.topology, flows.rows
    used = np.flatnonzero(flows.load > 0)
    link = int(used[(flows.load[used] / topology.bandwidth[used]).argmax()])
    pair, src, dst = network.pairs(rows, max(a.schedule.vertices, topology.vertices))
    paths = network.paths(a.question.cluster, src, dst)
    at = np.repeat(np.arange(len(paths.weight)), np.diff(paths.hop))
    crossing = np.bincount(at, (paths.link == link) * paths.weight[at], len(paths.weight))
    of = np.repeat(np.arange(len(src)), np.diff(paths.first))
    part = np.bincount(of, crossing, len(src))[pair]
    mine = part > 0
    volume = a.schedule.bytes(rows, a.question.size)[mine] * part[mine]
    cut = np.linspace(0.0, flows.seconds, _SLICES + 1)
    begin, end = flows.start[mine], np.maximum(flows.end[mine], flows.start[mine] + 1e-30)
    done: Floats = np.clip((cut[:, None] - begin) / (end - begin), 0.0, 1.0) @ volume
    busy = np.minimum(np.diff(done) / (topology.bandwidth[link] * flows.seconds / _SLICES), 1.0)
    said = " ".join(f"{b:.0%}" for b in busy)
    return f"link {topology.link_name(link)} in {_SLICES} equal parts of the time: {said} busy"
