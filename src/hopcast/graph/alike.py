"""Ranks that are alike: some way of moving all vertices puts one on the other and links on links.

What holds for one of them then holds for all. A few moves are tried: one hop up an axis, to the next
coordinate, the mirror image of an axis, and two axes exchanged. Each is verified link by link, so nothing is
taken for alike that is not.
"""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from hopcast.ir.hashes import GOLDEN, Words, mixed
from hopcast.ir.topology import AnyInts, Floats, Ints, Topology

Longs = npt.NDArray[np.int64]
_TIERS = 8  # of switches above chips, at most


def representatives(topology: Topology, ranks: AnyInts, links: AnyInts, rate: Floats) -> Ints:
    """One rank of each class of ranks that are alike.

    Args:
        topology: The network.
        ranks: ``int32[n]``, moves must put these on each other.
        links: ``[l]``, numbers of the links that count.
        rate: ``float64[l]``, bytes/s of each.

    Cost: some array steps over the links for each of at most 3 d + d**2 moves of d axes.

    >>> from hopcast.topologies import mesh, torus
    >>> grids = torus.build("torus:4x4", (4, 4), 1.0, 0.0), mesh.build("mesh:4x4", (4, 4), 1.0, 0.0)
    >>> [representatives(g, np.arange(16), np.arange(g.links), g.bandwidth).tolist() for g in grids]
    [[0], [0, 1, 5]]
    """
    return np.unique(classes(topology, ranks, links, rate)).astype(np.int32)


def classes(topology: Topology, ranks: AnyInts, links: AnyInts, rate: Floats) -> Longs:
    """``int64[n]``: for each rank the lowest that is alike; arguments as of `representatives`."""
    inside = np.zeros(topology.vertices, bool)
    inside[ranks] = True
    ends = topology.src[links].astype(np.int64), topology.dst[links].astype(np.int64)
    moves = [
        move
        for move in (_whole(topology, chips, ends, rate) for chips in _chip_moves(topology))
        if np.array_equal(inside, inside[move]) and _keeps(topology, move, ends, rate)
    ]
    return np.asarray(lowest(moves, topology.vertices)[ranks], np.int64)


def lowest(moves: Iterable[Longs], count: int) -> Longs:
    """``int64[count]``: for each thing the lowest that the moves, permutations of them, bring it to.

    >>> lowest([np.array([1, 0, 2, 4, 3])], 5).tolist()
    [0, 0, 2, 3, 3]
    """
    moves, label = list(moves), np.arange(count)
    while True:
        before = label.copy()
        for move in moves:
            np.minimum.at(label, move, label)
            label = np.minimum(label, label[move])
        label = label[label]
        if np.array_equal(before, label):
            return label


def _chip_moves(topology: Topology) -> Iterator[Longs]:
    """Where each chip goes: permutations ``int64[chips]``."""
    chips, shape = topology.chips, topology.shape
    for a in range(len(shape) if topology.port.size else 0):
        up, down = topology.port[:, a, 0], topology.port[:, a, 1]
        port = np.where(up < 0, down, up)
        to = topology.dst[port].astype(np.int64)
        if np.all(port >= 0) and np.array_equal(np.sort(to), np.arange(chips)):
            yield to
    if int(np.prod(shape)) != chips:
        return
    number = np.ravel_multi_index(tuple(topology.coords.T), shape)
    if not np.array_equal(np.sort(number), np.arange(chips)):
        return
    chip = np.empty(shape, np.int64)  # at each place
    chip.ravel()[number] = np.arange(chips)
    long = [a for a, length in enumerate(shape) if length > 1]
    changed = [np.roll(chip, -1, a) for a in long] + [np.flip(chip, a) for a in long]
    changed += [chip.swapaxes(a, b) for a, b in itertools.combinations(long, 2) if shape[a] == shape[b]]
    for there in changed:
        move = np.empty(chips, np.int64)
        move[chip.ravel()] = there.ravel()
        yield move


def _whole(topology: Topology, chips: Longs, ends: tuple[Longs, Longs], rate: Floats) -> Longs:
    """A move of all vertices: a switch goes where its neighbours go, told by marks that spread from chips."""
    if topology.vertices == topology.chips:
        return chips
    random = np.random.default_rng(0)
    mark = np.zeros(topology.vertices, np.uint64)
    mark[: topology.chips] = random.integers(1, 2**63, topology.chips, np.uint64)
    moved = mark.copy()
    moved[: topology.chips] = mark[chips]
    here, there = (_spread(topology, m, ends, rate) for m in (mark, moved))
    move = np.concatenate([chips, np.zeros(topology.vertices - topology.chips, np.int64)])
    switches = np.arange(topology.chips, topology.vertices)
    was, now = (switches[np.argsort(m[switches], kind="stable")] for m in (there, here))
    move[was] = now
    return move


def _spread(topology: Topology, mark: Words, ends: tuple[Longs, Longs], rate: Floats) -> Words:
    """Marks of switches that tell which chips they join, over how many tiers and how fast."""
    bits = np.ascontiguousarray(rate, np.float64).view(np.uint64)
    now = mark.copy()
    for _ in range(_TIERS):
        after = now * np.uint64(GOLDEN)
        for tail, head in (ends, ends[::-1]):
            np.add.at(after, tail, mixed(now[head] ^ bits))
            after = mixed(after)
        after[: topology.chips] = mark[: topology.chips]
        now = after
    return now


def _keeps(topology: Topology, move: Longs, ends: tuple[Longs, Longs], rate: Floats) -> bool:
    """Whether every link comes to lie on one of the same rate."""

    def ordered(tail: Longs, head: Longs) -> tuple[Longs, Floats]:
        key = tail * topology.vertices + head
        order = np.lexsort((rate, key))
        return key[order], rate[order]

    before, after = ordered(*ends), ordered(move[ends[0]], move[ends[1]])
    return np.array_equal(before[0], after[0]) and np.array_equal(before[1], after[1])
