"""What a schedule means, in plain numpy. Every other reading of a schedule must agree with this one."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .ir.collective import ALL
from .ir.schedule import COPY, REDUCE, Schedule, Sends
from .ir.topology import AnyInts
from .names import InputError

_MOST = 500_000_000  # cells of a check, 16 bytes each
_DENSE = 2**27  # cells kept as one array; above it only those that a send touches
Keys = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.uint64]


class CheckError(AssertionError):
    """A schedule does not compute its collective.

    Attributes:
        rank, chunk, step: The first that is wrong; step is None where it shows only at the end.
    """

    def __init__(self, reason: str, rank: int, chunk: int, step: int | None) -> None:
        super().__init__(reason)
        self.rank, self.chunk, self.step = rank, chunk, step


def interpret(schedule: Schedule, buffer: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Run a schedule on real data.

    Shapes: ``buffer`` is ``[vertices, chunks, ...]``; so is the result. ``buffer`` is not changed.
    """
    buffer = buffer.copy()
    for rows in schedule.steps():
        row, chunk = cells(rows, schedule.chunks)
        moved = buffer[rows.src[row], chunk]  # everything is read before anything is written
        copy = rows.op[row] == COPY
        buffer[rows.dst[row[copy]], chunk[copy]] = moved[copy]
        np.add.at(buffer, (rows.dst[row[~copy]], chunk[~copy]), moved[~copy])
    return buffer


def cells(rows: Sends, chunks: int) -> tuple[Keys, Keys]:
    """The chunks of every send, one by one: the row of each, and its chunk number.

    Shapes: both are ``int64[sum of counts]``.
    """
    if rows.count.max(initial=0) == 1:
        return np.arange(len(rows)), rows.chunk.astype(np.int64)
    count = rows.count.astype(np.int64)
    row = np.repeat(np.arange(len(rows)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return row, (rows.chunk[row] + nth) % chunks


def check(schedule: Schedule, seed: int = 0) -> None:
    """Check that a schedule computes its collective on every group.

    Every contribution is a pair of random 64-bit tokens, added modulo 2**64, so that one addition per send
    finds a lost, doubled or misplaced contribution; a wrong schedule passes with probability below 2**-60.
    Besides, no rank may send a chunk that it does not hold, and in one step no cell may be copied to twice.

    Cost: one pass over the sends.

    Raises:
        CheckError: with the first rank, chunk and step that come out wrong.

    >>> from hopcast.algorithms import get
    >>> from hopcast.ir.group import Group, Hint
    >>> from hopcast.ir.topology import Axis
    >>> group = Group((Axis("x", 4, True),), False, (1.0,), (0.0,), np.arange(4)[None])
    >>> check(get("ring").build("all_reduce", group, Hint()))
    """
    held = schedule.groups.size * schedule.chunks
    if held > _MOST and (schedule.collective.goal[0] == ALL or schedule.collective.reduces):
        raise InputError(
            f"{schedule!r} fills {held:,} cells and a check keeps {_MOST:,} at most; "
            "the same algorithm on fewer ranks is checked the same way"
        )
    where = _Cells(schedule)
    rng = np.random.default_rng(seed)
    state: Tokens = np.zeros((where.size, 2), np.uint64)
    first = where.of(*_start(schedule))
    state[first] = rng.integers(1, 2**64, (len(first), 2), np.uint64)
    want = _wanted(schedule, where, state)
    stamp = np.zeros(where.size, np.int64)
    for step, rows in enumerate(schedule.steps()):
        _step(schedule, where, state, stamp, step, rows)
    _compare(schedule, where, state, want)


class _Cells:
    """Numbers of the (vertex, chunk) cells: all of them, or where they are too many those touched."""

    def __init__(self, schedule: Schedule) -> None:
        self.chunks = schedule.chunks
        self.known: Keys | None = None
        self.size = schedule.vertices * schedule.chunks
        if self.size > _DENSE:
            seen = [np.unique(self._key(*_start(schedule))), np.unique(self._key(*_goal(schedule)))]
            for rows in schedule.steps():
                row, chunk = cells(rows, self.chunks)
                seen.append(
                    np.unique(
                        np.concatenate([self._key(rows.src[row], chunk), self._key(rows.dst[row], chunk)])
                    )
                )
                if len(seen) > 64:
                    seen = [np.unique(np.concatenate(seen))]
            self.known = np.unique(np.concatenate(seen))
            self.size = len(self.known)

    def of(self, vertex: AnyInts, chunk: AnyInts) -> Keys:
        key = self._key(vertex, chunk)
        return key if self.known is None else np.searchsorted(self.known, key)

    def _key(self, vertex: AnyInts, chunk: AnyInts) -> Keys:
        return np.asarray(vertex, np.int64) * self.chunks + np.asarray(chunk, np.int64)


def _pairs(schedule: Schedule, column: npt.NDArray[np.int32]) -> tuple[Keys, Keys]:
    """Cells that a column of a collective names, in all groups: vertex and chunk."""
    every, one = np.flatnonzero(column == ALL), np.flatnonzero(column != ALL)
    groups = schedule.groups.astype(np.int64)
    vertex = [np.repeat(groups.ravel(), len(every)), groups[:, column[one]].ravel()]
    chunk = [np.tile(every, groups.size), np.tile(one, len(groups))]
    return np.concatenate(vertex), np.concatenate(chunk)


def _start(schedule: Schedule) -> tuple[Keys, Keys]:
    return _pairs(schedule, schedule.collective.origin)


def _goal(schedule: Schedule) -> tuple[Keys, Keys]:
    return _pairs(schedule, schedule.collective.goal)


def _wanted(schedule: Schedule, where: _Cells, state: Tokens) -> Tokens:
    """What each group's chunks must come to: uint64[groups, chunks, 2]."""
    groups, chunks = schedule.groups.astype(np.int64), np.arange(schedule.chunks)
    if not schedule.collective.reduces:
        return state[where.of(groups[:, schedule.collective.origin], chunks[None])]
    want = np.zeros((len(groups), schedule.chunks, 2), np.uint64)
    for rank in groups.T:
        want += state[where.of(rank[:, None], chunks[None])]
    return want


def _step(schedule: Schedule, where: _Cells, state: Tokens, stamp: Keys, step: int, rows: Sends) -> None:
    row, chunk = cells(rows, schedule.chunks)
    src, dst, op = rows.src[row], rows.dst[row], rows.op[row]
    moved = state[where.of(src, chunk)]
    empty = ~moved[:, 0].astype(bool)
    if empty.any() and (empty & ~moved[:, 1].astype(bool)).any():
        bad = int(np.argmax(empty))
        raise CheckError(
            f"step {step}: rank {src[bad]} sends chunk {chunk[bad]} to rank {dst[bad]} before it holds it",
            int(src[bad]),
            int(chunk[bad]),
            step,
        )
    cell = where.of(dst, chunk)
    order = np.arange(len(cell))
    stamp[cell] = order
    again = stamp[cell] != order
    if again.any() and (op[again] != REDUCE).any() | (op[stamp[cell[again]]] != REDUCE).any():
        bad = int(np.flatnonzero(again)[0])
        raise CheckError(
            f"step {step}: two sends write chunk {chunk[bad]} of rank {dst[bad]} at once "
            "and one of them is a copy",
            int(dst[bad]),
            int(chunk[bad]),
            step,
        )
    add = op == REDUCE
    if not add.any():
        state[cell] = moved
    elif add.all() and not again.any():
        state[cell] += moved
    else:  # copies, or several contributions to one cell
        state[cell[~add]] = moved[~add]
        np.add.at(state, cell[add], moved[add])


def _compare(schedule: Schedule, where: _Cells, state: Tokens, want: Tokens) -> None:
    goal, chunks = schedule.collective.goal, np.arange(schedule.chunks)
    every, one = np.flatnonzero(goal == ALL), np.flatnonzero(goal != ALL)
    for local in range(schedule.ranks):
        mine = np.concatenate([every, one[goal[one] == local]])
        vertex = schedule.groups[:, local].astype(np.int64)
        wrong = (state[where.of(vertex[:, None], chunks[mine][None])] != want[:, mine]).any(2)
        if wrong.any():
            group, at = (int(i[0]) for i in np.nonzero(wrong))
            chunk, rank = int(mine[at]), int(vertex[group])
            lacks = not state[where.of(vertex[group : group + 1], np.array([chunk]))].any()
            reason = "does not hold" if lacks else "holds a wrong value of"
            raise CheckError(
                f"at the end rank {rank} {reason} chunk {chunk} ({int(wrong.sum())} wrong on this rank)",
                rank,
                chunk,
                None,
            )
