"""all_to_all in which every rank does as rank 0, moved to where it is: rank 0's sends are the whole schedule.

What is claimed of an `Orbit` is here how the sends are made: rank r sends what rank 0 sends, with r added to
the destination and to the rank whose messages they are. So who checks it need not list them: the messages of
every rank go as those of rank 0 do, moved.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np

from .collective import Collective, Unlisted
from .lattice import Lattice, Longs
from .schedule import Orbit, Schedule, Sends, one_group, sends
from .topology import Ints

MOST_RANKS = 46_340  # n^2 chunks are numbered in 32 bits


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
    """The sends of every rank, by step: a `Schedule.make` of `Messages`.

    Shapes: k sends of rank 0 in order of steps, all columns ``int64[k]``.

    Attributes:
        lattice: Of the ranks.
        each: Chunks of one rank's messages.
        step: When, ascending.
        dst: Where to.
        source: The rank whose message it is.
        chunk: First, of this rank's chunks; what is sent does not run over their end.
        count: How many.
        lane: Of the send.
    """

    lattice: Lattice
    each: int
    step: Longs
    dst: Longs
    source: Longs
    chunk: Longs
    count: Longs
    lane: Longs

    def __call__(self, i: int) -> Sends:
        """The sends of step i, those of one row of rank 0 after another."""
        at, lattice = self._rows(i), self.lattice
        place, whose = np.unique(self.dst[at], return_inverse=True)
        first = lattice.around(self.source[at]) * np.int32(self.each) + self.chunk[at, None].astype(np.int32)
        dst = lattice.around(place)[whose]
        flat = np.broadcast_arrays(
            np.arange(lattice.ranks), dst, first, self.count[at, None], 0, self.lane[at, None]
        )
        return sends(*(c.ravel() for c in flat))

    def orbit(self) -> Orbit:
        """The sends of rank 0 and those into it."""
        lattice, opposite = self.lattice, self.lattice.minus(self.dst)
        source = lattice.add(self.source, opposite)
        out, into = (
            sends(src, dst, whose * self.each + self.chunk, self.count, 0, self.lane)
            for src, dst, whose in ((0, self.dst, self.source), (opposite, 0, source))
        )
        return Orbit(self.step, out, into, lattice.moves)

    def of_rank_0(self, i: int) -> Sends:
        """The sends of rank 0's messages in step i, whoever sends them. Its chunks come first."""
        at = self._rows(i)
        src = self.lattice.minus(self.source[at])
        return sends(
            src, self.lattice.add(self.dst[at], src), self.chunk[at], self.count[at], 0, self.lane[at]
        )

    def _rows(self, i: int) -> slice:
        return slice(*np.searchsorted(self.step, [i, i + 1]).tolist())


def of_rank_0(schedule: Schedule) -> Schedule | None:
    """The schedule on the messages of rank 0 alone, which is right if and only if the whole is.

    None of any schedule whose sends are not made by moving those of rank 0.
    """
    task, make = schedule.collective, schedule.make
    if not isinstance(task, Messages) or not isinstance(make, Likewise):
        return None
    if (
        task.lattice != make.lattice
        or len(task.to) != make.each
        or np.any(make.chunk + make.count > make.each)
    ):
        return None
    n, to = task.ranks, task.to.astype(np.int32)
    part = Collective(task.name, n, np.zeros_like(to), to)
    return replace(
        schedule, collective=part, groups=one_group(n), make=make.of_rank_0, share=None, pattern=None,
        orbit=None, alike=None, repeat=None,
    )  # fmt: skip
