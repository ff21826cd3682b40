"""The compiled event loop of flows: which sends are ready, and the max-min fair rates of those that flow.

Every event re-solves only what it can change. Rates of flows that share no link, not even through others, are
independent, so the search starts at the links on which a flow began or ended. Of the flows it meets, those
slower than the slowest flow that ended, and than the least a new flow can get, keep their rates: progressive
filling is the same up to that level with and without the change.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (progressive filling).
"""

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from . import heap

Items = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.int8]

WAITING, FLOWING, FREE, DONE = 0, 1, 2, 3  # states of a piece; FREE while its rate is being found
OPENS, ENDS, DUE, EVENTS, LEFT, WORK, FRESH, HOT, LOOSE, FLAT = range(10)  # places in ``tally``
_SAME = 1e-12  # events closer than this part of the clock are one, as in the reference


class State(NamedTuple):
    """All arrays of a run. A piece is one flow; a send is one or more pieces; a node is a send or a gate.

    Shapes: p pieces, s sends, n nodes, m links, r routes, x crossings of all routes, c crossings of all
    pieces.

    Attributes:
        hop: ``int64[r + 1]``: route i crosses ``link[hop[i]:hop[i + 1]]``, each ``times`` times.
        capacity: ``float64[m]``.
        route, send, volume, lag: ``[p]``: of each piece its route, send, bytes and latency.
        first: ``int64[s + 1]``: pieces of send i are ``first[i]`` to ``first[i + 1] - 1``.
        after: ``float64[s]``: seconds of reducing.
        arc: ``int64[n + 1]``: node i is waited for by ``target[arc[i]:arc[i + 1]]``.
        pending: ``int32[n]``: arcs that a node still waits for.
        ready, start, end, blame, pieces: ``[s]``; pieces are those still to arrive.
        status, rest, rate, since, opens, finish: ``[p]``; rest is what was left at ``since``; opens is when
            the first byte leaves, and later the end that a new rate gives.
        seat: ``int64[m + 1]``: the pieces that flow over link l are in ``seated[seat[l]:seat[l] +
            taken[l]]``.
        users, room, share: ``[m]`` of one filling; crowd counts all flows of a link.
        hot: Links to look at; ``is_hot`` marks them.
        free: Pieces whose rate is being found; fresh: pieces that began in this event.
        tally: ``int64[10]``: heap sizes and counters, by the names above; FLAT says that the heap of ends is a
            mere list, as it is while most rates change at every event.
        clock: ``float64[2]``: now, and the lowest level at which something changed.
    """

    hop: Longs
    link: Items
    times: Items
    capacity: Floats
    route: Items
    send: Items
    volume: Floats
    lag: Floats
    first: Longs
    after: Floats
    arc: Longs
    target: Items
    pending: Items
    ready: Floats
    start: Floats
    end: Floats
    blame: Items
    pieces: Items
    status: Marks
    rest: Floats
    rate: Floats
    since: Floats
    opens: Floats
    finish: Floats
    seat: Longs
    seated: Items
    weight: Items
    taken: Items
    crowd: Longs
    users: Longs
    room: Floats
    share: Floats
    is_hot: Marks
    hot: Items
    free: Items
    fresh: Items
    stack: Items
    links_heap: Items
    links_where: Items
    opens_heap: Items
    opens_where: Items
    ends_heap: Items
    ends_where: Items
    due_heap: Items
    due_where: Items
    tally: Longs
    clock: Floats


@nb.njit(cache=True, error_model="numpy")
def run(s: State, budget: int, window: float) -> bool:
    """Go on until nothing moves, or until about ``budget`` crossings were looked at. Whether it is over.

    With a window, flows that end within that part of the clock after the first to end still end at their own
    times, but what they leave is handed out only when the last of them has ended. So no flow is ever faster
    than its fair rate.
    """
    stop = s.tally[WORK] + budget
    while s.tally[WORK] < stop:
        coming = np.inf
        if s.tally[OPENS] > 0:
            coming = s.opens[s.opens_heap[0]]
        if s.tally[ENDS] > 0:
            coming = min(coming, _first_end(s))
        if s.tally[DUE] > 0:
            coming = min(coming, s.end[s.due_heap[0]])
        if coming == np.inf:
            return True
        s.clock[0] = coming
        s.clock[1] = np.inf
        s.tally[EVENTS] += 1
        _happen(s, coming * (1.0 + _SAME))
        if window > 0.0:
            _end_early(s, coming * (1.0 + window))
        _lowest_level(s)
        _meet(s)
        _fill(s)
    return False


@nb.njit(cache=True, error_model="numpy")
def begin(s: State) -> None:
    """Make ready all sends that wait for nothing, at time 0."""
    for send in range(len(s.ready)):
        if s.pending[send] == 0:
            _release(s, send, 0.0)


@nb.njit(cache=True, error_model="numpy")
def _happen(s: State, soon: float) -> None:
    """All that is due by now: last bytes, ends of reducing, first bytes, and what these set free at once."""
    now = s.clock[0]
    if s.tally[FLAT] == 1:
        many = _take(s, soon)
        for i in range(many):
            _arrive(s, s.free[i], now, soon)
    while True:
        if s.tally[ENDS] > 0 and s.tally[FLAT] == 0 and s.finish[s.ends_heap[0]] <= soon:
            piece = heap.pop(s.ends_heap, s.ends_where, s.finish, s.tally[ENDS])
            s.tally[ENDS] -= 1
            _arrive(s, piece, now, soon)
        elif s.tally[DUE] > 0 and s.end[s.due_heap[0]] <= soon:
            send = heap.pop(s.due_heap, s.due_where, s.end, s.tally[DUE])
            s.tally[DUE] -= 1
            _receive(s, send, now)
        elif s.tally[OPENS] > 0 and s.opens[s.opens_heap[0]] <= soon:
            piece = heap.pop(s.opens_heap, s.opens_where, s.opens, s.tally[OPENS])
            s.tally[OPENS] -= 1
            _enter(s, piece, now)
        else:
            return


@nb.njit(cache=True, error_model="numpy")
def _first_end(s: State) -> float:
    """When the next piece ends."""
    if s.tally[FLAT] == 0:
        return s.finish[s.ends_heap[0]]
    first = np.inf
    for i in range(s.tally[ENDS]):
        first = min(first, s.finish[s.ends_heap[i]])
    return first


@nb.njit(cache=True, error_model="numpy")
def _take(s: State, until: float) -> int:
    """Take all pieces that end by then off the list of ends, into ``free``. How many they are."""
    kept, many = 0, 0
    for i in range(s.tally[ENDS]):
        piece = s.ends_heap[i]
        if s.finish[piece] <= until:
            s.ends_where[piece] = -1
            s.free[many] = piece
            many += 1
        else:
            s.ends_heap[kept] = piece
            s.ends_where[piece] = kept
            kept += 1
    s.tally[ENDS] = kept
    return many


@nb.njit(cache=True, error_model="numpy", inline="always")
def _arrive(s: State, piece: int, now: float, soon: float) -> None:
    """The last byte of a piece."""
    _leave(s, piece)
    send = s.send[piece]
    s.pieces[send] -= 1
    if s.pieces[send] == 0:
        s.end[send] = now + s.after[send]
        if s.end[send] <= soon:
            _receive(s, send, now)
        else:
            s.tally[DUE] = heap.push(s.due_heap, s.due_where, s.end, s.tally[DUE], send)


@nb.njit(cache=True, error_model="numpy")
def _end_early(s: State, until: float) -> None:
    """Ends within the window, up to the next other event."""
    if s.tally[OPENS] > 0:
        until = min(until, s.opens[s.opens_heap[0]])
    if s.tally[DUE] > 0:
        until = min(until, s.end[s.due_heap[0]])
    if s.tally[FLAT] == 0 or s.tally[ENDS] == 0:
        return
    many = _take(s, until)
    early = s.free[:many].copy()
    early = early[np.argsort(s.finish[early])]
    for piece in early:
        # What this sets free is due no earlier than it, and waits for the end of the window like all else.
        s.clock[0] = s.finish[piece]
        _arrive(s, piece, s.clock[0], s.clock[0])


@nb.njit(cache=True, error_model="numpy", inline="always")
def _receive(s: State, send: int, now: float) -> None:
    """A send has been received: count down what waits for it, through gates, and make ready what is free."""
    s.tally[LEFT] -= 1
    sends = len(s.ready)
    s.stack[0] = send
    depth = 1
    while depth > 0:
        depth -= 1
        node = s.stack[depth]
        for a in range(s.arc[node], s.arc[node + 1]):
            target = s.target[a]
            s.pending[target] -= 1
            if s.pending[target] == 0:
                if target < sends:
                    s.blame[target] = send
                    _release(s, target, now)
                else:
                    s.stack[depth] = target
                    depth += 1


@nb.njit(cache=True, error_model="numpy", inline="always")
def _release(s: State, send: int, now: float) -> None:
    s.ready[send] = now
    for piece in range(s.first[send], s.first[send + 1]):
        s.opens[piece] = now + s.lag[piece]
        s.tally[OPENS] = heap.push(s.opens_heap, s.opens_where, s.opens, s.tally[OPENS], piece)


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
        _line_up(s, piece)
        return
    for x in range(s.hop[route], s.hop[route + 1]):
        link = s.link[x]
        at = s.seat[link] + s.taken[link]
        s.seated[at] = piece
        s.weight[at] = s.times[x]
        s.taken[link] += 1
        s.crowd[link] += s.times[x]
        _heat(s, link)
    s.fresh[s.tally[FRESH]] = piece
    s.tally[FRESH] += 1


@nb.njit(cache=True, error_model="numpy", inline="always")
def _leave(s: State, piece: int) -> None:
    """Last byte of a piece: its links have room. Its seats are cleared by `_meet`."""
    s.status[piece] = DONE
    if s.rate[piece] < 0.0:  # it had no bytes or no links
        return
    s.clock[1] = min(s.clock[1], s.rate[piece])
    route = s.route[piece]
    for x in range(s.hop[route], s.hop[route + 1]):
        s.crowd[s.link[x]] -= s.times[x]
        _heat(s, s.link[x])


@nb.njit(cache=True, error_model="numpy", inline="always")
def _heat(s: State, link: int) -> None:
    if s.is_hot[link] == 0:
        s.is_hot[link] = 1
        s.hot[s.tally[HOT]] = link
        s.tally[HOT] += 1


@nb.njit(cache=True, error_model="numpy")
def _lowest_level(s: State) -> None:
    """No new flow gets less than an equal part of its most crowded link, so no slower flow is touched."""
    for i in range(s.tally[FRESH]):
        route = s.route[s.fresh[i]]
        for x in range(s.hop[route], s.hop[route + 1]):
            link = s.link[x]
            s.clock[1] = min(s.clock[1], s.capacity[link] / s.crowd[link])
    s.tally[FRESH] = 0


@nb.njit(cache=True, error_model="numpy")
def _meet(s: State) -> None:
    """All flows whose rates may change, and for each link the room that the others leave them."""
    now, level = s.clock[0], s.clock[1] * (1.0 - 1e-9)
    free, i = 0, 0
    while i < s.tally[HOT]:
        link = s.hot[i]
        i += 1
        room, users, kept = s.capacity[link], 0, s.seat[link]
        for at in range(s.seat[link], s.seat[link] + s.taken[link]):
            piece = s.seated[at]
            if s.status[piece] == DONE:
                continue
            s.seated[kept] = piece
            s.weight[kept] = s.weight[at]
            if s.status[piece] == FLOWING:
                if s.rate[piece] >= 0.0 and s.rate[piece] < level:
                    room -= s.rate[piece] * s.weight[kept]
                    kept += 1
                    continue
                s.status[piece] = FREE
                s.free[free] = piece
                free += 1
                if s.rate[piece] > 0.0:
                    s.rest[piece] = max(s.rest[piece] - s.rate[piece] * (now - s.since[piece]), 0.0)
                s.since[piece] = now
                route = s.route[piece]
                for x in range(s.hop[route], s.hop[route + 1]):
                    _heat(s, s.link[x])
            users += s.weight[kept]
            kept += 1
        s.tally[WORK] += s.taken[link] + 1
        s.taken[link] = kept - s.seat[link]
        s.room[link], s.users[link] = max(room, 0.0), users
    s.tally[LOOSE] = free


@nb.njit(cache=True, error_model="numpy")
def _fill(s: State) -> None:
    """Progressive filling of the free pieces: the link with least room for each of its users fixes them."""
    links = 0
    for i in range(s.tally[HOT]):
        link = s.hot[i]
        s.is_hot[link] = 0
        if s.users[link] > 0:
            s.share[link] = s.room[link] / s.users[link]
            s.links_heap[links] = link
            links += 1
    s.tally[HOT] = 0
    heap.order(s.links_heap, s.links_where, s.share, links)
    while links > 0:
        link = heap.pop(s.links_heap, s.links_where, s.share, links)
        links -= 1
        if s.users[link] == 0:
            continue
        level = s.room[link] / s.users[link]
        if level > s.share[link] * (1.0 + _SAME):
            s.share[link] = level
            links = heap.push(s.links_heap, s.links_where, s.share, links, link)
            continue
        for at in range(s.seat[link], s.seat[link] + s.taken[link]):
            if s.status[s.seated[at]] == FREE:
                _fix(s, s.seated[at], level)
    _schedule_ends(s)


@nb.njit(cache=True, error_model="numpy", inline="always")
def _fix(s: State, piece: int, level: float) -> None:
    """Give a piece its rate; on its links less room is left for fewer users."""
    s.status[piece] = FLOWING
    if level != s.rate[piece]:
        s.rate[piece] = level
        s.opens[piece] = s.clock[0] + s.rest[piece] / level
    else:
        s.opens[piece] = s.finish[piece]
    route = s.route[piece]
    for x in range(s.hop[route], s.hop[route + 1]):
        link = s.link[x]
        s.users[link] -= s.times[x]
        s.room[link] = max(s.room[link] - level * s.times[x], 0.0)


@nb.njit(cache=True, error_model="numpy")
def _schedule_ends(s: State) -> None:
    """Put the pieces with new rates among those that will end: a heap, or a list where nearly all are new."""
    free = s.tally[LOOSE]
    if free * 4 > s.tally[ENDS] + free:
        s.tally[FLAT] = 1
    elif s.tally[FLAT] == 1:
        heap.order(s.ends_heap, s.ends_where, s.finish, s.tally[ENDS])
        s.tally[FLAT] = 0
    for i in range(free):
        piece = s.free[i]
        if s.opens[piece] != s.finish[piece] or s.ends_where[piece] < 0:
            s.finish[piece] = s.opens[piece]  # one by one: a heap stands one wrong key at a time
            _line_up(s, piece)


@nb.njit(cache=True, error_model="numpy", inline="always")
def _line_up(s: State, piece: int) -> None:
    """Put a piece among those that will end, or in its new place there."""
    if s.tally[FLAT] == 0:
        s.tally[ENDS] = heap.push(s.ends_heap, s.ends_where, s.finish, s.tally[ENDS], piece)
    elif s.ends_where[piece] < 0:
        s.ends_where[piece] = s.tally[ENDS]
        s.ends_heap[s.tally[ENDS]] = piece
        s.tally[ENDS] += 1
