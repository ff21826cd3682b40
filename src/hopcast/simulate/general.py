"""Runs the compiled engine on a problem, in slices, so that it can be watched and interrupted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hopcast.ir.topology import Floats

from . import engine, seats, soonest, watched
from .folded import Folded
from .local import MOST, WIDE
from .needed import needed
from .network import Longs, Paths, Problem
from .ran import Ran
from .state import (
    BELL,
    CROSSING,
    DUE,
    EVENTS,
    FLOW,
    LEFT,
    NOTHING,
    OPENS,
    PATIENCE,
    PIPE,
    POOL,
    SEAT,
    SEND,
    SPARE,
    TALLY,
    WORK,
    Items,
    Names,
    Records,
    State,
)

_SLICE = 5_000_000  # crossings looked at before Python has its turn: a quarter of a second (2 cores, 2026-11)
# Where nearly every flow ends at a time of its own and that changes all rates, each of thousands of events
# looks at all crossings: hopeless beyond some 20,000 flows. So after as many crossings as are looked at in
# seconds, if events from there on look at more than _DENSE each, ends within a few hundredths of the clock
# are taken together (see `engine.run`). pxn on 1,024 GPUs, hashed routes, a million flows: the time is that
# of the busiest link and two latencies, to 1e-7 (2026-11).
_EXACT, _EXACT_HUGE = 200_000_000, 10_000_000  # crossings, of few flows and of many:
_HUGE, _MANY = 1_000_000, 500_000  # places in lists of links at the beginning, or flows in all
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
    whole = Run(problem, slice, exact)
    sends = len(whole.state.sends)
    while whole.goes_on():
        if progress is not None:
            progress(whole.received / sends)
    return whole.ran()


class Run:
    """A run that goes on slice by slice."""

    def __init__(self, problem: Problem, slice: int = _SLICE, exact: int = -1) -> None:
        """Of a problem; the rest as of `run`. All that waits for nothing is ready."""
        self.state = state_of(problem)
        if exact < 0:
            huge = len(self.state.seats) > _HUGE or len(self.state.opens_time) > _MANY
            exact = _EXACT_HUGE if huge else _EXACT
        self._slice, self._exact = slice, exact
        self.window, self._since, self.rang = 0.0, (0, 0), False
        engine.begin(self.state, 0)

    @property
    def received(self) -> int:
        """Sends that have been."""
        return len(self.state.sends) - int(self.state.tally[LEFT])

    def goes_on(self) -> bool:
        """Go on for a slice, or until a bell rang; whether anything still moves."""
        ended = engine.run(self.state, self._slice, self.window)
        self.rang = ended == engine.PULL
        if ended == engine.FULL:
            self.state = _larger(self.state)
        elif ended == engine.MORE:
            work, events = int(self.state.tally[WORK]), int(self.state.tally[EVENTS])
            if work > self._exact and not self._since[0]:
                self._since = (work, events)
            elif work > self._exact and work - self._since[0] > _DENSE * (events - self._since[1]):
                self.window = WINDOW
        return ended != engine.OVER

    def ran(self) -> Ran:
        """What came of all sends so far."""
        state = self.state
        # Its pieces have arrived and its reducing is over.
        each = state.sends
        left = each["pieces"] > 0
        each["end"][left] = 0.0
        left[state.due[: state.tally[DUE], 0]] = True
        ready, start, end, blame = (each[name] for name in ("ready", "start", "end", "blame"))
        return Ran(ready, start, end, blame, left, int(state.tally[EVENTS]), self.window)

    def move(self, kept: Longs, problem: Problem) -> None:
        """Go on with sends that were left, of the numbers given, and more behind them, on the same routes."""
        self.state = _moved(self.state, kept, Folded.alone(problem))
        engine.begin(self.state, len(kept))


def state_of(problem: Problem) -> State:
    """The arrays of a run that has not begun."""
    folded = problem if isinstance(problem, Folded) else Folded.alone(problem)
    paths, those = needed(folded.paths, folded.capacity)
    arcs, places, links = folded.arcs, folded.places, len(those)
    kinds = len(folded.volume)
    sends = kinds * places
    each = _each(folded, paths)
    pieces = int(each["pieces"].sum())
    # At first there are slots for what waits for nothing, and seats for that on each link.
    first = np.bincount(folded.pair[arcs.pending[:kinds] == 0], minlength=(len(paths.first) - 1) // places)
    uses = np.repeat(np.repeat(first, places), np.diff(paths.first))
    slots = max(int(uses.sum()), 256)
    at_first = np.bincount(paths.link, np.repeat(uses, np.diff(paths.hop)), links).astype(np.int64)
    room = np.maximum(at_first, 4)

    def floats(*shape: int) -> Floats:
        return np.zeros(shape)

    def items(*shape: int, value: int = 0) -> Items:
        return np.full(shape, value, np.int32) if value else np.zeros(shape, np.int32)

    def names(*shape: int) -> Names:
        return np.zeros(shape, np.uint32)

    tally = np.zeros(TALLY, np.int64)
    tally[LEFT], tally[SPARE], tally[POOL], tally[PATIENCE] = sends, slots, room.sum(), MOST
    tally[BELL] = len(arcs.pending) * places - problem.bells
    turn, wide = watched.turns(paths.hop, paths.link, paths.times, slots), watched.wide(paths.hop)
    ends, storeys = soonest.tree(slots)
    crossing = np.empty(len(paths.link), CROSSING)
    crossing["link"], crossing["times"] = paths.link, paths.times
    return State(
        hop=paths.hop, crossing=crossing,
        first=paths.first, weight=paths.weight, lag=paths.lag,
        places=places, way=folded.pair, volume=folded.volume, after=folded.after,
        arc=arcs.start, target=arcs.target, via=folded.via, move=folded.moves,
        gate=np.repeat(arcs.pending[kinds:], places), sends=each,
        opens_time=np.empty(pieces), opens=np.empty((pieces, 2), np.int32),
        due_time=np.empty(sends), due=np.empty((sends, 2), np.int32),
        flow=_lines(slots, FLOW), mine=_mine(slots, wide) if len(turn) else crossing, wide=wide,
        turn=turn, turned=items(int(turn.max(initial=0)) + 1), ends=ends, storeys=storeys,
        spare=np.arange(slots, dtype=np.int32)[::-1].copy(),
        pipe=_pipes(folded.capacity[those], room, len(turn) == 0), seats=np.zeros(int(2 * room.sum()), SEAT),
        fresh=items(slots), gone=items(slots), free=items(slots + 1),
        hot=names(links), is_hot=np.zeros(links, np.int8), users=floats(links), share=floats(links),
        links_heap=items(links), links_where=items(links, value=-1),
        loose=names(links + 1), later=names(links + 1),
        some=names(WIDE), rates=floats(WIDE), own=names(WIDE + 1), stop=floats(WIDE),
        stopper=np.zeros(WIDE, np.int64), there=floats(WIDE), bounds=floats(wide),
        stack=np.zeros(len(arcs.pending) * places - sends + 1, np.int64),
        tally=tally, clock=floats(2),
    )  # fmt: skip


def _moved(state: State, kept: Longs, folded: Folded) -> State:
    """The same state with the sends under other numbers, and more."""
    arcs, sends, many = folded.arcs, len(folded.volume), len(kept)
    number = np.zeros(len(state.sends), np.int32)
    number[kept] = np.arange(many)
    each = np.zeros(sends, SEND)
    each["pieces"], each["pending"], each["blame"] = (
        np.diff(state.first).astype(np.int32)[folded.pair], arcs.pending[:sends], -1,
    )  # fmt: skip
    old = state.sends[kept]
    for name in ("ready", "start", "pieces"):
        each[name][:many] = old[name]
    over = np.flatnonzero(old["pieces"] == 0)  # those that are being reduced
    each["end"][over] = old["end"][over]
    pieces, opens, due = int(each["pieces"].sum()), int(state.tally[OPENS]), int(state.tally[DUE])
    opens_time, due_time = np.empty(pieces), np.empty(sends)
    opens_time[:opens], due_time[:due] = state.opens_time[:opens], state.due_time[:due]
    opened, dues = np.empty((pieces, 2), np.int32), np.empty((sends, 2), np.int32)
    opened[:opens], dues[:due] = state.opens[:opens], state.due[:due]
    for queue, long in ((opened, opens), (dues, due)):
        queue[:long, 0] = number[queue[:long, 0]]
    state.flow["send"] = number[state.flow["send"]]
    state.tally[LEFT], state.tally[BELL] = sends, len(arcs.pending) - folded.bells
    return state._replace(
        way=folded.pair, volume=folded.volume, after=folded.after, arc=arcs.start, target=arcs.target,
        via=folded.via, gate=arcs.pending[sends:].copy(), sends=each, opens_time=opens_time, opens=opened,
        due_time=due_time, due=dues, stack=np.zeros(len(arcs.pending) - sends + 1, np.int64),
    )  # fmt: skip


def _each(folded: Folded, paths: Paths) -> Records:
    """All sends, before any is ready."""
    places, arcs = folded.places, folded.arcs
    one = np.zeros(len(folded.volume), SEND)
    one["pending"], one["blame"] = arcs.pending[: len(one)], -1
    pieces = np.diff(paths.first).astype(np.int32).reshape(-1, places)
    alike = bool(np.all(pieces == pieces[:1, :1]))
    if alike:
        one["pieces"] = pieces[:1, :1].ravel()
    each = np.repeat(one, places)
    if not alike:
        each.reshape(-1, places)["pieces"] = pieces[folded.pair]
    return each


def _lines(many: int, kind: np.dtype[np.void]) -> Records:
    """Records that are 0, each in one line of cache."""
    room = np.zeros((many + 1) * kind.itemsize, np.uint8)
    first = -room.ctypes.data % kind.itemsize
    return room[first : first + many * kind.itemsize].view(kind)


def _mine(slots: int, wide: int) -> Records:
    """Room for the links that each flow lists, none more than once."""
    found = np.zeros(slots * wide, CROSSING)
    found["times"] = 1
    return found


def _pipes(capacity: Floats, room: Longs, on: bool) -> Records:
    """Links without flows, and one more that is none."""
    pipe = _lines(len(capacity) + 1, PIPE)
    some = pipe[:-1]
    some["slack"] = some["capacity"] = capacity
    some["nothing"] = NOTHING * capacity
    some["room"], some["seat"], some["on"] = room, np.cumsum(room) - room, on
    return pipe


def _larger(state: State) -> State:
    """The same state with more slots and seats."""
    seats.tidy(state)
    old = len(state.flow)
    more = old if state.tally[SPARE] < old // 4 else 0

    def longer(column: Any) -> Any:
        return np.concatenate([column, np.zeros((more, *column.shape[1:]), column.dtype)])

    spare = longer(state.spare)
    spare[state.tally[SPARE] : state.tally[SPARE] + more] = np.arange(old, old + more)
    state.tally[SPARE] += more
    columns = {name: longer(getattr(state, name)) for name in ("fresh", "gone", "free")}
    flow = _lines(old + more, FLOW)
    flow[:old] = state.flow
    ends, storeys = soonest.tree(old + more)
    ends[:old] = state.ends[:old]
    soonest.order(ends, storeys)
    mine = np.append(state.mine, _mine(more, state.wide)) if len(state.turn) else state.mine
    pipe = state.pipe
    taken = pipe["taken"].astype(np.int64)
    room = np.maximum(2 * taken, 4)
    seat = np.cumsum(room) - room
    listed = np.zeros(int(2 * room.sum()), SEAT)
    nth = np.arange(int(taken.sum())) - np.repeat(np.cumsum(taken) - taken, taken)
    was = pipe["seat"].astype(np.int64)
    listed[np.repeat(seat, taken) + nth] = state.seats[np.repeat(was, taken) + nth]
    pipe["room"], pipe["seat"] = room, seat
    state.tally[POOL] = room.sum()
    return state._replace(
        **columns, flow=flow, ends=ends, storeys=storeys, mine=mine, spare=spare, seats=listed
    )
