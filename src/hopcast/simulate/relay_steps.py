"""Sends that never meet, of ranks that do not do alike: all sends of a step at once, one step after another.

If each send has its whole route to itself, when it is received follows from when its cells were last written
and read and when its lane was last free: maxima and sums, as in `relay`. Nothing is kept but these times, and
when each link was last in use: if no link is ever wanted before it is free again, no sends meet, and that is
what happens.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hopcast.interpret import cells
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends, take
from hopcast.ir.topology import AnyInts, Floats, Ints
from hopcast.price.steps import Router
from hopcast.routing import routes

from .network import Longs
from .noise import Noise
from .relay import Relayed

_MOST_CELLS = 2048 * 2048  # four numbers each, and some more of those that a step touches: a third of a GiB
_AHEAD, _MANY = 32, 20_000  # steps whose pairs are routed together, fewer if they have many sends
_SAMPLE = 8  # sends of a step
_SAME = 1e-12  # times closer than this part are one, as in the reference
_LOOK = 256  # steps between two looks at the keyboard


def passed(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float,
    progress: Callable[[float], None] | None = None,
    noise: Noise | None = None,
) -> Relayed | None:
    """Simulate a schedule whose sends never meet; None of any other, or if its cells are too many.

    Args: as `flows.simulate`.

    Cost: some thirty array operations over the sends of each step.

    >>> from hopcast.algorithms import get
    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.group import Hint
    >>> from hopcast.ir.mesh import group, physical
    >>> c = cluster("chain:4,bandwidth=1GB/s,latency=0")
    >>> s = get("chain").build("all_gather", group(c, physical(c.topology), ()), Hint())
    >>> found = passed(s, c, 4e9, 0.0)
    >>> found.seconds, found.sends
    (3.0, 12)
    """
    vertices = max(schedule.vertices, cluster.topology.vertices)
    if vertices * schedule.chunks > _MOST_CELLS or schedule.step_count < 2:
        return None
    noise, links = noise or Noise(), _Links(cluster, vertices)
    write, read = (_Latest.never(vertices * schedule.chunks) for _ in range(2))
    free = _Latest(np.repeat(noise.starts(vertices), schedule.lanes), np.zeros(vertices * schedule.lanes))
    load, busy = np.zeros((2, cluster.topology.links))
    count, most, late = 0, 0.0, 0.0
    for i, rows, way in links.ahead(schedule):
        if way is None:
            return None
        volume = schedule.bytes(rows, size)
        row, chunk = cells(rows, schedule.chunks)
        source, goal = (v[row].astype(np.int64) * schedule.chunks + chunk for v in (rows.src, rows.dst))
        lane = rows.src.astype(np.int64) * schedule.lanes + rows.lane
        ready = free.at(lane).later(write.of_rows(source, row)).later(read.of_rows(goal, row))
        factor = noise.factors(np.full(len(rows), i), rows)
        began, flow = ready.time + way.lag, volume * factor * way.slow
        if np.any(np.repeat(began, way.hops) < busy[way.wires] * (1 - _SAME)):
            return None
        busy[way.wires] = np.repeat(began + flow, way.hops)
        end = _Latest(began + flow + gamma * volume * (rows.op == 1), ready.late + way.lag)
        moved = end.at(row) if len(row) > len(rows) else end
        free.raise_to(lane, end)
        write.raise_to(goal, moved)
        read.raise_to(source, moved)
        load += np.bincount(way.wires, np.repeat(volume, way.hops), len(load))
        count, last = count + len(rows), int(end.time.argmax())
        if end.time[last] > most:
            most, late = float(end.time[last]), float(end.late[last])
        if progress is not None and i % _LOOK == 0:
            progress(i / schedule.step_count)
    return Relayed(most, late, load, count)


@dataclass(frozen=True, eq=False)
class _Latest:
    """The latest time so far at each of many places, and the latency on the path to it: ``float64[...]``."""

    time: Floats
    late: Floats

    @staticmethod
    def never(places: int) -> "_Latest":
        return _Latest(np.zeros(places), np.zeros(places))

    def at(self, place: Longs) -> "_Latest":
        """Those of some places."""
        return _Latest(self.time[place], self.late[place])

    def of_rows(self, place: Longs, row: Longs) -> "_Latest":
        """The latest of each row, whose places stand together; ``row`` ascends and leaves out none."""
        time = self.time[place]
        if len(row) == int(row[-1]) + 1:
            return _Latest(time, self.late[place])
        begin = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        most = np.maximum.reduceat(time, begin)
        where = np.flatnonzero(time == most[row])
        first = where[np.searchsorted(row[where], np.arange(len(begin)))]
        return _Latest(most, self.late[place[first]])

    def later(self, other: "_Latest") -> "_Latest":
        """The later of two at each place."""
        more = other.time > self.time
        return _Latest(np.where(more, other.time, self.time), np.where(more, other.late, self.late))

    def raise_to(self, place: Longs, other: "_Latest") -> None:
        """Take over what is later; a place may occur several times."""
        more = np.flatnonzero(other.time > self.time[place])
        more = more[np.argsort(other.time[more], kind="stable")]  # of several values the last remains
        self.time[place[more]], self.late[place[more]] = other.time[more], other.late[more]


@dataclass(frozen=True, eq=False)
class _Way:
    """Routes of the sends of a step.

    Attributes:
        lag: ``float64[k]``, latency of each.
        slow: ``float64[k]``, seconds per byte.
        hops: ``int32[k]``, links of each.
        wires: ``int64[...]``, these, one route after the other.
    """

    lag: Floats
    slow: Floats
    hops: AnyInts
    wires: Longs


class _Links:
    """The routes of steps, which are often those of other steps."""

    def __init__(self, cluster: Cluster, vertices: int) -> None:
        self.cluster, self.topology = cluster, cluster.topology
        self.router = Router(cluster, vertices)

    def ahead(self, schedule: Schedule) -> Iterator[tuple[int, Sends, _Way | None]]:
        """Steps that are not empty, with their numbers and routes; pairs of the next few are routed together.

        None instead of routes, and no more steps, if any of a step share a link, are several for one send, or
        lead nowhere.
        """
        some: list[tuple[int, Sends]] = []
        for i, rows in enumerate(schedule.steps()):
            some += [(i, rows)] if len(rows) else []
            last = i == schedule.step_count - 1
            if not some or not (last or len(some) == _AHEAD or len(rows) > _MANY):
                continue
            if self._crowded([r for _, r in some]):
                yield (*some[0], None)
                return
            self.router.learn(*_ends([r for _, r in some]))
            for j, now in some:
                way = self._of(now)
                yield j, now, way
                if way is None:
                    return
            some = []

    def _crowded(self, steps: list[Sends]) -> bool:
        """Whether a step crosses more links than there are, by a sample: all routes take long to find."""
        some = [take(r, np.linspace(0, len(r) - 1, min(len(r), _SAMPLE)).astype(np.int64)) for r in steps]
        found = routes(self.cluster, *_ends(some))
        hops = np.bincount(found.pair, found.hops, sum(map(len, some)))
        begin = np.cumsum([0, *map(len, some)])[:-1]
        crossed = np.add.reduceat(hops, begin) * [len(r) / len(s) for r, s in zip(steps, some, strict=True)]
        return bool(crossed.max() > 2 * self.topology.links)

    def _of(self, rows: Sends) -> _Way | None:
        found = self.router.of(rows.src, rows.dst)
        topology = self.topology
        if len(found.pair) > len(rows) or np.any(found.hops == 0):
            return None
        wires = topology.wire[found.links].astype(np.int64)
        if np.bincount(wires).max() > 1 or np.any(topology.bandwidth[wires] <= 0):
            return None
        slow = 1.0 / np.minimum.reduceat(topology.bandwidth[wires], found.start[:-1])
        return _Way(found.latency, slow, found.hops, wires)


def _ends(steps: list[Sends]) -> tuple[Ints, Ints]:
    """Sources and destinations of several steps."""
    return np.concatenate([r.src for r in steps]), np.concatenate([r.dst for r in steps])
