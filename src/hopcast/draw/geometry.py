"""Lines through points: moved aside, cut off at boxes, rounded at corners. The y axis points down."""

import itertools
import math
from collections.abc import Sequence

from .boxes import Box

Point = tuple[float, float]
Line = tuple[Point, ...]


def number(value: float) -> str:
    """A coordinate, rounded to a tenth.

    >>> number(2.0), number(-0.04), number(1.26)
    ('2', '0', '1.3')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def toward(a: Point, b: Point) -> Point:
    """The unit vector from a to b."""
    long = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return ((b[0] - a[0]) / long, (b[1] - a[1]) / long)


def shifted(line: Sequence[Point], by: float) -> Line:
    """The line moved to the right of its direction, so that the two ways of a cable lie side by side.

    >>> shifted(((0, 0), (10, 0), (10, 10)), 2)
    ((0.0, 2.0), (8.0, 2.0), (8.0, 10.0))
    """
    ways = [toward(a, b) for a, b in itertools.pairwise(line)]
    normals = [(-dy, dx) for dx, dy in ways]
    out = []
    for i, (x, y) in enumerate(line):
        before, after = normals[max(i - 1, 0)], normals[min(i, len(normals) - 1)]
        scale = by / max(1 + before[0] * after[0] + before[1] * after[1], 0.2)
        out.append((x + scale * (before[0] + after[0]), y + scale * (before[1] + after[1])))
    return tuple(out)


def leave(line: Line, box: Box, gap: float = 0.0) -> Line:
    """The part of a line that starts inside a box from where it comes out, and ``gap`` on."""
    a, b = line[0], line[1]
    dx, dy = toward(a, b)
    across = [(box.right if dx > 0 else box.left) - a[0], (box.bottom if dy > 0 else box.top) - a[1]]
    far = [t / d for t, d in zip(across, (dx, dy), strict=True) if abs(d) > 1e-9]
    out = max(min(far), 0.0) + gap if far else 0.0
    return ((a[0] + dx * out, a[1] + dy * out), *line[1:])


def between(line: Line, first: Box | None, last: Box | None, gap: float = 0.0) -> Line:
    """The part of a line outside the boxes at its ends."""
    out = line if first is None else leave(line, first, gap)
    return out if last is None else leave(out[::-1], last, gap)[::-1]


def passes(line: Sequence[Point], box: Box) -> bool:
    """Whether a line goes through a box.

    >>> passes(((0, 0), (10, 10)), Box(4, 3, 6, 4)), passes(((0, 0), (10, 10)), Box(6, 2, 8, 5))
    (False, False)
    >>> passes(((0, 0), (10, 10)), Box(4, 3, 6, 5))
    True
    """
    return any(_enters(a, b, box) for a, b in itertools.pairwise(line))


def _enters(a: Point, b: Point, box: Box) -> bool:
    """Whether a straight piece has a point inside: its parts between the pairs of sides have one in common.

    Source: Liang and Barsky 1984, doi:10.1145/357332.357333.
    """
    first, last = 0.0, 1.0
    for start, way, low, high in (
        (a[0], b[0] - a[0], box.left, box.right),
        (a[1], b[1] - a[1], box.top, box.bottom),
    ):
        if way == 0:
            if not low < start < high:
                return False
            continue
        near, far = sorted(((low - start) / way, (high - start) / way))
        first, last = max(first, near), min(last, far)
    return first < last


def shorten(line: Line, by: float) -> Line:
    """The line without its last bit, which an arrowhead covers."""
    a, b = line[-2], line[-1]
    by = min(by, math.hypot(b[0] - a[0], b[1] - a[1]))
    dx, dy = toward(a, b)
    return (*line[:-1], (b[0] - dx * by, b[1] - dy * by))


def rounded(line: Line, radius: float) -> str:
    """SVG path data, corners rounded.

    >>> rounded(((0, 0), (10, 0), (10, 10)), 4)
    'M0 0L6 0Q10 0 10 4L10 10'
    """
    data = [f"M{number(line[0][0])} {number(line[0][1])}"]
    for before, corner, after in zip(line, line[1:], line[2:], strict=False):
        reach = min(radius, math.dist(before, corner) / 2, math.dist(corner, after) / 2)
        (ax, ay), (bx, by) = toward(corner, before), toward(corner, after)
        start, end = (
            (corner[0] + ax * reach, corner[1] + ay * reach),
            (corner[0] + bx * reach, corner[1] + by * reach),
        )
        data.append(f"L{number(start[0])} {number(start[1])}")
        data.append(f"Q{number(corner[0])} {number(corner[1])} {number(end[0])} {number(end[1])}")
    data.append(f"L{number(line[-1][0])} {number(line[-1][1])}")
    return "".join(data)


def head(line: Line, size: float) -> Line:
    """The triangle of an arrowhead whose tip is the end of the line."""
    (dx, dy), (x, y) = toward(line[-2], line[-1]), line[-1]
    back, half = (x - dx * size, y - dy * size), size * 0.42
    return ((x, y), (back[0] - dy * half, back[1] + dx * half), (back[0] + dy * half, back[1] - dx * half))


def middle(line: Line) -> tuple[Point, Point]:
    """The point half way along a line, and its direction there."""
    parts = [math.dist(a, b) for a, b in itertools.pairwise(line)]
    left = sum(parts) / 2
    for i, long in enumerate(parts):
        if left <= long:
            way = toward(line[i], line[i + 1])
            return (line[i][0] + way[0] * left, line[i][1] + way[1] * left), way
        left -= long
    return line[-1], toward(line[-2], line[-1])
