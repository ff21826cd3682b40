"""Both directions round a ring: every rank passes on what came from the left to the right, and the other way.

In step s rank r sends chunk r - s to r + 1 and chunk r + s to r - 1. After n // 2 steps both streams have
met. On an even ring the chunk half way round comes either from one side, whole (``split=off``: the other
direction rests in the last step), or half from each side (``split=on``).

Cost: n // 2 steps; whole shards T = (n // 2) (alpha + D / (n W)),
split T = (n // 2) alpha + D (n - 1) / (2 n W).
"""

import numpy as np

from hopcast.ir import orbits
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from . import option
from .ring import long_axis, not_one_closed_line

SOURCE = "Gordic 2026, Inside TPU and GPU clusters; jax-ml scaling-book, chapter Sharding; Chan et al. 2007"
OPTIONS = {"split": ("off", "on")}


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards go round both ways at once."""
    made = both_ways(group.ranks, option(OPTIONS, hint, "split") == "on")
    return orbits.claim(made, orbits.shifts((group.ranks,)))


def both_ways(n: int, split: bool) -> Schedule:
    """The all_gather of n ranks on a ring."""
    rank, half = np.arange(n), n // 2
    even, split = n % 2 == 0, split and n > 2 and n % 2 == 0
    parts = 2 if split else 1

    def make(i: int) -> Sends:
        last = even and i == half - 1
        up = sends(rank, (rank + 1) % n, (rank - i) % n * parts, 1 if last else parts, lane=0)
        if last and not split:
            return up
        down = sends(rank, (rank - 1) % n, (rank + i) % n * parts + last, 1 if last else parts, lane=1)
        both = (
            np.concatenate([getattr(up, c), getattr(down, c)])
            for c in ("src", "dst", "chunk", "count", "op", "lane")
        )
        return Sends(*both)

    def pattern(i: int) -> str:
        return "last" if even and i == half - 1 else "both"

    return Schedule(
        of("all_gather", n, parts=parts), "bidirectional_ring", one_group(n), n, half, make, None, 2, pattern
    )


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a closed line of ranks with a link each way."""
    if group.switched:
        return "a rank has one port on the switch, so two directions share it; use ring"
    return not_one_closed_line(group)


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On any ring of full-duplex links that serve it alone."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """Whole shards (n // 2) (alpha + D / (n W)); split (n // 2) alpha + D (n - 1) / (2 n W)."""
    n, a = group.ranks, long_axis(group)
    split = option(OPTIONS, hint, "split") == "on" and n > 2
    shards = (n - 1) / 2 if split or n % 2 else n / 2
    return Cost(n // 2 * group.latency[a], shards * hint.size / (n * group.bandwidth[a]))
