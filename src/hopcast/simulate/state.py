"""What the compiled event loop of flows keeps: all arrays of a run."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Items = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.int8]

WAITING, FLOWING, FREE, DONE = 0, 1, 2, 3  # states of a piece; FREE while its rate is being found
OPENS, ENDS, DUE, EVENTS, LEFT, WORK, FRESH, HOT, LOOSE, FLAT = range(10)  # places in ``tally``


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
        tally: ``int64[10]``: heap sizes and counters, by the names above; FLAT says that the heap of ends is
            a mere list, as it is while most rates change at every event.
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
