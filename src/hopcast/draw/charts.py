"""Charts: curves over a scale, horizontal bars, a matrix of amounts. Lines differ in dash as in colour."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hopcast.ir.topology import Floats

from . import theme
from .boxes import Box, of_text, width
from .geometry import Line, passes
from .sketch import Sketch
from .svg import BACK, BOXES, LINES, OVER
from .topology import CLASSES, load_class

_NAME = 9.5  # font size of the name of a curve


@dataclass(frozen=True)
class Scale:
    """One axis of a chart.

    Attributes:
        name: What is along it, with its unit.
        low, high: Its ends.
        ticks: Values with a line and a number.
        show: The number as text.
        log: Whether equal factors are equally far apart.
    """

    name: str
    low: float
    high: float
    ticks: Sequence[float]
    show: Callable[[float], str]
    log: bool = True

    def at(self, value: float) -> float:
        """Where a value is between the ends: 0..1.

        >>> Scale("bytes", 1.0, 100.0, (1, 10, 100), str).at(10.0)
        0.5
        """
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Curve:
    """A line of a chart: a name and its points."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    kind: int = 0
    marks: Sequence[int] = field(default_factory=tuple)


def powers(low: float, high: float, base: float, every: int = 1) -> list[float]:
    """Powers of a base from low to high.

    >>> powers(1, 1000, 10)
    [1.0, 10.0, 100.0, 1000.0]
    """
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    return [float(base) ** k for k in range(first, last + 1, every)]


def evenly(high: float, most: int = 6) -> list[float]:
    """Round values from 0 to at least ``high``.

    >>> evenly(430.0)
    [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]
    """
    raw = high / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= raw)
    return [step * i for i in range(math.ceil(high / step) + 1)]


def crossings(xs: Sequence[float], curves: Mapping[str, Sequence[float]]) -> list[tuple[str, str, float]]:
    """Where the lowest curve changes: the one before, the one after, and where they meet between samples.

    >>> crossings((0.0, 4.0), {"few steps": (1.0, 9.0), "few bytes": (3.0, 5.0)})
    [('few steps', 'few bytes', 1.3333333333333333)]
    """
    best = [min(curves, key=lambda name: (curves[name][i], name)) for i in range(len(xs))]
    out = []
    for i, (a, b) in enumerate(itertools.pairwise(best)):
        if a != b:
            first, second = curves[a][i] - curves[b][i], curves[a][i + 1] - curves[b][i + 1]
            out.append((a, b, xs[i] + first / (first - second) * (xs[i + 1] - xs[i])))
    return out


def plot(
    canvas: Sketch, box: Box, curves: Sequence[Curve], x: Scale, y: Scale, title: str = "",
    clear_of: Sequence[Line] = (),
) -> None:  # fmt: skip
    """Curves in a box, each named at its end.

    Args:
        canvas: Where.
        box: Of the area between the axes; numbers and names stand outside it.
        curves: The lines.
        x: Scale across.
        y: Scale upwards.
        title: Above it.
        clear_of: Lines that are drawn besides and that names keep off.
    """
    canvas.rect(box, "panel", layer=BACK)
    across, up = box.right - box.left, box.bottom - box.top

    def point(a: float, b: float) -> tuple[float, float]:
        return box.left + across * x.at(a), box.bottom - up * y.at(b)

    for value in x.ticks:
        px, _ = point(value, y.high)
        canvas.line(((px, box.top), (px, box.bottom)), "idle", width=0.5, layer=BACK)
        canvas.text(px, box.bottom + 14, x.show(value), size=9, cls="muted")
    for value in y.ticks:
        _, py = point(x.low, value)
        canvas.line(((box.left, py), (box.right, py)), "idle", width=0.5, layer=BACK)
        canvas.text(box.left - 6, py + 3, y.show(value), size=9, cls="muted", anchor="end")
    canvas.text((box.left + box.right) / 2, box.bottom + 31, x.name, size=10)
    canvas.text(box.left, box.top - 8, y.name if not title else f"{title}: {y.name}", size=10, anchor="start")
    lines = [tuple(point(a, b) for a, b in zip(c.xs, c.ys, strict=True)) for c in curves]
    ends = []
    for i, (curve, line) in enumerate(zip(curves, lines, strict=True)):
        kind = theme.route_number(curve.kind or i)
        canvas.line(line, f"r{kind}", width=2.2, layer=LINES)
        for k in curve.marks:
            px, py = line[k]
            canvas.rect(Box(px - 3, py - 3, px + 3, py + 3), f"h{kind}", round_by=3, layer=OVER)
        if line[-1][0] < box.right - 1:
            _name_inside(canvas, box, curve.name, line, [*lines[:i], *lines[i + 1 :], *clear_of])
        else:
            ends.append((line[-1][1], curve.name, kind))
    _names(canvas, box, ends)


def _name_inside(canvas: Sketch, box: Box, name: str, line: Line, others: Sequence[Line]) -> None:
    """The name of a curve that ends within the chart: to its right, or where no curve runs through it."""
    x, y = line[-1]
    places = [(x + 7, y + 3.3, "start"), (x - 7, y + 3.3, "end"), (x, y - 9, "middle"), (x - 7, y - 9, "end")]

    def clear(place: tuple[float, float, str]) -> bool:
        said = of_text(place[0], place[1], name, _NAME, place[2]).grown(1)
        return box.holds(said) and not any(passes(other, said) for other in [*others, line])

    px, py, anchor = next(filter(clear, places), places[0])
    canvas.text(px, py, name, size=_NAME, anchor=anchor)


def _names(canvas: Sketch, box: Box, ends: list[tuple[float, str, int]]) -> None:
    """Names of the curves at the right, moved apart, with a leader and a sample of the line."""
    gap = 15.0
    order = sorted(ends)
    ys: list[float] = []
    for at, _, _ in order:
        ys.append(max(at, ys[-1] + gap) if ys else at)
    over = max(0.0, ys[-1] - box.bottom) if ys else 0.0
    for i in reversed(range(len(ys))):
        limit = ys[i + 1] - gap if i + 1 < len(ys) else box.bottom
        ys[i] = min(ys[i], limit) if over else ys[i]
    for (at, name, kind), y in zip(order, ys, strict=True):
        canvas.line(((box.right + 1, at), (box.right + 14, y), (box.right + 36, y)), f"r{kind}", width=2.0)
        canvas.text(box.right + 41, y + 3.3, name, size=_NAME, anchor="start")


def bars(
    canvas: Sketch, left: float, top: float, rows: Sequence[tuple[str, float, str, str]], *,
    room: float = 320.0, names: float = 0.0, high: float = 20.0, gap: float = 8.0, most: float = 0.0,
) -> Box:  # fmt: skip
    """Horizontal bars from a common zero: name, amount, what stands behind it, and the bar's class.

    Args:
        canvas: Where.
        left: Of the names.
        top: Of the first bar.
        rows: Name, amount, words, class.
        room: Length of the longest bar.
        names: Room for the names; by default what they need.
        high: Of a bar.
        gap: Between bars.
        most: Amount of a bar of full length; by default the largest.

    Returns:
        The box of the bars.
    """
    names = names or max(width(name, 10) for name, *_ in rows) + 8
    most = most or max(amount for _, amount, *_ in rows) or 1.0
    for i, (name, amount, words, cls) in enumerate(rows):
        y = top + i * (high + gap)
        canvas.text(left + names - 8, y + high / 2 + 3.5, name, size=10, anchor="end")
        long = max(1.5, room * amount / most)
        canvas.rect(Box(left + names, y, left + names + long, y + high), cls)
        canvas.text(left + names + long + 6, y + high / 2 + 3.5, words, size=10, anchor="start")
    bottom = top + len(rows) * (high + gap) - gap
    canvas.line(((left + names, top - 3), (left + names, bottom + 3)), "cable")
    return Box(left, top, left + names + room, bottom)


def heat(
    canvas: Sketch, left: float, top: float, amount: Floats, *, cell: float = 14.0, most: float = 0.0,
    across: str = "",
) -> Box:  # fmt: skip
    """A matrix of amounts, each a square in the colour of its fifth of the largest.

    Shapes: ``float64[rows, columns]``.

    Args:
        canvas: Where.
        left: Of the first square.
        top: Of the first square.
        amount: The matrix.
        cell: Side of a square.
        most: The amount that the fifths are of; by default the largest.
        across: What the columns are.
    """
    rows, columns = amount.shape
    most = most or float(amount.max()) or 1.0
    for (r, c), value in np.ndenumerate(amount):
        x, y = left + int(c) * cell, top + int(r) * cell
        square = Box(x, y, x + cell, y + cell).grown(-0.5)
        shade = load_class(float(value) / most)
        canvas.rect(square, f"t{shade}" if shade else "panel")
    for k in range(max(rows, columns)):
        if k < columns:
            canvas.text(left + (k + 0.5) * cell, top - 4, str(k), size=8, cls="muted")
        if k < rows:
            canvas.text(left - 5, top + (k + 0.5) * cell + 3, str(k), size=8, cls="muted", anchor="end")
    if across:
        canvas.text(left + columns * cell / 2, top - 18, across, size=10)
    return Box(left, top, left + columns * cell, top + rows * cell)


def heat_key(canvas: Sketch, left: float, y: float, words: str) -> None:
    """Samples of the fifths."""
    for k in range(1, CLASSES + 1):
        canvas.rect(Box(left + (k - 1) * 26, y - 9, left + k * 26 - 2, y + 1), f"t{k}", layer=BOXES)
    canvas.text(left + CLASSES * 26 + 6, y, words, size=9.5, cls="muted", anchor="start")
