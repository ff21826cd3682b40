"""Networks that look the same when all chips are moved along an axis: by how far, and in blocks of how many.

Nodes under a fat tree are alike within a leaf and leaves within a pod, but node 31 and node 32 may be under
one leaf or under two. So nodes can be moved round by whole leaves or pods, or round in a circle within each
leaf. No such move is taken for granted: every link has to come to lie on one of the same speed and latency.
"""

import functools

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Topology

Longs = npt.NDArray[np.int64]
_TIERS = 8  # of switches above chips, at most


@functools.lru_cache(maxsize=16)
def periods(topology: Topology) -> Longs:
    """The shortest moves of all vertices along each axis that leave the network as it is.

    Shapes: ``int64[g, v]``, at most one move for each axis, where each vertex goes.

    Cost: some array steps over the links for each divisor of the length of each axis.

    >>> from hopcast.topologies import mesh, torus
    >>> [len(periods(t.build("4x4", (4, 4), 1.0, 0.0))) for t in (torus, mesh)]
    [2, 0]
    """
    found = []
    for a, length in enumerate(topology.shape if _is_in_rows(topology) else ()):
        for by in _divisors(length)[:-1]:
            move = whole(topology, _rolled(topology, a, length, by))
            if move is not None:
                found.append(move)
                break
    return np.array(found, np.int64).reshape(len(found), topology.vertices)


@functools.lru_cache(maxsize=16)
def nested(topology: Topology) -> tuple[int, ...]:
    """Lengths of nested blocks along the axes such that each block can be turned round by one of its parts.

    Their product is the number of chips, in order of rank: ``(pods, leaves, nodes, gpus)`` of a fat tree.
    Empty where chips are not all alike in this way.

    Cost: as of `periods`, for each tier of blocks.

    >>> from hopcast.clusters import cluster
    >>> [nested(cluster(name).topology) for name in ("dgx-h100:64", "dgx-h100:48", "torus:4x3", "mesh:4x3")]
    [(2, 32, 8), (), (4, 3), ()]
    """
    shape: list[int] = []
    for a in reversed(range(len(topology.axes) if _is_in_rows(topology) else 0)):
        part, rest = 1, topology.shape[a]
        while rest > 1:
            by = next((n for n in _divisors(rest)[:0:-1] if _turns(topology, a, part, n)), 1)
            if by == 1:
                return ()
            shape.insert(0, by)
            part, rest = part * by, rest // by
    return tuple(shape)


def begun_at(digits: tuple[int, ...], chip: int) -> Longs:
    """All chips of nested blocks, each block turned round so that one chip is the first.

    >>> begun_at((2, 3), 4).tolist()
    [4, 5, 3, 1, 2, 0]
    """
    order = np.arange(int(np.prod(digits))).reshape(digits)
    by = [-int(i) for i in np.unravel_index(chip, digits)]
    return np.roll(order, by, tuple(range(len(digits)))).ravel()


def turns(topology: Topology) -> Longs:
    """The moves of all vertices that `nested` tells of: ``int64[g, v]``, one for each tier of blocks."""
    found, part = [], 1
    for many in reversed(nested(topology)):
        rank = np.arange(topology.chips)
        inside = rank // part % many
        move = whole(topology, rank + ((inside + 1) % many - inside) * part)
        assert move is not None
        found.append(move)
        part *= many
    return np.array(found[::-1], np.int64).reshape(len(found), topology.vertices)


def _turns(topology: Topology, axis: int, part: int, many: int) -> bool:
    """Whether each block of ``many`` parts along an axis can be turned round by one part."""
    return whole(topology, _rolled(topology, axis, part * many, part)) is not None


def _divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def _is_in_rows(topology: Topology) -> bool:
    """Whether chips are numbered row by row."""
    chips = np.arange(topology.chips)
    at = np.ravel_multi_index(tuple(topology.coords.T), topology.shape, mode="clip")
    return int(np.prod(topology.shape)) == topology.chips and np.array_equal(at, chips)


def _rolled(topology: Topology, axis: int, block: int, by: int) -> Longs:
    """Where each chip goes if those of each block along an axis move up by some, the last to the first."""
    at = topology.coords.astype(np.int64).copy()
    inside = at[:, axis] % block
    at[:, axis] += (inside + by) % block - inside
    return np.asarray(np.ravel_multi_index(tuple(at.T), topology.shape), np.int64)


def whole(topology: Topology, chips: Longs) -> Longs | None:
    """A move of all vertices that moves chips in this way and leaves the network as it is; None if none does.

    Switches are found from below, each along its axis above the vertices that it joins.

    Shapes: ``chips`` is ``int64[chips]``, the result ``int64[vertices]``.
    """
    move = np.full(topology.vertices, -1)
    move[: topology.chips] = chips
    above = _above(topology)
    if above is None:
        return None
    for _ in range(_TIERS):
        if np.all(move >= 0):
            break
        for over in above:
            known = np.flatnonzero((move >= 0) & (over >= 0))
            move[over[known]] = over[move[known]]
    every = np.array_equal(np.sort(move), np.arange(topology.vertices))
    return move if every and image(topology, move) is not None else None


@functools.lru_cache(maxsize=16)
def _above(topology: Topology) -> Longs | None:
    """``int64[axes, v]``: the switch above each vertex along each axis, -1 without.

    What is above has a higher number. None if there are several above one.
    """
    v, d = topology.vertices, len(topology.axes)
    up = np.flatnonzero((topology.dst > topology.src) & (topology.dst >= topology.chips))
    place = topology.axis[up].astype(np.int64) * v + topology.src[up]
    if np.bincount(place, minlength=1).max() > 1:
        return None
    over = np.full(d * v, -1)
    over[place] = topology.dst[up]
    return over.reshape(d, v)


def image(topology: Topology, move: Longs) -> Longs | None:
    """The link on which each link comes to lie: ``int64[m]``; None if one has none like it, or is dead."""
    known = _by_ends(topology)
    if known is None:
        return None
    code, order = known
    moved = move[topology.src] * topology.vertices + move[topology.dst]
    found = order[np.minimum(np.searchsorted(code, moved), max(topology.links - 1, 0))]
    ends = topology.src[found].astype(np.int64) * topology.vertices + topology.dst[found]
    same = (topology.bandwidth, topology.latency, topology.axis)
    alike = np.array_equal(ends, moved) and all(np.array_equal(column[found], column) for column in same)
    return found if alike and bool(np.all(topology.bandwidth > 0)) else None


@functools.lru_cache(maxsize=16)
def _by_ends(topology: Topology) -> tuple[Longs, Longs] | None:
    """Ends of the links as numbers, ascending, and the links in that order; None if two share their ends."""
    code = topology.src.astype(np.int64) * topology.vertices + topology.dst
    order = np.argsort(code)
    return None if np.any(np.diff(code[order]) == 0) else (code[order], order)
