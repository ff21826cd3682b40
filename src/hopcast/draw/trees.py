"""The trees over which the parts of an array go, read from a schedule, and the cables that they share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.interpret import cells
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import COPY, Schedule, Sends, join
from hopcast.ir.topology import Floats, Topology
from hopcast.names import InputError
from hopcast.routing import routes

Edges = list[tuple[int, int]]
_MOST_ALIKE = 4  # equal trees
MOST_SENDS = 2_000_000  # of a schedule that is read


@dataclass(frozen=True)
class Tree:
    """Where some chunks go.

    Attributes:
        root: The vertex where they begin, or end where they are summed.
        parent: For each other vertex of the tree the one that it has them from, nearest to the root first.
        chunks: How many chunks go that way.
        share: The part of the array that they are.
        up: Whether sums go to the root.
        down: Whether copies come from it.
    """

    root: int
    parent: tuple[tuple[int, int], ...]
    chunks: int
    share: float
    up: bool
    down: bool

    @property
    def depth(self) -> int:
        """Sends from the root to the vertex farthest from it.

        >>> Tree(1, ((0, 1), (2, 1), (3, 2)), 1, 1.0, True, True).depth
        2
        """
        far = {self.root: 0}
        for child, parent in self.parent:
            far[child] = far[parent] + 1
        return max(far.values())


def trees(schedule: Schedule) -> list[Tree]:
    """The trees of a schedule's first group, in the order of their first chunks.

    Chunks that go the same way are of one tree; of several equal ones, if they are a few times as many as
    others have.

    Args:
        schedule: Each of its chunks is summed up a tree, copied down one, or both on the same tree.

    Raises:
        InputError: if the sends of a chunk are no tree, or too many.

    Cost: O(sends).

    >>> from hopcast.verbs.check import scheduled
    >>> from hopcast.verbs import ask
    >>> q, _ = ask.question("all_reduce", "mesh:2x3", size="1GiB")
    >>> [(t.root, t.depth, round(t.share, 3)) for t in trees(scheduled(q, "tree_packing"))][:2]
    [(4, 2, 0.143), (4, 2, 0.143)]
    """
    rows = _rows(schedule)
    found: dict[tuple[int, tuple[tuple[int, int], ...], bool, bool], list[int]] = {}
    for chunk, (ups, downs) in enumerate(_by_chunk(schedule, rows)):
        if not ups and not downs:
            continue
        sums, copies = (_hung(edges, chunk, schedule) for edges in ([(d, s) for s, d in ups], downs))
        if sums and copies and (sums[0], set(sums[1])) != (copies[0], set(copies[1])):
            raise _no_tree(schedule, chunk, "its sums and its copies take different ways")
        root, parent = copies or sums or (0, ())
        found.setdefault((root, parent, bool(ups), bool(downs)), []).append(chunk)
    if schedule.ranks > 2 and all(len(parent) <= 1 for _, parent, _, _ in found):
        raise InputError(
            f"{schedule.collective.name} by {schedule.algorithm}: every chunk is sent once, so there are no "
            "trees; see its load or its steps"
        )
    share = schedule.parts
    unit = math.gcd(*map(len, found.values()))
    alike = all(len(chunks) <= _MOST_ALIKE * unit for chunks in found.values())
    each = {key: len(chunks) // unit if alike else 1 for key, chunks in found.items()}
    return [
        Tree(root, parent, len(chunks) // k, float(share[chunks].sum()) / k, up, down)
        for ((root, parent, up, down), chunks), k in zip(found.items(), each.values(), strict=True)
        for _ in range(k)
    ]


def cables(cluster: Cluster, found: Sequence[Tree]) -> dict[tuple[int, int], list[int]]:
    """For each cable that trees use, by its ends, the smaller first: the numbers of those trees.

    Sends between chips that no cable joins take the cluster's routes.
    """
    used: dict[tuple[int, int], dict[int, None]] = {}
    for k, tree in enumerate(found):
        child, parent = np.array(tree.parent, np.int32).reshape(-1, 2).T
        way = routes(cluster, parent, child)
        ends = np.sort(np.stack([cluster.topology.src[way.links], cluster.topology.dst[way.links]], 1), 1)
        for a, b in ends.tolist():
            used.setdefault((a, b), {})[k] = None
    return {ends: list(which) for ends, which in sorted(used.items())}


def is_direct(topology: Topology, found: Sequence[Tree]) -> bool:
    """Whether every send of the trees crosses one link of a grid."""
    have = set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    return topology.is_grid and all(edge in have for tree in found for edge in tree.parent)


def counts(topology: Topology, used: dict[tuple[int, int], list[int]]) -> Floats:
    """How many trees each cable bears, idle ones too: one number for each pair of ends."""
    ends = zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    pairs = sorted({(min(e), max(e)) for e in ends})
    return np.array([len(used.get(pair, ())) for pair in pairs], float)


def _rows(schedule: Schedule) -> Sends:
    """All sends of the first group."""
    total, parts = 0, []
    mine, theirs = np.zeros(schedule.vertices, bool), np.zeros(schedule.vertices, bool)
    theirs[schedule.groups.ravel()] = True
    mine[schedule.groups[0]] = True
    mine |= ~theirs  # switches
    for rows in schedule.steps():
        total += int(rows.count.sum())
        if total > MOST_SENDS:
            raise InputError(
                f"{schedule!r} moves more than {MOST_SENDS:,} chunks; draw the trees of a smaller one"
            )
        at = np.flatnonzero(mine[rows.src] & mine[rows.dst])
        parts.append(Sends(*(getattr(rows, c)[at] for c in ("src", "dst", "chunk", "count", "op", "lane"))))
    return join(parts)


def _by_chunk(schedule: Schedule, rows: Sends) -> list[tuple[Edges, Edges]]:
    """For each chunk its sums and its copies: (src, dst) each, in the order of the steps."""
    row, chunk = cells(rows, schedule.chunks)
    found: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = [
        ([], []) for _ in range(schedule.chunks)
    ]
    columns = (chunk, rows.src[row], rows.dst[row], rows.op[row])
    for c, s, d, op in zip(*(v.tolist() for v in columns), strict=True):
        found[c][op == COPY].append((s, d))
    return found


def _hung(edges: Edges, chunk: int, schedule: Schedule) -> tuple[int, tuple[tuple[int, int], ...]] | None:
    """The root and (child, parent) pairs, nearest to the root first, of (parent, child) pairs."""
    if not edges:
        return None
    below: dict[int, list[int]] = {}
    for parent, child in edges:
        below.setdefault(parent, []).append(child)
    children = [child for _, child in edges]
    roots = [v for v in below if v not in set(children)]
    if len(set(children)) < len(children) or len(roots) != 1:
        raise _no_tree(schedule, chunk, "a rank has it from two others, or it begins at several")
    order, parent_of = [roots[0]], list[tuple[int, int]]()
    for v in order:
        for child in sorted(below.get(v, ())):
            order.append(child)
            parent_of.append((child, v))
    if len(parent_of) < len(edges):
        raise _no_tree(schedule, chunk, "it goes in a circle")
    return roots[0], tuple(parent_of)


def _no_tree(schedule: Schedule, chunk: int, why: str) -> InputError:
    return InputError(
        f"{schedule.algorithm}: the sends of chunk {chunk} are no tree, {why}; trees are drawn of "
        "tree_packing, double_tree, binomial or multi_axis"
    )
