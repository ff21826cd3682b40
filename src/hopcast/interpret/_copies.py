"""Schedules that only copy: a chunk is the same value wherever it is, so all there is to know is where.

Nothing is said of what is wrong: what is not proved here may still be right, and is followed with tokens.
"""

import numpy as np

from hopcast.ir.collective import ALL
from hopcast.ir.schedule import Schedule, Sends
from hopcast.ir.topology import AnyInts, Bools, Ints

from ._cells import pieces, start

_MOST = 2**30  # cells, 5 bytes each


def prove(schedule: Schedule, once: bool = False) -> bool:
    """Whether the schedule is known to compute its collective, by copies alone.

    Args:
        schedule: On any groups.
        once: Whether besides no rank may get a chunk twice, or one that it began with, and no switch any.
    """
    task = schedule.collective
    if task.reduces or not task.chunks:
        return False
    if not once and ALL not in (task.goal[0], task.origin[0]) and _one_at_a_time(schedule):
        return True
    return schedule.vertices * schedule.chunks <= _MOST and _everywhere(schedule, once)


def _one_at_a_time(schedule: Schedule) -> bool:
    """Every chunk goes from holder to holder, once a step at most, and ends where it must be.

    Cost: a cell for each chunk, and some 30 ns a send.
    """
    task, groups, chunks = schedule.collective, schedule.groups, schedule.chunks
    if (task.goal == ALL).any() or (task.origin == ALL).any():
        return False
    whose = _whose(schedule)
    holder = groups[:, task.origin].ravel()
    if not all(_pass_on(holder, whose, schedule.make(i), chunks) for i in range(schedule.step_count)):
        return False
    return bool((holder.reshape(len(groups), -1) == groups[:, task.goal]).all())


def _pass_on(holder: Ints, whose: Ints, rows: Sends, chunks: int) -> bool:
    """Move chunks to their next holders; whether each was sent by its holder, to one rank of its group."""
    parts = list(pieces(rows, chunks))
    for src, dst, chunk, op in parts:
        cell = _in_group(whose, chunks, src, chunk)
        if (
            op.any()
            or (whose[src] < 0).any()
            or (whose[src] != whose[dst]).any()
            or (holder[cell] != src).any()
        ):
            return False
    for src, dst, chunk, _ in parts:  # what is sent twice ends up elsewhere
        np.add.at(holder, _in_group(whose, chunks, src, chunk), dst - src)
    return all((holder[_in_group(whose, chunks, src, chunk)] == dst).all() for src, dst, chunk, _ in parts)


def _whose(schedule: Schedule) -> Ints:
    """``int32[vertices]``: the group of each rank, -1 of other vertices."""
    whose = np.full(schedule.vertices, -1, np.int32)
    whose[schedule.groups] = np.arange(len(schedule.groups))[:, None]
    return whose


def _in_group(whose: Ints, chunks: int, src: AnyInts, chunk: AnyInts) -> AnyInts:
    """Where the chunks of a sender's group stand among those of all groups."""
    return chunk + whose[src] * np.int64(chunks) if whose.max() > 0 else chunk


def _everywhere(schedule: Schedule, once: bool) -> bool:
    """A chunk is only sent by who holds it, no cell is written twice in a step, and all goals are met.

    With ``once`` no cell is written twice at all, and only cells of ranks are.

    Cost: a cell for each vertex and chunk, and some 40 ns a send.
    """
    chunks = schedule.chunks
    held = np.zeros(schedule.vertices * chunks, bool)
    stamp = np.zeros(len(held), np.int32)
    held[np.ravel_multi_index(start(schedule), (schedule.vertices, chunks))] = True
    whose = _whose(schedule)
    for i in range(schedule.step_count):
        if not _reach(held, stamp, whose, once, schedule.make(i)):
            return False
    task, on_groups = schedule.collective, held.reshape(-1, chunks)[schedule.groups]
    one = np.flatnonzero(task.goal != ALL)
    return bool(on_groups[:, :, task.goal == ALL].all() and on_groups[:, task.goal[one], one].all())


def _reach(held: Bools, stamp: Ints, whose: Ints, once: bool, rows: Sends) -> bool:
    """Fill the cells that a step writes; whether it reads none that is empty, and writes none twice.

    Chunks of one number are others in other groups, so with several groups none may send to another. With
    ``once`` no cell that is filled is written either, and none of a vertex that is no rank.
    """
    chunks, several = len(held) // len(whose), whose.max() > 0
    parts = list(pieces(rows, chunks))
    for src, dst, chunk, op in parts:
        if op.any() or not held[src * np.int64(chunks) + chunk].all():
            return False
        if (several and (whose[src] != whose[dst]).any()) or (once and (whose[dst] < 0).any()):
            return False
    first = np.cumsum([0, *(len(part[1]) for part in parts)])
    for at, (_, dst, chunk, _) in zip(first, parts, strict=False):
        cell = dst * np.int64(chunks) + chunk
        if once and held[cell].any():
            return False
        stamp[cell] = np.arange(at, at + len(cell), dtype=np.int32)
        held[cell] = True
    for at, (_, dst, chunk, _) in zip(first, parts, strict=False):
        cell = dst * np.int64(chunks) + chunk
        if (stamp[cell] != np.arange(at, at + len(cell), dtype=np.int32)).any():
            return False
    return True
