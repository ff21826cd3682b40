"""Stages of all_to_all over nodes: messages for one node go together.

Rank i of node a is rank a g + i, and its message for rank j of node b is chunk (a g + i) n + b g + j, so
what it has for one node stands together.
"""

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group
from hopcast.ir.schedule import Orbit, Schedule, Sends, join, one_group, sends
from hopcast.ir.topology import Ints

from . import _turned

_MOST_SENDS = 300_000  # of a schedule that is to be simulated in seconds
_MOST_PIECES, _BLIND = 64, 4  # pieces at most, and where the rates of a level are not known
_HARDLY = 1.01  # times the least time: not worth more pieces
Ranks = npt.NDArray[np.int64]


def stages(group: Group, count: int) -> list[Schedule]:
    """The stages, one step each: 2 is between nodes and inside, 3 has one more inside before.

    In two stages rank i sends all that it has for a node to rank i there. In three, rank (a + b) mod g of
    node a collects what its node has for node b, and sends it to rank (a + b) mod g there: fewer and larger
    messages. What stays in a node goes straight there, beside the first stage.
    """
    nodes, g, n = group.levels[0].ranks, group.ranks // group.levels[0].ranks, group.ranks

    @functools.cache  # one row for each rank and other node: not before they are asked for
    def rows() -> tuple[Ints, Ints, Ints, Ints, Ints]:
        src, away = (x.ravel() for x in np.indices((n, nodes), np.int32))
        other = src // g != away
        src, away = src[other], away[other]
        here = src // g
        via = src % g if count == 2 else (here + away) % g
        return src, away, src * n + away * g, here * g + via, away * g + via

    def collect() -> Sends:
        src, _, block, at, _ = rows()
        moves = np.flatnonzero(at != src)
        return sends(src[moves], at[moves], block[moves], g)

    def exchange() -> Sends:
        _, _, block, at, there = rows()
        return sends(at, there, block, g)

    def distribute() -> Sends:
        _, away, block, _, there = rows()
        to = np.arange(g, dtype=np.int32)
        dst = away[:, None] * np.int32(g) + to
        moves = dst != there[:, None]
        return sends(np.repeat(there, moves.sum(1)), dst[moves], (block[:, None] + to)[moves])

    def local() -> Sends:
        one, to = (x.ravel() for x in np.indices((n, g)))
        dst = one // g * g + to
        moves = np.flatnonzero(dst != one)
        return sends(one[moves], dst[moves], one[moves] * n + dst[moves], lane=1)

    whole = of("all_to_all", n)
    first, *rest = ([collect] if count == 3 else []) + [exchange] + ([distribute] if g > 1 else [])

    def stage(k: int, made: Callable[[], Sends], lanes: int = 1) -> Schedule:
        orbit = functools.partial(_of_rank_0, group, k) if count == 2 else None
        return Schedule(
            whole, "hierarchical", one_group(n), n, 1, lambda _: made(), None, lanes, lambda _: ("stage", k),
            orbit,
        )  # fmt: skip

    begin = stage(0, lambda: join([first(), local()]), 2)
    return [begin, *(stage(k, made) for k, made in enumerate(rest, 1))]


@functools.lru_cache(maxsize=8)
def _of_rank_0(group: Group, stage: int) -> Orbit:
    """What rank 0 does in one of two stages: blocks to its equals and its own, or inside what came."""
    nodes, g = group.levels[0].ranks, group.ranks // group.levels[0].ranks
    other, far = np.arange(1, g), np.arange(1, nodes) * g
    origin, to = (x.ravel() for x in np.meshgrid(far, other, indexing="ij"))
    first: list[tuple[object, ...]] = [(0, far, 0, far, g, 0), (0, other, 0, other, 1, 1)]
    passed = _turned.join([(0, to, origin, to, 1, 0)] if stage else first)

    def chunk(origin: Ranks, goal: Ranks) -> Ranks:
        # A block begins with the message for the first rank of a node, also after it has been moved.
        return origin * group.ranks + np.where(passed.count > 1, goal - goal % g, goal)

    return _turned.orbit(passed, chunk, _turned.shape(group))


def pieces(group: Group, size: float) -> int:
    """Pieces that follow each other through the stages: the fewest that hardly take longer than the best."""
    most = min(_MOST_PIECES, max(1, _MOST_SENDS // (group.ranks**2 * len(group.all_groups))))
    costs = two_stages(group, size)
    if costs is None:
        return min(_BLIND, most)
    tries = [1 << k for k in range(most.bit_length())]
    times = []
    for q in tries:
        each = [c.latency + c.bandwidth / q for c in costs]
        times.append(sum(each) + (q - 1) * max(each))
    return min(q for q, t in zip(tries, times, strict=True) if t <= _HARDLY * min(times))


def two_stages(group: Group, size: float) -> list[Cost] | None:
    """What each of two stages takes, on levels that are switches; None on others."""
    if len(group.levels) != 2 or not all(v.switched and v.uniform_rates for v in group.levels):
        return None
    outer, inner = group.levels
    message = size / group.ranks**2
    nic, port = (message / v.bandwidth[0] for v in group.levels)
    away, beside = outer.ranks - 1, inner.ranks - 1
    latency = [v.latency[0] * (v.ranks > 1) for v in group.levels]
    first = Cost(max(latency), max(away * inner.ranks * nic, beside * port))
    return [first] + ([Cost(latency[1], beside * away * port)] if beside and away else [])


def first_is_between(group: Group, size: float) -> bool:
    """Whether in the first stage what goes between nodes takes longer than what stays inside."""
    outer, inner = group.levels
    message = size / group.ranks**2
    between = (outer.ranks - 1) * inner.ranks * message / outer.bandwidth[0]
    inside = (inner.ranks - 1) * message / inner.bandwidth[0]
    return outer.latency[0] >= inner.latency[0] and between >= inside
