"""A shortest route by breadth-first search, the one of lowest link numbers; dead links are not used.

For networks with switches, and for pairs whose usual route is cut.
Source: Moore 1959, The shortest path through a maze.
"""

import numpy as np
import numpy.typing as npt

from hopcast.graph.search import Neighbours
from hopcast.ir.topology import Ints, Topology
from hopcast.names import InputError

from . import Routes, assemble

Longs = npt.NDArray[np.int64]

_MOST = 1_000_000  # links of sources that are looked at together, some 100 bytes each


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """One route per pair.

    Cost: some array steps for pairs one or two links apart; for others one search per distinct source, as far
    as its destinations.
    """
    near = Neighbours(topology)
    links = _Links(topology, near)
    found: list[Longs] = [np.zeros(0, np.int64)] * len(src)
    rest = np.flatnonzero(src != dst)
    if len(rest):
        rest = _fill(found, rest, *links.direct(src[rest], dst[rest]))
    if len(rest) and near.count(src[rest]) <= _MOST:
        rest = _fill(found, rest, *links.over_one(src[rest], dst[rest]))
    order = rest[np.argsort(src[rest], kind="stable")]
    for some in np.split(order, np.flatnonzero(np.diff(src[order])) + 1) if len(order) else ():
        source = int(src[some[0]])
        into = near.tree(source, dst[some])
        for i in some:
            found[i] = _walk(topology, into, source, int(dst[i]))
    hops = np.array([len(f) for f in found], np.int64)
    joined = np.concatenate(found).astype(np.int32) if len(found) else np.zeros(0, np.int32)
    return assemble(topology, np.arange(len(src)), np.ones(len(src)), hops, joined)


def _fill(found: list[Longs], rest: Longs, at: Longs, ways: Longs) -> Longs:
    """Note the ways of some of the rest of pairs; those that are left."""
    for i, way in zip(rest[at].tolist(), ways, strict=True):
        found[i] = way
    left = np.ones(len(rest), bool)
    left[at] = False
    return rest[left]


class _Links:
    """Live links by their ends."""

    def __init__(self, topology: Topology, near: Neighbours) -> None:
        self._topology, self._near = topology, near
        key = topology.src[near.links].astype(np.int64) * topology.vertices + topology.dst[near.links]
        order = np.argsort(key, kind="stable")
        self._key, self._link = key[order], near.links[order]

    def _from(self, src: Longs, dst: Longs) -> Longs:
        """``int64[p]``: the link of lowest number from one vertex to another; -1 where there is none."""
        if not len(self._key):
            return np.full(len(src), -1)
        wanted = src * self._topology.vertices + dst
        at = np.minimum(np.searchsorted(self._key, wanted), len(self._key) - 1)
        return np.where(self._key[at] == wanted, self._link[at], -1)

    def direct(self, src: Ints, dst: Ints) -> tuple[Longs, Longs]:
        """Which pairs are one link apart, and that, ``int64[k, 1]``."""
        link = self._from(src.astype(np.int64), dst.astype(np.int64))
        at = np.flatnonzero(link >= 0)
        return at, link[at, None]

    def over_one(self, src: Ints, dst: Ints) -> tuple[Longs, Longs]:
        """Which of pairs that are farther apart are two links apart, and those, ``int64[k, 2]``.

        Of several ways that over the vertex of lowest number, as by a search.
        """
        pair, first = self._near.out(src.astype(np.int64))
        middle = self._topology.dst[first].astype(np.int64)
        second = self._from(middle, dst[pair].astype(np.int64))
        hit = second >= 0
        pair, first, second, middle = (c[hit] for c in (pair, first, second, middle))
        best = np.lexsort((first, middle, pair))
        pair, chosen = np.unique(pair[best], return_index=True)
        return pair, np.stack([first[best[chosen]], second[best[chosen]]], 1)


def _walk(topology: Topology, into: Ints, source: int, vertex: int) -> Longs:
    """Links from the source, back from the vertex over the link by which the search came to each."""
    back, goal = [], vertex
    while vertex != source:
        link = int(into[vertex])
        if link < 0:
            raise InputError(
                f"{topology.name}: dead links leave no route "
                f"from {topology.place(source)} to {topology.place(goal)}"
            )
        back.append(link)
        vertex = int(topology.src[link])
    return np.array(back[::-1], np.int64)
