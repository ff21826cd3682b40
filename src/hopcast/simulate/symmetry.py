"""Rings, tori and switches on which every chip is like every other: one link stands for many.

If all chips are moved at once, one hop up an axis or to the next port of a switch, links come to lie on
links. Where these moves join all chips, links fall into classes, one for each axis and direction. Of a
schedule that moves along with the chips all sends of a kind take the same time, so one send of each kind on
one link of each class is simulated: a link of a class is crossed by as many sends of a kind as one such send
crosses links of the class.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np

from hopcast.graph import rolls
from hopcast.graph.alike import lowest
from hopcast.ir.cluster import Cluster
from hopcast.ir.distinct import distinct
from hopcast.ir.schedule import Orbit, Schedule
from hopcast.ir.topology import Floats, Ints, Topology
from hopcast.price.steps import Steps
from hopcast.routing import dimension_order, spread

from . import network
from .arcs import Arcs, Touches, arcs
from .network import Longs, Paths, Problem

_NO_WAITS = Arcs(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
_ROUTING = ("dimension_order", "forward", "twisted")  # these rules route moved pairs over moved links


@dataclass(frozen=True, eq=False)
class Classes:
    """Links that can be moved to each other.

    Shapes: m links, g moves of v vertices, k classes.

    Attributes:
        moves: ``int64[g, v]``: where each vertex goes.
        of: ``int32[m]``: class of each link.
        size: ``int64[k]``: links of each class.
        capacity: ``float64[k]``, bytes/s.
    """

    moves: Longs
    of: Ints
    size: Longs
    capacity: Floats


@functools.lru_cache(maxsize=16)
def classes(topology: Topology, routing: str) -> Classes | None:
    """The classes of links of a topology on which all chips are alike; None of any other."""
    moves = _moves(topology, routing)
    if moves is None or not len(moves) or topology.half_duplex:
        return None
    found = (_image(topology, move) for move in moves)
    images = [i for i in found if i is not None]
    if len(images) < len(moves) or not _joined(moves, topology.chips):
        return None
    first, of = np.unique(lowest(images, topology.links), return_inverse=True)
    return Classes(moves, of.astype(np.int32), np.bincount(of).astype(np.int64), topology.bandwidth[first])


def _moves(topology: Topology, routing: str) -> Longs | None:
    """One hop up each axis for all chips of a grid, or to the next chip of those on one switch."""
    chips = topology.chips
    if topology.is_grid and routing in _ROUTING:
        moves = []
        for a, axis in enumerate(topology.axes):
            if axis.length == 1:
                continue
            up, down = topology.port[:, a, 0], topology.port[:, a, 1]
            port = np.where(up < 0, down, up) if axis.length == 2 else up
            if np.any(port < 0):
                return None
            moves.append(topology.dst[port].astype(np.int64))
        return np.array(moves, np.int64).reshape(len(moves), chips)
    if topology.vertices == chips + 1 and topology.links == 2 * chips and routing == "shortest":
        return np.append((np.arange(chips) + 1) % chips, chips)[None]
    if routing == "spread" and spread.is_plain(topology):  # then routes are as the network is
        return rolls.turns(topology)
    return None


def _image(topology: Topology, move: Longs) -> Longs | None:
    """The link on which each link comes to lie: ``int64[m]``; None if there is none like it."""
    code = topology.src.astype(np.int64) * topology.vertices + topology.dst
    order = np.argsort(code)
    if np.any(np.diff(code[order]) == 0):
        return None  # two links between the same two vertices
    moved = move[topology.src] * topology.vertices + move[topology.dst]
    at = np.minimum(np.searchsorted(code[order], moved), topology.links - 1)
    image = order[at]
    alike = (
        np.array_equal(code[image], moved)
        and np.array_equal(topology.bandwidth[image], topology.bandwidth)
        and np.array_equal(topology.latency[image], topology.latency)
        and bool(np.all(topology.bandwidth > 0))
    )
    return image if alike else None


def _joined(moves: Longs, chips: int) -> bool:
    """Whether chip 0 can be moved to every chip."""
    return not lowest(list(moves), moves.shape[1])[:chips].any()


def fits(schedule: Schedule, cluster: Cluster) -> tuple[Classes, Orbit] | None:
    """The classes of links and the sends of one rank, where both move along with the chips."""
    found = None if schedule.orbit is None else classes(cluster.topology, cluster.routing)
    if schedule.orbit is None or found is None or not _together(schedule.groups, cluster.topology):
        return None
    orbit = schedule.orbit()
    if orbit is None or not np.array_equal(schedule.bytes(orbit.out, 1.0), schedule.bytes(orbit.into, 1.0)):
        return None
    return (found, orbit) if _commute(schedule.groups, found, orbit) else None


def problem(
    schedule: Schedule, cluster: Cluster, size: float, gamma: float
) -> tuple[Problem, Classes] | None:
    """The sends of one rank on one link of each class; None where nothing is known to be alike."""
    fit = fits(schedule, cluster)
    if fit is None:
        return None
    found, orbit = fit
    read, write = touches(orbit, schedule.chunks)
    wait = arcs(orbit.step, read, write, orbit.out.lane.astype(np.int64))
    paths, pair = _paths(schedule, cluster, found, orbit)
    volume = schedule.bytes(orbit.out, size)
    return Problem(found.capacity, paths, pair, volume, gamma * volume * (orbit.out.op == 1), wait), found


def _paths(schedule: Schedule, cluster: Cluster, found: Classes, orbit: Orbit) -> tuple[Paths, Longs]:
    """Routes of the pairs to which one rank sends, over one link of each class; and the pair of each send."""
    group = schedule.groups[0]
    ends = replace(orbit.out, src=group[orbit.out.src], dst=group[orbit.out.dst])
    pair, src, dst = network.pairs(ends, cluster.topology.vertices)
    paths = _crossed(cluster, found, src, dst)
    crossings = paths.times.astype(np.int64) * cluster.topology.chips
    return replace(paths, times=(crossings // found.size[paths.link]).astype(np.int32)), pair


def _crossed(cluster: Cluster, found: Classes, src: Ints, dst: Ints) -> Paths:
    """How often pairs cross links of each class. Those of a long axis are not listed one by one."""
    topology, links = cluster.topology, len(found.size)
    if cluster.routing not in ("dimension_order", "forward"):
        paths = network.paths(cluster, src, dst)
        return network.merged(replace(paths, link=found.of[paths.link]), links)
    split = cluster.routing == "dimension_order"
    pair, weight, steps, up = dimension_order.pieces(topology, src, dst, split)
    hops = np.stack(steps, 1)
    piece, axis = np.nonzero(hops)
    times = hops[piece, axis]
    port = topology.port[src[pair], :, :][piece, axis, np.where(np.stack(up, 1)[piece, axis], 0, 1)]
    lag = np.bincount(piece, times * topology.latency[port], len(pair))
    if np.all(topology.latency == topology.latency[0]):
        lag = hops.sum(1) * topology.latency[0]
    paths = Paths(
        np.searchsorted(pair, np.arange(len(src) + 1)).astype(np.int64), weight, lag.astype(np.float64),
        np.searchsorted(piece, np.arange(len(pair) + 1)).astype(np.int64),
        found.of[topology.wire[port]].astype(np.int32), times.astype(np.int32),
    )  # fmt: skip
    return network.merged(paths, links)


def stepped(schedule: Schedule, cluster: Cluster, size: float) -> Steps | None:
    """What `price.steps` gives, from the sends of one rank; None where nothing is known to be alike."""
    fit = fits(schedule, cluster)
    if fit is None:
        return None
    found, orbit = fit
    paths, pair = _paths(schedule, cluster, found, orbit)
    volume = schedule.bytes(orbit.out, size)
    sends = Problem(found.capacity, paths, pair, volume, np.zeros(len(pair)), _NO_WAITS)
    _, send, piece = sends.spread()
    step = orbit.step[send]
    lag = np.zeros(schedule.step_count)
    np.maximum.at(lag, step, paths.lag[piece])
    many = np.diff(paths.hop)[piece]
    nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    crossing = np.repeat(paths.hop[piece], many) + nth
    crossed = np.repeat(volume[send] * paths.weight[piece], many) * paths.times[crossing]
    links, link = len(found.size), paths.link[crossing]
    load = np.bincount(np.repeat(step, many) * links + link, crossed, schedule.step_count * links)
    busy = (load.reshape(-1, links) / found.capacity).max(1, initial=0.0)
    return Steps(float(lag.sum()), float(busy.sum()), sends.load()[found.of], lag + busy)


def touches(orbit: Orbit, chunks: int) -> tuple[Touches, Touches]:
    """The parts of rank 0's buffer that its sends read, and those that the sends into it write.

    What lies between two places where sends begin or end is touched as one, however many chunks it has.
    """
    both = (orbit.out, orbit.into)
    first = [rows.chunk.astype(np.int64) for rows in both]
    edges = distinct(
        np.concatenate([*first, *(f + r.count for f, r in zip(first, both, strict=True))]) % chunks
    )
    found = []
    for begin, rows in zip(first, both, strict=True):
        end = begin + rows.count
        part, turns = np.searchsorted(edges, begin), (end >= chunks).astype(np.int64)
        many = np.searchsorted(edges, end - turns * chunks) + turns * len(edges) - part
        row = np.repeat(np.arange(len(rows)), many)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
        found.append(Touches(row, (part[row] + nth) % len(edges)))
    return found[0], found[1]


def _together(groups: Ints, topology: Topology) -> bool:
    """Whether the groups cover all chips, each once."""
    return groups.size == topology.chips and np.array_equal(
        np.sort(groups, axis=None), np.arange(topology.chips)
    )


def _commute(groups: Ints, found: Classes, orbit: Orbit) -> bool:
    """Whether moving the chips moves groups to groups, and ranks within them by the schedule's moves.

    The schedule's moves act on the ranks of a group without fixed points and join all of them, so whatever
    commutes with all of them is one of them.
    """
    n = groups.shape[1]
    group, rank = (np.zeros(groups.size, np.int64) for _ in range(2))
    group[groups], rank[groups] = np.arange(len(groups))[:, None], np.arange(n)[None]
    for move in found.moves:
        to = move[groups]
        if np.any(group[to] != group[to][:, :1]):
            return False
        new = rank[to]
        if np.any(new != new[:1]):
            return False
        if any(np.any(own[new[0]] != new[0][own]) for own in orbit.moves):
            return False
    return True
