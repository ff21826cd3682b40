"""Shortest routes on a twisted torus: a pair's bytes are split evenly over all of its shortest hop vectors.

A hop vector says how many links up or down each axis; its links are crossed axis by axis, x first. The
chips are the integer points modulo a lattice: with short axes of length n and long ones of length 2n it is
spanned by 2n along each long axis, and by n along each short axis together with -n along all the long ones.
A pair's vectors are the shortest ones of its class. When all pairs send alike, every link then carries the
same bytes, which no routing can beat: the sum over links is the least there is, and it is spread evenly.

Source: Camara et al. 2010, Twisted torus topologies for enhanced interconnection networks, IEEE TPDS 21(12),
1765 (the lattice and its shortest vectors).
"""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.lattice import twisted as number
from hopcast.ir.topology import Floats, Ints, Topology
from hopcast.names import InputError

from . import Routes, assemble, dimension_order

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Vectors:
    """The shortest hop vectors of every displacement.

    Shapes: n displacements, each numbered as the chip that chip 0 reaches by it; v vectors.

    Attributes:
        first: ``int64[n + 1]``: those of displacement i are ``first[i]`` to ``first[i + 1] - 1``.
        hops: ``int64[v]``, links of each.
        word: ``int64[v, diameter]``, the port of each hop, 2 * axis + (0 up, 1 down); -1 after the last.
    """

    first: Longs
    hops: Longs
    word: Longs


@functools.lru_cache(maxsize=16)
def vectors(shape: tuple[int, ...]) -> Vectors:
    """All shortest hop vectors of the twisted torus of a shape.

    The search goes to full lengths: half of them, enough on a straight torus, misses shortest vectors here.

    >>> found = vectors((4, 4, 8))
    >>> int(found.hops.max()), len(found.hops)
    (6, 185)
    """
    candidates = np.array(list(itertools.product(*(range(-k, k + 1) for k in shape))))
    reached = number(shape, candidates)
    hops = np.abs(candidates).sum(1)
    least = np.full(int(np.prod(shape)), hops.max())
    np.minimum.at(least, reached, hops)
    keep = np.flatnonzero(hops == least[reached])
    keep = keep[np.argsort(reached[keep], kind="stable")]
    first = np.searchsorted(reached[keep], np.arange(len(least) + 1))
    return Vectors(first, hops[keep], _words(candidates[keep], int(least.max())))


def _words(vector: Longs, longest: int) -> Longs:
    """Axis after axis: how the hops of each vector are crossed."""
    word = np.full((len(vector), longest), -1, np.int64)
    begin = np.zeros(len(vector), np.int64)
    hop = np.arange(longest)
    for a in range(vector.shape[1]):
        end = begin + np.abs(vector[:, a])
        here = (hop >= begin[:, None]) & (hop < end[:, None])
        word = np.where(here, 2 * a + (vector[:, a] < 0)[:, None], word)
        begin = end
    return word


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """One route for each shortest hop vector of a pair; a dead link is gone round by a shortest way.

    Cost: O(pieces x diameter) array steps.

    Raises:
        InputError: if the topology is no twisted torus.
    """
    table = vectors(topology.shape)
    coords = topology.coords.astype(np.int64)
    displaced = number(topology.shape, coords[dst] - coords[src])
    many = np.diff(table.first)[displaced]
    pair = np.repeat(np.arange(len(src), dtype=np.int32), many)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(many) - many, many)
    vector = np.repeat(table.first[displaced], many) + nth
    weight: Floats = 1.0 / many[pair]
    hops = table.hops[vector]
    links, end = _walk(topology, src[pair], table.word, vector, hops)
    if not np.array_equal(end, dst[pair]):
        raise InputError(
            f"{topology.name} is no twisted torus; its routing rule is dimension_order or shortest"
        )
    found = assemble(topology, pair, weight, hops, links)
    return dimension_order.around(topology, found, src, dst)


def _walk(topology: Topology, start: Ints, word: Longs, vector: Longs, hops: Longs) -> tuple[Ints, Ints]:
    """The links of all pieces, one piece after the other, and where each ends."""
    port = topology.port.reshape(topology.chips, -1)
    links = np.zeros(int(hops.sum()), np.int32)
    first = np.cumsum(hops) - hops
    at = start.copy()
    going = np.arange(len(start))
    for hop in range(word.shape[1]):
        going = going[hops[going] > hop]
        crossed = port[at[going], word[vector[going], hop]]
        links[first[going] + hop] = crossed
        at[going] = topology.dst[crossed]
    return links, at
