"""A schedule as an SVG picture: a panel for each step: what every rank then holds, and the sends."""

from collections.abc import Iterable

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ROOTED
from hopcast.ir.schedule import REDUCE, Schedule

from . import theme
from .arrange import Cell, Plan, arrange
from .arrows import Scene, aside, draw_sends, reach
from .boxes import Box, width
from .history import Frame, History, history, progress, thinned
from .impaired import impaired
from .svg import BACK, BOXES, LEAST_WIDTH, OVER, SMALL, Canvas
from .words import counted

# ranks of a group, and how many panels of so many a picture has at most
_MOST_PANELS = ((8, 12), (16, 9), (2**31, 8))
_WIDEST_PAGE = 1240.0
_PAD, _HEAD = 14.0, 42.0


def schedule_svg(
    schedule: Schedule,
    cluster: Cluster | None = None,
    *,
    title: str = "",
    caption: str = "",
    steps: Iterable[int] | None = None,
) -> str:
    """A schedule step by step.

    Each panel shows every rank's chunks after a step: filled where it holds them, partly filled where a sum
    still lacks contributions, dotted where nobody needs a copy any more. Arrows are the sends of the step.

    Args:
        schedule: On the ranks of a cluster; its first group is drawn.
        cluster: Where it runs; without it ranks stand in a row.
        title: Headline; by default what the schedule is.
        caption: A sentence under the picture, before what the drawing has to say itself.
        steps: Step numbers to draw, as in the schedule's column, -1 being the start; by default all, or where
            they are many 8 to 12 of them.

    Returns:
        An SVG file that stands alone, the same bytes for the same input.

    Raises:
        InputError: for a step that does not exist, or a group too large to be stepped through.

    Cost: two passes over the sends.

    >>> from hopcast.algorithms import get
    >>> from hopcast.ir.group import Group, Hint
    >>> from hopcast.ir.topology import Axis
    >>> ring = Group((Axis("x", 4, True),), False, (1.0,), (0.0,), np.arange(4)[None])
    >>> schedule_svg(get("ring").build("all_gather", ring, Hint())).count(">each rank holds ")
    4
    """
    story = history(
        schedule, thinned(schedule, steps, next(most for n, most in _MOST_PANELS if schedule.ranks <= n))
    )
    plan, canvas = arrange(schedule, cluster, story.vertices), Canvas()
    looks = _Looks(plan, schedule, story)
    for i, frame in enumerate(story.frames):
        looks.panel(canvas, i, frame)
    canvas.widen(LEAST_WIDTH)
    _keys(canvas, plan, story, schedule)
    notes = [*([caption] if caption else []), *plan.notes]
    missing = schedule.step_count + 1 - len(story.frames)
    if missing > 0:
        notes.append(
            f"{len(story.frames)} of {schedule.step_count + 1:,} states are drawn, the start counted."
        )
    canvas.footer(notes)
    under = describe(schedule, cluster)
    head = title or f"{schedule.collective.name} by {schedule.algorithm}" + (
        f" on {cluster.name}" if cluster else ""
    )
    canvas.headline(head, under)
    states = [f"{_name(f)}: {progress(story, f, schedule.collective)}." for f in story.frames]
    return canvas.render(head, " ".join([f"{under}.", *states, *notes]))


def describe(schedule: Schedule, cluster: Cluster | None = None) -> str:
    """A schedule in a line, with what is slow or dead where it runs."""
    c = schedule.collective
    words = (
        f"{counted(c.ranks, 'rank')}, {counted(c.chunks, 'chunk')}, {counted(schedule.step_count, 'step')}"
    )
    if schedule.lanes > 1:
        words += f", {schedule.lanes} lanes"
    words += f", root {c.root}" if c.name in ROOTED else ""
    return "; ".join(filter(None, (words, impaired(cluster) if cluster else "")))


def _name(frame: Frame) -> str:
    return "start" if frame.step < 0 else f"step {frame.step}"


class _Looks:
    """Sizes that all panels share."""

    def __init__(self, plan: Plan, schedule: Schedule, story: History) -> None:
        self.plan, self.schedule, self.story = plan, schedule, story
        self.names = max((width(r, 8.5) for r in plan.rows), default=0.0)
        block, shape = plan.block, plan.shape
        # On a plane a name stands in the corner between blocks, clear of the arrows to neighbours.
        room = self._rank_names() + 6
        right, under = (max((aside(plan, f)[way] for f in story.frames), default=0.0) for way in (0, 1))
        self.gap = (
            (max(34.0, room + right), max(34.0, under + 14))
            if plan.flat
            else (max(30.0, room - block[0] + 2), 0.0)
        )
        self.edge = max(22.0, room, right + 4, under + 4) if plan.flat else 22.0
        self.below = max((reach(plan, f) for f in story.frames), default=0.0)
        inner = shape[0] * block[0] + (shape[0] - 1) * self.gap[0]
        heads = [progress(story, f, schedule.collective) for f in story.frames]
        head = max(width(h, SMALL) for h in heads) if heads else 0.0
        self.wide = max(inner + 2 * self.edge + self.names, head) + 2 * _PAD
        rows = shape[1] * block[1] + (shape[1] - 1) * self.gap[1]
        self.high = _HEAD + 20 + rows + (self.edge if plan.flat else self.below) + _PAD
        fit = max(1, int((_WIDEST_PAGE + 14) // (self.wide + 14)))
        lines = max(1, -(-len(story.frames) // fit))
        self.columns = max(
            1, -(-len(story.frames) // lines)
        )  # no panel alone on the last line where it can be helped
        self.left = (self.wide - inner - self.names) / 2 + self.names

    def _rank_names(self) -> float:
        return max(width(n, 9) for n in self.plan.names.values())

    def panel(self, canvas: Canvas, i: int, frame: Frame) -> None:
        """One step."""
        x, y = i % self.columns * (self.wide + 14), i // self.columns * (self.high + 14)
        canvas.rect(Box(x, y, x + self.wide, y + self.high), "panel", round_by=6, layer=BACK)
        canvas.text(x + _PAD, y + 19, _name(frame), size=12, cls="bold", anchor="start")
        canvas.text(
            x + _PAD,
            y + 35,
            progress(self.story, frame, self.schedule.collective),
            cls="muted",
            anchor="start",
        )
        top = y + _HEAD + 18
        blocks: dict[int, Box] = {}
        for holder, (column, row) in self.plan.shown.items():
            left = x + self.left + column * (self.plan.block[0] + self.gap[0])
            up = top + row * (self.plan.block[1] + self.gap[1])
            blocks[holder] = Box(left, up, left + self.plan.block[0], up + self.plan.block[1])
            self._block(canvas, frame, holder, blocks[holder])
        for r, name in enumerate(self.plan.rows):
            canvas.text(
                x + self.left - self.edge - 2,
                top + (r + 0.5) * self.plan.high + 3,
                name,
                size=8.5,
                cls="muted",
                anchor="end",
            )
        draw_sends(canvas, Scene(self.plan, frame, blocks, self.gap, self.schedule))

    def _block(self, canvas: Canvas, frame: Frame, holder: int, box: Box) -> None:
        """A rank's cells under its name."""
        plan = self.plan
        name, middle = plan.names[holder], (box.left + box.right) / 2
        if plan.flat:
            canvas.text(box.left - 3, box.top - 4, name, size=9, cls="muted", anchor="end")
        else:
            canvas.text(middle, box.top - 6, name, size=9)
        for cell in plan.cells:
            x, y = plan.corner(cell)
            place = Box(box.left + x, box.top + y, box.left + x + plan.wide, box.top + y + plan.high).grown(
                -0.5 if plan.wide < 10 else -1
            )
            draw_cell(canvas, plan, self.story, frame, holder, cell, place)


def draw_cell(
    canvas: Canvas, plan: Plan, story: History, frame: Frame, holder: int, cell: Cell, box: Box
) -> None:
    """A cell: empty, partly or wholly filled, or no longer needed."""
    count, live = frame.count[holder, cell.chunks], frame.live[holder, cell.chunks]
    useful = np.where(live, np.minimum(count, story.full), 0)
    filled = float(useful.sum()) / (story.full * len(cell.chunks))
    spent = filled == 0 and bool(count.any())
    canvas.rect(box, "spent" if spent else "blank")
    if plan.sets and len(cell.chunks) == 1:
        _contributions(canvas, story, frame, holder, cell, box, filled > 0)
    elif filled > 0:
        colour, hatched = theme.chunk_class(cell.colour)
        part = Box(box.left, box.bottom - filled * (box.bottom - box.top), box.right, box.bottom)
        canvas.rect(part, colour)
        if hatched:
            canvas.rect(part, "hatch")
        label = f"{int(useful[0])}/{story.full}" if story.full > 1 and len(useful) == 1 else cell.label
        if label and width(label, 8.5) < box.right - box.left - 2 and box.bottom - box.top >= 10:
            # on a cell that is not full the words may stand on the page's own colour
            canvas.middle_text(box, label, size=8.5, cls="on" if filled == 1 else "ink")
    if bool(frame.new[holder, cell.chunks].any()):
        canvas.rect(box, "new" if box.right - box.left > 8 else "new-fine", layer=OVER)


def _contributions(
    canvas: Canvas, story: History, frame: Frame, holder: int, cell: Cell, box: Box, wanted: bool
) -> None:
    """A bar for each rank whose contribution is in the sum, and how many they are."""
    who, count = int(frame.who[holder, cell.chunks[0]]), int(frame.count[holder, cell.chunks[0]])
    if not wanted:
        return
    room = box.right - box.left - 28
    each = room / story.full
    for rank in range(story.full):
        if who >> rank & 1:
            colour, _ = theme.chunk_class(rank)
            canvas.rect(
                Box(box.left + rank * each, box.top, box.left + (rank + 1) * each, box.bottom), colour
            )
    # more than there are ranks: something was added twice
    doubled = count > who.bit_count()
    text = f"{who.bit_count()}/{story.full}{'!' if doubled else ''}"
    canvas.text(
        box.right - 14,
        (box.top + box.bottom) / 2 + 3,
        text,
        size=8.5,
        cls="bold" if count == story.full else "ink",
    )


def _keys(canvas: Canvas, plan: Plan, story: History, schedule: Schedule) -> None:
    """What the marks mean."""
    x, y = canvas.edge.left, canvas.edge.bottom + 22
    right = canvas.edge.right
    lanes = sorted({int(lane) for f in story.frames for lane in np.unique(f.rows.lane)})
    adds = any(bool((f.rows.op == REDUCE).any()) for f in story.frames)
    items: list[tuple[str, str]] = (
        [(f"lane {lane}", f"lane {lane}") for lane in lanes[:6]]
        if len(lanes) > 1
        else [("lane 0", "a send")]
        if lanes
        else []
    )
    items.append(("new", "added to in this step" if adds else "received in this step"))
    if story.full > 1:
        items.append(
            ("part", "a bar for each rank in the sum" if plan.sets else "filled as far as the sum has come")
        )
    if any(bool((f.count.astype(bool) & ~f.live).any()) for f in story.frames):
        items.append(("spent", "no longer needed"))
    for mark, text in items:
        if x + 40 + width(text, 9.5) > right and x > canvas.edge.left:
            x, y = canvas.edge.left, y + 20
        box = Box(x, y - 11, x + 24, y + 1)
        if mark.startswith("lane"):
            colour = theme.route_number(int(mark[5:]))
            canvas.line(((x, y - 4), (x + 26, y - 4)), f"r{colour}", width=1.8, tip=f"h{colour}", size=7)
        elif mark == "part":
            canvas.rect(box, "blank")
            for i in range(2):
                canvas.rect(
                    Box(x + 6 * i, box.top, x + 6 * i + 6, box.bottom)
                    if plan.sets
                    else Box(x, y - 5, x + 24, y + 1),
                    f"c{i if plan.sets else 0}",
                )
        else:
            canvas.rect(box, "blank" if mark == "new" else "spent")
            if mark == "new":
                canvas.rect(box, "new", layer=BOXES)
        canvas.text(x + 31, y, text, size=9.5, cls="muted", anchor="start")
        x += 50 + width(text, 9.5)
