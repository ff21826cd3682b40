"""One direction round a ring: every rank passes on what it last received.

In step s rank r sends chunk r - s to rank r + 1. After n - 1 steps every chunk has been round. Sums go round
the same way: in step s rank r sends chunk r - s - 1 on, with what it holds of it added. On a switch
the ring is an order of the ranks; on a torus it is an axis that wraps. ``channels=8`` makes as many rings
through nodes of GPUs, each by a NIC of its own (see `_channels`), as libraries do. Messages of all_to_all go
one rank further in every step: in step s rank r passes on those of rank r - s that are not yet there.

Cost: n - 1 steps; every rank sends (n - 1) / n of D: T = (n - 1) (alpha + D / (n W)). Of all_to_all it sends
n (n - 1) / 2 messages: T = (n - 1) (alpha + D / (2 n W)).
"""

import functools
from dataclasses import replace

import numpy as np

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.lattice import Lattice
from hopcast.ir.likewise import MOST_RANKS, Likewise, Messages
from hopcast.ir.orbits import shifts
from hopcast.ir.schedule import Orbit, Schedule, Sends, one_group, sends

from . import _channels

SOURCE = "Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002; Chan et al. 2007, doi:10.1002/cpe.1206"
OPTIONS: dict[str, tuple[str, ...]] = {"channels": ()}
BY_PLACE = ("channels",)


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards go round; all of them move in every step."""
    if "channels" in hint.options:
        return _channels.all_gather(once_round(group.ranks), group, int(hint.options["channels"]))
    return once_round(group.ranks)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """Sums go round; the mirror image of copies that go the other way."""
    if "channels" in hint.options:
        channels = int(hint.options["channels"])
        return algebra.reverse(_channels.all_gather(once_round(group.ranks), group, channels, -1))
    return algebra.reverse(once_round(group.ranks, -1))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums go round, then copies of them, the same way."""
    return algebra.then(reduce_scatter(group, hint), all_gather(group, hint), "all_reduce")


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Messages go round as far as they have to."""
    n, around = group.ranks, Lattice((group.ranks,), False)
    step = np.arange(n - 1)
    one = np.ones(n - 1, np.int64)
    make = Likewise(around, n, step, one, -step % n, step + 1, n - 1 - step, 0 * one)
    return Schedule(
        Messages(around, np.arange(n)), "ring", one_group(n), n, n - 1, make, None, 1, None,
        functools.cache(make.orbit),
    )  # fmt: skip


def once_round(n: int, way: int = 1) -> Schedule:
    """The all_gather of n ranks; ``way`` is 1 to the next rank, -1 to the one before."""
    rank, turn = np.arange(n), (np.arange(2 * n) % n).astype(np.int32)
    first = sends(rank, (rank + way) % n, rank)

    def make(i: int) -> Sends:
        at = -way * i % n
        return replace(first, chunk=turn[at : at + n])

    def orbit() -> Orbit:
        step = np.arange(n - 1)
        out, into = sends(0, way % n, -way * step % n), sends(-way % n, 0, -way * (1 + step) % n)
        return Orbit(step, out, into, shifts((n,)))

    return Schedule(
        of("all_gather", n), "ring", one_group(n), n, n - 1, make, None, 1, lambda i: "round", orbit
    )


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a closed line of ranks."""
    if "channels" in hint.options and collective == "all_to_all":
        return "all_to_all goes round one ring; leave channels out"
    if "channels" in hint.options:
        return _channels.why_not(group, int(hint.options["channels"]))
    if collective == "all_to_all" and group.ranks > MOST_RANKS:
        return f"it numbers {group.ranks:,}^2 messages and stops at {MOST_RANKS:,} ranks; use direct"
    return not_one_closed_line(group)


def not_one_closed_line(group: Group) -> str | None:
    """Why a group is no ring, or None."""
    if group.switched:
        return None
    long = [a for a in group.axes if a.length > 1]
    if len(long) > 1:
        names = ", ".join(a.name for a in long)
        return f"it goes along one axis and the group has {names}; use multi_axis or sequential_rings"
    strewn = not group.apart and not any(group.bandwidth)  # no line of links: routes lead to the next rank
    if not long[0].wraps and long[0].length > 2 and not strewn:
        return f"axis {long[0].name} does not wrap at length {long[0].length}; use chain"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On any ring whose links serve it alone; two ranks use one cable both ways."""
    if "channels" in hint.options:
        return False
    return group.apart and (group.duplex or (group.ranks > 2 and not group.switched))


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """(n - 1) (alpha + D / (n W)), all_reduce twice that, all_to_all half of the bytes.

    None of several channels: flows can tell.
    """
    if "channels" in hint.options:
        return None
    a = long_axis(group)
    steps = group.ranks - 1
    size = hint.size / 2 if collective == "all_to_all" else hint.size
    once = Cost(steps * group.latency[a], steps * size / (group.ranks * group.bandwidth[a]))
    return once.times(2) if collective == "all_reduce" else once


def long_axis(group: Group) -> int:
    """The axis that has more than one rank."""
    return max(range(len(group.axes)), key=lambda a: group.axes[a].length)
