"""The lists of flows over each link: compiled, each in a stretch of one pool that grows when it is full.

A flow that is over is struck off short lists at once. In long ones it stays until they are looked through,
and its slot is not used again before.
"""

import numpy as np

from . import local
from .compiled import inlined, inner, outer
from .state import DEAD, POOL, SPARE, Items, Longs, Name, Records, State

_SHORT = 24  # flows: to search so many costs as much as to look each up later (2 cores, 2026-11)


@inner
def purge(link: int, pipe: Records, seats: Records, flow: Records, spare: Items, tally: Longs) -> None:
    """Strike off the flows of a link that are over."""
    first = int(pipe[link].seat)
    kept = first
    for at in range(first, first + pipe[link].taken):
        slot = seats[at].slot
        if flow[slot].rate == DEAD:
            flow[slot].seats -= 1
            if flow[slot].seats == 0:
                spare[tally[SPARE]] = slot
                tally[SPARE] += 1
            continue
        if kept != at:
            seats[kept] = seats[at]
        kept += 1
    pipe[link].taken = kept - first


@outer
def tidy(s: State) -> None:
    """Strike off all flows that are over."""
    for link in range(len(s.pipe)):
        purge(link, s.pipe, s.seats, s.flow, s.spare, s.tally)


@inlined
def has_room(s: State, route: int) -> bool:
    """Whether one more flow can be listed on a route, after making room for it."""
    hop, crossing, pipe, seats, tally = s.hop, s.crossing, s.pipe, s.seats, s.tally
    if tally[SPARE] == 0:
        return False
    for x in range(hop[route], hop[route + 1]):
        link = crossing[np.uint32(x)].link
        if pipe[link].taken == pipe[link].room and not _has_more(link, pipe, seats, s.flow, s.spare, tally):
            return False
    return True


@inner
def _has_more(link: int, pipe: Records, seats: Records, flow: Records, spare: Items, tally: Longs) -> bool:
    """Make room in a full list: by striking off, or by moving it to a longer stretch, if there is one."""
    purge(link, pipe, seats, flow, spare, tally)
    taken = pipe[link].taken
    if 4 * taken < 3 * pipe[link].room:
        return True
    room, top, old = 2 * pipe[link].room, tally[POOL], int(pipe[link].seat)
    if top + room > len(seats):
        return False
    for i in range(taken):
        seats[top + i] = seats[old + i]
    pipe[link].seat, pipe[link].room = top, room
    tally[POOL] += room
    return True


@inlined
def sit(s: State, slot: Name, route: int) -> None:
    """A flow has begun: it is on the lists of all links of its route."""
    hop, crossing, pipe, seats = s.hop, s.crossing, s.pipe, s.seats
    for x in range(hop[route], hop[route + 1]):
        link, times = crossing[np.uint32(x)].link, crossing[np.uint32(x)].times
        at = np.uint32(pipe[link].seat + pipe[link].taken)
        seats[at].slot, seats[at].times = slot, times
        pipe[link].taken += 1
        pipe[link].crowd += int(times)
    s.flow[slot].seats = hop[route + 1] - hop[route]


@inlined
def leave(s: State, slot: int, route: int) -> None:
    """A flow is over, so its links have room: strike it off their counts, and off their lists if short."""
    hop, crossing, pipe, seats, flow = s.hop, s.crossing, s.pipe, s.seats, s.flow
    rate, left = flow[slot].rate, 0
    pipe[np.uint32(flow[slot].holder)].held -= flow[slot].grip
    for x in range(hop[route], hop[route + 1]):
        link, times = crossing[np.uint32(x)].link, crossing[np.uint32(x)].times
        pipe[link].crowd -= int(times)
        pipe[link].slack += rate * times
        local.note(link, (pipe[link].on == 1) & (pipe[link].held > 0.0), pipe, s.loose, s.tally)
        taken, first = pipe[link].taken, pipe[link].seat
        if taken > _SHORT:
            left += 1
            continue
        found = 0
        for i in range(1, taken):
            found = i if seats[np.uint32(first + i)].slot == slot else found
        seats[np.uint32(first + found)] = seats[np.uint32(first + taken - 1)]
        pipe[link].taken = taken - 1
    flow[slot].seats = left
    flow[slot].rate, flow[slot].holder, flow[slot].grip = DEAD, len(pipe) - 1, 0.0
    if left == 0:
        s.spare[s.tally[SPARE]] = slot
        s.tally[SPARE] += 1
