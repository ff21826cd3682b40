"""Where chips, switches and links are in the picture of a network: lines and rings; others elsewhere."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from hopcast.ir.topology import Topology
from hopcast.names import InputError

from .boxes import Box, around
from .geometry import Line, Point, between, shifted

MOST_CHIPS = 4096
MOST_ALONG = 128
MOST_IN_A_ROW = 256  # chips under switches
_ROUND_RING, _ROW = 64, 16


@dataclass(frozen=True)
class Trace:
    """The way of one link: one line, or two where a wrap-around is cut off at the edge of the picture.

    Attributes:
        lines: From the middle of its source to the middle of its destination.
        wraps: Whether it is drawn as a wrap-around.
        ticks: Whether it is a tick on a chip, which stands for a link to another sheet.
        upright: Whether it leads from the edge of a box to the edge of another above or below. It then moves
            aside across, so that its ends stay on those edges however slanting it is.
    """

    lines: tuple[Line, ...]
    wraps: bool = False
    ticks: bool = False
    upright: bool = False


@dataclass
class Layout:
    """A picture's plan. Two ways of a cable have the same trace, forwards and back.

    Attributes:
        boxes: Of each vertex; vertices that are drawn as one share a box.
        traces: Of each link.
        label: What stands in a vertex's box; empty where there is no room.
        size: Font size of the labels.
        lane: How far from the middle of a cable each of its two ways runs.
        widest: Stroke width of the busiest link.
        stubs: Words at the edge: anchor point, text, anchor.
        marks: Words among the chips, such as the names of sheets: point, text, anchor.
        bundles: Thick arrows between sheets.
        notes: Sentences for the caption.
        hidden: Vertices that are not drawn; a link of theirs has no lines.
    """

    boxes: list[Box]
    traces: list[Trace]
    label: Callable[[int], str]
    size: float = 10.0
    lane: float = 4.0
    widest: float = 6.0
    stubs: list[tuple[Point, str, str]] = field(default_factory=list)
    marks: list[tuple[Point, str, str]] = field(default_factory=list)
    bundles: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hidden: frozenset[int] = frozenset()

    def ways(self, topology: Topology, link: int, aside: float) -> list[Line]:
        """The lines of a link between its boxes, moved to its right by ``aside``; none of a hidden one."""
        trace = self.traces[link]
        first, last = self.boxes[int(topology.src[link])], self.boxes[int(topology.dst[link])]
        if trace.upright:
            narrow = min(b.right - b.left for b in (first, last))
            return [_between_edges(line, aside, narrow / 2 - 2) for line in trace.lines]
        out, many = [], len(trace.lines)
        for i, line in enumerate(trace.lines):
            ends = (
                first if i == 0 else None,
                last if i == many - 1 and not (trace.ticks and i == 0) else None,
            )
            out.append(between(shifted(line, aside) if aside else line, *ends, gap=1.0))
        return out


def _between_edges(line: Line, aside: float, most: float) -> Line:
    """The line a little off both edges, moved to its right by ``aside``, along them by ``most`` at most."""
    (ax, ay), (bx, by) = line
    up = 1.0 if by < ay else -1.0
    along = min(abs(aside) * math.dist(*line) / abs(by - ay), max(most, abs(aside)))
    by_side = up * math.copysign(along, aside)
    return ((ax + by_side, ay - up), (bx + by_side, by + up))


def long_axes(topology: Topology) -> list[int]:
    """Axes that have more than one chip."""
    return [a for a, axis in enumerate(topology.axes) if axis.length > 1]


def too_large(topology: Topology) -> InputError:
    """The error for a network that would be no picture."""
    near = "torus:8x8x8, torus:16x16 or ring:64" if topology.is_grid else "switch:72, one node or one slice"
    units = any(label.startswith("unit ") for label in topology.labels)
    sketch = f", or its units: hopcast atlas --only gpu_topology --on {topology.name}" if units else ""
    return InputError(
        f"{topology.name} with {topology.chips:,} chips is too large to draw (at most {MOST_CHIPS:,} "
        f"chips, {MOST_ALONG} along an axis of a grid, {MOST_IN_A_ROW} in a row under switches); "
        f"draw a smaller one, such as {near}{sketch}"
    )


def way_of(topology: Topology, link: int) -> int:
    """1 where a grid's link leaves its chip upwards along its axis, -1 downwards."""
    return 1 if topology.port[topology.src[link], topology.axis[link], 0] == link else -1


def is_step(topology: Topology, link: int) -> bool:
    """Whether a link goes to the next chip along its axis, rather than round the end or askew."""
    ahead = topology.coords[topology.dst[link]] - topology.coords[topology.src[link]]
    return bool(ahead[topology.axis[link]] == way_of(topology, link)) and int(np.abs(ahead).sum()) == 1


def one_chip(topology: Topology) -> Layout:
    """A network of one chip."""
    return Layout([around(0, 0, 46, 30)], [], topology.place)


def ring(topology: Topology, axis: int) -> Layout:
    """A closed line as a circle, chip 0 on top, clockwise."""
    n = topology.axes[axis].length
    wide, high, pitch, size = (40, 26, 62, 10.0) if n <= 24 else (26, 18, 34, 8.0)
    radius = max(84.0, n * pitch / (2 * math.pi))
    boxes = []
    for chip in range(n):
        turn = 2 * math.pi * int(topology.coords[chip, axis]) / n
        boxes.append(around(radius * math.sin(turn), -radius * math.cos(turn), wide, high))
    traces = [Trace((_straight(boxes, topology, link),)) for link in range(topology.links)]
    return Layout(boxes, traces, topology.place, size, 4.0 if n <= 24 else 2.5, 6.0 if n <= 24 else 4.0)


def line(topology: Topology, axis: int) -> Layout:
    """An open line, or a ring too long for a circle, in rows that run to and fro."""
    n, wraps = topology.axes[axis].length, topology.axes[axis].wraps
    per = n if n <= _ROW else _ROW if n <= 256 else 64
    wide, high, pitch, size = (
        (40, 26, 76, 10.0) if n <= _ROW else (30, 20, 52, 8.0) if n <= 256 else (10, 10, 18, 0.0)
    )
    boxes = []
    for chip in range(n):
        row, along = divmod(int(topology.coords[chip, axis]), per)
        boxes.append(
            around((along if row % 2 == 0 else per - 1 - along) * pitch, row * pitch * 0.9, wide, high)
        )
    found = Layout(
        boxes,
        [],
        topology.place if size else lambda v: "",
        size,
        4.0 if size > 8 else 2.0,
        6.0 if size > 8 else 3.0,
    )
    for link in range(topology.links):
        if is_step(topology, link):
            found.traces.append(Trace((_straight(boxes, topology, link),)))
        else:
            found.traces.append(_cut_open(found, topology, link, n, per))
    if wraps:
        found.notes.append("The stubs at its ends are joined, which closes the ring.")
    if not size:
        found.notes.append(f"Rows of {per} chips that run to and fro, from chip 0 at the top left.")
    return found


def _straight(boxes: list[Box], topology: Topology, link: int) -> Line:
    return (centre(boxes[int(topology.src[link])]), centre(boxes[int(topology.dst[link])]))


def _cut_open(found: Layout, topology: Topology, link: int, n: int, per: int) -> Trace:
    """The link that closes a long ring: a stub at either end, with the name of the chip at the other."""
    src, dst = int(topology.src[link]), int(topology.dst[link])
    ends = []
    for vertex, other in ((src, dst), (dst, src)):
        x, y = centre(found.boxes[vertex])
        row = (n - 1) // per if vertex else 0
        side = -1 if (row % 2 == 0 and not vertex) or row % 2 == 1 else 1
        out = (x + side * 34, y)
        ends.append(((x, y), out))
        if vertex == src:
            found.stubs.append(
                ((out[0] + side * 4, y + 3.4), topology.place(other), "end" if side < 0 else "start")
            )
    return Trace((ends[0], ends[1][::-1]), wraps=True)


def centre(box: Box) -> Point:
    """The middle of a box."""
    return ((box.left + box.right) / 2, (box.top + box.bottom) / 2)


def lay_out(topology: Topology, bows: bool = True, keep: Collection[int] = ()) -> Layout:
    """The plan of a network's picture.

    Args:
        topology: The network.
        bows: Whether wrap-arounds of a grid may be whole loops; numbers beside links need their room.
        keep: Vertices that must be drawn, where there are too many for all.

    Raises:
        InputError: if it is too large to be read.
    """
    from . import layout_grid, layout_slices, layout_switch

    if topology.chips > MOST_CHIPS:
        raise too_large(topology)
    if topology.is_slices and topology.axes[0].length > 1:
        return layout_slices.slices(topology, bows, keep)
    if not topology.is_grid:
        return layout_switch.layers(topology, keep)
    axes = long_axes(topology)
    if not axes:
        return one_chip(topology)
    if len(axes) == 1:
        closed = topology.axes[axes[0]].wraps and topology.chips <= _ROUND_RING
        return ring(topology, axes[0]) if closed else line(topology, axes[0])
    if max(topology.shape) > MOST_ALONG:
        raise too_large(topology)
    if 3 <= len(axes) <= 4 and all(topology.axes[a].length == 2 for a in axes):
        return layout_grid.cube(topology, axes)
    return layout_grid.sheets(topology, axes, bows)
