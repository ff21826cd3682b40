"""broadcast and reduce at the limit of any network: the array goes down trees that fill the weakest cut.

No rank can get more out of the root than what flows to it at most, and as many trees from the root as can
flow to the rank that is hardest to reach go to all ranks at once and use no link beyond its capacity. Each
takes its part of the array, in m pieces: in step s every edge at depth d of a tree sends piece s - d.

A piece waits for the latency of every link. With one lane for each link the next piece waits for it too. With
two lanes in turn, the one half a piece behind the other, a link sends for one while the other waits, so it is
always busy; then a piece takes twice as long for a hop, and more of them are better. They only stay in turn
if what is in one of them is in step: so each tree has two of its own. Over switches, where more flows at once
take longer, each link has, and where one of them is lame each link for each depth.

reduce is the mirror image on the links turned round.
"""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hopcast.graph import branchings
from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import COPY, REDUCE, Schedule, Sends, one_group, sends
from hopcast.ir.topology import Floats, Ints

from . import _chunks, _links, _placed, _root_ground
from ._root_ground import Ground, Wiring, of_group

COLLECTIVES = "broadcast", "reduce"
MOST_RANKS, MOST_UNASKED = 1_024, 512
MOST_SENDS = 5_000_000  # that may be asked for
_TRIED_SENDS = 1_000_000  # that are followed in a second or two
_MOST_MIXED = 2_200  # edges of trees over links of nodes and between them, which others try
_MOST_EDGES = 20_000  # of all trees that may be asked for
_LEAST = 0.9  # of what can flow, unless asked; the routes of a machine do not allow every way over switches
_EFFORT, _MOST_TRIES = 8_000, 16  # edges of all packings tried, and packings
# Latencies that one of two lanes is behind the other: as much more than one as less than the two that a piece
# takes at least, so that links that are not alike do not bring them together. Routes over switches have other
# links in common.
_APART, _APART_OVER = 1.5, 1.05
_LONGEST = 2.0  # latencies that a piece takes at least, so that the other lane can be so far behind
_PATIENCE = 250  # pieces for each step of filling; all others save 0.4 % together, with two lanes 0.8 %
_NEAR = 1.01  # of the least time, within which fewer trees are better
_GAIN = 0.98  # of the time of one lane, above which two are not worth it


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Pieces of the array down their trees."""
    return _placed.built(functools.partial(_scheduled, "broadcast"), group, hint)


def reduce(group: Group, hint: Hint) -> Schedule:
    """The mirror image of a broadcast over the links turned round."""
    return _placed.built(functools.partial(_scheduled, "reduce"), group, hint)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs links and switches that the group has to itself, and not too many ranks."""
    group, hint = _placed.asked(group, hint)
    count, pieces = _asked(hint)
    if group.ranks > MOST_RANKS:
        return f"it packs trees of up to {MOST_RANKS:,} ranks from one root, and these are {group.ranks:,}"
    if count * (group.ranks - 1) > _MOST_EDGES:
        room = _MOST_EDGES // (group.ranks - 1)
        return f"{count:,} trees are too many; up to {room:,} are possible for {group.ranks:,} ranks"
    wiring = of_group(group)
    if isinstance(wiring, str):
        return wiring
    ground = _root_ground.grounds(wiring, hint.root, collective == "reduce", count)[0]
    if not ground.count and count and _root_ground.reach(wiring, hint.root, collective == "reduce"):
        return f"its links do not hold {count:,} equal trees"
    if not ground.count:
        return "the links that are alive do not lead from its root to all ranks"
    if ground.kept < _LEAST and not count:
        return f"trees over the routes between its ranks carry only {100 * ground.kept:.3g} % of the optimum"
    most = MOST_SENDS // (ground.count * (group.ranks - 1))
    if pieces > most:
        return f"{pieces:,} pieces take too many sends; up to {most:,} are possible here"
    return None


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """Following its sends takes long where ranks are many, or share links in ever other ways."""
    group, hint = _placed.asked(group, hint)
    wiring = of_group(group)
    if group.ranks > MOST_UNASKED:
        return f"it takes seconds beyond {MOST_UNASKED} ranks"
    if group.levels and not isinstance(wiring, str):
        ground = _root_ground.grounds(wiring, hint.root, collective == "reduce", 0)[0]
        if ground.count * (group.ranks - 1) > _MOST_MIXED:
            return "its trees share links of nodes and of the network, which takes long to follow"
    return None


def _asked(hint: Hint) -> tuple[int, int]:
    """Trees, and pieces of the part of each, that were asked for; 0: whatever is fastest."""
    trees, pieces = (int(hint.options.get(key) or 0) for key in ("trees", "pieces"))
    return trees, pieces


@dataclass(frozen=True, eq=False)
class Plan:
    """What one step sends when all of the pipeline is full: an edge of every tree.

    Shapes: e edges of all trees, all ``int32[e]``.

    Attributes:
        count: Trees.
        depth, src, dst, tree, lane: Of each edge; depth 0 begins at the root.
        full: Seconds of the most loaded link when every edge sends its part of 1 byte.
        filling: How many full steps all steps are beyond the number of pieces, by bytes.
        latency: Of the slowest route, seconds.
    """

    count: int
    depth: Ints
    src: Ints
    dst: Ints
    tree: Ints
    lane: Ints
    full: float
    filling: float
    latency: float

    def time(self, size: float, pieces: int, lanes: int) -> float:
        """Seconds of so many pieces of each tree's part, with one lane a link or two."""
        volume, deepest = self.full * size, int(self.depth.max())
        if lanes == 1:
            return (pieces + deepest) * self.latency + volume * (1 + self.filling / pieces)
        return 2 * self.latency + volume * (1 + 2 * self.filling / pieces)

    def fastest(self, size: float, asked: int) -> tuple[int, int]:
        """Pieces of each tree's part, and lanes of a link: two only where that gains something."""
        volume, edges = self.full * size, len(self.src)
        most = max(1, min(_TRIED_SENDS // edges, math.ceil(_PATIENCE * self.filling)))
        one = asked or _chunks.best(self.filling, self.latency, volume, most)
        if not self.latency:
            return one, 1
        most = min(asked or most, int(volume / (_LONGEST * self.latency)))
        two = asked or most
        gains = 1 < two <= most and self.time(size, two, 2) < _GAIN * self.time(size, one, 1)
        return (two, 2) if gains else (one, 1)


@functools.lru_cache(maxsize=128)
def plans(wiring: Wiring, root: int, turned: bool, asked: int, seed: int) -> list[Plan]:
    """Of each ground, the one of several packings that fills a pipeline soonest."""
    found = []
    for ground in _root_ground.grounds(wiring, root, turned, asked):
        tried = packings(wiring, ground, root, seed)
        found.append(min(tried, key=lambda p: (p.filling, int(p.depth.max()))))
    return found


def packings(wiring: Wiring, ground: Ground, root: int, seed: int) -> Iterator[Plan]:
    """As many as may be tried, one after the other."""
    tries = max(1, min(_MOST_TRIES, _EFFORT // (ground.count * (ground.network.ranks - 1))))
    return (_packed(wiring, ground, root, tries * seed + k) for k in range(tries))


def _packed(wiring: Wiring, ground: Ground, root: int, seed: int) -> Plan:
    """Trees, and how they load the links."""
    links, network = ground.links, ground.network
    ends = links.tail, links.head, links.capacity
    trees = branchings.branchings(network.ranks, *ends, root, ground.count, seed)
    rows = [(t.depth[u], u, v, i) for i, t in enumerate(trees) for u, v in t.edges]
    depth, src, dst, tree = np.array(rows, np.int32).reshape(-1, 4).T
    seconds = loads(ground, depth, src, dst) / (network.capacity * wiring.unit)
    full = float(seconds.sum(0).max())
    first, last = np.cumsum(seconds, 0).max(1), np.cumsum(seconds[::-1], 0).max(1)
    filling = float((first[:-1].sum() + last[:-1].sum()) / full) - (len(seconds) - 1)
    pairs, pair = np.unique(np.stack([src, dst], 1), axis=0, return_inverse=True)
    lane = _links.colours(pairs)[pair.ravel()]
    return Plan(len(trees), depth, src, dst, tree, lane, full, filling, wiring.latency)


def loads(ground: Ground, depth: Ints, src: Ints, dst: Ints) -> Floats:
    """What the edges of each depth put on each link, in parts of D: ``float64[depths, l]``."""
    links = ground.links
    ends = zip(links.tail.tolist(), links.head.tolist(), strict=True)
    route = dict(zip(ends, links.routes, strict=True))
    load = np.zeros((int(depth.max()) + 1, len(ground.network.capacity)))
    for d, u, v in zip(depth.tolist(), src.tolist(), dst.tolist(), strict=True):
        load[d, list(route[u, v])] += 1 / ground.count
    return load


def _scheduled(collective: str, group: Group, hint: Hint) -> Schedule:
    """Of a collective, broadcast or reduce."""
    wiring, n = of_group(group), group.ranks
    asked, pieces = _asked(hint)
    assert not isinstance(wiring, str), wiring
    back = collective == "reduce"
    plan, m, lanes = _chosen(plans(wiring, hint.root, back, asked, hint.seed), hint.size, pieces)
    depths = int(plan.depth.max()) + 1
    late = depths - 1 - plan.depth if back else plan.depth
    rows_at = [np.flatnonzero(late == d) for d in range(depths)]
    src, dst = (plan.dst, plan.src) if back else (plan.src, plan.dst)
    op = REDUCE if back else COPY
    whose = _lanes(plan, wiring) if lanes > 1 else plan.lane
    apart = _APART_OVER if wiring.network.vertices > n else _APART

    def make(i: int) -> Sends:
        rows = np.concatenate([rows_at[d] for d in range(depths) if 0 <= i - d < m])
        piece = i - late[rows]
        lane = whose[rows] * lanes + piece % lanes
        return sends(src[rows], dst[rows], plan.tree[rows] * m + piece, op=op, lane=lane)

    def pattern(i: int) -> tuple[str, int]:
        # The first piece of two lanes has another size.
        return ("full", 0) if depths - 2 + lanes <= i < m else ("step", i)

    return Schedule(
        of(collective, n, root=hint.root, parts=plan.count * m), "forest", one_group(n), n, m + depths - 1,
        make, _share(plan, m, lanes, hint.size, apart), (int(whose.max()) + 1) * lanes, pattern,
    )  # fmt: skip


def _lanes(plan: Plan, wiring: Wiring) -> Ints:
    """What has two lanes of its own, of each edge."""
    network = wiring.network
    if network.vertices == network.ranks:
        return plan.tree
    if _root_ground.is_lame(network):
        both: Ints = plan.lane * (plan.depth.max() + 1) + plan.depth
        return both
    return plan.lane


def _chosen(found: list[Plan], size: float, asked: int) -> tuple[Plan, int, int]:
    """A plan, pieces of each tree's part, and lanes.

    Of plans that take hardly more than the least it has the fewest trees: many get in each other's way more
    than is promised.
    """
    ways = [(plan, *plan.fastest(size, asked)) for plan in found]
    times = [plan.time(size, m, lanes) for plan, m, lanes in ways]
    near = [way for way, time in zip(ways, times, strict=True) if time <= _NEAR * min(times)]
    return min(near, key=lambda way: way[0].count)


def _share(plan: Plan, m: int, lanes: int, size: float, apart: float) -> Floats | None:
    """Parts of D of all pieces: with two lanes the first piece is smaller, so that these come to differ.

    While one of two lanes waits for latency the other sends if it is at least that far behind; so far it
    stays behind on the whole way.
    """
    if lanes == 1:
        return None
    piece = np.ones(m)
    piece[0] = 1 - apart * plan.latency * m / (plan.full * size)
    return np.tile(piece / piece.sum(), plan.count) / plan.count
