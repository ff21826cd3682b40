"""The sends that were pulled from a schedule and are not received yet: all that has to be in memory.

A send waits for all earlier ones of its lane. So nothing that has not been pulled can begin, as long as each
lane that has more to send has something that was pulled and is not received. When it no longer has, a *bell*
rings: a gate, behind all others, of the last turn of the lane that was pulled. Then all that is over is
dropped, and steps are pulled until every lane has something to send again.

What is dropped leaves behind two numbers for its lane: when the last of it was received, and the latency on
the way to that.
"""

from dataclasses import dataclass, replace

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import REDUCE, Schedule, Sends, join, sends, take
from hopcast.ir.topology import Floats

from . import listing
from .arcs import Arcs
from .network import Longs, Paths, Problem
from .noise import Noise
from .ran import Ran

ROOM = 200_000  # chunks of sends that are pulled at a time at least, some 30 MB
_CHUNKS = 8  # that are waited for one by one and take as much memory as a send does besides
_MERGED = 100_000  # pairs that are put in order at a time at least
MOST = 100_000_000  # sends in all: minutes
_MOST_LANES = 50_000_000  # four numbers each


@dataclass(frozen=True, eq=False)
class Book:
    """What a look at all steps tells, in which none is kept.

    Shapes: k distinct pairs.

    Attributes:
        sends: How many there are.
        last: ``int64[lanes]``: the last step in which each lane sends, or -1; lane l of vertex v is
            ``v * schedule.lanes + l``.
        code: ``int64[k]``: the distinct pairs, ``src * vertices + dst``, ascending.
        load: ``float64[k]``: bytes from the one to the other.
        reduces: Whether any send does.
        vertices: Vertex numbers are below this.
    """

    sends: int
    last: Longs
    code: Longs
    load: Floats
    reduces: bool
    vertices: int


def look(schedule: Schedule, vertices: int, size: float, most: int | None = None) -> Book | None:
    """Make every step once; None if there are too many lanes.

    Args:
        schedule: Any.
        vertices: Vertex numbers are below this.
        size: D of one group, bytes.
        most: Sends at most; `listing.MOST_SENDS` if not given.

    Raises:
        TooManyError: if there are more.

    Cost: a tenth of a microsecond for each send, and of memory some 20 bytes for each distinct pair.

    >>> from hopcast.algorithms import get
    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.group import Hint
    >>> from hopcast.ir.mesh import group, physical
    >>> where = group(c := cluster("ring:3"), physical(c.topology), ())
    >>> book = look(get("ring").build("all_gather", where, Hint()), 3, 6.0)
    >>> book.sends, book.last.tolist(), book.code.tolist(), book.load.tolist()
    (6, [1, 1, 1], [1, 5, 6], [4.0, 4.0, 4.0])
    """
    if vertices * schedule.lanes > _MOST_LANES:
        return None
    last, count, reduces = np.full(vertices * schedule.lanes, -1, np.int64), 0, False
    known = _Pairs()
    for i, rows in enumerate(schedule.steps()):
        last[lanes_of(schedule, rows)] = i
        count += len(rows)
        reduces = reduces or bool(np.any(rows.op == REDUCE))
        listing.fits(schedule, count, most)
        known.add(rows.src.astype(np.int64) * vertices + rows.dst, schedule.bytes(rows, size))
    known.merge()
    return Book(count, last, known.code, known.load, reduces, vertices)


def lanes_of(schedule: Schedule, rows: Sends) -> Longs:
    """``int64[m]``: the number of each send's lane among those of all vertices."""
    return rows.src.astype(np.int64) * schedule.lanes + rows.lane


class _Pairs:
    """Distinct pairs and the bytes between them; those of steps with new ones are merged many at a time."""

    def __init__(self) -> None:
        self.code, self.load = np.zeros(0, np.int64), np.zeros(0)
        self._later: list[tuple[Longs, Floats]] = []
        self._many = 0

    def add(self, code: Longs, volume: Floats) -> None:
        """The sends of a step."""
        some, which = np.unique(code, return_inverse=True)
        volume = np.bincount(which, volume, len(some)).astype(np.float64)
        at = np.searchsorted(self.code, some)
        if np.array_equal(self.code[np.minimum(at, len(self.code) - 1)] if len(self.code) else at[:0], some):
            self.load[at] += volume
            return
        self._later.append((some, volume))
        self._many += len(some)
        if self._many > max(len(self.code) // 2, _MERGED):
            self.merge()

    def merge(self) -> None:
        """Put in order what came."""
        codes, loads = zip((self.code, self.load), *self._later, strict=True)
        self.code, which = np.unique(np.concatenate(codes), return_inverse=True)
        self.load = np.bincount(which, np.concatenate(loads), len(self.code)).astype(np.float64)
        self._later, self._many = [], 0


class Window:
    """What has been pulled and is not received, as the problem of an engine."""

    def __init__(
        self, schedule: Schedule, cluster: Cluster, size: float, gamma: float, uneven: Noise | None,
        book: Book, paths: Paths,
    ) -> None:  # fmt: skip
        """Of a schedule of which nothing has been pulled yet; ``paths`` are those of the book's pairs."""
        self.schedule, self.cluster, self.book, self.paths = schedule, cluster, book, paths
        self._size, self._gamma, self._uneven = size, gamma, uneven
        self.step, self.rows = np.zeros(0, np.int64), sends([], [], [])
        self._next, self._pulled = 0, np.full(len(book.last), -1, np.int64)
        self._late = np.zeros(0)  # of each send, if it is ready: latency on the way to that
        self._ended, self._carried = np.full(len(book.last), -1.0), np.zeros(len(book.last))
        self.received, self.most = 0, 0

    @property
    def seconds(self) -> float:
        """When the last send that was dropped was received."""
        return float(self._ended.max(initial=0.0))

    @property
    def latency(self) -> float:
        """Seconds of the path to that in which a send waits for its first byte."""
        return float(self._carried[self._ended.argmax()]) if len(self._ended) else 0.0

    def pull(self, ran: Ran | None = None) -> tuple[Longs, Problem]:
        """Drop what was received, and pull until every lane has something to send.

        Args:
            ran: What came of the sends that there are.

        Returns:
            The numbers of those that are kept, and the problem of these and of what is new, in this order.

        Raises:
            TooManyError: if more sends are under way than can be kept.
        """
        kept = self.drop(ran) if ran is not None else np.zeros(0, np.int64)
        step, rows = self._more(kept)
        self.step = np.concatenate([self.step[kept], step])
        self.rows = join([take(self.rows, kept), rows])
        self.most = max(self.most, len(self.step))
        arcs = listing.fresh_waits(self.step, self.rows, self.book.vertices, self.schedule.chunks)
        new = arcs.pending[len(kept) : len(self.step)] == 0
        mine = lanes_of(self.schedule, rows)
        self._late = np.append(self._late[kept], np.where(new, self._carried[mine], 0.0))
        return kept, self._problem(arcs)

    def drop(self, ran: Ran) -> Longs:
        """Which sends are not received yet; what is left behind by the others is noted."""
        from . import window_engine as engine  # numba is imported only where it is needed

        lane = lanes_of(self.schedule, self.rows)
        ready, start, end = (np.ascontiguousarray(c) for c in (ran.ready, ran.start, ran.end))
        about = (ran.blame.astype(np.int64), ready, start, end, ran.left, lane)
        engine.leave(*about, self._late, self._carried, self._ended)
        kept = np.flatnonzero(ran.left)
        self.received += len(self.step) - len(kept)
        return kept

    def _more(self, kept: Longs) -> tuple[Longs, Sends]:
        """What is pulled: steps until each lane that has more to send has some, and as many as there are."""
        book, schedule, pulled = self.book, self.schedule, self._pulled
        wants = book.last > pulled
        wants[lanes_of(schedule, take(self.rows, kept))] = False
        wanted, first, parts, many, chunks = int(wants.sum()), self._next, [], len(kept), 0
        held = int(self.rows.count[kept].sum(dtype=np.int64))
        while self._next < schedule.step_count and (wanted or chunks < max(held, ROOM)):
            rows = schedule.make(self._next)
            lane = lanes_of(schedule, rows)
            if wanted:
                wanted -= len(np.unique(lane[wants[lane]]))
                wants[lane] = False
            pulled[lane] = self._next
            parts.append(rows)
            many, chunks = many + len(rows), chunks + int(rows.count.sum(dtype=np.int64))
            self._next += 1
            listing.fits(schedule, max(many, (held + chunks) // _CHUNKS))
        return np.repeat(np.arange(first, self._next), [len(p) for p in parts]), join(parts)

    def _problem(self, arcs: Arcs) -> Problem:
        rows, book = self.rows, self.book
        lane = lanes_of(self.schedule, rows)
        pair = np.searchsorted(book.code, rows.src.astype(np.int64) * book.vertices + rows.dst)
        volume = self.schedule.bytes(rows, self._size)
        after = self._gamma * volume * (rows.op == 1)
        if self._uneven is not None:
            volume = volume * self._uneven.factors(self.step, rows)
        ends = np.flatnonzero((self.step == self._pulled[lane]) & (book.last[lane] > self.step))
        whole = Problem(self.cluster.topology.bandwidth, self.paths, pair, volume, after, arcs)
        return _with_bells(whole, ends, lane[ends])


def _with_bells(problem: Problem, ends: Longs, lane: Longs) -> Problem:
    """A gate more for each lane of the given sends, which waits for these; nothing waits for it."""
    arcs = problem.arcs
    lanes, which = np.unique(lane, return_inverse=True)
    more = np.zeros(len(arcs.pending) + 1, np.int64)
    more[ends + 1] = 1
    target = np.insert(arcs.target, arcs.start[ends + 1], len(arcs.pending) + which)
    start = arcs.start + np.cumsum(more)
    rung = Arcs(
        np.append(start, np.full(len(lanes), start[-1])),
        target.astype(np.int32),
        np.append(arcs.pending, np.bincount(which, minlength=len(lanes))).astype(np.int32),
    )
    return replace(problem, arcs=rung, bells=len(lanes))
