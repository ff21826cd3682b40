"""reduce_scatter by halves: in every step a rank gives the half of its part that the other side will keep.

With m = n / 2^(s + 1), rank r sends its sums of the m chunks from (r xor m) - (r xor m) mod m to rank r xor m
in step s, which adds them. After log2 n steps a rank is left with its own chunk. It is `recursive_doubling`
run backwards.

Cost: log2 n steps; on a switch T = log2(n) alpha + D (n - 1) / (n W).
"""

from hopcast.ir import algebra
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule

from . import recursive_doubling
from ._rounds import on_switch, rounds

SOURCE = (
    "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521; "
    "Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1"
)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """Halves of what is left are exchanged and added."""
    return algebra.reverse(recursive_doubling.doubling(group.ranks))


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs 2^k ranks."""
    return recursive_doubling.not_power_of_two(group)


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """log2(n) alpha + D (n - 1) / (n W) on a switch."""
    n = group.ranks
    return on_switch(group, rounds(n), hint.size * (n - 1) / n)
