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


_MOST = 20_000_000  # links of sources that are looked at together, 40 bytes each


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """One route per pair.

    Cost: some array steps for pairs one or two links apart; for others one search per distinct source, as far
    as its destinations.
    """
    near = Neighbours(topology)
    found: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)] * len(src)
    far = src != dst
    at, links = _of_two(topology, near, src, dst)
    for i, way in zip(at.tolist(), links, strict=True):
        found[i] = way[way >= 0]
    far[at] = False
    rest = np.flatnonzero(far)
    order = rest[np.argsort(src[rest], kind="stable")]
    for some in np.split(order, np.flatnonzero(np.diff(src[order])) + 1) if len(order) else ():
        source = int(src[some[0]])
        into = near.tree(source, dst[some])
        for i in some:
            found[i] = _walk(topology, into, source, int(dst[i]))
    hops = np.array([len(f) for f in found], np.int64)
    joined = np.concatenate(found).astype(np.int32) if len(found) else np.zeros(0, np.int32)
    return assemble(topology, np.arange(len(src)), np.ones(len(src)), hops, joined)


def _of_two(topology: Topology, near: Neighbours, src: Ints, dst: Ints) -> tuple[Longs, Longs]:
    """Pairs that are one or two links apart, and their links, ``int64[k, 2]``; -1 for one that is not needed.

    Of several ways that over the vertex of lowest number, as by a search.
    """
    pair, first = near.out(src.astype(np.int64), _MOST)
    middle, n = topology.dst[first].astype(np.int64), topology.vertices
    goal = dst[pair].astype(np.int64)
    live = near.links
    key = topology.src[live].astype(np.int64) * n + topology.dst[live]
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], middle * n + goal)
    second = live[order[np.minimum(at, len(live) - 1)]] if len(live) else first
    there = middle == goal
    hit = (src[pair] != goal) & (there | ((topology.src[second] == middle) & (topology.dst[second] == goal)))
    pair, first, second, middle, there = (c[hit] for c in (pair, first, second, middle, there))
    best = np.lexsort((first, middle, ~there, pair))
    pair, chosen = np.unique(pair[best], return_index=True)
    best = best[chosen]
    return pair, np.stack([first[best], np.where(there[best], -1, second[best])], 1)


def _walk(topology: Topology, into: Ints, source: int, vertex: int) -> npt.NDArray[np.int64]:
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
