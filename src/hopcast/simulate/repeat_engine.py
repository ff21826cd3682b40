"""The compiled event loop of `repeat`: every link shares itself among the few sends that are on it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .compiled import inlined, inner, outer
from .link import SAME, Links, happen, hold
from .state import Floats, Items, Longs

Marks = npt.NDArray[np.int8]
EVENTS, LAST, SINCE, PATIENCE, SKIPPED, MARKED = range(6)  # places in ``tally``
CLOCK, BEGAN, MARK = range(3)  # places in ``clock``
IDLE, WAITS, FLOWS = range(3)  # what a row does
MORE, OVER = range(2)  # what `run` returns
_ALIKE = 1e-11  # part of the shortest send within which two states are one


class State(NamedTuple):
    """All arrays of a run. A row is a send of the first round; it is sent in ``times`` rounds.

    Shapes: k rows, g lanes, d needs.

    Attributes:
        links: Them, and the rows that are on them.
        times: Rounds.
        base: ``int64[k]``: whole periods before each row's first step.
        lane, wire: ``int32[k]``: of each row.
        lag: ``float64[k]``: latency.
        queue, row: Rows of lane i are ``row[queue[i]:queue[i + 1]]``, in order of their steps in a period.
        need, needs: Row i waits, in the same round, for ``needs[need[i]:need[i + 1]]``.
        follow, follows: And is waited for by ``follows[follow[i]:follow[i + 1]]``.
        came: ``int64[k]``: rounds in which a row has been received.
        turn, at: ``int64[g]``: the period and the place in ``row`` of a lane's next send.
        does: ``int8[k]``: IDLE, WAITS or FLOWS.
        late, later: ``float64[k]``: latency on the path to the last arrival of a row; and to the next one.
        old_came, old_does, old_moment, old_late, old_later: As they were at the mark.
        tally, clock: See above.
    """

    links: Links
    times: int
    base: Longs
    lane: Items
    wire: Items
    lag: Floats
    queue: Longs
    row: Items
    need: Longs
    needs: Items
    follow: Longs
    follows: Items
    came: Longs
    turn: Longs
    at: Longs
    does: Marks
    late: Floats
    later: Floats
    old_came: Longs
    old_does: Marks
    old_moment: Floats
    old_late: Floats
    old_later: Floats
    tally: Longs
    clock: Floats


@outer
def begin(s: State) -> None:
    """Send what waits for nothing, at time 0."""
    for lane in range(len(s.turn)):
        s.turn[lane] = s.base[s.row[s.queue[lane]]]
        for i in range(s.queue[lane], s.queue[lane + 1]):
            s.turn[lane] = min(s.turn[lane], s.base[s.row[i]])
        s.at[lane] = s.queue[lane] - 1
        _advance(s, lane)
        _try(s, lane, 0.0, 0.0)


@outer
def run(s: State, budget: int, mark: int, unit: float) -> int:
    """Go on until nothing moves (OVER), or for so many events.

    Each time row ``mark`` has been received, the state is compared with an earlier one. If all rows do and
    have left to do what they did and had then, some rounds on, the same will happen again and again, and all
    but the last rounds are passed over.
    """
    tally, clock, links = s.tally, s.clock, s.links
    stop = tally[EVENTS] + budget
    while tally[EVENTS] < stop:
        if links.heaped[0] == 0:
            return OVER
        link = links.queued[0]
        now = links.next[link]
        if tally[MARKED] == 1 and now > clock[MARK] + _ALIKE * unit:
            tally[MARKED] = 0
            if _again(s, mark, unit):
                continue
        tally[EVENTS] += 1
        if now > clock[CLOCK] * (1.0 + SAME):
            clock[CLOCK] = now
        _event(s, link, clock[CLOCK], mark)
    return MORE


@inlined
def _event(s: State, link: int, now: float, mark: int) -> None:
    """The first bytes of a send leave, or its last ones arrive."""
    row = happen(s.links, link, now)
    if row < 0:
        s.does[-1 - row] = FLOWS
        return
    s.does[row] = IDLE
    s.came[row] += 1
    s.late[row] = s.later[row]
    s.tally[LAST] = row
    lane = s.lane[row]
    _advance(s, lane)
    _try(s, lane, now, s.late[row])
    for i in range(s.follow[row], s.follow[row + 1]):
        _try(s, s.lane[s.follows[i]], now, s.late[row])
    if row == mark:
        s.tally[MARKED] = 1
        s.clock[MARK] = now


@inner
def _advance(s: State, lane: int) -> None:
    """To the next send of a lane; none where ``at`` is -1."""
    first, end = s.queue[lane], s.queue[lane + 1]
    at, turn = s.at[lane] + 1, s.turn[lane]
    idle = 0
    while idle <= end - first:
        if at == end:
            at, turn = first, turn + 1
        nth = turn - s.base[s.row[at]]
        if 0 <= nth < s.times:
            s.at[lane], s.turn[lane] = at, turn
            return
        # A row that has not begun yet will; when none is left that has not ended, the lane has.
        idle = 0 if nth < 0 else idle + 1
        at += 1
    s.at[lane] = -1


@inner
def _try(s: State, lane: int, now: float, late: float) -> None:
    """Send the next of a lane if its data are there."""
    if s.at[lane] < 0:
        return
    row = s.row[s.at[lane]]
    if s.does[row] != IDLE:
        return
    nth = s.turn[lane] - s.base[row]
    for i in range(s.need[row], s.need[row + 1]):
        if s.came[s.needs[i]] <= nth:
            return
    s.does[row] = WAITS
    s.later[row] = late + s.lag[row]
    hold(s.links, s.wire[row], row, now + s.lag[row])


@inner
def _again(s: State, mark: int, unit: float) -> bool:
    """Compare the state at the mark with the one kept, and pass over rounds if they are one."""
    tally, clock = s.tally, s.clock
    tally[SINCE] += 1
    if tally[PATIENCE] > 0 and _is_same(s, mark, unit):
        rounds = s.came[mark] - s.old_came[mark]
        left = (s.times - 1 - _extremes(s.came)[1]) // rounds - 1
        if left > 0:
            _pass_over(s, left, rounds, clock[MARK] - clock[BEGAN])
            tally[SKIPPED] += left * rounds
            return True
    if tally[SINCE] >= tally[PATIENCE] and _extremes(s.came)[0] > 0:
        tally[SINCE], tally[PATIENCE] = 0, max(2 * tally[PATIENCE], 1)
        clock[BEGAN] = clock[MARK]
        for row in range(len(s.came)):
            s.old_came[row], s.old_does[row] = s.came[row], s.does[row]
            s.old_moment[row] = _rest(s, row)
            s.old_late[row], s.old_later[row] = s.late[row], s.later[row]
    return False


@inner
def _extremes(came: Longs) -> tuple[int, int]:
    """The least and the most."""
    least = most = came[0]
    for many in came:
        least, most = min(least, many), max(most, many)
    return least, most


@inner
def _rest(s: State, row: int) -> float:
    """Seconds until the first byte of a row leaves, or that its bytes would take alone from the mark on."""
    rest: float = 0.0
    links = s.links
    if s.does[row] == WAITS:
        rest = links.moment[row] - s.clock[MARK]
    elif s.does[row] == FLOWS:
        link = s.wire[row]
        gone = (s.clock[MARK] - links.since[link]) * links.capacity[link] / links.many[link]
        rest = (links.moment[row] - links.work[link] - gone) / links.capacity[link]
    return rest


@inner
def _is_same(s: State, mark: int, unit: float) -> bool:
    rounds = s.came[mark] - s.old_came[mark]
    for row in range(len(s.came)):
        if s.came[row] - s.old_came[row] != rounds or s.does[row] != s.old_does[row]:
            return False
        if abs(_rest(s, row) - s.old_moment[row]) > _ALIKE * unit:
            return False
    return True


@inner
def _pass_over(s: State, often: int, rounds: int, seconds: float) -> None:
    """What happened since the mark happens ``often`` times more."""
    links = s.links
    for row in range(len(s.came)):
        s.came[row] += often * rounds
        s.late[row] += often * (s.late[row] - s.old_late[row])
        s.later[row] += often * (s.later[row] - s.old_later[row])
        if s.does[row] == WAITS:
            links.moment[row] += often * seconds
    for lane in range(len(s.turn)):
        s.turn[lane] += often * rounds
    for link in range(len(links.next)):
        links.next[link] += often * seconds  # all alike, so the heap is still one
        links.since[link] += often * seconds
