"""A canvas with what diagrams are made of: boxes with words, discs, polygons, arrows, columns of cells."""

import math
from collections.abc import Sequence

from . import theme
from .boxes import Box, width, wrap
from .geometry import Line, Point, between, number
from .svg import BACK, BOXES, LEAST_WIDTH, LINES, OVER, SMALL, Canvas


class Sketch(Canvas):
    """Marks of diagrams, on the same layers and with the same care for words as every picture."""

    def polygon(self, points: Sequence[Point], cls: str, *, layer: int = BOXES) -> None:
        """A filled shape."""
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        self._reach(Box(min(xs), min(ys), max(xs), max(ys)).grown(1))
        self._used.add(cls)
        data = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self._layers[layer].append(f'<path class="{cls}" d="M{data}Z"/>')

    def disc(
        self, x: float, y: float, radius: float, cls: str, text: str = "", *, size: float = 9.0,
        layer: int = BOXES,
    ) -> Box:  # fmt: skip
        """A circle, with a word in it."""
        box = Box(x - radius, y - radius, x + radius, y + radius)
        self.rect(box, cls, round_by=radius, layer=layer)
        if text:
            self.middle_text(
                box, text, size=size, cls="on" if cls.startswith("c") and len(cls) == 2 else "ink"
            )
        return box

    def box(
        self, box: Box, lines: Sequence[str], cls: str, *, size: float = 10.0, round_by: float = 5.0,
        layer: int = BOXES, first: str = "",
    ) -> Box:  # fmt: skip
        """A box with lines of words in its middle; ``first`` is the class of the first line."""
        self.rect(box, cls, round_by=round_by, layer=layer)
        words = "on" if cls[:1] in "ch" and cls[1:].isdecimal() else "ink"
        step = size * 1.35
        y = (box.top + box.bottom) / 2 + size * 0.36 - step * (len(lines) - 1) / 2
        for i, line in enumerate(lines):
            cls_ = first if first and i == 0 else words
            self.text((box.left + box.right) / 2, y + i * step, line, size=size, cls=cls_)
        return box

    def arrow(
        self, line: Line, colour: int, *, width: float = 1.8, size: float = 0.0, both: bool = False,
        radius: float = 8.0, dashed: bool = False, layer: int = LINES,
    ) -> None:  # fmt: skip
        """An arrow in one of six colours, 1 to 6."""
        size = size or 3.5 + 2.2 * width
        stroke = f"r{colour}" if dashed else f"s{colour}"
        if both:
            half = _split(line)
            for part in half:
                self.line(part, stroke, radius=radius, width=width, tip=f"h{colour}", size=size, layer=layer)
            return
        self.line(line, stroke, radius=radius, width=width, tip=f"h{colour}", size=size, layer=layer)

    def link(
        self, a: Box, b: Box, colour: int, *, width: float = 1.8, aside: float = 0.0, gap: float = 2.0,
        dashed: bool = False, layer: int = LINES,
    ) -> None:  # fmt: skip
        """A straight arrow between two boxes, to the right of its direction by ``aside``."""
        start, end = middle_of(a), middle_of(b)
        long = math.dist(start, end) or 1.0
        dx, dy = (end[0] - start[0]) / long, (end[1] - start[1]) / long
        move = (-dy * aside, dx * aside)
        line = ((start[0] + move[0], start[1] + move[1]), (end[0] + move[0], end[1] + move[1]))
        self.arrow(between(line, a, b, gap), colour, width=width, dashed=dashed, layer=layer)

    def paragraph(
        self, x: float, y: float, text: str, room: float, *, size: float = SMALL, cls: str = "ink",
        anchor: str = "start",
    ) -> float:  # fmt: skip
        """Lines of words from the baseline y on; gives the baseline after the last."""
        for line in wrap(text, room, size):
            self.text(x, y, line, size=size, cls=cls, anchor=anchor)
            y += size * 1.45
        return y

    def cells(
        self, x: float, y: float, filled: Sequence[int | None], *, wide: float = 20.0, high: float = 9.0,
        fresh: Sequence[int] = (), across: bool = False,
    ) -> Box:  # fmt: skip
        """A column (or a row) of cells, each with the colour of its number, or empty; new ones have a rim."""
        for i, colour in enumerate(filled):
            left, top = (x + i * wide, y) if across else (x, y + i * high)
            cell = Box(left, top, left + wide, top + high)
            self.rect(cell.grown(-0.5), "blank")
            if colour is not None:
                cls, hatched = theme.chunk_class(colour)
                self.rect(cell.grown(-0.5), cls)
                if hatched:
                    self.rect(cell.grown(-0.5), "hatch")
            if i in fresh:
                self.rect(cell.grown(-0.5), "new-fine", layer=OVER)
        n = len(filled)
        return Box(x, y, x + (wide * n if across else wide), y + (high if across else high * n))

    def panel(self, box: Box, title: str, under: str = "") -> None:
        """A panel with a title at its upper left."""
        self.rect(box, "panel", round_by=6, layer=BACK)
        self.text(box.left + 14, box.top + 19, title, size=12, cls="bold", anchor="start")
        if under:
            y = box.top + 35
            self.paragraph(box.left + 14, y, under, box.right - box.left - 28, cls="muted")

    def finish(self, title: str, under: str, notes: Sequence[str]) -> str:
        """Headline, caption, file."""
        self.widen(LEAST_WIDTH)
        self.footer(notes)
        self.headline(title, under)
        return self.render(title, " ".join([f"{under}.", *notes]))


def middle_of(box: Box) -> Point:
    """The middle of a box."""
    return ((box.left + box.right) / 2, (box.top + box.bottom) / 2)


def round_places(n: int, x: float, y: float, radius: float, turn: float = 0.0) -> list[Point]:
    """N points on a circle, the first on top, clockwise.

    >>> [(round(a), round(b)) for a, b in round_places(4, 0, 0, 10)]
    [(0, -10), (10, 0), (0, 10), (-10, 0)]
    """
    angles = [2 * math.pi * i / n + turn for i in range(n)]
    return [(x + radius * math.sin(a), y - radius * math.cos(a)) for a in angles]


def arc(x: float, y: float, radius: float, start: float, end: float, parts: int = 24) -> Line:
    """A piece of a circle as a line; angles in radians, 0 on top, clockwise."""
    angles = [start + (end - start) * i / parts for i in range(parts + 1)]
    return tuple((x + radius * math.sin(a), y - radius * math.cos(a)) for a in angles)


def fits(text: str, room: float, size: float) -> bool:
    """Whether a line of text has room."""
    return width(text, size) <= room


def _split(line: Line) -> tuple[Line, Line]:
    """The line from its middle to either end."""
    a, b = line[0], line[-1]
    if len(line) == 2:
        m = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        return (m, a), (m, b)
    k = len(line) // 2
    if len(line) % 2:
        return tuple(reversed(line[: k + 1])), line[k:]
    m = ((line[k - 1][0] + line[k][0]) / 2, (line[k - 1][1] + line[k][1]) / 2)
    return (m, *reversed(line[:k])), (m, *line[k:])
