"""Regions of a network, and the few links through which all must come that their ranks lack.

A region is some of the ranks; its gates are the links into it. Every chunk of the ranks outside comes through
a gate, and if the rank inside that is farthest from all gates is ``deep`` links away from the nearest, it
comes ``deep`` steps before the end. So no all_gather takes less than deep + ceil(pieces outside / gates)
steps; and one under way can end in time only if each region gets, through its gates, as many chunks that
nobody inside has.

Three kinds are enough: for every link the ranks to which its head is nearer than its tail, every rank with
those from which one link leads to it, and every rank alone, whose gates are its ports.

Source: hopcast 2026; outside over gates is the cut of Zhao et al. 2024, ForestColl, arXiv:2402.06787.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Ints

Shorts = npt.NDArray[np.int16]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Region:
    """Some ranks, not all.

    Attributes:
        inside: ``bool[n]``.
        gates: ``int64[g]``, which links lead into it.
        deep: Links from the nearest gate to the rank inside that is farthest from all of them.
    """

    inside: Bools
    gates: Longs
    deep: int

    @functools.cached_property
    def outside(self) -> int:
        """Ranks that are not of it."""
        return int(np.count_nonzero(~self.inside))

    def steps(self, pieces: int) -> float:
        """What its ranks need at least, of shards in so many pieces; not rounded up: how narrow it is."""
        return self.deep + pieces * self.outside / len(self.gates)

    def fewest(self, pieces: int) -> int:
        """Steps that its ranks need at least."""
        return self.deep - -pieces * self.outside // len(self.gates)


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of a network that are looked at.

    Attributes:
        links: ``int32[l, 2]`` of the network.
        width: Links from a rank to the one farthest from it, at most.
        all: Each once.
    """

    links: Ints
    width: int
    all: list[Region]

    def fewest(self, pieces: int) -> int:
        """Steps that no all_gather of shards in so many pieces can do without.

        >>> line = np.array([[0, 1], [1, 2], [2, 3]])
        >>> regions_of(4, np.concatenate([line, line[:, ::-1]])).fewest(2)
        6
        """
        return max(self.width, *(region.fewest(pieces) for region in self.all))

    def narrowest(self, pieces: int, most: int) -> list[Region]:
        """Regions to steer by, the narrowest first, as many as have ``most`` gates together, or one.

        Single ranks are none of them: whatever one lacks and gets serves it alike.
        """
        found = [region for region in self.all if np.count_nonzero(region.inside) > 1]
        found.sort(key=lambda region: -region.steps(pieces))
        gates = np.cumsum([len(region.gates) for region in found])
        return found[: 1 + int(np.searchsorted(gates, most))]


def regions_of(n: int, links: Ints) -> Regions:
    """The regions of n ranks, 2 or more, that ``int32[l, 2]`` links join.

    Cost: O(l n), and for each link that the network is wide once more; 20 ms for 256 ranks, 2 s for a row of
    1,024.
    """
    far = distances(n, links)
    seen: dict[bytes, Region] = {}
    for inside in _sets(links, far):
        key = np.packbits(inside).tobytes()
        if key in seen or inside.all():
            continue
        gates = np.flatnonzero(inside[links[:, 1]] & ~inside[links[:, 0]])
        deep = far[np.unique(links[gates, 1])].min(0)[inside].max()
        seen[key] = Region(inside, gates, int(deep))
    return Regions(links, int(far.max()), list(seen.values()))


def _sets(links: Ints, far: Shorts) -> Iterator[Bools]:
    """``bool[n]``, the ranks of each region; some more than once."""
    for tail, head in links.tolist():
        yield far[head] < far[tail]
    for away in far.T:
        yield away == 0
        yield away <= 1


def distances(n: int, links: Ints) -> Shorts:
    """``int16[n, n]``: fewest links from the first rank to the second, where every rank reaches every other.

    >>> distances(3, np.array([[0, 1], [1, 2], [2, 0]])).tolist()
    [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    """
    src, dst = links[np.argsort(links[:, 0], kind="stable")].T
    first = np.searchsorted(src, np.arange(n))
    reached = np.eye(n, dtype=bool)
    far: Shorts = np.zeros((n, n), np.int16)
    while not reached.all():
        far += ~reached
        bits = np.packbits(reached, axis=1)  # a pod's pairs are looked at as often as it is wide
        bits |= np.bitwise_or.reduceat(bits[dst], first, axis=0)
        reached = np.unpackbits(bits, axis=1, count=n).astype(bool)
    return far
