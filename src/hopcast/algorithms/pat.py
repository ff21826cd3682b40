"""Parallel aggregated trees: Bruck's algorithm with the far ranks first, while there is little to send.

Every chunk goes down a binomial tree over the distance from its owner: in the step of bit b the rank at
distance d, a multiple of 2^(b + 1), sends it to the rank at d + 2^b. All ranks do so for all chunks at
once, so a rank sends one chunk to the rank 2^(k - 1) away, then two chunks to the rank 2^(k - 2) away, ...
A distance has one parent, itself without its lowest bit, so each rank gets each chunk once. With
``aggregation=A`` a message has at most A = 2^a chunks: after a steps the 2^a subtrees of each chunk go on
side by side, each of them deep first, so that no more than A chunks for each of the k bits wait to be
passed on.

Cost: k = ceil(log2 n) steps, or up to a + 2^(k - a) - 1; on a switch T = steps alpha + D (n - 1) / (n W).
"""

import functools

import numpy as np

from hopcast.ir import orbits
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from . import option
from ._rounds import is_power_of_two, on_switch, rounds

SOURCE = (
    "Jeaugey 2025, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, "
    "arXiv:2506.20252; Bruck et al. 1997, doi:10.1109/71.642949"
)
OPTIONS: dict[str, tuple[str, ...]] = {"aggregation": ()}
MOST_RANKS = 2048


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Far ranks first."""
    n, plan = group.ranks, _plan(group.ranks, _together(group, hint))
    rank = np.arange(n)

    def make(i: int) -> Sends:
        bit, distance = plan[i]
        far = np.array(distance)
        at = np.repeat(rank, len(far))
        return sends(at, (at + (1 << bit)) % n, (at - np.tile(far, n)) % n)

    def pattern(i: int) -> tuple[int, int]:
        return plan[i][0], len(plan[i][1])

    made = Schedule(of("all_gather", n), "pat", one_group(n), n, len(plan), make, None, 1, pattern)
    return orbits.claim(made, orbits.shifts((n,)))


@functools.lru_cache(maxsize=64)
def _plan(n: int, together: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Step by step the bit and the distances of those that send."""
    k, a = rounds(n), rounds(together)
    a = min(a, k - 1) if k else 0
    steps = [(b, range(0, n, 2 << b)) for b in range(k - 1, k - 1 - a, -1)]
    roots = range(0, n, 1 << (k - a))
    for bit, inside in _deep_first(k - a):
        steps.append((bit, range(inside, n, roots.step)))
    whole = ((b, tuple(d for d in at if d + (1 << b) < n)) for b, at in steps)
    return tuple((b, at) for b, at in whole if at)


def _deep_first(bits: int) -> list[tuple[int, int]]:
    """Edges of a binomial tree of 2^bits ranks: bit and sender; a subtree is done before the next begins."""
    found: list[tuple[int, int]] = []
    waiting = [(0, bits - 1)]
    while waiting:
        at, bit = waiting.pop()
        if bit >= 0:
            found.append((bit, at))
            waiting += [(at, bit - 1), (at + (1 << bit), bit - 1)]
    return found


def _together(group: Group, hint: Hint) -> int:
    """Chunks of a message at most."""
    return int(option(OPTIONS, hint, "aggregation") or group.ranks)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair."""
    if group.ranks > MOST_RANKS:
        return (
            f"it sends each of {group.ranks:,}^2 chunks by itself and stops at {MOST_RANKS:,} ranks; use ring"
        )
    if not is_power_of_two(_together(group, hint)) and "aggregation" in hint.options:
        given = hint.options["aggregation"]
        return f"aggregation={given}: chunks of a message are a power of two, as in aggregation=4"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch: all ranks do the same at the same time."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """On a switch."""
    n = group.ranks
    return on_switch(group, len(_plan(n, _together(group, hint))), hint.size * (n - 1) / n)
