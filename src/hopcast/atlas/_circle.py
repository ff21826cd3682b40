"""GPUs round their switch, with the sends of a step through it."""

from collections.abc import Sequence

import numpy as np

from hopcast.draw.boxes import Box, around
from hopcast.draw.geometry import between
from hopcast.draw.sketch import Sketch, middle_of, round_places
from hopcast.draw.svg import OVER
from hopcast.ir.schedule import Schedule

Pair = tuple[int, int]


def node(
    canvas: Sketch, x: float, y: float, radius: float, names: Sequence[str], switch: str = ""
) -> list[Box]:
    """GPUs on a circle, and the switch in the middle where it has a name; gives the boxes of the GPUs."""
    size = 9.5 if radius > 60 else 8.5
    wide = max(26.0, max(len(n) for n in names) * size * 0.72)
    boxes = [around(px, py, wide, 20) for px, py in round_places(len(names), x, y, radius)]
    for box, name in zip(boxes, names, strict=True):
        canvas.box(box, [name], "chip", size=size, layer=OVER)
    if switch:
        hub = around(x, y, radius * 0.95, 24)
        canvas.box(hub, [switch], "switch", size=size, layer=OVER)
        for box in boxes:
            canvas.line(between((middle_of(box), middle_of(hub)), box, hub), "idle")
    return boxes


def chords(canvas: Sketch, boxes: Sequence[Box], pairs: Sequence[Pair], *, width: float = 1.8) -> None:
    """An arrow for each send."""
    both = {(d, s) for s, d in pairs}
    for s, d in pairs:
        aside = 3.0 if (s, d) in both else 0.0
        canvas.link(boxes[s], boxes[d], 1, width=width, aside=aside, gap=2.5)


def pairs_of(schedule: Schedule, step: int) -> list[Pair]:
    """Who sends to whom in a step."""
    rows = schedule.make(step)
    return sorted(set(zip(rows.src.tolist(), rows.dst.tolist(), strict=True)))


def sent_share(schedule: Schedule, step: int) -> float:
    """The part of D that the busiest rank sends in a step."""
    rows = schedule.make(step)
    each = np.bincount(rows.src, schedule.bytes(rows, 1.0))
    return float(each.max())
