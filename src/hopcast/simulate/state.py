"""What the compiled event loop of flows keeps: all arrays of a run."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Items = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.int8]
Names = npt.NDArray[np.uint32]
Records = npt.NDArray[np.void]

# Places in ``tally``: sizes of the heaps and lists, and counters.
OPENS, ENDS, DUE, EVENTS, LEFT, WORK, FRESH, GONE, HOT, FREES, FLAT, SPARE, POOL, SHORT = range(14)
FEW, LOOSE, LOWS, SKIP, PENALTY = range(14, 19)
TALLY = 19
READY, START, END, BLAME = range(4)  # columns of ``moment``
TAKEN, ROOM = range(2)  # of ``size``

FLOW = np.dtype(
    [
        *((name, np.float64) for name in ("rate", "rest", "since", "next")),
        *((name, np.int32) for name in ("send", "route", "holder", "seats")),
    ]
)
PIPE = np.dtype(
    [
        *((name, np.float64) for name in ("slack", "level", "capacity", "low", "users", "held", "crowd")),
        ("mark", np.int64),
    ]
)
OPEN, DEAD = -1.0, -2.0  # rates of a flow whose rate is being found, and of one that is over


class State(NamedTuple):
    """All arrays of a run. A send is one or more pieces, a piece that flows is a flow and has a slot.

    A send is one of k kinds at one of p places, a node a kind of send or of gate at a place; with one place
    every send is a kind of its own. What waits for a kind at one place waits at the place to which a move
    leads from there.

    Shapes: k kinds of sends, p places, s = k p sends, n kinds of nodes, m links, r routes, x crossings of all
    routes, f slots. A slot is used again when its flow is over and no link lists it any more.

    Attributes:
        hop: ``int64[r + 1]``: route i crosses ``link[hop[i]:hop[i + 1]]``, each ``times`` times.
        first: ``int64[pairs + 1]``: a send from pair i is one piece on each route ``first[i]`` to
            ``first[i + 1] - 1``.
        weight, lag: ``float64[r]``: part of the bytes, and latency.
        places: p.
        way, volume, after: ``[k]``: pair = way p + place; bytes; seconds of reducing.
        arc: ``int64[n + 1]``: kind i is waited for by kinds ``target[arc[i]:arc[i + 1]]`` at the place
            ``move[via[...], place]``.
        pending: ``int32[n p]``: arcs that a node still waits for.
        moment: ``float64[s, 4]``: when ready, first byte, received; the send it waited for last, or -1.
        pieces: ``int32[s]``: those still to arrive.
        opens_time, opens: Queue of pieces that are ready: first byte; send and route.
        due_time, due: Queue of sends that are being reduced.
        flow: ``FLOW[f]``: rate, or OPEN or DEAD; bytes left at ``since``; when it will have ended; send,
            route, the link that holds the flow at its rate, and links that list it.
        finish: ``float64[f]``: no later than when each will have ended, and just that at the top of the heap:
            most ends are put off many times before they come there.
        spare: Slots that are not used.
        pipe: ``PIPE[m]``: what the flows over a link leave of its capacity, all but those that are OPEN; the
            level at which it holds flows; a level below which it does nothing in this event, or 0; crossings
            by OPEN flows, by flows that it holds, by all; its place in ``loose`` from 1 on.
        seat: ``int64[m]``: the flows over link l are in ``seats[seat[l]:seat[l] + size[l, TAKEN]]``, with how
            often they cross it; ``size[l, ROOM]`` would fit.
        fresh, gone: Slots of flows that began, routes of those that ended in this event.
        free: Slots whose rates are being found; ``hot`` and ``is_hot``, ``share``: links of a whole filling.
        few, few_link, few_bound: Slots that are OPEN in a local filling, the link that may stop each first,
            and a level below which none does.
        loose, loose_bound: Links without OPEN flows that may hold flows too low or carry too much, and a
            level below which they do not.
        lows: Links with a ``low``.
        tally, clock: Counters by the names above; now, and the lowest level at which something changed.
    """

    hop: Longs
    link: Names
    times: Items
    first: Longs
    weight: Floats
    lag: Floats
    places: int
    way: Longs
    volume: Floats
    after: Floats
    arc: Longs
    target: Items
    via: Items
    move: Items
    pending: Items
    moment: Floats
    pieces: Items
    opens_time: Floats
    opens: Items
    due_time: Floats
    due: Items
    flow: Records
    finish: Floats
    spare: Items
    ends_heap: Items
    ends_where: Items
    pipe: Records
    seat: Longs
    size: Items
    seats: Names
    fresh: Items
    gone: Items
    free: Items
    hot: Names
    is_hot: Marks
    share: Floats
    links_heap: Items
    links_where: Items
    few: Items
    few_link: Names
    few_bound: Floats
    loose: Names
    loose_bound: Floats
    lows: Names
    stack: Longs
    tally: Longs
    clock: Floats
