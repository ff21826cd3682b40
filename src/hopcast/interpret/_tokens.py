"""What each cell holds, as tokens: random numbers that add up as the data do."""

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from hopcast.ir.collective import ALL
from hopcast.ir.distinct import distinct
from hopcast.ir.schedule import REDUCE, Schedule, Sends
from hopcast.ir.topology import AnyInts, Ints

from ._cells import Keys, cells, goal, one_by_one, start

_DENSE = 2**27  # cells kept as one array; above it only those that a send touches
_LONG, _LENGTHS = 8, 4  # chunks of a send, and different numbers of them, for a step to go run by run
Tokens = npt.NDArray[np.uint64]


class CheckError(AssertionError):
    """A schedule does not compute its collective.

    Attributes:
        rank, chunk, step: The first that is wrong; step is None where it shows only at the end.
    """

    def __init__(self, reason: str, rank: int, chunk: int, step: int | None) -> None:
        super().__init__(reason)
        self.rank, self.chunk, self.step = rank, chunk, step


def check(schedule: Schedule, seed: int) -> None:
    """Follow every contribution as a pair of random 64-bit numbers.

    Cost: 16 bytes a cell, and some 80 ns a send.

    Raises:
        CheckError: with the first rank, chunk and step that come out wrong.
    """
    where = _Cells(schedule)
    rng = np.random.default_rng(seed)
    # Where all cells are filled none need be looked up, which takes longer than all else of the start.
    full = bool((schedule.collective.origin == ALL).all()) and schedule.groups.size == schedule.vertices
    first = None if full else where.of(*start(schedule))
    many = where.size if first is None else len(first)
    state: Tokens = rng.integers(0, 2**64 - 1, (many, 2), np.uint64, endpoint=True)
    state[:, 0] |= np.uint64(1)  # what is held is not 0
    if first is not None:
        drawn, state = state, np.zeros((where.size, 2), np.uint64)
        state[first] = drawn
    want = _wanted(schedule, where, state)
    stamp = np.zeros(where.size, np.int32)
    for step, rows in enumerate(schedule.steps()):
        _step(schedule, where, state, stamp, step, rows, full)
    _compare(schedule, where, state, want)


class _Cells:
    """Numbers of the (vertex, chunk) cells: all of them, or where they are too many those touched."""

    def __init__(self, schedule: Schedule) -> None:
        self.chunks = schedule.chunks
        self.known: Keys | None = None
        self.size = schedule.vertices * schedule.chunks
        if self.size > _DENSE:
            seen = [distinct(self._key(*start(schedule))), distinct(self._key(*goal(schedule)))]
            for rows in schedule.steps():
                row, chunk = cells(rows, self.chunks)
                seen.append(
                    distinct(
                        np.concatenate([self._key(rows.src[row], chunk), self._key(rows.dst[row], chunk)])
                    )
                )
                if len(seen) > 64:
                    seen = [distinct(np.concatenate(seen))]
            self.known = distinct(np.concatenate(seen))
            self.size = len(self.known)

    def of(self, vertex: AnyInts, chunk: AnyInts) -> Keys:
        key = self._key(vertex, chunk)
        return key if self.known is None else np.searchsorted(self.known, key)

    def _key(self, vertex: AnyInts, chunk: AnyInts) -> Keys:
        return vertex * np.int64(self.chunks) + chunk


def _wanted(schedule: Schedule, where: _Cells, state: Tokens) -> Tokens:
    """What each group's chunks must come to: uint64[groups, chunks, 2]."""
    groups, chunks = schedule.groups.astype(np.int64), np.arange(schedule.chunks)
    if not schedule.collective.reduces:
        return state[where.of(groups[:, schedule.collective.origin], chunks[None])]
    want = np.zeros((len(groups), schedule.chunks, 2), np.uint64)
    for rank in groups.T:
        want += state[where.of(rank[:, None], chunks[None])]
    return want


def _step(
    schedule: Schedule, where: _Cells, state: Tokens, stamp: Ints, step: int, rows: Sends, full: bool
) -> None:
    """Do the sends of a step; ``full``: every cell was filled from the start, so none can be empty."""
    if _by_runs(schedule, where, state, rows, full):
        return
    src, dst, chunk, op = one_by_one(rows, schedule.chunks)
    moved = state[where.of(src, chunk)]
    empty = np.zeros(0, bool) if full else (moved == 0).all(1)
    if empty.any():
        bad = int(np.argmax(empty))
        raise CheckError(
            f"step {step}: rank {src[bad]} sends chunk {chunk[bad]} to rank {dst[bad]} before it holds it",
            int(src[bad]),
            int(chunk[bad]),
            step,
        )
    cell = where.of(dst, chunk)
    order = np.arange(len(cell), dtype=np.int32)
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


def _by_runs(schedule: Schedule, where: _Cells, state: Tokens, rows: Sends, full: bool) -> bool:
    """Do a step of long sends without looking at each chunk; False, and nothing done, where that does not do.

    Nor does it where something is wrong, which then is found chunk by chunk, and named.
    """
    counts, chunks = np.unique(rows.count), schedule.chunks
    if where.known is not None or not 1 <= len(counts) <= _LENGTHS or counts[0] < _LONG:
        return False
    into = where.of(rows.dst, rows.chunk)
    order = np.argsort(into)
    met = (into + rows.count)[order[:-1]] > into[order[1:]]
    if met.any() or (rows.chunk.astype(np.int64) + rows.count > chunks).any():
        return False
    moved = []
    for count in counts.tolist():
        at = np.flatnonzero(rows.count == count)
        moved.append((at, _runs(state, count), _runs(state, count)[where.of(rows.src[at], rows.chunk[at])]))
    if not full and any(((value[:, ::2] | value[:, 1::2]) == 0).any() for _, _, value in moved):
        return False
    for at, runs, value in moved:
        for op in np.unique(rows.op[at]):
            some = rows.op[at] == op
            if op == REDUCE:
                runs[into[at[some]]] += value[some]
            else:
                runs[into[at[some]]] = value[some]
    return True


def _runs(state: Tokens, count: int) -> Tokens:
    """The tokens of so many cells from each on, one behind the other: a view, ``uint64[..., 2 count]``."""
    return sliding_window_view(state.ravel(), 2 * count, writeable=True)[::2]


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
