"""A binomial tree: in every step twice as many ranks have the array.

Ranks are counted from the root, v = rank - root. broadcast: in step k every v < 2^k sends the array to v +
2^k. gather: in step k every v whose lowest bit set is 2^k sends the chunks of v .. v + 2^k - 1, which it has
gathered by then, to v - 2^k. Each rank but the root receives the array (sends its chunks) once.

Cost: k = ceil(log2 n) steps; on a switch broadcast T = k (alpha + D / W), gather T = k alpha + D (n - 1) / (n
W).
"""

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from ._rounds import is_power_of_two, on_switch, rounds

SOURCE = (
    "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521; "
    "Chan et al. 2007, doi:10.1002/cpe.1206"
)


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Who has the array passes it on to one more rank in every step."""
    n, root = group.ranks, hint.root

    def make(i: int) -> Sends:
        first = np.arange(min(1 << i, n - (1 << i)))
        return sends((first + root) % n, (first + (1 << i) + root) % n, 0)

    return Schedule(of("broadcast", n, root=root), "binomial", one_group(n), n, rounds(n), make)


def gather(group: Group, hint: Hint) -> Schedule:
    """Who has gathered its part of the tree sends it on."""
    n, root = group.ranks, hint.root

    def make(i: int) -> Sends:
        first = np.arange(1 << i, n, 2 << i)
        count = np.minimum(1 << i, n - first)
        return sends((first + root) % n, (first - (1 << i) + root) % n, (first + root) % n, count)

    return Schedule(of("gather", n, root=root), "binomial", one_group(n), n, rounds(n), make)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair."""
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch; towards the root and for other than 2^k ranks only at zero latency.

    There some leaves have nothing to wait for, so the latency of their sends passes while others use the
    root's port.
    """
    outwards = asked in ("broadcast", "scatter")
    return group.uniform and (outwards or is_power_of_two(group.ranks) or not any(group.latency))


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """On a switch."""
    n = group.ranks
    return on_switch(group, rounds(n), hint.size * (rounds(n) if collective == "broadcast" else (n - 1) / n))
