"""Time with a barrier after each step."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends
from hopcast.ir.topology import Floats, Ints
from hopcast.routing import Routes, routes


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
    """Routes of the pairs that a schedule uses; each pair is routed once."""

    def __init__(self, cluster: Cluster, vertices: int) -> None:
        self._cluster = cluster
        self._vertices = max(vertices, cluster.topology.vertices)
        self._known: dict[Hashable, Routes] = {}

    def of(self, src: Ints, dst: Ints) -> Routes:
        """Routes of the sends of one step; piece ``pair`` numbers are rows of it."""
        key = (src.tobytes(), dst.tobytes())
        if key not in self._known:
            if len(self._known) > 256:
                self._known.clear()
            self._known[key] = routes(self._cluster, src, dst)
        return self._known[key]


def link_load(found: Routes, volume: Floats, links: int, wire: Ints) -> Floats:
    """Bytes over each link when send i has ``volume[i]`` bytes.

    Shapes: k sends, m links. ``volume`` is ``float64[k]``; the result ``float64[m]``, counted on the link
    that stands for the wire.
    """
    piece = volume[found.pair] * found.weight
    return np.asarray(np.bincount(wire[found.links], np.repeat(piece, found.hops), links), np.float64)


def steps(schedule: Schedule, cluster: Cluster, size: float) -> Steps:
    """Sum over steps of the longest route's latency plus the busiest link's time.

    Steps that say they repeat are priced once.

    Args:
        schedule: On the cluster's ranks.
        cluster: Gives routes, bandwidths and latencies.
        size: D of one group, bytes.
    """
    topology = cluster.topology
    router = Router(cluster, schedule.vertices)
    known: dict[Hashable, tuple[float, float, Floats]] = {}
    load = np.zeros(topology.links)
    times = np.zeros((schedule.step_count, 2))
    often: dict[Hashable, int] = {}
    for i in range(schedule.step_count):
        key = schedule.key(i)
        if key not in known:
            if len(known) > 4096:
                _pour(load, known, often)
            known[key] = _one(schedule.make(i), schedule, cluster, size, router)
        times[i] = known[key][:2]
        often[key] = often.get(key, 0) + 1
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
