"""A collective schedule as columns of sends, made step by step."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .collective import Collective
from .topology import Floats, Ints

COPY, REDUCE = 0, 1
MOST_ROWS = 50_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Sends:
    """The sends of one step. All of them read the state before the step.

    Shapes: m sends, every column ``[m]``: src, dst, chunk, count int32, op uint8, lane uint16.

    Attributes:
        src, dst: Vertices: ranks, or switches that reduce or multicast.
        chunk, count: First chunk and how many consecutive ones, modulo the schedule's chunks.
        op: COPY overwrites at dst, REDUCE adds to what is there.
        lane: An independent pipeline: direction of a ring, axis order, channel.
    """

    src: Ints
    dst: Ints
    chunk: Ints
    count: Ints
    op: npt.NDArray[np.uint8]
    lane: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.src)


def sends(
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    chunk: npt.ArrayLike,
    count: npt.ArrayLike = 1,
    op: npt.ArrayLike = COPY,
    lane: npt.ArrayLike = 0,
) -> Sends:
    """Columns of one step; scalars are repeated to the length of the others."""
    given = np.broadcast_arrays(*(np.atleast_1d(np.asarray(c)) for c in (src, dst, chunk, count, op, lane)))
    kinds = (np.int32, np.int32, np.int32, np.int32, np.uint8, np.uint16)
    columns = [np.ascontiguousarray(c, kind) for c, kind in zip(given, kinds, strict=True)]
    return Sends(*columns)


def join(parts: list[Sends]) -> Sends:
    """One step of several that happen at once."""
    if len(parts) == 1:
        return parts[0]
    names = ("src", "dst", "chunk", "count", "op", "lane")
    return (
        Sends(*(np.concatenate([getattr(p, c) for p in parts]) for c in names))
        if parts
        else sends([], [], [])
    )


@dataclass(frozen=True, eq=False)
class Orbit:
    """The sends of one rank, where all ranks do alike: every other send is one of these with all ranks moved.

    To move is to go round a ring or a torus; chunks are renamed by it, but what is moved waits for what is
    moved.

    Shapes: k sends of rank 0, g moves, n ranks.

    Attributes:
        step: ``int64[k]``, ascending.
        out: The sends of rank 0.
        into: Row i is row i of ``out`` moved so that it arrives at rank 0.
        moves: ``int32[g, n]``: permutations of the ranks that commute and of which all moves consist. With
            none of them *any* permutation of the ranks will do.
    """

    step: npt.NDArray[np.int64]
    out: Sends
    into: Sends
    moves: Ints


@dataclass(frozen=True, eq=False)
class Alike:
    """Parts of a schedule that do alike, each on chunks of its own: channels, each on a rail of its own.

    The chunks are ``parts`` equal stretches. What sends those of stretch k + 1 are the sends of stretch k
    with all ranks moved, and the switches with them, in the same steps and on lanes that no other part has.

    Attributes:
        parts: How many, 2 or more.
        move: ``int32[n]``: where each rank goes; after so many moves as there are parts all are back.
    """

    parts: int
    move: Ints


@dataclass(frozen=True, eq=False)
class Repeat:
    """The sends of the first round, where every round sends the same, some chunks further on.

    Row i is sent in step ``step[i] + k period`` with chunk ``rows.chunk[i] + k chunks``, for k below
    ``times``; and that is all that is sent.

    Shapes: m sends.

    Attributes:
        step: ``int64[m]``.
        rows: Them, in ranks of one group.
        period: Steps from one round to the next.
        times: Rounds.
        chunks: By which a round is further on than the last.
    """

    step: npt.NDArray[np.int64]
    rows: Sends
    period: int
    times: int
    chunks: int = 1

    @property
    def shares_links(self) -> bool:
        """Whether several lanes lead from one rank to another; rounding then decides which ends first."""
        pairs = np.stack([self.rows.src, self.rows.dst], 1).astype(np.int64)
        lanes = np.concatenate([pairs, self.rows.lane[:, None]], 1)
        return len(np.unique(lanes, axis=0)) > len(np.unique(pairs, axis=0))


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """Who sends which chunk to whom, in which step.

    Steps are made when asked for, repeatably, so a schedule of 170 million sends costs no memory.

    Attributes:
        collective: What it claims to compute, for one group.
        algorithm: Who made it.
        groups: ``int32[groups, n]``, the vertex of each group's local rank.
        vertices: Vertex numbers are below this.
        step_count: Number of steps.
        make: Step number to sends.
        share: ``float64[p]``, the part of D that each of the first p chunks is; those after them repeat
            these, and all together are 1. Mostly p is the number of chunks. None: equal chunks.
        lanes: Lane numbers are below this.
        pattern: Step number to a key; steps with equal keys have the same src, dst and bytes. None: no two
            are known to be.
        orbit: Gives the sends of one rank where all ranks of a group do alike; None: nothing is claimed.
        alike: Its parts where these do alike though ranks may not; None: nothing is claimed.
        repeat: Its first round where all are like it; None: nothing is claimed.
    """

    collective: Collective
    algorithm: str
    groups: Ints
    vertices: int
    step_count: int
    make: Callable[[int], Sends]
    share: Floats | None = None
    lanes: int = 1
    pattern: Callable[[int], Hashable] | None = None
    orbit: Callable[[], Orbit | None] | None = None
    alike: Alike | None = None
    repeat: Repeat | None = None
    _ends: list[Floats] = field(default_factory=list)

    @property
    def ranks(self) -> int:
        """Ranks of one group."""
        return self.collective.ranks

    @property
    def chunks(self) -> int:
        """Chunks of one group's array."""
        return self.collective.chunks

    def steps(self) -> Iterator[Sends]:
        """The sends of each step in turn."""
        return (self.make(i) for i in range(self.step_count))

    def key(self, step: int) -> Hashable:
        """Equal keys: same src, dst and bytes."""
        return ("step", step) if self.pattern is None else self.pattern(step)

    def bytes(self, rows: Sends, size: float) -> Floats:
        """Bytes of each send when the group's whole array has ``size`` bytes: ``float64[m]``."""
        if self.share is None:
            return rows.count.astype(np.float64) * (size / self.chunks)
        if not self._ends:
            self._ends.append(np.concatenate([[0.0], np.cumsum(self.share)]))
        ends, period = self._ends[0], len(self.share)
        first = rows.chunk % period
        times, last = np.divmod(first + rows.count, period)
        part = times * ends[-1] + ends[last] - ends[first]
        # A difference of running sums loses digits; one chunk alone is known exactly.
        return np.where(rows.count == 1, self.share[first], part) * size

    @property
    def parts(self) -> Floats:
        """``float64[chunks]``: the part of D that each chunk is."""
        if self.share is None:
            return np.full(self.chunks, 1 / max(self.chunks, 1))
        return np.tile(self.share, self.chunks // max(len(self.share), 1))

    def columns(self) -> dict[str, npt.NDArray[np.int64]]:
        """All sends as columns: step, src, dst, chunk, count, op, lane.

        Raises:
            ValueError: above 50 million rows; go step by step instead.
        """
        parts, rows = [], 0
        for part in self.steps():
            parts.append(part)
            rows += len(part)
            if rows > MOST_ROWS:
                raise ValueError(f"{self!r} has more than {MOST_ROWS:,} sends; read it with .steps()")
        whole = join(parts)
        step = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
        names = ("src", "dst", "chunk", "count", "op", "lane")
        return {"step": step} | {c: getattr(whole, c).astype(np.int64) for c in names}

    def __repr__(self) -> str:
        groups = f", groups={len(self.groups)}" if len(self.groups) > 1 else ""
        return (
            f"Schedule({self.collective.name}, {self.algorithm}, ranks={self.ranks}{groups}, "
            f"chunks={self.chunks}, steps={self.step_count})"
        )


def take(rows: Sends, at: npt.NDArray[np.integer[Any]] | slice) -> Sends:
    """Some of the sends, by row number; of a slice they are views."""
    return Sends(rows.src[at], rows.dst[at], rows.chunk[at], rows.count[at], rows.op[at], rows.lane[at])


def one_group(ranks: int) -> Ints:
    """The groups of a schedule that has one, on ranks 0..n-1."""
    return np.arange(ranks, dtype=np.int32)[None]


def from_columns(
    collective: Collective,
    algorithm: str,
    groups: Ints,
    columns: dict[str, npt.ArrayLike],
    share: Floats | None = None,
) -> Schedule:
    """A schedule of columns that are all in memory. Rows may stand in any order of steps.

    Args:
        collective: What it computes.
        algorithm: Name.
        groups: ``int32[groups, n]``.
        columns: step, src, dst, chunk and, where they differ from 1, COPY and 0, count, op and lane.
        share: Part of D of each chunk.
    """
    step = np.asarray(columns["step"], np.int64)
    rows = sends(
        *(columns[c] for c in ("src", "dst", "chunk")),
        *(columns.get(c, d) for c, d in (("count", 1), ("op", 0), ("lane", 0))),
    )
    rows = sends(
        *(
            np.broadcast_to(getattr(rows, c), step.shape)
            for c in ("src", "dst", "chunk", "count", "op", "lane")
        )
    )
    order = np.argsort(step, kind="stable")
    count = int(step.max()) + 1 if len(step) else 0
    cut = np.searchsorted(step[order], np.arange(count + 1))

    def make(i: int) -> Sends:
        return take(rows, order[cut[i] : cut[i + 1]])

    top = max([int(groups.max()), *(int(c.max()) for c in (rows.src, rows.dst) if len(c))]) + 1
    lanes = int(rows.lane.max()) + 1 if len(rows) else 1
    return Schedule(collective, algorithm, groups, top, count, make, share, lanes)
