"""Schedules in which all ranks do alike: what one rank does, and how the algebra carries it along."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .schedule import Orbit, Schedule, Sends, join, take
from .topology import Ints


def shifts(shape: tuple[int, ...]) -> Ints:
    """One hop up each axis that is longer than 1, as permutations of ranks that are row-major over the axes.

    Shapes: the result is ``int32[axes, n]``.

    >>> shifts((2, 3)).tolist()
    [[3, 4, 5, 0, 1, 2], [1, 2, 0, 4, 5, 3]]
    """
    rank = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    moved = [np.roll(rank, -1, a).ravel() for a, n in enumerate(shape) if n > 1]
    return np.array(moved, np.int32).reshape(len(moved), rank.size)


def flips(n: int) -> Ints:
    """Exchange of all ranks that differ in one bit of their number, for each bit, of n = 2^k ranks.

    Shapes: the result is ``int32[k, n]``.

    >>> flips(4).tolist()
    [[1, 0, 3, 2], [2, 3, 0, 1]]
    """
    bit = np.int32(1) << np.arange(n.bit_length() - 1, dtype=np.int32)
    return np.arange(n, dtype=np.int32) ^ bit[:, None]


def claim(schedule: Schedule, moves: Ints) -> Schedule:
    """The same schedule with the claim that moved ranks do alike; what rank 0 does is read off its steps.

    In every step the sends of a rank must come in the same order as those of any other, counted both by
    source and by destination.

    Args:
        schedule: On local ranks of one group.
        moves: See `Orbit`.
    """

    @functools.cache
    def orbit() -> Orbit:
        step, out, into = [], [], []
        for i in range(schedule.step_count):
            rows = schedule.make(i)
            out.append(take(rows, np.flatnonzero(rows.src == 0)))
            into.append(take(rows, np.flatnonzero(rows.dst == 0)))
            step.append(np.full(len(out[-1]), i))
            alike = len(out[-1]) == len(into[-1]) and np.array_equal(out[-1].count, into[-1].count)
            assert alike, f"{schedule!r}: rank 0 of step {i} sends other than it receives"
        return Orbit(np.concatenate(step), join(out), join(into), moves)

    return replace(schedule, orbit=orbit)


def reversed(schedule: Schedule, op: int) -> Callable[[], Orbit | None] | None:
    """Of the mirror image, in which every send has that op."""
    if schedule.orbit is None:
        return None
    was = schedule.orbit

    @functools.cache
    def orbit() -> Orbit | None:
        old = was()
        if old is None:
            return None
        back = np.arange(len(old.step))[::-1]
        out, into = (_turned(take(rows, back), op) for rows in (old.into, old.out))
        return Orbit(schedule.step_count - 1 - old.step[back], out, into, old.moves)

    return orbit


def joined(first: Schedule, second: Schedule) -> Callable[[], Orbit | None] | None:
    """Of one after the other on the same chunks."""
    if first.orbit is None or second.orbit is None:
        return None
    before, after = first.orbit, second.orbit

    @functools.cache
    def orbit() -> Orbit | None:
        a, b = before(), after()
        if a is None or b is None or not len(a.moves) or not np.array_equal(a.moves, b.moves):
            return None  # without moves nothing says which send into rank 0 is which
        step = np.concatenate([a.step, b.step + first.step_count])
        return Orbit(step, join([a.out, b.out]), join([a.into, b.into]), a.moves)

    return orbit


def pipelined(
    phases: Sequence[Schedule], start: npt.NDArray[np.int64], lane: npt.NDArray[np.int64]
) -> Callable[[], Orbit | None] | None:
    """Of pieces that follow each other through phases, which all move alike.

    Args:
        phases: On the same chunks.
        start: ``int64[pieces, phases]``: the step in which a piece enters a phase.
        lane: ``int64[phases]``: the first lane of each.
    """
    of_phase = [p.orbit for p in phases if p.orbit is not None]
    if len(of_phase) < len(phases):
        return None
    chunks = phases[0].chunks

    @functools.cache
    def orbit() -> Orbit | None:
        each = [find() for find in of_phase]
        known = [o for o in each if o is not None and len(o.moves)]
        if len(known) < len(each) or any(not np.array_equal(o.moves, known[0].moves) for o in known):
            return None
        if any(np.any(r.chunk + r.count > chunks) for o in known for r in (o.out, o.into)):
            return None  # what runs over the end of a piece is cut in two
        step: list[npt.NDArray[np.int64]] = []
        out: list[Sends] = []
        into: list[Sends] = []
        for (k, j), first in np.ndenumerate(start):
            step.append(known[j].step + first)
            for rows, parts in ((known[j].out, out), (known[j].into, into)):
                at, on = rows.chunk + np.int32(k * chunks), rows.lane + np.uint16(lane[j])
                parts.append(replace(rows, chunk=at, lane=on))
        order = np.argsort(np.concatenate(step), kind="stable")
        return Orbit(
            np.concatenate(step)[order], take(join(out), order), take(join(into), order), known[0].moves
        )

    return orbit


def _turned(rows: Sends, op: int) -> Sends:
    return Sends(rows.dst, rows.src, rows.chunk, rows.count, np.full_like(rows.op, op), rows.lane)
