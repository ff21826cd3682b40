"""A grid that wraps in both directions, and the donut that it is."""

import itertools
import math

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import at_most, cluster_of
from hopcast.draw.boxes import Box
from hopcast.draw.geometry import Point
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import BACK, BOXES, LINES, OVER

_BIG, _SMALL, _TILT = 128.0, 54.0, math.radians(48)
_FINE, _ROW, _COLUMN = 72, 4, 2  # pieces of a curve; the row and the column that are marked


def _place(u: float, v: float) -> tuple[float, float, float]:
    """A point of the donut on the page, and how far in front; u goes round the hole, v round the tube."""
    ring = _BIG + _SMALL * math.cos(v)
    x, y, z = ring * math.cos(u), ring * math.sin(u), _SMALL * math.sin(v)
    return x, y * math.cos(_TILT) - z * math.sin(_TILT), y * math.sin(_TILT) + z * math.cos(_TILT)


def _front(u: float, v: float) -> bool:
    """Whether that side of the tube faces the reader."""
    ny, nz = math.cos(v) * math.sin(u), math.sin(v)
    return ny * math.sin(_TILT) + nz * math.cos(_TILT) > 0


def _curve(canvas: Sketch, x: float, y: float, points: list[tuple[float, float]], kind: str) -> None:
    """A closed line on the donut, faint behind."""
    runs: list[tuple[bool, list[Point]]] = []
    for (u, v), (p, q) in itertools.pairwise(points):
        a, b = _place(u, v), _place(p, q)
        seen = _front((u + p) / 2, (v + q) / 2)
        if not runs or runs[-1][0] != seen:
            runs.append((seen, [(x + a[0], y + a[1])]))
        runs[-1][1].append((x + b[0], y + b[1]))
    strong = kind != "cable"
    for seen, line in runs:
        width = 3.2 if strong and seen else 1.0 if seen else 0.6
        canvas.line(
            tuple(line),
            kind if seen else "idle",
            width=width,
            layer=OVER if seen and strong else LINES if seen else BACK,
        )


def _donut(canvas: Sketch, x: float, y: float, n: int) -> None:
    turns = [2 * math.pi * i / _FINE for i in range(_FINE + 1)]
    rounds = [2 * math.pi * i / n for i in range(n)]
    top = [at - rounds[_ROW] + math.pi / 2 for at in rounds]  # the marked row runs on top of the tube
    front = [at - rounds[_COLUMN] + 0.66 * math.pi for at in rounds]  # the marked column lies in front
    for i in range(n):
        _curve(canvas, x, y, [(u, top[i]) for u in turns], "s1" if i == _ROW else "cable")
        _curve(canvas, x, y, [(front[i], v) for v in turns], "s2" if i == _COLUMN else "cable")
    for u in front:
        for v in top:
            if _front(u, v):
                a = _place(u, v)
                canvas.disc(x + a[0], y + a[1], 2.6, "chip", layer=OVER)


def _grid(canvas: Sketch, x: float, y: float, n: int, step: float) -> None:
    """The flat grid, edges that are one and the same in one colour, with a row and a column marked."""
    far = (n - 1) * step
    for i in range(n):
        at = i * step
        row, column = i == _ROW, i == _COLUMN
        for mine, start, end in (
            ("s1" if row else "cable", (x, y + at), (x + far, y + at)),
            ("s2" if column else "cable", (x + at, y), (x + at, y + far)),
        ):
            canvas.line((start, end), mine, width=3.0 if mine != "cable" else 1.0, layer=LINES)
        stubs = (((x - 16, y + at), (x, y + at)), ((x + far, y + at), (x + far + 16, y + at)))
        for line in stubs:
            canvas.line(line, "s1" if row else "wrap", width=3.0 if row else 1.0)
        stubs = (((x + at, y - 16), (x + at, y)), ((x + at, y + far), (x + at, y + far + 16)))
        for line in stubs:
            canvas.line(line, "s2" if column else "wrap", width=3.0 if column else 1.0)
    for i in range(n):
        for j in range(n):
            canvas.disc(x + i * step, y + j * step, 3.4, "chip", layer=OVER)
    for line, colour in (
        (((x - 22, y + far), (x - 22, y)), 3), (((x + far + 22, y + far), (x + far + 22, y)), 3),
        (((x, y - 22), (x + far, y - 22)), 4), (((x, y + far + 22), (x + far, y + far + 22)), 4),
    ):  # fmt: skip
        canvas.arrow(line, colour, width=2.4, layer=BOXES)


def draw(numbers: Numbers) -> Picture:
    """The grid, and the donut beside it."""
    n = at_most(numbers.ranks, least=8, most=24)
    cluster = cluster_of(f"torus:{n}x{n}")
    canvas, step = Sketch(), 270.0 / (n - 1)
    canvas.panel(Box(0, 0, 356, 372), f"a grid of {n} x {n} chips", "edges of one colour are the same edge")
    _grid(canvas, 43, 72, n, step)
    canvas.panel(
        Box(372, 0, 802, 372), "rolled up and closed", "a row goes round the hole, a column round the tube"
    )
    _donut(canvas, 587, 216, n)
    links = cluster.topology.links
    facts = {"chips": cluster.topology.chips, "links": links, "per_chip": links // cluster.topology.chips}
    return Picture(
        canvas.finish(
            "A 2-D torus is a grid on a donut",
            f"{cluster.topology.chips} chips, {links // 2} cables, {links // cluster.topology.chips} "
            "neighbours each",
            [
                "Leaving the grid on the right one comes in on the left, leaving below one comes in above. "
                "So every row and every column is a ring, and no chip is at an edge."
            ],
        ),
        facts,
        ("all_gather", f"torus:{n}x{n}", "1MiB", "auto"),
        f"hopcast show torus:{n}x{n}",
    )


FIGURES = (Figure("torus", 2, "A 2-D torus is a grid on a donut", draw, Numbers(16), "tpu"),)
