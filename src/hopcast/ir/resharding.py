"""Small steps from one sharding of an array to another: what a single collective, or a local slice, can do.

Every move keeps the pieces of a device in one block: an axis is gathered from the fine end of a dim and added
to the fine end, so that no device holds a comb of rows. What that forbids is reached by a permute first.

Source: Rink, Paszke, Vytiniotis and Schmid 2021, Memory-efficient array redistribution through portable
collective communication, arXiv:2112.01075 (slice, all_to_all, permute, all_gather are enough); jax-ml
scaling-book, chapter Sharding (the collectives and their transposes).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .sharding import Axes, Sharding, device_bytes, logical_size, uneven

# The collective that carries cotangents back where one of a replicated array is a partial sum (R <-> P) and
# one of a sharded array is sharded alike.
TRANSPOSE = {
    "slice": "none",
    "all_gather": "reduce_scatter",
    "reduce_scatter": "all_gather",
    "all_reduce": "all_reduce",
    "all_to_all": "all_to_all",
    "permute": "permute",
}

Cut = tuple[str, ...]


@dataclass(frozen=True)
class Move:
    """One step.

    Attributes:
        name: slice, all_gather, reduce_scatter, all_reduce, all_to_all or permute.
        over: Axes that it runs over, in the order of the mesh.
        size: D of one group, bytes; 0 for a slice.
        after: The sharding that it leaves.
    """

    name: str
    over: Cut
    size: float
    after: Sharding


def moves(s: Sharding, goal: Sharding, axes: Axes, idle: bool = False) -> Iterator[Move]:
    """All single steps from a sharding that may lead to another.

    Sums are reduced before anything is gathered.

    Args:
        s: Where the array is.
        goal: Where it shall be; of the same shape.
        axes: The mesh.
        idle: Whether also axes that the goal does not use may slice, so that their links can help.

    >>> mesh = {"x": 2}
    >>> s = Sharding("f32", ("i", "j"), (4, 4), (("x",), ()))
    >>> goal = Sharding("f32", ("i", "j"), (4, 4), ((), ("x",)))
    >>> [(m.name, str(m.after)) for m in moves(s, goal, mesh)]
    [('all_to_all', 'f32[i,j_x]'), ('all_gather', 'f32[i,j]')]
    """
    order = list(axes)
    sums = [a for a in s.partial if a not in goal.partial]
    found = [*_slices(s, goal, order, idle), *_reductions(s, sums), *_exchanges(s)]
    if not sums:
        found += _gathers(s)
    for name, over, after in found:
        if not uneven(after, axes):
            size = 0.0 if name == "slice" else logical_size(s, over, axes)
            yield Move(name, _in_order(over, order), size, after)
    for after in _arrangements(s, goal, axes):
        over = _in_order(changed(s, after), order)
        size = device_bytes(s, axes) * math.prod(axes[a] for a in over)
        yield Move("permute", over, size, after)


def _in_order(some: Sequence[str], order: Sequence[str]) -> Cut:
    return tuple(a for a in order if a in some)


def _with(s: Sharding, cuts: Sequence[Cut]) -> Sharding:
    return replace(s, axes=tuple(cuts))


def _slices(
    s: Sharding, goal: Sharding, order: Sequence[str], idle: bool
) -> Iterator[tuple[str, Cut, Sharding]]:
    """Every device keeps a part of what it has."""
    for axis in order:
        if axis in s.sharded or axis in s.partial or not (idle or axis in goal.sharded):
            continue
        for i, cut in enumerate(s.axes):
            yield "slice", (axis,), _with(s, (*s.axes[:i], (*cut, axis), *s.axes[i + 1 :]))


def _gathers(s: Sharding) -> Iterator[tuple[str, Cut, Sharding]]:
    """Fine ends of one or several dims at once."""
    for kept in itertools.product(*(range(len(cut) + 1) for cut in s.axes)):
        over = tuple(a for cut, k in zip(s.axes, kept, strict=True) for a in cut[k:])
        if over:
            yield "all_gather", over, _with(s, [cut[:k] for cut, k in zip(s.axes, kept, strict=True)])


def _reductions(s: Sharding, sums: Sequence[str]) -> Iterator[tuple[str, Cut, Sharding]]:
    """Sums over some axes, whole or each device its part of one dim."""
    for k in range(1, len(sums) + 1):
        for over in itertools.combinations(sums, k):
            left = replace(s, partial=tuple(a for a in s.partial if a not in over))
            yield "all_reduce", over, left
            for added in itertools.permutations(over):
                for i, cut in enumerate(s.axes):
                    cuts = (*s.axes[:i], (*cut, *added), *s.axes[i + 1 :])
                    yield "reduce_scatter", over, _with(left, cuts)


def _exchanges(s: Sharding) -> Iterator[tuple[str, Cut, Sharding]]:
    """The fine end of one dim goes to another."""
    for i, j in itertools.permutations(range(len(s.axes)), 2):
        for kept in range(len(s.axes[i])):
            over = s.axes[i][kept:]
            for added in itertools.permutations(over):
                cuts = list(s.axes)
                cuts[i], cuts[j] = cuts[i][:kept], (*cuts[j], *added)
                yield "all_to_all", over, _with(s, cuts)


def _arrangements(s: Sharding, goal: Sharding, axes: Axes) -> Iterator[Sharding]:
    """Shardings whose blocks are as large: one dim cut in another order, or finer than the goal."""
    found = {
        _with(s, (*s.axes[:i], other, *s.axes[i + 1 :]))
        for i, cut in enumerate(s.axes)
        for other in itertools.permutations(cut)
    }
    free = [a for a in axes if a not in goal.sharded and a not in s.partial]
    parts = [math.prod(axes[a] for a in cut) for cut in s.axes]
    if not set(goal.sharded) & set(s.partial):
        found |= {_with(s, cuts) for cuts in _finer(goal.axes, parts, free, axes)}
    yield from sorted((f for f in found if f != s), key=str)


def _finer(
    cuts: Sequence[Cut], parts: Sequence[int], free: Sequence[str], axes: Axes
) -> Iterator[tuple[Cut, ...]]:
    """The dims cut as said and then by free axes, into so many parts."""
    if not cuts:
        yield ()
        return
    left, uneven_parts = divmod(parts[0], math.prod(axes[a] for a in cuts[0]))
    if uneven_parts or not left:
        return
    for k in range(len(free) + 1):
        for added in itertools.permutations(free, k):
            if math.prod(axes[a] for a in added) == left and all(axes[a] > 1 for a in added):
                rest = [a for a in free if a not in added]
                yield from (((*cuts[0], *added), *more) for more in _finer(cuts[1:], parts[1:], rest, axes))


def changed(s: Sharding, after: Sharding) -> Cut:
    """Axes along which a permute moves blocks: all between the coarse and the fine end that stay."""
    found: list[str] = []
    for old, new in zip(s.axes, after.axes, strict=True):
        a, b = _middle(old, new)
        found += [x for x in (*a, *b) if x not in found]
    return tuple(found)


def _middle(old: Cut, new: Cut) -> tuple[Cut, Cut]:
    """Both without the ends that they have in common."""
    head = sum(1 for _ in itertools.takewhile(lambda p: p[0] == p[1], zip(old, new, strict=False)))
    old, new = old[head:], new[head:]
    tail = sum(
        1 for _ in itertools.takewhile(lambda p: p[0] == p[1], zip(old[::-1], new[::-1], strict=False))
    )
    return old[: len(old) - tail], new[: len(new) - tail]


def senders(s: Sharding, after: Sharding, axes: Axes) -> npt.NDArray[np.int64]:
    """From which rank of its group each rank of a permute gets its block.

    Ranks are row-major over the axes of `changed`, in the order of the mesh. A rank that has what it needs
    keeps it; of the others the k-th that needs a block gets it from the k-th that has it to give.

    Shapes: ``int64[n]``.

    >>> mesh = {"x": 2, "y": 2}
    >>> old = Sharding("f32", ("i",), (4,), (("x", "y"),))
    >>> senders(old, replace(old, axes=(("y", "x"),)), mesh).tolist()
    [0, 2, 1, 3]
    """
    over = _in_order(changed(s, after), list(axes))
    ends = [_middle(old, new) for old, new in zip(s.axes, after.axes, strict=True)]
    place = dict(zip(over, np.indices([axes[a] for a in over]).reshape(len(over), -1), strict=True))
    has, needs = (_blocks([e[side] for e in ends], place, axes) for side in (0, 1))
    found = np.where(has == needs, np.arange(len(has)), -1)
    give, take = np.flatnonzero(found < 0), np.flatnonzero(found < 0)
    give = give[np.argsort(has[give], kind="stable")]
    take = take[np.argsort(needs[take], kind="stable")]
    found[take] = give
    return found


def _blocks(
    cuts: Sequence[Cut], place: dict[str, npt.NDArray[np.int64]], axes: Axes
) -> npt.NDArray[np.int64]:
    """``int64[n]``: number of the block of each rank."""
    block = np.zeros(len(next(iter(place.values()))), np.int64)
    for axis in itertools.chain(*cuts):
        block = block * axes[axis] + place[axis]
    return block
