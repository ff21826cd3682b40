"""Links that can be full before others, of the flows that there are now: the rest need not be watched.

As in `needed`, but not once for all routes: where all flows over a link now go on to another that is no
faster, the second alone keeps both from being too full. Each flow lists the links of its route that are
watched. Rates that are max-min fair over these are so over all.

A turn is a link and the one after it on some route. Where as many flows take a turn as cross one of its
links, all of them do.
"""

import numpy as np

from hopcast.ir.topology import Ints

from .compiled import inlined
from .network import Longs
from .state import DEAD, LATER, Items, Name, Names, Records, State

_SHORT = 24  # flows over a link; where there are more it is watched, or it costs too much to change that
_MOST = 2_000_000  # crossings of all routes, or of all flows at first; beyond that all links are watched
_LINE = 8  # crossings in a line of cache


def turns(hop: Longs, link: Ints, times: Ints, slots: int) -> Names:
    """``uint32[x]``: the turn after each crossing; none if all links are to be watched.

    The last crossing of each route has a turn of no meaning, of which it is the only kind.

    Shapes: x crossings.

    >>> turns(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), np.ones(4, np.int32), 2).tolist()
    [0, 1, 0, 1]
    """
    if np.any(times != 1) or len(link) > _MOST or slots * wide(hop) > _MOST:
        return np.zeros(0, np.uint32)
    links = int(link.max(initial=0)) + 1
    after = np.append(link[1:], 0).astype(np.int64)
    code = link.astype(np.int64) * links + after
    code[hop[1:][np.diff(hop) > 0] - 1] = links * links
    found: Names = np.unique(code, return_inverse=True)[1].astype(np.uint32)
    return found


def wide(hop: Longs) -> int:
    """Room for the links of any route, in an odd number of lines of cache.

    So the first lines of all flows, which are looked at most, do not come to share the same places in it.

    >>> wide(np.array([0, 32])), wide(np.array([0, 5]))
    (40, 8)
    """
    lines = -(-int(np.diff(hop).max(initial=1)) // _LINE)
    return (lines | 1) * _LINE


@inlined
def begin(s: State, slot: Name, route: int) -> None:
    """A flow has begun, and has its seats: watch what has to be, and list what is."""
    hop, crossing, turn, turned = s.hop, s.crossing, s.turn, s.turned
    pipe, flow, mine = s.pipe, s.flow, s.mine
    first, beyond = hop[route], hop[route + 1]
    if len(turn) == 0:
        flow[slot].own, flow[slot].count = first, beyond - first
        return
    flow[slot].count = 0
    for x in range(first, beyond):
        turned[turn[np.uint32(x)]] += 1
    x = first
    while x < beyond:
        x = _choose(s, slot, x, first, beyond)
    own, count = slot * s.wide, 0
    flow[slot].own = own
    for x in range(first, beyond):
        link = crossing[np.uint32(x)].link
        mine[np.uint32(own + count)].link = link
        count += pipe[link].on
    flow[slot].count = count


@inlined
def _choose(s: State, slot: Name, x: int, first: int, beyond: int) -> int:
    """Watch one of the links with the same flows that begin at a place of a route; none if others keep them.

    Returns:
        The place of the first link behind them.
    """
    crossing, turn, turned, pipe, seats = s.crossing, s.turn, s.turned, s.pipe, s.seats
    link = crossing[np.uint32(x)].link
    crowd, begin, kept = pipe[link].crowd, x, np.inf
    if x > first and turned[turn[np.uint32(x - 1)]] == crowd:
        kept = pipe[crossing[np.uint32(x - 1)].link].capacity
    chosen, least, is_on = link, pipe[link].capacity, pipe[link].on
    x += 1
    while x < beyond and turned[turn[np.uint32(x - 1)]] == crowd:
        link = crossing[np.uint32(x)].link
        capacity = pipe[link].capacity
        if pipe[link].crowd > crowd:
            kept = min(kept, capacity)
            break
        if (capacity < least) | ((capacity == least) & (pipe[link].on > is_on)):
            chosen, least, is_on = link, capacity, pipe[link].on
        x += 1
    for y in range(begin, x):
        link = crossing[np.uint32(y)].link
        is_idle = ((link != chosen) | (kept <= least)) & (crowd <= _SHORT)
        if pipe[link].on == 0:
            if not is_idle:
                _watch(link, slot, seats, pipe, s.flow, s.mine)
        elif is_idle and pipe[link].held == 0.0:
            _leave_alone(link, slot, seats, pipe, s.flow, s.mine)
        elif is_idle:
            _put_off(link, pipe, s.later, s.tally)
    return x


@inlined
def end(s: State, route: int) -> None:
    """A flow is over, and has left its seats."""
    hop, crossing, turn, turned, pipe = s.hop, s.crossing, s.turn, s.turned, s.pipe
    first, beyond = hop[route], hop[route + 1]
    if len(turn) == 0:
        return
    for x in range(first, beyond):
        turned[turn[np.uint32(x)]] -= 1
    for x in range(first, beyond):
        link = crossing[np.uint32(x)].link
        if pipe[link].on == 0:
            continue
        if pipe[link].crowd == 0:
            pipe[link].on = 0
        elif pipe[link].held > 0.0:
            _put_off(link, pipe, s.later, s.tally)
        elif _keeper_of(s, link) < len(pipe) - 1:
            _leave_alone(link, np.uint32(len(s.flow)), s.seats, pipe, s.flow, s.mine)


@inlined
def review(s: State) -> None:
    """Leave alone what need not be watched of the links that held flows before these had other rates."""
    pipe, flow, seats, later, tally = s.pipe, s.flow, s.seats, s.later, s.tally
    for i in range(tally[LATER]):
        link = later[i]
        pipe[link].late = 0
        if pipe[link].on == 0 or pipe[link].crowd == 0:
            continue
        keeper = _keeper_of(s, link)
        if keeper == len(pipe) - 1:
            continue
        if pipe[link].held > 0.0:  # both are full, of the same flows
            first = pipe[link].seat
            for j in range(pipe[link].taken):
                slot = seats[np.uint32(first + j)].slot
                if flow[slot].holder == link:
                    flow[slot].holder = keeper
            pipe[keeper].level = pipe[link].level
            pipe[keeper].held += pipe[link].held
        _leave_alone(link, np.uint32(len(flow)), seats, pipe, flow, s.mine)
    tally[LATER] = 0


@inlined
def _put_off(link: Name, pipe: Records, later: Names, tally: Longs) -> None:
    """A link that holds flows cannot be left alone before these have other rates."""
    later[tally[LATER]] = link
    tally[LATER] += 1 - pipe[link].late
    pipe[link].late = 1


@inlined
def _keeper_of(s: State, link: Name) -> Name:
    """As `_keeper`; neighbours are found on the route of any flow, for all take the turn that matters."""
    hop, crossing, pipe = s.hop, s.crossing, s.pipe
    other = np.uint32(s.flow[_some(link, s.seats, pipe, s.flow)].route)
    x, first, beyond = hop[other], hop[other], hop[other + np.uint32(1)]
    while crossing[np.uint32(x)].link != link:
        x += 1
    return _keeper(link, x, first, beyond, crossing, s.turn, s.turned, pipe)


@inlined
def _keeper(
    link: Name, x: int, first: int, beyond: int, crossing: Records, turn: Names, turned: Items, pipe: Records
) -> Name:
    """A link on a route that all flows over another cross, and that keeps the other from being full; or none.

    Links beside it that the same flows cross stand between the two at most.
    """
    none = np.uint32(len(pipe) - 1)
    crowd, capacity, found = pipe[link].crowd, pipe[link].capacity, none
    if crowd > _SHORT:
        return none
    y = x
    while y + 1 < beyond and found == none and turned[turn[np.uint32(y)]] == crowd:
        y += 1
        other = crossing[np.uint32(y)].link
        is_wider = pipe[other].crowd > crowd
        if (is_wider | (pipe[other].on == 1)) & (pipe[other].capacity <= capacity):
            found = other
        elif is_wider:
            break
    y = x
    while y > first and found == none and turned[turn[np.uint32(y - 1)]] == crowd:
        y -= 1
        other = crossing[np.uint32(y)].link
        is_wider = pipe[other].crowd > crowd
        if (is_wider | (pipe[other].on == 1)) & (pipe[other].capacity <= capacity):
            found = other
        elif is_wider:
            break
    return found


@inlined
def _some(link: Name, seats: Records, pipe: Records, flow: Records) -> Name:
    """One of the flows over a link."""
    at = pipe[link].seat
    while flow[seats[np.uint32(at)].slot].rate == DEAD:
        at += 1
    found: Name = seats[np.uint32(at)].slot
    return found


@inlined
def _watch(link: Name, but: Name, seats: Records, pipe: Records, flow: Records, mine: Records) -> None:
    """All flows over a link, but the new one, list it from now on."""
    room, first = pipe[link].capacity, pipe[link].seat
    for i in range(pipe[link].taken):
        slot = seats[np.uint32(first + i)].slot
        rate = flow[slot].rate
        if rate == DEAD or slot == but:
            continue
        mine[np.uint32(flow[slot].own + flow[slot].count)].link = link
        flow[slot].count += 1
        room -= max(rate, 0.0)
    pipe[link].on, pipe[link].slack, pipe[link].held = 1, room, 0.0


@inlined
def _leave_alone(link: Name, but: Name, seats: Records, pipe: Records, flow: Records, mine: Records) -> None:
    """No flow lists a link any more."""
    first = pipe[link].seat
    pipe[link].on = 0
    for i in range(pipe[link].taken):
        slot = seats[np.uint32(first + i)].slot
        if flow[slot].rate == DEAD or slot == but:
            continue
        own = flow[slot].own
        at = own
        while mine[np.uint32(at)].link != link:
            at += 1
        flow[slot].count -= 1
        mine[np.uint32(at)].link = mine[np.uint32(own + flow[slot].count)].link
