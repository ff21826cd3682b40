"""The pass of `relay` for one line of sends, as round a ring, on arrays: over before numba has been loaded.

Every rank sends once in each step, all the same way, when it has received what was sent to it in the step
before. So a send's times follow from those of the send before alone; what else it waits for is long over.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .network import Longs

if TYPE_CHECKING:
    from .relay import Plan

_LOOK = 1024  # sends between two looks at the keyboard


def go(plan: "Plan", progress: Callable[[float], None] | None) -> tuple[float, float] | None:
    """Seconds, and latency along the critical path; None where sends do not follow each other like that.

    Cost: three array operations over the ranks for each send.
    """
    count, alike = len(plan.step), bool(np.all(plan.lag == plan.lag[:, :1]))
    one_line = bool(np.all(np.diff(plan.step) > 0)) and len(np.unique(plan.lane)) == 1
    if not one_line or not alike or plan.jitter > 0 or plan.held.any() or count < 2:
        return None
    near, old = _waits(plan)
    end, before = np.zeros(plan.lag.shape[1]), np.zeros(plan.lag.shape[1])
    runs = [[(slice(a, a + n), slice(b, b + n)) for a, b, n in _runs(to)] for to in plan.to]
    way, sort = plan.way.tolist(), _sorts(plan)
    cost, costed = end, -1
    latest, floor = np.zeros(count), 0.0
    for i in range(count):
        if sort[i] != costed:
            cost, costed = plan.lag[way[i]] + plan.volume[i] * plan.slow[way[i]] + plan.reduce[i], sort[i]
        end, before = before, end  # what the send before gave is in ``before``
        end[:] = before
        by_goal, into = near[i]
        for a, b in runs[way[i - 1]] if into else ():
            np.maximum(before[b], before[a], out=end[b])
        for a, b in runs[way[i]] if by_goal else ():
            np.maximum(end[a], before[b], out=end[a])
        if old[i] >= 0 and latest[old[i]] > floor:
            floor = float(end.min())
            if latest[old[i]] > floor:
                return None
        np.add(end, cost, out=end)
        latest[i] = end.max()
        if progress is not None and i % _LOOK == 0:
            progress(i / count)
    return float(latest[-1]), float(plan.lag[plan.way, 0].sum())


def _sorts(plan: "Plan") -> list[int]:
    """Equal numbers for sends of one kind, of equal bytes and equal reducing."""
    columns = np.stack([plan.way, plan.volume, plan.reduce])
    return np.unique(columns, axis=1, return_inverse=True)[1].ravel().tolist()


def _waits(plan: "Plan") -> tuple[list[list[bool]], list[int]]:
    """Whether each waits for the send before, [by its destination, into its source]; the last other wait."""
    count = len(plan.step)
    send = np.repeat(np.arange(count), np.diff(plan.start))
    last = plan.other == send - 1
    near, old = np.zeros((count, 2), np.bool_), np.full(count, -1, np.int64)
    near[send[last], plan.at[last]] = True
    np.maximum.at(old, send[~last], plan.other[~last])
    return near.tolist(), old.tolist()


def _runs(to: Longs) -> list[tuple[int, int, int]]:
    """A permutation as runs of neighbours that stay neighbours: (from, to, length)."""
    begin = np.concatenate([[0], np.flatnonzero(np.diff(to) != 1) + 1])
    length = np.diff(np.append(begin, len(to)))
    return list(zip(begin.tolist(), to[begin].tolist(), length.tolist(), strict=True))
