"""What a schedule means, in plain numpy. Every other reading of a schedule must agree with this one."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import ALL
from hopcast.ir.likewise import of_rank_0
from hopcast.ir.schedule import COPY, MOST_ROWS, Schedule
from hopcast.names import InputError

from . import _alike, _composed, _copies, _tokens
from ._cells import cells as cells
from ._tokens import CheckError as CheckError

_MOST = 500_000_000  # cells of a check, 16 bytes each
_AT_ONCE = 2**23  # cells that tokens are kept of at a time


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


def check(schedule: Schedule, seed: int = 0) -> None:
    """Check that a schedule computes its collective on every group.

    Every contribution is a pair of random 64-bit tokens, added modulo 2**64, so that one addition per send
    finds a lost, doubled or misplaced contribution; a wrong schedule passes with probability below 2**-60.
    Besides, no rank may send a chunk that it does not hold, and in one step no cell may be copied to twice.

    What is known of how sends are made is used: of a schedule made of others, laid over groups or mirrored,
    these are checked (`ir.composed`); where sends are made by moving those of rank 0 (`ir.likewise`), rank
    0's chunks are. Chunks never meet, so of chunks with the same sends, but for a renaming of ranks, one is
    followed for all. Where nothing is summed no values are needed: a chunk is one value, wherever it is.
    What none of these proves is followed with tokens, some chunks after others where they are many.

    Cost: one pass over the sends, two where chunks are alike; 130 MB for tokens, and what a step takes.

    Raises:
        CheckError: with the first rank, chunk and step that come out wrong.
        InputError: for more sends or cells than fit in memory.

    >>> from hopcast.algorithms import get
    >>> from hopcast.ir.group import Group, Hint
    >>> from hopcast.ir.topology import Axis
    >>> group = Group((Axis("x", 4, True),), False, (1.0,), (0.0,), np.arange(4)[None])
    >>> check(get("ring").build("all_reduce", group, Hint()))
    """
    if _is_proved(schedule, seed):
        return
    schedule = of_rank_0(schedule) or schedule
    _refuse_too_wide(schedule)
    held = schedule.groups.size * schedule.chunks
    if held > _MOST and (schedule.collective.goal[0] == ALL or schedule.collective.reduces):
        raise InputError(
            f"{schedule!r} fills {held:,} cells and a check keeps {_MOST:,} at most; "
            "the same algorithm on fewer ranks is checked the same way"
        )
    _tokens.check(schedule, seed)


def _is_proved(schedule: Schedule, seed: int, how: str = "") -> bool:
    """Whether a schedule is known to be right, by looking at what it is made of.

    Args:
        schedule: Any.
        seed: Of what is random.
        how: "copies" where nothing but copying will do, "once" where no rank may get a chunk twice either.
    """
    named = _composed.inner(schedule)
    if named is not None:
        return _is_proved(named, seed, how)
    mirrored = None if how else _composed.mirrored(schedule)
    if mirrored is not None and _is_proved(mirrored, seed, "once"):
        return True
    halves = None if how == "once" else _composed.halves(schedule)
    if halves is not None:
        one, two = halves
        if _composed.mirrored(one) is two and not how and _is_proved(two, seed, "once"):
            return True
        if _is_proved(one, seed, how) and _is_proved(two, seed, "copies"):
            return True
    return _is_followed(of_rank_0(schedule) or schedule, seed, how)


def _is_followed(schedule: Schedule, seed: int, how: str) -> bool:
    """Whether a schedule is found right by following its sends; False also where that is left to tokens."""
    _refuse_too_wide(schedule)
    few = _alike.one_of_each(schedule, seed)
    if _copies.prove(few or schedule, how == "once"):
        return True
    many = few is not None or schedule.vertices * schedule.chunks > _AT_ONCE
    return many and not how and _is_right(few or schedule, seed)


def _refuse_too_wide(schedule: Schedule) -> None:
    """Refuse a step of more sends than fit in memory, before it is made."""
    orbit = None if schedule.orbit is None else schedule.orbit()
    at_once = 0 if orbit is None else int(np.bincount(orbit.step).max(initial=0)) * schedule.groups.size
    if at_once > MOST_ROWS:
        raise InputError(
            f"{schedule!r} has {at_once:,} sends in one step and a check lists {MOST_ROWS:,} at most; "
            "the same algorithm on fewer ranks is checked the same way"
        )


def _is_right(schedule: Schedule, seed: int) -> bool:
    try:
        for part in _stretches(schedule):
            _tokens.check(part, seed)
    except CheckError:
        return False
    return True


def _stretches(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule on some of its chunks after others: chunks never meet."""
    parts = -(-schedule.vertices * schedule.chunks // _AT_ONCE)
    if parts == 1:
        yield schedule
        return
    for chunks in np.array_split(np.arange(schedule.chunks), min(parts, schedule.chunks)):
        yield _alike.only(schedule, chunks)
