"""Packed trees of all ranks as pipelines, in lanes that take no longer without barriers than with them.

In step s every edge at depth d of a tree sends piece s - d, so each full step loads every link alike. Without
barriers that helps only if nobody who is early takes links from those who are late. There are lanes

- of links: every send crosses one link, and its lane is that link's. A link sends what is in one step before
  what is in the next, and is busy as long as it has something to send. So all sends up to step s have arrived
  when that step would end with barriers: those of step s had their data when step s - 1 would, and their link
  had nothing else to do;
- of edges: all trees are equal, and every edge of each is a lane of its own. A link that holds c trees has at
  most c sends at any time, so each gets its part of the link, or more. Whoever is early has to wait at last,
  and nobody is late, over however many links a send goes. The first and the last few steps may take as long
  as full ones, though;
- of ranks: few sends of many sizes, which go over several links. Where they meet others that are in another
  step links starve, and up to a quarter is lost (2026-11). So that is for what has too many trees.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from hopcast.graph import arborescences
from hopcast.graph.split import Path
from hopcast.ir.collective import ALL, Collective
from hopcast.ir.schedule import Schedule, Sends, one_group, sends
from hopcast.ir.topology import AnyInts, Floats, Ints

from . import _chunks, _ground, _links, _network, _relayed

COUNTS = 1, 0  # packed trees of each rank that are tried; 0: as many as reach the optimum
_FEWER = 2, 3, 4, 6, 8, 12, 16, 24  # tried where those are too many for lanes of edges
_PACKINGS, _FEW_EDGES = 8, 8_000  # packings tried, and edges of all of them together
_MOST_EDGES = 20_000  # of all equal trees
# Parts of the time that are lost until a pipeline is full: with which there are more sends, and no more.
_LOSS, _NOTHING = 0.003, 0.0004
_MORE = 1_200_000  # sends at most then, which flows take two seconds for
_START = 1.0  # full steps that a pipeline in lanes of edges is taken to lose at least
_MANY = 4  # pieces for each depth, from which lanes of edges hardly take longer than steps (2026-11)
_MUCH = 0.006  # part of the time for which other lanes and numbers of trees are tried
_LITTLE = 0.005  # part of the time that latency may take then
_STEADY = 1.02  # times the least, up to which lanes that keep it are taken
# Kinds of trees of each rank up to which pairs of ranks have lanes of their own. More of them get in each
# other's way where nothing keeps them in step: it costs up to 4 % where one node has lost a NIC (2026-11).
_ALIKE = 1.25


@dataclass(frozen=True, eq=False)
class Plan:
    """What one step sends when all of the pipeline is full: an edge of every tree.

    Shapes: k kinds of trees, e edges of all of them.

    Attributes:
        root: ``int32[k]``.
        copies: ``int64[k]``, of each kind.
        part: ``float64[k]``, of D.
        depth, src, dst, tree: ``int32[e]``, of each edge; depth 0 begins at the root.
        lane: ``int32[e]``.
        lanes: Of what they are.
        seconds: ``float64[d, l]``, of each link for the edges of each depth, of 1 byte.
        full: Seconds of the most loaded link when every edge sends its part of 1 byte.
        filling: How many full steps all steps are beyond the number of pieces, by bytes.
        latency: Of the slowest route, seconds.
        kept: The part of the optimum that a full step reaches.
    """

    root: Ints
    copies: AnyInts
    part: Floats
    depth: Ints
    src: Ints
    dst: Ints
    tree: Ints
    lane: Ints
    lanes: Literal["links", "edges", "ranks"]
    seconds: Floats
    full: float
    filling: float
    latency: float
    kept: float

    def time(self, size: float, pieces: int) -> float:
        """Seconds of all steps, of so many pieces of each tree's part.

        In lanes of edges few pieces may take as long as if every step were a full one.
        """
        depths = len(self.seconds)
        full = self.full * (pieces + self.filling)
        if self.lanes == "edges" and pieces < _MANY * depths:
            full = self.full * (pieces + depths - 1)
        elif pieces < depths:  # it is never full
            ends = np.arange(1, pieces + depths)
            summed = np.concatenate([np.zeros_like(self.seconds[:1]), self.seconds.cumsum(0)])
            under_way = summed[np.minimum(ends, depths)] - summed[np.maximum(ends - pieces, 0)]
            full = float(under_way.max(1).sum())
        return (pieces + depths - 1) * self.latency + full * size / pieces

    def pieces(self, size: float, most: int) -> int:
        """How many are best, with at most so many sends, or some more where few lose much."""
        edges, depths = len(self.src), len(self.seconds)
        lost = max(self.filling, min(_START, depths - 1)) if self.lanes == "edges" else self.filling
        limit = max(most // edges, min(int(lost / _LOSS), _MORE // edges))
        limit = max(min(limit, int(lost / _NOTHING)), depths)
        found = _chunks.best(lost, self.latency, self.full * size, limit)
        return found if found >= depths else min(range(1, depths + 1), key=lambda m: self.time(size, m))

    @property
    def steady(self) -> bool:
        """Whether without barriers no full step surely takes longer."""
        return self.lanes != "ranks"


@functools.lru_cache(maxsize=128)
def plan(wiring: _network.Wiring, turned: bool, count: int, seed: int = 0, named: bool = False) -> Plan:
    """The trees of several packings that fill a pipeline soonest.

    Args:
        wiring: The network.
        turned: Whether all links are turned round.
        count: Trees of each rank; 0: as many as reach the optimum.
        seed: Other packings.
        named: Whether sends name every switch on their way.
    """
    best = _packed(wiring, turned, count, _PACKINGS * seed, named)
    for k in range(1, min(_PACKINGS, _FEW_EDGES // len(best.src))):
        other = _packed(wiring, turned, count, _PACKINGS * seed + k, named)
        best = min(best, other, key=lambda p: (p.filling, int(p.depth.max())))
    return best


def _packed(wiring: _network.Wiring, turned: bool, count: int, seed: int, named: bool) -> Plan:
    """Trees, and how they load the links."""
    ground, trees = _ground.of(wiring, turned, count), _trees(wiring, turned, count, seed)
    n, links, count = wiring.network.ranks, ground.links, ground.count
    if wiring.direct is None:
        rows = [(t.depth[u], u, v, i) for i, t in enumerate(trees) for u, v in t.edges]
        route = _routes(links.tail, links.head, links.routes)
    else:
        direct = frozenset(p for p in wiring.direct if len(p) == 1) if named else wiring.direct
        trees, rows = _relayed.sent(trees, ground.network, links, ground.parts, direct, turned)
        route = _relayed.routes(ground.network, direct, turned)
    depth, src, dst, tree = np.array(rows, np.int32).reshape(-1, 4).T
    copies = np.array([t.copies for t in trees], np.int64)
    part = copies / (n * count)
    seconds = _loads(route, len(ground.network.capacity), depth, src, dst, part[tree]) / (
        wiring.network.capacity * float(wiring.unit)
    )
    full = float(seconds.sum(0).max())
    first, last = np.cumsum(seconds, 0).max(1), np.cumsum(seconds[::-1], 0).max(1)
    filling = float((first[:-1].sum() + last[:-1].sum()) / full) - (len(seconds) - 1)
    root = np.array([t.root for t in trees], np.int32)
    lanes: Literal["links", "ranks"] = "ranks"
    if all(len(route[pair]) == 1 for pair in zip(src.tolist(), dst.tolist(), strict=True)):
        lanes = "links"
    lane = _of_links(src, dst) if lanes == "links" else _of_ranks(src, dst, len(trees) <= _ALIKE * n)
    return Plan(
        root, copies, part, depth, src, dst, tree, lane, lanes, seconds, full, filling, wiring.latency,
        ground.kept,
    )  # fmt: skip


@functools.lru_cache(maxsize=64)
def _trees(wiring: _network.Wiring, turned: bool, count: int, seed: int) -> list[arborescences.Tree]:
    """Packed ones."""
    ground = _ground.of(wiring, turned, count)
    links, capacity = ground.links, ground.links.capacity * ground.parts
    return arborescences.trees(wiring.network.ranks, links.tail, links.head, capacity, ground.count, seed)


def _routes(tail: AnyInts, head: AnyInts, routes: list[Path]) -> dict[tuple[int, int], list[int]]:
    """The links between each two ranks."""
    ends = zip(tail.tolist(), head.tolist(), strict=True)
    return {pair: list(path) for pair, path in zip(ends, routes, strict=True)}


def _loads(
    route: dict[tuple[int, int], list[int]], links: int, depth: Ints, src: Ints, dst: Ints, part: Floats
) -> Floats:
    """What the edges of each depth put on each link, in parts of D: ``float64[depths, l]``."""
    load = np.zeros((int(depth.max()) + 1, links))
    for d, u, v, amount in zip(depth.tolist(), src.tolist(), dst.tolist(), part.tolist(), strict=True):
        load[d, route[u, v]] += amount
    return load


def _of_links(src: Ints, dst: Ints) -> Ints:
    """``int32[e]``: a lane for each two ends; others that have an end in common have another."""
    cables, cable = np.unique(np.sort(np.stack([src, dst], 1), axis=1), axis=0, return_inverse=True)
    return _apart(cables)[cable.ravel()]


def _of_edges(src: Ints, dst: Ints) -> Ints:
    """``int32[e]``: a lane for each edge, but two that lead one way and the other between two ends share one.

    So no link has more lanes than edges where sums go the other way first.
    """
    nth = np.zeros(len(src), np.int64)
    met: dict[tuple[int, int], int] = {}
    for i, pair in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        nth[i] = met.get(pair, 0)
        met[pair] = int(nth[i]) + 1
    ends = np.sort(np.stack([src, dst], 1), axis=1)
    cables, cable = np.unique(np.concatenate([ends, nth[:, None]], 1), axis=0, return_inverse=True)
    return _apart(cables[:, :2])[cable.ravel()]


def _apart(cables: AnyInts) -> Ints:
    """``int32[c]``: a number for each cable; no two of a vertex have the same.

    >>> _apart(np.array([[0, 1], [0, 1], [0, 2], [1, 2]])).tolist()
    [0, 1, 2, 3]
    """
    taken: dict[int, int] = {}  # of each vertex, as bits
    found = np.zeros(len(cables), np.int32)
    for i, (u, v) in enumerate(cables.tolist()):
        free = ~(taken.get(u, 0) | taken.get(v, 0))
        one = free & -free
        found[i] = one.bit_length() - 1
        taken[u], taken[v] = taken.get(u, 0) | one, taken.get(v, 0) | one
    return found


def _of_ranks(src: Ints, dst: Ints, alike: bool) -> Ints:
    """``int32[e]``: a lane for each two ranks where trees are ``alike``, else one for each rank."""
    if not alike:
        return np.zeros(len(src), np.int32)
    pairs, pair = np.unique(np.stack([src, dst], 1), axis=0, return_inverse=True)
    return _links.colours(pairs)[pair.ravel()]


@functools.lru_cache(maxsize=128)
def _equal(plan: Plan) -> Plan | None:
    """The same trees as equal ones, each edge in a lane of its own; None where these are too many."""
    times = plan.copies // np.gcd.reduce(plan.copies)
    each = times[plan.tree]
    if each.sum() > _MOST_EDGES:
        return None
    rows = np.repeat(np.arange(len(each)), each)
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each)
    first = np.cumsum(times) - times
    src, dst, tree = plan.src[rows], plan.dst[rows], (first[plan.tree[rows]] + nth).astype(np.int32)
    return replace(
        plan, root=np.repeat(plan.root, times), copies=np.repeat(plan.copies // times, times),
        part=np.repeat(plan.part / times, times), depth=plan.depth[rows], src=src, dst=dst, tree=tree,
        lane=_of_edges(src, dst), lanes="edges",
    )  # fmt: skip


def best(
    wiring: _network.Wiring, turned: bool, size: float, most: int, trees: int = 0, pieces: int = 0,
    seed: int = 0,
) -> tuple[Plan, int]:  # fmt: skip
    """The packed trees that promise least time, and the number of their pieces.

    Args:
        wiring: The network.
        turned: Whether all links are turned round.
        size: D, bytes.
        most: Sends, if no more are asked for; some more where few would lose much.
        trees: Asked for of each rank, or 0.
        pieces: Asked for of each tree's part, or 0.
        seed: Other packings.
    """

    def way(plan: Plan) -> _Way:
        m = pieces or plan.pieces(size, most)
        return _Way(plan.time(size, m), plan, m)

    def ways(counts: tuple[int, ...]) -> Iterator[_Way]:
        for count in counts:
            if _ground.of(wiring, turned, count).kept:
                yield from _laned(wiring, turned, count, seed, way, size)

    found = list(ways((trees,) if trees else COUNTS))
    if not trees and _lack(found, size):
        found += ways(tuple(count for count in _FEWER if count < _ground.of(wiring, turned, 0).count))
    now = min(found, key=lambda way: (not way.plan.steady, way.time))
    if now.time > _STEADY * min(way.time for way in found):
        now = min(found, key=lambda way: way.time)
    return now.plan, now.pieces


class _Way(NamedTuple):
    """Seconds, and what takes them."""

    time: float
    plan: Plan
    pieces: int


def _laned(
    wiring: _network.Wiring, turned: bool, count: int, seed: int, way: Callable[[Plan], _Way], size: float
) -> list[_Way]:
    """So many trees of each rank, in all kinds of lanes that may be best."""
    first = plan(wiring, turned, count, seed)
    if first.steady:
        return [way(first)]
    equal = _equal(first)
    found = [way(one) for one in (first, equal) if one is not None]
    if wiring.direct is not None and _lack(found, size):
        found.append(way(plan(wiring, turned, count, seed, True)))
    return found


def _lack(found: list[_Way], size: float) -> bool:
    """Whether the best steady lanes lose time to filling or beside others, and not to latency."""
    least = min(found, key=lambda way: way.time)
    if (least.pieces + len(least.plan.seconds)) * least.plan.latency > _LITTLE * least.time:
        return False
    now = min(found, key=lambda way: (not way.plan.steady, way.time))
    lost = now.plan.full * size * now.plan.filling / now.pieces
    return not now.plan.steady or lost > _MUCH * now.time or now.time > (1 + _MUCH) * least.time


def schedule(plan: Plan, n: int, m: int, wiring: _network.Wiring) -> Schedule:
    """The all_gather down packed trees, in so many pieces of each.

    With more than one piece of a lane under way, first pieces would come late.
    """
    trees, depths = len(plan.root), int(plan.depth.max()) + 1
    rows_at = [np.flatnonzero(plan.depth == d) for d in range(depths)]

    def make(i: int) -> Sends:
        rows = np.concatenate([rows_at[d] for d in range(depths) if 0 <= i - d < m])
        return sends(plan.src[rows], plan.dst[rows], plan.tree[rows] * m + i - plan.depth[rows],
                     lane=plan.lane[rows])  # fmt: skip

    def pattern(i: int) -> tuple[str, int]:
        return ("full", 0) if depths - 1 <= i < m else ("step", i)

    goal = np.full(trees * m, ALL, np.int32)
    collective = Collective("all_gather", n, np.repeat(plan.root, m), goal)
    return Schedule(
        collective, "forest", one_group(n), n if wiring.direct is None else wiring.network.vertices,
        m + depths - 1, make,
        np.repeat(plan.part / m, m), int(plan.lane.max()) + 1, pattern,
    )  # fmt: skip
