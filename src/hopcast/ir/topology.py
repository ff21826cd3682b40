"""A network as columns of directed links."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
AnyInts = npt.NDArray[np.integer[Any]]  # what functions take that convert or only index
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Axis:
    """A direction of a grid network, or the ports of a switch.

    Attributes:
        name: ``x``, ``y``, ``z`` ...; of a mesh, the user's own word.
        length: Chips along it.
        wraps: Whether the last chip has a link to the first. An axis of length 2 is one cable and never
            wraps.
        switched: Whether its chips meet in switches instead of being joined in a line.
        inner: Whether it goes over the cores of one chip, where each is a rank.
    """

    name: str
    length: int
    wraps: bool
    switched: bool = False
    inner: bool = False

    @property
    def ports(self) -> int:
        """Links that a chip has along this axis, at least: 2 wrapped, 1 at an end or a switch, 0 alone."""
        return 2 if self.wraps else int(self.length > 1)


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """Chips, switches and the directed links between them. A cable that carries both ways is two links.

    Shapes: v vertices of which the first ``chips`` are chips and the rest switches; m links; d axes.

    Attributes:
        name: As on the command line, for example ``torus:4x4``.
        chips: Number of chips; of cores where these are the ranks.
        vertices: Number of chips and switches.
        src, dst: ``int32[m]``.
        axis: ``int32[m]``, index into ``axes``.
        bandwidth: ``float64[m]``, bytes/s in this direction; 0 is a dead link.
        latency: ``float64[m]``, seconds; the latency of a route is the sum over its links.
        wire: ``int32[m]``, the link whose bandwidth is drawn on: itself, or at half duplex the cable's first
            link.
        axes: The physical axes.
        coords: ``int32[chips, d]``.
        port: ``int32[chips, d, 2]``, the link of a chip along an axis, up and down; -1 where there is none.
            Empty for networks that are not grids.
        labels: Names of the switches, for people; ``switch 0`` and so on where there are none.
    """

    name: str
    chips: int
    vertices: int
    src: Ints
    dst: Ints
    axis: Ints
    bandwidth: Floats
    latency: Floats
    wire: Ints
    axes: tuple[Axis, ...]
    coords: Ints
    port: Ints
    labels: tuple[str, ...] = ()

    @property
    def links(self) -> int:
        """Number of directed links."""
        return len(self.src)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(a.length for a in self.axes)

    @property
    def cores(self) -> int:
        """Ranks of one chip: more than 1 where each of its cores is one."""
        return math.prod(a.length for a in self.axes if a.inner)

    @property
    def is_grid(self) -> bool:
        """Whether chips are joined along axes, without switches."""
        return (self.port.size > 0 or self.chips == 1) and self.vertices == self.chips

    @property
    def is_slices(self) -> bool:
        """Whether it is several grids whose chips meet in switches outside: slices over a data centre."""
        return self.port.size > 0 and self.vertices > self.chips

    @property
    def half_duplex(self) -> bool:
        """Whether the two directions of a cable share its bandwidth."""
        return bool(np.any(self.wire != np.arange(self.links)))

    def place(self, vertex: int) -> str:
        """Name of a vertex for people: ``3,0`` on a grid or in node 3, ``1/3,0`` in slice 1, ``switch 0``."""
        if vertex >= self.chips:
            number = vertex - self.chips
            return self.labels[number] if self.labels else f"switch {number}"
        at = [str(c) for c in self.coords[vertex]]
        if not self.is_slices:
            return ",".join(at)
        inside = ",".join(at[1:])
        return f"{at[0]}/{inside}" if self.axes[0].length > 1 else inside

    def link_name(self, link: int) -> str:
        """Name of a link for people: ``x 3,0>0,0``."""
        axis = self.axes[self.axis[link]].name
        return f"{axis} {self.place(int(self.src[link]))}>{self.place(int(self.dst[link]))}"

    def with_links(self, bandwidth: Floats) -> "Topology":
        """The same network with other bandwidths (slow links, or 0 for dead ones)."""
        return replace(self, bandwidth=bandwidth)

    def __repr__(self) -> str:
        return f"Topology({self.name}, chips={self.chips}, links={self.links})"
