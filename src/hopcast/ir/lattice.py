"""The points of a torus, straight or twisted, as displacements that add up.

A displacement is numbered as the rank that rank 0 reaches by it. Ranks are integer points modulo a lattice,
so they form a commutative group, and to move all of them by one displacement moves links onto links.

Source: Camara et al. 2010, Twisted torus topologies for enhanced interconnection networks, IEEE TPDS 21(12),
1765 (the lattice of a twisted torus).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .orbits import shifts
from .topology import AnyInts, Ints

Longs = npt.NDArray[np.int64]


def twisted(shape: tuple[int, ...], points: Longs) -> Longs:
    """``int64[p]``: the rank at each integer point, ``points`` being ``int64[p, d]`` of any size and sign.

    >>> twisted((4, 4, 8), np.array([[4, 0, 0], [-1, 0, 0], [0, 4, 4]])).tolist()
    [4, 100, 0]
    """
    lengths = np.array(shape)
    short = lengths == min(shape)
    turns = points // lengths
    shift = turns[:, short].sum(1) * min(shape)
    at = (points + np.where(short, 0, shift[:, None])) % lengths
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    return np.asarray(at @ strides, np.int64)


@dataclass(frozen=True)
class Lattice:
    """Integer points, of which those are the same rank that differ by full turns.

    Attributes:
        shape: Lengths.
        twisted: Whether a turn along a short axis leads half a turn along the long ones.
    """

    shape: tuple[int, ...]
    twisted: bool

    @property
    def ranks(self) -> int:
        """Their number."""
        return int(np.prod(self.shape))

    def number(self, points: Longs) -> Longs:
        """``int64[...]``: the rank at each integer point, ``points`` being ``int64[..., axes]``."""
        if self.twisted:
            return twisted(self.shape, points.reshape(-1, points.shape[-1])).reshape(points.shape[:-1])
        return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(points, -1, 0)), self.shape, mode="wrap"))

    def points(self, ranks: AnyInts) -> Longs:
        """``int64[..., axes]``: coordinates of ranks."""
        return np.stack(np.unravel_index(ranks, self.shape), -1)

    def add(self, one: AnyInts, other: AnyInts) -> Longs:
        """The sum of displacements, or the rank at a displacement from a rank.

        >>> Lattice((4, 4, 8), True).add(np.array([96]), np.array([32])).tolist()
        [4]
        """
        return self.number(self.points(one) + self.points(other))

    def minus(self, one: AnyInts) -> Longs:
        """The opposite displacements."""
        return self.number(-self.points(one))

    def around(self, by: AnyInts) -> Ints:
        """``int32[k, n]``: the rank at each of k displacements from every rank.

        >>> Lattice((2, 3), False).around(np.array([4])).tolist()
        [[4, 5, 3, 1, 2, 0]]
        """
        if self.twisted:
            return self.add(by[:, None], np.arange(self.ranks)).astype(np.int32)
        points, d = self.points(by), len(self.shape)
        found: Ints = np.zeros((len(points), *[1] * d), np.int32)
        for a, n in enumerate(self.shape):  # one digit after another, so that all but the last are small
            stride = int(np.prod(self.shape[a + 1 :]))
            digit = ((points[:, a, None] + np.arange(n)) % n * stride).astype(np.int32)
            found = found + digit.reshape(-1, *[n if b == a else 1 for b in range(d)])
        return found.reshape(len(points), self.ranks)

    @property
    def moves(self) -> Ints:
        """``int32[axes, n]``: one hop up each axis longer than 1, as `ir.schedule.Orbit` wants it."""
        if not self.twisted:
            return shifts(self.shape)
        return self.around(self.number(np.eye(len(self.shape), dtype=np.int64)))
