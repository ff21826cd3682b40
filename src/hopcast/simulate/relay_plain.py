"""The pass of `relay` on arrays: over before a compiled one has been loaded.

Beside the times of a send, one for each place, stands the latency on the path that led to each: a number
where all paths have the same, which is nearly always.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hopcast.ir.topology import Bools, Floats

from .network import Longs

if TYPE_CHECKING:
    from .relay import Plan

_LOOK = 1024  # sends between two looks at the keyboard
_MEMORY = 2**20  # bytes of times that are kept, as in the compiled pass
_COSTS = 16  # kinds of sends whose seconds are kept
Late = float | Floats
Times = tuple[Floats, Late]
Runs = list[tuple[slice, slice]]


def go(plan: "Plan", progress: Callable[[float], None] | None) -> tuple[float, float] | None:
    """Seconds, and latency along the critical path.

    Returns:
        None with jitter, where each time is drawn; or if a send might wait for one whose times are no longer
        kept.

    Cost: three array operations over the places for each send that waits for one other.
    """
    if plan.jitter > 0:
        return None
    run = _Pass(plan)
    step, count = plan.step.tolist(), len(plan.step)
    first = 0  # of this step
    for i in range(count):
        if step[i] != step[first]:
            run.turn(first, i)
            first = i
        if not run.send(i):
            return None
        if progress is not None and i % _LOOK == 0:
            progress(i / count)
    end, late = run.best
    return float(end.max()), late if isinstance(late, float) else float(late[end.argmax()])


class _Pass:
    """The times of the last sends, of which more are kept than happen in a few steps.

    Attributes:
        rows: Of each send that is kept: when it is received at each place, and the latency on the path there.
        free: When each lane is free.
        floor: No later send of a lane is ready before.
        asked: Whether anyone asks for the latest time of a send: it may be waited for when it is no longer
            kept, or is of its lane's last step, which is the last to end.
        latest: These times.
        best: Those of the send that ends last.
    """

    def __init__(self, plan: "Plan") -> None:
        places, count = plan.lag.shape[1], len(plan.step)
        self.plan = plan
        self.kept = min(count, max(4 * int(np.bincount(plan.step).max()), _MEMORY // (16 * places)))
        self.way, self.lane, self.start, self.other, self.into = (
            c.tolist() for c in (plan.way, plan.lane, plan.start, plan.other, plan.at == 1)
        )
        self.kind = _kinds(plan)
        there = [_runs(to) for to in plan.to]
        self.there, self.back = there, [[(b, a) for a, b in runs] for runs in there]
        alike = [bool(np.all(lag == lag[0])) for lag in plan.lag]
        self.lag: list[Late] = [float(c[0]) if even else c for c, even in zip(plan.lag, alike, strict=True)]
        self.rows: list[Times] = [(plan.held, 0.0)] * self.kept
        self.free: dict[int, Times] = {}
        self.floor: dict[int, float] = {}
        self.asked = _asked(plan, self.kept)
        self.latest = [0.0] * count
        self.best: Times = (np.zeros(1), 0.0)
        self.most = -1.0
        self.cost: dict[int, Floats] = {}

    def send(self, i: int) -> bool:
        """One send from all places. False if it might wait for one that is no longer kept."""
        way, kept = self.way[i], self.kept
        ready = held = self.free.get(self.lane[i], (self.plan.held, 0.0))
        old = -1.0
        for d in range(self.start[i], self.start[i + 1]):
            w = self.other[d]
            if i - w >= kept:
                old = max(old, self.latest[w])
            else:
                runs = self.there[self.way[w]] if self.into[d] else self.back[way]
                ready = _later(ready, self.rows[w % kept], runs)
        if old > self.floor.get(self.lane[i], 0.0):
            self.floor[self.lane[i]] = floor = float(ready[0].min())
            if old > floor:
                return False
        time = ready[0] + self._cost(i) if ready is held else np.add(ready[0], self._cost(i), out=ready[0])
        self.rows[i % kept] = row = time, ready[1] + self.lag[way]
        if self.asked[i]:
            most = self.latest[i] = float(time.max())
            if most > self.most:
                self.most, self.best = most, row
        return True

    def turn(self, first: int, until: int) -> None:
        """After a step: lanes are free when all their sends of it are received."""
        now: dict[int, Times] = {}
        for i in range(first, until):
            lane, row = self.lane[i], self.rows[i % self.kept]
            now[lane] = _later(now[lane], row, [(slice(None), slice(None))]) if lane in now else row
        self.free |= now

    def _cost(self, i: int) -> Floats:
        """Seconds that a send takes at each place."""
        kind = self.kind[i]
        if kind not in self.cost:
            plan, way = self.plan, self.way[i]
            if len(self.cost) >= _COSTS:
                self.cost.clear()
            self.cost[kind] = plan.lag[way] + plan.volume[i] * plan.slow[way] + plan.reduce[i]
        return self.cost[kind]


def _later(ready: Times, other: Times, runs: Runs) -> Times:
    """The later of two at each place, with the latency on its path; in arrays of its own.

    Args:
        ready: At each place.
        other: At the places from which ``runs`` lead.
        runs: Of places that stay neighbours: from and to.
    """
    (time, late), (came, came_late) = ready, other
    found = np.empty_like(time)
    if isinstance(late, float) and isinstance(came_late, float) and late == came_late:
        for a, b in runs:
            np.maximum(time[b], came[a], out=found[b])
        return found, late
    paths = np.empty_like(time)
    was, came_late = np.broadcast_to(late, time.shape), np.broadcast_to(came_late, time.shape)
    for a, b in runs:
        np.maximum(time[b], came[a], out=found[b])
        paths[b] = np.where(came[a] > time[b], came_late[a], was[b])
    return found, paths


def _asked(plan: "Plan", kept: int) -> list[bool]:
    """See `_Pass`."""
    last = np.zeros(int(plan.lane.max()) + 1, np.int64)
    np.maximum.at(last, plan.lane, plan.step)
    asked: Bools = plan.step == last[plan.lane]
    far = np.repeat(np.arange(len(plan.step)), np.diff(plan.start)) - plan.other >= kept
    asked[plan.other[far]] = True
    found: list[bool] = asked.tolist()
    return found


def _kinds(plan: "Plan") -> list[int]:
    """Equal numbers for sends of one way, of equal bytes and equal reducing."""
    columns = np.stack([plan.way, plan.volume, plan.reduce])
    return np.unique(columns, axis=1, return_inverse=True)[1].ravel().tolist()


def _runs(to: Longs) -> Runs:
    """A permutation as runs of neighbours that stay neighbours."""
    begin = np.concatenate([[0], np.flatnonzero(np.diff(to) != 1) + 1])
    length = np.diff(np.append(begin, len(to)))
    many = zip(begin.tolist(), to[begin].tolist(), length.tolist(), strict=True)
    return [(slice(a, a + n), slice(b, b + n)) for a, b, n in many]
