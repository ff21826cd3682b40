"""Time with a barrier after each step."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends
from hopcast.ir.topology import AnyInts, Floats, Ints
from hopcast.routing import Routes, routes

Longs = npt.NDArray[np.int64]
_MANY = 100_000  # sends of a step that are routed without asking which of their pairs are known


@dataclass(frozen=True, eq=False)
class Steps:
    """What a schedule takes when all wait for all after each step.

    Attributes:
        latency: Seconds: each step's longest route.
        bandwidth: Seconds: each step's busiest link.
        load: ``float64[m]``, bytes over each link in all.
        step_seconds: ``float64[steps]``, latency and bandwidth of each.
    """

    latency: float
    bandwidth: float
    load: Floats
    step_seconds: Floats


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

    def learn(self, src: AnyInts, dst: AnyInts) -> None:
        """Route what is not known yet, all at once."""
        code = src.astype(np.int64) * self._vertices + dst
        if len(self._code):
            at = np.minimum(np.searchsorted(self._code, code), len(self._code) - 1)
            code = code[self._code[at] != code]
        if not len(code):
            return
        code = np.unique(code)
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
        if len(src) > _MANY:
            return routes(self._cluster, src, dst)
        key = (src.tobytes(), dst.tobytes())
        if key not in self._steps:
            if len(self._steps) > 256:
                self._steps.clear()
            self.learn(src, dst)
            self._steps[key] = self._gathered(src, dst)
        return self._steps[key]

    def _gathered(self, src: Ints, dst: Ints) -> Routes:
        code = src.astype(np.int64) * self._vertices + dst
        known, at = self._known, self._at[np.searchsorted(self._code, code)]
        pair, piece = _spans(self._first[at], self._first[at + 1])
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


def steps(schedule: Schedule, cluster: Cluster, size: float, until: float = math.inf) -> Steps:
    """Sum over steps of the longest route's latency plus the busiest link's time.

    Steps that say they repeat are priced once.

    Args:
        schedule: On the cluster's ranks.
        cluster: Gives routes, bandwidths and latencies.
        size: D of one group, bytes.
        until: Seconds of bytes over one link after which the rest is left out: who compares may know enough.
    """
    topology = cluster.topology
    router = Router(cluster, schedule.vertices)
    known: dict[Hashable, tuple[float, float, Floats]] = {}
    load = np.zeros(topology.links)
    times = np.zeros((schedule.step_count, 2))
    often: dict[Hashable, int] = {}
    new = np.zeros(topology.links if until < math.inf else 0)  # bytes of the steps that repeat no other
    for i in range(schedule.step_count):
        key, is_new = schedule.key(i), False
        if key not in known:
            if len(known) > 4096:
                _pour(load, known, often)
            known[key], is_new = _one(schedule.make(i), schedule, cluster, size, router), True
        times[i] = known[key][:2]
        often[key] = often.get(key, 0) + 1
        if is_new and until < math.inf:
            new += known[key][2]
            if np.any(new > until * topology.bandwidth):
                break
    _pour(load, known, often)
    return Steps(float(times[:, 0].sum()), float(times[:, 1].sum()), load, times.sum(1))


def _pour(
    load: Floats, known: dict[Hashable, tuple[float, float, Floats]], often: dict[Hashable, int]
) -> None:
    for key, (_, _, part) in known.items():
        load += part * often.get(key, 0)
    known.clear()
    often.clear()


def _one(
    rows: Sends, schedule: Schedule, cluster: Cluster, size: float, router: Router
) -> tuple[float, float, Floats]:
    topology = cluster.topology
    if not len(rows):
        return 0.0, 0.0, np.zeros(topology.links)
    found = router.of(rows.src, rows.dst)
    load = link_load(found, schedule.bytes(rows, size), topology.links, topology.wire)
    busy = load > 0
    return float(found.latency.max()), float((load[busy] / topology.bandwidth[busy]).max(initial=0.0)), load
