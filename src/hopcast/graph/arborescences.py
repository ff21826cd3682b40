"""Trees from every rank to all others that together use no link beyond its capacity, as many as there can be.

If n times k can flow to every vertex out of a source that feeds every rank with k, then there are k trees out
of every rank (Edmonds). They are found edge by edge: a tree may take an edge as long as what is left still
serves all trees that are not finished, which one maximum flow tells (Berczi and Frank). Trees that have grown
alike so far are kept as one with a number of copies, and parted only where an edge has room for some of them.

Source: Edmonds 1973, Edge-disjoint branchings; Berczi and Frank 2010, Packing arborescences; in this form
Zhao et al. 2024, ForestColl, arXiv:2402.06787.
"""

import heapq
import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts

from . import dinic

Longs = npt.NDArray[np.int64]
Edge = tuple[int, int]
Choice = tuple[int, float, Edge]  # depth, what is best first, the edge
_ENDLESS = 2**61
_NOISE = 0.3  # part by which an edge may seem to have more left than it has
_SLOTS = 16  # trees that are parted and wait, at first


@dataclass
class Tree:
    """Equal trees out of one rank.

    Attributes:
        root: Their rank.
        copies: How many.
        edges: Tail and head of each edge; a vertex is reached before it is left.
        depth: Of each vertex that is reached: edges from the root.
    """

    root: int
    copies: int
    edges: list[Edge] = field(default_factory=list)
    depth: dict[int, int] = field(default_factory=dict)


def trees(
    vertices: int, tail: AnyInts, head: AnyInts, capacity: AnyInts, count: int, seed: int = 0
) -> list[Tree]:
    """``count`` trees out of every vertex, each to all others, shallow edges first.

    Args:
        vertices: All are ranks, numbered from 0.
        tail: ``[l]``, where each link begins.
        head: ``[l]``, where it ends.
        capacity: ``[l]``, how many trees may use it.
        count: k.
        seed: Another order of roots and edges gives other trees, some shallower.

    Raises:
        ValueError: if there are not so many.

    Cost: about two flows for each edge of each kind of tree.

    >>> both = np.array([0, 1, 1, 2, 2, 0]), np.array([1, 0, 2, 1, 0, 2])
    >>> found = trees(3, *both, np.ones(6), 1)
    >>> [(t.root, t.copies, t.edges) for t in found]
    [(0, 1, [(0, 1), (0, 2)]), (1, 1, [(1, 0), (1, 2)]), (2, 1, [(2, 0), (2, 1)])]
    """
    packing = _Packing(vertices, tail, head, capacity, count, seed)
    waiting = [Tree(r, count, [], {r: 0}) for r in range(vertices - 1, -1, -1)]
    if seed:
        packing.rng.shuffle(waiting)
    done = []
    while waiting:
        tree = waiting.pop()
        packing.begin(tree)
        waiting += packing.grow(tree)
        done.append(tree)
    return done


class _Packing:
    """What links have left, and the trees that are not finished."""

    def __init__(
        self, vertices: int, tail: AnyInts, head: AnyInts, capacity: AnyInts, count: int, seed: int
    ) -> None:
        self.vertices = vertices
        self.rng, self.noise = random.Random(seed), _NOISE if seed else 0.0
        self.left: dict[Edge, int] = {}
        for u, v, amount in zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True):
            self.left[u, v] = self.left.get((u, v), 0) + int(amount)
        self.out: list[list[int]] = [[] for _ in range(vertices)]
        for u, v in self.left:
            self.out[u].append(v)
        self.rest = vertices * count  # copies of trees that are not finished, but for the one that grows
        self.parted: list[Tree | None] = [None] * _SLOTS
        self.fresh = np.full(vertices, count, np.int64)  # copies of trees that have no edge yet, by root
        self._lay()

    def _lay(self) -> None:
        """The graph of flows: links, a source to all vertices and parted trees, these to what they hold."""
        n, slots = self.vertices, len(self.parted)
        ends = np.array(list(self.left), np.int64).reshape(-1, 2)
        self.at = {edge: i for i, edge in enumerate(self.left)}
        source, slot = n, n + 1 + np.arange(slots)
        tail = [ends[:, 0], np.full(n + slots, source), np.repeat(slot, n)]
        head = [ends[:, 1], np.arange(n), slot, np.tile(np.arange(n), slots)]
        links = len(ends)
        self.from_source, self.to_slot = links, links + n
        self.from_slot = links + n + slots
        self.capacity = np.zeros(links + n + slots + slots * n, np.int64)
        self.capacity[:links] = list(self.left.values())
        self.capacity[links : links + n] = self.fresh
        graph = dinic.arcs(n + 1 + slots, np.concatenate(tail), np.concatenate(head))
        self.flows = dinic.Flows(graph, 4 * n * n)
        for i, tree in enumerate(self.parted):
            self._hold(i, tree)

    def _hold(self, i: int, tree: Tree | None) -> None:
        """Slot i is for a parted tree, or empty."""
        self.parted[i] = tree
        self.capacity[self.to_slot + i] = tree.copies if tree else 0
        first = self.from_slot + i * self.vertices
        self.capacity[first : first + self.vertices] = 0
        if tree:
            self.capacity[first + np.array(list(tree.depth))] = _ENDLESS

    def begin(self, tree: Tree) -> None:
        """It is taken out of those that wait."""
        self.rest -= tree.copies
        place = next((i for i, t in enumerate(self.parted) if t is tree), None)
        if place is not None:
            self._hold(place, None)
        else:
            self.fresh[tree.root] = 0
            self.capacity[self.from_source + tree.root] = 0

    def part(self, tree: Tree, copies: int) -> Tree:
        """Some copies go on, the others wait as they are."""
        other = Tree(tree.root, tree.copies - copies, list(tree.edges), dict(tree.depth))
        tree.copies = copies
        self.rest += other.copies
        if None not in self.parted:
            self.parted += [None] * len(self.parted)
            self._lay()
        self._hold(self.parted.index(None), other)
        return other

    def room(self, edge: Edge, most: int) -> int:
        """How many copies may take an edge, at most so many."""
        x, y = edge
        most = min(most, self.left[edge])
        if not most:
            return 0
        was = self.capacity[self.from_source + x]
        self.capacity[self.from_source + x] = _ENDLESS
        reached = self.flows.send(self.capacity, self.vertices, y, self.rest + most)
        self.capacity[self.from_source + x] = was
        return reached - self.rest

    def some(self, tree: Tree, few: list[Choice]) -> tuple[int, Edge] | None:
        """Of the shallowest edges the one with most room, if any has some left; it leaves the list."""
        while few:
            depth, most, edge = heapq.heappop(few)
            if edge[1] in tree.depth:
                continue
            room = self.room(edge, int(-most))
            now = depth, -room, edge
            if room and (not few or now <= few[0]):
                return room, edge
            if room:
                heapq.heappush(few, now)
        return None

    def urgency(self, x: int, y: int) -> float:
        """Edges of one depth are tried in this order, those with most left first."""
        return -self.left[x, y] * (1 + self.noise * self.rng.random())

    def take(self, tree: Tree, edge: Edge) -> None:
        """The tree grows."""
        self.left[edge] -= tree.copies
        self.capacity[self.at[edge]] -= tree.copies
        tree.edges.append(edge)
        tree.depth[edge[1]] = tree.depth[edge[0]] + 1

    def grow(self, tree: Tree) -> list[Tree]:
        """To all vertices; the parted ones are left."""
        parted: list[Tree] = []
        open_edges: list[Choice] = []
        few: list[Choice] = []  # edges with room for some copies

        def reach(x: int) -> None:
            for y in self.out[x]:
                if y not in tree.depth and self.left[x, y]:
                    heapq.heappush(open_edges, (tree.depth[x], self.urgency(x, y), (x, y)))

        for x in list(tree.depth):
            reach(x)
        while len(tree.depth) < self.vertices:
            if few and (not open_edges or open_edges[0][0] > few[0][0]):
                found = self.some(tree, few)
                if found is None:
                    continue
                room, edge = found
                parted.append(self.part(tree, room))
                for depth, _, other in few:
                    heapq.heappush(open_edges, (depth, self.urgency(*other), other))
                few.clear()
            elif open_edges:
                depth, _, edge = heapq.heappop(open_edges)
                room = self.room(edge, tree.copies) if edge[1] not in tree.depth else 0
                if room < tree.copies:
                    if room:
                        heapq.heappush(few, (depth, -room, edge))
                    continue
            else:
                raise ValueError("there are not so many trees")
            self.take(tree, edge)
            reach(edge[1])
        return parted
