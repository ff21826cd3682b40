"""Places that can be moved to each other, with all links and routes: one of each is followed.

Where a whole network looks the same after all chips have been moved along an axis (see `graph.rolls`), and a
schedule moves along, the sends of a kind from places that are moved to each other take the same times. So it
is with nodes at the same place under their leaf. Nothing is taken for granted: every route has to come to lie
on a route, piece by piece and link by link.
"""

from dataclasses import dataclass, replace

import numpy as np

from hopcast.graph import rolls
from hopcast.graph.alike import lowest
from hopcast.ir.schedule import Orbit
from hopcast.ir.topology import Floats, Ints, Topology

from . import network
from .network import Longs, Paths


@dataclass(frozen=True, eq=False)
class Alike:
    """One place of each class, and one link.

    Shapes: p places, k classes of them, m links, c classes of those.

    Attributes:
        seeds: ``int64[k]``: the lowest place of each class.
        label: ``int64[p]``: the class of each place.
        of: ``int64[m]``: the class of each link.
        capacity: ``float64[c]``, bytes/s.
        paths: Of each pair's way at the seeds: pair way k + class, over classes of links.
    """

    seeds: Longs
    label: Longs
    of: Longs
    capacity: Floats
    paths: Paths


def alike(groups: Ints, orbit: Orbit, topology: Topology, paths: Paths) -> Alike | None:
    """The classes of places of a schedule that is moved along; None where no two are alike.

    Args:
        groups: ``int32[g, n]``: place ``group n + rank`` is that chip.
        orbit: What one rank does.
        topology: The network.
        paths: Of pair way p + place, for all places.

    Cost: some passes over the crossings for each move of the network.
    """
    if topology.half_duplex or groups.size != len(np.unique(groups)):
        return None
    moves, images = [], []
    for move in rolls.periods(topology):
        there, image = _moved(groups, move, orbit), rolls.image(topology, move)
        if there is not None and image is not None and follow(paths, there, image):
            moves.append(there)
            images.append(image)
    if not moves:
        return None
    seeds, label = np.unique(lowest(moves, groups.size), return_inverse=True)
    first, of = np.unique(lowest(images, topology.links), return_inverse=True)
    few = on_classes(paths, seeds, groups.size, of, topology)
    return Alike(seeds, label, of.astype(np.int64), topology.bandwidth[first], few)


def _moved(groups: Ints, move: Longs, orbit: Orbit) -> Longs | None:
    """Where a move of the chips brings each place: ``int64[p]``.

    None if it does not bring groups to groups, and ranks within them as the moves of the schedule do. These
    have no fixed points and join all ranks, so whatever commutes with all of them is one of them.
    """
    n = groups.shape[1]
    place = np.full(len(move), -1)
    place[groups.ravel()] = np.arange(groups.size)
    there = place[move[groups]]
    if np.any(there < 0):
        return None
    group, rank = np.divmod(there, n)
    new = rank[0]
    if np.any(group != group[:, :1]) or np.any(rank != new):
        return None
    return there.ravel() if all(np.array_equal(new[own], own[new]) for own in orbit.moves) else None


def follow(paths: Paths, there: Longs, image: Longs) -> bool:
    """Whether the route of every moved pair is the moved route."""
    pairs, places = len(paths.first) - 1, len(there)
    goal = (np.arange(0, pairs, places)[:, None] + there).ravel()
    piece = _stretches(paths.first, goal)
    if not np.array_equal(np.diff(paths.first)[goal], np.diff(paths.first)):
        return False
    if any(not np.array_equal(c[piece], c) for c in (paths.weight, paths.lag, np.diff(paths.hop))):
        return False
    return np.array_equal(image[paths.link], paths.link[_stretches(paths.hop, piece)])


def _stretches(start: Longs, which: Longs) -> Longs:
    """The numbers ``start[i]`` to ``start[i + 1] - 1`` of some i, one after the other."""
    many = start[which + 1] - start[which]
    nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    return np.asarray(np.repeat(start[which], many) + nth, np.int64)


def on_classes(paths: Paths, seeds: Longs, places: int, of: Longs, topology: Topology) -> Paths:
    """The paths of the seeds alone.

    A link is crossed by the sends of a class of places as often as one of them crosses links of its class,
    times the places of the class, over the links of its own.
    """
    pairs = len(paths.first) - 1
    pair = (np.arange(0, pairs, places)[:, None] + seeds).ravel()
    piece = _stretches(paths.first, pair)
    at = _stretches(paths.hop, piece)
    first, hop = (
        np.concatenate([[0], np.cumsum(np.diff(s)[i])]) for s, i in ((paths.first, pair), (paths.hop, piece))
    )
    link = of[paths.link[at]].astype(np.int32)
    some = Paths(first, paths.weight[piece], paths.lag[piece], hop, link, paths.times[at])
    some = network.merged(some, len(of))
    size = np.bincount(of)
    times, odd = np.divmod(some.times.astype(np.int64) * (places // len(seeds)), size[some.link])
    assert not odd.any(), "links of one class are not crossed alike"
    return replace(some, times=times.astype(np.int32))
