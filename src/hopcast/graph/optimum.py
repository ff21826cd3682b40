"""The best rate at which all ranks can send their shards to all others, exactly, and the cut that binds it.

Every rank is the root of an all_gather of its own shard. If each sends x bytes/s, then out of any set A of
vertices that leaves out a rank x for each rank in A must cross, so x is at most what the links out of A carry
over the ranks in A. The least of these ratios is reached (by packed trees: Edmonds' branchings, with
switches split off), so it is the optimum, and all_gather of D bytes over n ranks takes D / (n x).

The worst cut is found by Newton's method: for a guess x feed every rank with x and see whether n x arrives at
each. If not, the least cut has a smaller ratio, which is the next guess; if so, the guess is right, and the
last cut has it exactly. One or two guesses are enough on networks that people build.

Source: Zhao et al. 2024, ForestColl, arXiv:2402.06787 (the optimum); Dinkelbach 1967, On nonlinear fractional
programming (the ratio); Edmonds 1973, Edge-disjoint branchings.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Bools, Floats, Ints, Topology

from . import alike, dinic
from .whole import whole

Longs = npt.NDArray[np.int64]
_MOST = 2**60  # of a flow; twice as much still fits


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best rate of an all_gather, and what limits it.

    Shapes: v vertices.

    Attributes:
        ranks: n.
        rate: Bytes/s of every rank's shard to all others; a float too is a fraction, taken as it stands.
        side: ``bool[v]``: the ranks among these have ``rate`` each of what the links out of it carry. Of a
            reduce_scatter: of the links into it.
        links: ``int32[...]``, those links.
        cuts: How many guesses it took.
        flows: Maximum flows that were computed.
    """

    ranks: int
    rate: Fraction
    side: Bools
    links: Ints
    cuts: int
    flows: int

    @property
    def algbw(self) -> float:
        """D over the least time, bytes/s."""
        return float(self.ranks * self.rate)


def best_rate(
    topology: Topology,
    ranks: AnyInts,
    allowed: Bools | None = None,
    *,
    start: Bools | None = None,
    backwards: bool = False,
) -> Optimum:
    """The greatest rate per root of an all_gather over some ranks; all other vertices only pass on.

    Exact where capacities are whole numbers of bytes/s and their sum, times the ranks, is below 2**60 after
    division by their common divisor. Otherwise they are rounded up to some 40 bits to search with; the rate
    is then still that of a true cut, so never below the optimum, and above it by less than that rounding. At
    half duplex too it is only a limit: each direction is given all of the cable.

    Args:
        topology: Links of bandwidth 0 are dead.
        ranks: ``int32[n]``, two or more chips.
        allowed: ``bool[m]``, links that may be used; all live ones if not given.
        start: ``bool[c, v]``, sets of vertices whose cuts are tried first.
        backwards: Of reduce_scatter: every link is taken the other way.

    Raises:
        ValueError: for fewer than two ranks.

    Cost: one flow for each class of ranks that are alike, at about 1 ms for 64 ranks compiled, and one for
    each cut found; rings and tori take one.

    >>> from hopcast.topologies import torus
    >>> found = best_rate(torus.build("torus:4x4", (4, 4), 45e9, 0.0), np.arange(16))
    >>> found.rate, found.algbw / 1e9
    (Fraction(12000000000, 1), 192.0)
    """
    if len(ranks) < 2:
        raise ValueError(f"an all_gather has two ranks or more; given: {len(ranks)}")
    rate = topology.bandwidth[topology.wire]
    live = (topology.bandwidth > 0) & (rate > 0)
    links = np.flatnonzero(live if allowed is None else live & allowed)
    ends = topology.src[links], topology.dst[links]
    tail, head = ends[::-1] if backwards else ends
    task = _Task(topology.vertices, np.asarray(ranks, np.int64), tail, head, rate[links])
    targets = alike.representatives(topology, ranks, links, rate[links])
    side, cuts, flows = _search(task, targets, start)
    crossing = links[task.crossing(side)].astype(np.int32)
    return Optimum(len(ranks), task.ratio(side), side, crossing, cuts, flows)


def rate_between(
    ranks: int, tail: AnyInts, head: AnyInts, capacity: AnyInts, vertices: int | None = None
) -> Fraction:
    """The same of any links: the greatest rate per root, exactly.

    Args:
        ranks: n of them, two or more, numbered from 0.
        tail: ``[l]``, where each link begins.
        head: ``[l]``, where it ends.
        capacity: ``[l]``, of each, whole numbers below 2**53.
        vertices: Of the whole network, the ranks first; no others if not given.

    >>> rate_between(3, np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([4, 4, 4]))
    Fraction(2, 1)
    """
    everyone = np.arange(ranks)
    ends = np.asarray(tail, np.int32), np.asarray(head, np.int32)
    task = _Task(vertices or ranks, everyone, *ends, np.asarray(capacity, np.float64))
    return task.ratio(_search(task, everyone.astype(np.int32), None)[0])


@dataclass(frozen=True, eq=False)
class _Task:
    """Shapes: l links that may be used, n ranks."""

    vertices: int
    ranks: Longs
    tail: Ints
    head: Ints
    rate: Floats

    def crossing(self, side: Bools) -> Bools:
        """``bool[l]``: links out of a set of vertices."""
        return np.asarray(side[self.tail] & ~side[self.head])

    def ratio(self, side: Bools) -> Fraction:
        """What leaves a set for each rank in it, exactly."""
        carried = sum(map(Fraction, self.rate[self.crossing(side)].tolist()), Fraction(0))
        return carried / int(np.count_nonzero(side[self.ranks]))

    def weakest(self, start: Bools | None) -> Bools:
        """Of all vertices but one rank, and the sets given, the one of least ratio."""
        n = len(self.ranks)
        into = np.bincount(self.head, self.rate, self.vertices)
        side = np.ones(self.vertices, bool)
        side[self.ranks[int(into[self.ranks].argmin())]] = False
        if start is None or not len(start):
            return side
        within = np.count_nonzero(start[:, self.ranks], axis=1)
        out = np.array([self.rate[self.crossing(given)].sum() for given in start])
        each = np.divide(out, within, out=np.full(len(start), np.inf), where=(within > 0) & (within < n))
        given = start[int(each.argmin())].astype(bool)
        return given if np.isfinite(each.min()) and self.ratio(given) < self.ratio(side) else side


def _search(task: _Task, targets: Ints, start: Bools | None) -> tuple[Bools, int, int]:
    """The set of vertices of least ratio, guesses and flows."""
    n, v, links = len(task.ranks), task.vertices, len(task.tail)
    side = task.weakest(start)
    rate = task.ratio(side)
    whole_rate, unit = whole(task.rate, _MOST // max(links * n, 1))
    graph = dinic.arcs(
        v + 1,
        np.concatenate([task.tail, np.full(n, v)]),
        np.concatenate([task.head, task.ranks]),
    )
    network = dinic.Flows(graph, len(targets) + 2)
    capacity = np.empty(links + n, np.int64)
    cuts, flows = 1, 0
    for target in targets.tolist():
        while rate > 0:
            scaled = rate / unit
            if scaled.denominator > n:
                # Only rounded capacities come here. A little less is asked for, so that the search ends.
                scaled = Fraction(int(scaled * n), n)
            wanted = n * scaled.numerator
            capacity[:links] = np.minimum(whole_rate, wanted // scaled.denominator + 1) * scaled.denominator
            capacity[links:] = scaled.numerator
            flows += 1
            if network.send(capacity, v, target, wanted) == wanted:
                break  # also at every lower rate
            found = network.side(v)[:v]
            side, rate, cuts = found, task.ratio(found), cuts + 1
    return side, cuts, flows
