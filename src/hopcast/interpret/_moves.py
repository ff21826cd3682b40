"""Moves of ranks that may leave a schedule as it is, guessed from its sends.

Ranks of a grid send to neighbours, so how far apart their numbers are tells how long its axes are. All of a
grid may be moved along an axis that closes, turned round end for end, or have axes of one length exchanged.
Which of these fit is tried on a few steps. That still proves nothing: whoever uses a move finds out for which
chunks it holds.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from hopcast.ir import orbits
from hopcast.ir.hashes import Words, mixed
from hopcast.ir.schedule import Schedule, Sends
from hopcast.ir.topology import Ints

_TRIED = 4  # steps besides the first
_MOST_AXES = 4  # of which exchanges are tried; longer lists of axes are read off switches, not off grids


def some_steps(schedule: Schedule) -> list[Sends]:
    """The sends of the first step, of the last, and of a few between."""
    last = schedule.step_count - 1
    some = {last * k // _TRIED for k in range(_TRIED + 1)} if last >= 0 else set()
    return [schedule.make(i) for i in sorted(some)]


def guessed(schedule: Schedule, steps: list[Sends]) -> Ints:
    """``int32[g, n]``: permutations of the local ranks with which the sends of some steps stay the same.

    Cost: some 20 ns for each of these sends and each move.
    """
    groups, n = schedule.groups, schedule.ranks
    local = np.full(schedule.vertices, -1, np.int32)
    local[groups] = np.arange(n, dtype=np.int32)
    ends = [(local[rows.src], local[rows.dst], rows.count.astype(np.uint64)) for rows in steps]
    if any((src < 0).any() or (dst < 0).any() for src, dst, _ in ends):
        return np.zeros((0, n), np.int32)  # by switches
    apart = np.unique(np.concatenate([abs(dst - src) for src, dst, _ in ends]))
    rank = np.arange(n, dtype=np.int32)
    known = [_sum(rank, *rows) for rows in ends]
    kept = [
        move
        for move in _of_grid(_lengths(n, apart))
        if all(_sum(move, *rows) == own for rows, own in zip(ends, known, strict=True))
    ]
    return np.array(kept, np.int32).reshape(len(kept), n)


def _lengths(n: int, apart: Ints) -> tuple[int, ...]:
    """Lengths of the axes of n row-major ranks, of which neighbours are so far apart.

    >>> _lengths(60, np.array([1, 4, 5, 15]))
    (4, 3, 5)
    """
    strides, known = [1], {n, *apart.tolist()}
    for stride in sorted(known - {n}):
        closes = stride + strides[-1] in known  # the cable from the last of an axis to its first
        if stride > strides[-1] and n % stride == 0 and stride % strides[-1] == 0 and not closes:
            strides.append(stride)
    return tuple(b // a for a, b in itertools.pairwise([*strides, n]))[::-1]


def _of_grid(shape: tuple[int, ...]) -> Iterator[Ints]:
    """Once round each axis, each axis end for end or about rank 0, and axes of one length exchanged."""
    rank = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    yield from orbits.shifts(shape)
    for a, length in enumerate(shape):
        if length > 2:  # of two the shift is the same
            turned = np.flip(rank, a)
            yield turned.ravel()
            yield np.roll(turned, 1, a).ravel()  # if the axis closes; also where a root must stay
    if len(shape) <= _MOST_AXES:
        for order in itertools.permutations(range(len(shape))):
            turned = rank.transpose(order)
            if turned.shape == shape and order != tuple(range(len(shape))):
                yield turned.ravel()


def _sum(move: Ints, src: Ints, dst: Ints, count: Words) -> int:
    """What sends with moved ranks come to, whatever their order."""
    ends = move[src].astype(np.uint64) << np.uint64(32) | move[dst].astype(np.uint64)
    return int((mixed(ends) * count).sum(dtype=np.uint64))
