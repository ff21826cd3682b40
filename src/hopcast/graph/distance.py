"""How far vertices are from each other, in links and in seconds of latency."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Floats, Ints, Topology

from .reach import all_from
from .search import Neighbours
from .usable import Usable, is_straight

_MOST_SEARCHED = 1500  # sources whose distances to all vertices are held at once
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Straight:
    """Distances on whole axes of a grid, by coordinates.

    Shapes: d axes.

    Attributes:
        topology: The grid.
        used: For each axis whether it can be travelled.
        latency: ``float64[d]``, least of a link of each axis.
        exact: Whether they are distances and not only never longer than those.
    """

    topology: Topology
    used: tuple[bool, ...]
    latency: Floats
    exact: bool = True

    def between(self, src: Ints, dst: Ints) -> tuple[Floats, Floats]:
        """Links and seconds from each ``src`` to its ``dst``, infinite without a way. Arrays broadcast."""
        coords = self.topology.coords
        hops, seconds = np.zeros(np.broadcast(src, dst).shape), np.zeros(np.broadcast(src, dst).shape)
        for a, axis in enumerate(self.topology.axes):
            gap = np.abs(coords[dst, a] - coords[src, a]).astype(float)
            if axis.wraps:
                gap = np.minimum(gap, axis.length - gap)
            seconds += gap * self.latency[a]
            hops += gap if self.used[a] else np.where(gap > 0, np.inf, 0.0)
        return hops, np.where(np.isinf(hops), np.inf, seconds)

    def total(self, groups: Ints) -> Floats:
        """Links from every rank of a group to every other, summed over all ordered pairs: ``float64[g]``.

        On a chain it is twice the sum over its cuts of the pairs that they part. On a ring it is the sum over
        all arcs of half its length of the pairs of which one lies inside.

        Cost: O(ranks) and the lengths of the axes.
        """
        many = len(groups)
        total = np.zeros(many)
        for a, axis in enumerate(self.topology.axes):
            if axis.length == 1 or not self.used[a]:
                continue
            length, at = axis.length, self.topology.coords[groups, a]
            key = (np.arange(many)[:, None] * length + at).ravel()
            here = np.bincount(key, minlength=many * length).reshape(many, length)
            if axis.wraps:
                run = np.cumsum(np.concatenate([np.zeros((many, 1), int), here, here], 1), 1)
                inside = run[:, length // 2 : length // 2 + length] - run[:, :length]
                total += (inside * (groups.shape[1] - inside)).sum(1)
            else:
                inside = np.cumsum(here, 1)
                total += 2 * (inside * (groups.shape[1] - inside)).sum(1)
        return total

    def corners(self, groups: Ints) -> Ints | None:
        """A rank of each group that is an end of its farthest pair: ``int32[g]``; None if none is known.

        Where the coordinates of a group are all combinations of some on each axis, and on every wrapped axis
        all or one, the rank of least coordinates is one.
        """
        shape = self.topology.shape
        sizes = np.ones(len(groups), np.int64)
        for a, axis in enumerate(self.topology.axes):
            seen = np.zeros((len(groups), axis.length), bool)
            seen[np.arange(len(groups))[:, None], self.topology.coords[groups, a]] = True
            count = seen.sum(1)
            if axis.wraps and np.any((count > 1) & (count < axis.length)):
                return None
            sizes *= count
        if np.any(sizes != groups.shape[1]):
            return None
        number = self.topology.coords[groups].astype(np.int64) @ np.array(
            [math.prod(shape[a + 1 :]) for a in range(len(shape))]
        )
        least: Ints = groups[np.arange(len(groups)), number.argmin(1)]
        return least


@dataclass(frozen=True, eq=False)
class Searched:
    """Distances found by a search from each source.

    Shapes: s sources, v vertices.

    Attributes:
        row: ``int64[v]``, the row of each source.
        hops, seconds: ``float64[s, v]``; infinite where there is no way.
    """

    row: Longs
    hops: Floats
    seconds: Floats
    exact: bool = True

    def between(self, src: Ints, dst: Ints) -> tuple[Floats, Floats]:
        """Links and seconds from each ``src`` to its ``dst``. Arrays broadcast."""
        at = self.row[src]
        return self.hops[at, dst], self.seconds[at, dst]

    def total(self, groups: Ints) -> Floats:
        """Links from every rank of a group to every other, summed over all ordered pairs: ``float64[g]``."""
        return np.array([self.hops[np.ix_(self.row[ranks], ranks)].sum() for ranks in groups])

    def corners(self, groups: Ints) -> Ints | None:
        """None: every rank has to be asked."""
        return None


def distances(network: Usable, sources: Ints) -> Straight | Searched:
    """Distances from some vertices to all.

    By coordinates on whole axes of an unbroken grid whose links of an axis have one latency. Otherwise by a
    search from each source; but from more than 1,500 sources of a broken grid the distances of the unbroken
    one are taken, which are never longer.

    Cost: O(1) by coordinates; else O(sources x links x longest route).

    Source: Dijkstra 1959, A note on two problems in connexion with graphs.
    """
    topology = network.topology
    sources = np.unique(sources)
    by_coordinates = straight(network, len(sources) > _MOST_SEARCHED)
    if by_coordinates is not None:
        return by_coordinates
    row = np.full(topology.vertices, -1)
    row[sources] = np.arange(len(sources))
    return Searched(row, *_search(network, sources.astype(np.int64)))


def straight(network: Usable, many: bool) -> Straight | None:
    """Distances by coordinates, if they are right, or if a grid is broken and searches would be too many.

    Args:
        network: Its links.
        many: Whether they would be.
    """
    topology = network.topology
    if not (network.straight or (many and _is_unbroken(network))):
        return None
    used = np.bincount(topology.axis[network.links], minlength=len(topology.axes)) > 0
    least = np.full(len(topology.axes), np.inf)
    np.minimum.at(least, topology.axis[network.links], topology.latency[network.links])
    exact = network.straight and _alike_on_axes(network)
    if not exact and not many:
        return None
    return Straight(topology, tuple(used.tolist()), np.where(used, least, 0.0), exact)


def _is_unbroken(network: Usable) -> bool:
    """Whether the grid would be straight if all links of the axes that are used were live."""
    whole = np.isin(network.topology.axis, np.unique(network.topology.axis[network.links]))
    return is_straight(network.topology, whole)


def _search(network: Usable, sources: Longs) -> tuple[Floats, Floats]:
    """Links and seconds, both ``float64[s, v]``."""
    latency = network.topology.latency[network.links]
    hops = all_from(network, np.ones(len(latency)), sources)
    if _alike(latency):
        return hops, np.where(np.isinf(hops), np.inf, np.where(np.isinf(hops), 0.0, hops) * latency[:1].sum())
    return hops, all_from(network, latency, sources)


def _alike(latency: Floats) -> bool:
    return bool(np.all(latency == latency[:1]))


def _alike_on_axes(network: Usable) -> bool:
    axis, latency = network.topology.axis[network.links], network.topology.latency[network.links]
    return all(_alike(latency[axis == a]) for a in range(len(network.topology.axes)))


def shortest_route(network: Usable, src: int, dst: int) -> list[int]:
    """Links of a route of least latency; of fewest links where links are alike or whole axes are.

    >>> from hopcast.graph.usable import usable
    >>> from hopcast.topologies import ring
    >>> shortest_route(usable(ring.build("ring:5", (5,), 1.0, 1e-6)), 0, 3)
    [9, 8]
    """
    topology, latency = network.topology, network.topology.latency[network.links]
    route: list[int] = []
    if _alike(latency) or (network.straight and _alike_on_axes(network)):
        allowed = np.zeros(topology.links, bool)
        allowed[network.links] = True
        into = Neighbours(topology, allowed).tree(src)
        while dst != src and into[dst] >= 0:
            route.append(int(into[dst]))
            dst = int(topology.src[into[dst]])
        return route[::-1]
    # Links of no latency still take a little, so that a route does not wander over them.
    weight = latency + float(latency.max()) * 1e-12
    far = all_from(network, weight, np.array([src]))[0]
    while dst != src and np.isfinite(far[dst]):
        these = np.flatnonzero(network.dst == dst)
        last = these[(far[network.src[these]] + weight[these]).argmin()]
        route.append(int(network.links[last]))
        dst = int(network.src[last])
    return route[::-1]
