"""Which sends wait for which, as arcs of which there are about as many as cells that are sent.

A cell that is written many times and read many times would give an arc for each pair. Instead a *gate* stands
for all accesses to a cell up to some step: it waits for those of its step and for the gate of the step
before.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.distinct import distinct
from hopcast.ir.topology import Ints

Longs = npt.NDArray[np.int64]
_FEW = 2  # up to so many sends are waited for one by one


@dataclass(frozen=True, eq=False)
class Arcs:
    """Nodes 0 .. sends - 1 are the sends; gates follow.

    Shapes: n nodes.

    Attributes:
        start: ``int64[n + 1]``: node i is waited for by ``target[start[i]:start[i + 1]]``.
        target: ``int32[arcs]``.
        pending: ``int32[n]``: how many arcs end at each node.
    """

    start: Longs
    target: Ints
    pending: Ints


@dataclass(frozen=True, eq=False)
class Touches:
    """Cells that sends read or write: ``row[i]`` touches the cell ``key[i]``, however cells are numbered."""

    row: Longs
    key: Longs


def arcs(step: Longs, read: Touches, write: Touches, lane: Longs) -> Arcs:
    """The three rules of flows as arcs.

    Args:
        step: ``int64[s]``, ascending.
        read: Cells that each send reads at its source.
        write: Cells that each send writes at its destination.
        lane: ``int64[s]``: equal numbers are the same lane of the same source.
    """
    sends = len(step)
    if not sends or step[0] == step[-1]:
        return Arcs(np.zeros(sends + 1, np.int64), np.zeros(0, np.int32), np.zeros(sends, np.int32))
    before, after, nodes = [], [], sends
    for first, then in ((write, read), (read, write)):
        found = _earlier(first, then, step, nodes)
        before.append(found[0])
        after.append(found[1])
        nodes = found[2]
    pair = distinct(np.concatenate(before) * nodes + np.concatenate(after))
    turns = _turns(step, lane, nodes)
    tail = np.concatenate([pair // nodes, turns[0]])
    head = np.concatenate([pair % nodes, turns[1]])
    nodes = turns[2]
    order = np.argsort(tail, kind="stable")
    start = np.searchsorted(tail[order], np.arange(nodes + 1)).astype(np.int64)
    pending = np.bincount(head, minlength=nodes).astype(np.int32)
    return Arcs(start, head[order].astype(np.int32), pending)


def _turns(step: Longs, lane: Longs, nodes: int) -> tuple[Longs, Longs, int]:
    """The end of one turn of a lane opens the sends of its next turn: a gate for each turn but the last."""
    span = int(step[-1]) + 1
    turns, turn = np.unique(lane * span + step, return_inverse=True)
    whose = turns // span
    same = np.zeros(len(turns), bool)
    same[1:] = whose[1:] == whose[:-1]  # a turn that follows another
    waits, opens = np.flatnonzero(same[turn]), np.flatnonzero(np.append(same[1:], False)[turn])
    tail = np.concatenate([opens, nodes + turn[waits] - 1])
    head = np.concatenate([nodes + turn[opens], waits])
    return tail, head, nodes + len(turns)


def _earlier(first: Touches, then: Touches, step: Longs, nodes: int) -> tuple[Longs, Longs, int]:
    """Arcs by which each send of ``then`` waits for those of ``first`` on the same cells in earlier steps."""
    span = int(step[-1]) + 1
    time = first.key * span + step[first.row]
    order = np.argsort(time, kind="stable")
    time, row = time[order], first.row[order]
    low = np.searchsorted(time, then.key * span)
    high = np.searchsorted(time, then.key * span + step[then.row])
    many = high - low
    some = np.flatnonzero((many > 0) & (many <= _FEW))
    nth = np.arange(int(many[some].sum())) - np.repeat(np.cumsum(many[some]) - many[some], many[some])
    before, after = [row[np.repeat(low[some], many[some]) + nth]], [np.repeat(then.row[some], many[some])]
    crowd = np.flatnonzero(many > _FEW)
    if len(crowd):
        more = _gates(time, row, span, high[crowd] - 1, nodes)
        before += [more[0], nodes + more[2][high[crowd] - 1]]
        after += [more[1], then.row[crowd]]
        nodes += int(more[2][-1]) + 1
    return np.concatenate(before), np.concatenate(after), nodes


def earlier(first: Touches, then: Touches, step: Longs) -> tuple[Longs, Longs]:
    """All pairs of sends of which the second waits for the first, in order of the second.

    Shapes: both ``int64[pairs]``. There may be a pair for each two touches of a cell.
    """
    span = int(step[-1]) + 1
    time = first.key * span + step[first.row]
    order = np.argsort(time, kind="stable")
    low = np.searchsorted(time[order], then.key * span)
    many = np.searchsorted(time[order], then.key * span + step[then.row]) - low
    nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    before, after = first.row[order[np.repeat(low, many) + nth]], np.repeat(then.row, many)
    pair = distinct(after * len(step) + before)
    return pair % len(step), pair // len(step)


def _gates(time: Longs, row: Longs, span: int, wanted: Longs, nodes: int) -> tuple[Longs, Longs, Longs]:
    """Gates of the cells that someone waits for: arcs (before, after) and the gate of each touch."""
    new = np.append(True, time[1:] != time[:-1])
    gate = np.cumsum(new) - 1
    cell = time // span
    last = np.zeros(len(time), np.int64)  # the last gate wanted of each cell, by the cell's first touch
    head = np.searchsorted(cell, cell)
    np.maximum.at(last, head[wanted], gate[wanted] + 1)
    needed = gate < last[head]
    begins = np.flatnonzero(new)
    link = begins[needed[begins] & (begins > 0)]
    link = link[cell[link] == cell[link - 1]]
    before = np.concatenate([row[needed], nodes + gate[link] - 1])
    after = np.concatenate([nodes + gate[needed], nodes + gate[link]])
    return before, after, gate
