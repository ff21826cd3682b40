"""The compiled event loop of flows: which sends are ready, and when the bytes of those begin and end.

Every event changes the max-min fair rates of a few flows, which `local` finds one by one, or of many, which
`filling` finds all at once.
"""

import numpy as np

from . import filling, heap, local, seats, soonest, watched
from .compiled import inlined, inner, outer
from .state import (
    BELL,
    DUE,
    EVENTS,
    FRESH,
    GONE,
    LEFT,
    OPEN,
    OPENS,
    PENALTY,
    RUNG,
    SHORT,
    SKIP,
    SPARE,
    WORK,
    Floats,
    Items,
    Longs,
    Records,
    State,
)

_SAME = 1e-12  # events closer than this part of the clock are one, as in the reference
_LOCAL = 48  # flows that begin or end in an event of which the changes are found one by one
_PATIENCE = 1024  # events at most for which that is not tried again when it was no use
MORE, OVER, FULL, PULL = range(4)  # what `run` returns

# Functions that run once for each event bind the arrays they use to names, for to fetch one from the state
# costs as much as to look into it. Those that run for each piece are inlined, or take single arrays.


@outer
def run(s: State, budget: int, window: float) -> int:
    """Go on until nothing moves (OVER), for about ``budget`` crossings, until lists are FULL or a bell rang.

    After a bell (PULL) the same instant goes on: what was pulled may still begin in it. With a window it is
    over by then.

    With a window, flows that end within that part of the clock after the first to end still end at their own
    times, but what they leave is handed out only when the last of them has ended. So no flow is ever faster
    than its fair rate.
    """
    tally, clock = s.tally, s.clock
    stop = tally[WORK] + budget
    while tally[WORK] < stop:
        coming = clock[0]
        if tally[RUNG] == 0 or window > 0.0:
            coming = _next(s)
            if coming == np.inf:
                return OVER
            clock[0], clock[1] = max(coming, clock[0]), np.inf
            tally[EVENTS] += 1
        tally[RUNG] = 0
        tally[WORK] += 20
        _happen(s, clock[0] * (1.0 + _SAME))
        if tally[RUNG] == 1 and window == 0.0:
            return PULL
        if window > 0.0 and tally[SHORT] == 0:
            _end_early(s, coming * (1.0 + window))
        _share(s, window)
        if tally[RUNG] == 1:
            return PULL
        if tally[SHORT] == 1:
            tally[SHORT] = 0
            return FULL
    return MORE


@inlined
def _next(s: State) -> float:
    """When something happens next."""
    coming: float = s.ends[s.storeys[-1]]
    if s.tally[OPENS] > 0:
        coming = min(coming, s.opens_time[0])
    if s.tally[DUE] > 0:
        coming = min(coming, s.due_time[0])
    return coming


@outer
def begin(s: State, since: int) -> None:
    """Make ready now what waits for nothing, of the sends from one on: those of a kind wait alike."""
    for one in range(since, len(s.sends), s.places):
        if s.sends[one].pending == 0:
            for send in range(one, one + s.places):
                _release(
                    send, s.clock[0], s.places, s.way, s.first, s.lag, s.sends, s.opens_time, s.opens, s.tally
                )


@inlined
def _share(s: State, window: float) -> None:
    """New rates after what began and ended in this event."""
    tally = s.tally
    changes = tally[FRESH] + tally[GONE]
    if changes == 0:
        return
    found = False
    if tally[SKIP] > 0:
        tally[SKIP] -= 1
    elif changes <= _LOCAL and window == 0.0:
        found = local.solve(s)
        tally[PENALTY] = 0 if found else min(2 * tally[PENALTY] + 4, _PATIENCE)
        tally[SKIP] = tally[PENALTY]
        if not found:
            filling.heat_all(s)
    if not found:
        filling.solve(s)
    watched.review(s)
    tally[FRESH], tally[GONE] = 0, 0


@inlined
def _happen(s: State, soon: float) -> None:
    """All that is due by now: last bytes, ends of reducing, first bytes, and what these set free at once."""
    ends, storeys, tally, now = s.ends, s.storeys, s.tally, s.clock[0]
    opens_time, opens, due_time, due = s.opens_time, s.opens, s.due_time, s.due
    while tally[RUNG] == 0:
        if ends[storeys[-1]] <= soon:
            _end(s, soonest.first(ends, storeys), now)
        elif tally[DUE] > 0 and due_time[0] <= soon:
            send = int(due[0, 0])
            tally[DUE] = heap.unqueue(due_time, due, tally[DUE])
            _receive(s, send, now)
        elif tally[OPENS] > 0 and opens_time[0] <= soon:
            send, route = int(opens[0, 0]), int(opens[0, 1])
            if not seats.has_room(s, route):
                tally[SHORT] = 1  # it begins at the same time, after room has been made
                break
            tally[OPENS] = heap.unqueue(opens_time, opens, tally[OPENS])
            _enter(s, send, route, now)
        else:
            break


@inner
def _end_early(s: State, until: float) -> None:
    """Ends within the window, up to the next other event."""
    tally, clock, ends, storeys = s.tally, s.clock, s.ends, s.storeys
    if tally[OPENS] > 0:
        until = min(until, s.opens_time[0])
    if tally[DUE] > 0:
        until = min(until, s.due_time[0])
    while ends[storeys[-1]] <= until:
        # What this sets free is due no earlier than it, and waits for the end of the window like all else.
        slot = soonest.first(ends, storeys)
        clock[0] = ends[slot]
        _end(s, slot, clock[0])
        while tally[DUE] > 0 and s.due_time[0] <= clock[0]:
            send = int(s.due[0, 0])
            tally[DUE] = heap.unqueue(s.due_time, s.due, tally[DUE])
            _receive(s, send, clock[0])


@inlined
def _end(s: State, slot: int, now: float) -> None:
    """The last byte of a flow: its links have room."""
    tally, route, send = s.tally, int(s.flow[slot].route), int(s.flow[slot].send)
    s.clock[1] = min(s.clock[1], s.flow[slot].rate)
    soonest.change(s.ends, s.storeys, slot, np.inf)
    seats.leave(s, slot, route)
    watched.end(s, route)
    s.gone[tally[GONE]] = route
    tally[GONE] += 1
    _arrive(s, send, now)


@inlined
def _arrive(s: State, send: int, now: float) -> None:
    """A piece of a send is there; the send too if it was the last."""
    sends, place = s.sends, np.uint32(send)
    sends[place].pieces -= 1
    if sends[place].pieces == 0:
        end = now + s.after[send // s.places]
        sends[place].end = end
        s.tally[DUE] = heap.queue(s.due_time, s.due, s.tally[DUE], end, send, 0)


@inlined
def _receive(s: State, send: int, now: float) -> None:
    """A send has been received: count down what waits for it, through gates, and make ready what is free."""
    arc, target, via, move, gate, stack, sends = s.arc, s.target, s.via, s.move, s.gate, s.stack, s.sends
    places, many = s.places, len(s.sends)
    s.tally[LEFT] -= 1
    stack[0] = send
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        kind = node // places
        place = node - kind * places
        for a in range(arc[kind], arc[kind + 1]):
            at = target[a] * places + move[via[a], place]
            if at < many:
                one = np.uint32(at)
                sends[one].pending -= 1
                if sends[one].pending == 0:
                    sends[one].blame = send
                    _release(at, now, places, s.way, s.first, s.lag, sends, s.opens_time, s.opens, s.tally)
            else:
                gate[at - many] -= 1
                if gate[at - many] == 0:
                    if at >= s.tally[BELL]:
                        s.tally[RUNG] = 1
                    stack[depth] = at  # bells open nothing
                    depth += 1


@inner
def _release(
    send: int, now: float, places: int, way: Longs, first: Longs, lag: Floats, sends: Records,
    time: Floats, opens: Items, tally: Longs,
) -> None:  # fmt: skip
    """A send is ready: its pieces begin after their latency."""
    sends[np.uint32(send)].ready = now
    kind = send // places
    pair = way[kind] * places + send - kind * places
    for route in range(first[pair], first[pair + 1]):
        tally[OPENS] = heap.queue(time, opens, tally[OPENS], now + lag[route], send, route)


@inlined
def _enter(s: State, send: int, route: int, now: float) -> None:
    """First byte of a piece: it becomes a flow, with a seat on every link of its route."""
    s.sends[np.uint32(send)].start = now
    volume = s.volume[send // s.places] * s.weight[route]
    if volume <= 0.0 or s.hop[route] == s.hop[route + 1]:
        _arrive(s, send, now)
    else:
        _sit(s, send, route, volume, now)


@inlined
def _sit(s: State, send: int, route: int, volume: float, now: float) -> None:
    """A slot, and a seat on every link of a route."""
    tally, flow = s.tally, s.flow
    tally[SPARE] -= 1
    slot = np.uint32(s.spare[tally[SPARE]])
    flow[slot].rate, flow[slot].rest, flow[slot].since = OPEN, volume, now
    flow[slot].send, flow[slot].route, flow[slot].holder = send, route, len(s.pipe) - 1
    flow[slot].grip = 0.0
    seats.sit(s, slot, route)
    watched.begin(s, slot, route)
    s.fresh[tally[FRESH]] = slot
    tally[FRESH] += 1
