"""Steps made of those of other schedules, kept as data: who checks the whole may look at what it is made of.

Each of these is a `Schedule.make`. `algebra` makes most of them.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .schedule import Schedule, Sends, take
from .topology import Ints

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Mirrored:
    """Steps backwards, every send the other way.

    Attributes:
        of: What is mirrored.
        op: Of all sends.
    """

    of: Schedule
    op: int

    def __call__(self, i: int) -> Sends:
        """The sends of step i."""
        rows = self.of.make(self.of.step_count - 1 - i)
        return Sends(rows.dst, rows.src, rows.chunk, rows.count, np.full_like(rows.op, self.op), rows.lane)


@dataclass(frozen=True, eq=False)
class Joined:
    """One after the other, on the same chunks."""

    first: Schedule
    second: Schedule

    def __call__(self, i: int) -> Sends:
        """The sends of step i."""
        half = self.first.step_count
        return self.first.make(i) if i < half else self.second.make(i - half)


@dataclass(frozen=True, eq=False)
class Laid:
    """The same on every group at once.

    Attributes:
        of: On local ranks of one group, and its switches.
        where: ``int32[g, n + k]``: the vertices of each group.
    """

    of: Schedule
    where: Ints

    def __call__(self, i: int) -> Sends:
        """The sends of step i, those of one group after another."""
        rows, times = self.of.make(i), len(self.where)
        return Sends(
            self.where[:, rows.src].ravel(),
            self.where[:, rows.dst].ravel(),
            np.tile(rows.chunk, times),
            np.tile(rows.count, times),
            np.tile(rows.op, times),
            np.tile(rows.lane, times),
        )


@dataclass(frozen=True, eq=False)
class Called:
    """The same on vertices that have other names.

    Attributes:
        of: On its own names.
        name: ``int32[vertices]``: what each is called.
    """

    of: Schedule
    name: Ints

    def __call__(self, i: int) -> Sends:
        """The sends of step i."""
        rows = self.of.make(i)
        return replace(rows, src=self.name[rows.src], dst=self.name[rows.dst])


@dataclass(frozen=True, eq=False)
class Copies:
    """The same several times at once, each time on ranks of other names and on chunks of its own.

    Shapes: p copies of a schedule of n ranks and c chunks, with m sends in each step, all of one chunk.

    Attributes:
        of: What is copied; it has one lane and no switches.
        name: ``int32[p, n]``: the rank of each copy's ranks.
        number: ``int32[p, c]``: the chunk of each copy's chunks.
        order: ``int64[p m]``: the sends of a step in the order in which they stand, of those of all copies,
            one after another.
        window: Lanes of each copy, which its steps take in turn.
    """

    of: Schedule
    name: Ints
    number: Ints
    order: Longs
    window: int

    def __call__(self, i: int) -> Sends:
        """The sends of step i."""
        rows, (copy, row) = self.of.make(i), self._stands
        usual, ends = self._ends
        if rows.src is not usual.src or rows.dst is not usual.dst:
            ends = self._moved(rows)
        chunk = self.number.ravel()[copy * np.intp(self.number.shape[1]) + rows.chunk[row]]
        lane = (copy * self.window + i % self.window).astype(np.uint16)
        return replace(ends, chunk=chunk, op=rows.op[row], lane=lane)

    @functools.cached_property
    def _stands(self) -> tuple[Longs, Longs]:
        """The copy that each send is of, and its row in what is copied."""
        copy, row = np.divmod(self.order, len(self.order) // len(self.name))
        return copy, row

    @functools.cached_property
    def _ends(self) -> tuple[Sends, Sends]:
        """The first step as it is copied, and copied: most steps go from the same ranks to the same."""
        rows = self.of.make(0)
        return rows, self._moved(rows)

    def _moved(self, rows: Sends) -> Sends:
        """Sends of all copies, but for their chunks and lanes."""
        copy, row = self._stands
        own = take(rows, row)
        return replace(own, src=self.name[copy, own.src], dst=self.name[copy, own.dst])
