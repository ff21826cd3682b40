"""Schedules made of others: proved by proving those, each once and without what does not matter to it.

Nothing that a schedule says of itself is taken for granted: only how its steps are made is looked at, and
whether ranks, chunks and steps are those of what they are made of.
"""

import numpy as np

from hopcast.ir.collective import ALL, Collective
from hopcast.ir.composed import Called, Copies, Joined, Laid, Mirrored
from hopcast.ir.schedule import REDUCE, Schedule, one_group
from hopcast.ir.topology import AnyInts, Ints


def inner(schedule: Schedule) -> Schedule | None:
    """The schedule that is right if and only if this one, which only names its ranks anew; or None."""
    make = schedule.make
    if isinstance(make, Laid) and _is_laid(schedule, make):
        return make.of
    if isinstance(make, Called) and _is_called(schedule, make):
        return make.of
    if isinstance(make, Copies) and _is_copied(schedule, make):
        return make.of
    return None


def mirrored(schedule: Schedule) -> Schedule | None:
    """What sums of all ranks' contributions are the mirror image of; or None.

    If every rank gets each chunk of that just once, and none gets what it began with, its ways are a tree.
    Back along a tree every contribution comes to the root once: who sends has heard of all behind it.
    """
    make, task = schedule.make, schedule.collective
    if not isinstance(make, Mirrored) or make.op != REDUCE:
        return None
    was, same = make.of.collective, _same_ranks(schedule, make.of, make.of.step_count)
    fits = same and np.all(was.goal == ALL) and not np.any(was.origin == ALL)
    return make.of if fits and _equal(task.origin, was.goal) and _equal(task.goal, was.origin) else None


def halves(schedule: Schedule) -> tuple[Schedule, Schedule] | None:
    """Two schedules of which the second begins with what the first ends with; or None.

    If the second only copies what its ranks begin with, then whatever else the first leaves behind is copied
    over or stays where nobody asks for it.
    """
    make, task = schedule.make, schedule.collective
    if not isinstance(make, Joined):
        return None
    one, two = make.first, make.second
    steps = one.step_count + two.step_count
    if not all(_same_ranks(schedule, part, steps) for part in (one, two)):
        return None
    met = _equal(one.collective.goal, two.collective.origin) and not np.any(one.collective.goal == ALL)
    ends = _equal(task.origin, one.collective.origin) and _equal(task.goal, two.collective.goal)
    return (one, two) if met and ends else None


def _same_ranks(schedule: Schedule, part: Schedule, steps: int) -> bool:
    return (
        schedule.step_count == steps
        and schedule.ranks == part.ranks
        and np.array_equal(schedule.groups, part.groups)
    )


def _equal(one: Ints, other: Ints) -> bool:
    return one is other or np.array_equal(one, other)


def _is_laid(schedule: Schedule, laid: Laid) -> bool:
    """Whether it is the same on groups that have no vertex in common."""
    n, where = laid.of.ranks, laid.where[:, : laid.of.vertices]
    return (
        schedule.collective is laid.of.collective
        and schedule.step_count == laid.of.step_count
        and where.shape[1] == laid.of.vertices
        and len(np.unique(where)) == where.size
        and np.array_equal(laid.of.groups, one_group(n))
        and np.array_equal(schedule.groups, where[:, :n])
    )


def _is_called(schedule: Schedule, called: Called) -> bool:
    """Whether it is the same on ranks with other names, of which each begins and ends with the same."""
    n, name = schedule.ranks, called.name
    return (
        _same_ranks(schedule, called.of, called.of.step_count)
        and np.array_equal(schedule.groups, one_group(n))
        and len(name) == called.of.vertices
        and len(np.unique(name)) == len(name)
        and np.array_equal(np.sort(name[:n]), np.arange(n))
        and _begins_and_ends_so(schedule.collective, called.of.collective, name, slice(None))
    )


def _is_copied(schedule: Schedule, copies: Copies) -> bool:
    """Whether each copy is the same on ranks with other names, and on chunks that no other copy has."""
    n, small, (parts, chunks) = schedule.ranks, copies.of, copies.number.shape
    return (
        _same_ranks(schedule, small, small.step_count)
        and np.array_equal(schedule.groups, one_group(n))
        and small.vertices == n
        and copies.name.shape == (parts, n)
        and bool(np.all(np.sort(copies.name, 1) == np.arange(n)))
        and chunks == small.chunks
        and np.array_equal(np.sort(copies.number, None), np.arange(schedule.chunks))
        and np.array_equal(np.sort(copies.order), np.arange(len(copies.order)))
        and all(_stand_once(rows.count, copies, len(rows)) for rows in small.steps())
        and all(
            _begins_and_ends_so(schedule.collective, small.collective, name, number)
            for name, number in zip(copies.name, copies.number, strict=True)
        )
    )


def _stand_once(count: Ints, copies: Copies, sends: int) -> bool:
    """Whether all sends of a step are of one chunk, and each copy makes all of them."""
    return bool(np.all(count == 1)) and sends * len(copies.name) == len(copies.order)


def _begins_and_ends_so(task: Collective, small: Collective, name: Ints, chunks: AnyInts | slice) -> bool:
    """Whether some chunks of a collective begin and end at the ranks of a smaller one as they are called."""
    return all(
        np.array_equal(whole[chunks], np.where(part == ALL, ALL, name[part]))
        for whole, part in ((task.origin, small.origin), (task.goal, small.goal))
    )
