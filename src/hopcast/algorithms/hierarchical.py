"""Level by level: over the network between equals, then inside the node or slice.

all_gather goes over the outer level first: rank i of every node gathers the shards of the ranks i of all
nodes, each over its own NIC; then the ranks of a node exchange what they have. reduce_scatter is the
mirror image and all_reduce one after the other: reduce_scatter inside, all_reduce between equals on 1 / n
of the array, all_gather inside. With ``pipeline=on`` the array is cut into pieces that follow each other
through the levels, so that network and node work at once.

Cost: without pipeline the sum of the levels, T = T_outer(D / n_inner) + T_inner(D) for all_gather; with
many pieces the slower of the two.
"""

import math

import numpy as np

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule

from . import multi_axis, option, ring

SOURCE = "Gordic 2026, Inside TPU and GPU clusters, part 7; jax-ml scaling-book, chapter GPUs"
LEVELS = True  # its closed form is made of those of the levels
OPTIONS: dict[str, tuple[str, ...]] = {"pipeline": ("on", "off"), "pieces": ()}
_PIECES = 8  # where the rates of a level are not known
_MOST_PIECES = 64


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Outer level first, then inside."""
    return _pipelined(group, hint, _phases(group, hint))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """reduce_scatter inside, between equals, and all_gather back."""
    gathering = _phases(group, hint)
    return _pipelined(group, hint, [algebra.reverse(p) for p in reversed(gathering)] + gathering)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs levels."""
    if len(group.levels) < 2:
        return "its ranks are joined in one way; it needs nodes or slices joined by a network"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """Without pipeline, on levels that are exact themselves."""
    if _pieces(group, hint) > 1:
        return False
    return all(
        level.ranks == 1
        or (
            ring.exact("all_gather", level, hint, asked)
            if level.switched
            else multi_axis.exact("all_gather", level, hint, asked)
        )
        for level in group.levels
    )


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """The sum over levels, each on what is gathered by then; None with pieces, which only flows can tell."""
    if _pieces(group, hint) > 1 or not all(level.uniform_rates for level in group.levels):
        return None
    whole, size = Cost(0.0, 0.0), hint.size
    for level in reversed(group.levels):
        found = _level_cost(level, size)
        if found is None:
            return None
        whole, size = whole + found, size / level.ranks
    return whole.times(2) if collective == "all_reduce" else whole


def _level_cost(level: Group, size: float) -> Cost | None:
    hint = Hint(size)
    if level.ranks == 1:
        return Cost(0.0, 0.0)
    return (
        ring.cost("all_gather", level, hint) if level.switched else multi_axis.cost("all_gather", level, hint)
    )


def _level(level: Group, hint: Hint) -> Schedule:
    """all_gather of one level: a ring on a switch, all axes at once on a grid."""
    return ring.all_gather(level, hint) if level.switched else multi_axis.all_gather(level, hint)


def _phases(group: Group, hint: Hint) -> list[Schedule]:
    """all_gather as one schedule per level, outer first, all on the chunks of the whole group.

    The chunk number of the whole is the inner level's, times the outer ranks, plus the outer rank: so
    what the outer level gathers of one inner chunk stands together, and the inner level moves it as a
    block.
    """
    made: list[Schedule] = []
    for level in reversed([v for v in group.levels if v.ranks > 1]):
        made = _nest(_level(level, hint), made) if made else [_level(level, hint)]
    return made


def _nest(outer: Schedule, inner: list[Schedule]) -> list[Schedule]:
    """The phases of an outer level in front of those of an inner one."""
    m, n, unit = outer.ranks, inner[0].ranks, outer.chunks
    owner = inner[0].collective.origin  # inner rank of each inner chunk
    chunks = len(owner)
    rank = (outer.collective.origin[None] * n + owner[:, None]).ravel()
    whole = of("all_gather", m * n, rank.astype(np.int32))
    equals = (np.arange(m)[None] * n + owner[:, None]).astype(np.int32)
    first = algebra.over(outer, equals, (np.arange(chunks) * unit).astype(np.int32), 1, whole)
    nodes = (np.arange(m)[:, None] * n + np.arange(n)[None]).astype(np.int32)
    rest = [algebra.over(p, nodes, np.zeros(m, np.int32), unit, whole) for p in inner]
    own = [np.full(s.chunks, 1 / s.chunks) if s.share is None else s.share for s in (inner[0], outer)]
    share = None if inner[0].share is None and outer.share is None else np.outer(own[0], own[1]).ravel()
    return [algebra.shared(p, share) for p in (first, *rest)]


def _pipelined(group: Group, hint: Hint, phases: list[Schedule]) -> Schedule:
    return algebra.pipeline(phases, _pieces(group, hint))


def _pieces(group: Group, hint: Hint) -> int:
    """Pieces that follow each other: asked for, or what takes least by the levels' closed forms."""
    if option(OPTIONS, hint, "pipeline") == "off":
        return 1
    if "pieces" in hint.options:
        return int(hint.options["pieces"])
    size, costs = hint.size, []
    for level in reversed(group.levels):
        found = _level_cost(level, size) if level.uniform_rates else None
        if found is None:
            return _PIECES if hint.size >= 2**16 * group.ranks else 1
        costs.append(found)
        size /= level.ranks
    tries = [2**k for k in range(int(math.log2(_MOST_PIECES)) + 1)]
    return min(tries, key=lambda q: _staggered(costs, q))


def _staggered(costs: list[Cost], pieces: int) -> float:
    """Time of pieces that follow each other through phases of these costs."""
    each = [c.latency + c.bandwidth / pieces for c in costs]
    return sum(each) + (pieces - 1) * max(each)
