"""Room that text takes, estimated from above, so that a layout can keep words apart without a font at hand.

Widths are those of the widest common fonts of a system's sans stack, in parts of the font size.
Source: DejaVu Sans as Chromium sets it: none of 10,350 words of pictures is wider than estimated, the widest
reaches 0.994 of it (measured 2026-11); Arial and Roboto are narrower.
"""

from dataclasses import dataclass

_NARROW = dict.fromkeys("ijlI|!'", 0.30) | dict.fromkeys(" .,:;/()[]", 0.40) | dict.fromkeys("-ftr", 0.42)
_WIDE = dict.fromkeys("mMW@%", 1.0) | dict.fromkeys("w+<>=~", 0.84) | dict.fromkeys("0123456789", 0.67)
_WIDTH = _NARROW | _WIDE
_LOWER, _OTHER, _BOLD = 0.64, 0.80, 1.13
_ABOVE, _BELOW = 0.78, 0.24


@dataclass(frozen=True)
class Box:
    """A rectangle: left, top, right, bottom; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two share an area.

        >>> Box(0, 0, 2, 2).meets(Box(1, 1, 3, 3)), Box(0, 0, 2, 2).meets(Box(2, 0, 3, 2))
        (True, False)
        """
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, other: "Box") -> bool:
        """Whether the other lies inside."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )

    def grown(self, by: float) -> "Box":
        """The box with a margin all round."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)


def around(x: float, y: float, width: float, height: float) -> Box:
    """The box of that size about a centre."""
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def width(text: str, size: float, bold: bool = False) -> float:
    """An upper estimate of a line's width, in the unit of ``size``.

    >>> width("3,0", 10), width("wrap", 10) < width("WRAP", 10)
    (17.4, True)
    """
    each = sum(_WIDTH.get(c, _LOWER if c.islower() else _OTHER) for c in text)
    return round(each * size * (_BOLD if bold else 1.0), 2)


def of_text(x: float, y: float, text: str, size: float, anchor: str = "middle", bold: bool = False) -> Box:
    """The box of a line of text whose baseline is at y.

    Args:
        x: Where it is anchored, across.
        y: Its baseline.
        text: The line.
        size: Font size.
        anchor: start, middle or end, as in SVG.
        bold: Whether it is bold.
    """
    wide = width(text, size, bold)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return Box(left, y - _ABOVE * size, left + wide, y + _BELOW * size)


def wrap(text: str, room: float, size: float) -> list[str]:
    """Lines of at most ``room``, broken at spaces; a single longer word stays whole.

    >>> wrap("ranks pass on what they have", 90, 10)
    ['ranks pass on', 'what they have']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
