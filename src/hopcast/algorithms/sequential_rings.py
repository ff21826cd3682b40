"""One direction round a ring, axis after axis: the last first, then each before it with all gathered so far.

On axis a step s has the rank at i send the block of coordinate i - s to i + 1; a block is what the later axes
gathered. Each phase multiplies what a rank holds by the length of its axis, so at the end it holds
everything. Half of the links of one axis work at a time: it is what a torus does with the simplest ring code,
and what `multi_axis` improves on.

Cost: sum(n_a - 1) steps; T = sum over axes of (n_a - 1) (alpha_a + D L_a / (N W_a)), where L_a is the product
of the lengths of the later axes; with equal links sum(n_a - 1) alpha + D (N - 1) / (N W), whatever the order.
"""

import math

import numpy as np

from hopcast.ir import algebra, orbits
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule

from . import ring

SOURCE = "Chan et al. 2007, doi:10.1002/cpe.1206 (bucket algorithms, one axis after the other)"


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards go round along the last axis, blocks of them along the axes before it."""
    return _rounds(group, 1)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """Sums go round along the first axis, then along those after it; the same way as copies."""
    return algebra.reverse(_rounds(group, -1))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums, then copies of them."""
    return algebra.then(reduce_scatter(group, hint), all_gather(group, hint), "all_reduce")


def _rounds(group: Group, way: int) -> Schedule:
    shape, whole = group.shape, of("all_gather", group.ranks)
    if max(shape) == group.ranks:
        return ring.once_round(group.ranks, way)  # one axis after the other is one axis
    at = np.stack(np.unravel_index(np.arange(group.ranks), shape), 1)
    phases = []
    for a in reversed(range(len(shape))):
        if shape[a] == 1:
            continue
        block = math.prod(shape[a + 1 :])
        start = np.flatnonzero(at[:, a] == 0)
        lines = (start[:, None] + np.arange(shape[a]) * block).astype(np.int32)
        base = (start // (block * shape[a]) * (block * shape[a])).astype(np.int32)
        phases.append(algebra.over(ring.once_round(shape[a], way), lines, base, block, whole))
    made = algebra.chain_steps(phases, whole)
    return orbits.claim(made, orbits.shifts(shape)) if 2 not in shape else made


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """Every axis must close."""
    if group.switched:
        return "ranks on a switch have no axes; use ring"
    for axis in group.axes:
        if not axis.wraps and axis.length > 2:
            return f"axis {axis.name} does not wrap at length {axis.length}; use multi_axis"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On links that serve one group: all ranks do the same at the same time."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """Sum over axes of (n_a - 1) (alpha_a + D L_a / (N W_a))."""
    total = Cost(0.0, 0.0)
    for a, n in enumerate(group.shape):
        share = math.prod(group.shape[a + 1 :]) / group.ranks
        total += Cost((n - 1) * group.latency[a], (n - 1) * hint.size * share / group.bandwidth[a])
    return total.times(2) if collective == "all_reduce" else total
