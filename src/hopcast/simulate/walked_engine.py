"""The compiled sweeps of `walked`: over every flow between the chips of a grid, its route walked on the fly.

A route crosses one run of links along each axis. So a flow is counted on all its links by two marks on each
axis, where the run begins and behind its end, and whether a run holds a link of some kind is a difference of
two running sums.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .numba_lean import nb

Cells = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]
AXES = 4  # loops are written out for so many axes; those that a grid lacks have one chip
Lines = tuple[Longs, Longs, Longs, Longs]


class Walks(NamedTuple):
    """The choices that a chip has along each axis; a flow is a chip and a choice on each axis.

    Shapes: up to n chips and o choices along an axis.

    Attributes:
        chips: ``int64[4]``: chips along each axis.
        many: ``int64[4]``: choices along each axis.
        to: ``int64[4, n, o]``: where a choice leads from each chip.
        way: The same: 0 up, 1 down.
        begin, end: The same: the run of links, by the chips they leave; a wrapped run ends above the length.
    """

    chips: Longs
    many: Longs
    to: Longs
    way: Longs
    begin: Longs
    end: Longs


@nb.njit(cache=True, inline="always")
def _mark(lines: Longs, row: int, way: int, begin: int, end: int, amount: int) -> None:
    """Put an amount on a run of links, as the differences from link to link."""
    lines[row, way, begin] += amount
    lines[row, way, end] -= amount


@nb.njit(cache=True)
def tally(cell: Cells, first: int, w: Walks, amount: Longs, lines: Lines) -> None:
    """Add to every link the amounts of all flows over it.

    Args:
        cell: ``int32[chips, ...]``: the cell of each flow of some chips, all choices of one after the other.
        first: The first of these chips.
        w: The choices.
        amount: ``int64[cells]``: of each flow of a cell.
        lines: Of each axis ``int64[lines, 2, 2 n + 1]``: differences from link to link, up and down.
    """
    n1, n2, n3 = w.chips[1], w.chips[2], w.chips[3]
    for s in range(len(cell)):
        at, f = first + s, 0
        s3, s2, s1, s0 = at % n3, at // n3 % n2, at // (n3 * n2) % n1, at // (n3 * n2 * n1)
        for a in range(w.many[0]):
            t0, all0 = w.to[0, s0, a], 0
            for b in range(w.many[1]):
                t1, all1 = w.to[1, s1, b], 0
                for c in range(w.many[2]):
                    t2, all2 = w.to[2, s2, c], 0
                    row = (t0 * n1 + t1) * n2 + t2
                    for d in range(w.many[3]):
                        one = amount[cell[s, f]]
                        f += 1
                        if one != 0:
                            _mark(lines[3], row, w.way[3, s3, d], w.begin[3, s3, d], w.end[3, s3, d], one)
                            all2 += one
                    all1 += all2
                    row = (t0 * n1 + t1) * n3 + s3
                    _mark(lines[2], row, w.way[2, s2, c], w.begin[2, s2, c], w.end[2, s2, c], all2)
                all0 += all1
                row = (t0 * n2 + s2) * n3 + s3
                _mark(lines[1], row, w.way[1, s1, b], w.begin[1, s1, b], w.end[1, s1, b], all1)
            row = (s1 * n2 + s2) * n3 + s3
            _mark(lines[0], row, w.way[0, s0, a], w.begin[0, s0, a], w.end[0, s0, a], all0)


@nb.njit(cache=True, inline="always")
def _holds(lines: Longs, row: int, way: int, begin: int, end: int) -> bool:
    """Whether a run holds any link that counts, by running sums."""
    return bool(lines[row, way, end] > lines[row, way, begin])


@nb.njit(cache=True)
def freeze(
    cell: Cells, first: int, w: Walks, is_open: Marks, hot: Lines, new: Cells, moved: Longs, lines: Lines
) -> None:
    """Move flows of open cells that cross a hot link to the new cells of their cells, and count their links.

    Args:
        cell: As in `tally`.
        first: As in `tally`.
        w: The choices.
        is_open: ``int8[cells]``: whether the rate of the cell's flows is still to be found.
        hot: Of each axis ``int64[lines, 2, 2 n + 1]``: running sums over the links, 1 for a hot one.
        new: ``int32[cells]``: where flows of each cell go.
        moved: ``int64[cells]``: how many went; added to.
        lines: As in `tally`: flows that were moved; added to.
    """
    n1, n2, n3 = w.chips[1], w.chips[2], w.chips[3]
    for s in range(len(cell)):
        at, f = first + s, 0
        s3, s2, s1, s0 = at % n3, at // n3 % n2, at // (n3 * n2) % n1, at // (n3 * n2 * n1)
        for a in range(w.many[0]):
            t0, all0, row0 = w.to[0, s0, a], 0, (s1 * n2 + s2) * n3 + s3
            hot0 = _holds(hot[0], row0, w.way[0, s0, a], w.begin[0, s0, a], w.end[0, s0, a])
            for b in range(w.many[1]):
                t1, all1, row1 = w.to[1, s1, b], 0, (t0 * n2 + s2) * n3 + s3
                hot1 = hot0 or _holds(hot[1], row1, w.way[1, s1, b], w.begin[1, s1, b], w.end[1, s1, b])
                for c in range(w.many[2]):
                    t2, all2, row2 = w.to[2, s2, c], 0, (t0 * n1 + t1) * n3 + s3
                    hot2 = hot1 or _holds(hot[2], row2, w.way[2, s2, c], w.begin[2, s2, c], w.end[2, s2, c])
                    row3 = (t0 * n1 + t1) * n2 + t2
                    for d in range(w.many[3]):
                        own = cell[s, f]
                        f += 1
                        if is_open[own] == 0:
                            continue
                        way, begin, end = w.way[3, s3, d], w.begin[3, s3, d], w.end[3, s3, d]
                        if hot2 or _holds(hot[3], row3, way, begin, end):
                            cell[s, f - 1] = new[own]
                            moved[own] += 1
                            _mark(lines[3], row3, way, begin, end, 1)
                            all2 += 1
                    all1 += all2
                    _mark(lines[2], row2, w.way[2, s2, c], w.begin[2, s2, c], w.end[2, s2, c], all2)
                all0 += all1
                _mark(lines[1], row1, w.way[1, s1, b], w.begin[1, s1, b], w.end[1, s1, b], all1)
            _mark(lines[0], row0, w.way[0, s0, a], w.begin[0, s0, a], w.end[0, s0, a], all0)
