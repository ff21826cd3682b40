"""Time with a barrier after each step."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.distinct import distinct
from hopcast.ir.schedule import Schedule, Sends, take
from hopcast.ir.topology import AnyInts, Floats, Ints
from hopcast.routing import Routes, routes

Longs = npt.NDArray[np.int64]
_CROWD = 10_000  # sends of a step of which it is asked whether few pairs have them all
_EACH = 4  # sends of a pair, on average, from which on its route is found once for all
_MANY = 100_000  # sends of a step that are routed without asking which of their pairs are known
_PART = 25_000  # of them routed at once: with 1,000 hops each their links take 0.5 GB
_TRIED = 8  # steps after which it shows whether pairs come again
_LANES = 1_000_000  # of all vertices, in which it is counted how long one send waits for another


@dataclass(frozen=True, eq=False)
class Steps:
    """What a schedule takes when all wait for all after each step.

    Attributes:
        latency: Seconds: each step's longest route.
        bandwidth: Seconds: each step's busiest link.
        load: ``float64[m]``, bytes over each link in all.
        step_seconds: ``float64[steps]``, latency and bandwidth of each.
        chain: Seconds that flows take at least, as the sends of a lane of a rank go one after the other;
            0 where nobody asked.
    """

    latency: float
    bandwidth: float
    load: Floats
    step_seconds: Floats
    chain: float = 0.0


class Router:
    """Routes of the pairs that a schedule uses; each is routed once, unless very many are used at once."""

    def __init__(self, cluster: Cluster, vertices: int) -> None:
        self._cluster = cluster
        self._vertices = max(vertices, cluster.topology.vertices)
        self._steps: dict[Hashable, Routes] = {}
        self._code = np.zeros(0, np.int64)  # of the known pairs, ascending
        self._at = np.zeros(0, np.int64)  # and which of the routes below is theirs
        none, no = np.zeros(0), np.zeros(0, np.int32)
        self._known = Routes(no, none, np.zeros(1, np.int64), no, none)
        self._first = np.zeros(1, np.int64)  # piece of each known pair
        self._asked, self._learned = 0, 0  # steps, and sends in them

    def learn(self, src: AnyInts, dst: AnyInts) -> None:
        """Route what is not known yet, all at once."""
        code = src.astype(np.int64) * self._vertices + dst
        if len(self._code):
            at = np.minimum(np.searchsorted(self._code, code), len(self._code) - 1)
            code = code[self._code[at] != code]
        if not len(code):
            return
        code = distinct(code)
        ends = (c.astype(np.int32) for c in np.divmod(code, self._vertices))
        new, old, many = routes(self._cluster, *ends), self._known, len(self._at)
        self._known = Routes(
            np.concatenate([old.pair, new.pair + np.int32(many)]),
            np.concatenate([old.weight, new.weight]),
            np.concatenate([old.start, new.start[1:] + old.start[-1]]),
            np.concatenate([old.links, new.links]),
            np.concatenate([old.latency, new.latency]),
        )
        self._first = np.searchsorted(self._known.pair, np.arange(many + len(code) + 1))
        at = np.concatenate([self._at, many + np.arange(len(code))])
        order = np.argsort(np.concatenate([self._code, code]), kind="stable")
        self._code, self._at = np.concatenate([self._code, code])[order], at[order]

    def of(self, src: Ints, dst: Ints) -> Routes:
        """Routes of the sends of one step; piece ``pair`` numbers are rows of it."""
        # To learn pairs that never come again would cost more than to route them.
        once = self._asked >= _TRIED and 2 * len(self._at) > self._learned
        if once or self.are_many(src, dst):
            return routes(self._cluster, src, dst)
        key = (src.tobytes(), dst.tobytes())
        if key not in self._steps:
            if len(self._steps) > 256:
                self._steps.clear()
            self.learn(src, dst)
            self._asked, self._learned = self._asked + 1, self._learned + len(src)
            self._steps[key] = self._gathered(src, dst)
        return self._steps[key]

    def are_many(self, src: Ints, dst: Ints) -> bool:
        """Whether so many pairs are used that they are routed without asking which of them are known."""
        return len(src) > _MANY and self._distinct(src, dst) > _MANY

    def _distinct(self, src: Ints, dst: Ints) -> int:
        code = src.astype(np.int64) * self._vertices + dst
        if self._vertices**2 > _EACH * len(code):
            return len(distinct(code))
        there = np.zeros(self._vertices**2, np.bool_)
        there[code] = True
        return int(np.count_nonzero(there))

    def _gathered(self, src: Ints, dst: Ints) -> Routes:
        code = src.astype(np.int64) * self._vertices + dst
        known, at = self._known, self._at[np.searchsorted(self._code, code)]
        pair, piece = _spans(self._first[at], self._first[at + 1])
        if len(piece) == len(known.weight) and np.array_equal(piece, np.arange(len(piece))):
            return replace(known, pair=pair.astype(np.int32))
        _, link = _spans(known.start[piece], known.start[piece + 1])
        start = np.concatenate([[0], np.cumsum(known.start[piece + 1] - known.start[piece])])
        return Routes(
            pair.astype(np.int32), known.weight[piece], start, known.links[link], known.latency[piece]
        )


def _spans(low: Longs, high: Longs) -> tuple[Longs, Longs]:
    """The numbers of all spans, one after the other, and the span of each."""
    many = high - low
    if np.all(many == 1):
        return np.arange(len(low)), low
    span = np.repeat(np.arange(len(low)), many)
    return span, np.arange(len(span)) + np.repeat(low - np.cumsum(many) + many, many)


def link_load(found: Routes, volume: Floats, links: int, wire: Ints) -> Floats:
    """Bytes over each link when send i has ``volume[i]`` bytes.

    Shapes: k sends, m links. ``volume`` is ``float64[k]``; the result ``float64[m]``, counted on the link
    that stands for the wire.
    """
    piece = volume[found.pair] * found.weight
    return np.asarray(np.bincount(wire[found.links], np.repeat(piece, found.hops), links), np.float64)


def steps(schedule: Schedule, cluster: Cluster, size: float, until: float | None = None) -> Steps:
    """Sum over steps of the longest route's latency plus the busiest link's time.

    Steps that say they repeat are priced once.

    Args:
        schedule: On the cluster's ranks.
        cluster: Gives routes, bandwidths and latencies.
        size: D of one group, bytes.
        until: Seconds of bytes over one link, or of one lane of a rank, after which the rest is left out: who
            compares may know enough. None: all is wanted, and ``chain`` is not.
    """
    topology = cluster.topology
    router = Router(cluster, schedule.vertices)
    known: dict[Hashable, tuple[float, float, Floats]] = {}
    load = np.zeros(topology.links)
    times = np.zeros((schedule.step_count, 2))
    often: dict[Hashable, int] = {}
    passed = None if until is None else _Passed(schedule, cluster, size, until)
    for i in range(schedule.step_count):
        key = schedule.key(i)
        is_new = key not in known
        if is_new:
            if len(known) > 4096:
                _pour(load, known, often)
            rows = schedule.make(i)
            if passed is None and router.are_many(rows.src, rows.dst):
                known[key] = _in_parts(rows, schedule, cluster, size)
            else:
                routed = _routed(router, rows, schedule.vertices)
                known[key] = _one(rows, routed, schedule, cluster, size)
        times[i] = known[key][:2]
        often[key] = often.get(key, 0) + 1
        if is_new and passed is not None and passed.after(rows, routed, known[key][2]):
            break
    _pour(load, known, often)
    chain = 0.0 if passed is None else passed.chain
    return Steps(float(times[:, 0].sum()), float(times[:, 1].sum()), load, times.sum(1), chain)


@dataclass(frozen=True, eq=False)
class _Routed:
    """How the sends of a step go.

    Attributes:
        found: Routes of the sends, or where few pairs have them all of the pairs.
        of: ``int64[m]``, the pair of each send; None: each has its own.
    """

    found: Routes
    of: Longs | None

    def volume(self, sent: Floats) -> Floats:
        """Bytes over each route when send i has ``sent[i]``."""
        return sent if self.of is None else np.asarray(np.bincount(self.of, sent), np.float64)

    def pieces(self) -> tuple[Longs, Longs]:
        """The send and the piece of its route, of all pieces of all sends."""
        if self.of is None:
            return self.found.pair.astype(np.int64), np.arange(len(self.found.pair))
        first = np.searchsorted(self.found.pair, np.arange(int(self.of.max()) + 2))
        return _spans(first[self.of], first[self.of + 1])


def _routed(router: Router, rows: Sends, vertices: int) -> _Routed:
    if len(rows) > _CROWD:
        code = rows.src.astype(np.int64) * vertices + rows.dst
        pairs = distinct(code)
        if len(pairs) * _EACH <= len(code):
            src, dst = (c.astype(np.int32) for c in np.divmod(pairs, vertices))
            return _Routed(router.of(src, dst), np.searchsorted(pairs, code))
    return _Routed(router.of(rows.src, rows.dst), None)


class _Passed:
    """What the steps that repeat no other have come to: the least that flows take for them."""

    def __init__(self, schedule: Schedule, cluster: Cluster, size: float, until: float) -> None:
        self._schedule, self._size, self._until = schedule, size, until
        self._bandwidth = cluster.topology.bandwidth
        self._load = np.zeros(cluster.topology.links)
        self._vertices = max(schedule.vertices, cluster.topology.vertices)
        lanes = self._vertices * schedule.lanes
        self._lane = np.zeros(lanes if lanes <= _LANES else 0)

    @property
    def chain(self) -> float:
        """Seconds of the longest lane: it starts no step before all of its last one has arrived."""
        return float(self._lane.max(initial=0.0))

    def after(self, rows: Sends, routed: _Routed, load: Floats) -> bool:
        """Whether it is more than was asked for, with one more step."""
        self._load += load
        if len(self._lane):
            found = routed.found
            lane = rows.lane.astype(np.int64) * self._vertices + rows.src
            send, piece = routed.pieces()
            part = self._schedule.bytes(rows, self._size)[send] * found.weight[piece]
            longest = np.zeros(len(self._lane))
            np.maximum.at(longest, lane[send], found.latency[piece] + part / self._bandwidth.max())
            self._lane += longest
        if self._until == np.inf:
            return False
        return self.chain > self._until or bool(np.any(self._load > self._until * self._bandwidth))


def _pour(
    load: Floats, known: dict[Hashable, tuple[float, float, Floats]], often: dict[Hashable, int]
) -> None:
    for key, (_, _, part) in known.items():
        load += part * often.get(key, 0)
    known.clear()
    often.clear()


def _in_parts(rows: Sends, schedule: Schedule, cluster: Cluster, size: float) -> tuple[float, float, Floats]:
    """As `_one`, some sends after others: the routes of all may cross very many links."""
    latency, load = 0.0, np.zeros(cluster.topology.links)
    for first in range(0, len(rows), _PART):
        part = take(rows, slice(first, first + _PART))
        found = _Routed(routes(cluster, part.src, part.dst), None)
        longest, _, more = _one(part, found, schedule, cluster, size)
        latency, load = max(latency, longest), load + more
    return latency, float((load / cluster.topology.bandwidth)[load > 0].max(initial=0.0)), load


def _one(
    rows: Sends, routed: _Routed, schedule: Schedule, cluster: Cluster, size: float
) -> tuple[float, float, Floats]:
    """Latency and seconds of bytes of one step, and bytes over each link."""
    topology, found = cluster.topology, routed.found
    load = link_load(found, routed.volume(schedule.bytes(rows, size)), topology.links, topology.wire)
    busy = load > 0
    return (
        float(found.latency.max(initial=0.0)),
        float((load[busy] / topology.bandwidth[busy]).max(initial=0.0)),
        load,
    )
