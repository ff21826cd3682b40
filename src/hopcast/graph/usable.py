"""The live links of a network that may be used, its components, and what sets of links carry."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Bools, Floats, Ints, Topology

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Usable:
    """Usable links in the order of their components and wires.

    Shapes: v vertices, u usable links, w wires, k components.

    Attributes:
        topology: The whole network.
        links: ``int64[u]``, link numbers.
        src, dst: ``int32[u]``, their ends.
        component: ``int32[v]``: vertices that usable links join, in either direction, have the same number.
        components: k.
        wire: ``int64[u]``, 0..w-1; links of one cable at half duplex share a wire.
        rate: ``float64[w]``, bytes/s.
        straight: Whether the usable links are all links of some axes of an unbroken grid, and only they.
    """

    topology: Topology
    links: Longs
    src: Ints
    dst: Ints
    component: Ints
    components: int
    wire: Longs
    rate: Floats
    straight: bool

    @property
    def shared(self) -> bool:
        """Whether some wire serves both directions."""
        return len(self.rate) < len(self.links)

    def capacity(self, chosen: Bools) -> Floats:
        """What sets of links carry together within each component, each wire counted once.

        Shapes: ``chosen`` is ``bool[c, u]``; the result ``float64[c, k]``, bytes/s.

        Cost: O(c u).
        """
        total = np.zeros((len(chosen), self.components))
        if not len(self.links):
            return total
        if self.components == 1 and not self.shared:
            return np.asarray((chosen @ self.rate)[:, None])
        if self.shared:
            first = np.flatnonzero(np.diff(self.wire, prepend=-1))
            chosen = np.logical_or.reduceat(chosen, first, axis=1)
            whose = self.component[self.src[first]]
        else:
            whose = self.component[self.src]
        start = np.flatnonzero(np.diff(whose, prepend=-1))
        total[:, whose[start]] = np.add.reduceat(chosen * self.rate, start, axis=1)
        return total

    def at_vertices(self) -> tuple[Floats, Floats, Floats]:
        """What can leave each vertex, enter it, and both together: three ``float64[v]``, bytes/s."""
        v, rate = self.topology.vertices, self.rate[self.wire]
        out, into = (np.bincount(ends, rate, v).astype(float) for ends in (self.src, self.dst))
        if not self.shared:
            return out, into, out + into
        key = np.concatenate([self.src, self.dst]).astype(np.int64) * len(self.rate) + np.tile(self.wire, 2)
        key = np.unique(key)
        both = np.bincount(key // len(self.rate), self.rate[key % len(self.rate)], v).astype(float)
        return out, into, both


def usable(topology: Topology, allowed: Bools | None = None) -> Usable:
    """The live links among those allowed (all of them if not given).

    Args:
        topology: Links of bandwidth 0 are dead; at half duplex so are links whose wire is.
        allowed: ``bool[m]``.
    """
    rate = topology.bandwidth[topology.wire]
    live: Bools = (topology.bandwidth > 0) & (rate > 0)
    if allowed is not None:
        live &= allowed
    straight = is_straight(topology, live)
    component = _by_axes(topology, live) if straight else _by_links(topology, live)
    links = np.flatnonzero(live)
    wire = topology.wire[links]
    if np.any(component) or np.any(wire != links):
        order = np.lexsort((links, wire, component[topology.src[links]]))
        links, wire = links[order], wire[order]
    new = np.diff(wire, prepend=-1) != 0
    count = int(component.max(initial=-1)) + 1
    ends = topology.src[links], topology.dst[links]
    return Usable(topology, links, *ends, component, count, np.cumsum(new) - 1, rate[wire[new]], straight)


def turned(network: Usable) -> Usable:
    """The same links, each the other way."""
    return replace(network, src=network.dst, dst=network.src)


def is_straight(topology: Topology, live: Bools) -> bool:
    """Whether the live links are all links of some axes, each a step of one along its axis, and no others.

    False for networks with switches, twisted tori and grids with dead links.
    """
    if not topology.is_grid or not topology.port.size:
        return False
    found = 0
    for a, axis in enumerate(topology.axes):
        if axis.length == 1 or not live[topology.axis == a].any():
            continue
        at = topology.coords[:, a]
        for way, step in enumerate((1, -1)):
            there = (at + step >= 0) & (at + step < axis.length) | axis.wraps
            link = topology.port[there, a, way]
            if np.any(link < 0) or not live[link].all() or np.any(topology.axis[link] != a):
                return False
            moved = topology.coords[topology.dst[link]] - topology.coords[topology.src[link]]
            moved[:, a] = (moved[:, a] - step) % axis.length
            if moved.any() or np.any(topology.src[link] != np.flatnonzero(there)):
                return False
            found += len(link)
    return found == int(live.sum())


def _by_axes(topology: Topology, live: Bools) -> Ints:
    """Components of a straight grid: the coordinates on the axes that are not used."""
    number = np.zeros(topology.vertices, np.int64)
    for a, axis in enumerate(topology.axes):
        if not live[topology.axis == a].any():
            number = number * axis.length + topology.coords[:, a]
    return number.astype(np.int32)


def _by_links(topology: Topology, live: Bools) -> Ints:
    return joined(topology.vertices, topology.src[live], topology.dst[live]).astype(np.int32)


def joined(vertices: int, src: AnyInts, dst: AnyInts) -> Longs:
    """``int64[v]``: what links join, whatever their direction, has one number, counted by lowest vertices.

    >>> joined(4, np.array([3]), np.array([1])).tolist()
    [0, 1, 2, 1]
    """
    label = np.arange(vertices)
    while True:  # the lowest number spreads until nothing changes
        lower = label.copy()
        np.minimum.at(lower, src, label[dst])
        np.minimum.at(lower, dst, label[src])
        lower = lower[lower]  # whoever follows a vertex also follows whom that one follows
        if np.array_equal(lower, label):
            return np.asarray(np.unique(label, return_inverse=True)[1], np.int64)
        label = lower
