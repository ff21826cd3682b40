"""A canvas that remembers where things are, and the SVG file that it becomes.

No scripts, no fonts from elsewhere, no transforms: one file that says where every word is.
"""

from collections.abc import Sequence
from html import escape

from . import theme
from .boxes import Box, of_text, wrap
from .geometry import Line, head, number, rounded, shorten

BACK, LINES, BOXES, OVER, WORDS = range(5)
_MARGIN = 16.0
TITLE, SMALL = 15.0, 11.0
LEAST_WIDTH = 440.0  # of a picture, so that a headline and a caption are not broken too often


class Canvas:
    """Marks in layers. What is in a higher layer hides what is below it.

    Attributes:
        words: Boxes of all text so far.
        solids: Boxes that text from outside must not run into.
    """

    def __init__(self) -> None:
        self.words: list[Box] = []
        self.solids: list[Box] = []
        self._layers: list[list[str]] = [[] for _ in range(5)]
        self._used: set[str] = {"bg"}
        self._edge: Box | None = None

    @property
    def edge(self) -> Box:
        """The box around everything so far."""
        return self._edge or Box(0, 0, 0, 0)

    def _reach(self, box: Box) -> None:
        e = self._edge or box
        self._edge = Box(
            min(e.left, box.left), min(e.top, box.top), max(e.right, box.right), max(e.bottom, box.bottom)
        )

    def rect(
        self, box: Box, cls: str, *, round_by: float = 0.0, layer: int = BOXES, solid: bool = False
    ) -> None:
        """A rectangle; a solid one keeps optional words away."""
        self._reach(box.grown(1))
        self._used.add(cls)
        size = f'width="{number(box.right - box.left)}" height="{number(box.bottom - box.top)}"'
        corner = f' rx="{number(round_by)}"' if round_by else ""
        self._layers[layer].append(
            f'<rect class="{cls}" x="{number(box.left)}" y="{number(box.top)}" {size}{corner}/>'
        )
        if solid:
            self.solids.append(box)

    def line(
        self, line: Line, cls: str, *, radius: float = 0.0, width: float = 0.0, tip: str = "",
        size: float = 0.0, layer: int = LINES,
    ) -> None:  # fmt: skip
        """A line through points.

        Args:
            line: The points.
            cls: Its class.
            radius: Of rounded corners.
            width: Stroke width; 0 leaves it to the class.
            tip: Class of an arrowhead at the end; none if empty.
            size: Length of the arrowhead.
            layer: Where.
        """
        xs, ys = [p[0] for p in line], [p[1] for p in line]
        self._reach(Box(min(xs), min(ys), max(xs), max(ys)).grown(max(width, size / 2, 1)))
        self._used.add(cls)
        body = shorten(line, size * 0.8) if tip else line
        stroke = f' stroke-width="{number(width)}"' if width else ""
        self._layers[layer].append(f'<path class="{cls}" d="{rounded(body, radius)}"{stroke}/>')
        if tip:
            self._used.add(tip)
            points = "L".join(f"{number(x)} {number(y)}" for x, y in head(line, size))
            self._layers[layer].append(f'<path class="{tip}" d="M{points}Z"/>')

    def text(
        self, x: float, y: float, text: str, *, size: float = SMALL, cls: str = "ink", anchor: str = "middle",
        optional: bool = False,
    ) -> bool:  # fmt: skip
        """A line of text with its baseline at y.

        Args:
            x: Where it is anchored, across.
            y: Its baseline.
            text: The words.
            size: Font size.
            cls: Its class.
            anchor: start, middle or end.
            optional: Leave it out where it would run into other words or a solid box.

        Returns:
            Whether it was written.
        """
        box = of_text(x, y, text, size, anchor, cls == "bold")
        if optional and (any(box.meets(w) for w in self.words) or any(box.meets(s) for s in self.solids)):
            return False
        self._reach(box)
        self.words.append(box)
        self._used.add(cls)
        where = f'x="{number(x)}" y="{number(y)}" font-size="{number(size)}" text-anchor="{anchor}"'
        self._layers[WORDS].append(f'<text class="{cls}" {where}>{escape(text)}</text>')
        return True

    def middle_text(self, box: Box, text: str, *, size: float, cls: str = "ink") -> None:
        """Text in the middle of a box."""
        self.text(
            (box.left + box.right) / 2, (box.top + box.bottom) / 2 + size * 0.36, text, size=size, cls=cls
        )

    def widen(self, least: float) -> None:
        """Leave room on both sides of what is there, so that it is in the middle of at least so much."""
        e = self.edge
        more = max(0.0, least - (e.right - e.left)) / 2
        self._reach(Box(e.left - more, e.top, e.right + more, e.bottom))

    def headline(self, title: str, under: str) -> None:
        """A title and a line under it, above all that is there."""
        room = self.edge.right - self.edge.left
        lines = [(line, TITLE, "bold", 21.0) for line in wrap(title, room / 1.13, TITLE)]
        lines += [(line, SMALL, "muted", 16.0) for line in wrap(under, room, SMALL)]
        left, y = self.edge.left, self.edge.top - 12 - sum(step for *_, step in lines)
        for line, size, cls, step in lines:
            y += step
            self.text(left, y - 4, line, size=size, cls=cls, anchor="start")

    def footer(self, paragraphs: Sequence[str]) -> None:
        """Paragraphs below all that is there."""
        left, room = self.edge.left, self.edge.right - self.edge.left
        y = self.edge.bottom + 8
        for paragraph in paragraphs:
            for line in wrap(paragraph, room, SMALL):
                y += 16
                self.text(left, y, line, size=SMALL, cls="muted", anchor="start")
            y += 4

    def render(self, title: str, description: str) -> str:
        """The file. It ends with a newline and is the same for the same marks.

        Args:
            title: What screen readers and tooltips call it.
            description: The picture in words.
        """
        e = self.edge.grown(_MARGIN)
        width, height = number(e.right - e.left), number(e.bottom - e.top)
        view = f"{number(e.left)} {number(e.top)} {width} {height}"
        head_ = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="hopcast" role="img" viewBox="{view}" '
            f'width="{width}" height="{height}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>\n{theme.style(self._used)}\n</style>",
        ]
        if "hatch" in self._used:
            head_.append(theme.HATCH)
        head_.append(
            f'<rect class="bg" x="{number(e.left)}" y="{number(e.top)}" width="{width}" height="{height}"/>'
        )
        marks = [mark for layer in self._layers for mark in layer]
        return "\n".join([*head_, *marks, "</svg>"]) + "\n"
