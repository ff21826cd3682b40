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

Of up to 32 ranks trees are also packed, exactly: links and routes over switches are first turned into links
between ranks, with capacities that leave x as it is, and so many trees are packed out of every rank as reach
it: p of them or a multiple, if x is p / q units of capacity. Where a switch leads to a rank that has a cable
too, a send that is to take the switch goes to it, and from there on in the next step. Each tree takes its
part of the shard, in m pieces: in step s every edge at depth d of a tree sends piece s - d. So every step but
the first and last few loads every link alike, and none beyond its capacity. Where routes share links, trees
are made equal and each of their edges is a lane of its own, or sends name every switch: then they take no
longer without barriers, where fewer and larger ones would lose up to a quarter. One tree of each rank, or
few, are shallower, and taken where that is faster, though they may reach a few percent less than x.
`forest,trees=10` asks for so many. Between slices of many chips x stays out of reach by a sixth.

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

from hopcast.ir import algebra
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import COPY, Schedule, Sends

from . import (
    _ground,
    _network,
    _packed_pipes,
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
_FEW_ALIKE = 16  # ranks up to which its rounds, a few percent shorter at middle sizes, cost half a second
_LEAST = 0.9  # of the optimum, unless asked; a machine's routes do not allow every way over switches
# Times the least that there could be, up to which packed trees are not tried, or must be steady.
_THERE, _NEAR = 1.005, 1.02
_STEADY = 1.01  # times the least, up to which sends are taken that surely take no longer without barriers
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
    for count in (trees,) if trees else _packed_pipes.COUNTS:
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


Build = Callable[[bool], Schedule]  # an all_gather; with True the one of which the mirror image is wanted


def _gather(group: Group, hint: Hint, *, back: bool = False, mirrored: bool = False) -> Build:
    """What makes the all_gather over a network, or ``back`` what is to be turned round."""
    wirings = _relayed.of(group, mirrored)
    assert not isinstance(wirings, str), wirings
    found: list[_Made] = []
    for wiring in wirings[:1] if hint.options else wirings:
        turned = back and not wiring.mirrored
        found.append(_over(wiring, group, turned, hint, back or mirrored))
        if found[-1].steady and found[-1].time <= _THERE * _least(wiring, turned, hint):
            break
    return _soonest(found).build


def _least(wiring: _network.Wiring, turned: bool, hint: Hint) -> float:
    """Seconds that there could be over a wiring, with one latency."""
    rate = float(_ground.optimum(wiring, turned) * wiring.unit)
    return wiring.latency + hint.size / wiring.network.ranks / rate


@dataclass(frozen=True)
class _Made:
    """What sends over one wiring promise.

    Attributes:
        time: Seconds, with barriers.
        steady: Whether it takes no longer without barriers.
        build: How they are made.
    """

    time: float
    steady: bool
    build: Build


def _soonest(found: list[_Made]) -> _Made:
    """The one that takes least; what may take longer without barriers must be much better."""
    least = min(found, key=lambda made: made.time)
    steady = min((made for made in found if made.steady), key=lambda made: made.time, default=least)
    return steady if steady.time <= _STEADY * least.time else least


def _over(wiring: _network.Wiring, group: Group, turned: bool, hint: Hint, mirror: bool) -> _Made:
    """What is found over one wiring, or over it turned round."""
    if hint.options or wiring.direct is not None:
        return _packed_over(wiring, group, turned, hint)
    grown = _grown_over(wiring, group, turned, hint, mirror)
    least = _least(wiring, turned, hint)
    if (grown.steady and grown.time <= _THERE * least) or group.ranks > _MOST_PACKED:
        return grown
    if not any(_ground.of(wiring, turned, count).kept for count in _packed_pipes.COUNTS):
        return grown
    packed = _packed_over(wiring, group, turned, hint)
    if grown.time <= _NEAR * least and not packed.steady:
        return grown
    return _soonest([grown, packed])


def _grown_over(wiring: _network.Wiring, group: Group, turned: bool, hint: Hint, mirror: bool) -> _Made:
    """Trees that all ranks share, or where these differ whatever each of them sends in rounds."""
    optimum, shard, latency = _ground.optimum(wiring, turned), hint.size / group.ranks, wiring.latency
    rate = float(optimum * wiring.unit)
    shifts = _shifts(wiring, turned)
    if shifts is None:
        most = _spread.MOST_SENDS * (2 if group.ranks > MOST_UNASKED else 1)
        spread = _spread.fastest(wiring, turned, rate, shard, mirror, most, hint.seed)
        build = functools.partial(_spread.schedule, wiring, turned, spread)
        return _Made(spread.time(latency, shard), _spread.is_steady(wiring, turned), build)
    shared = _shifted.fastest(shifts, rate, optimum.numerator, latency, shard, hint.seed)
    return _Made(shared.time(latency, shard), True, lambda _: _shifted.schedule(shifts, shared))


def _packed_over(wiring: _network.Wiring, group: Group, turned: bool, hint: Hint) -> _Made:
    """Packed trees, in pieces one after the other."""
    most = _TRIED_SENDS if wiring.direct is None else _RELAYED_SENDS
    if unasked("all_gather", group, hint) is not None:
        most = _NAMED_SENDS
    trees, pieces = (int(option(OPTIONS, hint, key) or 0) for key in OPTIONS)
    plan, m = _packed_pipes.best(wiring, turned, hint.size, most, trees, pieces, hint.seed)
    return _Made(
        plan.time(hint.size, m),
        plan.steady,
        lambda _: _packed_pipes.schedule(plan, group.ranks, m, wiring),
    )
