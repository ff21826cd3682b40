"""Max-min fair rates after many flows began or ended at once: compiled progressive filling.

The search starts at the links on which a flow began or ended; rates of flows that share no link, not even
through others, are independent. Of the flows it meets, those slower than the slowest flow that ended, and
than the least a new flow can get, keep their rates: progressive filling is the same up to that level with and
without the change.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (progressive filling).
"""

from . import heap, seats, soonest
from .compiled import inner
from .state import (
    FREES,
    FRESH,
    GONE,
    HOT,
    LOOSE,
    OPEN,
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
    """Have all links looked at, and all flows; also the new ones have rates, of a search given up."""
    tally = s.tally
    s.clock[1], tally[FRESH] = 0.0, 0
    for link in range(len(s.pipe)):
        if s.pipe[link].taken > 0:
            _heat(link, s.pipe, s.is_hot, s.hot, tally)


@inner
def _heat(link: int, pipe: Records, is_hot: Marks, hot: Names, tally: Longs) -> None:
    """Note a link that has to be looked at, if it is watched."""
    if is_hot[link] == 0 and pipe[link].on == 1:
        is_hot[link] = 1
        hot[tally[HOT]] = link
        tally[HOT] += 1


@inner
def _start(s: State) -> None:
    """The links of flows that began or ended, and the lowest level at which anything changes.

    No new flow gets less than an equal part of its most crowded link, so no slower flow is touched.
    """
    hop, crossing, pipe, flow, tally, level = s.hop, s.crossing, s.pipe, s.flow, s.tally, s.clock[1]
    for i in range(tally[LOOSE]):
        pipe[s.loose[i]].mark = 0
    tally[LOOSE] = 0
    for i in range(tally[FRESH]):
        slot = s.fresh[i]
        s.free[i] = slot
        for x in range(flow[slot].own, flow[slot].own + flow[slot].count):
            link = s.mine[x].link
            level = min(level, pipe[link].capacity / pipe[link].crowd)
            _heat(link, pipe, s.is_hot, s.hot, tally)
    for i in range(tally[GONE]):
        route = s.gone[i]
        for x in range(hop[route], hop[route + 1]):
            _heat(crossing[x].link, pipe, s.is_hot, s.hot, tally)
    tally[FREES] = tally[FRESH]
    s.clock[1] = level


@inner
def _meet(s: State) -> None:
    """All flows whose rates may change, and for each link the room that the others leave them."""
    hot, is_hot, users, tally, pipe, of = s.hot, s.is_hot, s.users, s.tally, s.pipe, s.seats
    flow, mine, free = s.flow, s.mine, s.free
    now, level, work = s.clock[0], s.clock[1] * (1.0 - 1e-9), 0
    many, i = tally[FREES], 0
    while i < tally[HOT]:
        link = hot[i]
        i += 1
        seats.purge(link, pipe, of, flow, s.spare, tally)
        left, crowd, held = pipe[link].capacity, 0.0, 0.0
        for at in range(pipe[link].seat, pipe[link].seat + pipe[link].taken):
            slot, times = of[at].slot, of[at].times
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
            for x in range(flow[slot].own, flow[slot].own + flow[slot].count):
                _heat(mine[x].link, pipe, is_hot, hot, tally)
        work += pipe[link].taken + 1
        pipe[link].slack, users[link], pipe[link].held = max(left, 0.0), crowd, held
    tally[WORK] += work
    tally[FREES] = many


@inner
def _fill(s: State) -> None:
    """Progressive filling of the free flows: the link with least room for each of its users fixes them."""
    share, pipe, heaped, where = s.share, s.pipe, s.links_heap, s.links_where
    users, of, flow, mine = s.users, s.seats, s.flow, s.mine
    links = _rank(s.tally, s.hot, s.is_hot, pipe, users, share, heaped, where)
    while links > 0:
        link = heap.pop(heaped, where, share, links)
        links -= 1
        if users[link] == 0.0:
            continue
        level = pipe[link].slack / users[link]
        if level > share[link] * (1.0 + _SAME):
            share[link] = level
            links = heap.push(heaped, where, share, links, link)
            continue
        pipe[link].level = level
        pipe[link].held = 0
        for at in range(pipe[link].seat, pipe[link].seat + pipe[link].taken):
            slot = of[at].slot
            if flow[slot].rate != OPEN:
                if flow[slot].holder == link:
                    pipe[link].held += of[at].times
                continue
            pipe[link].held += of[at].times
            flow[slot].rate = level
            flow[slot].holder, flow[slot].grip = link, of[at].times
            for x in range(flow[slot].own, flow[slot].own + flow[slot].count):
                crossed, times = mine[x].link, mine[x].times
                users[crossed] -= times
                pipe[crossed].slack = max(pipe[crossed].slack - level * times, 0.0)


@inner
def _rank(
    tally: Longs, hot: Names, is_hot: Marks, pipe: Records, users: Floats, share: Floats,
    heaped: Items, where: Items,
) -> int:  # fmt: skip
    """A heap of the links with users, by their equal shares. How many they are."""
    links = 0
    for i in range(tally[HOT]):
        link = hot[i]
        is_hot[link] = 0
        if users[link] > 0.0:
            share[link] = pipe[link].slack / users[link]
            heaped[links] = link
            links += 1
    tally[HOT] = 0
    heap.order(heaped, where, share, links)
    return links


@inner
def _line_up(s: State) -> None:
    """When the flows with new rates end."""
    free, flow, ends, storeys, tally, now = s.free, s.flow, s.ends, s.storeys, s.tally, s.clock[0]
    many = tally[FREES]
    is_most = many * 4 > len(flow)
    for i in range(many):
        slot = free[i]
        end = now + flow[slot].rest / flow[slot].rate
        if is_most:
            ends[slot] = end
        else:
            soonest.change(ends, storeys, slot, end)
    if is_most:
        soonest.order(ends, storeys)
    tally[FREES] = 0
