"""Slices joined by a data centre network: what enters a slice streams on inside it while more enters.

all_gather: the array is cut into parts, one for each axis order, and into pieces. In unit (piece, d) a slice
sends its shards of the piece to the slice d further on, where they enter at some of the chips; one step later
these begin to tell them along the first axis of the order, then along the next, a hop in each step. A slice
tells its own shards in the same way from where they are, on lanes of their own. Each unit follows the one
before by one step, so the links inside are busy with one unit while the network brings another. Each chip
gets every shard along one tree, hence once; reduce_scatter is the mirror image. In all_reduce the array is
cut into rounds, of which one is told while the next is summed: on an open axis that fills links both ways.

Where shards enter is free. Along an axis that wraps around they enter everywhere. A chip at an end of an open
axis has one link less than others, and all that it gets comes over the rest; what enters there need not.

Cost: with W the time that the network needs, I that of the busiest link inside, U units and a drain of one
unit's way through the slice, about max(W + alpha + drain, I); all_reduce about twice W, or I of both
halves where that is more, and what the first and the last round take alone.
"""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.schedule import Schedule, Sends, join, one_group, sends
from hopcast.ir.topology import Axis, Floats

Longs = npt.NDArray[np.int64]
_FIRST = 0.5  # of a piece: the first, so that what enters on two lanes is not in step
_FEW = 4  # pieces from which on there is such a first one
_EARLY = 4  # a slice's own shards are told in this part of the steps where they go before others


@dataclass(frozen=True)
class Plan:
    """How all_gather goes.

    Attributes:
        slices: 2 or more.
        axes: Of a slice.
        orders: Axes in the order in which each part of the array is told along them.
        share: Of each part; they sum to 1.
        ends: Of each axis, whether shards enter only at its two ends.
        pieces: Into which each part is cut.
        lanes: Units that may enter at a time.
        rounds: Of all_reduce.
        before: Whether a slice tells its own shards on the lanes of those that enter, before these; else
            beside them. Where sums go the other way, what the network waits for must not share links with
            what it does not wait for. Of two slices of v5e 8x8, reduce_scatter of 1 GiB is at 0.95 of the
            bound so and else at 0.69; all_gather at 0.92, and else at 0.97.
    """

    slices: int
    axes: tuple[Axis, ...]
    orders: tuple[tuple[int, ...], ...]
    share: tuple[float, ...]
    ends: tuple[bool, ...]
    pieces: int = 1
    lanes: int = 2
    rounds: int = 1
    before: bool = False

    @property
    def chips(self) -> int:
        """Of a slice."""
        return math.prod(a.length for a in self.axes)

    @property
    def grain(self) -> int:
        """Chunks of a piece of a shard: what is half way round an even ring goes half each way."""
        return 2 if any(a.wraps and a.length % 2 == 0 for a in self.axes) else 1

    @property
    def units(self) -> int:
        """That enter a slice in one all_gather."""
        return self.pieces * (self.slices - 1)

    @property
    def everywhere(self) -> "Plan":
        """The same with shards that enter at all chips, as a slice's own do."""
        return replace(self, ends=(False,) * len(self.axes))

    @property
    def weights(self) -> Floats:
        """``float64[pieces]``: the part of the array that each piece is."""
        size = np.ones(self.pieces)
        if self.shifted:
            size[0] = _FIRST
        return np.asarray(size / size.sum(), np.float64)

    @property
    def shifted(self) -> bool:
        """Whether the first piece is smaller, which keeps the two lanes out of step."""
        return self.pieces >= _FEW and not self.before

    def begins(self, piece: int) -> int:
        """The step in which a slice begins to tell its own shards."""
        return piece * (self.slices - 1) // (_EARLY if self.before else 1)

    def lane(self, unit: int) -> int:
        """On which a unit enters.

        Units of half the size shift one lane against the other by half a unit. Where a piece has an even
        number of units, both lanes would have as many of these, so they go on one.
        """
        if not self.shifted or self.lanes != 2 or self.slices % 2 == 0:
            return unit % self.lanes
        return 0 if unit < self.slices - 1 else (unit + 1) % 2

    def number(self, order: tuple[int, ...]) -> Longs:
        """``int64[chips]``: of each chip's shard in a part; the order's first axis is the lowest digit."""
        shape = [a.length for a in self.axes]
        at = np.unravel_index(np.arange(self.chips), shape)
        weight = np.cumprod([1, *(shape[a] for a in order)])
        return np.asarray(sum(at[a] * w for a, w in zip(order, weight, strict=False)), np.int64)

    def entries(self, order: tuple[int, ...]) -> tuple[Longs, Longs]:
        """The chips at which a part enters, and the number of the first shard at each, one more behind."""
        chip = _grid(self, order)
        return chip, np.arange(len(chip) + 1) * self.chips // len(chip)

    def goal(self, order: tuple[int, ...]) -> Longs:
        """``int64[chips]``: the chip of another slice at which each chip's shard enters."""
        chip, cut = self.entries(order)
        return chip[np.searchsorted(cut, self.number(order), "right") - 1]


def _grid(plan: Plan, axes: tuple[int, ...]) -> Longs:
    """Chips at the places of some axes where shards enter, 0 on the others; the first is the lowest digit."""
    chip = np.zeros(1, np.int64)
    for a in axes:
        chip = (_places(plan, a)[:, None] * _stride(plan, a) + chip).ravel()
    return chip


def _places(plan: Plan, a: int) -> Longs:
    n = plan.axes[a].length
    return np.array([0, n - 1]) if plan.ends[a] and n > 1 else np.arange(n)


def _stride(plan: Plan, a: int) -> int:
    return math.prod(axis.length for axis in plan.axes[a + 1 :])


@dataclass(frozen=True, eq=False)
class Told:
    """How a piece is told inside a slice. Columns, one row a send, ascending in step.

    Shapes: all ``int64[m]``.

    Attributes:
        step: Counted from its first.
        src, dst: Chips of the slice.
        chunk, count: Counted from the first chunk of the piece.
        leg: Along the how many-th axis.
        down: 1 where towards lower places, else 0.
    """

    step: Longs
    src: Longs
    dst: Longs
    chunk: Longs
    count: Longs
    leg: Longs
    down: Longs

    def of(self, step: int) -> "Told":
        """The sends of one step."""
        rows = slice(*np.searchsorted(self.step, [step, step + 1]))
        return Told(*(c[rows] for c in vars(self).values()))


@functools.lru_cache(maxsize=64)
def told(plan: Plan, order: tuple[int, ...]) -> Told:
    """What has entered, told along the axes in order: along one from each place where something enters."""
    _, cut = plan.entries(order)
    rows: list[list[Longs]] = []
    begin, block = 0, 1  # the first step of a leg, and places of entry on the axes before
    for j, a in enumerate(order):
        stride, n, at = _stride(plan, a), plan.axes[a].length, _places(plan, a)
        behind = _grid(plan, order[j + 1 :])
        place, base = np.tile(at, len(behind)), np.repeat(behind, len(at))
        first = np.arange(len(place)) * block
        low, high = cut[first] * plan.grain, cut[first + block] * plan.grain
        before = np.flatnonzero(np.all(_coords(plan)[list(order[j:])] == 0, axis=0))
        for down in (0, 1):
            for h, moved in enumerate(_hops(plan.axes[a], place, down)):
                some = np.flatnonzero(moved)
                half = (high - low)[some] * (moved[some] == 1) // 2
                count = (high - low)[some] - half
                chunk = low[some] + half * down
                hop = 1 - 2 * down
                src = base[some] + (place[some] + hop * h) % n * stride
                dst = base[some] + (place[some] + hop * (h + 1)) % n * stride
                columns = [np.full_like(src, begin + h), src, dst, chunk, count]
                rows.append(_on_lines([*columns, np.full_like(src, j), np.full_like(src, down)], before))
        begin, block = begin + (n // 2 if plan.axes[a].wraps else n - 1), block * len(at)
    whole = [np.concatenate(c) for c in zip(*rows, strict=True)]
    ordered = np.argsort(whole[0], kind="stable")
    ordered = ordered[whole[4][ordered] > 0]
    return Told(*(c[ordered] for c in whole))


def _coords(plan: Plan) -> Longs:
    """``int64[axes, chips]``."""
    return np.stack(np.unravel_index(np.arange(plan.chips), [a.length for a in plan.axes]))


def _hops(axis: Axis, place: Longs, down: int) -> list[Longs]:
    """Of each hop one way, what it moves of what enters at a place: 2 all of it, 1 half, 0 nothing."""
    n = axis.length
    if axis.wraps:
        return [np.full_like(place, 1 if 2 * h + 2 == n else 2) for h in range(n // 2)]
    room = place if down else n - 1 - place
    return [np.where(room > h, 2, 0) for h in range(n - 1)]


def _on_lines(columns: list[Longs], before: Longs) -> list[Longs]:
    """The same sends on every line: from all chips that the legs before have reached."""
    times = len(before)
    step, src, dst, *others = (np.repeat(c, times) for c in columns)
    on = np.tile(before, len(columns[0]))
    return [step, src + on, dst + on, *others]


def all_gather(plan: Plan) -> Schedule:
    """Chunks are numbered by part, piece, slice and shard."""
    ways, own_ways = ([told(p, order) for order in plan.orders] for p in (plan, plan.everywhere))
    depth = 1 + max(int(t.step.max(initial=0)) for t in (*ways, *own_ways))
    legs = 2 * len(plan.axes)
    unit = [divmod(u, plan.slices - 1) for u in range(plan.units)]

    def make(i: int) -> Sends:
        found = _entering(plan, i, *unit[i]) if i < plan.units else []
        for part in range(len(plan.orders)):
            lane = plan.lanes + 2 * part * legs
            for u in range(max(0, i - depth), min(plan.units, i)):
                piece, d = unit[u]
                found.append(_telling(plan, ways[part].of(i - 1 - u), part, piece, d + 1, lane))
            for piece in (k for k in range(plan.pieces) if 0 <= i - plan.begins(k) < depth):
                rows = own_ways[part].of(i - plan.begins(piece))
                found.append(_telling(plan, rows, part, piece, 0, lane if plan.before else lane + legs))
        return join(found)

    owner = np.concatenate([np.tile(_owners(plan, order), plan.pieces) for order in plan.orders])
    each = plan.slices * plan.chips * plan.grain
    part_of = np.outer(plan.share, plan.weights).ravel() / each
    share = None if np.all(part_of == part_of[0]) else np.repeat(part_of, each)
    n, lanes = plan.slices * plan.chips, plan.lanes + 2 * legs * len(plan.orders)
    whole = of("all_gather", n, owner)
    return Schedule(whole, "hierarchical", one_group(n), n, plan.units + depth, make, share, lanes)


def all_reduce(plan: Plan) -> Schedule:
    """Rounds follow each other through reduce_scatter and all_gather."""
    there = all_gather(plan)
    return algebra.pipeline([algebra.reverse(there), there], plan.rounds)


def _owners(plan: Plan, order: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Ranks in order of the chunks of a piece."""
    chip = np.argsort(plan.number(order))
    rank = (np.arange(plan.slices)[:, None] * plan.chips + chip).ravel()
    return np.repeat(rank, plan.grain).astype(np.int32)


def _base(plan: Plan, part: int, piece: int, at: Longs) -> Longs:
    """First chunk of a piece of a part of each slice."""
    return np.asarray(((part * plan.pieces + piece) * plan.slices + at) * plan.chips * plan.grain, np.int64)


def _entering(plan: Plan, unit: int, piece: int, d: int) -> list[Sends]:
    """All shards of a piece to the slice d + 1 further on."""
    at, chip = np.arange(plan.slices)[:, None], np.arange(plan.chips)
    found = []
    for part, order in enumerate(plan.orders):
        dst = (at + d + 1) % plan.slices * plan.chips + plan.goal(order)
        chunk = _base(plan, part, piece, at) + plan.number(order) * plan.grain
        src = (at * plan.chips + chip).ravel()
        found.append(sends(src, dst.ravel(), chunk.ravel(), plan.grain, lane=plan.lane(unit)))
    return found


def _telling(plan: Plan, rows: Told, part: int, piece: int, d: int, lane: int) -> Sends:
    """In every slice, what came from the slice d before."""
    at = np.arange(plan.slices)[:, None]
    chunk = _base(plan, part, piece, (at - d) % plan.slices) + rows.chunk
    src, dst = (at * plan.chips + end for end in (rows.src, rows.dst))
    count, on = (np.tile(c, plan.slices) for c in (rows.count, lane + 2 * rows.leg + rows.down))
    return sends(src.ravel(), dst.ravel(), chunk.ravel(), count, lane=on)
