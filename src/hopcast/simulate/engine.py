"""The compiled event loop of flows: which sends are ready, and the max-min fair rates of those that flow.

Every event re-solves only what it can change. Rates of flows that share no link, not even through others, are
independent, so the search starts at the links on which a flow began or ended. Of the flows it meets, those
slower than the slowest flow that ended, and than the least a new flow can get, keep their rates: progressive
filling is the same up to that level with and without the change.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (progressive filling).
"""

import numba as nb
import numpy as np

from . import heap
from .state import (
    DONE,
    DUE,
    ENDS,
    EVENTS,
    FLAT,
    FLOWING,
    FREE,
    FRESH,
    HOT,
    LEFT,
    LOOSE,
    OPENS,
    WORK,
    Floats,
    Items,
    Longs,
    Marks,
    State,
)

_SAME = 1e-12  # events closer than this part of the clock are one, as in the reference

# Functions that run once for each event bind the arrays they use to names, for to fetch one from the state
# costs as much as to look into it. Those that run for each piece are inlined, or take single arrays.


@nb.njit(cache=True, error_model="numpy")
def run(s: State, budget: int, window: float) -> bool:
    """Go on until nothing moves, or until about ``budget`` crossings were looked at. Whether it is over.

    With a window, flows that end within that part of the clock after the first to end still end at their own
    times, but what they leave is handed out only when the last of them has ended. So no flow is ever faster
    than its fair rate.
    """
    tally, clock = s.tally, s.clock
    opens, opens_heap, end, due_heap = s.opens, s.opens_heap, s.end, s.due_heap
    stop = tally[WORK] + budget
    while tally[WORK] < stop:
        coming = _first_end(s.finish, s.ends_heap, tally)
        if tally[OPENS] > 0:
            coming = min(coming, opens[opens_heap[0]])
        if tally[DUE] > 0:
            coming = min(coming, end[due_heap[0]])
        if coming == np.inf:
            return True
        clock[0], clock[1] = coming, np.inf
        tally[EVENTS] += 1
        _happen(s, coming * (1.0 + _SAME))
        if window > 0.0:
            _end_early(s, coming * (1.0 + window))
        if tally[HOT] > 0:
            _lowest_level(s)
            _meet(s)
            _fill(s)
            _line_up(s)
    return False


@nb.njit(cache=True, error_model="numpy")
def begin(s: State) -> None:
    """Make ready all sends that wait for nothing, at time 0."""
    ready, pending, first, opens, lag = s.ready, s.pending, s.first, s.opens, s.lag
    opens_heap, opens_where, tally = s.opens_heap, s.opens_where, s.tally
    for send in range(len(ready)):
        if pending[send] == 0:
            _release(send, 0.0, ready, first, opens, lag, opens_heap, opens_where, tally)


@nb.njit(cache=True)
def _first_end(finish: Floats, ends_heap: Items, tally: Longs) -> float:
    """When the next piece ends."""
    if tally[ENDS] == 0:
        return np.inf
    if tally[FLAT] == 0:
        return float(finish[ends_heap[0]])
    first = np.inf
    tally[WORK] += tally[ENDS]
    for i in range(tally[ENDS]):
        first = min(first, finish[ends_heap[i]])
    return first


@nb.njit(cache=True, error_model="numpy")
def _happen(s: State, soon: float) -> None:
    """All that is due by now: last bytes, ends of reducing, first bytes, and what these set free at once."""
    finish, ends_heap, ends_where, tally, now = s.finish, s.ends_heap, s.ends_where, s.tally, s.clock[0]
    end, due_heap, due_where = s.end, s.due_heap, s.due_where
    opens, opens_heap, opens_where, free = s.opens, s.opens_heap, s.opens_where, s.free
    if tally[FLAT] == 1:
        many = _take(soon, finish, ends_heap, ends_where, free, tally)
        for i in range(many):
            _arrive(s, free[i], now, soon)
    while True:
        if tally[ENDS] > 0 and tally[FLAT] == 0 and finish[ends_heap[0]] <= soon:
            piece = heap.pop(ends_heap, ends_where, finish, tally[ENDS])
            tally[ENDS] -= 1
            _arrive(s, piece, now, soon)
        elif tally[DUE] > 0 and end[due_heap[0]] <= soon:
            send = heap.pop(due_heap, due_where, end, tally[DUE])
            tally[DUE] -= 1
            _receive(s, send, now)
        elif tally[OPENS] > 0 and opens[opens_heap[0]] <= soon:
            piece = heap.pop(opens_heap, opens_where, opens, tally[OPENS])
            tally[OPENS] -= 1
            _enter(s, piece, now)
        else:
            return


@nb.njit(cache=True)
def _take(until: float, finish: Floats, ends: Items, where: Items, taken: Items, tally: Longs) -> int:
    """Take all pieces that end by then off the list of ends. How many they are."""
    kept, many = 0, 0
    for i in range(tally[ENDS]):
        piece = ends[i]
        if finish[piece] <= until:
            where[piece] = -1
            taken[many] = piece
            many += 1
        else:
            ends[kept] = piece
            where[piece] = kept
            kept += 1
    tally[ENDS] = kept
    return many


@nb.njit(cache=True, error_model="numpy")
def _end_early(s: State, until: float) -> None:
    """Ends within the window, up to the next other event."""
    tally, clock, finish = s.tally, s.clock, s.finish
    if tally[OPENS] > 0:
        until = min(until, s.opens[s.opens_heap[0]])
    if tally[DUE] > 0:
        until = min(until, s.end[s.due_heap[0]])
    while tally[FLAT] == 0 and tally[ENDS] > 0 and finish[s.ends_heap[0]] <= until:
        piece = heap.pop(s.ends_heap, s.ends_where, finish, tally[ENDS])
        tally[ENDS] -= 1
        clock[0] = finish[piece]
        _arrive(s, piece, clock[0], clock[0])
    if tally[FLAT] == 0:
        return
    many = _take(until, finish, s.ends_heap, s.ends_where, s.free, tally)
    early = s.free[:many].copy()
    for piece in early[np.argsort(finish[early])]:
        # What this sets free is due no earlier than it, and waits for the end of the window like all else.
        clock[0] = finish[piece]
        _arrive(s, piece, clock[0], clock[0])


@nb.njit(cache=True, error_model="numpy", inline="always")
def _arrive(s: State, piece: int, now: float, soon: float) -> None:
    """The last byte of a piece: its links have room. Its seats are cleared by `_meet`."""
    s.status[piece] = DONE
    if s.rate[piece] >= 0.0:  # else it had no bytes or no links
        s.clock[1] = min(s.clock[1], s.rate[piece])
        route = s.route[piece]
        for x in range(s.hop[route], s.hop[route + 1]):
            s.crowd[s.link[x]] -= s.times[x]
            _heat(s.link[x], s.is_hot, s.hot, s.tally)
    send = s.send[piece]
    s.pieces[send] -= 1
    if s.pieces[send] == 0:
        s.end[send] = now + s.after[send]
        if s.end[send] <= soon:
            _receive(s, send, now)
        else:
            s.tally[DUE] = heap.push(s.due_heap, s.due_where, s.end, s.tally[DUE], send)


@nb.njit(cache=True, error_model="numpy", inline="always")
def _receive(s: State, send: int, now: float) -> None:
    """A send has been received: count down what waits for it, through gates, and make ready what is free."""
    arc, target, pending, stack = s.arc, s.target, s.pending, s.stack
    s.tally[LEFT] -= 1
    stack[0] = send
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        for a in range(arc[node], arc[node + 1]):
            at = target[a]
            pending[at] -= 1
            if pending[at] > 0:
                continue
            if at < len(s.ready):
                s.blame[at] = send
                _release(at, now, s.ready, s.first, s.opens, s.lag, s.opens_heap, s.opens_where, s.tally)
            else:
                stack[depth] = at
                depth += 1


@nb.njit(cache=True)
def _release(
    send: int, now: float, ready: Floats, first: Longs, opens: Floats, lag: Floats,
    heaped: Items, where: Items, tally: Longs,
) -> None:  # fmt: skip
    """A send is ready: its pieces begin after their latency."""
    ready[send] = now
    for piece in range(first[send], first[send + 1]):
        opens[piece] = now + lag[piece]
        tally[OPENS] = heap.push(heaped, where, opens, tally[OPENS], piece)


@nb.njit(cache=True, error_model="numpy", inline="always")
def _enter(s: State, piece: int, now: float) -> None:
    """First byte of a piece: a seat on every link of its route."""
    s.start[s.send[piece]] = now
    s.status[piece] = FLOWING
    s.rest[piece] = s.volume[piece]
    s.since[piece] = now
    s.rate[piece] = -1.0
    route = s.route[piece]
    if s.volume[piece] <= 0.0 or s.hop[route] == s.hop[route + 1]:
        s.finish[piece] = now
        _append(piece, s.finish, s.ends_heap, s.ends_where, s.tally)
    else:
        for x in range(s.hop[route], s.hop[route + 1]):
            link = s.link[x]
            at = s.seat[link] + s.taken[link]
            s.seated[at] = piece
            s.weight[at] = s.times[x]
            s.taken[link] += 1
            s.crowd[link] += s.times[x]
            _heat(link, s.is_hot, s.hot, s.tally)
        s.fresh[s.tally[FRESH]] = piece
        s.tally[FRESH] += 1


@nb.njit(cache=True)
def _heat(link: int, is_hot: Marks, hot: Items, tally: Longs) -> None:
    """Note a link that has to be looked at."""
    if is_hot[link] == 0:
        is_hot[link] = 1
        hot[tally[HOT]] = link
        tally[HOT] += 1


@nb.njit(cache=True, error_model="numpy")
def _lowest_level(s: State) -> None:
    """No new flow gets less than an equal part of its most crowded link, so no slower flow is touched."""
    route, hop, link, capacity, crowd, fresh = s.route, s.hop, s.link, s.capacity, s.crowd, s.fresh
    level = s.clock[1]
    for i in range(s.tally[FRESH]):
        r = route[fresh[i]]
        for x in range(hop[r], hop[r + 1]):
            level = min(level, capacity[link[x]] / crowd[link[x]])
    s.clock[1] = level
    s.tally[FRESH] = 0


@nb.njit(cache=True, error_model="numpy")
def _meet(s: State) -> None:
    """All flows whose rates may change, and for each link the room that the others leave them."""
    hot, is_hot, tally, capacity, seat, seated = s.hot, s.is_hot, s.tally, s.capacity, s.seat, s.seated
    weight, taken, status, rate, rest, since = s.weight, s.taken, s.status, s.rate, s.rest, s.since
    route, hop, links, free, room, users = s.route, s.hop, s.link, s.free, s.room, s.users
    now, level, work = s.clock[0], s.clock[1] * (1.0 - 1e-9), 0
    many, i = 0, 0
    while i < tally[HOT]:
        link = hot[i]
        i += 1
        left, crowd, kept = capacity[link], 0, seat[link]
        for at in range(seat[link], seat[link] + taken[link]):
            piece = seated[at]
            state = status[piece]
            if state == DONE:
                continue
            seated[kept] = piece
            weight[kept] = weight[at]
            if state == FLOWING:
                if 0.0 <= rate[piece] < level:
                    left -= rate[piece] * weight[kept]
                    kept += 1
                    continue
                status[piece] = FREE
                free[many] = piece
                many += 1
                if rate[piece] > 0.0:
                    rest[piece] = max(rest[piece] - rate[piece] * (now - since[piece]), 0.0)
                since[piece] = now
                for x in range(hop[route[piece]], hop[route[piece] + 1]):
                    _heat(links[x], is_hot, hot, tally)
            crowd += weight[kept]
            kept += 1
        work += taken[link] + 1
        taken[link] = kept - seat[link]
        room[link], users[link] = max(left, 0.0), crowd
    tally[WORK] += work
    tally[LOOSE] = many


@nb.njit(cache=True, error_model="numpy")
def _fill(s: State) -> None:
    """Progressive filling of the free pieces: the link with least room for each of its users fixes them."""
    share, users, room, heaped, where = s.share, s.users, s.room, s.links_heap, s.links_where
    seat, taken, seated, status, now = s.seat, s.taken, s.seated, s.status, s.clock[0]
    rate, rest, finish, opens = s.rate, s.rest, s.finish, s.opens
    route, hop, link_of, times = s.route, s.hop, s.link, s.times
    links = _rank(s.tally, s.hot, s.is_hot, room, users, share, heaped, where)
    while links > 0:
        link = heap.pop(heaped, where, share, links)
        links -= 1
        if users[link] == 0:
            continue
        level = room[link] / users[link]
        if level > share[link] * (1.0 + _SAME):
            share[link] = level
            links = heap.push(heaped, where, share, links, link)
            continue
        for at in range(seat[link], seat[link] + taken[link]):
            piece = seated[at]
            if status[piece] != FREE:
                continue
            status[piece] = FLOWING
            # Into ``opens``, and from there to ``finish`` when the piece is put in its place.
            opens[piece] = finish[piece] if level == rate[piece] else now + rest[piece] / level
            rate[piece] = level
            for x in range(hop[route[piece]], hop[route[piece] + 1]):
                crossed = link_of[x]
                users[crossed] -= times[x]
                room[crossed] = max(room[crossed] - level * times[x], 0.0)


@nb.njit(cache=True, error_model="numpy")
def _rank(
    tally: Longs, hot: Items, is_hot: Marks, room: Floats, users: Longs, share: Floats,
    heaped: Items, where: Items,
) -> int:  # fmt: skip
    """A heap of the links with users, by their equal shares. How many they are."""
    links = 0
    for i in range(tally[HOT]):
        link = hot[i]
        is_hot[link] = 0
        if users[link] > 0:
            share[link] = room[link] / users[link]
            heaped[links] = link
            links += 1
    tally[HOT] = 0
    heap.order(heaped, where, share, links)
    return links


@nb.njit(cache=True)
def _line_up(s: State) -> None:
    """Put the pieces with new rates among those that will end: a heap, or a list where nearly all are new."""
    free, opens, finish, ends, where, tally = s.free, s.opens, s.finish, s.ends_heap, s.ends_where, s.tally
    many = tally[LOOSE]
    if many * 4 > tally[ENDS] + many:
        tally[FLAT] = 1
    elif tally[FLAT] == 1:
        tally[WORK] += tally[ENDS]
        heap.order(ends, where, finish, tally[ENDS])
        tally[FLAT] = 0
    for i in range(many):
        piece = free[i]
        if opens[piece] != finish[piece] or where[piece] < 0:
            finish[piece] = opens[piece]  # one by one: a heap stands one wrong key at a time
            _append(piece, finish, ends, where, tally)


@nb.njit(cache=True)
def _append(piece: int, finish: Floats, ends: Items, where: Items, tally: Longs) -> None:
    """Put a piece among those that will end, or in its new place there."""
    if tally[FLAT] == 0:
        tally[ENDS] = heap.push(ends, where, finish, tally[ENDS], piece)
    elif where[piece] < 0:
        where[piece] = tally[ENDS]
        ends[tally[ENDS]] = piece
        tally[ENDS] += 1
