"""Schedules in which every rank does as rank 0, moved to where it is: rank 0's sends are the whole schedule.

What is claimed of an `Orbit` is here how the sends are made: rank r sends what rank 0 sends, with r added to
the destination and to the rank whose chunks they are. So who checks it need not list them: the messages or
the shard of every rank go as those of rank 0 do, moved.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np

from .collective import ALL, Collective, EveryPair, Unlisted
from .lattice import Lattice, Longs
from .schedule import COPY, Orbit, Schedule, Sends, one_group, sends
from .topology import AnyInts, Ints

MOST_RANKS = 46_340  # n^2 chunks are numbered in 32 bits
_MOST_CHUNKS = 2**31 - 1


class Messages(Unlisted):
    """all_to_all whose chunks are those of rank 0's messages, then of rank 1's, and so on.

    Attributes:
        lattice: Of the ranks.
        to: ``int64[c]``: the displacement at which each of a rank's chunks has its goal.
    """

    lattice: Lattice
    to: Longs

    def __init__(self, lattice: Lattice, to: Longs) -> None:
        super().__init__("all_to_all", lattice.ranks)
        object.__setattr__(self, "lattice", lattice)
        object.__setattr__(self, "to", to)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.ranks * len(self.to)

    @functools.cached_property
    def origin(self) -> Ints:
        """Each rank as often as it has chunks."""
        return np.repeat(np.arange(self.ranks, dtype=np.int32), len(self.to))

    @functools.cached_property
    def goal(self) -> Ints:
        """The goals of rank 0's chunks, moved to each rank in turn."""
        place, whose = np.unique(self.to, return_inverse=True)
        return np.ascontiguousarray(self.lattice.around(place).T[:, whose]).ravel()


@dataclass(frozen=True, eq=False)
class Likewise:
    """The sends of every rank, by step: a `Schedule.make`.

    A rank's chunks are those of its messages or of its shard. They stand together in order of ranks, as in
    `Messages` and in all_gather; or, of messages, in order of their goals, as in `EveryPair`.

    Shapes: k sends of rank 0 in order of steps, all columns ``int64[k]``.

    Attributes:
        lattice: Of the ranks.
        each: Chunks of one rank.
        step: When, ascending.
        dst: Where to.
        source: The rank whose chunk it is.
        chunk: First, of this rank's chunks; what is sent does not run over their end.
        count: How many.
        lane: Of the send.
        by_goal: Whether a message's number tells its goal; ``chunk`` is then the displacement of that, and
            all counts are 1.
        by_sender: Whether in a step all sends of a rank stand together, else those of one row of rank 0.
    """

    lattice: Lattice
    each: int
    step: Longs
    dst: Longs
    source: Longs
    chunk: Longs
    count: Longs
    lane: Longs
    by_goal: bool = False
    by_sender: bool = False

    def __call__(self, i: int) -> Sends:
        """The sends of step i."""
        at = self._rows(i)
        dst, source = self._around(self.dst[at]), self._around(self.source[at])
        chunk = source * np.int32(self.each)
        if self.by_goal:
            chunk = chunk + self._around(self._goal[at])
        else:
            chunk = chunk + self.chunk[at, None].astype(np.int32)
        shape = (len(self.step[at]), self.lattice.ranks)
        given = (np.arange(shape[1]), dst, chunk, self.count[at, None], COPY, self.lane[at, None])
        kinds = (np.int32, np.int32, np.int32, np.int32, np.uint8, np.uint16)
        every = [np.broadcast_to(np.asarray(c, kind), shape) for c, kind in zip(given, kinds, strict=True)]
        return Sends(*(c.ravel("F" if self.by_sender else "C") for c in every))

    def _around(self, by: Longs) -> Ints:
        """``int32[k, n]``: the rank at each displacement from every rank; ``[1, n]`` if all are the same."""
        if len(by) == 1:
            return self.lattice.around(by)
        place, whose = np.unique(by, return_inverse=True)
        around = self.lattice.around(place)
        return around if len(place) == 1 else around[whose]

    def _number(self, source: AnyInts, chunk: AnyInts) -> AnyInts:
        """The number of a chunk of some rank."""
        return source * self.each + (self.lattice.add(source, chunk) if self.by_goal else chunk)

    @functools.cached_property
    def _goal(self) -> Longs:
        """Of each send of rank 0, if ``chunk`` is the displacement of its goal."""
        return self.lattice.add(self.source, self.chunk)

    def orbit(self) -> Orbit:
        """The sends of rank 0 and those into it."""
        lattice, opposite = self.lattice, self.lattice.minus(self.dst)
        source = lattice.add(self.source, opposite)
        out, into = (
            sends(src, dst, self._number(whose, self.chunk), self.count, COPY, self.lane)
            for src, dst, whose in ((0, self.dst, self.source), (opposite, 0, source))
        )
        return Orbit(self.step, out, into, lattice.moves)

    def of_rank_0(self, i: int) -> Sends:
        """The sends of rank 0's chunks in step i, whoever makes them; they come first."""
        at = self._rows(i)
        src = self.lattice.minus(self.source[at])
        return sends(
            src, self.lattice.add(self.dst[at], src), self.chunk[at], self.count[at], COPY, self.lane[at]
        )

    def _rows(self, i: int) -> slice:
        return slice(*np.searchsorted(self.step, [i, i + 1]).tolist())


def singly(
    ranks: int,
    each: int,
    step: AnyInts,
    dst: AnyInts,
    source: AnyInts | int,
    chunk: AnyInts | int,
    *,
    by_goal: bool = False,
    by_sender: bool = False,
) -> Likewise:
    """Sends of one chunk each, on one lane, where all is counted once round all ranks; see `Likewise`.

    >>> singly(3, 1, np.array([0, 1]), np.array([1, 2]), 0, 0)(1).dst.tolist()
    [2, 0, 1]
    """
    given = np.broadcast_arrays(step, dst, source, chunk, 1, 0)
    when, to, whose, first, count, lane = (c.astype(np.int64) for c in given)
    line = Lattice((ranks,), False)
    return Likewise(line, each, when, to, whose, first, count, lane, by_goal, by_sender)


def of_rank_0(schedule: Schedule) -> Schedule | None:
    """The schedule on the chunks of rank 0 alone, which is right if and only if the whole is.

    None of any schedule whose sends are not made by moving those of rank 0, or whose collective is another
    when moved; nor of one with more chunks than can be numbered.
    """
    make, n = schedule.make, schedule.ranks
    if not isinstance(make, Likewise) or make.lattice.ranks != n or n * make.each > _MOST_CHUNKS:
        return None
    to = _goals(schedule.collective, make)
    if to is None or not np.array_equal(schedule.groups, one_group(n)):
        return None
    if np.any(make.chunk < 0) or np.any(make.chunk + make.count > make.each):
        return None
    part = Collective(schedule.collective.name, n, np.zeros_like(to), to)
    return replace(
        schedule, collective=part, make=make.of_rank_0, share=None, pattern=None, orbit=None, alike=None,
        repeat=None,
    )  # fmt: skip


def _goals(task: Collective, make: Likewise) -> Ints | None:
    """``int32[each]``: where rank 0's chunks must be; None if the others' must not be there, moved."""
    if isinstance(task, Messages):
        fits = task.lattice == make.lattice and not make.by_goal
        to = task.to.astype(np.int32)
    elif type(task) is EveryPair:
        fits = make.by_goal and bool(np.all(make.count == 1))
        to = np.arange(task.ranks, dtype=np.int32)
    else:
        owner = np.repeat(np.arange(task.ranks), make.each)
        fits = not make.by_goal and np.array_equal(task.origin, owner) and bool(np.all(task.goal == ALL))
        to = np.full(make.each, ALL, np.int32)
    return to if fits and len(to) == make.each else None
