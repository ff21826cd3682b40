"""The arcs of `arcs`, compiled: one pass over the sends in order, about 20 times as fast as sorting cells.

For every cell stand the node that is over when all its writes so far have been received, and the one for its
reads. The first access is such a node itself; later ones are joined by a gate. Where sends touch few of many
cells, the cells are found in a table of those.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hopcast.graph import kept
from hopcast.ir.schedule import Sends

from .arcs import Arcs
from .numba_lean import nb

Items = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_SPARSE, _FEW_CELLS = 4, 1_000_000  # cells for each that is touched, and in all: beyond both there is a table
_GOLDEN = np.uint64(
    0x9E3779B97F4A7C15
)  # 2^64 over the golden ratio: spreads numbers that are near each other


class _Rows(NamedTuple):
    """Sends as `ir.schedule.Sends` has them, and their steps."""

    step: Longs
    src: Items
    dst: Items
    chunk: Items
    many: Items
    lane: npt.NDArray[np.uint16]


@kept.unbroken
def compiled(step: Longs, rows: Sends, vertices: int, chunks: int) -> Arcs:
    """The three rules of flows as arcs.

    Args:
        step: ``int64[s]``, ascending.
        rows: All sends.
        vertices: Vertex numbers are below this.
        chunks: Of one group's array.
    """
    lanes = int(rows.lane.max(initial=0)) + 1
    columns = _Rows(step.astype(np.int64), rows.src, rows.dst, rows.chunk, rows.count, rows.lane)
    touches, cells, keys = 2 * int(rows.count.sum(dtype=np.int64)), vertices * chunks, np.zeros(0, np.int64)
    if cells > max(_SPARSE * touches, _FEW_CELLS):
        cells = 1 << (2 * touches).bit_length()
        keys = np.full(cells, -1, np.int64)
    tail, head, nodes = _list(columns, keys, cells, chunks, lanes, vertices)
    start, target, pending = _by_tail(tail, head, nodes)
    return Arcs(start, target, pending)


@nb.njit(cache=True)
def _list(
    rows: _Rows, keys: Longs, cells: int, chunks: int, lanes: int, vertices: int
) -> tuple[Items, Items, int]:
    """Arcs ``tail[i] -> head[i]`` and the number of nodes."""
    count = len(rows.step)
    writes, reads = np.full(cells, -1, np.int32), np.full(cells, -1, np.int32)
    last_write, last_read = _last(rows, keys, cells, chunks)
    turns = np.full(vertices * lanes, -1, np.int32)
    opened = np.empty(max(count, 16), np.int32)  # of each gate, the step in which it was opened
    tail, head = np.empty(max(4 * count, 16), np.int32), np.empty(max(4 * count, 16), np.int32)
    size = np.zeros(2, np.int64)  # arcs, gates
    begin = 0
    while begin < count:
        end = begin
        while end < count and rows.step[end] == rows.step[begin]:
            end += 1
        for i in range(begin, end):
            tail, head = _room(tail, head, size[0] + 2 * rows.many[i] + 1)
            last = -1
            for c in range(rows.many[i]):
                chunk = (rows.chunk[i] + c) % chunks
                out, into = (
                    _seat(keys, rows.src[i] * chunks + chunk),
                    _seat(keys, rows.dst[i] * chunks + chunk),
                )
                for at in (writes[out], reads[into]):
                    if at >= 0 and at != last:
                        tail[size[0]], head[size[0]] = at, i
                        size[0] += 1
                        last = at
            at = turns[rows.src[i] * lanes + rows.lane[i]]
            if at >= 0:
                tail[size[0]], head[size[0]] = at, i
                size[0] += 1
        for i in range(begin, end):
            more = 2 * rows.many[i] + 1
            tail, head = _room(tail, head, size[0] + 2 * more)
            opened = _grown(opened, size[1] + more)
            for c in range(rows.many[i]):
                chunk = (rows.chunk[i] + c) % chunks
                into, out = (
                    _seat(keys, rows.dst[i] * chunks + chunk),
                    _seat(keys, rows.src[i] * chunks + chunk),
                )
                if last_read[into] > rows.step[i]:  # else nobody waits for it
                    _add(writes, into, i, count, rows.step, opened, tail, head, size)
                if last_write[out] > rows.step[i]:
                    _add(reads, out, i, count, rows.step, opened, tail, head, size)
            _add(turns, rows.src[i] * lanes + rows.lane[i], i, count, rows.step, opened, tail, head, size)
        begin = end
    return tail[: size[0]], head[: size[0]], count + size[1]


@nb.njit(cache=True)
def _seat(keys: Longs, cell: int) -> int:
    """Where what is known of a cell stands: at its number, or at its place in the table of cells."""
    if len(keys) == 0:
        return cell
    mask = len(keys) - 1
    at = int((np.uint64(cell) * _GOLDEN) >> np.uint64(32)) & mask
    while keys[at] != cell and keys[at] >= 0:
        at = (at + 1) & mask
    keys[at] = cell
    return at


@nb.njit(cache=True)
def _last(rows: _Rows, keys: Longs, cells: int, chunks: int) -> tuple[Items, Items]:
    """The last step in which each cell is written, and in which it is read; -1: never."""
    written, read = np.full(cells, -1, np.int32), np.full(cells, -1, np.int32)
    for i in range(len(rows.step)):
        for c in range(rows.many[i]):
            chunk = (rows.chunk[i] + c) % chunks
            written[_seat(keys, rows.dst[i] * chunks + chunk)] = rows.step[i]
            read[_seat(keys, rows.src[i] * chunks + chunk)] = rows.step[i]
    return written, read


@nb.njit(cache=True)
def _add(
    last: Items, cell: int, row: int, count: int, step: Longs, opened: Items,
    tail: Items, head: Items, size: Longs,
) -> None:  # fmt: skip
    """One more access to a cell: the node that stands for all of them waits for this send too."""
    was = last[cell]
    if was < 0:
        last[cell] = row
        return
    gate = was
    if was < count or opened[was - count] != step[row]:
        gate = count + size[1]
        opened[size[1]] = step[row]
        size[1] += 1
        tail[size[0]], head[size[0]] = was, gate
        size[0] += 1
        last[cell] = gate
    tail[size[0]], head[size[0]] = row, gate
    size[0] += 1


@nb.njit(cache=True)
def _room(tail: Items, head: Items, need: int) -> tuple[Items, Items]:
    return _grown(tail, need), _grown(head, need)


@nb.njit(cache=True)
def _grown(column: Items, need: int) -> Items:
    """The same column, long enough."""
    if need <= len(column):
        return column
    longer = np.empty(max(2 * len(column), need), np.int32)
    longer[: len(column)] = column
    return longer


@nb.njit(cache=True)
def _by_tail(tail: Items, head: Items, nodes: int) -> tuple[Longs, Items, Items]:
    """Arcs in order of where they begin, and how many end at each node."""
    start, pending = np.zeros(nodes + 1, np.int64), np.zeros(nodes, np.int32)
    for a in range(len(tail)):
        start[tail[a] + 1] += 1
        pending[head[a]] += 1
    for n in range(nodes):
        start[n + 1] += start[n]
    at, target = start[:-1].copy(), np.empty(len(tail), np.int32)
    for a in range(len(tail)):
        target[at[tail[a]]] = head[a]
        at[tail[a]] += 1
    return start, target, pending
