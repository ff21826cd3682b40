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
Name = int | np.uint32  # of a link or a slot: unsigned, so that none is counted from the end of an array

# Places in ``tally``: sizes of the queues and lists, and counters.
OPENS, DUE, EVENTS, LEFT, WORK, FRESH, GONE, HOT, FREES, SPARE, POOL, SHORT = range(12)
MOVED, LOOSE, LATER, SKIP, PENALTY, PATIENCE, BELL, RUNG = range(12, 20)
TALLY = 20

# What is known of a send takes half a line of cache: what it waits for is of no interest once it is over.
SEND = np.dtype(
    {
        "names": ["ready", "start", "end", "pending", "pieces", "blame"],
        "formats": [np.float64, np.float64, np.float64, np.int32, np.int32, np.int32],
        "offsets": [0, 8, 16, 16, 24, 28],
        "itemsize": 32,
    }
)
# A flow, a link and a crossing each stand whole in one line of cache, for all of it is looked at at once.
FLOW = np.dtype(
    [
        *((name, np.float64) for name in ("rate", "rest", "since", "grip")),
        *((name, np.int32) for name in ("send", "route", "holder", "seats", "own", "count", "moved", "_")),
    ]
)
PIPE = np.dtype(
    [
        *((name, np.float64) for name in ("slack", "level", "capacity", "nothing", "held")),
        *((name, np.int32) for name in ("crowd", "seat", "taken", "room")),
        *((name, np.int16) for name in ("on", "mark", "late", "_")),
    ]
)
CROSSING = np.dtype([("link", np.uint32), ("times", np.float32)])
SEAT = np.dtype([("slot", np.uint32), ("times", np.float32)])
OPEN, DEAD = -1.0, 0.0  # rates of a flow whose rate is being found, and of one that is over
NOTHING = 1e-12  # part of a capacity that is no room: what sums of rates lose, and far less than 1e-9


class State(NamedTuple):
    """All arrays of a run. A send is one or more pieces, a piece that flows is a flow and has a slot.

    A send is one of k kinds at one of p places, a node a kind of send or of gate at a place; with one place
    every send is a kind of its own. What waits for a kind at one place waits at the place to which a move
    leads from there.

    Shapes: k kinds of sends, p places, s = k p sends, n kinds of nodes, m links, r routes, x crossings of all
    routes, f slots. A slot is used again when its flow is over and no link lists it any more.

    Attributes:
        hop: ``int64[r + 1]``: route i crosses ``crossing[hop[i]:hop[i + 1]]``, each link so many times.
        first: ``int64[pairs + 1]``: a send from pair i is one piece on each route ``first[i]`` to
            ``first[i + 1] - 1``.
        weight, lag: ``float64[r]``: part of the bytes, and latency.
        places: p.
        way, volume, after: ``[k]``: pair = way p + place; bytes; seconds of reducing.
        arc: ``int64[n + 1]``: kind i is waited for by kinds ``target[arc[i]:arc[i + 1]]`` at the place
            ``move[via[...], place]``.
        sends: ``SEND[s]``: when ready, first byte, received; arcs that it still waits for; pieces still to
            arrive; the send it waited for last, or -1.
        gate: ``int32[n p - s]``: arcs that a gate still waits for.
        opens_time, opens: Queue of pieces that are ready: first byte; send and route.
        due_time, due: Queue of sends that are being reduced.
        flow: ``FLOW[f]``: rate, or OPEN or DEAD; bytes left at ``since``; send, route; the link that holds
            the flow at its rate, and how often it is crossed; links that list the flow; the links that it
            lists, of its route those that are watched, are ``mine[own:own + count]``; whether it is among
            those that have moved.
        mine: ``wide`` crossings for each slot; or ``crossing``, where all links are watched.
        turn, turned: See `watched`; flows that take each turn.
        ends, storeys: When each flow ends, and a tree of these times: see `soonest`.
        spare: Slots that are not used.
        pipe: ``PIPE[m + 1]``: what the flows over a link leave of its capacity, all but those that are OPEN;
            the level at which it holds flows; what of its capacity is no room; crossings by flows that it
            holds, by all; the flows over it are in ``seats[seat:seat + taken]``, and ``room`` would fit;
            whether it is watched (of one that is not, ``slack`` and ``level`` are not kept), is in ``loose``,
            in ``later``. The last is none, and holds the flows that no other does.
        fresh, gone: Slots of flows that began, routes of those that ended in this event.
        free: Slots whose rates are being found, or have moved; ``hot``, ``is_hot``, ``users``, ``share``:
            links of a whole filling.
        loose: Links that may hold flows too low or carry too much.
        later: Links that `watched` will look at again when this event has its rates.
        some, rates, own, stop, stopper: Of the flows over a link that `local` puts right: slot, rate; places
            of those that it holds, at what level each is stopped, and by which link in ``mine``.
        there, bounds: Rates of flows over a link of one of these, and at what its links would stop it.
        tally, clock: Counters by the names above; now, and the lowest level at which something changed. Gates
            from node BELL on are bells (see `window`), and RUNG tells of one.
    """

    hop: Longs
    crossing: Records
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
    gate: Items
    sends: Records
    opens_time: Floats
    opens: Items
    due_time: Floats
    due: Items
    flow: Records
    mine: Records
    wide: int
    turn: Names
    turned: Items
    ends: Floats
    storeys: Longs
    spare: Items
    pipe: Records
    seats: Records
    fresh: Items
    gone: Items
    free: Items
    hot: Names
    is_hot: Marks
    users: Floats
    share: Floats
    links_heap: Items
    links_where: Items
    loose: Names
    later: Names
    some: Names
    rates: Floats
    own: Names
    stop: Floats
    stopper: Longs
    there: Floats
    bounds: Floats
    stack: Longs
    tally: Longs
    clock: Floats
