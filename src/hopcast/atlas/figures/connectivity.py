"""What joins a TPU to its neighbours: four links on a torus of two axes, six on one of three."""

import math

from hopcast import chips
from hopcast.atlas import Figure, Numbers, Picture
from hopcast.draw.boxes import Box, around
from hopcast.draw.geometry import Point
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.units import show_rate

_REACH = 84.0


def neighbours(axes: int) -> list[str]:
    """The chips whose torus has so many axes, oldest first.

    >>> neighbours(2)
    ['v2', 'v3', 'v5e', 'v6e']
    """
    tpus = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "7x", "8t")
    return [name for name in tpus if int(chips.load(name).figure("ici.links").value) == 2 * axes]


def _chip(canvas: Sketch, x: float, y: float, axes: int) -> None:
    """A chip, its neighbours and what the links are called."""
    slant = math.radians(38)
    ways: list[tuple[str, Point]] = [("+x", (1, 0)), ("-x", (-1, 0)), ("-y", (0, -1)), ("+y", (0, 1))]
    if axes == 3:
        ways += [("+z", (math.cos(slant), -math.sin(slant))), ("-z", (-math.cos(slant), math.sin(slant)))]
    middle = around(x, y, 56, 34)
    for i, (name, (dx, dy)) in enumerate(ways):
        far = _REACH * (1.2 if dx else 1.0)
        other = around(x + far * dx, y + far * dy, 44, 26)
        colour = 1 + i // 2
        canvas.link(middle, other, colour, width=2.2, aside=3, gap=2)
        canvas.link(other, middle, colour, width=2.2, aside=3, gap=2)
        canvas.box(other, [name], "chip", size=11, layer=OVER)
    canvas.box(middle, ["chip"], "end", size=12, layer=OVER)


def draw(numbers: Numbers) -> Picture:
    """Two panels, one for each class."""
    canvas = Sketch()
    facts: dict[str, str] = {}
    for k, axes in enumerate((2, 3)):
        left = k * 380.0
        have = neighbours(axes)
        facts[f"axes_{axes}"] = " ".join(have)
        canvas.panel(Box(left, 0, left + 360, 372), f"{axes}-D torus: {2 * axes} neighbours")
        _chip(canvas, left + 180, 158, axes)
        y = 290.0
        canvas.text(left + 14, y, f"TPU {', '.join(have)}", size=12, cls="bold", anchor="start")
        for name in have:
            one = chips.load(name).figures
            rate = (
                f"{show_rate(one['ici.bandwidth'].value)} a link one way"
                if "ici.bandwidth" in one
                else "rate not published"
            )
            y += 16
            canvas.text(left + 14, y, f"{name}: {rate}", size=10, cls="muted", anchor="start")
    return Picture(
        canvas.finish(
            "How TPUs are connected",
            "chips are joined to their nearest neighbours by ICI links, two directions in each cable",
            [
                "The torus closes: the last chip of an axis is joined to the first. TPU 8i is not shown: it "
                "is joined in groups by a Boardfly network, not a torus."
            ],
        ),
        facts,
        (),
        "hopcast list chips",
    )


FIGURES = (Figure("tpu_classes", 1, "How TPUs are connected", draw, group="tpu"),)
