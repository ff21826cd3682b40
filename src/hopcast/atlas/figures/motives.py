"""Why collectives: a matmul whose contraction is sharded needs a gather before it or a sum after it."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import at_most
from hopcast.draw import theme
from hopcast.draw.boxes import Box
from hopcast.draw.sketch import Sketch
from hopcast.result import Row
from hopcast.units import show_seconds, show_size
from hopcast.verbs.matmul import matmul

_SIDE = 92.0


def _matrix(
    canvas: Sketch, left: float, top: float, name: str, held: list[bool], *, columns: bool,
    wide: float = _SIDE, high: float = _SIDE, label: str = "",
) -> None:  # fmt: skip
    """A matrix in shards, those that a chip holds in their colours."""
    k = len(held)
    for i, here in enumerate(held):
        box = (
            Box(left + i * wide / k, top, left + (i + 1) * wide / k, top + high)
            if columns
            else Box(left, top + i * high / k, left + wide, top + (i + 1) * high / k)
        )
        canvas.rect(box.grown(-0.5), "blank")
        if here and k == 1:
            canvas.rect(box.grown(-0.5), "switch")
        elif here:
            cls, hatched = theme.chunk_class(i)
            canvas.rect(box.grown(-0.5), cls)
            if hatched:
                canvas.rect(box.grown(-0.5), "hatch")
    canvas.text(left + wide / 2, top - 7, name, size=12, cls="bold")
    if label:
        canvas.text(left + wide / 2, top + high + 15, label, size=9, cls="muted")


def _rows(product: str, chips: int) -> tuple[list[Row], list[str]]:
    found = matmul(product, f"ring:{chips},bandwidth=45GB/s,latency=0", backward=False)
    return list(found.rows), list(found.notes)


def _stage(canvas: Sketch, left: float, title: str, under: str, wide: float) -> None:
    canvas.panel(Box(left, 0, left + wide, 330), title, under)


def draw_gather(numbers: Numbers) -> Picture:
    """A is cut over its columns: each chip must have all of them."""
    chips = at_most(numbers.ranks, most=8)
    n = -(-2048 // chips) * chips
    rows, notes = _rows(f"bf16[{n},{n}_x] @ bf16[{n},{n}] -> bf16[{n},{n}]", chips)
    moved = next(r for r in rows if r["what"] == "all_gather")
    canvas = Sketch()
    _stage(canvas, 0, "before", "one block of columns of A, and all of B", 330)
    for k in range(2):
        y = 78.0 + k * 126
        canvas.text(16, y + _SIDE / 2, f"chip {k}", size=11, anchor="start")
        _matrix(
            canvas,
            78,
            y,
            "A" if not k else "",
            [i == k for i in range(chips)],
            columns=True,
            label="" if not k else "columns j, cut over x",
        )
        _matrix(
            canvas,
            204,
            y,
            "B" if not k else "",
            [True],
            columns=False,
            label="" if not k else "rows j, whole",
        )
    _arrow(canvas, 340, "all_gather", moved)
    _stage(canvas, 474, "after", "each chip has all columns and multiplies by itself", 474)
    for k in range(2):
        y = 78.0 + k * 126
        canvas.text(490, y + _SIDE / 2, f"chip {k}", size=11, anchor="start")
        _matrix(canvas, 552, y, "A" if not k else "", [True] * chips, columns=True)
        canvas.text(662, y + _SIDE / 2 + 6, "x", size=16)
        _matrix(canvas, 678, y, "B" if not k else "", [True], columns=False)
        canvas.text(790, y + _SIDE / 2 + 6, "=", size=16)
        _matrix(
            canvas, 810, y, "C" if not k else "", [True], columns=False, label="" if not k else "complete"
        )
    return _finish(
        canvas,
        "Why all-gather: the contraction of a matmul is cut",
        chips,
        moved,
        notes,
        f"bf16[{n},{n}_x] @ bf16[{n},{n}] -> bf16[{n},{n}]",
    )


def draw_scatter(numbers: Numbers) -> Picture:
    """A and B are cut along the contraction: every chip has a partial sum of all of C."""
    chips = at_most(numbers.ranks, most=8)
    n = -(-2048 // chips) * chips
    product = f"bf16[{n},{n}_x] @ bf16[{n}_x,{n}] -> bf16[{n}_x,{n}]"
    rows, notes = _rows(product, chips)
    moved = next(r for r in rows if r["what"] == "reduce_scatter")
    canvas = Sketch()
    _stage(canvas, 0, "multiply what is there", "A is cut over its columns, B over its rows: the same j", 486)
    for k in range(2):
        y = 78.0 + k * 126
        one = [i == k for i in range(chips)]
        canvas.text(16, y + _SIDE / 2, f"chip {k}", size=11, anchor="start")
        _matrix(canvas, 78, y, "A" if not k else "", one, columns=True)
        canvas.text(190, y + _SIDE / 2 + 6, "x", size=16)
        _matrix(canvas, 208, y, "B" if not k else "", one, columns=False)
        canvas.text(320, y + _SIDE / 2 + 6, "=", size=16)
        cls, hatched = theme.chunk_class(k)
        canvas.rect(Box(340, y, 340 + _SIDE, y + _SIDE), cls)
        if hatched:
            canvas.rect(Box(340, y, 340 + _SIDE, y + _SIDE), "hatch")
        canvas.middle_text(Box(340, y, 340 + _SIDE, y + _SIDE), f"1/{chips} of sum", size=10, cls="on")
        if not k:
            canvas.text(340 + _SIDE / 2, y - 7, "C, partial", size=12, cls="bold")
    _arrow(canvas, 496, "reduce_scatter", moved)
    _stage(canvas, 640, "after", "each chip owns the sum of its rows", 250)
    for k in range(2):
        y = 78.0 + k * 126
        canvas.text(656, y + _SIDE / 2, f"chip {k}", size=11, anchor="start")
        canvas.rect(Box(728, y, 728 + _SIDE, y + _SIDE), "blank")
        part = _SIDE / chips
        for i in range(chips):
            cls, _ = theme.chunk_class(i)
            wide = _SIDE / chips
            canvas.rect(Box(728 + i * wide, y + k * part, 728 + (i + 1) * wide, y + (k + 1) * part), cls)
        if not k:
            canvas.text(728 + _SIDE / 2, y - 7, "C", size=12, cls="bold")
        else:
            canvas.text(728 + _SIDE / 2, y + _SIDE + 15, "rows cut over x", size=9, cls="muted")
    return _finish(canvas, "Why reduce-scatter: partial sums of a matmul", chips, moved, notes, product)


def _arrow(canvas: Sketch, left: float, name: str, moved: Row) -> None:
    """The collective between two stages, with its bytes and its time."""
    canvas.arrow(((left + 4, 165), (left + 124, 165)), 1, width=5)
    canvas.text(left + 62, 146, name, size=11, cls="bold")
    canvas.text(left + 62, 190, show_size(float(moved["size_bytes"])), size=10)
    canvas.text(left + 62, 206, show_seconds(float(moved["time_us"]) * 1e-6), size=10)


def _finish(canvas: Sketch, title: str, chips: int, moved: Row, notes: list[str], product: str) -> Picture:
    what, size = str(moved["what"]), float(moved["size_bytes"])
    time = float(moved["time_us"]) * 1e-6
    where = f"ring:{chips},bandwidth=45GB/s,latency=0"
    said = f"{what} of {show_size(size)} over {chips} chips on a ring of 45 GB/s links: {show_seconds(time)}."
    case = f"Of the Scaling Book's cases of a sharded matmul this is {notes[0]}."
    return Picture(
        canvas.finish(title, product, [case, f"Two of {chips} chips are drawn. {said}"]),
        {"size": size, "time": time, "what": what},
        (what, where, f"{int(size)}", "auto"),
        f"hopcast matmul '{product}' {where}",
    )


FIGURES = (
    Figure("gather_motivation", 9, "Why all-gather", draw_gather, Numbers(4), "gather"),
    Figure("reduce_scatter_motivation", 16, "Why reduce-scatter", draw_scatter, Numbers(4), "reduce"),
)
