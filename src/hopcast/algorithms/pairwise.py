"""all_to_all in n - 1 rounds, in each of which every rank serves one other and is served by one other.

In step s rank r sends its message for rank r + s + 1 to that rank. Over the steps r + s + 1 is every other
rank once.

Cost: n - 1 steps; on a switch T = (n - 1) (alpha + D / (n^2 W)).
"""

import functools

import numpy as np

from hopcast.ir import traffic
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.likewise import singly
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from ._rounds import on_switch

SOURCE = "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521 (pairwise exchange)"


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Messages go out in the order of the distance of their ranks."""
    n, step = group.ranks, np.arange(group.ranks - 1)
    make = singly(n, n, step, step + 1, 0, step + 1, by_goal=True)
    orbit = functools.cache(make.orbit)
    return Schedule(of("all_to_all", n), "pairwise", one_group(n), n, n - 1, make, orbit=orbit)


def all_to_all_v(group: Group, hint: Hint) -> Schedule:
    """The same with messages of different sizes; who has none for the rank of a step pauses."""
    n = group.ranks
    task, share = traffic.sparse(hint, n)
    ahead = (task.goal - task.origin) % n

    def make(i: int) -> Sends:
        chunk = np.flatnonzero(ahead == i + 1)
        return sends(task.origin[chunk], task.goal[chunk], chunk)

    return Schedule(task, "pairwise", one_group(n), n, n - 1, make, share)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair."""
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """(n - 1) (alpha + D / (n^2 W)) on a switch."""
    n = group.ranks
    return None if collective == "all_to_all_v" else on_switch(group, n - 1, hint.size * (n - 1) / n**2)
