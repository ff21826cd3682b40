"""Trees out of one root that together use no link beyond its capacity, all grown at once, shallow ones.

As many trees from a root reach all ranks as can flow from it to the rank that is hardest to reach (Edmonds).
All of them grow by turns, first by edges near the root from whose head most ways lead on. A tree may take an
edge as long as what is left still serves all other trees, from wherever these have got to, and what it takes
away from the edge's head is not needed there: one maximum flow tells. An edge that a tree may not take it may
never take later, for the cut that forbids it stays as tight; so each is looked at once for each tree.

Source: Edmonds 1973, Edge-disjoint branchings (trees that grow from sets of vertices); Lovasz 1976, On two
minimax theorems in graph theory (edge by edge).
"""

import heapq
import random

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts

from . import dinic
from .arborescences import Tree

Longs = npt.NDArray[np.int64]
_ENDLESS = 2**61


def most(vertices: int, ranks: int, tail: AnyInts, head: AnyInts, capacity: AnyInts, root: int) -> int:
    """How many trees from a root can reach every rank: the least of the maximum flows to them.

    Args:
        vertices: Numbered from 0.
        ranks: The first of them; the others only pass on.
        tail: ``[l]``, where each link begins.
        head: ``[l]``, where it ends.
        capacity: ``[l]``, how many trees may use it.
        root: A rank.

    Cost: a flow for each rank, which stops at the least so far.

    >>> both = np.array([0, 1, 1, 2, 2, 0]), np.array([1, 0, 2, 1, 0, 2])
    >>> most(3, 3, *both, np.array([3, 1, 1, 1, 1, 2]), 0)
    3
    """
    room = np.asarray(capacity, np.int64)
    into = np.bincount(head, room, vertices)
    least = int(min(room[np.asarray(tail) == root].sum(), np.delete(into[:ranks], root).min()))
    network = dinic.Flows(dinic.arcs(vertices, tail, head), ranks)
    for target in range(ranks):
        if target != root and least:
            least = network.send(room, root, target, least)
    return least


def branchings(
    vertices: int, tail: AnyInts, head: AnyInts, capacity: AnyInts, root: int, count: int, seed: int = 0
) -> list[Tree]:
    """``count`` trees from a root to all others.

    Args:
        vertices: All are ranks, numbered from 0.
        tail: ``[l]``, where each link begins.
        head: ``[l]``, where it ends.
        capacity: ``[l]``, how many trees may use it.
        root: A rank.
        count: At most what `most` says.
        seed: Another order of edges of the same depth gives other trees, some shallower.

    Raises:
        ValueError: if there are not so many.

    Cost: a flow for each edge of each tree and some more: 15 ms for 256 ranks of a torus, 0.2 s for 1,024.

    >>> both = np.array([0, 1, 1, 2, 2, 0]), np.array([1, 0, 2, 1, 0, 2])
    >>> sorted(t.edges for t in branchings(3, *both, np.ones(6), 0, 2))
    [[(0, 1), (1, 2)], [(0, 2), (2, 1)]]
    """
    if count == vertices - 1 and _is_complete(vertices, tail, head, capacity):
        return [_through(vertices, root, v) for v in range(vertices) if v != root]
    growing = _Growing(vertices, tail, head, capacity, root, count)
    rng = random.Random(seed)
    waiting: list[tuple[int, float, int, int, int]] = []  # what comes first, the tree, the edge

    def reach(i: int, x: int) -> None:
        depth = growing.trees[i].depth
        for y in growing.out[x]:
            if y not in depth and growing.left[x, y]:
                onward = sum(z not in depth and growing.left[y, z] > 0 for z in growing.out[y])
                heapq.heappush(waiting, (depth[x], rng.random() - onward, i, x, y))

    for i in range(count):
        reach(i, root)
    missing = count * (vertices - 1)
    while missing:
        if not waiting:
            raise ValueError("there are not so many trees")
        _, _, i, x, y = heapq.heappop(waiting)
        if y not in growing.trees[i].depth and growing.may_take(i, x, y):
            growing.take(i, x, y)
            reach(i, y)
            missing -= 1
    return growing.trees


def _is_complete(vertices: int, tail: AnyInts, head: AnyInts, capacity: AnyInts) -> bool:
    """Whether there is a link from every vertex to every other."""
    key = (np.asarray(tail, np.int64) * vertices + head)[np.asarray(capacity) >= 1]
    return len(np.unique(key)) == vertices * (vertices - 1)


def _through(vertices: int, root: int, first: int) -> Tree:
    """The tree from the root to a vertex and from there to all others."""
    others = [v for v in range(vertices) if v not in (root, first)]
    depth = {root: 0, first: 1} | dict.fromkeys(others, 2)
    return Tree(root, 1, [(root, first), *((first, v) for v in others)], depth)


class _Growing:
    """Trees and what links have left, with a graph of flows: links, and a source to what each tree has."""

    def __init__(
        self, vertices: int, tail: AnyInts, head: AnyInts, capacity: AnyInts, root: int, count: int
    ) -> None:
        self.trees = [Tree(root, 1, [], {root: 0}) for _ in range(count)]
        self.left: dict[tuple[int, int], int] = {}
        for u, v, amount in zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True):
            self.left[u, v] = self.left.get((u, v), 0) + int(amount)
        self.out: list[list[int]] = [[] for _ in range(vertices)]
        for u, v in self.left:
            self.out[u].append(v)
        ends = np.array(list(self.left), np.int64).reshape(-1, 2)
        self.at = {edge: i for i, edge in enumerate(self.left)}
        every, slot = np.arange(vertices), vertices + 1 + np.arange(count)
        self.source = vertices
        self.from_source = len(ends)
        self.to_slot = self.from_source + vertices
        self.from_slot = self.to_slot + count
        begins = [ends[:, 0], np.full(vertices + count, vertices), np.repeat(slot, vertices)]
        into = [ends[:, 1], every, slot, np.tile(every, count)]
        self.capacity = np.zeros(self.from_slot + count * vertices, np.int64)
        self.capacity[: len(ends)] = list(self.left.values())
        self.capacity[self.to_slot : self.from_slot] = 1
        self.capacity[self.from_slot + np.arange(count) * vertices + root] = _ENDLESS
        graph = dinic.arcs(vertices + 1 + count, np.concatenate(begins), np.concatenate(into))
        self.flows = dinic.Flows(graph, 2 * count * vertices)

    def may_take(self, i: int, x: int, y: int) -> bool:
        """Whether tree i may go from x to y: with what x has for nothing, all other trees still get to y."""
        if not self.left[x, y]:
            return False
        self.capacity[self.to_slot + i], self.capacity[self.from_source + x] = 0, _ENDLESS
        count = len(self.trees)
        reached = self.flows.send(self.capacity, self.source, y, count)
        self.capacity[self.to_slot + i], self.capacity[self.from_source + x] = 1, 0
        return reached == count

    def take(self, i: int, x: int, y: int) -> None:
        """The tree grows."""
        tree = self.trees[i]
        self.left[x, y] -= 1
        self.capacity[self.at[x, y]] -= 1
        self.capacity[self.from_slot + i * len(self.out) + y] = _ENDLESS
        tree.edges.append((x, y))
        tree.depth[y] = tree.depth[x] + 1
