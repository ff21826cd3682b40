"""all_to_all along one line of ranks, hop by hop: who passes on which part of which message in which step."""

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Axis

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Moves:
    """Columns, one row a move over one link. All ``int64[m]``, ascending in step.

    Attributes:
        step: Step.
        at, to: Neighbouring positions on the line.
        src, dst: Positions between which the message goes.
        low, high: The part of the message that moves, in equal units of which it has ``units``.
    """

    step: Longs
    at: Longs
    to: Longs
    src: Longs
    dst: Longs
    low: Longs
    high: Longs

    def of(self, step: int) -> "Moves":
        """Those of one step."""
        rows = slice(*np.searchsorted(self.step, [step, step + 1]))
        return Moves(*(c[rows] for c in self._columns()))

    def sorted(self) -> "Moves":
        """Ascending in step."""
        order = np.argsort(self.step, kind="stable")
        return Moves(*(c[order] for c in self._columns()))

    def _columns(self) -> tuple[Longs, ...]:
        return self.step, self.at, self.to, self.src, self.dst, self.low, self.high


def ring(n: int) -> Moves:
    """Step h moves all that still has to go; a message half way round goes half each way. Units: 2.

    Takes n // 2 steps, of which each later one is shorter.
    """
    way, src, dst, hops, low, high = _ways(n, 2)
    row = np.repeat(np.arange(len(src)), hops)
    hop = np.arange(len(row)) - np.repeat(np.cumsum(hops) - hops, hops)
    at = (src[row] + way[row] * hop) % n
    return Moves(hop, at, (at + way[row]) % n, src[row], dst[row], low[row], high[row]).sorted()


def even_ring(n: int, steps: int) -> Moves:
    """The same in any number of equally busy steps, n // 2 or more. Units: 2 * steps.

    A message is cut into as many parts as there are steps. Part k of one that has h hops to go moves in the
    steps k .. k + h - 1, counted round; so each step moves h parts of it, and the links of a ring are all
    alike.
    """
    columns: list[list[Longs]] = []
    way, src, dst, hops, low, high = _ways(n, 2 * steps)
    for h in range(1, n // 2 + 1):
        turn = np.sort((np.arange(steps)[:, None] + np.arange(h)) % steps, axis=1)
        mine = np.flatnonzero(hops == h)
        for hop in range(h):
            first = np.concatenate([[0], np.flatnonzero(np.diff(turn[:, hop])) + 1])
            last = np.append(first[1:], steps)
            row, piece = np.repeat(mine, len(first)), np.tile(np.arange(len(first)), len(mine))
            at = (src[row] + way[row] * hop) % n
            unit = (high[row] - low[row]) // steps
            begin, end = low[row] + first[piece] * unit, low[row] + last[piece] * unit
            columns.append([turn[first, hop][piece], at, (at + way[row]) % n, src[row], dst[row], begin, end])
    return Moves(*(np.concatenate(c) for c in zip(*columns, strict=True))).sorted()


def _ways(n: int, units: int) -> tuple[Longs, ...]:
    """Way (+1, -1), src, dst, hops, low, high of all messages of a ring; those half way round stand twice."""
    src, dst = np.divmod(np.arange(n * n), n)
    ahead = (dst - src) % n
    up, down = np.flatnonzero((ahead > 0) & (2 * ahead <= n)), np.flatnonzero(2 * ahead >= n)
    both, way = np.concatenate([up, down]), np.repeat([1, -1], [len(up), len(down)])
    src, dst, ahead = src[both], dst[both], ahead[both]
    half = 2 * ahead == n
    low = np.where(half & (way < 0), units // 2, 0)
    high = np.where(half & (way > 0), units // 2, units)
    return way, src, dst, np.where(way > 0, ahead, n - ahead), low, high


def chain(n: int, steps: int) -> Moves:
    """On an open line in n - 1 or more steps, all of which keep the middle link busy. Units: 2 * steps.

    A link moves at most floor(n^2 / 4) / steps messages in a step, parts of messages too: the farthest
    destination first, and of those for one destination the farthest source first. All have arrived after the
    last step (tried for every n up to 16 and steps up to 2 n + 5; asserted here).

    Cost: O(n^3), the number of moves.
    """
    units, most = 2 * steps, 2 * (n * n // 4)
    ready = [
        [(-d, i) for d in range(n - 1, i, -1)] for i in range(n)
    ]  # heaps of (-dst, src) with a part at i
    here = [dict.fromkeys(keys, units) for keys in ready]
    gone: list[dict[tuple[int, int], int]] = [{} for _ in range(n)]
    rows = []
    for t in range(steps):
        for i in range(
            n - 2, -1, -1
        ):  # from the far end, so that what arrives in a step stays until the next
            room = most
            while room and ready[i]:
                key = ready[i][0]
                begin, part = gone[i].get(key, 0), min(room, here[i][key])
                rows.append((t, i, i + 1, key[1], -key[0], begin, begin + part))
                room -= part
                gone[i][key] = begin + part
                here[i][key] -= part
                if not here[i][key]:
                    heapq.heappop(ready[i])
                if i + 1 < -key[0]:
                    if not here[i + 1].get(key):
                        heapq.heappush(ready[i + 1], key)
                    here[i + 1][key] = here[i + 1].get(key, 0) + part
    assert not any(ready), f"chain of {n} in {steps} steps"
    right = np.array(rows, np.int64).T
    left = right.copy()
    left[1:5] = n - 1 - right[1:5]  # the mirror image
    return Moves(*np.concatenate([right, left], 1)).sorted()


def along(axis: Axis, steps: int) -> Moves:
    """An axis in that many equally busy steps. Units: 2 * steps."""
    return even_ring(axis.length, steps) if axis.wraps else chain(axis.length, steps)
