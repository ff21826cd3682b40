"""Rings, tori and twisted tori as groups of displacements: every rank sees the same network around it.

A displacement is numbered as the rank that rank 0 reaches by it. A generator is a displacement of one link;
an axis of length 2 is one cable and has one generator, a longer one has two.

Source: Camara et al. 2010, Twisted torus topologies for enhanced interconnection networks, IEEE TPDS 21(12),
1765 (the lattice of a twisted torus).
"""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.group import Group
from hopcast.ir.topology import AnyInts, Ints
from hopcast.routing import twisted as lattice

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Torus:
    """A torus whose axes all wrap (of length 2: are one cable), straight or twisted.

    Attributes:
        shape: Lengths.
        twisted: Whether the wrap-arounds of its short axes lead to other lines.
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
            return lattice.number(self.shape, points.reshape(-1, points.shape[-1])).reshape(points.shape[:-1])
        return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(points, -1, 0)), self.shape, mode="wrap"))

    def points(self, ranks: AnyInts) -> Longs:
        """``int64[..., axes]``: coordinates of ranks."""
        return np.stack(np.unravel_index(ranks, self.shape), -1)

    def add(self, one: AnyInts, other: AnyInts) -> Longs:
        """The sum of displacements, or the rank at a displacement from a rank.

        >>> Torus((4, 4, 8), True).add(np.array([96]), np.array([32])).tolist()
        [4]
        """
        return self.number(self.points(one) + self.points(other))

    def around(self, by: AnyInts) -> Ints:
        """``int32[k, n]``: the rank at each of k displacements from every rank.

        >>> Torus((2, 3), False).around(np.array([4])).tolist()
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

    def minus(self, one: AnyInts) -> Longs:
        """The opposite displacements."""
        return self.number(-self.points(one))

    @functools.cached_property
    def ways(self) -> Longs:
        """``int64[generators, axes]``: one link up and down each axis."""
        d = len(self.shape)
        signs = [(a, s) for a in range(d) for s in (1, -1) if self.shape[a] > (2 if s < 0 else 1)]
        return np.array([[s * (a == b) for b in range(d)] for a, s in signs], np.int64).reshape(-1, d)

    @functools.cached_property
    def to(self) -> Longs:
        """``int64[generators, n]``: the rank one link from each rank."""
        return self.number(self.points(np.arange(self.ranks)) + self.ways[:, None])

    @property
    def moves(self) -> Ints:
        """One hop up each axis, as `ir.schedule.Orbit` wants it."""
        return np.asarray(self.to[self.ways.sum(1) > 0], np.int32)

    @property
    def diameter(self) -> int:
        """Links between the ranks farthest apart.

        Source: Camara et al. 2010 for the twisted ones.

        >>> Torus((4, 4, 8), False).diameter, Torus((4, 4, 8), True).diameter
        (8, 6)
        """
        if self.twisted:
            return len(self.shape) * min(self.shape) // 2
        return sum(n // 2 for n in self.shape)

    @functools.cached_property
    def vectors(self) -> tuple[Longs, Longs]:
        """All shortest hop vectors, by the displacement that they make: ``int64[v]`` and ``int64[v, axes]``.

        On a twisted torus the search goes to full lengths: half of them misses some.
        """
        reach = [n if self.twisted else n // 2 for n in self.shape]
        spans = [range(0 if n == 2 else -k, k + 1) for n, k in zip(self.shape, reach, strict=True)]
        tried = np.array(list(itertools.product(*spans)), np.int64)
        made, hops = self.number(tried), np.abs(tried).sum(1)
        least = np.full(self.ranks, hops.max())
        np.minimum.at(least, made, hops)
        keep = np.flatnonzero((hops == least[made]) & (hops > 0))
        keep = keep[np.argsort(made[keep], kind="stable")]
        return made[keep], tried[keep]


@functools.lru_cache(maxsize=64)
def _torus(shape: tuple[int, ...], twisted: bool) -> Torus:
    return Torus(shape, twisted)


def of(group: Group) -> Torus | str:
    """The torus that a group is, or why it is none."""
    if group.switched:
        return "ranks on a switch are no torus"
    shape = tuple(n for n in group.shape if n > 1)
    for axis in group.axes:
        if axis.length > 2 and not axis.wraps:
            return f"axis {axis.name} of length {axis.length} does not wrap; use synthesized or multi_axis"
    if len({b for b in group.bandwidth if b > 0}) > 1 or len(set(group.latency)) > 1:
        return "links of its axes differ"
    straight = _torus(shape, False)
    if group.links is None or _has_links(straight, group.links):
        return straight if group.uniform_rates else "its links differ in speed"
    if is_twistable(shape) and _has_links(_torus(shape, True), group.links):
        return _torus(shape, True)
    return "its links are not those of a torus (a link is dead, or ranks are no neighbours)"


def is_twistable(shape: tuple[int, ...]) -> bool:
    """Whether the lattice of `routing.twisted` is one of this shape."""
    return len(shape) in (2, 3) and len(set(shape)) == 2 and max(shape) == 2 * min(shape) > 4


def _has_links(torus: Torus, links: Ints) -> bool:
    """Whether every rank has a link each way, and no others."""
    n = torus.ranks
    own = np.sort((np.arange(n) * n + torus.to).ravel())
    given = links[:, 0].astype(np.int64) * n + links[:, 1]
    return np.array_equal(own, np.sort(given))
