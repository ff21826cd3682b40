"""Sends that never meet: every link serves one lane of one rank, so each send has its whole route to itself.

Then nothing has to be shared and a send is received when its data are there and its lane is free, plus
latency, plus bytes over the slowest link of its route: maxima and sums. With all ranks doing alike, one
vector over the ranks for each send of rank 0 is all there is to compute, whatever the speeds of the links.

Source: Baccelli et al. 1992, Synchronization and Linearity, section 1.2 (max-plus recurrences of event
graphs).
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.hashes import Words
from hopcast.ir.schedule import Orbit, Schedule
from hopcast.ir.topology import Floats
from hopcast.routing import routes

from . import relay_line
from .arcs import earlier
from .network import Longs
from .noise import Noise, pair_keys, turn_keys
from .symmetry import touches

Progress = Callable[[float], None]
Waits = tuple[Longs, Longs]


@dataclass(frozen=True, eq=False)
class Relayed:
    """What came of it.

    Attributes:
        seconds: When the last send was received.
        latency: Seconds of the critical path in which a send waits for its first byte.
        load: ``float64[m]``, bytes over each link.
        sends: Of one rank.
    """

    seconds: float
    latency: float
    load: Floats
    sends: int


@dataclass(frozen=True, eq=False)
class _Way:
    """One kind of send: to where ranks send, and what it costs each.

    Shapes: n ranks in each of g groups; a scalar ``[1, 1]`` where all are equal.

    Attributes:
        to: ``int64[n]``: the rank to which each rank sends.
        lag: ``float64[g, n]``: latency of each rank's route.
        slow: ``float64[g, n]``: seconds per byte on it.
        wires: ``int32[...]``: all links that the ranks use.
    """

    to: Longs
    lag: Floats
    slow: Floats
    wires: Longs


def relay(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float,
    progress: Progress | None = None,
    noise: Noise | None = None,
) -> Relayed | None:
    """Simulate a schedule in which ranks do alike and sends never meet; None of any other.

    What they send is alike; links, and with noise times too, may differ from rank to rank.

    Cost: a few vector operations over the ranks for each send of rank 0.
    """
    orbit = None if schedule.orbit is None else schedule.orbit()
    if orbit is None or not len(orbit.moves) or not len(orbit.step):
        return None
    lane = orbit.out.lane.astype(np.int64)
    kind = lane * schedule.vertices + orbit.out.dst
    if len(np.unique(orbit.step * (int(kind.max()) + 1) + kind)) < len(kind):
        return None  # a rank sends twice over the same route in one step
    ways, way = _ways(schedule, cluster, orbit, kind)
    if ways is None:
        return None
    volume = schedule.bytes(orbit.out, size)
    load = np.zeros(cluster.topology.links)
    for w, total in zip(ways, np.bincount(way, volume, len(ways)), strict=True):
        load[w.wires] += total
    plan = _plan(schedule, orbit, ways, way, volume, gamma, noise)
    if plan.lag.shape[1] == 1:
        return Relayed(*_alone(plan), load, len(way))
    short = relay_line.go(plan, progress)
    if short is not None:
        return Relayed(*short, load, len(way))
    try:
        from .relay_engine import go  # compiled; not needed where all ranks take the same times
    except ImportError:
        return None
    done = go(plan, progress)
    return None if done is None else Relayed(*done, load, len(way))


def _ways(schedule: Schedule, cluster: Cluster, orbit: Orbit, kind: Longs) -> tuple[list[_Way] | None, Longs]:
    """The kinds of sends, if no two of them share a link, and the kind of each send of rank 0."""
    topology = cluster.topology
    _, first, way = np.unique(kind, return_index=True, return_inverse=True)
    moves = {int(to[0]): to.astype(np.int64) for to in orbit.moves}
    moves |= {int(back[0]): back for back in (np.argsort(to) for to in moves.values())}
    ways, used = [], np.zeros(topology.links, np.int64)
    for i in first:
        to = moves.get(int(orbit.out.dst[i]))
        if to is None:
            return None, way
        src, dst = schedule.groups.ravel(), schedule.groups[:, to].ravel()
        found = routes(cluster, src, dst)
        if len(found.pair) > len(src) or np.any(found.hops == 0):
            return None, way
        wires = topology.wire[found.links].astype(np.int64)
        np.add.at(used, wires, 1)
        slow = 1.0 / np.minimum.reduceat(topology.bandwidth[wires], found.start[:-1])
        lag, slow = (_even(c, schedule.groups.shape) for c in (found.latency, slow))
        ways.append(_Way(to, lag, slow, wires))
    return (ways, way) if used.max() == 1 else (None, way)


def _even(column: Floats, shape: tuple[int, ...]) -> Floats:
    """``[g, n]``, or ``[1, 1]`` if all are the same."""
    return column[:1].reshape(1, 1) if np.all(column == column[0]) else column.reshape(shape)


@dataclass(frozen=True, eq=False)
class Plan:
    """The sends of rank 0 in order of steps, and what each waits for.

    Shapes: k sends, w kinds, d waits. Times are of p places: all ranks of all groups, or one for all.

    Attributes:
        step, lane, way: ``int64[k]``.
        volume, reduce: ``float64[k]``: bytes, and seconds of reducing.
        start: ``int64[k + 1]``: send i waits for ``other[start[i]:start[i + 1]]``.
        other: ``int64[d]``: a send.
        at: ``int8[d]``: at which rank it is waited for: 1, at the source, into which it was sent; 0, at the
            destination, from which it was sent.
        lag, slow: ``float64[w, p]``.
        to: ``int64[w, p]``: the place to which each place sends.
        jitter: See `noise.Noise`.
        turn, pair: ``uint64[k]`` and ``uint64[w, p]``: whose sums are hashed for it.
        held: ``float64[p]``: seconds before which a place sends nothing.
    """

    step: Longs
    lane: Longs
    way: Longs
    volume: Floats
    reduce: Floats
    start: Longs
    other: Longs
    at: npt.NDArray[np.int8]
    lag: Floats
    slow: Floats
    to: Longs
    jitter: float
    turn: Words
    pair: Words
    held: Floats


def _plan(
    schedule: Schedule,
    orbit: Orbit,
    ways: list[_Way],
    way: Longs,
    volume: Floats,
    gamma: float,
    noise: Noise | None,
) -> Plan:
    read, write = touches(orbit, schedule.chunks)
    data, clobber = (earlier(a, b, orbit.step) for a, b in ((write, read), (read, write)))
    data, clobber = _needed([ways[w].to for w in way.tolist()], data, clobber)
    other, waits = (np.concatenate([data[i], clobber[i]]) for i in (0, 1))
    at = np.repeat([1, 0], [len(data[0]), len(clobber[0])]).astype(np.int8)
    order = np.argsort(waits, kind="stable")
    groups, n = schedule.groups.shape
    uniform = noise is None and all(w.lag.size == 1 and w.slow.size == 1 for w in ways)
    noise = noise or Noise()
    shape = (1, 1) if uniform else (groups, n)
    lag = np.stack([np.broadcast_to(w.lag, shape).ravel() for w in ways])
    slow = np.stack([np.broadcast_to(w.slow, shape).ravel() for w in ways])
    to = [np.zeros(1, np.int64) if uniform else (np.arange(groups)[:, None] * n + w.to).ravel() for w in ways]
    place = schedule.groups.ravel()[: lag.shape[1]]
    for vertex, factor in noise.slow.items():
        slow[:, place == vertex] *= factor
    return Plan(
        orbit.step, orbit.out.lane.astype(np.int64), way.astype(np.int64),
        volume, gamma * volume * (orbit.out.op == 1),
        np.searchsorted(waits[order], np.arange(len(way) + 1)).astype(np.int64), other[order], at[order],
        lag, slow, np.stack(to),
        noise.jitter, turn_keys(noise.seed, noise.sample, orbit.step, orbit.out.lane),
        np.stack([pair_keys(place, place[t]) for t in to]), noise.starts(schedule.vertices)[place],
    )  # fmt: skip


def _needed(to: list[Longs], data: Waits, clobber: Waits) -> tuple[Waits, Waits]:
    """The waits that do not follow from others: what is overwritten often went into what overwrites it.

    So it is round a ring, where sums come back to ranks that passed on their part of them long ago. Every
    send gets one parent, the last send whose data it passes on, and a source in the same tree. A wait follows
    from those for parents where the send waited for, at the rank in question, is an ancestor.

    Args:
        to: Of each send, the rank to which each rank sends.
        data: Pairs of sends of which the second reads what the first wrote; they meet at the second's source.
        clobber: Pairs of which the second overwrites what the first read; they meet at the second's
            destination.
    """
    count = len(to)
    parent, at = [-1] * count, [0] * count
    for before, after in zip(data[0].tolist(), data[1].tolist(), strict=True):
        parent[after] = max(parent[after], before)
    below = [1] * count
    for k in range(count - 1, -1, -1):
        if parent[k] >= 0:
            below[parent[k]] += below[k]
    first, free = [0] * count, [0] * count  # a send and all below it are numbered first .. first + below - 1
    top = 0
    for k, p in enumerate(parent):
        if p < 0:
            first[k], top = top, top + below[k]
        else:
            first[k], free[p] = free[p], free[p] + below[k]
            at[k] = int(to[p][at[p]])
        free[k] = first[k] + 1
    number, size, place = np.array(first), np.array(below), np.array(at)
    goal = np.array([t[a] for t, a in zip(to, at, strict=True)], np.int64)
    kept = []
    for (first_of, then), here in (
        (data, goal[data[0]] == place[data[1]]),
        (clobber, place[clobber[0]] == goal[clobber[1]]),
    ):
        inside = (number[first_of] < number[then]) & (number[then] < number[first_of] + size[first_of])
        keep = ~(inside & here) | (np.array(parent)[then] == first_of)
        kept.append((first_of[keep], then[keep]))
    return kept[0], kept[1]


def _alone(plan: Plan) -> tuple[float, float]:
    """Seconds and latency where all ranks take the same times: plain numbers."""
    step, lane, start, other = (c.tolist() for c in (plan.step, plan.lane, plan.start, plan.other))
    lag = plan.lag[plan.way, 0]
    cost, lags = (lag + plan.volume * plan.slow[plan.way, 0] + plan.reduce).tolist(), lag.tolist()
    end: list[tuple[float, float]] = []
    free: dict[int, tuple[float, float]] = {}
    first = 0  # of this step
    for k in range(len(step)):
        if step[k] != step[first]:
            for i in range(first, k):
                free[lane[i]] = max(end[i], free.get(lane[i], end[i]), key=itemgetter(0))
            first = k
        ready = free.get(lane[k], (0.0, 0.0))
        for w in other[start[k] : start[k + 1]]:
            if end[w][0] > ready[0]:
                ready = end[w]
        end.append((ready[0] + cost[k], ready[1] + lags[k]))
    return max(end, key=itemgetter(0))
