"""Both directions round a ring: every rank passes on what came from the left to the right, and the other way.

In step s rank r sends chunk r - s to r + 1 and chunk r + s to r - 1. After n // 2 steps both streams have
met. On an even ring the chunk half way round comes either from one side, whole (``split=off``: the other
direction rests in the last step), or half from each side (``split=on``).

Cost: n // 2 steps; whole shards T = (n // 2) (alpha + D / (n W)),
split T = (n // 2) alpha + D (n - 1) / (2 n W).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.orbits import shifts
from hopcast.ir.schedule import Orbit, Schedule, Sends, join, one_group, sends
from hopcast.ir.topology import Bools

from . import option
from .ring import long_axis, not_one_closed_line

SOURCE = "Gordic 2026, Inside TPU and GPU clusters; jax-ml scaling-book, chapter Sharding; Chan et al. 2007"
OPTIONS = {"split": ("off", "on")}


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Shards go round both ways at once."""
    return both_ways(group.ranks, option(OPTIONS, hint, "split") == "on")


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums come in from both sides, then copies go out to both: up in lane 0 and down in lane 1 throughout.

    In the mirror image of an all_gather what went up goes down, so the lanes of the one that is mirrored are
    the other way round. Then each link serves one lane, and no two sends ever meet on it.
    """
    made = all_gather(group, hint)
    turned = both_ways(group.ranks, option(OPTIONS, hint, "split") == "on", up=1)
    return algebra.then(algebra.reverse(turned), made, "all_reduce")


def both_ways(n: int, split: bool, up: int = 0) -> Schedule:
    """The all_gather of n ranks on a ring.

    Args:
        n: 2 or more.
        split: Whether the shard half way round comes half from each side.
        up: Lane of what goes up; the other, of 0 and 1, is that of what goes down.

    >>> last = both_ways(4, split=True).make(1)
    >>> [(int(s), int(d), int(c)) for s, d, c in zip(last.src, last.dst, last.chunk, strict=True) if s == 0]
    [(0, 1, 6), (0, 3, 3)]
    """
    half, even = n // 2, n % 2 == 0
    split = split and n > 2 and even
    parts = 2 if split else 1

    def rows(src: npt.ArrayLike, dst: npt.ArrayLike, i: npt.ArrayLike, way: int) -> Sends:
        at, step = np.asarray(src), np.asarray(i)
        last = (step == half - 1) & even  # half of a shard each way, or all of it up
        chunk = (at - way * step) % n * parts + (last if way < 0 else 0)
        return sends(src, dst, chunk, np.where(last, 1, parts), lane=up if way > 0 else 1 - up)

    rank, turn = np.arange(n), (np.arange(2 * n) % n * parts).astype(np.int32)
    both = join([rows(rank, (rank + way) % n, 0, way) for way in (1, -1)])

    def make(i: int) -> Sends:
        if even and i == half - 1:
            return join([rows(rank, (rank + way) % n, i, way) for way in ((1, -1) if split else (1,))])
        return replace(both, chunk=np.concatenate([turn[n - i : 2 * n - i], turn[i : n + i]]))

    def orbit() -> Orbit:
        step = np.repeat(np.arange(half), np.where((np.arange(half) < half - 1) | split | (not even), 2, 1))
        down = np.append(False, np.diff(step) == 0)
        out = _either(down, *(rows(0, way % n, step, way) for way in (1, -1)))
        into = _either(down, *(rows(-way % n, 0, step, way) for way in (1, -1)))
        return Orbit(step, out, into, shifts((n,)))

    def pattern(i: int) -> str:
        return "last" if even and i == half - 1 else "both"

    whole = of("all_gather", n, parts=parts)
    return Schedule(whole, "bidirectional_ring", one_group(n), n, half, make, None, 2, pattern, orbit)


def _either(down: Bools, up_rows: Sends, down_rows: Sends) -> Sends:
    """Row by row of what goes up or of what goes down."""
    columns = ("src", "dst", "chunk", "count", "op", "lane")
    return Sends(*(np.where(down, getattr(down_rows, c), getattr(up_rows, c)) for c in columns))


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a closed line of ranks with a link each way."""
    if group.switched:
        return "a rank has one port on the switch, so two directions share it; use ring"
    return not_one_closed_line(group)


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On any ring of full-duplex links that serve it alone."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """Whole shards (n // 2) (alpha + D / (n W)), split (n // 2) alpha + D (n - 1) / (2 n W)."""
    n, a = group.ranks, long_axis(group)
    split = option(OPTIONS, hint, "split") == "on" and n > 2
    shards = (n - 1) / 2 if split or n % 2 else n / 2
    once = Cost(n // 2 * group.latency[a], shards * hint.size / (n * group.bandwidth[a]))
    return once.times(2) if collective == "all_reduce" else once
