"""Nodes as columns and rails as rows: GPU i of every node is on rail i."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hopcast.draw import theme
from hopcast.draw.boxes import Box
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import BACK, LINES, OVER

_COLUMN, ROW, _CHIP = 84.0, 31.0, (30.0, 17.0)
Send = tuple[int, int]


@dataclass
class Nodes:
    """Where the GPUs of the drawn nodes are.

    Attributes:
        gpus: Of one node.
        shown: Nodes that are drawn, of ``nodes``.
        nodes: In all.
        boxes: Of each drawn GPU, by rank.
        area: Around them.
    """

    gpus: int
    shown: int
    nodes: int
    boxes: dict[int, Box]
    area: Box


def nodes(
    canvas: Sketch, left: float, top: float, many: int, gpus: int, *, shown: int = 4,
    colours: Sequence[int] | None = None, names: Sequence[str] = (),
) -> Nodes:  # fmt: skip
    """Draw the nodes; a GPU has the number of its rail, or a name and the colour of its number."""
    shown = min(shown, many)
    boxes: dict[int, Box] = {}
    for k in range(shown):
        x = left + k * _COLUMN
        frame = Box(x, top, x + 58, top + gpus * ROW + 10)
        canvas.rect(frame, "blank", round_by=5, layer=BACK)
        label = k if k + 1 < shown or shown == many else many - 1
        canvas.text(x + 29, top - 6, f"node {label}", size=9)
        for g in range(gpus):
            y = top + 8 + g * ROW
            box = Box(x + 14, y, x + 14 + _CHIP[0], y + _CHIP[1])
            rank = label * gpus + g
            text = names[g] if names else str(g)
            if colours:
                cls, _ = theme.chunk_class(colours[g])
                canvas.box(box, [text], cls, size=9, round_by=3, layer=OVER)
            else:
                canvas.box(box, [text], "chip", size=9, round_by=3, layer=OVER)
            boxes[rank] = box
    if shown < many:
        x = left + (shown - 1) * _COLUMN - 13
        canvas.text(x, top - 6, "...", size=11)
    right = left + (shown - 1) * _COLUMN + 58
    return Nodes(gpus, shown, many, boxes, Box(left, top, right, top + gpus * ROW + 10))


def along(canvas: Sketch, where: Nodes, sends: Iterable[Send], *, width: float = 2.0) -> None:
    """Sends between nodes: along the row of their rail, in its colour; to nodes not drawn a short arrow."""
    for src, dst in sorted(set(sends)):
        a, b = where.boxes.get(src), where.boxes.get(dst)
        colour = theme.route_number(src % where.gpus)
        near = a and b and 0 < abs(a.left - b.left) <= _COLUMN + 1
        if a and b and near:
            y = (a.top + a.bottom) / 2
            side = 1 if b.left > a.left else -1
            start, end = (a.right + 1, b.left - 1) if side > 0 else (a.left - 1, b.right + 1)
            canvas.arrow(((start, y), (end, y)), colour, width=width, size=7)
            continue
        side = 1 if (dst // where.gpus - src // where.gpus) % where.nodes <= where.nodes // 2 else -1
        for box, sign in ((a, side), (b, -side)):
            if box is None:
                continue
            y = (box.top + box.bottom) / 2
            edge = box.right + 1 if sign > 0 else box.left - 1
            out = edge + 22 * sign
            line = ((edge, y), (out, y)) if box is a else ((out, y), (edge, y))
            canvas.arrow(line, colour, width=width, size=6)


def inside(canvas: Sketch, where: Nodes, sends: Iterable[Send], *, width: float = 1.8) -> None:
    """Sends in a node: beside its GPUs, longer ones farther out."""
    for src, dst in sorted(set(sends)):
        a, b = where.boxes.get(src), where.boxes.get(dst)
        if a is None or b is None:
            continue
        y, z = (a.top + a.bottom) / 2, (b.top + b.bottom) / 2
        x = (a.left + a.right) / 2
        if abs(src - dst) == 1:
            move = -5 if dst > src else 5
            start, end = (a.bottom + 1, b.top - 1) if dst > src else (a.top - 1, b.bottom + 1)
            canvas.arrow(((x + move, start), (x + move, end)), 1, width=width, size=5)
            continue
        out = a.left - 8
        canvas.arrow(
            ((a.left - 1, y), (out, y), (out, z), (b.left - 1, z)),
            1,
            width=width,
            size=6,
            layer=LINES,
            radius=4,
        )


def fan(canvas: Sketch, where: Nodes, src: int, gpus: Sequence[int]) -> None:
    """From one GPU to others of its node: a trunk that all share, then each in the colour of its rail."""
    a, others = where.boxes[src], [where.boxes[dst] for dst in gpus]
    out = a.left - 24
    heights = [(box.top + box.bottom) / 2 for box in (a, *others)]
    canvas.line(
        ((a.left - 1, heights[0]), (out, heights[0]), (out, heights[-1])), "bundle", width=2.4, radius=3
    )
    for dst, box, y in zip(gpus, others, heights[1:], strict=True):
        colour = theme.route_number(dst % where.gpus)
        canvas.arrow(((out, y), (box.left - 1, y)), colour, width=1.8, size=6)
