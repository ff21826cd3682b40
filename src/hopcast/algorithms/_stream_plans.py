"""How an array streams through slices: where it enters, in how many pieces, and about how long that takes.

Places of entry are compared by the busiest link: those inside, which have the less to carry the more enters
at the ends of open axes, and NICs and PCIe of the hosts, which all have to work where the network binds.
"""

import functools
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from hopcast.ir import algebra
from hopcast.ir.group import Group
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Floats

from . import _streams
from ._rates import Rate, routed
from ._streams import Plan

_PIECES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_MOST_SENDS = 400_000  # of a schedule that is to be simulated in seconds
_HARDLY = 1.005  # times the least time: not worth more pieces
_FEW = 4  # units up to which those that enter together all end together
_MOST_LANES = 16
_STEPS = 2.5  # latencies of a unit or piece where lanes wait for sums, as measured on v5e 8x8 and 8x16, 4 MiB
_UNLIKE = 2  # drains, as measured on slices of v4 2x2x4 and v6e 4x4: between 1.3 and 1.8
_LEAST = 1e-3  # of the array: a smaller part is not worth its sends
_ZOOMS, _GRID, _COARSE = 12, 9, 5  # of the search for shares, the last for more than two that are free


@dataclass(frozen=True)
class Found:
    """A plan.

    Attributes:
        collective: What it is for.
        plan: Itself.
        seconds: About how long it takes.
    """

    collective: str
    plan: Plan
    seconds: float

    def schedule(self) -> Schedule:
        """As a schedule."""
        if self.collective == "all_reduce":
            return _streams.all_reduce(self.plan)
        there = _streams.all_gather(self.plan)
        return there if self.collective == "all_gather" else algebra.reverse(there)


@dataclass(frozen=True)
class _Way:
    """A plan of one piece with what it loads.

    Attributes:
        plan: Of all_gather.
        inside: Seconds for each byte of D that the busiest link inside is busy.
        network: Of a step in which every chip sends to where its shard enters.
        drain: Latency of the way from an entry to the last chip, and seconds for each byte of D of one unit.
        latency: Of the longest leg.
        hop: The longest latency of a link inside.
        sends: How many, in all groups.
        alike: Whether all axes are, and where shards enter along them.
    """

    plan: Plan
    inside: float
    network: Rate
    drain: tuple[float, float]
    latency: float
    hop: float
    sends: int
    alike: bool


def fits(group: Group) -> bool:
    """Whether it is slices of a grid whose links are alike."""
    if len(group.levels) != 2 or group.cluster is None:
        return False
    outer, inner = group.levels
    grid = not inner.switched and inner.uniform_rates and not any(a.inner for a in inner.axes)
    return outer.switched and grid and min(outer.ranks, inner.ranks) > 1


@functools.lru_cache(maxsize=128)
def best(collective: str, group: Group, size: float, asked: int = 0) -> Found | None:
    """The plan that takes least, with the fewest pieces that take hardly longer.

    Args:
        collective: all_gather, reduce_scatter or all_reduce.
        group: See `fits`.
        size: D, bytes.
        asked: Pieces, of all_reduce rounds; 0 chooses them.

    Returns:
        None where one piece has too many sends already, or a chip cannot be reached.

    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.mesh import group, physical
    >>> pod = cluster("v5e:8x8,slices=2")
    >>> found = best("all_gather", group(pod, physical(pod.topology), ()), 2**30)
    >>> found.plan.ends, found.plan.pieces, round(found.seconds * 1e6)
    ((True, True), 32, 10392)
    """
    both = collective == "all_reduce"
    if not fits(group) or (not asked and _fewest(group) * (1 + both) > _MOST_SENDS):
        return None
    tried: list[Found] = []
    for way in _ways(group, collective):
        most = max(1, _MOST_SENDS // (way.sends * (1 + both)))
        for pieces in [asked] if asked else [p for p in _PIECES if p <= most]:
            for lanes in _lanes(way.plan, 1 if both else pieces):
                plan = _cut(way.plan, collective, pieces, lanes)
                seconds = _both_ways(way, plan, size) if both else _seconds(way, plan, size)
                tried.append(Found(collective, plan, seconds))
    if not tried:
        return None
    least = min(f.seconds for f in tried)
    good = [f for f in tried if f.seconds <= _HARDLY * least]
    return min(good, key=lambda f: (f.plan.pieces * f.plan.rounds, f.seconds))


def _cut(plan: Plan, collective: str, pieces: int, lanes: int) -> Plan:
    if collective == "all_reduce":
        return replace(plan, rounds=pieces, lanes=lanes, before=True)
    return replace(plan, pieces=pieces, lanes=lanes, before=collective != "all_gather")


def _lanes(plan: Plan, pieces: int) -> list[int]:
    """Two; of one piece also all that enters at once, which is one latency."""
    every = plan.slices - 1
    return [2, every] if pieces == 1 and 2 < every <= _MOST_LANES else [2]


def _seconds(way: _Way, plan: Plan, size: float) -> float:
    """Of all_gather and its mirror image; see the docstring of `_streams`."""
    each = size / (plan.slices * plan.chips * plan.pieces) * way.network.slowness
    alpha, late = way.network.latency, 1
    together = plan.units <= _FEW or not (plan.shifted or plan.before)  # units end in pairs
    in_step = plan.slices % 2 == 1 or (plan.before and plan.slices == 2)
    if together or in_step or plan.lanes > 2:
        late = min(plan.lanes, plan.units) if together else 1
        entered = math.ceil(plan.units / plan.lanes) * alpha + plan.units * each
    else:  # on two lanes, one latency behind the bytes of the other
        entered = alpha + plan.units * max(each, (alpha + each) / 2)
    hops, slowness = way.drain
    drain = late * slowness * size / plan.pieces
    inside = way.inside * size
    shared = inside > plan.units * each  # the last unit shares links with what else is told
    # Links wait for the way of a unit where all goes in the order of steps, and more where axes are unlike.
    idle = drain * (1 if plan.before else 0 if way.alike else _UNLIKE)
    taken = (plan.units + plan.pieces) * _STEPS if plan.before else plan.units  # latencies on a lane
    return max(entered + hops + drain * (1 + shared), hops + inside + idle + taken * way.hop)


def _both_ways(way: _Way, plan: Plan, size: float) -> float:
    """Of all_reduce: the first sums and the last telling alone, and between them both at once."""
    part = size / plan.rounds
    alone = replace(way, inside=way.inside / 2)  # half of both halves, at least
    each = part / (plan.slices * plan.chips) * way.network.slowness
    entered = math.ceil(plan.units / plan.lanes) * way.network.latency + 2 * plan.units * each
    beside = max(entered, way.inside * part) + way.latency
    return 2 * _seconds(alone, replace(plan, rounds=1), part) + (plan.rounds - 1) * beside


@functools.lru_cache(maxsize=16)
def _ways(group: Group, collective: str) -> list[_Way]:
    """With shards that enter everywhere, and but for all_reduce at the ends of each choice of open axes too.

    In all_reduce, of which both halves are under way at once, links out of an end have as much to carry as
    others if all enters everywhere.
    """
    axes = group.levels[1].axes
    long = [i for i, a in enumerate(axes) if not a.wraps and a.length > 2]
    some = [c for k in range(len(long) + 1) for c in itertools.combinations(long, k)]
    chosen = some[: 1 if collective == "all_reduce" else None]
    found = [_way(group, tuple(i in c for i in range(len(axes))), collective) for c in chosen]
    return [way for way in found if way is not None]


def _way(group: Group, ends: tuple[bool, ...], collective: str) -> _Way | None:
    """None where a chip cannot be reached."""
    outer, inner = group.levels
    plan, busiest = _shared(
        Plan(outer.ranks, inner.axes, _orders(inner, collective), (), ends), inner, collective
    )
    orders = plan.orders
    steps = [_network(group, plan, order) for order in orders]
    if any(step is None for step in steps):
        return None
    network = max((s for s in steps if s is not None), key=lambda s: s.slowness)
    drains = [_drain(plan, order, inner) for order in orders]
    drain = max(d[0] for d in drains), max(d[1] * s for d, s in zip(drains, plan.share, strict=True))
    tell, own = ([len(_streams.told(p, order).src) for order in orders] for p in (plan, plan.everywhere))
    sends = (plan.slices - 1) * (plan.chips * len(orders) + sum(tell)) + sum(own)
    latency = max(_hops(a.length, a.wraps) * late for a, late in zip(inner.axes, inner.latency, strict=True))
    sends *= plan.slices * len(group.all_groups)
    alike = inner.equal_axes and len(set(ends)) == 1
    return _Way(plan, busiest, network, drain, latency, max(inner.latency), sends, alike)


def _orders(inner: Group, collective: str) -> tuple[tuple[int, ...], ...]:
    """Each axis first in one of them; of axes that differ all orders, but for all_reduce.

    Measured on two slices of v4 2x2x4, 1 GiB: all_reduce is at 0.91 of the bound with these and at 0.86 with
    all.
    """
    n = len(inner.axes)
    if inner.equal_axes or collective == "all_reduce":
        return tuple(tuple((p + i) % n for i in range(n)) for p in range(n))
    return tuple(itertools.permutations(range(n)))


def _shared(plan: Plan, inner: Group, collective: str) -> tuple[Plan, float]:
    """The plan with the shares for which the busiest link has least to do, and how busy that is.

    Orders that differ by axes that are alike get as much each: else one of these axes would wait for the
    other. all_gather takes as few orders as will do. Sums go on better on many: on those slices of v4
    reduce_scatter is at 0.88 of the bound with six orders and at 0.78 with four, all_gather at 0.87 and 0.90.
    """
    kind = [*zip(inner.axes, inner.bandwidth, inner.latency, plan.ends, strict=True)]
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, order in enumerate(plan.orders):
        key = tuple((kind[a][0].length, kind[a][0].wraps, *kind[a][1:]) for a in order)
        alike.setdefault(key, []).append(i)
    both = collective == "all_reduce"
    loads = np.stack([_load(plan, order, inner, both) for order in plan.orders])
    groups = [(some, loads[some].mean(0)) for some in alike.values()]
    shares = _fewest_parts if collective == "all_gather" else _least_max
    part = shares(np.stack([load for _, load in groups]))
    share = np.zeros(len(plan.orders))
    for (some, _), of_all in zip(groups, part, strict=True):
        share[some] = of_all / len(some)
    kept = np.flatnonzero(share > _LEAST)
    share[share <= _LEAST] = 0.0
    share /= share.sum()
    orders = tuple(plan.orders[i] for i in kept)
    return replace(plan, orders=orders, share=tuple(share[kept].tolist())), float((share @ loads).max())


def _fewest_parts(load: Floats) -> Floats:
    """Shares that are hardly worse than the best, of as few parts as may be: each part costs sends.

    Shapes: as of `_least_max`.
    """
    kept, share = list(range(len(load))), _least_max(load)
    most = _HARDLY * float((share @ load).max())
    for part in np.argsort(share):
        fewer = [p for p in kept if p != part]
        found = _least_max(load[fewer]) if fewer else share
        if fewer and float((found @ load[fewer]).max()) <= most:
            kept, share = fewer, found
    whole = np.zeros(len(load))
    whole[kept] = share
    return whole


def _hops(length: int, wraps: bool) -> int:
    return length // 2 if wraps else length - 1


def _fewest(group: Group) -> int:
    """Sends of one piece, about, without making any."""
    outer, inner = group.levels
    hops = sum(a.length - 1 for a in inner.axes) + 1
    return outer.ranks * hops * len(inner.axes) * group.all_groups.size


def _load(plan: Plan, order: tuple[int, ...], inner: Group, both: bool) -> Floats:
    """Seconds for each byte of D of every link inside, if the whole array is told in this order."""
    ways = 2 * len(plan.axes)
    load = np.zeros((plan.chips, ways))
    for whose, part in ((plan, plan.slices - 1), (plan.everywhere, 1)):
        rows = _streams.told(whose, order)
        axis = np.array(order)[rows.leg]
        each = rows.count * (part / (plan.slices * plan.chips * plan.grain)) / np.array(inner.bandwidth)[axis]
        np.add.at(load, (rows.src, 2 * axis + rows.down), each)
        if both:
            np.add.at(load, (rows.dst, 2 * axis + 1 - rows.down), each)
    return load.ravel()


def _network(group: Group, plan: Plan, order: tuple[int, ...]) -> Rate | None:
    """Of a step in which every chip sends to where its shard enters in the next slice."""
    rank = np.arange(group.ranks)
    at, chip = np.divmod(rank, plan.chips)
    goal = (at + 1) % plan.slices * plan.chips + plan.goal(order)[chip]
    return routed(group, rank.astype(np.int32), goal.astype(np.int32))


def _drain(plan: Plan, order: tuple[int, ...], inner: Group) -> tuple[float, float]:
    """Latency of the way of a unit through a slice, and seconds for each byte of D if it is not cut."""
    rows = _streams.told(plan, order)
    latency, slowness = 0.0, 0.0
    for leg, a in enumerate(order):
        mine = rows.leg == leg
        hops = _hops(plan.axes[a].length, plan.axes[a].wraps)
        block = float(rows.count[mine].max(initial=0)) / (plan.grain * plan.chips * plan.slices)
        latency += hops * inner.latency[a]
        slowness += hops * block / inner.bandwidth[a]
    return latency, slowness


def _least_max(load: Floats) -> Floats:
    """Shares of the parts for which the busiest link has least to do.

    The largest of linear functions is convex: a grid over all shares, then finer ones around the best.

    Shapes: ``load`` is ``float64[parts, links]``, the result ``float64[parts]``.

    >>> _least_max(np.array([[1.0, 0.0], [0.0, 3.0]])).round(3).tolist()
    [0.75, 0.25]
    """
    if len(load) == 1:
        return np.ones(1)
    table = np.unique(load, axis=1)
    steps = np.linspace(-1, 1, _GRID if len(load) <= 3 else _COARSE)
    moves = np.array(list(itertools.product(steps, repeat=len(load) - 1))).reshape(-1, len(load) - 1)
    centre, reach = np.full(len(load) - 1, 1 / len(load)), 1.0
    for _ in range(_ZOOMS):
        free = centre + reach * moves
        share = np.concatenate([free, 1 - free.sum(1, keepdims=True)], 1)
        share = share[share.min(1) >= -1e-12]
        found = np.maximum(share[int((share @ table).max(1).argmin())], 0.0)
        centre, reach = found[:-1], reach / 2
    return np.asarray(found / found.sum(), np.float64)
