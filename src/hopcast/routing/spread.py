"""Nodes under switches, traffic spread evenly: inside a node over its switch, else up and down again.

It is for networks in which every switch has one switch above it, as fat trees have whose spines stand as one
vertex: an even spread over all spines is then one route. Chips of one node without a switch between them take
their cable, or a shortest way where they have none. A switch that reduces or multicasts is reached over its
link.

Source: Leiserson 1985, Fat-trees, doi:10.1109/TC.1985.6312192 (up to the least common ancestor and down).
"""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Bools, Ints, Topology

from . import Routes, assemble, dimension_order, shortest

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tables:
    """Where the links of a network of nodes lead.

    Shapes: n chips, v vertices, m links.

    Attributes:
        node: ``int64[n]``.
        into, out: ``int64[n]``, the link of a chip to the switch of its node and back; -1 without one.
        tier: ``int64[v]``: 0 of a chip, 1, 2 ... of switches above; -1 for those inside nodes.
        rises, falls: Links that lead one tier up or down.
        key: ``int64[m]``, ends of every link as one number, ascending; ``link`` has their numbers.
    """

    node: Longs
    into: Longs
    out: Longs
    tier: Longs
    rises: Longs
    falls: Longs
    key: Longs
    link: Longs


@functools.lru_cache(maxsize=8)
def tables(topology: Topology) -> Tables:
    """The tables of a network whose last axis is inside nodes."""
    n, src, dst = topology.chips, topology.src, topology.dst
    inside = topology.axis == len(topology.axes) - 1
    into, out = np.full(n, -1), np.full(n, -1)
    up, down = np.flatnonzero(inside & (dst >= n)), np.flatnonzero(inside & (src >= n))
    into[src[up]], out[dst[down]] = up, down
    above = np.flatnonzero(~inside)
    tier = np.where(np.arange(topology.vertices) < n, 0, -1)
    for level in range(topology.vertices):
        next_up = dst[above][(tier[src[above]] == level) & (tier[dst[above]] < 0)]
        if not len(next_up):
            break
        tier[next_up] = level + 1
    step = tier[dst[above]] - tier[src[above]]
    node = topology.coords[:, 0].astype(np.int64) if len(topology.axes) > 1 else np.zeros(n, np.int64)
    key = src.astype(np.int64) * topology.vertices + dst
    order = np.argsort(key, kind="stable")
    return Tables(node, into, out, tier, above[step == 1], above[step == -1], key[order], order)


@dataclass(frozen=True, eq=False)
class Ways:
    """Links of pairs, row by row; -1 fills what a shorter way leaves.

    Shapes: ``links`` is ``int64[p, longest]``; ``open`` is ``bool[p]``: pairs whose way leads above their
    nodes.
    """

    links: Longs
    open: Bools


def near(topology: Topology, src: Ints, dst: Ints, longest: int) -> Ways:
    """The ways that need nothing above nodes: nowhere, one link, or over the switch of a node."""
    t = tables(topology)
    ways = np.full((len(src), longest), -1)
    wanted = src.astype(np.int64) * topology.vertices + dst
    at = np.minimum(np.searchsorted(t.key, wanted), max(len(t.key) - 1, 0))
    joined = (t.key[at] == wanted) if len(t.key) else np.zeros(len(src), bool)
    ways[joined, 0] = t.link[at[joined]]
    chips = (src < topology.chips) & (dst < topology.chips)
    a, b = np.where(chips, src, 0), np.where(chips, dst, 0)
    same = chips & (t.node[a] == t.node[b])
    here = same & ~joined & (src != dst) & (t.into[a] >= 0)
    ways[here, 0], ways[here, 1] = t.into[a[here]], t.out[b[here]]
    return Ways(ways, chips & ~same & ~joined)


def finish(topology: Topology, src: Ints, dst: Ints, ways: Longs, lost: Bools) -> Routes:
    """Routes from ways; pairs without one, and those with a dead link, take a shortest way.

    Shapes: ``ways`` is ``int64[p, longest]``, ``lost`` ``bool[p]``.
    """
    held = ways[~lost]
    hops = (held >= 0).sum(1).astype(np.int64)
    kept, pair = held[held >= 0], np.flatnonzero(~lost)
    found = assemble(topology, pair, np.ones(len(pair)), hops, kept)
    if lost.any():
        rest = np.flatnonzero(lost)
        other = shortest.routes(topology, src[rest], dst[rest])
        both = assemble(
            topology,
            np.concatenate([found.pair, rest[other.pair]]),
            np.concatenate([found.weight, other.weight]),
            np.concatenate([found.hops, other.hops]).astype(np.int64),
            np.concatenate([found.links, other.links]),
        )
        found = dimension_order.in_order(both)
    return dimension_order.around(topology, found, src, dst)


def is_plain(topology: Topology) -> bool:
    """Whether each pair of chips has one way by the rule, so that none is searched for.

    Chips of a node are all on its switch or all joined, and what is above nodes is one tree.
    """
    t, n, src, dst = tables(topology), topology.chips, topology.src, topology.dst
    beside = (topology.axis == len(topology.axes) - 1) & (src < n) & (dst < n)
    joined = np.bincount(src[beside], minlength=n) == np.bincount(t.node)[t.node] - 1
    if not (joined.all() or np.all((t.into >= 0) & (t.out >= 0))):
        return False
    top = int(t.tier.max(initial=0))
    lower = (t.tier >= 0) & (t.tier < top)
    risen = np.bincount(src[t.rises], minlength=topology.vertices)
    one = int((t.tier == top).sum()) == 1 or len(np.unique(t.node)) == 1
    return one and bool(np.all(risen[lower] == 1))


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """One route for each pair.

    Cost: O(pairs) array steps, besides the tables that are made once for each network.

    Raises:
        InputError: if dead links leave a pair without a route.
    """
    t = tables(topology)
    depth = int(t.tier.max(initial=0))
    found = near(topology, src, dst, 2 * max(depth, 1))
    up, down = np.full(topology.vertices, -1), np.full(topology.vertices, -1)
    up[topology.src[t.rises]], down[topology.dst[t.falls]] = t.rises, t.falls
    ways, row = found.links, np.flatnonzero(found.open)
    a, b = src[row].astype(np.int64), dst[row].astype(np.int64)
    for level in range(depth):
        going, coming = up[a], down[b]
        ways[row, level], ways[row, -1 - level] = going, coming
        known = (going >= 0) & (coming >= 0)
        row, going, coming = row[known], going[known], coming[known]
        a, b = topology.dst[going].astype(np.int64), topology.src[coming].astype(np.int64)
        row, a, b = _apart(row, a, b)
    _straight(topology, src, dst, ways, up, down)
    return finish(topology, src, dst, ways, _unfinished(topology, src, dst, ways))


def _straight(topology: Topology, src: Ints, dst: Ints, ways: Longs, up: Longs, down: Longs) -> None:
    """Ways between a vertex and a switch above it, over the tiers between them."""
    t = tables(topology)
    row = np.flatnonzero((ways[:, 0] < 0) & (ways[:, -1] < 0) & (t.tier[src] >= 0) & (t.tier[dst] >= 0))
    row = row[t.tier[src[row]] != t.tier[dst[row]]]
    a, b = src[row].astype(np.int64), dst[row].astype(np.int64)
    for _ in range(ways.shape[1] // 2):
        lower, higher = t.tier[a] < t.tier[b], t.tier[a] > t.tier[b]
        going, coming = up[a], down[b]
        rising, falling = lower & (going >= 0), higher & (coming >= 0)
        ways[row[rising], t.tier[a[rising]]] = going[rising]
        ways[row[falling], -1 - t.tier[b[falling]]] = coming[falling]
        a[rising], b[falling] = topology.dst[going[rising]], topology.src[coming[falling]]


def _apart(row: Longs, a: Longs, b: Longs) -> tuple[Longs, Longs, Longs]:
    """What is left of pairs that have not met."""
    apart = a != b
    return row[apart], a[apart], b[apart]


def _unfinished(topology: Topology, src: Ints, dst: Ints, ways: Longs) -> Bools:
    """Pairs whose links do not lead all the way."""
    at: AnyInts = src.astype(np.int64)
    for column in ways.T:
        there = column >= 0
        fits = there & (topology.src[column] == at)
        at = np.where(fits, topology.dst[column], np.where(there, -1, at))
    return np.asarray(at != dst)
