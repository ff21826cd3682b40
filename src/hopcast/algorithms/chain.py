"""Both directions along an open line: every rank passes shards on to its right and to its left.

In step s rank r sends chunk r - s to r + 1 and chunk r + s to r - 1, as far as they exist. The end ranks need
n - 1 shards through one link, so it takes twice as long as a ring of the same cables.

Cost: n - 1 steps; T = (n - 1) (alpha + D / (n W)).
"""

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from .ring import long_axis

SOURCE = "Gordic 2026, Inside TPU and GPU clusters; Chan et al. 2007, doi:10.1002/cpe.1206"


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards run to both ends."""
    return both_ends(group.ranks)


def both_ends(n: int) -> Schedule:
    """The all_gather of n ranks on an open line."""
    rank = np.arange(n)

    def make(i: int) -> Sends:
        up, down = rank[(rank >= i) & (rank < n - 1)], rank[(rank + i < n) & (rank > 0)]
        lane = np.repeat([0, 1], [len(up), len(down)])
        return sends(
            np.concatenate([up, down]),
            np.concatenate([up + 1, down - 1]),
            np.concatenate([up - i, down + i]),
            lane=lane,
        )

    return Schedule(of("all_gather", n), "chain", one_group(n), n, n - 1, make, None, 2)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a line of ranks."""
    if group.switched:
        return "ranks on a switch have no neighbours; use ring"
    long = [a for a in group.axes if a.length > 1]
    if len(long) > 1:
        return f"it goes along one axis and the group has {', '.join(a.name for a in long)}; use multi_axis"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On any line of full-duplex links that serve it alone."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """(n - 1) (alpha + D / (n W))."""
    a = long_axis(group)
    steps = group.ranks - 1
    return Cost(steps * group.latency[a], steps * hint.size / (group.ranks * group.bandwidth[a]))
