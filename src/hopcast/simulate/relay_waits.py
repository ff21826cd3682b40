"""The waits of `relay` that do not follow from others.

What is overwritten often went into what overwrites it: round a ring, sums come back to ranks that passed on
their part of them long ago. Where two things came together, as sums from both sides of a ring do, each
may be followed back.
"""

from dataclasses import dataclass

import numpy as np

from .network import Longs

Waits = tuple[Longs, Longs]


def needed(step: Longs, to: list[Longs], data: Waits, clobber: Waits) -> tuple[Waits, Waits]:
    """The waits that the others do not imply.

    In a tree every send has one parent, a send whose data it passes on, and a source. A wait follows from
    those for parents where the send waited for, at the rank in question, is an ancestor. There are two trees:
    where the last data come in several sends of one step, parents are the last of these, and the first.

    Args:
        step: ``int64[k]`` of each send, ascending.
        to: Of each send, the rank to which each rank sends.
        data: Pairs of sends of which the second reads what the first wrote; they meet at the second's source.
        clobber: Pairs of which the second overwrites what the first read; they meet at the second's
            destination.

    A ring of three: what comes back to rank 0 went on from there two steps before.

    >>> to, passed = [np.array([1, 2, 0])] * 3, (np.array([0, 1]), np.array([1, 2]))
    >>> data, clobber = needed(np.arange(3), to, passed, (np.array([0]), np.array([2])))
    >>> len(data[0]), len(clobber[0])
    (2, 0)
    """
    last = np.full(len(to), -1)
    np.maximum.at(last, data[1], data[0])
    tree = _tree(to, last)
    data, clobber = tree.without(data, True), tree.without(clobber, False)
    first, beside = last.copy(), step[data[0]] == step[last[data[1]]]
    np.minimum.at(first, data[1][beside], data[0][beside])
    if np.array_equal(first, last):
        return data, clobber
    tree = _tree(to, first)
    return tree.without(data, True, last), tree.without(clobber, False, last)


@dataclass(frozen=True, eq=False)
class _Tree:
    """Sends and their parents. A send and all below it are numbered ``first`` to ``first + below - 1``.

    Attributes:
        parent, first, below: ``int64[k]``; a send without parent has -1.
        source, goal: ``int64[k]``: rank, where the send at the root of the tree is one of rank 0.
    """

    parent: Longs
    first: Longs
    below: Longs
    source: Longs
    goal: Longs

    def without(self, waits: Waits, data: bool, kept: Longs | None = None) -> Waits:
        """The waits that this tree does not imply, and those for parents, also for the parents ``kept``."""
        before, then = waits
        here = self.goal[before] == self.source[then] if data else self.source[before] == self.goal[then]
        low, number = self.first[before], self.first[then]
        implied = here & (low < number) & (number < low + self.below[before])
        keep = ~implied | (self.parent[then] == before)
        if kept is not None:
            keep |= kept[then] == before
        return before[keep], then[keep]


def _tree(to: list[Longs], parent: Longs) -> _Tree:
    """Parents come before those below them."""
    count, above = len(to), parent.tolist()
    below = [1] * count
    for k in range(count - 1, -1, -1):
        if above[k] >= 0:
            below[above[k]] += below[k]
    first, free, at, top = [0] * count, [0] * count, [0] * count, 0
    goal = [0] * count
    for k, p in enumerate(above):
        if p < 0:
            first[k], top = top, top + below[k]
        else:
            first[k], free[p] = free[p], free[p] + below[k]
            at[k] = goal[p]
        free[k] = first[k] + 1
        goal[k] = int(to[k][at[k]])
    return _Tree(parent, *(np.array(c, np.int64) for c in (first, below, at, goal)))
