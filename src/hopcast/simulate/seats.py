"""The lists of flows over each link: compiled, each in a stretch of one pool that grows when it is full.

A flow that is over is struck off short lists at once. In long ones it stays until they are looked through,
and its slot is not used again before.
"""

from . import local
from .compiled import inlined, inner, outer
from .state import (
    DEAD,
    POOL,
    ROOM,
    SPARE,
    TAKEN,
    Items,
    Longs,
    Names,
    Records,
    State,
)

_SHORT = 24  # flows: to search so many costs as much as to look each up later (2 cores, 2026-11)


@inner
def purge(
    link: int, seat: Longs, size: Items, seats: Names, flow: Records, spare: Items, tally: Longs
) -> None:
    """Strike off the flows of a link that are over."""
    kept = seat[link]
    for at in range(seat[link], seat[link] + size[link, TAKEN]):
        slot = seats[at, 0]
        if flow[slot].rate == DEAD:
            flow[slot].seats -= 1
            if flow[slot].seats == 0:
                spare[tally[SPARE]] = slot
                tally[SPARE] += 1
            continue
        if kept != at:
            seats[kept, 0], seats[kept, 1] = slot, seats[at, 1]
        kept += 1
    size[link, TAKEN] = kept - seat[link]


@outer
def tidy(s: State) -> None:
    """Strike off all flows that are over."""
    for link in range(len(s.seat)):
        purge(link, s.seat, s.size, s.seats, s.flow, s.spare, s.tally)


@inlined
def has_room(s: State, route: int) -> bool:
    """Whether one more flow can be listed on a route, after making room for it."""
    hop, links, seat, size, seats, tally = s.hop, s.link, s.seat, s.size, s.seats, s.tally
    if tally[SPARE] == 0:
        return False
    for x in range(hop[route], hop[route + 1]):
        link = links[x]
        if size[link, TAKEN] < size[link, ROOM]:
            continue
        purge(link, seat, size, seats, s.flow, s.spare, tally)
        taken = size[link, TAKEN]
        if 4 * taken < 3 * size[link, ROOM]:
            continue
        room, top, old = 2 * size[link, ROOM], tally[POOL], seat[link]
        if top + room > len(seats):
            return False
        for i in range(taken):
            seats[top + i, 0], seats[top + i, 1] = seats[old + i, 0], seats[old + i, 1]
        seat[link], size[link, ROOM] = top, room
        tally[POOL] += room
    return True


@inlined
def leave(s: State, slot: int, route: int) -> None:
    """A flow is over, so its links have room: strike it off their counts, and off their lists if short."""
    hop, links, times, seat, size, seats = s.hop, s.link, s.times, s.seat, s.size, s.seats
    flow, pipe = s.flow, s.pipe
    holder, left, rate = flow[slot].holder, flow[slot].seats, flow[slot].rate
    for x in range(hop[route], hop[route + 1]):
        link = links[x]
        pipe[link].crowd -= times[x]
        if link == holder:
            pipe[link].held -= times[x]
        pipe[link].slack += rate * times[x]
        if pipe[link].held > 0.0 and pipe[link].mark == 0:
            local.note(link, pipe[link].level, pipe, s.loose, s.loose_bound, s.tally)
        taken = size[link, TAKEN]
        if taken <= _SHORT:
            at, last = seat[link], seat[link] + taken - 1
            while seats[at, 0] != slot:
                at += 1
            seats[at, 0], seats[at, 1] = seats[last, 0], seats[last, 1]
            size[link, TAKEN] = taken - 1
            left -= 1
    flow[slot].seats = left
    s.flow[slot].rate = DEAD
    if left == 0:
        s.spare[s.tally[SPARE]] = slot
        s.tally[SPARE] += 1
