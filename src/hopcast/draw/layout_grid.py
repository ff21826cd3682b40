"""Grids: a sheet for two axes, and one for each place along the others; cubes of twos as cubes."""

import math

import numpy as np

from hopcast.ir.topology import Topology

from .boxes import around, width
from .geometry import Line, Point
from .layout import Layout, Trace, centre, is_step, way_of
from .words import listed, which_wrap

# chips along the longest axis of a sheet: box width and height, pitch across and down, font size, lane
_TIERS = (
    (4, 46.0, 30.0, 100.0, 86.0, 10.0, 4.0),
    (8, 36.0, 22.0, 70.0, 58.0, 8.5, 3.0),
    (16, 30.0, 18.0, 46.0, 36.0, 7.5, 2.2),
    (32, 10.0, 10.0, 20.0, 20.0, 0.0, 1.5),
    (128, 6.0, 6.0, 12.0, 12.0, 0.0, 1.0),
)
_WIDEST_PAGE = 1330.0
_CUBE = ((100.0, 0.0), (0.0, 88.0), (46.0, -38.0), (228.0, 46.0))


def cube(topology: Topology, axes: list[int]) -> Layout:
    """Three or four axes of two chips each, all cables straight."""
    at = topology.coords[:, axes] @ np.array(_CUBE[: len(axes)])
    boxes = [around(float(x), float(y), 38, 20) for x, y in at]
    ends = zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    traces = [Trace(((centre(boxes[a]), centre(boxes[b])),)) for a, b in ends]
    words = ", ".join(
        f"{topology.axes[a].name} {way}"
        for a, way in zip(axes, ("across", "down", "back", "to the other cube"), strict=False)
    )
    return Layout(boxes, traces, topology.place, 8.0, 2.5, 4.0, notes=[f"Axes: {words}."])


def sheets(topology: Topology, axes: list[int], bows: bool) -> Layout:
    """The first two long axes across and down, the others from sheet to sheet.

    Args:
        topology: A grid.
        axes: Its axes that have more than one chip.
        bows: Whether wrap-arounds may be whole loops, where there is room; else they are stubs at both ends.
    """
    return _Sheets(topology, axes, bows).layout()


class _Sheets:
    """Sizes of a grid's sheets and the traces on them."""

    def __init__(self, topology: Topology, axes: list[int], bows: bool) -> None:
        self.topology, self.across, self.down, self.rest = topology, axes[0], axes[1], axes[2:]
        shape = topology.shape
        self.wide, self.tall = shape[self.across], shape[self.down]
        many = math.prod(shape[a] for a in self.rest)
        crowd = max(self.wide, self.tall, *([8] if many > 1 else []), *([17] if topology.chips > 512 else []))
        tier = next(t for t in _TIERS if crowd <= t[0])
        self.box, self.pitch, self.size, self.lane = tier[1:3], tier[3:5], tier[5], tier[6]
        self.twisted = self._is_twisted()
        self.bows = bows and max(self.wide, self.tall) <= 8 and self.size > 0 and not self.twisted
        self.short = width(topology.place(topology.chips - 1), self.size) > self.box[0] - 2
        room = width(self.name(topology.chips - 1), 7.5) if self.size else 4.0
        self.side = 0.0 if self.bows else room
        self.gap = (46.0, 46.0) if self.size else (30.0, 36.0)
        stub = 34.0 if self.bows else 2 * (self.side + 30) if self.size else 24.0
        self.sheet = (
            (self.wide - 1) * self.pitch[0] + self.box[0] + stub,
            (self.tall - 1) * self.pitch[1] + self.box[1] + (40 if self.size else 30),
        )
        self.columns = self._columns(many)

    def _is_twisted(self) -> bool:
        """Whether a wrap-around ends in another row, column or sheet than the one along which it runs."""
        topology = self.topology
        moved = topology.coords[topology.src] != topology.coords[topology.dst]
        return bool(np.any(moved.sum(1)[np.isin(topology.axis, (self.across, self.down))] > 1))

    def _columns(self, many: int) -> int:
        """Sheets side by side: whole axes where they fit, else about as many as fit."""
        fit = max(1, int(_WIDEST_PAGE // (self.sheet[0] + self.gap[0])))
        whole = 1
        for a in self.rest:
            if whole * self.topology.shape[a] > fit:
                break
            whole *= self.topology.shape[a]
        if whole > 1 or not self.rest:
            return whole
        return next(c for c in range(fit, 0, -1) if many % c == 0 or c <= fit // 2 + 1)

    def corner(self, sheet: int) -> Point:
        """Where the first chip of a sheet is."""
        row, column = divmod(sheet, self.columns)
        return (column * (self.sheet[0] + self.gap[0]), row * (self.sheet[1] + self.gap[1]))

    def sheet_of(self, chip: int) -> int:
        """Sheets are numbered with the first of the other axes fastest."""
        number, scale = 0, 1
        for a in self.rest:
            number += int(self.topology.coords[chip, a]) * scale
            scale *= self.topology.shape[a]
        return number

    def name(self, chip: int) -> str:
        """A chip's name: its place in the network or, where that is too long for its box, on its sheet."""
        if not self.short:
            return self.topology.place(chip)
        return ",".join(str(int(self.topology.coords[chip, a])) for a in (self.across, self.down))

    def layout(self) -> Layout:
        """The plan."""
        topology, boxes = self.topology, []
        for chip in range(topology.chips):
            x, y = self.corner(self.sheet_of(chip))
            along = topology.coords[chip]
            boxes.append(
                around(
                    x + int(along[self.across]) * self.pitch[0],
                    y + int(along[self.down]) * self.pitch[1],
                    *self.box,
                )
            )
        named = bool(self.size)
        found = Layout(boxes, [], self.name if named else lambda v: "", self.size, self.lane, self.lane * 1.5)
        found.traces = [self.trace(found, link) for link in range(topology.links)]
        self._names(found)
        self._notes(found)
        return found

    def trace(self, found: Layout, link: int) -> Trace:
        """A straight line, a bow round the row, a pair of stubs or a pair of ticks."""
        topology = self.topology
        src, dst, axis = int(topology.src[link]), int(topology.dst[link]), int(topology.axis[link])
        a, b = centre(found.boxes[src]), centre(found.boxes[dst])
        way = way_of(topology, link)
        if axis in self.rest:
            x, y = self._tick(axis)
            return Trace(((a, _to(a, x * way, y * way)), (_to(b, -x * way, -y * way), b)), ticks=True)
        if is_step(topology, link):
            return Trace(((a, b),))
        if self.bows:
            return Trace((self._bow(a, b, axis, way),), wraps=True)
        reach = (14.0 if self.size < 8 else 22.0) if self.size else 6.0
        far = (self.box[0] / 2 + reach, 0.0) if axis == self.across else (0.0, self.box[1] / 2 + reach)
        if self.size:
            found.stubs.append(self._stub(a, axis, way, far, self.name(dst)))
        return Trace(
            ((a, _to(a, far[0] * way, far[1] * way)), (_to(b, -far[0] * way, -far[1] * way), b)), wraps=True
        )

    def _stub(self, a: Point, axis: int, way: int, far: Point, text: str) -> tuple[Point, str, str]:
        """The name of the chip at the other end, beyond a stub."""
        if axis == self.across:
            return ((a[0] + way * (far[0] + 4), a[1] + 2.7), text, "start" if way > 0 else "end")
        return ((a[0], a[1] + way * (far[1] + 4) + (6.2 if way > 0 else 0)), text, "middle")

    def _bow(self, a: Point, b: Point, axis: int, way: int) -> Line:
        """Out at the end of the row, back over it in the gap between rows, and in at the other end."""
        half, reach = (self.box[0] / 2, self.box[1] / 2), 24.0 if self.size > 9 else 18.0
        if axis == self.across:
            over = half[1] + (self.pitch[1] - self.box[1]) * 0.3
            out, back = a[0] + way * (half[0] + reach), b[0] - way * (half[0] + reach)
            return (a, (out, a[1]), (out, a[1] - over), (back, b[1] - over), (back, b[1]), b)
        over = half[0] + (self.pitch[0] - self.box[0]) * 0.3
        out, back = a[1] + way * (half[1] + reach), b[1] - way * (half[1] + reach)
        return (a, (a[0], out), (a[0] + over, out), (b[0] + over, back), (b[0], back), b)

    def _tick(self, axis: int) -> Point:
        """From a chip's middle to the end of the tick of an axis that leads to other sheets, upwards."""
        turn = math.pi / 2 * (self.rest.index(axis) + 1) / (len(self.rest) + 1)
        corner = (self.box[0] / 2 / max(math.cos(turn), 1e-9), self.box[1] / 2 / max(math.sin(turn), 1e-9))
        reach = min(corner) + (11.0 if self.size else 4.0)
        return (reach * math.cos(turn), -reach * math.sin(turn))

    def _names(self, found: Layout) -> None:
        """Names of the sheets, and places along the axes where chips have no names."""
        topology = self.topology
        many = math.prod(topology.shape[a] for a in self.rest)
        for sheet in range(many):
            x, y = self.corner(sheet)
            left, top = x - self.box[0] / 2 - (0 if self.bows or not self.size else 14), y - self.box[1] / 2
            if self.rest:
                where, rest = [], sheet
                for a in self.rest:
                    rest, at = divmod(rest, topology.shape[a])
                    where.append(f"{topology.axes[a].name} = {at}")
                above = (30.0 if self.bows else 36.0) if self.size else 24.0
                found.marks.append(((left, top - above), ", ".join(where), "start"))
            if not self.size:
                self._places(found, x, y)
        if many > 1 and len(self.rest) == 1:
            self._bundle(found, many)

    def _places(self, found: Layout, x: float, y: float) -> None:
        """Numbers along the two axes of a sheet; where they are dense every second, fourth ..."""
        for axis, length in ((self.across, self.wide), (self.down, self.tall)):
            along = self.pitch[0 if axis == self.across else 1]
            every = next(e for e in (1, 2, 4, 8, 16) if along * e >= 17)
            for i in range(0, length, every):
                if axis == self.across:
                    found.marks.append(((x + i * along, y - self.box[1] / 2 - 9), str(i), "middle"))
                else:
                    found.marks.append(((x - self.box[0] / 2 - 9, y + i * along + 3), str(i), "end"))

    def _bundle(self, found: Layout, many: int) -> None:
        """A thick arrow from sheet to sheet, in rows."""
        half = (
            (self.wide - 1) * self.pitch[0]
            + self.box[0] / 2
            + (18 if self.bows else self.side + 24 if self.size else 12),
            (self.tall - 1) * self.pitch[1] / 2,
        )
        before = self.box[0] / 2 + (18 if self.bows else self.side + 24 if self.size else 26)
        for sheet in range(many - 1):
            a, b = self.corner(sheet), self.corner(sheet + 1)
            if a[1] == b[1] and b[0] - before - a[0] - half[0] > 12:
                found.bundles.append(((a[0] + half[0], a[1] + half[1]), (b[0] - before, b[1] + half[1])))

    def _notes(self, found: Layout) -> None:
        axes = self.topology.axes
        words = f"{axes[self.across].name} runs across and {axes[self.down].name} down"
        found.notes.append(
            f"Axes: {words}"
            + (
                f", one sheet for each place along {listed([axes[a].name for a in self.rest])}."
                if self.rest
                else "."
            )
        )
        wraps = [axes[a].name for a in (self.across, self.down) if axes[a].wraps]
        which = which_wrap(wraps)
        if wraps and self.bows:
            found.notes.append(f"{which}: a loop joins the two ends of a line.")
        elif wraps and self.twisted and self.size:
            found.notes.append(
                f"{which} with a twist: a stub at the edge leads to the chip whose name it bears."
            )
        elif wraps:
            named = ", and bears the name of the chip there" if self.size else ""
            found.notes.append(
                f"{which}: a stub at the edge is joined to the one at the other end of its line{named}."
            )
        if self.rest:
            found.notes.append(self._ticks_note())

    def _ticks_note(self) -> str:
        """What the ticks are."""
        axes = [self.topology.axes[a] for a in self.rest]
        names = ", ".join(a.name for a in axes)
        which = (
            f"Ticks at the upper right of a chip, from the flattest to the steepest: {names}"
            if len(axes) > 1
            else f"Tick at the upper right of a chip: {names}"
        )
        closed = [f"sheet {a.name} = {a.length - 1} is joined to {a.name} = 0" for a in axes if a.wraps]
        ends = ", ".join(closed) or "the first and the last sheet are not joined"
        return f"{which}, to the same place one sheet on; at the lower left, one sheet back; {ends}."


def _to(a: Point, x: float, y: float) -> Point:
    return (a[0] + x, a[1] + y)
