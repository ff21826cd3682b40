"""scatter and gather over the trees of a broadcast: each takes an equal part of what every rank gets.

The root sends down each tree what is for the farthest rank first, and every rank passes on at once what is
not for itself. So a link of a tree carries one part a step, for as many steps as there are ranks behind it;
those of the root are busy from the first step to the last, and where trees use all of them no schedule takes
less. gather is the mirror image on the links turned round.

Cost: n - 1 steps where each tree leaves the root by one link, T = (n - 1) (alpha + D / (n k W)) for k trees.
"""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns, one_group
from hopcast.ir.topology import Ints

from . import _packed_root as packed
from . import _placed, _root_ground
from ._root_ground import Ground, Wiring, of_group

COLLECTIVES = "scatter", "gather"
_FEW = 32  # ranks of a grid up to which it is tried unasked


def scatter(group: Group, hint: Hint) -> Schedule:
    """Parts for each rank, the farthest first."""
    return _placed.built(functools.partial(_scheduled, "scatter"), group, hint)


def gather(group: Group, hint: Hint) -> Schedule:
    """The mirror image of a scatter over the links turned round."""
    return _placed.built(functools.partial(_scheduled, "gather"), group, hint)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs what a broadcast needs."""
    reason = packed.valid("reduce" if collective == "gather" else "broadcast", group, hint)
    if reason or "pieces" not in hint.options:
        return reason
    return f"{collective} sends no pieces of what one rank gets down a tree; leave pieces= off"


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """On grids others are at the bound as well, with fewer sends."""
    group, hint = _placed.asked(group, hint)
    if not group.switched and not group.levels and group.ranks > _FEW:
        return f"beyond {_FEW} ranks of a grid multi_axis takes no longer"
    return None


@dataclass(frozen=True, eq=False)
class _Way:
    """All sends of a scatter.

    Shapes: s sends, all ``int32[s]``.

    Attributes:
        count: Trees, each of which carries an equal part of what a rank gets.
        turn, hop, src, dst, rank, tree, lane: Of each send: it is for a rank whose turn it is to be sent to
            by the root, and so many links away from that.
        full: Seconds in which the most loaded link carries its part of 1 byte.
    """

    count: int
    turn: Ints
    hop: Ints
    src: Ints
    dst: Ints
    rank: Ints
    tree: Ints
    lane: Ints
    full: float


@functools.lru_cache(maxsize=64)
def _ways(wiring: Wiring, root: int, turned: bool, asked: int, seed: int) -> list[_Way]:
    """Over the trees of each ground; of several packings those that load their links least."""
    found = []
    for ground in _root_ground.grounds(wiring, root, turned, asked):
        ways = (_way(wiring, ground, plan, root) for plan in packed.packings(wiring, ground, root, seed))
        found.append(min(ways, key=lambda w: (w.full, int(w.turn.max()))))
    return found


def _way(wiring: Wiring, ground: Ground, plan: packed.Plan, root: int) -> _Way:
    """The farthest first in each branch of the root; what is under way goes on a link each step."""
    n = ground.network.ranks
    rows: list[tuple[int, int, int, int, int, int]] = []
    for i in range(plan.count):
        edges = np.flatnonzero(plan.tree == i)
        into = dict(zip(plan.dst[edges].tolist(), edges.tolist(), strict=True))
        depth = {v: int(plan.depth[e]) for v, e in into.items()}
        begun: dict[int, int] = {}  # of each branch
        # Each tree begins with another rank of those that are as far, so that they do not meet there.
        for v in sorted(into, key=lambda v: (-depth[v], (v + i) % n)):
            path = [into[v]]
            while plan.src[path[-1]] != root:
                path.append(into[int(plan.src[path[-1]])])
            turn = begun[path[-1]] = begun.get(path[-1], -1) + 1
            for hop, e in enumerate(reversed(path)):
                rows.append((turn, hop, int(plan.src[e]), int(plan.dst[e]), v, e))
    turn, hop, src, dst, rank, edge = np.array(rows, np.int32).T
    load = packed.loads(ground, np.zeros_like(turn), src, dst)[0] / n
    full = float((load / (ground.network.capacity * wiring.unit)).max())
    return _Way(plan.count, turn, hop, src, dst, rank, plan.tree[edge], plan.lane[edge], full)


def _scheduled(collective: str, group: Group, hint: Hint) -> Schedule:
    """Of a collective, scatter or gather."""
    wiring, n, back = of_group(group), group.ranks, collective == "gather"
    assert not isinstance(wiring, str), wiring
    trees = int(hint.options.get("trees") or 0)
    ways = _ways(wiring, hint.root, back, trees, hint.seed)
    way = min(ways, key=lambda w: hint.size * w.full + int(w.turn.max()) * wiring.latency)
    step = way.turn + way.hop
    ends = (way.dst, way.src) if back else (way.src, way.dst)
    columns: dict[str, npt.ArrayLike] = {
        "step": int(step.max()) - step if back else step,
        "src": ends[0],
        "dst": ends[1],
        "chunk": way.rank * way.count + way.tree,
        "lane": way.lane,
    }
    task = of(collective, n, root=hint.root, parts=way.count)
    return from_columns(task, "forest", one_group(n), columns)
