"""all_gather at the limit of any network: every rank's shard goes down trees that fill the worst cut.

No all_gather can send more than x bytes/s of every rank's shard to all others, where x is the least, over all
sets of ranks, of what the links out of it carry for each rank in it. So many trees are packed out of every
rank that together they send just that: links and routes over switches are first turned into links between
ranks, with capacities that leave x as it is. Each tree takes its part of the shard, in m pieces: in step s
every edge at depth d of a tree sends piece s - d. So every step but the first and last few loads every link
alike, and none beyond its capacity.

Often one tree of each rank reaches x but for a few percent, and then that is taken unless more trees promise
clearly less time: many unlike trees get in each other's way where no barrier keeps them in step.
`forest,trees=10` asks for so many; x = p / q units of capacity is reached by p trees and its multiples.

reduce_scatter is the mirror image of the all_gather on the links turned round, and all_reduce is the one
after the other. There is no closed form; steps take (m + depth - 1) (alpha + D / (m n x)), less what the
first and last of them lack.
"""

import functools
from dataclasses import dataclass

import numpy as np

from hopcast.graph import arborescences
from hopcast.ir import algebra
from hopcast.ir.collective import ALL, Collective
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends
from hopcast.ir.topology import Floats, Ints

from . import _chunks, _ground, _links, _network, option

SOURCE = (
    "Zhao et al. 2024, ForestColl, arXiv:2402.06787; Edmonds 1973, Edge-disjoint branchings; "
    "Berczi and Frank 2010, Packing arborescences"
)
# Trees of each rank, and pieces of the part of each tree; none given: the fastest numbers.
OPTIONS: dict[str, tuple[str, ...]] = {"trees": (), "pieces": ()}
MOST_RANKS, MOST_UNASKED = 256, 64
MOST_TREES, MOST_SENDS = 1_024, 5_000_000  # that may be asked for
_UNASKED_SENDS = 100_000
_PACKINGS, _FEW_EDGES = 8, 8_000  # packings tried, and edges of all of them together
_LEAST = 0.9  # of the optimum, unless asked; a machine's routes do not allow every way over switches
_COUNTS = 1, 0  # trees of each rank that are tried; 0: as many as reach the optimum
_CLEARLY = 1.03  # how much longer few trees may take


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards down their trees, piece after piece."""
    return _gather(_wiring(group), False, hint)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """The mirror image of an all_gather over the links turned round."""
    wiring = _wiring(group)
    return algebra.reverse(_gather(wiring, not wiring.mirrored, hint))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums come together, and are spread over the same trees."""
    gather = all_gather(group, hint)
    return algebra.then(algebra.reverse(gather), gather, "all_reduce")


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs links and switches that the group has to itself, as much into each as out of it."""
    if group.ranks > MOST_RANKS:
        return f"its trees take minutes beyond {MOST_RANKS} ranks; use hierarchical or multi_axis"
    if group.ranks > MOST_UNASKED and not hint.options:
        return f"it takes seconds beyond {MOST_UNASKED} ranks; forest,trees=1 asks for it"
    alike = not group.switched and group.uniform_rates and len(set(group.bandwidth)) == 1
    if alike and not hint.options:
        return (
            "all its links go from rank to rank at one rate, where synthesized needs fewer steps; "
            "forest,trees=1 asks for it"
        )
    trees, pieces = (int(option(OPTIONS, hint, key) or 0) for key in OPTIONS)
    if trees > MOST_TREES:
        return f"it is asked for {trees:,} trees of each rank, and at most {MOST_TREES:,} are tried"
    most = MOST_SENDS // (group.ranks * (group.ranks - 1))
    if pieces > most:
        return f"{pieces:,} pieces take too many sends; up to {most:,} are possible for {group.ranks} ranks"
    wiring = _network.of(group)
    if isinstance(wiring, str):
        return wiring
    if collective == "all_reduce" and not wiring.mirrored:
        return "not every link has its like the other way, so sums and copies take different trees"
    ways = (False,) if wiring.mirrored else (False, True)
    kept = 0.0
    for count in (trees,) if trees else _COUNTS:
        kept = max(kept, min(_ground.of(wiring, turned, count).kept for turned in ways))
        if kept >= _LEAST or (trees and kept):
            return None
    return f"trees over the routes between its ranks reach only {100 * kept:.3g} % of the optimum"


def _wiring(group: Group) -> _network.Wiring:
    wiring = _network.of(group)
    assert not isinstance(wiring, str), wiring
    return wiring


@dataclass(frozen=True, eq=False)
class _Plan:
    """What one step sends when all of the pipeline is full: an edge of every tree.

    Shapes: k kinds of trees, e edges of all of them.

    Attributes:
        root: ``int32[k]``.
        part: ``float64[k]``, of D.
        depth, src, dst, tree, lane: ``int32[e]``, of each edge; depth 0 begins at the root.
        full: Seconds of the most loaded link when every edge sends its part of 1 byte.
        filling: How many full steps all steps are beyond the number of pieces, by bytes.
        latency: Of the slowest route, seconds.
        kept: The part of the optimum that a full step reaches.
    """

    root: Ints
    part: Floats
    depth: Ints
    src: Ints
    dst: Ints
    tree: Ints
    lane: Ints
    full: float
    filling: float
    latency: float
    kept: float


@functools.lru_cache(maxsize=128)
def _plan(wiring: _network.Wiring, turned: bool, count: int, seed: int = 0) -> _Plan:
    """The trees of several packings that fill a pipeline soonest."""
    plan = _packed(wiring, turned, count, _PACKINGS * seed)
    for k in range(1, min(_PACKINGS, _FEW_EDGES // len(plan.src))):
        other = _packed(wiring, turned, count, _PACKINGS * seed + k)
        plan = min(plan, other, key=lambda p: (p.filling, int(p.depth.max())))
    return plan


def _packed(wiring: _network.Wiring, turned: bool, count: int, seed: int) -> _Plan:
    """Trees, and how they load the links."""
    ground = _ground.of(wiring, turned, count)
    n, links, count = wiring.network.ranks, ground.links, ground.count
    capacity = links.capacity * ground.parts
    trees = arborescences.trees(n, links.tail, links.head, capacity, count, seed)
    rows = [(t.depth[u], u, v, i) for i, t in enumerate(trees) for u, v in t.edges]
    depth, src, dst, tree = np.array(rows, np.int32).reshape(-1, 4).T
    part = np.array([t.copies for t in trees]) / (n * count)
    seconds = _loads(ground, depth, src, dst, part[tree]) / (wiring.network.capacity * float(wiring.unit))
    full = float(seconds.sum(0).max())
    first, last = np.cumsum(seconds, 0).max(1), np.cumsum(seconds[::-1], 0).max(1)
    filling = float((first[:-1].sum() + last[:-1].sum()) / full) - (len(seconds) - 1)
    root = np.array([t.root for t in trees], np.int32)
    # A lane for each pair of ranks: with more than one piece of it under way, first pieces would come late.
    pairs, pair = np.unique(np.stack([src, dst], 1), axis=0, return_inverse=True)
    lane = _links.colours(pairs)[pair.ravel()]
    return _Plan(root, part, depth, src, dst, tree, lane, full, filling, wiring.latency, ground.kept)


def _loads(ground: _ground.Ground, depth: Ints, src: Ints, dst: Ints, part: Floats) -> Floats:
    """What the edges of each depth put on each link, in parts of D: ``float64[depths, l]``."""
    ends = zip(ground.links.tail.tolist(), ground.links.head.tolist(), strict=True)
    route = {pair: list(path) for pair, path in zip(ends, ground.links.routes, strict=True)}
    load = np.zeros((int(depth.max()) + 1, len(ground.network.capacity)))
    for d, u, v, amount in zip(depth.tolist(), src.tolist(), dst.tolist(), part.tolist(), strict=True):
        load[d, route[u, v]] += amount
    return load


def _best(wiring: _network.Wiring, turned: bool, hint: Hint) -> tuple[_Plan, int]:
    """The plan that promises least time, and its number of pieces.

    As many trees as reach the optimum are many unlike ones, which get in each other's way; so few trees that
    are alike are taken unless they promise to take clearly longer.
    """
    trees, pieces = (int(option(OPTIONS, hint, key) or 0) for key in OPTIONS)
    best: tuple[float, _Plan, int] | None = None
    for count in (trees,) if trees else _COUNTS:
        if best is not None and best[1].kept * _CLEARLY >= 1:
            break
        if not _ground.of(wiring, turned, count).kept:
            continue
        plan = _plan(wiring, turned, count, hint.seed)
        whole, most = plan.full * hint.size, max(1, _UNASKED_SENDS // len(plan.src))
        m = pieces or _chunks.best(plan.filling, plan.latency, whole, most)
        time = (m + int(plan.depth.max())) * plan.latency + whole * (1 + plan.filling / m)
        if best is None or time * _CLEARLY < best[0]:
            best = time, plan, m
    assert best is not None
    return best[1:]


def _gather(wiring: _network.Wiring, turned: bool, hint: Hint) -> Schedule:
    """The all_gather over a network, or over it turned round."""
    plan, m = _best(wiring, turned, hint)
    n, trees, depths = wiring.network.ranks, len(plan.root), int(plan.depth.max()) + 1
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
        collective, "forest", one_group(n), n, m + depths - 1, make,
        np.repeat(plan.part / m, m), int(plan.lane.max()) + 1, pattern,
    )  # fmt: skip
