"""all_to_all hop by hop in as many rounds as the farthest ranks are apart, the busiest links busy in each.

Every message is split evenly over the shortest hop vectors of its displacement, and over several orders of
the axes: it crosses all its links of one axis, then all of the next, without a pause. The orders are such
that in every round the same axis is the busiest, so the rounds take together what its links take to carry
all their bytes; and as every rank does alike, all links of an axis are alike. So latency is the least there
is, and bandwidth the best that shortest routes can have: both bounds are met at once. Where no orders of axes
do, as on 2x8, a message is cut into as many parts as there are rounds; all go the same way, but of its hops,
filled up with idle rounds, each part begins with another and goes round them.

Cost: T = R alpha + D / N^2 / W x the hops of all displacements over the busiest generator (a link up or down
an axis), ties counted in parts; on a ring of n that is n^2 / 8 (even) or (n^2 - 1) / 8 (odd), on a torus the
same of its longest axis, times the ranks beside it.
"""

import functools

import numpy as np

from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.likewise import MOST_RANKS, Likewise, Messages
from hopcast.ir.schedule import Schedule, one_group

from . import _cayley, _hop_orders
from ._cayley import Torus

SOURCE = (
    "hopcast 2026 (spread axis orders, rotated hop words); the load it meets: Camara et al. 2010, Twisted "
    "torus topologies, IEEE TPDS 21(12), 1765; Dally and Towles 2004, section 3.3 (channel load)"
)
MOST_CUT = 1_024  # ranks whose messages are cut into a part for each round
_MOST_CHUNKS = 2**31 - 1
_MOST_ROWS = 250_000  # sends of one rank whose messages are cut so
_MOST_LISTED = 4_000_000  # sends of all, where not all ranks are known to do alike


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Every rank's messages on their ways, which are the same for all ranks."""
    torus = _torus(group)
    plan = _hop_orders.by_axes(torus) if _hop_orders.orders(torus) else _hop_orders.by_links(torus)
    n, dst = torus.ranks, torus.to[:, 0][plan.way]
    make = Likewise(torus, len(plan.to), plan.round, dst, plan.source, plan.chunk, plan.count, plan.way)
    share = None if np.all(plan.part == plan.part[0]) else plan.part / n
    return Schedule(
        Messages(torus, plan.to), "rotation", one_group(n), n, plan.rounds, make, share, len(torus.to), None,
        functools.cache(make.orbit),
    )  # fmt: skip


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a torus whose links are alike and all there, and cuts messages into parts."""
    torus = _cayley.of(group)
    if isinstance(torus, str):
        return torus.replace("synthesized or multi_axis", "dimension_ordered")
    n = torus.ranks
    if n > MOST_RANKS:
        return f"it numbers the parts of {n:,}^2 messages and stops at {MOST_RANKS:,} ranks; use direct"
    many = len(_hop_orders.orders(torus))
    rows = len(torus.vectors[0]) * many
    if n * (rows + 1) > _MOST_CHUNKS:
        return f"it numbers {n * (rows + 1):,} parts of messages and stops at {_MOST_CHUNKS:,}; use direct"
    if not many and n > MOST_CUT:
        why = "no orders of its axes are even in all rounds (one has a single cable, or they are many)"
        return f"{why}, so it stops at {MOST_CUT:,} ranks, and here are {n:,}; use direct"
    if not many:
        rows = n * torus.diameter**2 // 2  # a message crosses about half of the diameter
    if not many and rows > _MOST_ROWS:
        return f"each rank would make about {rows:,} sends, and it stops at {_MOST_ROWS:,}; use direct"
    alone = (group.apart or torus.twisted) and group.duplex
    if not alone and rows * group.all_groups.size > _MOST_LISTED:
        return f"about {rows * group.all_groups.size:,} sends on links that others use too; use direct"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On links that serve one group: the busiest generator's lane is never idle and never late."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """Diameter-many rounds, and the load of the busiest generator."""
    torus = _torus(group)
    load = float(_hop_orders.load(torus).max()) / torus.ranks**2
    return Cost(torus.diameter * max(group.latency), load * hint.size / max(group.bandwidth))


def _torus(group: Group) -> Torus:
    torus = _cayley.of(group)
    assert isinstance(torus, Torus)
    return torus
