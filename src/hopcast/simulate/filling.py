"""Max-min fair rates after many flows began or ended at once: compiled progressive filling.

The search starts at the links on which a flow began or ended; rates of flows that share no link, not even
through others, are independent. Of the flows it meets, those slower than the slowest flow that ended, and
than the least a new flow can get, keep their rates: progressive filling is the same up to that level with and
without the change.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (progressive filling).
"""

from . import heap, seats
from .compiled import inner
from .state import (
    ENDS,
    FEW,
    FLAT,
    FREES,
    FRESH,
    GONE,
    HOT,
    LOOSE,
    OPEN,
    TAKEN,
    WORK,
    Floats,
    Items,
    Longs,
    Marks,
    Names,
    Records,
    State,
)

_SAME = 1e-12  # levels closer than this part are one, as in the reference


@inner
def solve(s: State) -> None:
    """New rates of all flows that can have any."""
    _start(s)
    _meet(s)
    _fill(s)
    _line_up(s)


@inner
def heat_all(s: State) -> None:
    """Have all links looked at, and all flows; those of ``few`` have no rates as it is."""
    tally = s.tally
    s.clock[1] = 0.0
    for link in range(len(s.seat)):
        if s.size[link, TAKEN] > 0:
            _heat(link, s.is_hot, s.hot, tally)
    for i in range(tally[FEW]):
        s.fresh[i] = s.few[i]
    tally[FRESH], tally[FEW] = tally[FEW], 0


@inner
def _heat(link: int, is_hot: Marks, hot: Names, tally: Longs) -> None:
    """Note a link that has to be looked at."""
    if is_hot[link] == 0:
        is_hot[link] = 1
        hot[tally[HOT]] = link
        tally[HOT] += 1


@inner
def _start(s: State) -> None:
    """The links of flows that began or ended, and the lowest level at which anything changes.

    No new flow gets less than an equal part of its most crowded link, so no slower flow is touched.
    """
    hop, link_of, pipe, tally, level = s.hop, s.link, s.pipe, s.tally, s.clock[1]
    for i in range(tally[LOOSE]):
        pipe[s.loose[i]].mark = 0
    tally[LOOSE] = 0
    for i in range(tally[FRESH]):
        slot = s.fresh[i]
        s.free[i] = slot
        route = int(s.flow[slot].route)
        for x in range(hop[route], hop[route + 1]):
            link = link_of[x]
            level = min(level, pipe[link].capacity / pipe[link].crowd)
            _heat(link, s.is_hot, s.hot, tally)
    for i in range(tally[GONE]):
        route = s.gone[i]
        for x in range(hop[route], hop[route + 1]):
            _heat(link_of[x], s.is_hot, s.hot, tally)
    tally[FREES] = tally[FRESH]
    s.clock[1] = level


@inner
def _meet(s: State) -> None:
    """All flows whose rates may change, and for each link the room that the others leave them."""
    hot, is_hot, tally, pipe, seat, of = s.hot, s.is_hot, s.tally, s.pipe, s.seat, s.seats
    size, flow = s.size, s.flow
    hop, links, free = s.hop, s.link, s.free
    now, level, work = s.clock[0], s.clock[1] * (1.0 - 1e-9), 0
    many, i = tally[FREES], 0
    while i < tally[HOT]:
        link = hot[i]
        i += 1
        seats.purge(link, seat, size, of, flow, s.spare, tally)
        left, crowd, held = pipe[link].capacity, 0.0, 0.0
        for at in range(seat[link], seat[link] + size[link, TAKEN]):
            slot, times = of[at, 0], of[at, 1]
            had = flow[slot].rate
            if 0.0 <= had < level:
                left -= had * times
                if flow[slot].holder == link:
                    held += times
                continue
            crowd += times
            if had == OPEN:
                continue
            flow[slot].rate = OPEN
            free[many] = slot
            many += 1
            flow[slot].rest = max(flow[slot].rest - had * (now - flow[slot].since), 0.0)
            flow[slot].since = now
            route = int(flow[slot].route)
            for x in range(hop[route], hop[route + 1]):
                _heat(links[x], is_hot, hot, tally)
        work += size[link, TAKEN] + 1
        pipe[link].slack, pipe[link].users, pipe[link].held = max(left, 0.0), crowd, held
    tally[WORK] += work
    tally[FREES] = many


@inner
def _fill(s: State) -> None:
    """Progressive filling of the free flows: the link with least room for each of its users fixes them."""
    share, pipe, heaped, where = s.share, s.pipe, s.links_heap, s.links_where
    seat, size, of, flow, now = s.seat, s.size, s.seats, s.flow, s.clock[0]
    hop, link_of, times = s.hop, s.link, s.times
    links = _rank(s.tally, s.hot, s.is_hot, pipe, share, heaped, where)
    while links > 0:
        link = heap.pop(heaped, where, share, links)
        links -= 1
        if pipe[link].users == 0:
            continue
        level = pipe[link].slack / pipe[link].users
        if level > share[link] * (1.0 + _SAME):
            share[link] = level
            links = heap.push(heaped, where, share, links, link)
            continue
        pipe[link].level = level
        pipe[link].held = 0
        for at in range(seat[link], seat[link] + size[link, TAKEN]):
            slot = of[at, 0]
            if flow[slot].rate != OPEN:
                if flow[slot].holder == link:
                    pipe[link].held += of[at, 1]
                continue
            pipe[link].held += of[at, 1]
            flow[slot].rate = level
            flow[slot].next = now + flow[slot].rest / level
            flow[slot].holder = link
            route = int(flow[slot].route)
            for x in range(hop[route], hop[route + 1]):
                crossed = link_of[x]
                pipe[crossed].users -= times[x]
                pipe[crossed].slack = max(pipe[crossed].slack - level * times[x], 0.0)


@inner
def _rank(
    tally: Longs, hot: Names, is_hot: Marks, pipe: Records, share: Floats,
    heaped: Items, where: Items,
) -> int:  # fmt: skip
    """A heap of the links with users, by their equal shares. How many they are."""
    links = 0
    for i in range(tally[HOT]):
        link = hot[i]
        is_hot[link] = 0
        if pipe[link].users > 0:
            share[link] = pipe[link].slack / pipe[link].users
            heaped[links] = link
            links += 1
    tally[HOT] = 0
    heap.order(heaped, where, share, links)
    return links


@inner
def _line_up(s: State) -> None:
    """Put the flows with new rates among those that will end: a heap, or a list where nearly all are new."""
    free, flow, finish, ends, where, tally = s.free, s.flow, s.finish, s.ends_heap, s.ends_where, s.tally
    many = tally[FREES]
    if many * 4 > tally[ENDS] + many:
        if tally[FLAT] == 0:
            for i in range(tally[ENDS]):
                finish[ends[i]] = flow[ends[i]].next
        tally[FLAT] = 1
    elif tally[FLAT] == 1:
        tally[WORK] += tally[ENDS]
        heap.order(ends, where, finish, tally[ENDS])
        tally[FLAT] = 0
    for i in range(many):
        slot = free[i]
        finish[slot] = flow[slot].next  # one by one: a heap stands one wrong key at a time
        if tally[FLAT] == 0:
            tally[ENDS] = heap.push(ends, where, finish, tally[ENDS], slot)
        elif where[slot] < 0:
            where[slot] = tally[ENDS]
            ends[tally[ENDS]] = slot
            tally[ENDS] += 1
    tally[FREES] = 0
