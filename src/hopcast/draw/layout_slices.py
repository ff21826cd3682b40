"""Slices over a data centre network: each as the grid that it is, hosts above it, the network above all."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from hopcast.ir.topology import Ints, Topology

from .boxes import Box, around, of_text
from .geometry import Line
from .layout import Layout, Trace, centre, lay_out
from .layout_switch import fitting
from .svg import SMALL
from .words import listed

_WIDEST = 1750.0  # of all slices side by side; else the first, the second (if it fits) and the last are drawn
_GAP, _PAUSE, _LAYER = 34.0, 60.0, 74.0
_TICK = 11.0  # beyond the corner of a chip


@dataclass
class _Slices:
    """A slice's own plan, and where the slices are.

    Attributes:
        topology: All of it.
        own: The plan of the first slice.
        area: Around all that is drawn of it.
        left: How far each slice that is drawn is moved to the right.
        boxes: Of each vertex.
        labels: Of the switches.
    """

    topology: Topology
    own: Layout
    area: Box
    left: dict[int, float]
    boxes: list[Box]
    labels: dict[int, str]

    @property
    def each(self) -> int:
        """Chips of a slice."""
        return self.topology.chips // self.topology.axes[0].length

    def slice_of(self, vertex: int) -> int:
        """The slice of a chip, or of a switch all of whose chips are in one; -1 of others."""
        topology = self.topology
        if vertex < topology.chips:
            return vertex // self.each
        chips = topology.dst[topology.src == vertex]
        found = set((chips[chips < topology.chips] // self.each).tolist())
        return found.pop() if len(found) == 1 else -1


def slices(topology: Topology, bows: bool, keep: Collection[int]) -> Layout:
    """The plan of several slices.

    Args:
        topology: Its first axis counts the slices.
        bows: Whether wrap-arounds may be whole loops.
        keep: Vertices that must be drawn. Of many slices only the first, the second, the last and theirs are.
    """
    own = lay_out(_first(topology), bows)
    area = _area(own)
    there = _Slices(topology, own, area, {}, [around(0, 0, 0, 0)] * topology.vertices, {})
    of = [there.slice_of(v) for v in range(topology.vertices)]
    drawn = _drawn(topology, area, [of[v] for v in keep])
    x = 0.0
    for before, k in pairwise([-1, *drawn]):
        x += 0.0 if before < 0 else area.right - area.left + (_GAP if k == before + 1 else _PAUSE)
        there.left[k] = x
    hidden = {v for v, k in enumerate(of) if k >= 0 and k not in there.left}
    for chip in range(topology.chips):
        moved = there.left.get(of[chip], 0.0)
        there.boxes[chip] = _moved_box(own.boxes[chip % there.each], moved)
    _switches(there, of)
    found = replace(
        own,
        boxes=there.boxes,
        label=lambda v: own.label(v % there.each) if v < topology.chips else there.labels.get(v, ""),
        traces=_traces(there, of),
        hidden=frozenset(hidden),
        stubs=[((x + d, y), text, a) for (x, y), text, a in own.stubs for d in there.left.values()],
        marks=[((x + d, y), text, a) for (x, y), text, a in own.marks for d in there.left.values()],
        bundles=[_moved(line, d) for line in own.bundles for d in there.left.values()],
    )
    for k, d in there.left.items():
        found.marks.append(((area.left + d, area.bottom + 14), f"slice {k}", "start"))
    for a, b in pairwise(drawn):
        if b > a + 1:
            middle = (there.left[a] + area.right + there.left[b] + area.left) / 2
            found.marks.append(((middle, (area.top + area.bottom) / 2), "...", "middle"))
    found.notes = [*own.notes, "Tick at the upper left of a chip: to its host."]
    if hidden:
        many = topology.axes[0].length
        said = listed([str(k) for k in drawn])
        found.notes.append(f"{len(drawn)} of {many:,} slices are drawn, {said}, with their hosts.")
    return found


def _first(topology: Topology) -> Topology:
    """The first slice as a grid of its own."""
    n = topology.chips // topology.axes[0].length
    inside = np.flatnonzero((topology.src < n) & (topology.dst < n))
    number = np.full(topology.links + 1, -1, np.int32)  # and -1, no link, stays -1
    number[inside] = np.arange(len(inside))
    wire: Ints = number[topology.wire[inside]]
    return replace(
        topology, chips=n, vertices=n, src=topology.src[inside], dst=topology.dst[inside],
        axis=topology.axis[inside] - 1, bandwidth=topology.bandwidth[inside],
        latency=topology.latency[inside], wire=wire, axes=topology.axes[1:],
        coords=topology.coords[:n, 1:], port=number[topology.port[:n, 1:]], labels=(),
    )  # fmt: skip


def _area(own: Layout) -> Box:
    """The box around a slice, its loops, stubs and words."""
    points = [p for trace in own.traces for line in trace.lines for p in line]
    words = [of_text(x, y, text, SMALL, anchor, True) for (x, y), text, anchor in [*own.stubs, *own.marks]]
    boxes = [*own.boxes, *words, *(Box(x, y, x, y) for x, y in points)]
    return Box(
        min(b.left for b in boxes),
        min(b.top for b in boxes),
        max(b.right for b in boxes),
        max(b.bottom for b in boxes),
    )


def _drawn(topology: Topology, area: Box, asked: list[int]) -> list[int]:
    """The slices that are drawn: all that fit."""
    many = topology.axes[0].length
    wide = area.right - area.left + _GAP
    if many <= 2 or many * wide <= _WIDEST:
        return list(range(many))
    usual = (0, 1, many - 1) if 3 * wide <= _WIDEST else (0, many - 1)
    return sorted({*(k for k in asked if k >= 0), *usual})


def _switches(there: _Slices, of: list[int]) -> None:
    """Hosts in a row above their slice, what joins slices as bars above all."""
    topology, area = there.topology, there.area
    switches = range(topology.chips, topology.vertices)
    for k, moved in there.left.items():
        hosts = [v for v in switches if of[v] == k]
        room = (area.right - area.left) / max(len(hosts), 1)
        for i, v in enumerate(hosts):
            at = (area.left + moved + (i + 0.5) * room, area.top - _LAYER)
            there.boxes[v] = around(*at, min(room * 0.8, 90.0), 24)
    right = max(there.left.values()) + area.right
    for i, v in enumerate(v for v in switches if of[v] < 0):
        y = area.top - (2 + i) * _LAYER
        there.boxes[v] = Box(area.left, y - 13, right, y + 13)
    for v in switches:
        there.labels[v] = fitting(there.boxes[v], topology.place(v), 1)


def _traces(there: _Slices, of: list[int]) -> list[Trace]:
    """Links within a slice as on its own plan, to hosts as ticks, from hosts straight up."""
    topology, n = there.topology, there.each
    own = zip(topology.src.tolist(), topology.dst.tolist(), topology.axis.tolist(), strict=True)
    inside = [(a, b, axis) for a, b, axis in own if a < n and b < n]
    first = dict(zip(inside, there.own.traces, strict=True))
    found = []
    ends = zip(topology.src.tolist(), topology.dst.tolist(), topology.axis.tolist(), strict=True)
    for a, b, axis in ends:
        if any(of[v] >= 0 and of[v] not in there.left for v in (a, b)):
            found.append(Trace(()))
        elif a < topology.chips and b < topology.chips:
            trace = first[a % n, b % n, axis]
            found.append(replace(trace, lines=tuple(_moved(w, there.left[of[a]]) for w in trace.lines)))
        elif min(a, b) < topology.chips:
            found.append(_to_host(there, a, b))
        else:
            found.append(_upwards(there.boxes, a, b, of[a] < 0))
    return found


def _to_host(there: _Slices, a: int, b: int) -> Trace:
    """A tick at the chip, and a short line below its host."""
    chip, host = (there.boxes[v] for v in sorted((a, b)))
    (x, y), (hx, hy) = centre(chip), centre(host)
    wide, high = chip.right - x + _TICK * 0.7, y - chip.top + _TICK * 0.7
    tick: Line = ((x, y), (x - wide, y - high))
    below: Line = ((hx, host.bottom + _TICK), (hx, hy))
    return Trace((tick, below) if a < b else (below[::-1], tick[::-1]), ticks=True)


def _upwards(boxes: list[Box], a: int, b: int, down: bool) -> Trace:
    """From a host to the network above, or back."""
    low, high = (boxes[b], boxes[a]) if down else (boxes[a], boxes[b])
    x, _ = centre(low)
    line: Line = ((x, low.top), (x, high.bottom))
    return Trace((line[::-1] if down else line,), upright=True)


def _moved(line: Line, by: float) -> Line:
    return tuple((x + by, y) for x, y in line)


def _moved_box(box: Box, by: float) -> Box:
    return Box(box.left + by, box.top, box.right + by, box.bottom)
