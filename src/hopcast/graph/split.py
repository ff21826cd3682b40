"""Switches taken out of a network: what passes them becomes direct links between ranks, and no rate is lost.

A switch only passes on, so what comes in by one link leaves by another. Each pair of links that meet in it
may become one link that bypasses it; how much of them does is free as long as every link is used up. Three
ways are tried, and the one that leaves the greatest all_gather rate is taken:

- near: pairs of ranks as few links apart as there are share evenly, then those farther apart;
- even: all pairs share evenly;
- safe: one pair of links after another, by as much as no cut can feel, which maximum flows tell. That always
  works where as much leaves every vertex as enters it (Eulerian) and routes allow every pair, but it uses few
  pairs, and trees over them are deep.

Source: Bang-Jensen, Frank and Jackson 1995, Preserving and increasing local edge-connectivity in mixed graphs
(splitting off); Zhao et al. 2024, ForestColl, arXiv:2402.06787 (how much at once).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Floats

from . import branchings, dinic
from .optimum import rate_between

Longs = npt.NDArray[np.int64]
Path = tuple[int, ...]  # links one after the other
_ENDLESS = 2**61
_BALANCING = 100  # rounds, each of which brings rows and columns closer to their sums
_WAYS = ("near", "even", "safe")
_EVEN_WAYS = _WAYS[:2]  # where one rank is the root, what is safe for all of them is more than is needed


@dataclass(frozen=True, eq=False)
class Network:
    """Ranks, switches, and the routes that may be used.

    Shapes: n ranks, v vertices of which they are the first, l links.

    Attributes:
        ranks: n.
        vertices: v.
        tail, head: ``int64[l]``, ends of each link.
        capacity: ``int64[l]``, whole units.
        routes: Of pairs of ranks, over switches or a link of their own; none passes a rank.
        place: ``int64[n, d]``, coordinates of the ranks: those that differ in few are near each other.
    """

    ranks: int
    vertices: int
    tail: Longs
    head: Longs
    capacity: Longs
    routes: Sequence[Path]
    place: Longs

    def turned(self) -> "Network":
        """The same with every link the other way."""
        routes = sorted(path[::-1] for path in self.routes)
        return replace(self, tail=self.head, head=self.tail, routes=routes)


@dataclass(frozen=True, eq=False)
class Direct:
    """The same network with the routes as links and without switches.

    Shapes: k routes.

    Attributes:
        rate: What every rank (of a broadcast: the root) can send to all others, in units of capacity.
        tail, head: ``int64[k]``, ranks.
        capacity: ``int64[k]``; all routes together use no link beyond its capacity.
        routes: Their links.
    """

    rate: Fraction
    tail: Longs
    head: Longs
    capacity: Longs
    routes: list[Path]


def direct(network: Network, wanted: Fraction) -> Direct:
    """The routes as links, with capacities that leave the rate as high as possible.

    Args:
        network: With switches, or without.
        wanted: The rate that is known to be the most; a whole number if it is to be kept exactly.

    Cost: milliseconds near and even; safe some hundred flows for each pair of links of a switch.

    >>> star = Network(3, 4, np.array([0, 1, 2, 3, 3, 3]), np.array([3, 3, 3, 0, 1, 2]), np.full(6, 2),
    ...                [(a, 3 + b) for a in range(3) for b in range(3) if a != b], np.arange(3)[:, None])
    >>> found = direct(star, Fraction(1))
    >>> found.rate, found.capacity.tolist()
    (Fraction(1, 1), [1, 1, 1, 1, 1, 1])
    """
    best: Direct | None = None
    for way in _WAYS:
        found = _rated(network, _bypassed(network, way, int(wanted)))
        if best is None or found.rate > best.rate:
            best = found
        if best.rate >= wanted:
            break
    assert best is not None
    return best


def direct_from(network: Network, root: int, wanted: int) -> Direct:
    """The routes as links, for a broadcast: the rate is what one rank can send to all others.

    Args:
        network: With switches, or without.
        root: A rank.
        wanted: The rate that is enough.

    Cost: a flow for each rank, and way of sharing out switches.

    >>> star = Network(3, 4, np.array([0, 1, 2, 3, 3, 3]), np.array([3, 3, 3, 0, 1, 2]), np.full(6, 2),
    ...                [(a, 3 + b) for a in range(3) for b in range(3) if a != b], np.arange(3)[:, None])
    >>> direct_from(star, 0, 2).rate
    Fraction(2, 1)
    """
    best: Direct | None = None
    for way in _EVEN_WAYS if network.vertices > network.ranks else _EVEN_WAYS[:1]:
        found = _direct(network, _bypassed(network, way, 0))
        rate = branchings.most(network.ranks, network.ranks, found.tail, found.head, found.capacity, root)
        if best is None or rate > best.rate:
            best = replace(found, rate=Fraction(rate))
        if best.rate >= wanted:
            break
    assert best is not None
    return best


def _rated(network: Network, carried: dict[Path, int]) -> Direct:
    """The direct links and their rate."""
    found = _direct(network, carried)
    return replace(found, rate=rate_between(network.ranks, found.tail, found.head, found.capacity))


def _direct(network: Network, carried: dict[Path, int]) -> Direct:
    """What is left of a network when all that passes switches bypasses them; its rate is not known yet."""
    routes = sorted(path for path, amount in carried.items() if amount)
    tail = np.array([network.tail[path[0]] for path in routes], np.int64)
    head = np.array([network.head[path[-1]] for path in routes], np.int64)
    capacity = np.array([carried[path] for path in routes], np.int64)
    return Direct(Fraction(0), tail, head, capacity, routes)


def _bypassed(network: Network, way: str, count: int) -> dict[Path, int]:
    """What each route carries, switch after switch, the farthest from ranks first."""
    carried: dict[Path, int] = {(i,): int(c) for i, c in enumerate(network.capacity)}
    known = {r[i:j] for r in network.routes for i in range(len(r)) for j in range(i + 2, len(r) + 1)}
    for switch in _from_the_top(network):
        into = [p for p, amount in carried.items() if network.head[p[-1]] == switch and amount]
        out = [p for p, amount in carried.items() if network.tail[p[0]] == switch and amount]
        joined = [[_joined(network, p, q) for q in out] for p in into]
        fits = np.array([[path in known for path in row] for row in joined], bool)
        fits = fits.reshape(len(into), len(out))
        rows, columns = ([carried[p] for p in side] for side in (into, out))
        if way == "safe":
            amounts = _Safe(network, carried, into, out, count).amounts(fits)
        else:
            far = _far(network, into, out) if way == "near" else np.zeros_like(fits, np.int64)
            amounts = _shared(np.array(rows), np.array(columns), fits, far)
        for p in {*into, *out}:
            del carried[p]
        for i, j in np.argwhere(amounts).tolist():
            path = joined[i][j]
            carried[path] = carried.get(path, 0) + int(amounts[i, j])
    return {p: c for p, c in carried.items() if network.head[p[-1]] < network.ranks > network.tail[p[0]]}


def _joined(network: Network, first: Path, second: Path) -> Path:
    """One path and another from its end, without what is only gone to and fro."""
    at = [int(network.tail[link]) for link in first]
    if int(network.head[second[-1]]) in at:
        return first[: at.index(int(network.head[second[-1]]))]
    for i in range(len(second) - 1, 0, -1):
        vertex = int(network.tail[second[i]])
        if vertex in at:
            return first[: at.index(vertex)] + second[i:]
    return first + second


def _from_the_top(network: Network) -> list[int]:
    """Switches that routes pass, those with most links to the nearer end first."""
    height: dict[int, int] = {}
    for route in network.routes:
        for i, link in enumerate(route[:-1], 1):
            switch = int(network.head[link])
            height[switch] = max(height.get(switch, 0), min(i, len(route) - i))
    return sorted(height, key=lambda switch: (-height[switch], switch))


def _far(network: Network, into: list[Path], out: list[Path]) -> Longs:
    """How far apart the ends of each two paths are: in links, and if alike in coordinates of ranks."""
    n = network.ranks
    tail = np.array([network.tail[p[0]] for p in into], np.int64)
    head = np.array([network.head[q[-1]] for q in out], np.int64)
    here, there = (network.place[np.minimum(ends, n - 1)] for ends in (tail, head))
    other = np.count_nonzero(here[:, None] != there[None], axis=2)
    other[np.logical_or.outer(tail >= n, head >= n)] = 0
    links = np.array([len(p) for p in into])[:, None] + np.array([len(q) for q in out])[None]
    return np.asarray(links * (network.place.shape[1] + 1) + other, np.int64)


def _shared(rows: Longs, columns: Longs, fits: Bools, far: Longs) -> Longs:
    """Whole amounts with these sums of rows and columns, as evenly as can be, the least far pairs first."""
    amounts = np.zeros(fits.shape, np.int64)
    for distance in np.unique(far[fits]):
        open_pairs = fits & (far == distance)
        left = rows - amounts.sum(1), columns - amounts.sum(0)
        amounts += np.floor(_balanced(*left, open_pairs) + 1e-6).astype(np.int64)
        for most in (1, _ENDLESS):
            amounts += _matched(rows - amounts.sum(1), columns - amounts.sum(0), open_pairs, most)
    return amounts


def _balanced(rows: Longs, columns: Longs, fits: Bools) -> Floats:
    """Amounts of products of a factor of the row and one of the column, with at most these sums.

    Source: Sinkhorn and Knopp 1967, Concerning nonnegative matrices and doubly stochastic matrices.
    """
    amounts = fits.astype(np.float64)
    both = (1, rows[:, None].astype(float)), (0, columns[None].astype(float))
    for _ in range(_BALANCING):
        before = amounts.copy()
        for axis, sums in both:
            now = amounts.sum(axis, keepdims=True)
            amounts *= np.divide(sums, now, out=np.zeros_like(now), where=now > 0)
        if np.allclose(before, amounts, rtol=1e-9, atol=0):
            break
    for axis, sums in both:
        now = amounts.sum(axis, keepdims=True)
        amounts *= np.minimum(np.divide(sums, now, out=np.zeros_like(now), where=now > 0), 1.0)
    return amounts


def _matched(rows: Longs, columns: Longs, fits: Bools, most: int) -> Longs:
    """As much as can be of what rows and columns lack, at most so much for each pair."""
    a, b = fits.shape
    amounts = np.zeros(fits.shape, np.int64)
    if not rows.any() or not columns.any():
        return amounts
    i, j = np.nonzero(fits)
    tail = np.concatenate([np.full(a, a + b), i, a + np.arange(b)])
    head = np.concatenate([np.arange(a), a + j, np.full(b, a + b + 1)])
    flows = dinic.Flows(dinic.arcs(a + b + 2, tail, head))
    flows.send(np.concatenate([rows, np.full(len(i), most), columns]), a + b, a + b + 1)
    amounts[i, j] = flows.sent()[a : a + len(i)]
    return amounts


class _Safe:
    """Splitting off at one switch, pair of links after pair of links."""

    def __init__(
        self, network: Network, carried: dict[Path, int], into: list[Path], out: list[Path], count: int
    ) -> None:
        self.ranks, self.count = network.ranks, count
        v = network.vertices
        self.ends = [int(network.tail[p[0]]) for p in into], [int(network.head[q[-1]]) for q in out]
        self.left = [carried[p] for p in into], [carried[q] for q in out]
        self.amount: dict[tuple[int, int], int] = {}  # between two vertices
        for path, amount in carried.items():
            pair = int(network.tail[path[0]]), int(network.head[path[-1]])
            self.amount[pair] = self.amount.get(pair, 0) + amount
        for u in self.ends[0]:
            for t in self.ends[1]:
                self.amount.setdefault((u, t), 0)
        self.switch = int(network.head[into[0][-1]]) if into else -1
        self.place = {pair: i for i, pair in enumerate(self.amount)}
        self.source, self.sink = v, v + 1
        pairs = np.array(list(self.amount), np.int64).reshape(-1, 2)
        every = np.arange(v)
        tail = np.concatenate([pairs[:, 0], np.full(v, v), every])
        head = np.concatenate([pairs[:, 1], every, np.full(v, v + 1)])
        self.flows = dinic.Flows(dinic.arcs(v + 2, tail, head), 4 * len(into) * len(out) * self.ranks)
        self.capacity = np.zeros(len(tail), np.int64)
        self.capacity[: len(pairs)] = list(self.amount.values())
        self.from_source, self.to_sink = len(pairs), len(pairs) + v
        self.capacity[self.from_source : self.from_source + self.ranks] = count

    def amounts(self, fits: Bools) -> Longs:
        """How much of each pair of links bypasses the switch."""
        found = np.zeros(fits.shape, np.int64)
        rows, columns = self.left
        for j, t in enumerate(self.ends[1]):
            for i, u in enumerate(self.ends[0]):
                if not columns[j]:
                    break
                most = min(rows[i], columns[j])
                if not fits[i, j] or not most:
                    continue
                found[i, j] = most = self.harmless(u, t, most)
                rows[i] -= most
                columns[j] -= most
                for pair, more in (((u, self.switch), -most), ((self.switch, t), -most), ((u, t), most)):
                    self.capacity[self.place[pair]] += more
        return found

    def harmless(self, u: int, t: int, most: int) -> int:
        """How much from u to t may bypass the switch so that every rank can still get all."""
        fixed = u < self.ranks or t < self.ranks
        others = [v for v in range(self.ranks) if v not in (u, t)]
        tries = [([self.switch], [u, t, *([] if fixed else [v])]) for v in (others[:1] if fixed else others)]
        if fixed and not others:
            tries = [([self.switch], [u, t])]
        tries += [([u, t], [self.switch, v]) for v in others]
        for sources, sinks in tries:
            if not most:
                break
            most = min(most, self.cut(sources, sinks, most))
        return most

    def cut(self, sources: list[int], sinks: list[int], most: int) -> int:
        """By how much the least cut between these is above what is needed, at most so much."""
        begin, end = self.from_source + np.array(sources), self.to_sink + np.array(sinks)
        was = self.capacity[begin]
        self.capacity[begin] = self.capacity[end] = _ENDLESS
        needed = self.ranks * self.count
        reached = self.flows.send(self.capacity, self.source, self.sink, needed + most)
        self.capacity[begin], self.capacity[end] = was, 0
        return reached - needed
