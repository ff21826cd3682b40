"""all_to_all hop by hop: messages go along the axes one after the other, and all axes work at once.

Every message is cut into one part for each axis; part p goes along axis p first, then p + 1, ... In slot s
all parts are on different axes, and along each line of an axis the messages at rank i for coordinate j are
passed on until they are there: round a ring the shorter way, half each way where both are equal; on an open
line the farthest destination first. After the last slot every coordinate of a message is that of its
destination. The busiest axis never waits, so bandwidth is the best that minimal routes can have; latency is
that of all the steps.

Cost: with k axes k max(n_a // 2 wrapped, n_a - 1 open) steps; T = that alpha + (D / N) max over axes of load
/ W, where the load of an axis of n is n / 8 wrapped and even, (n^2 - 1) / (8 n) odd, n / 4 or (n^2 - 1) / (4
n) open.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from hopcast.ir import algebra
from hopcast.ir.collective import Collective
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends
from hopcast.ir.topology import Axis, Floats, Ints

from . import _line_moves
from ._axis_load import axis_hops, axis_load

SOURCE = (
    "Dally and Towles 2004, Principles and Practices of Interconnection Networks, section 8.4 "
    "(dimension-order routing); "
    "Jain and Sabharwal 2010, doi:10.1109/SC.2010.41 (rotated axis orders)"
)
MOST_RANKS = 256


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """One part of every message for each axis order, all in step."""
    plan = _Plan.of(group)
    return algebra.beside([_part(plan, p) for p in range(len(plan.axes))], one_lane=True)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a grid, and moves n^2 messages hop by hop."""
    if group.switched:
        return "ranks on a switch have no axes; use direct or pairwise"
    if group.ranks > MOST_RANKS:
        return (
            f"it passes on {group.ranks:,}^2 messages one by one and stops at {MOST_RANKS} ranks; use direct"
        )
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On links that serve one group, of one latency, where one axis is the busiest in every step.

    The middle rank of that axis then has a full link in every step and no rank is ever late.
    """
    busy = _busy(group)
    return (
        group.uniform
        and len(set(group.latency)) == 1
        and bool((busy >= busy.max(0) * (1 - 1e-12)).all(1).any())
    )


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """As many slots as axes, each of the steps of the longest axis; a slot moves one part of the array."""
    busy = _busy(group)
    alpha = max(t for t, a in zip(group.latency, group.axes, strict=True) if a.length > 1)
    return Cost(len(busy) * busy.shape[1] * alpha, float(busy.max(0).sum()) * hint.size / group.ranks)


def _busy(group: Group) -> Floats:
    """Seconds per D / N that each axis is busy in each step: ``float64[axes, steps]``, over the whole array.

    Rings among rings work step by step on what has still to go: the longest is the busiest in each step, and
    the others need no stretching. Beside an open axis all are made equally busy in every step.
    """
    long = [(a, w) for a, w in zip(group.axes, group.bandwidth, strict=True) if a.length > 1]
    steps = max(axis_hops(a) for a, _ in long)
    if all(a.wraps for a, _ in long):
        n = np.array([[a.length] for a, _ in long])
        left: Floats = np.maximum(0.5 - (np.arange(steps) + 0.5) / n, 0.0)
        left /= np.array([[w] for _, w in long])
        return left
    return np.repeat([[axis_load(a) / w / steps] for a, w in long], steps, 1)


@dataclass(frozen=True)
class _Plan:
    """What all axis orders share.

    Attributes:
        axes: Those longer than 1.
        steps: Of a slot.
        moves: Along each axis.
        cut: For each message, src * N + dst, the number of its pieces that end at or before each unit:
            ``int32[N * N, units + 1]``.
    """

    axes: tuple[Axis, ...]
    steps: int
    moves: tuple[_line_moves.Moves, ...]
    cut: Ints

    @classmethod
    def of(cls, group: Group) -> "_Plan":
        axes = tuple(a for a in group.axes if a.length > 1)
        steps = max(axis_hops(a) for a in axes)
        rings = all(a.wraps for a in axes)
        moves = tuple(_line_moves.ring(a.length) if rings else _line_moves.along(a, steps) for a in axes)
        return cls(axes, steps, moves, _cuts(axes, moves, 2 if rings else 2 * steps))

    @functools.cached_property
    def first(self) -> Ints:
        """``int32[N * N]``: the first chunk of each message."""
        pieces = self.cut[:, -1]
        return (np.cumsum(pieces) - pieces).astype(np.int32)

    @property
    def collective(self) -> Collective:
        """all_to_all of messages that are cut into pieces."""
        n = math.prod(a.length for a in self.axes)
        src, dst = (np.repeat(c, self.cut[:, -1]).astype(np.int32) for c in np.divmod(np.arange(n * n), n))
        return Collective("all_to_all", n, src, dst)

    @property
    def share(self) -> Floats | None:
        """Part of D of each piece; None if messages are whole."""
        units = self.cut.shape[1] - 1
        _, end = np.nonzero(np.diff(self.cut, axis=1))
        width = np.diff(end + 1, prepend=0)
        width[self.first] = end[self.first] + 1
        return None if np.all(width == width[0]) else width / (units * len(self.cut))


def _cuts(axes: tuple[Axis, ...], moves: tuple[_line_moves.Moves, ...], units: int) -> Ints:
    """Where messages are cut: wherever on one of the axes a part of them ends."""
    shape = tuple(a.length for a in axes)
    n = math.prod(shape)
    src, dst = (np.unravel_index(c, shape) for c in np.divmod(np.arange(n * n), n))
    ends = np.zeros((n * n, units + 1), bool)
    ends[:, units] = True
    for a, m in enumerate(moves):
        mine = np.zeros((shape[a], shape[a], units + 1), bool)
        mine[m.src, m.dst, m.low] = mine[m.src, m.dst, m.high] = True
        ends |= mine[src[a], dst[a]]
    ends[:, 0] = False
    return np.cumsum(ends, axis=1, dtype=np.int32)


def _part(plan: _Plan, p: int) -> Schedule:
    """Axis p first, then p + 1, ..., on whole messages."""
    shape = tuple(a.length for a in plan.axes)
    k, n = len(shape), math.prod(shape)
    stride = np.array([math.prod(shape[a + 1 :]) for a in range(k)])

    def make(i: int) -> Sends:
        slot, step = divmod(i, plan.steps)
        a, done = (p + slot) % k, [(p + j) % k for j in range(slot)]
        rows = plan.moves[a].of(step)
        rest = tuple(1 if b == a else shape[b] for b in range(k))
        offset = np.stack(np.unravel_index(np.arange(n // shape[a]), rest)) * stride[:, None]
        other, arrived = offset.sum(0), offset[done].sum(0)
        # A message stands where its destination is on the axes that are done, else where its source is.
        src, dst = (c[:, None, None] * stride[a] for c in (rows.src, rows.dst))
        place = (other - arrived)[:, None] + arrived[None]
        message = ((src + other[:, None]) * n + dst + other[None]).ravel()
        low, high = (np.repeat(c, len(other) ** 2) for c in (rows.low, rows.high))
        begin = plan.cut[message, low]
        at, to = ((c[:, None, None] * stride[a] + place).ravel() for c in (rows.at, rows.to))
        return sends(at, to, plan.first[message] + begin, plan.cut[message, high] - begin)

    return Schedule(plan.collective, "dimension_ordered", one_group(n), n, k * plan.steps, make, plan.share)
