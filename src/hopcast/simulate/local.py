"""Max-min fair rates after a few flows began or ended: only the flows whose rates change are touched.

Rates are fair if and only if every flow has a link that is full and on which no flow is faster; that link
*holds* it, at its level. From the lowest level up, what an event changes is put right:

- a link that has room left lets go the flows that it holds: they are open, and faster than its level;
- a link that is full stops its open flows, and those faster than they, at the level at which it is full.

Both happen at a level that no later one undoes, as in progressive filling, so the work is that of the flows
that do change, and of looking at their links.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (the condition, and progressive filling);
Charny, Clark and Jain 1995, Congestion control with explicit rate indication (levels of links).
"""

import numpy as np

from . import heap
from .compiled import inlined, inner
from .state import (
    DEAD,
    ENDS,
    FEW,
    FRESH,
    LOOSE,
    LOWS,
    OPEN,
    TAKEN,
    WORK,
    Floats,
    Items,
    Longs,
    Names,
    Records,
    State,
)

MOST = 256  # open flows at once; more of them are for `filling`
_STEPS = 2000  # links looked at in one event; the same
_SAME = 1e-12  # levels closer than this part are one, as in the reference
_NOTHING = 1e-12  # part of a capacity that is no room: what sums of rates lose, and far less than 1e-9


@inlined
def solve(s: State) -> bool:
    """New rates. False if they are too many: then some flows of ``few`` are without."""
    tally, few, few_link, few_bound, pipe = s.tally, s.few, s.few_link, s.few_bound, s.pipe
    for i in range(tally[FRESH]):
        few[i] = s.fresh[i]
        few_link[i], few_bound[i] = _first_stop(int(s.flow[few[i]].route), s.hop, s.link, pipe)
    tally[FEW] = tally[FRESH]
    done, steps = False, 0
    while steps < _STEPS:
        pick, best = -1, np.inf
        for i in range(tally[FEW]):
            if few_bound[i] < best:
                pick, best = i, few_bound[i]
        link = _least_loose(best, s.loose, s.loose_bound, pipe, tally)
        if link >= 0:
            best = bound(link, pipe)
        elif pick < 0:
            done = True
            break
        else:
            link = few_link[pick]
            if bound(link, pipe) > best * (1.0 + _SAME):
                route = int(s.flow[few[pick]].route)
                few_link[pick], few_bound[pick] = _first_stop(route, s.hop, s.link, pipe)
                continue
        steps += 1
        if not _settle(s, link, best):
            break
    for i in range(tally[LOWS]):
        pipe[s.lows[i]].low = 0.0
    tally[LOWS] = 0
    tally[WORK] += 20 * steps
    return done


@inlined
def bound(link: int, pipe: Records) -> float:
    """A level below which a link neither stops nor lets go any flow."""
    held, sharing, most = pipe[link].held, pipe[link].users, pipe[link].level
    level = (pipe[link].slack + held * most) / max(held + sharing, 1.0)
    level = level if held + sharing > 0.0 else 0.0
    level = min(level, most if held > 0.0 else np.inf)
    return float(max(level, pipe[link].low))


@inlined
def _is_loose(link: int, pipe: Records) -> bool:
    """Whether a link without open flows carries too much, or holds flows though it has room."""
    room, nothing = pipe[link].slack, _NOTHING * pipe[link].capacity
    return bool(
        (pipe[link].users == 0.0) & ((room < -nothing) | ((room > nothing) & (pipe[link].held > 0.0)))
    )


@inlined
def note(link: int, level: float, pipe: Records, loose: Names, loose_bound: Floats, tally: Longs) -> None:
    """List a link that may be loose, and the level below which it does nothing; or its new level."""
    at = int(pipe[link].mark) - 1
    if at < 0:
        at = tally[LOOSE]
        tally[LOOSE] += 1
        pipe[link].mark = at + 1
        loose[at] = link
    loose_bound[at] = level


@inlined
def _least_loose(best: float, loose: Names, loose_bound: Floats, pipe: Records, tally: Longs) -> int:
    """The loose link with the lowest level up to a given one, or -1."""
    while True:
        found, least = -1, best
        for i in range(tally[LOOSE]):
            if loose_bound[i] <= least:
                found, least = i, loose_bound[i]
        if found < 0:
            return -1
        link = int(loose[found])
        if not _is_loose(link, pipe):
            pipe[link].mark = 0.0
            tally[LOOSE] -= 1
            last = tally[LOOSE]
            if found < last:
                loose[found], loose_bound[found] = loose[last], loose_bound[last]
                pipe[loose[found]].mark = found + 1
            continue
        level = bound(link, pipe)
        if level <= least * (1.0 + _SAME):
            return link
        loose_bound[found] = level


@inner
def _first_stop(route: int, hop: Longs, links: Names, pipe: Records) -> tuple[int, float]:
    """The link of a route that may stop an open flow first, and at what level."""
    found, best = -1, np.inf
    for x in range(hop[route], hop[route + 1]):
        link = links[x]
        level = bound(link, pipe)
        if level < best:
            found, best = link, level
    return found, best


@inlined
def _settle(s: State, link: int, best: float) -> bool:
    """Do what a link does if it does it at the level ``best``; else note at which. False: too many flows."""
    pipe, seat, size, seats, flow = s.pipe, s.seat, s.size, s.seats, s.flow
    first, last = seat[link], seat[link] + size[link, TAKEN]
    fixed, held, sharing, fastest = 0.0, 0.0, 0.0, 0.0
    for at in range(first, last):
        slot = seats[at, 0]
        had = flow[slot].rate
        if had == OPEN:
            sharing += seats[at, 1]
        elif had != DEAD:
            if flow[slot].holder == link:
                held += seats[at, 1]
            else:
                fixed += had * seats[at, 1]
                fastest = max(fastest, had)
    room, level = pipe[link].capacity - fixed, pipe[link].level
    sharing += held
    pipe[link].slack = room - held * level
    if sharing == 0 and room >= -_NOTHING * pipe[link].capacity:
        return True
    stop = room / sharing if sharing > 0 else 0.0
    if held > 0 and stop > level * (1.0 + _SAME):
        if level <= best * (1.0 + _SAME):
            return _let_go(s, link, first, last, held)
        stop = level
    elif fastest > stop * (1.0 + _SAME):
        stop = _water_level(link, first, last, room, sharing, stop, seats, flow)
    if stop <= best * (1.0 + _SAME):
        _stop(s, link, first, last, stop)
        return True
    if pipe[link].low == 0.0:
        if s.tally[LOWS] == len(s.lows):
            return False
        s.lows[s.tally[LOWS]] = link
        s.tally[LOWS] += 1
    pipe[link].low = stop
    return True


@inlined
def _water_level(
    link: int, first: int, last: int, room: float, sharing: float, level: float,
    seats: Names, flow: Records,
) -> float:  # fmt: skip
    """At which a link is full if flows that are faster are stopped too: from a level below it, upwards."""
    faster = np.inf  # ever fewer, or rounding that turns the level down a little would go to and fro
    while True:
        more, extra = 0.0, 0.0
        for at in range(first, last):
            slot = seats[at, 0]
            if flow[slot].rate > level * (1.0 + _SAME) and flow[slot].holder != link:
                more += seats[at, 1]
                extra += flow[slot].rate * seats[at, 1]
        if more >= faster or more + sharing == 0:
            return level
        faster = more
        level = (room + extra) / (sharing + more)


@inlined
def _let_go(s: State, link: int, first: int, last: int, held: float) -> bool:
    """The flows that a link holds are open."""
    hop, links, times, pipe, seats = s.hop, s.link, s.times, s.pipe, s.seats
    flow, tally, now = s.flow, s.tally, s.clock[0]
    if tally[FEW] + held > MOST:
        return False
    for at in range(first, last):
        slot = seats[at, 0]
        had = flow[slot].rate
        if had < 0.0 or flow[slot].holder != link:
            continue
        flow[slot].rest = max(flow[slot].rest - had * (now - flow[slot].since), 0.0)
        flow[slot].since = now
        flow[slot].rate = OPEN
        flow[slot].holder = -1
        route = int(flow[slot].route)
        for x in range(hop[route], hop[route + 1]):
            at_link, many = links[x], times[x]
            pipe[at_link].slack += had * many
            pipe[at_link].low = 0.0
            pipe[at_link].users += many
        s.few[tally[FEW]] = slot
        tally[FEW] += 1
    pipe[link].held = 0
    for i in range(tally[FEW]):
        s.few_link[i], s.few_bound[i] = _first_stop(int(flow[s.few[i]].route), hop, links, pipe)
    return True


@inlined
def _stop(s: State, link: int, first: int, last: int, level: float) -> None:
    """A link holds its open flows, and those that are faster, at a level."""
    flow, seats, pipe, tally = s.flow, s.seats, s.pipe, s.tally
    few, few_link, few_bound, finish, now = s.few, s.few_link, s.few_bound, s.finish, s.clock[0]
    pipe[link].level = level
    for at in range(first, last):
        slot = seats[at, 0]
        had = flow[slot].rate
        if had == OPEN:
            i = 0
            while few[i] != slot:
                i += 1
            tally[FEW] -= 1
            j = tally[FEW]
            few[i], few_link[i], few_bound[i] = few[j], few_link[j], few_bound[j]
        elif had > level * (1.0 + _SAME) or (
            flow[slot].holder == link and 0.0 <= had < level * (1.0 - _SAME)
        ):
            flow[slot].rest = max(flow[slot].rest - had * (now - flow[slot].since), 0.0)
            flow[slot].since = now
        else:
            continue
        _hold(slot, link, level, s.hop, s.link, s.times, pipe, flow, s.loose, s.loose_bound, tally)
        end = now + flow[slot].rest / level
        flow[slot].next = end
        if s.ends_where[slot] < 0 or end < finish[slot]:
            tally[ENDS] = heap.sooner(s.ends_heap, s.ends_where, finish, tally[ENDS], slot, end)
    pipe[link].slack = 0.0


@inlined
def _hold(
    slot: int, link: int, level: float, hop: Longs, links: Names, times: Items, pipe: Records,
    flow: Records, loose: Names, loose_bound: Floats, tally: Longs,
) -> None:  # fmt: skip
    """A flow has a new rate and a new holder; links that this leaves with room or too full are noted."""
    had, holder, route = flow[slot].rate, int(flow[slot].holder), int(flow[slot].route)
    was_open = had == OPEN
    change = -level if was_open else had - level
    flow[slot].rate = level
    flow[slot].holder = link
    for x in range(hop[route], hop[route + 1]):
        at, many = links[x], times[x]
        pipe[at].slack += change * many
        pipe[at].users -= many if was_open else 0
        pipe[at].held += (many if at == link else 0) - (many if at == holder else 0)
        if at != link and _is_loose(at, pipe):
            note(at, bound(at, pipe), pipe, loose, loose_bound, tally)
