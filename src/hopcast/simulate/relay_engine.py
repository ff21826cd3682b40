"""The compiled pass of `relay`: one vector of times over all ranks for each send of rank 0.

Beside every time stands the latency on the path that led to it, unless all paths to a send have the same.
Times of the last few sends are kept, few enough to stay in the processor's cache; of the others only the
latest.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from hopcast.ir.hashes import FIRST, SECOND, Words

from .noise import MIDDLE, SPREAD
from .numba_lean import nb

if TYPE_CHECKING:
    from .relay import Plan

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_MEMORY = 2**20  # bytes of times that are kept
_SLICE = 1024  # sends between two looks at the keyboard
_ORDERED = {"nnan", "nsz"}  # no NaN occurs, so maxima may be taken several at a time
_FIRST, _SECOND, _LOW = np.uint64(FIRST), np.uint64(SECOND), np.uint64(0xFFFF)


class Memory(NamedTuple):
    """What the pass remembers. Rows of times are one for each send, modulo the number kept.

    Attributes:
        end, late: ``float64[kept, p]``: when each place's send was received, and the latency on the path to
            that; without rows where ``sure`` says it.
        sure: ``float64[k]``: the latency on every path to each send; empty where paths differ.
        free, free_late: ``float64[lanes, p]``: when lanes are free, where ``only`` does not say it.
        only: ``int64[lanes]``: the send that was the lane's only one of its last step, or -1.
        floor: ``float64[lanes]``: no send of the lane is ready before.
        latest: ``float64[k]``: the latest time of each send.
        ready, ready_late, cost: ``float64[p]``: of the send at hand.
        costed: ``int64[1]``: the send whose cost that is.
        best: ``int64[1]``: the send that ends last so far; its latency, once its times are no longer kept.
    """

    end: Floats
    late: Floats
    sure: Floats
    free: Floats
    free_late: Floats
    only: Longs
    floor: Floats
    latest: Floats
    ready: Floats
    ready_late: Floats
    cost: Floats
    costed: Longs
    best: Longs
    best_late: Floats


class Sent(NamedTuple):
    """The columns of `relay.Plan`; whether a send is its lane's only one of its step; runs of places.

    Kind w sends from places a, a + 1, ... to b, b + 1, ... for rows (a, b, length) of
    ``runs[first[w]:first[w + 1]]``.
    """

    step: Longs
    lane: Longs
    alone: npt.NDArray[np.bool_]
    way: Longs
    volume: Floats
    reduce: Floats
    start: Longs
    other: Longs
    at: npt.NDArray[np.int8]
    lag: Floats
    slow: Floats
    jitter: float
    turn: Words
    pair: Words
    first: Longs
    runs: Longs


def go(plan: "Plan", progress: Callable[[float], None] | None) -> tuple[float, float] | None:
    """Seconds, and latency along the critical path.

    Returns:
        None if a send might wait for one whose times are no longer kept.
    """
    count, places = len(plan.step), plan.lag.shape[1]
    kept = min(count, max(4 * int(np.bincount(plan.step).max()), _MEMORY // (16 * places)))
    lanes = int(plan.lane.max()) + 1
    runs = [_runs(to) for to in plan.to]
    turn = plan.step * lanes + plan.lane
    _, which, crowd = np.unique(turn, return_inverse=True, return_counts=True)
    sent = Sent(
        plan.step, plan.lane, crowd[which] == 1, plan.way, plan.volume, plan.reduce,
        plan.start, plan.other, plan.at, plan.lag, plan.slow, plan.jitter, plan.turn, plan.pair,
        np.cumsum([0] + [len(r) for r in runs]).astype(np.int64), np.concatenate(runs),
    )  # fmt: skip
    alike = not plan.held.any() and bool(np.all(plan.lag == plan.lag[:, :1]))
    sure = np.zeros(count)
    if not alike or not _paths(sent, kept, lanes, sure):
        sure = np.zeros(0)
    memory = Memory(
        np.zeros((kept, places)), np.zeros((0 if len(sure) else kept, places)), sure,
        np.tile(plan.held, (lanes, 1)), np.zeros((lanes, places)),
        np.full(lanes, -1, np.int64), np.zeros(lanes), np.zeros(count), np.zeros(places), np.zeros(places),
        np.zeros(places), np.full(1, -1, np.int64), np.zeros(1, np.int64), np.zeros(1),
    )  # fmt: skip
    for k in range(0, count, _SLICE):
        until = min(k + _SLICE, count)
        if not _pass(k, until, sent, memory):
            return None
        if progress is not None:
            progress(until / count)
    last = int(memory.best[0])
    late = memory.best_late[0]
    if len(sure):
        late = sure[last]
    elif count - last <= kept:
        late = memory.late[last % kept, int(memory.end[last % kept].argmax())]
    return float(memory.latest[last]), float(late)


def _runs(to: Longs) -> Longs:
    """A permutation as runs of neighbours that stay neighbours: rows of (from, to, length)."""
    cut = np.flatnonzero(np.diff(to) != 1) + 1
    begin = np.concatenate([[0], cut])
    length = np.diff(np.append(begin, len(to)))
    return np.stack([begin, to[begin], length], 1).astype(np.int64)


@nb.njit(cache=True, fastmath=_ORDERED)
def _later(time: Floats, late: Floats, other: Floats, other_late: Floats) -> None:
    """Take the other's time and latency wherever it is later."""
    for r in range(len(time)):
        more = other[r] > time[r]
        late[r] = other_late[r] if more else late[r]
        time[r] = other[r] if more else time[r]


@nb.njit(cache=True, fastmath=_ORDERED)
def _latest(time: Floats, other: Floats) -> None:
    """Take the other's time wherever it is later."""
    for r in range(len(time)):
        time[r] = max(time[r], other[r])


@nb.njit(cache=True, fastmath=_ORDERED)
def _both(
    time: Floats, late: Floats, other: Floats, other_late: Floats, lag: Floats, cost: Floats,
    end: Floats, end_late: Floats,
) -> float:  # fmt: skip
    """When what waits for two things has been received, and the latest of it."""
    most = 0.0
    for r in range(len(time)):
        more = other[r] > time[r]
        end_late[r] = (other_late[r] if more else late[r]) + lag[r]
        end[r] = (other[r] if more else time[r]) + cost[r]
        most = max(most, end[r])
    return most


@nb.njit(cache=True, fastmath=_ORDERED)
def _later_of(time: Floats, other: Floats, cost: Floats, end: Floats) -> float:
    """The same without the latency on the path."""
    most = 0.0
    for r in range(len(time)):
        end[r] = max(time[r], other[r]) + cost[r]
        most = max(most, end[r])
    return most


@nb.njit(cache=True, fastmath=_ORDERED)
def _plain_cost(lag: Floats, slow: Floats, volume: float, reduce: float, cost: Floats) -> None:
    """Seconds that a send takes: latency, bytes, reducing."""
    for r in range(len(cost)):
        cost[r] = lag[r] + volume * slow[r] + reduce


@nb.njit(cache=True, fastmath=_ORDERED)
def _noisy_cost(
    lag: Floats, slow: Floats, volume: float, reduce: float, jitter: float, turn: int, pair: Words,
    cost: Floats,
) -> None:  # fmt: skip
    """The same with jitter: `noise.deviations`, and what its factor makes of bytes and of reducing."""
    for r in range(len(cost)):
        bits = turn + pair[r]
        bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
        bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
        bits = bits ^ (bits >> np.uint64(31))
        total = (bits & _LOW) + ((bits >> np.uint64(16)) & _LOW)
        total += ((bits >> np.uint64(32)) & _LOW) + (bits >> np.uint64(48))
        factor = 1.0 + jitter * (abs(np.float64(np.int64(total)) - MIDDLE) / SPREAD)
        cost[r] = lag[r] + volume * slow[r] * factor + reduce


@nb.njit(cache=True)
def _price(i: int, sent: Sent, m: Memory) -> None:
    """Into ``cost``: seconds that a send takes at each place; often as long as the one before."""
    way, j = sent.way[i], m.costed[0]
    if sent.jitter > 0.0:
        _noisy_cost(
            sent.lag[way], sent.slow[way], sent.volume[i], sent.reduce[i], sent.jitter, sent.turn[i],
            sent.pair[way], m.cost,
        )  # fmt: skip
    elif j < 0 or sent.way[j] != way or sent.volume[j] != sent.volume[i] or sent.reduce[j] != sent.reduce[i]:
        _plain_cost(sent.lag[way], sent.slow[way], sent.volume[i], sent.reduce[i], m.cost)
    m.costed[0] = i


@nb.njit(cache=True)
def _paths(sent: Sent, kept: int, lanes: int, sure: Floats) -> bool:
    """The latency on the paths to each send, where lags are those of its kind. False if paths differ.

    A send whose times are no longer kept is never what another waits for last.
    """
    before = np.full(lanes, -1, np.int64)  # a send of the lane's last step; all must agree
    first = 0  # of this step
    for i in range(len(sure)):
        if sent.step[i] != sent.step[first]:
            for j in range(first, i):
                old = before[sent.lane[j]]
                if old >= first and sure[old] != sure[j]:
                    return False
                before[sent.lane[j]] = j
            first = i
        found = -1.0 if before[sent.lane[i]] < 0 else sure[before[sent.lane[i]]]
        for d in range(sent.start[i], sent.start[i + 1]):
            w = sent.other[d]
            if i - w >= kept:
                continue
            if found >= 0.0 and sure[w] != found:
                return False
            found = sure[w]
        sure[i] = max(found, 0.0) + sent.lag[sent.way[i], 0]
    return True


@nb.njit(cache=True)
def _turn(i: int, sent: Sent, m: Memory) -> None:
    """Before a step: lanes are free when all their sends of the step before are received."""
    kept, j = len(m.end), i - 1
    while j >= 0 and sent.step[j] == sent.step[i - 1]:
        lane = sent.lane[j]
        if sent.alone[j]:
            m.only[lane] = j
        else:
            _settle(lane, m)
            if len(m.sure) > 0:
                _latest(m.free[lane], m.end[j % kept])
            else:
                _later(m.free[lane], m.free_late[lane], m.end[j % kept], m.late[j % kept])
        j -= 1


@nb.njit(cache=True)
def _settle(lane: int, m: Memory) -> None:
    """Copy when a lane is free into a row of its own."""
    if m.only[lane] >= 0:
        row = m.only[lane] % len(m.end)
        m.free[lane] = m.end[row]
        if len(m.sure) == 0:
            m.free_late[lane] = m.late[row]
        m.only[lane] = -1


@nb.njit(cache=True)
def _gather(i: int, sent: Sent, m: Memory, base: Floats, base_late: Floats) -> float:
    """Into ``ready``: when a send is ready. Returns the latest of what it waits for and is no longer kept."""
    kept, far = len(m.end), 0.0
    m.ready[:] = base
    m.ready_late[:] = base_late
    for d in range(sent.start[i], sent.start[i + 1]):
        w = sent.other[d]
        if i - w >= kept:
            far = max(far, m.latest[w])
            continue
        s, kind = w % kept, sent.way[w] if sent.at[d] == 1 else sent.way[i]
        for x in range(sent.first[kind], sent.first[kind + 1]):
            a, b, n = sent.runs[x, 0], sent.runs[x, 1], sent.runs[x, 2]
            if sent.at[d] == 0:
                a, b = b, a
            if len(m.sure) > 0:
                _latest(m.ready[b : b + n], m.end[s, a : a + n])
            else:
                _later(m.ready[b : b + n], m.ready_late[b : b + n], m.end[s, a : a + n], m.late[s, a : a + n])
    return far


@nb.njit(cache=True)
def _one_near(i: int, sent: Sent, m: Memory) -> int:
    """The only wait that is kept, if it came in to the source and all others are surely over; else -1."""
    found = -1
    for d in range(sent.start[i], sent.start[i + 1]):
        w = sent.other[d]
        if i - w >= len(m.end):
            if m.latest[w] > m.floor[sent.lane[i]]:
                return -1
        elif found >= 0 or sent.at[d] == 0:
            return -1
        else:
            found = w
    return found


@nb.njit(cache=True)
def _pass(k: int, until: int, sent: Sent, m: Memory) -> bool:
    """Sends k to until - 1. False if one of them might wait for a send whose times are no longer kept."""
    kept, is_sure = len(m.end), len(m.sure) > 0
    nothing = np.zeros(len(m.ready))
    for i in range(k, until):
        if i > 0 and sent.step[i] != sent.step[i - 1]:
            _turn(i, sent, m)
        s, lane, lag = i % kept, sent.lane[i], sent.lag[sent.way[i]]
        _forget(i, m)
        _price(i, sent, m)
        base, row = m.free[lane], m.only[lane] % kept
        if m.only[lane] >= 0:
            base = m.end[row]
        base_late = m.late[row] if m.only[lane] >= 0 and not is_sure else m.free_late[lane]
        w, most = _one_near(i, sent, m), 0.0
        if w >= 0:
            old = w % kept
            for x in range(sent.first[sent.way[w]], sent.first[sent.way[w] + 1]):
                a, b = sent.runs[x, 0], sent.runs[x, 1]
                p, q = a + sent.runs[x, 2], b + sent.runs[x, 2]
                if is_sure:
                    end = _later_of(base[b:q], m.end[old, a:p], m.cost[b:q], m.end[s, b:q])
                else:
                    end = _both(
                        base[b:q], base_late[b:q], m.end[old, a:p], m.late[old, a:p], lag[b:q], m.cost[b:q],
                        m.end[s, b:q], m.late[s, b:q],
                    )  # fmt: skip
                most = max(most, end)
        else:
            far = _gather(i, sent, m, base, base_late)
            if far > m.ready.min():
                return False
            m.floor[lane] = base.min()
            if is_sure:
                most = _later_of(m.ready, nothing, m.cost, m.end[s])
            else:
                most = _both(m.ready, m.ready_late, nothing, nothing, lag, m.cost, m.end[s], m.late[s])
        m.latest[i] = most
        if most > m.latest[m.best[0]]:
            m.best[0] = i
    return True


@nb.njit(cache=True)
def _forget(i: int, m: Memory) -> None:
    """What is still needed of the send whose row is about to be used again."""
    kept = len(m.end)
    old = i - kept
    if old < 0:
        return
    if m.best[0] == old and len(m.sure) == 0:
        m.best_late[0] = m.late[old % kept, np.argmax(m.end[old % kept])]
    for lane in range(len(m.only)):
        if m.only[lane] == old:
            _settle(lane, m)
