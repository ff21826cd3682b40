"""Rings, tori and twisted tori as groups of displacements: every rank sees the same network around it.

A generator is a displacement of one link; an axis of length 2 is one cable and has one generator, a longer
one has two.
"""

import functools
import itertools

import numpy as np

from hopcast.ir.group import Group
from hopcast.ir.lattice import Lattice
from hopcast.ir.lattice import Longs as Longs
from hopcast.ir.topology import Ints

from . import _links


class Torus(Lattice):
    """A torus whose axes all wrap (of length 2: are one cable), straight or twisted."""

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
        is_even = group.uniform_rates or np.ptp(_links.rates(group)) == 0
        return straight if is_even else "its links differ in speed"
    if is_twistable(shape) and _has_links(_torus(shape, True), group.links):
        return _torus(shape, True)
    return "its links are not those of a torus (a link is dead, or ranks are no neighbours)"


def is_twistable(shape: tuple[int, ...]) -> bool:
    """Whether a twisted torus has this shape."""
    return len(shape) in (2, 3) and len(set(shape)) == 2 and max(shape) == 2 * min(shape) > 4


def _has_links(torus: Torus, links: Ints) -> bool:
    """Whether every rank has a link each way, and no others."""
    n = torus.ranks
    own = np.sort((np.arange(n) * n + torus.to).ravel())
    given = links[:, 0].astype(np.int64) * n + links[:, 1]
    return np.array_equal(own, np.sort(given))
