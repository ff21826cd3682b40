"""Schedules that only copy: a chunk is the same value wherever it is, so all there is to know is where.

Nothing is said of what is wrong: what is not proved here may still be right, and is followed with tokens.
"""

import numpy as np

from hopcast.ir.collective import ALL
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import AnyInts, Ints

from ._cells import pieces, start

_MOST = 2**30  # cells, 5 bytes each


def prove(schedule: Schedule) -> bool:
    """Whether the schedule is known to compute its collective, by copies alone."""
    task = schedule.collective
    if task.reduces or not task.chunks:
        return False
    if ALL not in (task.goal[0], task.origin[0]) and _one_at_a_time(schedule):
        return True
    return schedule.vertices * schedule.chunks <= _MOST and _everywhere(schedule)


def _one_at_a_time(schedule: Schedule) -> bool:
    """Every chunk goes from holder to holder, once a step at most, and ends where it must be.

    Cost: a cell for each chunk, and some 30 ns a send.
    """
    task, groups, chunks = schedule.collective, schedule.groups, schedule.chunks
    if (task.goal == ALL).any() or (task.origin == ALL).any():
        return False
    whose = np.full(schedule.vertices, -1, np.int32)
    whose[groups] = np.arange(len(groups))[:, None]
    holder = groups[:, task.origin].ravel()
    for rows in schedule.steps():
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
        for src, dst, chunk, _ in parts:
            if (holder[_in_group(whose, chunks, src, chunk)] != dst).any():
                return False
    return bool((holder.reshape(len(groups), -1) == groups[:, task.goal]).all())


def _in_group(whose: Ints, chunks: int, src: AnyInts, chunk: AnyInts) -> AnyInts:
    """Where the chunks of a sender's group stand among those of all groups."""
    return chunk + whose[src] * np.int64(chunks) if whose.max() > 0 else chunk


def _everywhere(schedule: Schedule) -> bool:
    """A chunk is only sent by who holds it, no cell is written twice in a step, and all goals are met.

    Cost: a cell for each vertex and chunk, and some 40 ns a send.
    """
    chunks = schedule.chunks
    held = np.zeros(schedule.vertices * chunks, bool)
    stamp = np.zeros(len(held), np.int32)
    held[np.ravel_multi_index(start(schedule), (schedule.vertices, chunks))] = True
    for rows in schedule.steps():
        parts = list(pieces(rows, chunks))
        for src, _, chunk, op in parts:
            if op.any() or not held[src * np.int64(chunks) + chunk].all():
                return False
        first = np.cumsum([0, *(len(part[1]) for part in parts)])
        for at, (_, dst, chunk, _) in zip(first, parts, strict=False):
            cell = dst * np.int64(chunks) + chunk
            stamp[cell] = np.arange(at, at + len(cell), dtype=np.int32)
            held[cell] = True
        for at, (_, dst, chunk, _) in zip(first, parts, strict=False):
            cell = dst * np.int64(chunks) + chunk
            if (stamp[cell] != np.arange(at, at + len(cell), dtype=np.int32)).any():
                return False
    task, on_groups = schedule.collective, held.reshape(-1, chunks)[schedule.groups]
    one = np.flatnonzero(task.goal != ALL)
    return bool(on_groups[:, :, task.goal == ALL].all() and on_groups[:, task.goal[one], one].all())
