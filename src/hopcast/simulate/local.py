"""Max-min fair rates after a few flows began or ended: only the flows whose rates change are touched.

Rates are fair if and only if every flow has a link that is full and on which no flow is faster; that link
*holds* it, at its level. What an event changes is put right link by link, the lowest level first:

- a link that carries too much slows its fastest flows down to the level at which it is full, and holds them;
- a link with room left lets the flows that it holds rise to that level. Those that another link on their
  route would stop first are held by that one from then on.

Either leaves other links with room or too full, which are next. It is over when no link is. What happens in
between may go to and fro, but only so long before `filling` is asked.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (the condition, and progressive filling);
Charny, Clark and Jain 1995, Congestion control with explicit rate indication (levels of links).
"""

import numpy as np

from . import soonest
from .compiled import inlined
from .state import FRESH, LOOSE, MOVED, PATIENCE, WORK, Floats, Longs, Name, Names, Records, State

WIDE = 16_384  # flows over a link that are looked at one by one; more of them are for `filling`
MOST = 20_000  # flows over links looked at in one event; the same
_SAME = 1e-12  # levels closer than this part are one, as in the reference


@inlined
def solve(s: State) -> bool:
    """New rates. False if that takes too long: then they are not fair."""
    tally, pipe, loose, flow, mine = s.tally, s.pipe, s.loose, s.flow, s.mine
    none = np.uint32(len(pipe) - 1)
    for i in range(tally[FRESH]):
        flow[s.fresh[i]].rate = 0.0
    for i in range(tally[FRESH]):
        slot = np.uint32(s.fresh[i])
        level, where = _ceiling(s, slot, none, np.inf)
        at = np.uint32(where)
        link = mine[at].link
        pipe[link].level = pipe[link].level if pipe[link].held > 0.0 else level
        _move(s, slot, level, link, float(mine[at].times), none)
    done, most = True, tally[WORK] + tally[PATIENCE]
    while tally[LOOSE] > 0:
        place = _lowest(loose, pipe, tally)
        link = loose[place]
        if tally[WORK] >= most or pipe[link].taken > WIDE:
            done = False
            break
        tally[LOOSE] -= 1
        loose[place] = loose[tally[LOOSE]]
        pipe[link].mark = 0
        if pipe[link].on == 1:
            _settle(s, link)
    now, ends, storeys, moved = s.clock[0], s.ends, s.storeys, s.free
    for i in range(tally[MOVED]):
        slot = np.uint32(moved[i])
        flow[slot].moved = 0
        if done:
            soonest.change(ends, storeys, slot, now + flow[slot].rest / flow[slot].rate)
    tally[MOVED] = 0
    return done


@inlined
def note(link: Name, is_so: bool, pipe: Records, loose: Names, tally: Longs) -> None:
    """List a link that may have room, or carry too much."""
    more = (1 - pipe[link].mark) & (1 if is_so else 0)
    loose[tally[LOOSE]] = link
    tally[LOOSE] += more
    pipe[link].mark |= more


@inlined
def _lowest(loose: Names, pipe: Records, tally: Longs) -> int:
    """The place of the link with the lowest level, or of what it cannot be below if it holds no flows."""
    last = tally[LOOSE] - 1
    found, least = last, np.inf
    if last > 0:
        for i in range(last + 1):
            link = loose[i]
            even = pipe[link].capacity / pipe[link].crowd
            level = pipe[link].level if pipe[link].held > 0.0 else even
            found = i if level < least else found
            least = min(level, least)
    return int(found)


@inlined
def _settle(s: State, link: Name) -> None:
    """Put a link right."""
    pipe, flow, seats, rates, some, own = s.pipe, s.flow, s.seats, s.rates, s.some, s.own
    capacity, count, first = pipe[link].capacity, pipe[link].taken, pipe[link].seat
    fixed, fastest, carried, held, many = 0.0, 0.0, 0.0, 0.0, 0
    s.tally[WORK] += 20 + count
    for i in range(count):
        at = np.uint32(first + i)
        slot, times = seats[at].slot, float(seats[at].times)
        rate = flow[slot].rate
        is_own = flow[slot].holder == link
        some[i] = slot
        rates[i] = np.inf if is_own else rate
        carried += rate * times
        rate = 0.0 if is_own else rate
        fixed += rate * times
        fastest = max(fastest, rate)
        held += times if is_own else 0.0
        own[many] = i
        many += is_own
    pipe[link].slack = capacity - carried
    if many == 0 and carried <= capacity + pipe[link].nothing:
        return
    level = _full_at(link, count, fixed, fastest, held, rates, pipe, seats)
    if many > 0 and level > pipe[link].level * (1.0 + _SAME):
        level, fixed = _rise(s, link, count, many, fixed, fastest, held, level)
    is_full = level < np.inf
    pipe[link].level = level if is_full else 0.0
    most, many = level * (1.0 + _SAME), 0
    for i in range(count):
        own[many] = i
        many += rates[i] > most
    for j in range(many):
        i = own[j]
        _move(s, some[i], level, link, float(seats[np.uint32(first + i)].times), link)
    pipe[link].slack = 0.0 if is_full else capacity - fixed


@inlined
def _full_at(
    link: Name, count: int, fixed: float, fastest: float, held: float, rates: Floats, pipe: Records,
    seats: Records,
) -> float:  # fmt: skip
    """The level at which a link is full, if flows that are faster are slowed down to it.

    Args:
        link: Over which flows go.
        count: How many.
        fixed: What those carry that it does not hold; the fastest of them.
        fastest: Of these.
        held: Crossings by those that it holds.
        rates: Of all, infinite if it holds them.
        pipe: As in the state.
        seats: As in the state.
    """
    capacity, first = pipe[link].capacity, pipe[link].seat
    level = (capacity - fixed) / held
    if held == 0.0 or level < fastest:
        level = capacity / pipe[link].crowd
        while True:
            slow, faster = 0.0, 0.0
            for i in range(count):
                times, rate = float(seats[np.uint32(first + i)].times), rates[i]
                is_slow = rate <= level
                slow += rate * times if is_slow else 0.0
                faster += 0.0 if is_slow else times
            more = (capacity - slow) / faster
            if faster == 0.0 or not more > level * (1.0 + _SAME):
                break
            level = more
    return float(level)


@inlined
def _rise(
    s: State, link: Name, count: int, many: int, fixed: float, fastest: float, held: float, level: float
) -> tuple[float, float]:
    """Let those flows go that other links stop below the level to which a link lets its flows rise.

    Returns:
        That level, higher as it is now; infinity if no flow is left and there is room. What the others carry.
    """
    pipe, seats, rates, some, own, mine = s.pipe, s.seats, s.rates, s.some, s.own, s.mine
    stop, stopper, first, found = s.stop, s.stopper, pipe[link].seat, False
    for j in range(many):
        stop[j], stopper[j] = _ceiling(s, some[own[j]], link, level * (1.0 - _SAME))
        found |= stopper[j] >= 0
    if not found:
        return level, fixed
    while found:
        found = False
        for j in range(many):
            i = own[j]
            if rates[i] == np.inf and stop[j] < level * (1.0 - _SAME):
                times = float(seats[np.uint32(first + i)].times)
                rates[i] = stop[j]
                fixed += stop[j] * times
                fastest = max(fastest, stop[j])
                held -= times
                found = True
        if found:
            if held == 0.0 and fixed <= pipe[link].capacity + pipe[link].nothing:
                level, found = np.inf, False
            else:
                level = _full_at(link, count, fixed, fastest, held, rates, pipe, seats)
    most = level * (1.0 + _SAME)
    for j in range(many):
        if rates[own[j]] <= most and rates[own[j]] < np.inf:
            at = np.uint32(stopper[j])
            other = mine[at].link
            pipe[other].level = pipe[other].level if pipe[other].held > 0.0 else stop[j]
            _move(s, some[own[j]], stop[j], other, float(mine[at].times), link)
    return level, fixed


@inlined
def _ceiling(s: State, slot: Name, but: Name, limit: float) -> tuple[float, int]:
    """The level at which a flow is stopped first if it is as fast as it can be, and the link; but one.

    Returns:
        Infinity and -1 if none does below a limit; else the place in ``mine``.
    """
    pipe, flow, mine, bounds = s.pipe, s.flow, s.mine, s.bounds
    own, count, had = flow[slot].own, flow[slot].count, flow[slot].rate
    at, best = -1, limit
    for x in range(count):
        place = np.uint32(own + x)
        link, times = mine[place].link, float(mine[place].times)
        held, level = pipe[link].held, pipe[link].level
        bound = (pipe[link].slack + had * times + held * level) / (held + times)
        bound = min(bound, level) if held > 0.0 else bound
        bound = np.inf if link == but else bound
        bounds[x] = bound
        at = x if bound < best else at
        best = min(bound, best)
    last = -1
    while at >= 0 and at != last:
        link = mine[np.uint32(own + at)].link
        if pipe[link].taken > WIDE:
            note(link, True, pipe, s.loose, s.tally)
            break
        level = _water(s, link, slot)
        level = min(level, pipe[link].level) if pipe[link].held > 0.0 else level
        if level <= best * (1.0 + _SAME):
            break
        bounds[at] = level
        last = at
        at, best = -1, limit
        for x in range(count):
            at = x if bounds[x] < best else at
            best = min(bounds[x], best)
    if at < 0:
        return np.inf, -1
    return best, own + at


@inlined
def _water(s: State, link: Name, slot: Name) -> float:
    """The level at which a link is full if it holds one more flow, and slows down those that are faster."""
    seats, flow, pipe, rates = s.seats, s.flow, s.pipe, s.there
    fixed, fastest, held = 0.0, 0.0, 0.0
    count, first = pipe[link].taken, pipe[link].seat
    s.tally[WORK] += count
    for i in range(count):
        at = np.uint32(first + i)
        other, times = seats[at].slot, float(seats[at].times)
        rate = flow[other].rate
        is_free = (flow[other].holder == link) | (other == slot)
        rates[i] = np.inf if is_free else rate
        rate = 0.0 if is_free else rate
        fixed += rate * times
        fastest = max(fastest, rate)
        held += times if is_free else 0.0
    return _full_at(link, count, fixed, fastest, held, rates, pipe, seats)


@inlined
def _move(s: State, slot: Name, level: float, holder: Name, grip: float, but: Name) -> None:
    """A flow has a new rate, and a link that holds it; links but one that this leaves wrong are noted."""
    pipe, flow, mine, loose, tally = s.pipe, s.flow, s.mine, s.loose, s.tally
    now, had, before = s.clock[0], flow[slot].rate, np.uint32(flow[slot].holder)
    flow[slot].rest = max(flow[slot].rest - had * (now - flow[slot].since), 0.0)
    pipe[before].held -= flow[slot].grip
    pipe[holder].held += grip
    flow[slot].since, flow[slot].rate = now, level
    flow[slot].holder, flow[slot].grip = holder, grip
    s.free[tally[MOVED]] = slot
    tally[MOVED] += 1 - flow[slot].moved
    flow[slot].moved = 1
    own, listed, more = flow[slot].own, tally[LOOSE], level - had
    for x in range(own, own + flow[slot].count):
        at = np.uint32(x)
        link, times = mine[at].link, float(mine[at].times)
        room, nothing = pipe[link].slack - more * times, pipe[link].nothing
        pipe[link].slack = room
        is_wrong = (link != but) & ((room < -nothing) | ((room > nothing) & (pipe[link].held > 0.0)))
        fresh = (1 - pipe[link].mark) & (1 if is_wrong else 0)
        loose[listed] = link
        pipe[link].mark |= fresh
        listed += fresh
    tally[LOOSE] = listed
