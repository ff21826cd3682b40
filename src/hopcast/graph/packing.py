"""Spanning trees of a graph that use no cable more often than allowed, shallow ones."""

import random
from collections import deque
from collections.abc import Sequence

Edge = tuple[int, int]


def spanning_trees(
    vertices: int, edges: Sequence[Edge], count: int, copies: Sequence[int], seed: int = 0, polish: int = 0
) -> list[list[int]] | None:
    """``count`` spanning trees, at most ``copies[e]`` of them with edge e in common; None if there are none.

    All trees grow at once from centres of the graph, breadth first, over the edges that are freest. What is
    then missing is found by matroid union: an edge that closes a cycle in a forest may take the place of any
    edge of that cycle, which looks for a place in another forest in turn. That search fails exactly where
    there are no such trees. Last, random exchanges are kept that make trees shallower.

    Args:
        vertices: Numbered from 0.
        edges: Pairs, each once.
        count: Trees.
        copies: How many trees may have each edge.
        seed: Of random choices.
        polish: Exchanges tried.

    Returns:
        Edge numbers of each tree, ascending.

    Cost: O(count x vertices) for the growth, O(edges x count x depth) for each edge that is then missing.

    Source: Edmonds 1965, Minimum partition of a matroid into independent subsets; Roskind and Tarjan 1985,
    doi:10.1287/moor.10.4.701.

    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> [len(tree) for tree in spanning_trees(4, square, 4, [3] * 4)], spanning_trees(4, square, 3, [2] * 4)
    ([3, 3, 3, 3], None)
    """
    rng = random.Random(seed)
    forests = _grown(vertices, edges, count, copies, rng)
    while any(len(f.edges) < vertices - 1 for f in forests):
        if not _augmented(edges, forests, copies, rng):
            return None
    _polished(edges, forests, copies, rng, polish)
    return [sorted(f.edges) for f in forests]


def centres(vertices: int, edges: Sequence[Edge]) -> list[int]:
    """All vertices from which the farthest is nearest.

    >>> centres(5, [(0, 1), (1, 2), (2, 3), (3, 4)]), centres(4, [(0, 1), (1, 2), (2, 3)])
    ([2], [1, 2])
    """
    graph = _Forest(vertices)
    graph.edges = set(range(len(edges)))
    graph.rooted(edges)
    far = [max(graph.depths(v)) for v in range(vertices)]
    return [v for v in range(vertices) if far[v] == min(far)]


def radius(vertices: int, edges: Sequence[Edge]) -> int:
    """Edges from the centre to the vertex farthest from it.

    >>> radius(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    2
    """
    graph = _Forest(vertices)
    graph.edges = set(range(len(edges)))
    graph.rooted(edges)
    return max(graph.depths(centres(vertices, edges)[0]))


class _Forest:
    """Edges without a cycle, hung up so that paths are found by climbing."""

    def __init__(self, vertices: int) -> None:
        self.edges: set[int] = set()
        self.near: list[list[tuple[int, int]]] = [[] for _ in range(vertices)]
        self.root = list(range(vertices))
        self.depth = [0] * vertices
        self.above: list[tuple[int, int]] = [(-1, -1)] * vertices

    def rooted(self, edges: Sequence[Edge]) -> None:
        """Hang it up anew."""
        n = len(self.near)
        self.near = [[] for _ in range(n)]
        for e in self.edges:
            u, v = edges[e]
            self.near[u].append((v, e))
            self.near[v].append((u, e))
        self.root = [-1] * n
        for start in range(n):
            if self.root[start] >= 0:
                continue
            self.root[start], self.depth[start], self.above[start] = start, 0, (-1, -1)
            queue = [start]
            for u in queue:
                for v, e in self.near[u]:
                    if self.root[v] < 0:
                        self.root[v], self.depth[v], self.above[v] = start, self.depth[u] + 1, (u, e)
                        queue.append(v)

    def path(self, edge: Edge) -> list[int]:
        """Edges between the ends of an edge, which lie in one tree."""
        u, v = edge
        found = []
        while u != v:
            if self.depth[u] < self.depth[v]:
                u, v = v, u
            u, e = self.above[u]
            found.append(e)
        return found

    def depths(self, start: int) -> list[int]:
        """Edges from a vertex to each; -1 to those it is not joined with."""
        far = [-1] * len(self.near)
        far[start] = 0
        queue = [start]
        for u in queue:
            for v, _ in self.near[u]:
                if far[v] < 0:
                    far[v] = far[u] + 1
                    queue.append(v)
        return far

    def length(self) -> int:
        """Edges between the two vertices of a tree that are farthest apart."""
        far = self.depths(0)
        return max(self.depths(far.index(max(far))))


def _grown(
    vertices: int, edges: Sequence[Edge], count: int, copies: Sequence[int], rng: random.Random
) -> list[_Forest]:
    """Trees from the centre, level by level, as far as edges last."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(vertices)]
    for e, (u, v) in enumerate(edges):
        near[u].append((v, e))
        near[v].append((u, e))
    left = list(copies)
    middle = centres(vertices, edges)
    starts = [rng.choice(middle) for _ in range(count)]  # apart, so that they do not crowd one vertex's edges
    forests = [_Forest(vertices) for _ in range(count)]
    reached = [{start} for start in starts]
    level = [[start] for start in starts]
    while any(level):
        turn = list(range(count))
        rng.shuffle(turn)
        after: list[list[int]] = [[] for _ in range(count)]
        ways = {k: [(e, u, v) for u in level[k] for v, e in near[u]] for k in turn}
        while turn:  # one edge for each tree in turn, so that none takes all
            for k in list(turn):
                open_ways = [w for w in ways[k] if w[2] not in reached[k] and left[w[0]] > 0]
                ways[k] = open_ways
                if not open_ways:
                    turn.remove(k)
                    continue
                e, _, v = max(open_ways, key=lambda w: (left[w[0]], rng.random()))
                left[e] -= 1
                reached[k].add(v)
                forests[k].edges.add(e)
                after[k].append(v)
        level = after
    for f in forests:
        f.rooted(edges)
    return forests


def _augmented(
    edges: Sequence[Edge], forests: list[_Forest], copies: Sequence[int], rng: random.Random
) -> bool:
    """One edge more in one forest, others changing places; False if that is impossible."""
    used = [0] * len(edges)
    for f in forests:
        for e in f.edges:
            used[e] += 1
    free = [e for e, k in enumerate(used) if k < copies[e]]
    rng.shuffle(free)
    came: dict[tuple[int, int], tuple[int, int]] = {(e, -1): (-1, -1) for e in free}
    queue = deque(came)
    order = list(range(len(forests)))
    rng.shuffle(order)
    while queue:
        at = queue.popleft()
        edge = edges[at[0]]
        for i in order:
            f = forests[i]
            if at[0] in f.edges:
                continue
            if f.root[edge[0]] != f.root[edge[1]]:
                _exchange(edges, forests, came, at, i)
                return True
            for e in f.path(edge):
                if (e, i) not in came:
                    came[e, i] = at
                    queue.append((e, i))
    return False


def _exchange(
    edges: Sequence[Edge],
    forests: list[_Forest],
    came: dict[tuple[int, int], tuple[int, int]],
    at: tuple[int, int],
    into: int,
) -> None:
    """Move edges along the way that was found, the last one first."""
    changed = set()
    while True:
        e, was = at
        if was >= 0:
            forests[was].edges.remove(e)
        forests[into].edges.add(e)
        changed.add(into)
        if was < 0:
            break
        at, into = came[at], was
    for i in changed:
        forests[i].rooted(edges)


def _polished(
    edges: Sequence[Edge], forests: list[_Forest], copies: Sequence[int], rng: random.Random, tries: int
) -> None:
    """Random exchanges of an edge of a long tree against a free one, or one of another tree."""
    used = [0] * len(edges)
    for f in forests:
        for e in f.edges:
            used[e] += 1
    length = [f.length() for f in forests]
    if len(edges) < len(forests[0].near):
        return  # the graph is a tree: there is nothing to exchange
    for _ in range(tries):
        most = max(length)
        i = rng.choice([k for k, x in enumerate(length) if x == most])
        one = forests[i]
        e = rng.choice([x for x in range(len(edges)) if x not in one.edges])
        out = rng.choice(one.path(edges[e]))
        if used[e] < copies[e]:
            _swap(edges, one, out, e)
            now = one.length()
            if now <= length[i]:
                length[i] = now
                used[e] += 1
                used[out] -= 1
            else:
                _swap(edges, one, e, out)
            continue
        j = rng.choice(
            [k for k, f in enumerate(forests) if k != i and e in f.edges and out not in f.edges] or [i]
        )
        if j == i or e not in forests[j].path(edges[out]):
            continue
        _swap(edges, one, out, e)
        _swap(edges, forests[j], e, out)
        now, other = one.length(), forests[j].length()
        if now**3 + other**3 <= length[i] ** 3 + length[j] ** 3:
            length[i], length[j] = now, other
        else:
            _swap(edges, one, e, out)
            _swap(edges, forests[j], out, e)


def _swap(edges: Sequence[Edge], forest: _Forest, out: int, into: int) -> None:
    forest.edges.remove(out)
    forest.edges.add(into)
    forest.rooted(edges)
