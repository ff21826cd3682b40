"""Runs the compiled engine on a problem, in slices, so that it can be watched and interrupted."""

from collections.abc import Callable

import numpy as np

from hopcast.ir.topology import Floats

from . import engine
from .network import Problem
from .ran import Ran
from .state import EVENTS, LEFT, WORK, Items, State

_SLICE = 5_000_000  # crossings looked at before Python has its turn: a quarter of a second (2 cores, 2026-11)
# Where nearly every flow ends at a time of its own and that changes all rates, each of thousands of events
# looks at all crossings: hopeless beyond some 20,000 flows. So after as many crossings as are looked at in
# seconds, if events have looked at more than _DENSE each, ends within a few hundredths of the clock are taken
# together (see `engine.run`). All to all of 1,024 GPUs, hashed routes, a million flows: for windows of 0.01
# and of 0.03 the time is that of the busiest link and its latency, to 1e-7 (2026-11).
_EXACT, _HUGE, _EXACT_HUGE = 200_000_000, 1_000_000, 10_000_000
_DENSE, WINDOW = 20_000, 0.03
Progress = Callable[[float], None]


def run(problem: Problem, progress: Progress | None = None, slice: int = _SLICE, exact: int = -1) -> Ran:
    """Simulate all sends.

    Args:
        problem: What there is to send.
        progress: Called now and then with the part of the sends that have been received.
        slice: Crossings to look at between two calls of ``progress``.
        exact: Crossings to look at before ends may be taken together; by the size of the problem if negative.
    """
    state = state_of(problem)
    if exact < 0:
        exact = _EXACT if len(state.seated) <= _HUGE else _EXACT_HUGE
    sends = len(problem.volume)
    engine.begin(state)
    window = 0.0
    while not engine.run(state, slice, window):
        work, events = int(state.tally[WORK]), int(state.tally[EVENTS])
        if work > exact and work > _DENSE * events:
            window = WINDOW
        if progress is not None:
            progress(1.0 - int(state.tally[LEFT]) / sends)
    # Its pieces have arrived and its reducing is over.
    left = (state.pieces > 0) | (state.due_where >= 0)
    return Ran(
        state.ready,
        state.start,
        state.end,
        state.blame.astype(np.int64),
        left,
        int(state.tally[EVENTS]),
        window,
    )


def state_of(problem: Problem) -> State:
    """The arrays of a run that has not begun."""
    paths, links, sends = problem.paths, len(problem.capacity), len(problem.volume)
    first, send, route = problem.spread()
    pieces, many = len(send), np.diff(first)
    # A link needs as many seats as pieces ever cross it.
    uses = np.bincount(route, minlength=len(paths.hop) - 1)
    seats = np.bincount(paths.link, np.repeat(uses, np.diff(paths.hop)), links).astype(np.int64)
    seat = np.concatenate([[0], np.cumsum(seats)]).astype(np.int64)
    nodes = len(problem.arcs.pending)

    def floats(n: int) -> Floats:
        return np.zeros(n)

    def items(n: int, value: int = 0) -> Items:
        return np.full(n, value, np.int32)

    tally = np.zeros(10, np.int64)
    tally[LEFT] = sends
    return State(
        hop=paths.hop, link=paths.link, times=paths.times, capacity=problem.capacity,
        route=route.astype(np.int32), send=send.astype(np.int32),
        volume=problem.volume[send] * paths.weight[route], lag=paths.lag[route],
        first=first, after=problem.after,
        arc=problem.arcs.start, target=problem.arcs.target, pending=problem.arcs.pending.copy(),
        ready=floats(sends), start=floats(sends), end=floats(sends), blame=items(sends, -1),
        pieces=many.astype(np.int32),
        status=np.zeros(pieces, np.int8), rest=floats(pieces), rate=floats(pieces), since=floats(pieces),
        opens=floats(pieces), finish=floats(pieces),
        seat=seat, seated=items(int(seat[-1])), weight=items(int(seat[-1])), taken=items(links),
        crowd=np.zeros(links, np.int64), users=np.zeros(links, np.int64),
        room=floats(links), share=floats(links),
        is_hot=np.zeros(links, np.int8), hot=items(links), free=items(pieces), fresh=items(pieces),
        stack=items(nodes + 1),
        links_heap=items(links), links_where=items(links, -1), opens_heap=items(pieces),
        opens_where=items(pieces, -1), ends_heap=items(pieces), ends_where=items(pieces, -1),
        due_heap=items(sends), due_where=items(sends, -1),
        tally=tally, clock=np.zeros(2),
    )  # fmt: skip
