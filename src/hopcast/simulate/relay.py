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

from . import relay_plain
from .arcs import earlier
from .network import Longs
from .noise import Noise, pair_keys, turn_keys
from .relay_waits import needed
from .symmetry import touches

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Relayed:
    """What came of it.

    Attributes:
        seconds: When the last send was received.
        latency: Seconds of the critical path in which a send waits for its first byte.
        load: ``float64[m]``, bytes over each link.
        sends: Those that were timed: of one rank where all take the same times, else all.
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
    fit = _fit(schedule, cluster)
    if fit is None:
        return None
    orbit, ways, way = fit
    volume = schedule.bytes(orbit.out, size)
    load = np.zeros(cluster.topology.links)
    for w, total in zip(ways, np.bincount(way, volume, len(ways)), strict=True):
        load[w.wires] += total
    plan = _plan(schedule, orbit, ways, way, volume, gamma, noise)
    if plan.lag.shape[1] == 1:
        return Relayed(*_alone(plan), load, len(way))
    done = relay_plain.go(plan, progress) if plan.jitter == 0 else _compiled(plan, progress)
    return None if done is None else Relayed(*done, load, len(way) * plan.lag.shape[1])


def least(schedule: Schedule, cluster: Cluster, size: float) -> float | None:
    """Seconds in which no run of `relay` is over: what a lane of a rank sends goes one after another.

    None of a schedule that `relay` does not take.

    Cost: a vector operation over the ranks for each kind of send.
    """
    fit = _fit(schedule, cluster)
    if fit is None:
        return None
    orbit, ways, way = fit
    volume, lane = schedule.bytes(orbit.out, size), orbit.out.lane.astype(np.int64)
    _, first, many = np.unique(lane * (int(orbit.step[-1]) + 1) + orbit.step, True, return_counts=True)
    first = first[many == 1]  # of several sends of one step none waits for the others
    most = 0.0
    for one in np.unique(lane):
        mine = first[lane[first] == one]
        sends, total = (np.bincount(way[mine], c, len(ways)) for c in (np.ones(len(mine)), volume[mine]))
        parts = (k * w.lag + v * w.slow for w, k, v in zip(ways, sends, total, strict=True))
        most = max(most, float(sum(parts, np.zeros((1, 1))).max()))
    return most


def _fit(schedule: Schedule, cluster: Cluster) -> tuple[Orbit, list[_Way], Longs] | None:
    """The sends of rank 0, the kinds of them, and the kind of each, if no two kinds share a link."""
    orbit = None if schedule.orbit is None else schedule.orbit()
    if orbit is None or not len(orbit.moves) or not len(orbit.step):
        return None
    lane = orbit.out.lane.astype(np.int64)
    kind = lane * schedule.vertices + orbit.out.dst
    if len(np.unique(orbit.step * (int(kind.max()) + 1) + kind)) < len(kind):
        return None  # a rank sends twice over the same route in one step
    topology = cluster.topology
    _, first, way = np.unique(kind, return_index=True, return_inverse=True)
    moves = {int(to[0]): to.astype(np.int64) for to in orbit.moves}
    moves |= {int(back[0]): back for back in (np.argsort(to) for to in moves.values())}
    ways, used = [], np.zeros(topology.links, np.int64)
    for i in first:
        to = moves.get(int(orbit.out.dst[i]))
        if to is None:
            return None
        src, dst = schedule.groups.ravel(), schedule.groups[:, to].ravel()
        found = routes(cluster, src, dst)
        if len(found.pair) > len(src) or np.any(found.hops == 0):
            return None
        wires = topology.wire[found.links].astype(np.int64)
        np.add.at(used, wires, 1)
        if used.max() > 1:
            return None
        slow = 1.0 / np.minimum.reduceat(topology.bandwidth[wires], found.start[:-1])
        lag, slow = (_even(c, schedule.groups.shape) for c in (found.latency, slow))
        ways.append(_Way(to, lag, slow, wires))
    return orbit, ways, way


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
    data, clobber = needed(orbit.step, [ways[w].to for w in way.tolist()], data, clobber)
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


def _compiled(plan: Plan, progress: Progress | None) -> tuple[float, float] | None:
    """Worth loading only where every time is drawn; None where there is no compiler."""
    try:
        from .relay_engine import go
    except ImportError:
        return None
    return go(plan, progress)
