"""Exchange with the rank across bit k of the number, in step k, all that both have.

all_gather: before step k rank r holds the 2^k shards of the ranks that differ from it in bits below k, and
sends them to rank r xor 2^k. all_reduce: it sends its sum over those ranks, the whole array, and adds what
comes. Each step doubles the ranks whose part is in it. In all_reduce on other than p = 2^k ranks, rank p + i
first gives its array to rank i and gets the result from it at the end.

Cost: k = log2 n steps; on a switch all_gather T = k alpha + D (n - 1) / (n W), all_reduce T = k (alpha + D /
W), with two steps more if n is no power of two.
"""

import numpy as np

from hopcast.ir import orbits
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import COPY, REDUCE, Schedule, Sends, one_group, sends

from ._rounds import is_power_of_two, on_switch, power_below, rounds

SOURCE = "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521"


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Blocks of shards double."""
    return doubling(group.ranks)


def doubling(n: int) -> Schedule:
    """The all_gather of n = 2^k ranks."""
    rank = np.arange(n)

    def make(i: int) -> Sends:
        return sends(rank, rank ^ (1 << i), rank >> i << i, 1 << i)

    made = Schedule(of("all_gather", n), "recursive_doubling", one_group(n), n, rounds(n), make)
    return orbits.claim(made, orbits.flips(n))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Whole arrays are exchanged and added."""
    n, p = group.ranks, power_below(group.ranks)
    rank = np.arange(p)

    def make(i: int) -> Sends:
        return sends(rank, rank ^ (1 << i), 0, op=REDUCE)

    made = Schedule(of("all_reduce", n), "recursive_doubling", one_group(n), n, rounds(p), make)
    return folded(orbits.claim(made, orbits.flips(p)), p)


def folded(inner: Schedule, p: int) -> Schedule:
    """An all_reduce of ranks 0..p-1 made one of n: rank p + i gives its array to rank i and gets the sum."""
    n = inner.ranks
    if n == p:
        return inner
    extra, last = np.arange(p, n), inner.step_count + 1

    def make(i: int) -> Sends:
        if i == 0:
            return sends(extra, extra - p, 0, inner.chunks, REDUCE)
        if i == last:
            return sends(extra - p, extra, 0, inner.chunks, COPY)
        return inner.make(i - 1)

    return Schedule(inner.collective, inner.algorithm, inner.groups, n, last + 1, make)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """all_gather needs 2^k ranks."""
    return None if collective == "all_reduce" else not_power_of_two(group)


def not_power_of_two(group: Group) -> str | None:
    """Why ranks cannot be paired bit by bit, or None."""
    if is_power_of_two(group.ranks):
        return None
    return f"it pairs ranks bit by bit, and {group.ranks} is no power of two; use bruck"


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch with 2^k ranks; else those that need not wait for the first step share its ports."""
    return group.uniform and is_power_of_two(group.ranks)


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """On a switch."""
    n = group.ranks
    if collective == "all_gather":
        return on_switch(group, rounds(n), hint.size * (n - 1) / n)
    steps = rounds(power_below(n)) + 2 * (not is_power_of_two(n))
    return on_switch(group, steps, hint.size * steps)
