"""A line of ranks as a pipeline: the array is cut into m chunks that follow each other from rank to rank.

all_reduce: in step t the rank at distance d from the middle sends chunk t - h + d towards the middle, which
adds it, and the rank at distance d - 1 passes the finished chunk t - h - d + 1 on outwards; h = n // 2 is the
longest distance. Both directions of every cable work at once, so an open line needs D / W, where
reduce_scatter and all_gather need twice that. broadcast: the rank at distance d from the root receives chunk
t - d + 1 in step t, from the root outwards both ways. Every chunk meets each rank once on its way in and once
on its way out, in that order.

Cost: all_reduce T = (2 h + m - 1) (alpha + D / (m W)), broadcast T = (e + m - 1) (alpha + D / (m W)), where e
is the distance of the rank farthest from the root. With p steps of filling, m = sqrt(p D / (alpha W)) is
best.
"""

import math
from collections.abc import Hashable

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import COPY, REDUCE, Schedule, Sends, join, one_group, sends
from hopcast.ir.topology import Ints

from . import option
from .ring import long_axis

SOURCE = (
    "Watts and van de Geijn 1995, A pipelined broadcast for multidimensional meshes; "
    "Chan et al. 2007, doi:10.1002/cpe.1206"
)
OPTIONS: dict[str, tuple[str, ...]] = {"chunks": ()}
_MOST = 4096  # chunks
_FREE = 1024  # chunks where latency is 0 and more are always better: 0.1 % of D / W for each step of filling
_BLIND = 64  # chunks where links differ, so that nothing says which number is best


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums run to the middle while results run back."""
    n, half = group.ranks, group.ranks // 2
    m = _chunks(group, hint, 2 * half - 1)
    outer = np.delete(np.arange(n), half)
    inner, away = outer + np.sign(half - outer), np.abs(outer - half)

    def make(t: int) -> Sends:
        into, back = t - half + away, t - half - away + 1
        a, b = (np.flatnonzero((c >= 0) & (c < m)) for c in (into, back))
        up = sends(outer[a], inner[a], into[a], op=REDUCE, lane=0)
        return join([up, sends(inner[b], outer[b], back[b], op=COPY, lane=1)])

    def pattern(t: int) -> Hashable:
        edges = (half - t, half - t + m - 1, t - half + 1, t - half + 2 - m)
        return tuple(min(max(e, 0), half + 1) for e in edges)

    whole = of("all_reduce", n, parts=m)
    return Schedule(whole, "pipelined_chain", one_group(n), n, 2 * half + m - 1, make, None, 2, pattern)


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Chunks run from the root to both ends, or both ways round a ring."""
    n = group.ranks
    before, away = _from_root(group, hint.root)
    longest = int(away.max())
    m = _chunks(group, hint, longest - 1)
    rank = np.delete(np.arange(n), hint.root)

    def make(t: int) -> Sends:
        chunk = t + 1 - away[rank]
        now = np.flatnonzero((chunk >= 0) & (chunk < m))
        return sends(before[rank[now]], rank[now], chunk[now])

    def pattern(t: int) -> Hashable:
        return min(t + 1, longest), max(t + 2 - m, 0)

    whole = of("broadcast", n, root=hint.root, parts=m)
    return Schedule(whole, "pipelined_chain", one_group(n), n, longest + m - 1, make, None, 1, pattern)


def _from_root(group: Group, root: int) -> tuple[Ints, Ints]:
    """For each rank the one from which it receives, and its distance from the root."""
    n, rank = group.ranks, np.arange(group.ranks, dtype=np.int32)
    if not group.axes[long_axis(group)].wraps:
        return rank - np.sign(rank - root), np.abs(rank - root)
    ahead = (rank - root) % n
    up = ahead <= n // 2
    return np.where(up, rank - 1, rank + 1) % n, np.where(up, ahead, n - ahead)


def _chunks(group: Group, hint: Hint, filling: int) -> int:
    """The m for which (filling + m) (alpha + D / (m W)) is least; a chunk has at least one byte."""
    asked = option(OPTIONS, hint, "chunks")
    if asked:
        return int(asked)
    width, most = group.bandwidth[long_axis(group)], min(_MOST, max(1, int(hint.size)))
    if filling == 0:
        return 1
    if not width:
        return min(_BLIND, most)
    if not hint.alpha:
        return min(_FREE, most)
    best = math.sqrt(filling * hint.size / (hint.alpha * width))
    near = [min(max(m, 1), most) for m in (math.floor(best), math.ceil(best))]
    return min(near, key=lambda m: (filling + m) * (hint.alpha + hint.size / (m * width)))


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a line of ranks."""
    if group.switched:
        return "a rank has one port on the switch, which both directions would share; use ring or double_tree"
    long = [a for a in group.axes if a.length > 1]
    if len(long) > 1:
        return f"it goes along one axis and the group has {', '.join(a.name for a in long)}"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On any line of full-duplex links that serve it alone."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """(filling + m) (alpha + D / (m W)) with 2 (n // 2) - 1 or e - 1 steps of filling."""
    a = long_axis(group)
    longest = (
        2 * (group.ranks // 2) if collective == "all_reduce" else int(_from_root(group, hint.root)[1].max())
    )
    m = _chunks(group, hint, longest - 1)
    steps = longest - 1 + m
    return Cost(steps * group.latency[a], steps * hint.size / (m * group.bandwidth[a]))
