"""Maximum flow with the cut that binds it, and as many disjoint routes as there are, short ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Floats, Ints, Topology

_MOST = 2**31 - 1  # scipy's flows are 32-bit integers


@dataclass(frozen=True, eq=False)
class Flow:
    """How much can go from some vertices to others at once, and what limits it.

    Shapes: v vertices.

    Attributes:
        value: Bytes per second.
        links: ``int32[...]``, the live links of a least cut; their bandwidths sum to ``value``.
        side: ``bool[v]``, the vertices on the sources' side of that cut.
    """

    value: float
    links: Ints
    side: Bools


def max_flow(
    topology: Topology,
    sources: Sequence[int] | Ints,
    sinks: Sequence[int] | Ints,
    allowed: Bools | None = None,
) -> Flow:
    """The greatest rate from all sources together to all sinks together.

    At half duplex it is right too: flows that meet on a cable cancel.

    Rates that are whole multiples of one rate are solved exactly. Others are rounded to 31 bits first; the
    value is then the exact capacity of a cut that is least within one part in 2**31 for each link.

    Args:
        topology: Links of bandwidth 0 are dead.
        sources: Vertices.
        sinks: Other vertices.
        allowed: ``bool[m]``, links that may be used; all live ones if not given.

    Raises:
        ValueError: if a vertex is both a source and a sink.

    Cost: scipy's maximum_flow (Dinic); about 8 ms on an 8 x 8 torus.

    Source: Dinic 1970, Algorithm for solution of a problem of maximum flow in networks with power estimation.

    >>> from hopcast.topologies import mesh
    >>> max_flow(mesh.build("mesh:3x3", (3, 3), 10.0, 0.0), [0], [8]).value
    20.0
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    both = np.intersect1d(sources, sinks)
    if len(both):
        raise ValueError(f"vertices {both.tolist()} are both sources and sinks; the two must differ")
    v = topology.vertices
    rate = topology.bandwidth[topology.wire]
    links = np.flatnonzero(_live(topology, allowed) & (rate > 0))
    whole = _whole(rate[links])
    every = int(whole.sum())
    tail = np.concatenate([topology.src[links], np.full(len(sources), v), np.asarray(sinks)])
    head = np.concatenate([topology.dst[links], np.asarray(sources), np.full(len(sinks), v + 1)])
    room = np.concatenate([whole, np.full(len(sources) + len(sinks), every)]).astype(np.int32)
    graph = coo_array((room, (tail.astype(np.int32), head.astype(np.int32))), (v + 2, v + 2)).tocsr()
    found = maximum_flow(graph, v, v + 1)
    left = graph - found.flow
    left.eliminate_zeros()
    side = np.zeros(v + 2, bool)
    side[breadth_first_order(left, v, return_predecessors=False)] = True
    cut = links[side[topology.src[links]] & ~side[topology.dst[links]]]
    return Flow(float(rate[cut].sum()), cut.astype(np.int32), side[:v])


def max_flow_between(topology: Topology, sources: Sequence[int] | Ints, sinks: Sequence[int] | Ints) -> float:
    """The value of `max_flow`, bytes/s; switches stand on whichever side lets least through."""
    return max_flow(topology, sources, sinks).value


def disjoint_routes(topology: Topology, src: int, dst: int, allowed: Bools | None = None) -> list[list[int]]:
    """As many routes as there can be of which no two share a link, with the fewest links in all.

    Successive shortest routes: a new route may undo links of those before it. Of sets with equally few links
    one that has a shortest route is taken where leaving that out first finds it. Routes come shortest first.

    Args:
        topology: Links of bandwidth 0 are dead.
        src: A vertex.
        dst: Another.
        allowed: ``bool[m]``, links that may be used; all live ones if not given.

    Returns:
        The links of each route in the order in which they are crossed; no route where there is no way.

    Cost: one Bellman-Ford pass over the links per route found.

    Source: Suurballe 1974, Disjoint paths in a network, doi:10.1002/net.3230040204.

    >>> from hopcast.topologies import mesh
    >>> grid = mesh.build("mesh:4x4", (4, 4), 1.0, 0.0)
    >>> [len(route) for route in disjoint_routes(grid, 15, 0)]
    [6, 6]
    """
    if src == dst:
        return []
    live = np.flatnonzero(_live(topology, allowed))
    found = _successive(topology, live, src, dst)
    if len(found) > 1:
        first = _cheapest(topology, live, np.zeros(topology.links, bool), src, dst)
        assert first is not None
        if len(first) < len(found[0]):
            others = _successive(topology, np.setdiff1d(live, first), src, dst)
            as_few = len(first) + sum(map(len, others)) <= sum(map(len, found))
            if len(others) == len(found) - 1 and as_few:
                return [first[::-1].tolist(), *others]
    return found


def _successive(topology: Topology, live: npt.NDArray[np.int64], src: int, dst: int) -> list[list[int]]:
    """Link-disjoint routes over some links, with the fewest links in all."""
    used = np.zeros(topology.links, bool)
    while True:
        way = _cheapest(topology, live, used, src, dst)
        if way is None:
            return _pull_apart(topology, used, src, dst)
        used[way] = ~used[way]


def _live(topology: Topology, allowed: Bools | None) -> Bools:
    live: Bools = topology.bandwidth > 0
    return live if allowed is None else live & allowed


def _whole(rate: Floats) -> npt.NDArray[np.int64]:
    """Rates as integers whose sum is below 2**31: exact where their greatest common divisor allows it."""
    if len(rate) and np.all(rate == np.floor(rate)) and rate.max() < 2.0**62:
        counts = rate.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        if float(counts.astype(float).sum()) < _MOST:
            return counts
    scale = (_MOST - 1 - len(rate)) / max(float(rate.sum()), 1e-300)
    return np.ceil(rate * scale).astype(np.int64)


def _cheapest(
    topology: Topology, live: npt.NDArray[np.int64], used: Bools, src: int, dst: int
) -> npt.NDArray[np.int64] | None:
    """Links of a cheapest way: a free link costs 1, and a used one taken backwards gives 1 back."""
    back = used[live]
    tail = np.where(back, topology.dst[live], topology.src[live])
    head = np.where(back, topology.src[live], topology.dst[live])
    order = np.argsort(head, kind="stable")
    links, tail, cost = live[order], tail[order], np.where(back, -1.0, 1.0)[order]
    ends, first = np.unique(head[order], return_index=True)
    place = np.repeat(np.arange(len(ends)), np.diff(np.append(first, len(links))))
    far, into = np.full(topology.vertices, np.inf), np.full(topology.vertices, -1)
    far[src] = 0.0
    while len(links):
        reach = far[tail] + cost
        least = np.minimum.reduceat(reach, first)
        better = least < far[ends]
        if not better.any():
            break
        hits = np.flatnonzero((reach == least[place]) & better[place])[::-1]
        into[ends[place[hits]]] = hits  # the lowest link number is written last
        far[ends[better]] = least[better]
    if not np.isfinite(far[dst]):
        return None
    way, vertex = [], dst
    while vertex != src:
        way.append(links[into[vertex]])
        vertex = int(tail[into[vertex]])
    return np.array(way)


def _pull_apart(topology: Topology, used: Bools, src: int, dst: int) -> list[list[int]]:
    """The routes that a set of links consists of; one of least cost has no cycles."""
    leaving: dict[int, list[int]] = {}
    for link in np.flatnonzero(used)[::-1]:
        leaving.setdefault(int(topology.src[link]), []).append(int(link))
    routes = []
    while leaving.get(src):
        vertex, route = src, []
        while vertex != dst:
            link = leaving[vertex].pop()
            route.append(link)
            vertex = int(topology.dst[link])
        routes.append(route)
    return sorted(routes, key=len)
