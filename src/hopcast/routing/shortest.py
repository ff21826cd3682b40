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


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """One route per pair. Cost: one search per distinct source."""
    near = Neighbours(topology)
    found: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)] * len(src)
    for source in np.unique(src):
        into = near.tree(int(source))
        for i in np.flatnonzero(src == source):
            found[i] = _walk(topology, into, int(source), int(dst[i]))
    hops = np.array([len(f) for f in found], np.int64)
    links = np.concatenate(found).astype(np.int32) if len(found) else np.zeros(0, np.int32)
    return assemble(topology, np.arange(len(src)), np.ones(len(src)), hops, links)


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
