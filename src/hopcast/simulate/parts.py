"""Parts of a schedule that do alike, each on links of its own: one of them is followed.

Where each channel goes over a rail of its own, and the network looks the same after all chips have been moved
to the next rail, sends of one channel take the times of those of any other. Links that are moved to each
other are a class, and one of them carries what crosses all of them, spread evenly. Nothing is taken for
granted of the network: every route of a part has to come to lie on a route of the next.
"""

from dataclasses import dataclass

import numpy as np

from hopcast.graph import rolls
from hopcast.graph.alike import lowest
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends, join, take
from hopcast.ir.topology import Floats

from . import network, places
from .network import Longs, Paths


@dataclass(frozen=True, eq=False)
class Part:
    """The sends of the first part, on one link of each class.

    Shapes: s sends, m links of the network, c classes of them.

    Attributes:
        step: ``int64[s]``.
        rows: The sends.
        chunks: Chunks of the part: the first ones of the schedule.
        stands_for: Parts in all.
        pair: ``int64[s]``: the way of each send.
        paths: Of the ways, over classes of links.
        capacity: ``float64[c]``, bytes/s.
        of: ``int64[m]``: the class of each link.
    """

    step: Longs
    rows: Sends
    chunks: int
    stands_for: int
    pair: Longs
    paths: Paths
    capacity: Floats
    of: Longs


def one_for_all(schedule: Schedule, cluster: Cluster, most: int) -> Part | None:
    """One part that stands for all; None where they are not alike, or it has more than ``most`` sends.

    Cost: making all sends, and some passes over the crossings of all ways.
    """
    alike, topology = schedule.alike, cluster.topology
    if alike is None or topology.half_duplex:
        return None
    chips = np.arange(topology.chips)
    chips[schedule.groups] = schedule.groups[:, alike.move]
    moved, together = chips, 1  # parts that are moved together: two where two ranks share a NIC
    while together < alike.parts:
        move = rolls.whole(topology, moved) if alike.parts % together == 0 else None
        image = None if move is None else rolls.image(topology, move)
        if move is not None and image is not None:
            return _first(schedule, cluster, together, move, image, most)
        moved, together = chips[moved], together + 1
    return None


def _first(
    schedule: Schedule, cluster: Cluster, together: int, move: Longs, image: Longs, most: int
) -> Part | None:
    """The first parts, if the routes of the others are theirs, moved."""
    assert schedule.alike is not None
    times = schedule.alike.parts // together
    chunks = schedule.chunks // times
    found = _listed(schedule, chunks, most)
    if found is None:
        return None
    step, rows = found
    pair, src, dst = network.pairs(rows, max(schedule.vertices, cluster.topology.vertices))
    ends = [np.stack([src, dst]).astype(np.int64)]
    for _ in range(times - 1):
        ends.append(move[ends[-1]])
    every = np.stack(ends, 2).reshape(2, -1).astype(np.int32)
    paths = network.paths(cluster, every[0], every[1])
    if not places.follow(paths, (np.arange(times) + 1) % times, image):
        return None
    first, of = np.unique(lowest([image], cluster.topology.links), return_inverse=True)
    few = places.on_classes(paths, np.zeros(1, np.int64), times, of, cluster.topology)
    capacity = cluster.topology.bandwidth[first]
    return Part(step, rows, chunks, times, pair, few, capacity, of.astype(np.int64))


def _listed(schedule: Schedule, chunks: int, most: int) -> tuple[Longs, Sends] | None:
    """The sends of the first chunks, and their steps; None if there are more than ``most``."""
    found, count = [], 0
    for rows in schedule.steps():
        found.append(take(rows, np.flatnonzero(rows.chunk < chunks)))
        count += len(found[-1])
        if count > most:
            return None
    return np.repeat(np.arange(len(found)), [len(rows) for rows in found]), join(found)
