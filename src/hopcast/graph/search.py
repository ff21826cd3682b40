"""Breadth-first search over live links."""

import numpy as np

from hopcast.ir.topology import Bools, Ints, Topology


class Neighbours:
    """Outgoing live links of every vertex, ready to be searched.

    Args:
        topology: Links of bandwidth 0 are dead.
        allowed: ``bool[m]``, links that may be used; all live ones if not given.
    """

    def __init__(self, topology: Topology, allowed: Bools | None = None) -> None:
        usable = topology.bandwidth > 0 if allowed is None else allowed & (topology.bandwidth > 0)
        links = np.flatnonzero(usable)
        order = links[np.argsort(topology.src[links], kind="stable")]
        self._links = order
        self._start = np.searchsorted(topology.src[order], np.arange(topology.vertices + 1))
        self._dst = topology.dst
        self._vertices = topology.vertices

    def tree(self, source: int) -> Ints:
        """``int32[v]``: the link that first reaches each vertex; -1 for the source and where no way leads."""
        into, _ = self._search(source)
        return into

    def hops(self, source: int) -> Ints:
        """``int32[v]``: fewest links from the source; -1 where there is no way."""
        _, far = self._search(source)
        return far

    def _search(self, source: int) -> tuple[Ints, Ints]:
        far, into = np.full(self._vertices, -1, np.int32), np.full(self._vertices, -1, np.int32)
        far[source], front, hop = 0, np.array([source]), 0
        while len(front):
            hop += 1
            counts = self._start[front + 1] - self._start[front]
            nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            links = self._links[np.repeat(self._start[front], counts) + nth]
            links = links[far[self._dst[links]] < 0]
            reached, first = np.unique(self._dst[links], return_index=True)
            far[reached], into[reached] = hop, links[first]
            front = reached
        return into, far
