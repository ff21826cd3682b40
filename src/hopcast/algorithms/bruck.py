"""Distances by their binary digits: ceil(log2 n) steps for any number of ranks.

all_gather: before step k rank r holds the chunks r .. r + 2^k - 1 and sends them (in the last step as many as
are still missing) to rank r - 2^k. all_to_all: in step k every message whose distance dst - src has bit k
moves 2^k ranks on, so that it arrives when all bits of its distance are done; a message is passed on by up to
log2 n ranks.

Cost: k = ceil(log2 n) steps; on a switch all_gather T = k alpha + D (n - 1) / (n W); all_to_all T = k alpha +
D b / (n^2 W), where b counts the bits set in 1 .. n - 1, (n / 2) log2 n for n = 2^k.
"""

import functools

import numpy as np

from hopcast.ir import orbits
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.likewise import singly
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from ._rounds import on_switch, rounds

SOURCE = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997, doi:10.1109/71.642949"


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Runs of chunks double, cyclically."""
    n, rank = group.ranks, np.arange(group.ranks)

    def make(i: int) -> Sends:
        return sends(rank, (rank - (1 << i)) % n, rank, min(1 << i, n - (1 << i)))

    made = Schedule(of("all_gather", n), "bruck", one_group(n), n, rounds(n), make)
    return orbits.claim(made, orbits.shifts((n,)))


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Messages go on by the bits of their distance, lowest first.

    Rank 0 passes on those of the rank whose distance to it are the lower bits.
    """
    n, many = group.ranks, rounds(group.ranks)
    step, ahead = np.nonzero(np.arange(n) >> np.arange(many)[:, None] & 1)
    bit = 1 << step
    make = singly(n, n, step, bit, -(ahead % bit) % n, ahead, by_goal=True, by_sender=True)
    orbit = functools.cache(make.orbit)
    return Schedule(of("all_to_all", n), "bruck", one_group(n), n, many, make, orbit=orbit)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair."""
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch: all ranks do the same at the same time."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """On a switch."""
    n = group.ranks
    part = (n - 1) / n if collective == "all_gather" else sum(d.bit_count() for d in range(n)) / n**2
    return on_switch(group, rounds(n), hint.size * part)
