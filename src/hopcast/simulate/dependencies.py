"""Which sends wait for which: data, overwriting, lanes."""

import numpy as np
import numpy.typing as npt

from hopcast.interpret import cells
from hopcast.ir.distinct import distinct
from hopcast.ir.schedule import Sends

Longs = npt.NDArray[np.int64]


class Waits:
    """How much each send still waits for, and who waits for it.

    A node is a send or the end of a (src, lane, step); nodes from ``sends`` on are the latter.
    """

    def __init__(self, nodes: int, sends: int, before: Longs, after: Longs) -> None:
        """Arcs ``before[i] -> after[i]`` between nodes."""
        order = np.argsort(before, kind="stable")
        self._after = after[order]
        self._start = np.searchsorted(before[order], np.arange(nodes + 1))
        self.pending = np.bincount(after, minlength=nodes)
        self._sends = sends

    def received(self, sends: Longs) -> tuple[Longs, Longs]:
        """Count these as received; the sends that are free now, and for each the one it waited for last."""
        free, blame = [], []
        front, by = sends, sends
        while len(front):
            arcs = self._start[front + 1] - self._start[front]
            nth = np.arange(int(arcs.sum())) - np.repeat(np.cumsum(arcs) - arcs, arcs)
            target, cause = self._after[np.repeat(self._start[front], arcs) + nth], np.repeat(by, arcs)
            np.subtract.at(self.pending, target, 1)
            open_now = self.pending[target] == 0
            target, first = np.unique(target[open_now], return_index=True)
            cause = cause[open_now][first]
            is_send = target < self._sends
            free.append(target[is_send])
            blame.append(cause[is_send])
            front, by = target[~is_send], cause[~is_send]
        none = np.zeros(0, np.int64)
        return (np.concatenate(free), np.concatenate(blame)) if free else (none, none)


def waits(step: Longs, rows: Sends, chunks: int) -> Waits:
    """The three rules as arcs.

    Shapes: ``step`` is ``int64[r]``, ascending; so are the rows.
    """
    count = len(step)
    row, chunk = cells(rows, chunks)
    read, write = (
        rows.src[row].astype(np.int64) * chunks + chunk,
        rows.dst[row].astype(np.int64) * chunks + chunk,
    )
    data = _earlier(write, row, read, row, step)
    clobber = _earlier(read, row, write, row, step)
    pairs = distinct(np.concatenate([before * count + after for before, after in (data, clobber)]))
    arcs = np.stack([pairs // max(count, 1), pairs % max(count, 1)])
    lane = rows.src.astype(np.int64) * (int(rows.lane.max(initial=0)) + 1) + rows.lane
    _, turn = np.unique(lane * (int(step.max(initial=0)) + 1) + step, return_inverse=True)
    gates = int(turn.max(initial=-1)) + 1
    whose = np.full(gates, -1, np.int64)
    whose[turn] = lane
    # The end of one turn of a lane opens the sends of its next turn.
    follows = whose[turn - 1] == lane
    follows &= turn > 0
    before = np.concatenate([arcs[0], np.arange(count), count + turn[follows] - 1])
    after = np.concatenate([arcs[1], count + turn, np.flatnonzero(follows)])
    return Waits(count + gates, count, before, after)


def _earlier(key: Longs, row: Longs, other: Longs, other_row: Longs, step: Longs) -> Longs:
    """Pairs (a, b) of rows, ``int64[2, pairs]``: row a touches the same cell as row b in an earlier step."""
    span = int(step.max(initial=0)) + 1
    order = np.argsort(key * span + step[row], kind="stable")
    ranked = (key * span + step[row])[order]
    low = np.searchsorted(ranked, other * span)
    high = np.searchsorted(ranked, other * span + step[other_row])
    many = high - low
    nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    return np.stack([row[order[np.repeat(low, many) + nth]], np.repeat(other_row, many)])
