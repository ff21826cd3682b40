"""The compiled event loop of `repeat`: every link shares itself among the few sends that are on it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import heap
from .compiled import inlined, inner, outer
from .state import Floats, Items, Longs

Marks = npt.NDArray[np.int8]
EVENTS, QUEUED, LAST, SINCE, PATIENCE, SKIPPED, MARKED, BROKEN = range(8)  # places in ``tally``
CLOCK, BEGAN, MARK = range(3)  # places in ``clock``
IDLE, WAITS, FLOWS = range(3)  # what a row does
MORE, OVER = range(2)  # what `run` returns
_SAME = 1e-12  # events closer than this part of the clock are one, as in the reference
_ALIKE = 1e-9  # part of the shortest send within which two states are one


class State(NamedTuple):
    """All arrays of a run. A row is a send of the first round; it is sent in ``times`` rounds.

    Shapes: k rows, g lanes, l links, d needs.

    Attributes:
        times: Rounds.
        base: ``int64[k]``: whole periods before each row's first step.
        lane, wire: ``int32[k]``: of each row.
        lag, volume: ``float64[k]``: latency, and bytes.
        queue, row: Rows of lane i are ``row[queue[i]:queue[i + 1]]``, in order of their steps in a period.
        need, needs: Row i waits, in the same round, for ``needs[need[i]:need[i + 1]]``.
        follow, follows: And is waited for by ``follows[follow[i]:follow[i + 1]]``.
        came: ``int64[k]``: rounds in which a row has been received.
        turn, at: ``int64[g]``: the period and the place in ``row`` of a lane's next send.
        does: ``int8[k]``: IDLE, WAITS or FLOWS.
        moment: ``float64[k]``: when the first byte of a row that waits leaves, or the ``work`` of its link
            at which one that flows has arrived.
        late, later: ``float64[k]``: latency on the path to the last arrival of a row; and to the next one.
        capacity: ``float64[l]``, bytes/s.
        work, since: ``float64[l]``: bytes that each flow of a link would have got by now; as of when.
        seat: ``int64[l + 1]``: rows that flow are ``flow[seat[i]:seat[i] + many[i]]``, those that wait, the
            first to leave first, ``wait[seat[i]:seat[i] + held[i]]``.
        next: ``float64[l]``: when something happens on a link; ``queued``, ``where``: heap of them.
        old_came, old_does, old_moment, old_late, old_later: As they were at the mark.
        tally, clock: See above.
    """

    times: int
    base: Longs
    lane: Items
    wire: Items
    lag: Floats
    volume: Floats
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
    moment: Floats
    late: Floats
    later: Floats
    capacity: Floats
    work: Floats
    since: Floats
    seat: Longs
    many: Items
    flow: Items
    held: Items
    wait: Items
    next: Floats
    queued: Items
    where: Items
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
    tally, clock = s.tally, s.clock
    stop = tally[EVENTS] + budget
    while tally[EVENTS] < stop:
        if tally[QUEUED] == 0:
            return OVER
        link = s.queued[0]
        now = s.next[link]
        if tally[MARKED] == 1 and now > clock[MARK] + _ALIKE * unit:
            tally[MARKED] = 0
            if _again(s, mark, unit):
                continue
        tally[EVENTS] += 1
        if now > clock[CLOCK] * (1.0 + _SAME):
            clock[CLOCK] = now
        _event(s, link, clock[CLOCK], mark)
    return MORE


@inlined
def _event(s: State, link: int, now: float, mark: int) -> None:
    """The first bytes of a send leave, or its last ones arrive."""
    seat, many = s.seat[link], s.many[link]
    first = _first(s, link)
    if many > 0:
        s.work[link] += (now - s.since[link]) * s.capacity[link] / many
    else:
        s.work[link] = 0.0
    s.since[link] = now
    if s.held[link] > 0 and s.moment[s.wait[seat]] <= now * (1.0 + _SAME):
        row = s.wait[seat]
        s.held[link] -= 1
        for i in range(seat, seat + s.held[link]):
            s.wait[i] = s.wait[i + 1]
        s.does[row] = FLOWS
        s.moment[row] = s.work[link] + s.volume[row]
        s.flow[seat + many] = row
        s.many[link] += 1
        _schedule(s, link)
        return
    row = s.flow[first]
    s.work[link] = s.moment[row]
    s.many[link] -= 1
    for i in range(first, seat + s.many[link]):
        s.flow[i] = s.flow[i + 1]
    s.does[row] = IDLE
    s.came[row] += 1
    s.late[row] = s.later[row]
    s.tally[LAST] = row
    _schedule(s, link)
    lane = s.lane[row]
    _advance(s, lane)
    _try(s, lane, now, s.late[row])
    for i in range(s.follow[row], s.follow[row + 1]):
        _try(s, s.lane[s.follows[i]], now, s.late[row])
    if row == mark:
        s.tally[MARKED] = 1
        s.clock[MARK] = now


@inner
def _first(s: State, link: int) -> int:
    """The place in ``flow`` of the row that arrives first."""
    seat = s.seat[link]
    best: int = seat
    for i in range(seat + 1, seat + s.many[link]):
        if s.moment[s.flow[i]] < s.moment[s.flow[best]]:
            best = i
    return best


@inner
def _schedule(s: State, link: int) -> None:
    """When something happens on a link next."""
    when = np.inf
    if s.many[link] > 0:
        left = s.moment[s.flow[_first(s, link)]] - s.work[link]
        when = s.since[link] + max(left, 0.0) * s.many[link] / s.capacity[link]
    if s.held[link] > 0:
        when = min(when, s.moment[s.wait[s.seat[link]]])
    count = s.tally[QUEUED]
    if when < np.inf:
        s.next[link] = when
        s.tally[QUEUED] = heap.push(s.queued, s.where, s.next, count, link)
    elif s.where[link] >= 0:
        s.next[link] = -1.0
        heap.up(s.queued, s.where, s.next, s.where[link])
        heap.pop(s.queued, s.where, s.next, count)
        s.tally[QUEUED] = count - 1


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
    link = s.wire[row]
    s.does[row] = WAITS
    s.moment[row] = now + s.lag[row]
    s.later[row] = late + s.lag[row]
    s.wait[s.seat[link] + s.held[link]] = row
    s.held[link] += 1
    if s.held[link] == 1:
        _schedule(s, link)


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
    if s.does[row] == WAITS:
        rest = s.moment[row] - s.clock[MARK]
    elif s.does[row] == FLOWS:
        link = s.wire[row]
        gone = (s.clock[MARK] - s.since[link]) * s.capacity[link] / s.many[link]
        rest = (s.moment[row] - s.work[link] - gone) / s.capacity[link]
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
    for row in range(len(s.came)):
        s.came[row] += often * rounds
        s.late[row] += often * (s.late[row] - s.old_late[row])
        s.later[row] += often * (s.later[row] - s.old_later[row])
        if s.does[row] == WAITS:
            s.moment[row] += often * seconds
    for lane in range(len(s.turn)):
        s.turn[lane] += often * rounds
    for link in range(len(s.next)):
        s.next[link] += often * seconds  # all alike, so the heap is still one
        s.since[link] += often * seconds
