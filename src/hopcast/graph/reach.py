"""Distances from many vertices at once: whom a vertex has heard of by a time is a row of bits.

All sources spread together. A bit stands for a source, a row of 64-bit words for what has reached a vertex,
and one step over a link is an "or" of two rows: 64 searches for the price of one. Arrival times are few where
latencies are (sums of some classes of links); where they are not, Dijkstra takes over.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Bools, Floats

from .usable import Usable

Words = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]
_MOST_CLASSES = 12  # kinds of latency; the times at which something arrives are sums of them
_SAME = 1e-9  # of the shortest link: times that differ by less are one


@dataclass(frozen=True, eq=False)
class Reached:
    """How long what is needed takes to arrive.

    Shapes: s sources, p pairs.

    Attributes:
        farthest: The longest of all distances asked for, in the unit of the weights.
        source, target: A pair that is so far apart, the first by source; -1 where nothing is needed.
        total: ``float64[s]``, the sum over all that need a source of their distance from it.
        pair: ``float64[p]``, distances of the pairs listed.
        missing: A pair without a way; None if there is none.
    """

    farthest: float
    source: int
    target: int
    total: Floats
    pair: Floats
    missing: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Needs:
    """Which vertices must hear of which sources.

    Shapes: s sources, v vertices, p pairs.

    Attributes:
        sources: ``int64[s]``, different vertices, ascending.
        row: ``uint64[v, ceil(s / 64)]``: bit i of a row stands for source i.
        src, dst: ``int64[p]``: a source by its place among the sources, and a vertex; their distance is told
            one by one.
    """

    sources: Longs
    row: Words
    src: Longs
    dst: Longs


def needs(
    vertices: int, holders: AnyInts, groups: AnyInts, pairs: tuple[AnyInts, AnyInts] | None = None
) -> Needs:
    """Every rank of a group needs every holder of its group, and every pair its own.

    Args:
        vertices: v.
        holders: ``[g, h]``, vertices; h may be 0.
        groups: ``[g, n]``, vertices that need them.
        pairs: ``[p]`` sources and ``[p]`` vertices that need them.

    >>> needs(3, np.array([[0, 2]]), np.array([[0, 1, 2]])).row.ravel().tolist()
    [3, 3, 3]
    """
    src, dst = (np.zeros(0, np.int64),) * 2 if pairs is None else (np.asarray(p, np.int64) for p in pairs)
    sources = np.union1d(holders, src).astype(np.int64)
    place = np.full(vertices, -1)
    place[sources] = np.arange(len(sources))
    row = np.zeros((vertices, -(-len(sources) // 64)), np.uint64)
    for mine, ranks in zip(place[holders.astype(np.int64)], groups, strict=True):
        row[ranks] |= _row(mine, row.shape[1])
    np.bitwise_or.at(row, (dst, place[src] >> 6), _bit(place[src]))
    return Needs(sources, row, place[src], dst)


def reach(network: Usable, weight: Floats, asked: Needs) -> Reached:
    """Least sums of weights along routes, for all that is asked.

    Args:
        network: Its links.
        weight: ``float64[u]`` of each, 0 or more.
        asked: Who needs whom.

    Cost: links times sources / 64, for each time at which something arrives.

    >>> from hopcast.graph.usable import usable
    >>> from hopcast.topologies import chain
    >>> line = usable(chain.build("chain:3", (3,), 1.0, 0.0))
    >>> found = reach(line, np.ones(4), needs(3, np.arange(3)[None], np.arange(3)[None]))
    >>> found.farthest, found.source, found.target, found.total.tolist()
    (2.0, 0, 2, [3.0, 2.0, 3.0])
    """
    left = asked.row.copy()
    total, pair = np.zeros(len(asked.sources)), np.full(len(asked.src), np.inf)
    farthest, ends = 0.0, (-1, -1)
    arrivals = _waves if len(np.unique(weight)) <= _MOST_CLASSES else _one_by_one
    for time, vertices, new in arrivals(network, weight, asked.sources):
        got = new & left[vertices]
        hit = got.any(1)
        if not hit.any():
            continue
        left[vertices] &= ~new
        got, heard = got[hit], vertices[hit]
        total += time * _count(got, len(total))
        if len(pair):
            where = np.full(len(left), -1)
            where[vertices] = np.arange(len(vertices))
            at = where[asked.dst]
            here = (at >= 0) & ((new[at, asked.src >> 6] & _bit(asked.src)) != 0)
            pair[here] = time
        if time > farthest or ends[0] < 0:
            farthest, ends = time, _first(got, heard, asked.sources)
        if not left.any():
            break
    missing = np.flatnonzero(left.any(1))
    return Reached(
        farthest, *ends, total, pair, _first(left[missing], missing, asked.sources) if len(missing) else None
    )


def all_from(network: Usable, weight: Floats, sources: Longs) -> Floats:
    """Least sums of weights from each source to each vertex, infinite without a way: ``float64[s, v]``."""
    if len(np.unique(weight)) > _MOST_CLASSES:
        return _dijkstra(network, weight, sources)
    far = np.full((len(sources), network.topology.vertices), np.inf)
    for time, vertices, new in _waves(network, weight, sources):
        place, source = np.nonzero(_as_bits(new))
        far[source, vertices[place]] = time
    return far


def _waves(network: Usable, weight: Floats, sources: Longs) -> Iterator[tuple[float, Longs, Words]]:
    """Times in order, the vertices that something reaches at each, and what: rows of bits."""
    vertices, words = network.topology.vertices, -(-len(sources) // 64)
    known = np.zeros((vertices, words), np.uint64)
    start = np.zeros((vertices, words), np.uint64)
    at = np.arange(len(sources))
    start[sources, at >> 6] = _bit(at)
    classes = [_Class(network, weight, value) for value in np.unique(weight)]
    positive = weight[weight > 0]
    unit = float(positive.min()) * _SAME if len(positive) else 1.0
    # A wave waits under its time in small units, so that sums in another order are the same wave.
    waiting, when, queue = {0: start}, {0: 0.0}, [0]
    while queue:
        key = heapq.heappop(queue)
        new, time = waiting.pop(key) & ~known, when.pop(key)
        active = np.asarray(new.any(1))
        if not active.any():
            continue
        known |= new
        reached = np.flatnonzero(active)
        yield time, reached, new[reached]
        for one in classes:
            heads, rows = one.sent(new, active)
            if not len(heads):
                continue
            then = key + round(one.value / unit)
            if then not in waiting:
                waiting[then], when[then] = np.zeros((vertices, words), np.uint64), time + one.value
                heapq.heappush(queue, then)
            waiting[then][heads] |= rows


class _Class:
    """Links of one weight, by heads."""

    def __init__(self, network: Usable, weight: Floats, value: float) -> None:
        links = np.flatnonzero(weight == value)
        links = links[np.argsort(network.dst[links], kind="stable")]
        self.value = float(value)
        self._tail, self._head = network.src[links], network.dst[links]

    def sent(self, new: Words, active: Bools) -> tuple[Longs, Words]:
        """The heads of its links out of active vertices, and what arrives at each."""
        on = active[self._tail]
        tail, head = self._tail[on], self._head[on]
        if not len(head):
            return np.zeros(0, np.int64), new[:0]
        first = np.flatnonzero(np.diff(head, prepend=-1))
        return head[first].astype(np.int64), np.bitwise_or.reduceat(new[tail], first, axis=0)


def _one_by_one(network: Usable, weight: Floats, sources: Longs) -> Iterator[tuple[float, Longs, Words]]:
    """The same as `_waves` from distances of all pairs."""
    far = _dijkstra(network, weight, sources)
    source, vertex = np.nonzero(np.isfinite(far))
    time = far[source, vertex]
    order = np.argsort(time, kind="stable")
    source, vertex, time = source[order], vertex[order], time[order]
    new = np.flatnonzero(np.diff(time, prepend=-1.0))
    for begin, end in zip(new, np.append(new[1:], len(time)), strict=True):
        vertices, place = np.unique(vertex[begin:end], return_inverse=True)
        rows = np.zeros((len(vertices), -(-len(sources) // 64)), np.uint64)
        np.bitwise_or.at(rows, (place, source[begin:end] >> 6), _bit(source[begin:end]))
        yield float(time[begin]), vertices, rows


def _dijkstra(network: Usable, weight: Floats, sources: Longs) -> Floats:
    """Least sums of weights, ``float64[s, v]``. Of parallel links the least counts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    v = network.topology.vertices
    order = np.lexsort((weight, network.dst, network.src))
    src, dst = network.src[order], network.dst[order]
    first = np.ones(len(src), bool)
    first[1:] = (np.diff(src) != 0) | (np.diff(dst) != 0)
    start = np.searchsorted(src[first], np.arange(v + 1))
    # Explicit zeros stay in the matrix and are links of no length.
    graph = csr_array((weight[order][first], dst[first], start), (v, v))
    return np.asarray(dijkstra(graph, indices=sources))


def _bit(place: Longs) -> Words:
    return np.left_shift(np.uint64(1), (place & 63).astype(np.uint64))


def _row(places: Longs, words: int) -> Words:
    """One row with these bits."""
    row = np.zeros(words, np.uint64)
    np.bitwise_or.at(row, places >> 6, _bit(places))
    return row


def _as_bits(rows: Words) -> npt.NDArray[np.uint8]:
    """``uint8[r, 64 w]``, a 0 or 1 for each bit."""
    return np.unpackbits(rows.astype("<u8").view(np.uint8).reshape(len(rows), -1), axis=1, bitorder="little")


def _count(rows: Words, sources: int) -> Floats:
    """How many of some rows have each bit: ``float64[sources]``."""
    total = np.zeros(64 * rows.shape[1])
    for at in range(0, len(rows), 255):  # sums of 255 fit in a byte, which is much faster to add
        total += _as_bits(rows[at : at + 255]).sum(0, dtype=np.uint8)
    return total[:sources]


def _first(rows: Words, vertices: Longs, sources: Longs) -> tuple[int, int]:
    """The first source of which some vertex hears, and the first vertex that does."""
    any_of = _as_bits(np.bitwise_or.reduce(rows, axis=0)[None])[0]
    place = int(any_of.argmax())
    heard = rows[:, place >> 6] & _bit(np.array([place]))
    return int(sources[place]), int(vertices[int((heard != 0).argmax())])
