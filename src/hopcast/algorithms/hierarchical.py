"""Level by level: over the network between equals, then inside the node or slice.

all_gather goes over the outer level first: rank i of every node gathers the shards of the ranks i of all
nodes, each over its own NIC; then the ranks of a node exchange what they have. reduce_scatter is the
mirror image and all_reduce one after the other: reduce_scatter inside, all_reduce between equals on 1 / n
of the array, all_gather inside.

Levels work at the same time unless ``pipeline=off``. On nodes of GPUs they are woven (see `_woven`): what
each stage of the ring between nodes brings is told inside while the next is under way; pieces, one or two at
a time, follow each other round that ring. Through slices the array streams (see `_streams`), or is cut into
pieces that follow each other through the levels where that takes no longer.

all_to_all sends all messages for a node to the rank there that is its equal, which distributes them; what
stays in a node goes straight there meanwhile. With ``stages=3`` the messages of a whole node for another
are collected by one of its ranks before, another one for each other node, which makes them fewer and
larger.
all_to_all_v does the same with unequal messages, in pieces that follow each other along the rail of their
origin (see `_rails`); so DeepSeek's DeepEP sends tokens to experts.

broadcast, reduce, gather and scatter use all NICs of the root's node: first over NVLink to the rank whose
rail leads to the goal, then along that rail, and for broadcast inside every node (see `_rooted_levels`).

Nodes of GPUs are found in whatever order ranks are numbered (see `_placed`).

Cost: without pipeline the sum of the levels, T = T_outer(D / n_inner) + T_inner(D) for all_gather; woven
little more than the slower of the two. all_to_all of N nodes of g ranks, n = N g, in two stages: T =
alpha_outer + D (N - 1) g / (n^2 W_outer) + alpha_inner + D (N - 1) (g - 1) / (n^2 W_inner).
"""

import math
from dataclasses import replace

import numpy as np

from hopcast.ir import algebra, orbits
from hopcast.ir.collective import ROOTED, of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule

from . import _exchange, _rails, _rates, _rooted_levels, _turned, _woven, multi_axis, option, ring
from ._rooted_levels import broadcast as broadcast
from ._rooted_levels import scatter as scatter
from ._stream_plans import Found, best

SOURCE = (
    "Gordic 2026, Inside TPU and GPU clusters, part 7; jax-ml scaling-book, chapter GPUs; "
    "deepseek-ai/DeepEP, csrc/kernels/internode.cu, read 2026-11 (all_to_all_v)"
)
LEVELS = True  # its closed form is made of those of the levels
OPTIONS: dict[str, tuple[str, ...]] = {"pipeline": ("on", "off"), "pieces": (), "stages": ("2", "3")}
BY_PLACE: tuple[str, ...] = ()
_PIECES = 8  # where the rates of a level are not known
_MOST_PIECES, _MOST_SENDS = 64, 300_000  # of a schedule that is to be simulated in seconds
_MOST_WOVEN = 1_000_000  # sends, which are followed about five times as fast
_MOST_UNASKED = 32_768  # messages of unequal size
_NO_FORM = (*ROOTED, "all_to_all_v")
_HARDLY = 1.01  # times the least time: not worth more pieces
# Times what pieces in turn are thought to take, which for all_reduce is up to 1.1 times what they do take.
_WORTH = {"all_gather": 0.985, "reduce_scatter": 0.985, "all_reduce": 0.93}


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Outer level first, then inside."""
    if streamed := _streamed("all_gather", group, hint):
        return streamed.schedule()
    if is_woven("all_gather", group, hint):
        return _woven.all_gather(_plan(group, hint))
    return _pipelined("all_gather", group, hint)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """The mirror image, inside first."""
    if streamed := _streamed("reduce_scatter", group, hint):
        return streamed.schedule()
    if is_woven("reduce_scatter", group, hint):
        return algebra.reverse(all_gather(group, hint))
    return _pipelined("reduce_scatter", group, hint)


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """reduce_scatter inside, between equals, and all_gather back."""
    if streamed := _streamed("all_reduce", group, hint):
        return streamed.schedule()
    if is_woven("all_reduce", group, hint):
        there = all_gather(group, hint)
        return algebra.then(algebra.reverse(there), there, "all_reduce")
    return _pipelined("all_reduce", group, hint)


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Between equals, then inside."""
    return _pipelined("all_to_all", group, hint)


def all_to_all_v(group: Group, hint: Hint) -> Schedule:
    """Between equals, then inside."""
    asked = "1" if option(OPTIONS, hint, "pipeline") == "off" else hint.options.get("pieces", "")
    return _rails.all_to_all_v(group, hint, "origin", int(asked) if asked else None)


def _pipelined(collective: str, group: Group, hint: Hint) -> Schedule:
    made = [schedule for _, schedule in phases(collective, group, hint)]
    return algebra.pipeline(made, _pieces(collective, group, hint))


def phases(collective: str, group: Group, hint: Hint) -> list[tuple[str, Schedule]]:
    """What a collective does level by level: axes of the level, and schedule.

    Every schedule moves the whole array of the group; a pipeline cuts it into pieces.
    """
    named = [",".join(a.name for a in level.axes) for level in group.levels if level.ranks > 1]
    if collective == "all_to_all":
        made = _exchange.stages(group, int(option(OPTIONS, hint, "stages")))
        outer, *inner = (",".join(a.name for a in level.axes) for level in group.levels)
        where = [outer, ",".join(inner)] if len(made) < 3 else [",".join(inner), outer, ",".join(inner)]
        return list(zip(where, made, strict=False))
    there, back = [], []
    if collective != "reduce_scatter":
        there = list(zip(named, _alike(group, hint, in_step=True), strict=True))
    if collective != "all_gather":
        back = list(zip(named, map(algebra.reverse, _alike(group, hint)), strict=True))[::-1]
    return back + there


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs levels."""
    if len(group.levels) < 2:
        return (
            _mixed(group) or "its ranks are joined in one way; it needs nodes or slices joined by a network"
        )
    if "stages" in hint.options and collective != "all_to_all":
        return f"stages= is of all_to_all; {collective} goes over every level"
    return _rooted_levels.valid(collective, group, hint) if collective in ROOTED else None


def _mixed(group: Group) -> str | None:
    """Why ranks of several nodes have no levels, or None where they are of one node, or one of each."""
    topology = None if group.cluster is None else group.cluster.topology
    if topology is None or not topology.axes[0].switched or len(topology.axes) < 2:
        return None
    most = max(int(np.bincount(topology.coords[ranks, 0]).max()) for ranks in group.all_groups)
    if most == 1 or all(np.ptp(topology.coords[ranks, 0]) == 0 for ranks in group.all_groups):
        return None
    node = topology.axes[0].name
    return (
        f"an order of ranks that is none of axes mixes groups over {node}s, so that it finds no levels in "
        "them; it finds those of all ranks in any order, and of axes of --mesh in row order"
    )


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """all_to_all_v of very many messages: simulating them may take seconds."""
    return _rails.unasked(group, hint, _MOST_UNASKED) if collective == "all_to_all_v" else None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """Without pipeline, on levels that are exact themselves."""
    if collective in _NO_FORM or is_woven(collective, group, hint) or _pieces(collective, group, hint) > 1:
        return False
    if collective == "all_to_all":
        alone = all(v.uniform for v in group.levels)
        late = any(v.latency[0] for v in group.levels)
        return alone and (not late or _exchange.first_is_between(group, hint.size))
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
    if collective in _NO_FORM:
        return None
    if collective == "all_to_all":
        whole_at_once = _pieces(collective, group, hint) == 1 and option(OPTIONS, hint, "stages") == "2"
        parts = _exchange.two_stages(group, hint.size) if whole_at_once else None
        return sum(parts, Cost(0.0, 0.0)) if parts else None
    if is_woven(collective, group, hint) or not all(level.uniform_rates for level in group.levels):
        return None
    if _pieces(collective, group, hint) > 1:
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


def _estimate(level: Group, size: float) -> Cost | None:
    """The same also where links differ, as if only those of the ranks were in the way; None: not known."""
    if level.uniform_rates:
        return _level_cost(level, size)
    topology = None if level.cluster is None else level.cluster.topology
    axis = [] if topology is None else [i for i, a in enumerate(topology.axes) if a == level.axes[0]]
    if topology is None or not axis or not level.switched:
        return None
    own = topology.bandwidth[(topology.axis == axis[0]) & (topology.src < topology.chips)]
    rate = float(own.min(initial=math.inf))
    return ring.cost("all_gather", replace(level, bandwidth=(rate,)), Hint(size)) if rate > 0 else None


def _level(level: Group, hint: Hint, in_step: bool) -> Schedule:
    """all_gather of one level: a ring on a switch, all axes at once on a grid."""
    if level.switched:
        return ring.all_gather(level, hint)
    closed = all(a.wraps or a.inner or a.length == 1 for a in level.axes)
    options = {"lockstep": "on"} if in_step and not closed else {}
    return multi_axis.all_gather(level, replace(hint, options=options))


def _alike(group: Group, hint: Hint, in_step: bool = False) -> list[Schedule]:
    """The phases of all_gather. Where all levels are rings, or wrapped axes and cores, all ranks do alike.

    On open axes, whose ranks end their phases at different times, the parts of all axis orders keep step if
    ``in_step``: else pieces behind each other meet on links. Measured over two slices of v5e 4x4, all_gather
    of 1 GiB takes 1.25 times as long without; reduce_scatter, where the smallest phase is last, up to 1.1
    times as long with it.
    """
    made = _phases(group, hint, None, in_step)
    if not group.switched and all(a.wraps or a.inner for a in group.axes):
        return [orbits.claim(p, orbits.shifts(group.shape)) for p in made]
    if not all(v.switched for v in group.levels):
        return made
    moves = orbits.shifts(tuple(v.ranks for v in group.levels))
    through_0 = _phases(group, hint, 1, in_step)
    return [replace(p, orbit=orbits.claim(q, moves).orbit) for p, q in zip(made, through_0, strict=True)]


def _phases(group: Group, hint: Hint, lines: int | None, in_step: bool) -> list[Schedule]:
    """all_gather as one schedule per level, outer first, all on the chunks of the whole group.

    With ``lines`` it has only the sends along so many lines of each level, the first of which goes through
    rank 0.

    The chunk number of the whole is the inner level's, times the outer ranks, plus the outer rank: so
    what the outer level gathers of one inner chunk stands together, and the inner level moves it as a
    block.
    """
    made: list[Schedule] = []
    for level in reversed([v for v in group.levels if v.ranks > 1]):
        own = _level(level, hint, in_step)
        made = _nest(own, made, lines) if made else [own]
    return made


def _nest(outer: Schedule, inner: list[Schedule], lines: int | None) -> list[Schedule]:
    """The phases of an outer level in front of those of an inner one."""
    m, n, unit = outer.ranks, inner[0].ranks, outer.chunks
    owner = inner[0].collective.origin  # inner rank of each inner chunk
    chunks = len(owner)
    rank = (outer.collective.origin[None] * n + owner[:, None]).ravel()
    whole = of("all_gather", m * n, rank.astype(np.int32))
    equals = (np.arange(m)[None] * n + owner[:, None]).astype(np.int32)
    base = (np.arange(chunks) * unit).astype(np.int32)
    first = algebra.over(outer, equals[:lines], base[:lines], 1, whole)
    nodes = (np.arange(m)[:, None] * n + np.arange(n)[None]).astype(np.int32)
    start = np.zeros(m, np.int32)
    rest = [algebra.over(p, nodes[:lines], start[:lines], unit, whole) for p in inner]
    own = [np.full(s.chunks, 1 / s.chunks) if s.share is None else s.share for s in (inner[0], outer)]
    share = None if inner[0].share is None and outer.share is None else np.outer(own[0], own[1]).ravel()
    return [algebra.shared(p, share) for p in (first, *rest)]


def is_woven(collective: str, group: Group, hint: Hint) -> bool:
    """Whether levels are woven: nodes whose ranks reach all others at once, or streams through slices."""
    if collective in ("all_to_all", *_NO_FORM) or option(OPTIONS, hint, "pipeline") == "off":
        return False
    if _streamed(collective, group, hint) is not None:
        return True
    return len(group.levels) == 2 and all(v.switched and v.ranks > 1 for v in group.levels)


def _streamed(collective: str, group: Group, hint: Hint) -> Found | None:
    """How the array streams through slices; None where there are none, or pieces in turn take no longer."""
    if collective in ("all_to_all", *_NO_FORM) or option(OPTIONS, hint, "pipeline") == "off":
        return None
    asked = int(hint.options.get("pieces", 0))
    found = best(collective, group, hint.size, asked)
    if found is None or asked:
        return found
    return found if found.seconds <= _WORTH[collective] * _paced(collective, group, hint)[1] else None


def seconds(collective: str, group: Group, hint: Hint) -> float | None:
    """About how long a woven collective takes; None where it is not woven, or nobody knows the links."""
    if collective in ROOTED:
        return _rooted_levels.seconds(collective, group, hint)
    if streamed := _streamed(collective, group, hint):
        return streamed.seconds
    rates = _rates.of_levels(group) if is_woven(collective, group, hint) else None
    if rates is None:
        return None
    return _plan(group, hint).seconds(hint.size, *rates) * (2 if collective == "all_reduce" else 1)


def _plan(group: Group, hint: Hint) -> _woven.Plan:
    """Pieces asked for, or the fewest that take hardly longer than the best number; and on how many lanes.

    Never so many that there would be too many sends to simulate. Where nobody knows the links, one piece.
    """
    shape = (group.levels[0].ranks, group.levels[1].ranks)
    asked, rates = int(hint.options.get("pieces", 0)), _rates.of_levels(group)
    one = _woven.Plan(*shape)
    if rates is None:
        return replace(one, pieces=max(asked, 1))
    # In both halves of an all_reduce, of the ranks that do not stand for others.
    followed = 2 * one.sends * group.all_groups.size // _turned.stands_for(group)
    most = max(1, min(_MOST_PIECES, _MOST_WOVEN // followed))
    tries = [asked] if asked else [1 << k for k in range(most.bit_length())]
    plans = [
        _woven.Plan(*shape, pieces, lanes) for pieces in tries for lanes in _woven.lanes(shape[0], pieces)
    ]
    times = [plan.seconds(hint.size, *rates) for plan in plans]
    return next(p for p, t in zip(plans, times, strict=True) if t <= _HARDLY * min(times))


def _pieces(collective: str, group: Group, hint: Hint) -> int:
    """Pieces that follow each other: asked for, or the fewest that take hardly longer than the best number.

    Without rates of the levels a fixed number. Never so many that there would be too many sends to simulate.
    """
    if option(OPTIONS, hint, "pipeline") == "off":
        return 1
    if "pieces" in hint.options:
        return int(hint.options["pieces"])
    if collective == "all_to_all":
        return _exchange.pieces(group, hint.size)
    return _paced(collective, group, hint)[0]


def _paced(collective: str, group: Group, hint: Hint) -> tuple[int, float]:
    """How many pieces follow each other through the levels, and about how long they take; inf: not known."""
    followed = max(_sends(collective, group) // _turned.stands_for(group), 1)
    most = min(_MOST_PIECES, max(1, _MOST_SENDS // followed))
    size, costs = hint.size, []
    for level in reversed(group.levels):
        found = _estimate(level, size)
        if found is None:
            return (min(_PIECES, most) if hint.size >= 2**16 * group.ranks else 1), math.inf
        costs.append(found)
        size /= level.ranks
    there_and_back = 2 if collective == "all_reduce" else 1
    tries = [1 << k for k in range(int(math.log2(most)) + 1)]
    times = [_overlapped([c.times(there_and_back) for c in costs], q, there_and_back == 2) for q in tries]
    return min((q, t) for q, t in zip(tries, times, strict=True) if t <= _HARDLY * min(times))


def _sends(collective: str, group: Group) -> int:
    """About how many sends one piece has in all groups: each rank, each axis in each order, both ways."""
    steps = 0
    for level in group.levels:
        lengths = level.shape
        steps += level.ranks - 1 if level.switched else len(lengths) * sum(lengths)
    return steps * group.all_groups.size * (2 if collective == "all_reduce" else 1)


def _overlapped(costs: list[Cost], pieces: int, both_ways: bool) -> float:
    """Time of pieces that follow each other through levels, the inner first.

    The level that binds is busy with all pieces. Before its first piece and behind its last it waits for one
    piece of what is further in; of what is further out, which stands between the two halves of an all_reduce,
    only for as long as it has no other piece to do.
    """
    times = []
    for i, own in enumerate(costs):
        inner, outer = (sum((_piece(c, pieces) for c in some), 0.0) for some in (costs[:i], costs[i + 1 :]))
        whole = pieces * own.latency + own.bandwidth
        hidden = whole - _piece(own, pieces) if both_ways else 0.0
        times.append(whole + inner + max(outer - hidden, 0.0))
    return max(times)


def _piece(cost: Cost, pieces: int) -> float:
    return cost.latency + cost.bandwidth / pieces
