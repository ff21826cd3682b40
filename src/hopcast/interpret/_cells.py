"""The (vertex, chunk) cells that sends touch."""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import ALL
from hopcast.ir.schedule import Schedule, Sends, take
from hopcast.ir.topology import AnyInts

Keys = npt.NDArray[np.int64]
Touched = tuple[AnyInts, AnyInts, AnyInts, npt.NDArray[np.uint8]]
_PIECE = 2**20  # cells that are looked at together: memory of this size is used again, not fetched anew


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


def one_by_one(rows: Sends, chunks: int) -> Touched:
    """Source, destination, chunk and op of every chunk of every send."""
    if rows.count.max(initial=0) == 1:
        return rows.src, rows.dst, rows.chunk, rows.op
    row, chunk = cells(rows, chunks)
    return rows.src[row], rows.dst[row], chunk, rows.op[row]


def pieces(rows: Sends, chunks: int) -> Iterator[Touched]:
    """As `one_by_one`, some sends at a time in the order in which they stand."""
    if rows.count.max(initial=0) == 1:
        cuts = list(range(0, len(rows), _PIECE))
    else:
        ends = np.cumsum(rows.count, dtype=np.int64)
        starts = np.arange(0, ends[-1] if len(ends) else 0, _PIECE)
        cuts = list(dict.fromkeys(np.searchsorted(ends, starts, "right").tolist()))
    for a, b in itertools.pairwise([*cuts, len(rows)]):
        yield one_by_one(take(rows, slice(a, b)), chunks)


def start(schedule: Schedule) -> tuple[Keys, Keys]:
    """Cells that are filled at the start, in all groups: vertex and chunk."""
    return _pairs(schedule, schedule.collective.origin)


def goal(schedule: Schedule) -> tuple[Keys, Keys]:
    """Cells that must be filled at the end."""
    return _pairs(schedule, schedule.collective.goal)


def _pairs(schedule: Schedule, column: npt.NDArray[np.int32]) -> tuple[Keys, Keys]:
    every, one = np.flatnonzero(column == ALL), np.flatnonzero(column != ALL)
    groups = schedule.groups.astype(np.int64)
    vertex = [np.repeat(groups.ravel(), len(every)), groups[:, column[one]].ravel()]
    chunk = [np.tile(every, groups.size), np.tile(one, len(groups))]
    return np.concatenate(vertex), np.concatenate(chunk)
