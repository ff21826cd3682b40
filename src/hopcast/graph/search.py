"""Breadth-first search over live links."""

import numpy as np
import numpy.typing as npt

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

    @property
    def links(self) -> npt.NDArray[np.int64]:
        """Those that may be used, in order of where they begin."""
        return self._links

    def count(self, vertex: Ints) -> int:
        """How many links lead out of some vertices in all."""
        return int((self._start[vertex.astype(np.int64) + 1] - self._start[vertex]).sum())

    def out(self, vertex: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
        """All links out of each of some vertices: places in ``vertex``, and links."""
        many = self._start[vertex + 1] - self._start[vertex]
        place = np.repeat(np.arange(len(vertex)), many)
        nth = np.arange(len(place)) - np.repeat(np.cumsum(many) - many, many)
        return place, self._links[self._start[vertex][place] + nth]

    def tree(self, source: int, goals: Ints | None = None) -> Ints:
        """``int32[v]``: the link that first reaches each vertex; -1 for the source and where no way leads.

        If there are goals, -1 too for what is farther away than the farthest of these.
        """
        into, _ = self._search(source, goals)
        return into

    def hops(self, source: int) -> Ints:
        """``int32[v]``: fewest links from the source; -1 where there is no way."""
        _, far = self._search(source)
        return far

    def _search(self, source: int, goals: Ints | None = None) -> tuple[Ints, Ints]:
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
            if goals is not None and np.all(far[goals] >= 0):
                break
        return into, far
