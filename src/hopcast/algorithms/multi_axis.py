"""All axes at once: the array is cut into one part per axis order, each going along the axes in its order.

Part p goes along axis p first, then p + 1, ... Along each axis it runs the best line there is: both
directions of a ring with the antipodal shard split, or a chain where the axis is open. While part 0 is on x,
part 1 is on y, so all links of a chip work. On equal axes the parts are equal; otherwise their shares are
those that make the sum of the phases least when the parts keep step. gather, scatter, broadcast and reduce go
the same ways (broadcast is scatter, then all_gather), along the axes of the network in any order of ranks.

Cost: on k equal wrapped axes of N chips T = sum(n_i // 2) alpha + D (1 - 1/N) / (2 k W), the port bound; on
open ones sum(n_i - 1) alpha + D (1 - 1/N) / (k W).
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hopcast.ir import algebra, orbits
from hopcast.ir.collective import ROOTED, of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from . import _placed, _shares
from .bidirectional_ring import both_ways
from .chain import both_ends

SOURCE = (
    "Jain and Sabharwal 2010, doi:10.1109/SC.2010.41 (bucket algorithms); "
    "Sack and Gropp 2015, doi:10.1145/2686882"
)
OPTIONS = {"lockstep": ("auto", "on", "off")}
_MOST_STEPS = 64  # of a stretched phase


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Each part gathers along its axes in turn, whole blocks of what it has gathered before."""
    if len(group.axes) == 1 and group.axes[0].wraps:
        return both_ways(group.ranks, True)
    plan = _plan(group, hint)
    parts = [_part(group, order, "all_gather", stretched=plan.stretched) for order in _orders(group)]
    made = algebra.beside(parts, plan.share, one_lane=_one_lane(group, hint))
    closed = all(a.wraps or a.inner or a.length == 1 for a in group.axes)
    return orbits.claim(made, orbits.shifts(group.shape)) if closed else made


def gather(group: Group, hint: Hint) -> Schedule:
    """Each part is gathered on the root's line along its axes in turn."""
    return _placed.built(_gathered, group, hint)


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Scatter from the root, then all_gather."""
    return _placed.built(_spread, group, hint)


def reduce(group: Group, hint: Hint) -> Schedule:
    """reduce_scatter, then gather at the root."""
    return _placed.built(_summed, group, hint)


def _gathered(group: Group, hint: Hint) -> Schedule:
    """gather, of ranks by place."""
    parts = [_part(group, order, "gather", hint.root) for order in _orders(group)]
    return algebra.beside(parts, _plan(group, hint).share, one_lane=_one_lane(group, hint))


def _spread(group: Group, hint: Hint) -> Schedule:
    """broadcast, of ranks by place."""
    gathered, scattered = _both(group, hint)
    return algebra.then(algebra.reverse(scattered), gathered, "broadcast")


def _summed(group: Group, hint: Hint) -> Schedule:
    """reduce, of ranks by place."""
    gathered, at_root = _both(group, hint)
    return algebra.then(algebra.reverse(gathered), at_root, "reduce")


def _both(group: Group, hint: Hint) -> tuple[Schedule, Schedule]:
    """all_gather and gather of the same parts."""
    share = _plan(group, hint).share
    kinds = ("all_gather", "gather")
    made = [[_part(group, order, kind, hint.root) for order in _orders(group)] for kind in kinds]
    first, second = (algebra.beside(p, share, one_lane=_one_lane(group, hint)) for p in made)
    return first, second


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a grid."""
    if _laid_on(collective, group).switched:
        return "ranks on a switch have no axes; use ring"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On equal wrapped axes; reduce_scatter also on equal open ones.

    all_gather on open axes overlaps its own phases.
    """
    if not (group.uniform and group.equal_axes) or collective != "all_gather":
        return False
    return group.axes[0].wraps or len(group.axes) == 1 or asked == "reduce_scatter"


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """The sum over steps of the busiest axis. None for broadcast, reduce and gather."""
    return _plan(group, hint).cost if collective == "all_gather" else None


@dataclass(frozen=True)
class _Plan:
    """How the array is cut: the part of each axis order, and whether phases are stretched to keep step."""

    share: list[float]
    stretched: bool
    cost: Cost


def _plan(group: Group, hint: Hint) -> _Plan:
    """Equal shares on equal axes; else the shares and the stretching that take least."""
    orders = _orders(group)
    share = [1 / len(orders)] * len(orders)
    if not group.uniform_rates:
        return _Plan(share, False, Cost(0.0, 0.0))  # there is no closed form, and no cost is asked for
    if group.equal_axes:
        return _Plan(share, False, _in_step(group, share, False).times_size(hint.size))
    balanced = _shares.least_sum(
        [[_load(group, order, slot) for slot in range(len(order))] for order in orders]
    )
    tried = [
        _Plan(share, wide, _in_step(group, share, wide).times_size(hint.size))
        for share in (balanced, share)
        for wide in (False, True)
    ]
    return min(tried, key=lambda p: p.cost.total())


@dataclass(frozen=True)
class _Rate:
    latency: float
    per_byte: float

    def times_size(self, size: float) -> Cost:
        return Cost(self.latency, self.per_byte * size)


def _in_step(group: Group, share: list[float], stretched: bool) -> _Rate:
    """Latency and seconds per byte of D when all parts wait for each other after every step."""
    total = _Rate(0.0, 0.0)
    lines: list[list[tuple[int, float]]] = []
    for part, order in zip(share, _orders(group), strict=True):
        steps: list[tuple[int, float]] = []
        for slot, a in enumerate(order):
            each, q = part * _load(group, order, slot), _stretch(group, slot, a) if stretched else 1
            steps += [(a, each * w / q) for w in _step_weights(group, a) for _ in range(q)]
        lines.append(steps)
    for column in itertools.zip_longest(*lines):
        now = [step for step in column if step is not None]
        # Parts whose phases differ in length may meet on an axis.
        busy = [sum(t for b, t in now if b == a) for a in range(len(group.axes))]
        total = _Rate(total.latency + max(group.latency[a] for a, _ in now), total.per_byte + max(busy))
    return total


def _orders(group: Group) -> list[tuple[int, ...]]:
    """Rotated axis orders; cores of a chip stay last, so that nothing enters a chip twice."""
    lines, cores = ([a for a, axis in enumerate(group.axes) if axis.inner == own] for own in (False, True))
    turned = lines or cores
    return [(*turned[p:], *turned[:p], *(cores if lines else ())) for p in range(len(turned))]


def settled(options: dict[str, str], group: Group, collective: str) -> dict[str, str]:
    """On unequal axes parts keep step unless they are told not to; one part alone has nothing to wait for."""
    return {"lockstep": "on" if _keep_step(options, _laid_on(collective, group)) else "off"}


def _laid_on(collective: str, group: Group) -> Group:
    """The axes that parts go along: those of the network where ranks only have a root in common."""
    return _placed.of(group).group if collective in ROOTED else group


def _keep_step(options: Mapping[str, str], group: Group) -> bool:
    asked = options.get("lockstep", "auto") if len(group.axes) > 1 else "off"
    return not group.equal_axes if asked == "auto" else asked == "on"


def _one_lane(group: Group, hint: Hint) -> bool:
    """Whether a rank's sends of one step, in all parts, finish before its next step."""
    return _keep_step(hint.options, group)


def _steps(group: Group, a: int) -> int:
    axis = group.axes[a]
    return axis.length // 2 if axis.wraps else axis.length - 1


def _step_weights(group: Group, a: int) -> list[float]:
    """The part of an axis's load that each of its steps carries; an even ring's last is half a shard."""
    count, axis = _steps(group, a), group.axes[a]
    if axis.wraps and axis.length % 2 == 0:
        return [2 / (axis.length - 1)] * (count - 1) + [1 / (axis.length - 1)]
    return [1 / count] * count


def _stretch(group: Group, slot: int, a: int) -> int:
    """Pieces of a shard with which axis a has as many steps as the others that work in this slot."""
    together = math.lcm(*(_steps(group, order[slot]) for order in _orders(group)))
    return together // _steps(group, a) if together <= _MOST_STEPS else 1


def _load(group: Group, order: tuple[int, ...], slot: int) -> float:
    """Seconds per byte of a part that phase ``slot`` of an order keeps its axis busy, all_gather."""
    axis, before = group.axes[order[slot]], math.prod(group.axes[a].length for a in order[:slot])
    blocks = before / group.ranks * (axis.length - 1)
    return blocks / (2 if axis.wraps else 1) / group.bandwidth[order[slot]]


def _part(
    group: Group, order: tuple[int, ...], collective: str, root: int = 0, stretched: bool = False
) -> Schedule:
    """One axis order on one part of the array; the first axis is the lowest digit of the chunk number."""
    shape = group.shape
    small = [_line(group, slot, a, stretched) for slot, a in enumerate(order)]
    unit = math.lcm(*(s.chunks // s.ranks for s in small))
    at = np.stack(np.unravel_index(np.arange(group.ranks), shape), 1)
    weight = {a: unit * math.prod(shape[b] for b in order[:j]) for j, a in enumerate(order)}
    first = sum(at[:, a] * weight[a] for a in order)  # chunk where each rank's shard begins
    owner = np.empty(group.ranks * unit, np.int32)
    for u in range(unit):
        owner[first + u] = np.arange(group.ranks)
    whole = of(collective, group.ranks, owner, root=root)
    home, phases = at[root], []
    for j, a in enumerate(order):
        line = small[j] if collective == "all_gather" else _to(shape[a], int(home[a]))
        starts = at[:, a] == 0
        if collective == "gather":  # what went before now stands on the root's own line
            starts = starts & np.all(at[:, list(order[:j])] == home[list(order[:j])], 1)
        corner = np.flatnonzero(starts)
        lines = (corner[:, None] + np.arange(shape[a]) * math.prod(shape[a + 1 :])).astype(np.int32)
        base = sum((at[corner, b] * weight[b] for b in order[j + 1 :]), np.zeros(len(corner), np.int64))
        phases.append(
            algebra.over(line, lines, base.astype(np.int32), weight[a] * shape[a] // line.chunks, whole)
        )
    return algebra.chain_steps(phases, whole)


def _line(group: Group, slot: int, a: int, stretched: bool) -> Schedule:
    """all_gather along one axis."""
    axis = group.axes[a]
    line = both_ways(axis.length, True) if axis.wraps else both_ends(axis.length)
    return algebra.stretch(line, _stretch(group, slot, a)) if stretched else line


def _to(n: int, root: int) -> Schedule:
    """Gather along one axis in one step, each rank straight to the root."""
    others = np.delete(np.arange(n), root)

    def make(i: int) -> Sends:
        return sends(others, root, others)

    return Schedule(of("gather", n, root=root), "direct", one_group(n), n, 1, make, None, 1)
