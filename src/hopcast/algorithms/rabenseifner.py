"""all_reduce as recursive halving, then recursive doubling.

The first log2 n steps leave each rank the sum of one chunk, as `recursive_halving` does; the others gather
the sums as `recursive_doubling` does. On other than p = 2^k ranks, rank p + i first gives its array to rank i
and gets the result from it at the end.

Cost: 2 log2 p steps; on a switch T = 2 log2(p) alpha + 2 D (p - 1) / (p W), with 2 (alpha + D / W) more if n
is not p.
"""

from dataclasses import replace

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, one_group

from ._rounds import is_power_of_two, on_switch, power_below, rounds
from .recursive_doubling import doubling, folded

SOURCE = (
    "Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; "
    "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521"
)


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Halving, then doubling."""
    n, p = group.ranks, power_below(group.ranks)
    gathered = doubling(p)
    both = algebra.then(algebra.reverse(gathered), gathered, "all_reduce")
    whole = of("all_reduce", n, parts=p)
    return folded(replace(both, collective=whole, groups=one_group(n), vertices=n), p)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair."""
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch with 2^k ranks; else those that need not wait for the first step share its ports."""
    return group.uniform and is_power_of_two(group.ranks)


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """On a switch."""
    p, extra = power_below(group.ranks), 2 * (not is_power_of_two(group.ranks))
    return on_switch(group, 2 * rounds(p) + extra, hint.size * (2 * (p - 1) / p + extra))
