"""A table as a picture: rows under headed columns, cells of one or more lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from .boxes import Box, width
from .sketch import Sketch
from .svg import BACK

_PAD = 12.0


@dataclass(frozen=True)
class Cell:
    """A cell: a strong first line and smaller lines under it.

    Attributes:
        head: The first line.
        lines: Under it.
        strong: Whether the first line is bold.
    """

    head: str
    lines: tuple[str, ...] = ()
    strong: bool = True


def draw_table(
    canvas: Sketch, columns: Sequence[Sequence[str]], rows: Sequence[tuple[str, Sequence[Cell]]],
    left: float = 0, top: float = 0,
) -> Box:  # fmt: skip
    """A table on a canvas.

    Args:
        canvas: Where.
        columns: Lines of the head of each column; the first is that of the row names.
        rows: Name and cells of each row.
        left: Of the table.
        top: Of the table.
    """
    names = max(width(name, 11, True) for name, _ in rows)
    wide = [max(names, *(width(line, 10, True) for line in columns[0]))]
    for i, head in enumerate(columns[1:]):
        mine = [r[i] for _, r in rows]
        inside = [width(c.head, 12, c.strong) for c in mine]
        inside += [width(line, 9.5) for c in mine for line in c.lines]
        wide.append(max([*inside, *(width(line, 10, True) for line in head)]))
    edges = [left]
    for w in wide:
        edges.append(edges[-1] + w + 2 * _PAD)
    y = top
    high = 14.0 * max(len(h) for h in columns) + 12
    canvas.rect(Box(left, y, edges[-1], y + high), "switch", layer=BACK)
    for i, head in enumerate(columns):
        for k, line in enumerate(head):
            canvas.text(
                edges[i] + _PAD,
                y + 18 + 14 * k,
                line,
                size=10,
                cls="bold" if k == 0 else "ink",
                anchor="start",
            )
    y += high
    for r, (name, cells) in enumerate(rows):
        high = 26.0 + 13.0 * max(len(c.lines) for c in cells)
        if r % 2 == 0:
            canvas.rect(Box(left, y, edges[-1], y + high), "panel", layer=BACK)
        canvas.text(edges[0] + _PAD, y + 19, name, size=11, cls="bold", anchor="start")
        for i, cell in enumerate(cells):
            x = edges[i + 1] + _PAD
            canvas.text(x, y + 19, cell.head, size=12, cls="bold" if cell.strong else "ink", anchor="start")
            for k, line in enumerate(cell.lines):
                canvas.text(x, y + 33 + 13 * k, line, size=9.5, cls="muted", anchor="start")
        y += high
    canvas.line(((left, y), (edges[-1], y)), "cable")
    return Box(left, top, edges[-1], y)
