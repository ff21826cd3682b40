"""Maximum flow of whole capacities by Dinic's phases, compiled where that pays, and the cut that binds it.

`max_flow` answers one question about a topology by scipy. Here are the many flows of one network with other
capacities each time, that stop as soon as enough has arrived: sums in 64 bits, so that capacities may be
scaled until they are whole.

Source: Dinic 1970, Algorithm for solution of a problem of maximum flow in networks with power estimation.
"""

import functools
import importlib.util
import sys
from collections.abc import Callable, MutableSequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Bools

from . import kept

Longs = npt.NDArray[np.int64]
Column = MutableSequence[int]  # a list, or an array for compiled code
_PATIENCE = 200_000  # arcs times flows: 0.3 s without compiling, less than numba takes to load (2026-11)


@dataclass(frozen=True, eq=False)
class Arcs:
    """A directed graph with an arc back for every arc, by tails.

    Shapes: v vertices, a arcs (twice those given).

    Attributes:
        first: ``int64[v + 1]``: the arcs of vertex i are ``first[i]`` to ``first[i + 1] - 1``.
        head: ``int64[a]``.
        back: ``int64[a]``: the arc in the other direction.
        place: ``int64[given]``: where each arc that was given is now.
    """

    first: Longs
    head: Longs
    back: Longs
    place: Longs

    @property
    def vertices(self) -> int:
        """How many there are."""
        return len(self.first) - 1


def arcs(vertices: int, tail: AnyInts, head: AnyInts) -> Arcs:
    """The graph of some arcs, in the order in which they are given.

    Args:
        vertices: Numbered from 0.
        tail: ``[k]``, where each arc begins.
        head: ``[k]``, where it ends.
    """
    k = len(tail)
    begins = np.concatenate([tail, head]).astype(np.int64)
    ends = np.concatenate([head, tail]).astype(np.int64)
    order = np.argsort(begins, kind="stable")
    place = np.empty(2 * k, np.int64)
    place[order] = np.arange(2 * k)
    back = np.empty(2 * k, np.int64)
    back[place] = np.roll(place, k)
    first = np.searchsorted(begins[order], np.arange(vertices + 1)).astype(np.int64)
    return Arcs(first, ends[order], back, place[:k])


class Flows:
    """Flows over one graph, each from scratch.

    >>> line = Flows(arcs(3, np.array([0, 1]), np.array([1, 2])))
    >>> line.send(np.array([5, 3]), 0, 2), line.side(0).tolist()
    (3, [True, True, False])
    >>> line.send(np.array([5, 3]), 0, 2, wanted=2)
    2
    """

    def __init__(self, graph: Arcs, times: int = 1) -> None:
        """Get ready for about so many flows, which decides whether compiling pays."""
        self.graph = graph
        self.compiled = worth_compiling(len(graph.head) * times)
        self._kernel, self._reach = _kernels(self.compiled)
        self._fixed = [self._column(c) for c in (graph.first, graph.head, graph.back)]
        self._room = self._column(np.zeros(len(graph.head), np.int64))
        self._last = np.zeros(len(graph.place), np.int64)
        self._scratch = [self._column(np.zeros(graph.vertices + 1, np.int64)) for _ in range(4)]

    def send(self, capacity: Longs, source: int, sink: int, wanted: int = 2**62) -> int:
        """How much gets from one vertex to another, or ``wanted`` as soon as that is reached.

        Args:
            capacity: ``int64[given]``, of each arc that was given.
            source: A vertex.
            sink: Another.
            wanted: Enough.

        Cost: at most O(v**2 a), in practice few phases of O(a).
        """
        room = np.zeros(len(self.graph.head), np.int64)
        room[self.graph.place] = self._last = np.array(capacity, np.int64)
        self._room = self._column(room)
        return int(self._kernel(*self._fixed, self._room, source, sink, wanted, *self._scratch))

    def sent(self) -> Longs:
        """``int64[given]``: what the last flow sends over each arc that was given."""
        return self._last - np.asarray(self._room, np.int64)[self.graph.place]

    def side(self, source: int) -> Bools:
        """``bool[v]``: what the last flow leaves within reach of its source; less than wanted has arrived.

        They are the smallest source side of a least cut.
        """
        level, queue = self._scratch[:2]
        self._reach(self._fixed[0], self._fixed[1], self._room, source, level, queue)
        return np.asarray(np.asarray(level[: self.graph.vertices]) >= 0)

    def _column(self, values: Longs) -> Column:
        return cast(Column, values) if self.compiled else values.tolist()


def worth_compiling(work: int) -> bool:
    """Whether so many looks at arcs are better compiled: numba is there, and loaded or worth loading."""
    if "numba" in sys.modules:
        return sys.modules["numba"] is not None
    return work > _PATIENCE and importlib.util.find_spec("numba") is not None


@functools.cache
def _kernels(compiled: bool) -> tuple[Callable[..., int], Callable[..., None]]:
    """The two loops, plain or compiled."""
    if not compiled:
        return _send, _reached
    import numba

    kept.ready()
    compile: Any = numba.njit(cache=True)
    return compile(_send), compile(_reached)


def _reached(first: Column, head: Column, room: Column, source: int, level: Column, queue: Column) -> None:
    """``level``: -1 out of reach over arcs with room."""
    for v in range(len(first) - 1):
        level[v] = -1
    level[source] = 0
    queue[0] = source
    at, end = 0, 1
    while at < end:
        u = queue[at]
        at += 1
        for a in range(first[u], first[u + 1]):
            w = head[a]
            if room[a] > 0 and level[w] < 0:
                level[w] = level[u] + 1
                queue[end] = w
                end += 1


def _send(
    first: Column, head: Column, back: Column, room: Column, source: int, sink: int, wanted: int,
    level: Column, queue: Column, turn: Column, way: Column,
) -> int:  # fmt: skip
    """Phases: ``level`` counts arcs to the sink, ``turn`` is the next arc to try, ``way`` the walk."""
    vertices = len(first) - 1
    total = 0
    while total < wanted:
        for v in range(vertices):
            level[v] = -1
            turn[v] = first[v]
        level[sink] = 0
        queue[0] = sink
        at, end = 0, 1
        while at < end and level[source] < 0:
            u = queue[at]
            at += 1
            for a in range(first[u], first[u + 1]):
                w = head[a]
                if level[w] < 0 and room[back[a]] > 0:
                    level[w] = level[u] + 1
                    queue[end] = w
                    end += 1
        if level[source] < 0:
            break
        u, depth = source, 0
        while True:
            if u == sink:
                least = wanted - total
                for i in range(depth):
                    least = min(least, room[way[i]])
                total += least
                stop = depth
                for i in range(depth - 1, -1, -1):
                    a = way[i]
                    room[a] -= least
                    room[back[a]] += least
                    if room[a] == 0:
                        stop = i
                if total >= wanted:
                    return total
                u, depth = head[back[way[stop]]], stop  # back to where the first full arc begins
                continue
            if turn[u] == first[u + 1]:
                if u == source:
                    break
                depth -= 1
                u = head[back[way[depth]]]
                turn[u] += 1
                continue
            a = turn[u]
            w = head[a]
            if room[a] > 0 and level[w] == level[u] - 1:
                way[depth] = a
                depth += 1
                u = w
            else:
                turn[u] += 1
    return total
