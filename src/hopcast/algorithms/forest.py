"""all_gather at the limit of any network: every rank's shard goes down trees that fill the worst cut.

No all_gather can send more than x bytes/s of every rank's shard to all others, where x is the least, over all
sets of ranks, of what the links out of it carry for each rank in it. Trees out of every rank that together
send just that are found in one of three ways, whichever takes less time for the size asked.

Where ranks can change places (nodes of GPUs behind switches, tori), trees grow from one rank round by round,
and all others make them their own: in each round a rank sends on pieces of shards that came in earlier ones,
over each kind of route as many as keep its links busy. Some ten to forty rounds come within 1 % of the limit.

Where ranks differ (a dead NIC, a slow link, chips at the ends of a grid) the trees of all ranks grow at once,
round by round: over each route goes what is hardest to get where it leads, as long as its links have time.
Within 2 % of the limit where there is much to send.

Of up to 32 such ranks trees are also packed, exactly: links and routes over switches are first turned into
links between ranks, with capacities that leave x as it is, and so many trees are packed out of every rank as
reach it: p of them or a multiple, if x is p / q units of capacity. Where a switch leads to a rank that has a
cable too, a send that is to take the switch goes to it, and from there on in the next step. Each tree takes
its part of the shard, in m pieces: in step s every edge at depth d of a tree sends piece s - d. So every step
but the first and last few loads every link alike, and none beyond its capacity. One tree of each rank is
shallower, and taken where that is faster, though it may reach a few percent less than x. `forest,trees=10`
asks for so many packed trees. Between slices of many chips x stays out of reach by a sixth.

broadcast has trees out of its root alone, as many as can flow to the rank that is hardest to reach, and
pieces go down them in one lane for each link, or in two that take turns to wait for latency. reduce is its
mirror image. Over the same trees scatter sends each rank an equal part, the farthest first, and gather is the
mirror image of that.

reduce_scatter is the mirror image of the all_gather on the links turned round, and all_reduce is the one
after the other. Where trees grew in rounds and ranks differ, each sum goes as soon as it can, so that nobody
waits for one who has fallen behind. There is no closed form; steps of packed trees take
(m + depth - 1) (alpha + D / (m n x)), less what the first and last of them lack.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hopcast.graph import arborescences
from hopcast.graph.split import Path
from hopcast.ir import algebra
from hopcast.ir.collective import ALL, Collective
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import COPY, Schedule, Sends, one_group, sends
from hopcast.ir.topology import AnyInts, Floats, Ints

from . import (
    _chunks,
    _ground,
    _links,
    _network,
    _packed_root,
    _packed_scatter,
    _relayed,
    _shifted,
    _spread,
    option,
)
from ._packed_root import broadcast as broadcast
from ._packed_root import reduce as reduce
from ._packed_scatter import gather as gather
from ._packed_scatter import scatter as scatter

SOURCE = (
    "Zhao et al. 2024, ForestColl, arXiv:2402.06787; Edmonds 1973, Edge-disjoint branchings; "
    "Berczi and Frank 2010, Packing arborescences"
)
# Packed trees of each rank, and pieces of the part of each tree; none given: what is fastest.
OPTIONS: dict[str, tuple[str, ...]] = {"trees": (), "pieces": ()}
MOST_ALIKE, MOST_RANKS, MOST_UNASKED = 512, 256, 64  # ranks: that share trees, of packed ones, and unasked
_MOST_UNEVEN = 128  # the last of these where links differ: it takes seconds, and half the time of others
MOST_TREES, MOST_SENDS = 1_024, 5_000_000  # that may be asked for
_TRIED_SENDS, _NAMED_SENDS = 100_000, 3_000_000  # of packed trees that others try, and that are named
_RELAYED_SENDS = 300_000  # of packed trees whose sends name switches, which are deeper
_PACKINGS, _FEW_EDGES = 8, 8_000  # packings tried, and edges of all of them together
_FEW_ALIKE = 16  # ranks up to which its rounds, a few percent shorter at middle sizes, cost half a second
_LEAST = 0.9  # of the optimum, unless asked; a machine's routes do not allow every way over switches
_COUNTS = 1, 0  # packed trees of each rank that are tried; 0: as many as reach the optimum
# Kinds of trees of each rank up to which pairs of ranks have lanes of their own. More of them get in each
# other's way where nothing keeps them in step: it costs up to 4 % where one node has lost a NIC (2026-11).
_ALIKE = 1.25
_NEAR = 1.02  # times the least that there could be: packed trees are not tried then
_MOST_PACKED = 32  # ranks up to which they are tried, unless they are asked for


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards down their trees, piece after piece."""
    return _gather(group, hint)(False)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """The mirror image of an all_gather over the links turned round."""
    return _summed(_gather(group, hint, back=True)(True))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums come together, and are spread over the same trees."""
    build = _gather(group, hint, mirrored=True)
    return algebra.then(_summed(build(True)), build(False), "all_reduce")


def _summed(gather: Schedule) -> Schedule:
    """The mirror image, in which a switch holds what came last and not the sum of all that ever came."""
    back, n = algebra.reverse(gather), gather.ranks
    if gather.vertices == n:
        return back

    def make(i: int) -> Sends:
        rows = back.make(i)
        return replace(rows, op=np.where(rows.dst < n, rows.op, COPY).astype(rows.op.dtype))

    return replace(back, make=make)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs links and switches that the group has to itself, as much into each as out of it."""
    if collective in _packed_root.COLLECTIVES:
        return _packed_root.valid(collective, group, hint)
    if collective in _packed_scatter.COLLECTIVES:
        return _packed_scatter.valid(collective, group, hint)
    most = MOST_RANKS if hint.options else MOST_ALIKE
    if group.ranks > most:
        return f"its trees take minutes beyond {most} ranks; use hierarchical or multi_axis"
    trees, pieces = (int(option(OPTIONS, hint, key) or 0) for key in OPTIONS)
    if trees > MOST_TREES:
        return f"it is asked for {trees:,} trees of each rank, and at most {MOST_TREES:,} are tried"
    room = MOST_SENDS // (group.ranks * (group.ranks - 1))
    if pieces > room:
        return f"{pieces:,} pieces take too many sends; up to {room:,} are possible for {group.ranks} ranks"
    wirings = _relayed.of(group, collective == "all_reduce")
    if isinstance(wirings, str):
        return wirings
    wiring = wirings[0]
    if collective == "all_reduce" and not wiring.mirrored:
        return "not every link has its like the other way, so sums and copies take different trees"
    ways = (False,) if wiring.mirrored else (False, True)
    if not hint.options and all(_shifts(wiring, turned) for turned in ways):
        return None
    if group.ranks > MOST_RANKS:
        return f"its ranks are not alike, and trees of so many kinds take minutes beyond {MOST_RANKS} ranks"
    if not hint.options and wiring.direct is None:
        return (
            None
            if _spread.is_joined(wiring)
            else "not all its ranks reach each other over routes of their own"
        )
    kept = 0.0
    for count in (trees,) if trees else _COUNTS:
        kept = max(kept, min(_ground.of(wiring, turned, count).kept for turned in ways))
        if kept >= _LEAST or (trees and kept):
            return None
    return f"trees over the routes between its ranks reach only {100 * kept:.3g} % of the optimum"


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """It takes seconds where ranks are many, and gains nothing over others where links are alike."""
    if collective in _packed_root.COLLECTIVES:
        return _packed_root.unasked(collective, group, hint)
    if collective in _packed_scatter.COLLECTIVES:
        return _packed_scatter.unasked(collective, group, hint)
    even = all(part.uniform_rates for part in group.levels or (group,))
    most = MOST_UNASKED if even else _MOST_UNEVEN
    if group.ranks > most:
        return f"it takes seconds beyond {most} ranks"
    alike = not group.switched and group.uniform_rates and len(set(group.bandwidth)) == 1
    closed = all(a.wraps or a.length <= 2 for a in group.axes)
    if alike and (closed or group.ranks > _FEW_ALIKE):
        return "all its links go from rank to rank at one rate, where synthesized takes no longer"
    return None


def _shifts(wiring: _network.Wiring, turned: bool) -> _shifted.Shifts | None:
    """How ranks change places, where every way is a send of its own."""
    return _shifted.of(wiring, turned) if wiring.direct is None else None


@dataclass(frozen=True, eq=False)
class _Plan:
    """What one step sends when all of the pipeline is full: an edge of every tree.

    Shapes: k kinds of trees, e edges of all of them.

    Attributes:
        root: ``int32[k]``.
        part: ``float64[k]``, of D.
        depth, src, dst, tree: ``int32[e]``, of each edge; depth 0 begins at the root.
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
    full: float
    filling: float
    latency: float
    kept: float

    def time(self, size: float, pieces: int) -> float:
        """Seconds of all steps, of so many pieces of each tree's part."""
        steps = pieces + int(self.depth.max())
        return steps * self.latency + self.full * size * (1 + self.filling / pieces)


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
    if wiring.direct is None:
        rows = [(t.depth[u], u, v, i) for i, t in enumerate(trees) for u, v in t.edges]
        route = _routes(links.tail, links.head, links.routes)
    else:
        trees, rows = _relayed.sent(trees, ground.network, links, ground.parts, wiring.direct, turned)
        route = _relayed.routes(ground.network, wiring.direct, turned)
    depth, src, dst, tree = np.array(rows, np.int32).reshape(-1, 4).T
    part = np.array([t.copies for t in trees]) / (n * count)
    seconds = _loads(route, len(ground.network.capacity), depth, src, dst, part[tree]) / (
        wiring.network.capacity * float(wiring.unit)
    )
    full = float(seconds.sum(0).max())
    first, last = np.cumsum(seconds, 0).max(1), np.cumsum(seconds[::-1], 0).max(1)
    filling = float((first[:-1].sum() + last[:-1].sum()) / full) - (len(seconds) - 1)
    root = np.array([t.root for t in trees], np.int32)
    return _Plan(root, part, depth, src, dst, tree, full, filling, wiring.latency, ground.kept)


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


def _best(wiring: _network.Wiring, turned: bool, hint: Hint, most: int = _TRIED_SENDS) -> tuple[_Plan, int]:
    """The packed trees that promise least time, and the number of their pieces: at most so many sends."""
    trees, pieces = (int(option(OPTIONS, hint, key) or 0) for key in OPTIONS)
    found = []
    for count in (trees,) if trees else _COUNTS:
        if _ground.of(wiring, turned, count).kept:
            plan = _plan(wiring, turned, count, hint.seed)
            whole, limit = plan.full * hint.size, max(1, most // len(plan.src))
            found.append((plan, pieces or _chunks.best(plan.filling, plan.latency, whole, limit)))
    return min(found, key=lambda p: p[0].time(hint.size, p[1]))


Build = Callable[[bool], Schedule]  # an all_gather; with True the one of which the mirror image is wanted


def _gather(group: Group, hint: Hint, *, back: bool = False, mirrored: bool = False) -> Build:
    """What makes the all_gather over a network, or ``back`` what is to be turned round."""
    wirings = _relayed.of(group, mirrored)
    assert not isinstance(wirings, str), wirings
    found: list[_Made] = []
    for wiring in wirings[:1] if hint.options else wirings:
        found.append(_over(wiring, group, back and not wiring.mirrored, hint, back or mirrored))
        if found[-1].time <= found[-1].enough:
            break
    return min(found, key=lambda made: made.time).build


@dataclass(frozen=True)
class _Made:
    """What sends over one wiring promise: seconds, with how many it is enough, and how they are made."""

    time: float
    enough: float
    build: Build


def _over(wiring: _network.Wiring, group: Group, turned: bool, hint: Hint, mirror: bool) -> _Made:
    """What is found over one wiring, or over it turned round."""
    if hint.options or wiring.direct is not None:
        return _packed_over(wiring, group, turned, hint)
    grown = _grown_over(wiring, group, turned, hint, mirror)
    if grown.time <= grown.enough or group.ranks > _MOST_PACKED:
        return grown
    if not any(_ground.of(wiring, turned, count).kept for count in _COUNTS):
        return grown
    return min(grown, _packed_over(wiring, group, turned, hint), key=lambda made: made.time)


def _grown_over(wiring: _network.Wiring, group: Group, turned: bool, hint: Hint, mirror: bool) -> _Made:
    """Trees that all ranks share, or where these differ whatever each of them sends in rounds."""
    optimum, shard, latency = _ground.optimum(wiring, turned), hint.size / group.ranks, wiring.latency
    rate = float(optimum * wiring.unit)
    enough = _NEAR * (latency + shard / rate)
    shifts = _shifts(wiring, turned)
    if shifts is None:
        most = _spread.MOST_SENDS * (2 if group.ranks > MOST_UNASKED else 1)
        spread = _spread.fastest(wiring, turned, rate, shard, mirror, most, hint.seed)
        build = functools.partial(_spread.schedule, wiring, turned, spread)
        return _Made(spread.time(latency, shard), enough, build)
    shared = _shifted.fastest(shifts, rate, optimum.numerator, latency, shard, hint.seed)
    return _Made(shared.time(latency, shard), enough, lambda _: _shifted.schedule(shifts, shared))


def _packed_over(wiring: _network.Wiring, group: Group, turned: bool, hint: Hint) -> _Made:
    """Packed trees, in pieces one after the other."""
    most = _TRIED_SENDS if wiring.direct is None else _RELAYED_SENDS
    if unasked("all_gather", group, hint) is not None:
        most = _NAMED_SENDS
    plan, pieces = _best(wiring, turned, hint, most)
    return _Made(plan.time(hint.size, pieces), 0.0, lambda _: _piped(plan, group.ranks, pieces, wiring))


def _piped(plan: _Plan, n: int, m: int, wiring: _network.Wiring) -> Schedule:
    """The all_gather down packed trees, in so many pieces of each.

    With more than one piece of a lane under way, first pieces would come late.
    """
    trees, depths = len(plan.root), int(plan.depth.max()) + 1
    rows_at = [np.flatnonzero(plan.depth == d) for d in range(depths)]
    lane = np.zeros_like(plan.tree)
    if trees <= _ALIKE * n:
        pairs, pair = np.unique(np.stack([plan.src, plan.dst], 1), axis=0, return_inverse=True)
        lane = _links.colours(pairs)[pair.ravel()]

    def make(i: int) -> Sends:
        rows = np.concatenate([rows_at[d] for d in range(depths) if 0 <= i - d < m])
        return sends(plan.src[rows], plan.dst[rows], plan.tree[rows] * m + i - plan.depth[rows],
                     lane=lane[rows])  # fmt: skip

    def pattern(i: int) -> tuple[str, int]:
        return ("full", 0) if depths - 1 <= i < m else ("step", i)

    goal = np.full(trees * m, ALL, np.int32)
    collective = Collective("all_gather", n, np.repeat(plan.root, m), goal)
    return Schedule(
        collective, "forest", one_group(n), n if wiring.direct is None else wiring.network.vertices,
        m + depths - 1, make,
        np.repeat(plan.part / m, m), int(lane.max()) + 1, pattern,
    )  # fmt: skip
