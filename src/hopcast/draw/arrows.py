"""The sends of a step as arrows: to neighbours in the gap, round the end as two, farther in a band below."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from hopcast.interpret import cells
from hopcast.ir.schedule import Schedule

from . import theme
from .arrange import Plan
from .boxes import Box
from .geometry import Line, between
from .history import Frame
from .svg import BACK, OVER, Canvas

_BAND, _TRACK = 110.0, 6.0
_SEPARATE = 3  # rows of cells to which a send has an arrow each
Pair = tuple[int, int, int]


@dataclass(frozen=True)
class Scene:
    """A panel's step, with the boxes of its ranks.

    Attributes:
        plan: Who is drawn where.
        frame: The step.
        blocks: Boxes of the ranks drawn.
        gap: Between blocks, across and down.
        schedule: Whose step it is.
    """

    plan: Plan
    frame: Frame
    blocks: dict[int, Box]
    gap: tuple[float, float]
    schedule: Schedule


def _pairs(plan: Plan, frame: Frame, chunks: int) -> dict[Pair, list[int]]:
    """For each (src, dst, lane) the rows of cells that it fills."""
    row_of = np.zeros(chunks, int)
    for cell in plan.cells:
        row_of[cell.chunks] = cell.row
    row, chunk = cells(frame.rows, chunks)
    src, dst, lane = frame.rows.src[row], frame.rows.dst[row], frame.rows.lane[row]
    found: dict[Pair, set[int]] = {}
    for s, d, k, r in zip(src.tolist(), dst.tolist(), lane.tolist(), row_of[chunk].tolist(), strict=True):
        found.setdefault((s, d, k), set()).add(r)
    return {pair: sorted(rows) for pair, rows in sorted(found.items())}


def _kind(plan: Plan, src: int, dst: int, ranks: int) -> str:
    """near, wrap, edge (the other end is not drawn), far or none."""
    if src not in plan.shown or dst not in plan.shown:
        if plan.flat or (src not in plan.shown and dst not in plan.shown):
            return "none"
        return "edge" if abs(src - dst) in (1, ranks - 1) else "none"
    (a, b), (c, d) = plan.shown[src], plan.shown[dst]
    ahead, down = c - a, d - b
    wide, tall = plan.sheet or plan.shape[0], plan.shape[1]
    if abs(ahead) + abs(down) == 1:
        return "near"
    together = plan.sheet_of(a) == plan.sheet_of(c)
    if down == 0 and together and plan.closed[0] and abs(ahead) == wide - 1 and (plan.whole or plan.flat):
        return "wrap"
    if ahead == 0 and plan.closed[1] and abs(down) == tall - 1:
        return "wrap"
    return "far"


def reach(plan: Plan, frame: Frame) -> float:
    """The height of the band that a step's far sends need below a row of ranks."""
    if plan.flat:
        return 0.0
    tracks = _tracks(plan, frame)
    return 10.0 + min(_BAND, len(set(tracks.values())) * _TRACK) if tracks else 0.0


def _far(plan: Plan, frame: Frame) -> list[Pair]:
    """Sends that need the band; both ways of an exchange are one."""
    ranks = len(frame.count)
    found = zip(frame.rows.src.tolist(), frame.rows.dst.tolist(), frame.rows.lane.tolist(), strict=True)
    return sorted({(min(s, d), max(s, d), k) for s, d, k in found if _kind(plan, s, d, ranks) == "far"})


def _tracks(plan: Plan, frame: Frame) -> dict[Pair, int]:
    """A track for each far send, short ones next to the ranks, so that no two on one track overlap."""
    spans = sorted(
        (plan.shown[d][0] - plan.shown[s][0], plan.shown[s][0], s, d, k) for s, d, k in _far(plan, frame)
    )
    busy: list[list[tuple[int, int]]] = []
    track: dict[Pair, int] = {}
    for long, left, s, d, k in spans:
        free = next(
            (i for i, taken in enumerate(busy) if all(left + long <= a or b <= left for a, b in taken)),
            len(busy),
        )
        if free == len(busy):
            busy.append([])
        busy[free].append((left, left + long))
        track[s, d, k] = free
    return track


def aside(plan: Plan, frame: Frame) -> tuple[float, float]:
    """How far from blocks on a plane sends run that pass others: at their right, and below them."""
    ranks = len(frame.count)
    found = sorted(
        set(zip(*(c.tolist() for c in (frame.rows.src, frame.rows.dst, frame.rows.lane)), strict=True))
    )
    room = [0.0, 0.0]
    for (src, dst), sends in groupby(found, key=lambda f: f[:2]):
        if plan.flat and _kind(plan, src, dst, ranks) == "far":
            a, b = plan.shown[src], plan.shown[dst]
            if a[0] == b[0] or a[1] == b[1]:
                way = int(a[1] == b[1])
                room[way] = max(room[way], _aside(plan, src, dst, len(list(sends)) - 1))
    return room[0], room[1]


def _aside(plan: Plan, src: int, dst: int, order: int) -> float:
    """How far from its block a send on a plane runs that passes others; short ones run nearest."""
    (column, row), (to, down) = plan.shown[src], plan.shown[dst]
    sheets = abs(plan.sheet_of(to) - plan.sheet_of(column))
    if sheets:  # columns of a sheet take lines of their own
        return 3 + 4.0 * sheets + 5.0 * (min(column, to) % (plan.sheet + 1)) + 3 * order
    return 3 + 4.0 * (abs(to - column) + abs(down - row)) + 3 * order


def draw_sends(canvas: Canvas, scene: Scene) -> None:
    """All arrows of a panel."""
    plan, ranks = scene.plan, scene.schedule.ranks
    pairs = _pairs(plan, scene.frame, scene.schedule.chunks)
    both = any((d, s, k2) in pairs for s, d, _ in pairs for k2 in range(scene.schedule.lanes))
    for (src, dst, lane), rows in pairs.items():
        kind = _kind(plan, src, dst, ranks)
        order = sorted(k for s, d, k in pairs if (s, d) == (src, dst)).index(lane)
        if kind in ("near", "wrap", "edge"):
            for line in _short(scene, src, dst, rows, kind, both, order):
                _arrow(canvas, line, lane)
        elif kind == "far" and plan.flat:
            line, layer = _across(scene, src, dst, order)
            _arrow(canvas, line, lane, layer)
    if not plan.flat:
        _band(canvas, scene, pairs)


def _arrow(canvas: Canvas, line: Line, lane: int, layer: int = OVER, fine: bool = False) -> None:
    colour = theme.route_number(lane)
    width, size = (0.7, 4.0) if fine else (1.8, 7.0)
    canvas.line(line, f"r{colour}", radius=6, width=width, tip=f"h{colour}", size=size, layer=layer)


def _short(
    scene: Scene, src: int, dst: int, rows: list[int], kind: str, both: bool, order: int
) -> list[Line]:
    """Arrows in the gap between neighbours; where the other end is elsewhere, one out and one in."""
    plan = scene.plan
    here = plan.shown.get(src, (0, 0)), plan.shown.get(dst, (0, 0))
    vertical = kind != "edge" and here[0][0] == here[1][0]
    if kind == "edge":
        forward = (dst - src) % scene.schedule.ranks == 1
    else:
        forward = (here[1][1] > here[0][1]) if vertical else (here[1][0] > here[0][0])
        forward = forward if kind == "near" else not forward
    way = 1 if forward else -1
    if not plan.flat and len(rows) <= _SEPARATE:
        moved = (2.6 * way if both else 0.0) + 4 * order
        across = [(r + 0.5) * plan.high + moved for r in rows]
    else:
        across = [plan.block[1 - vertical] / 2 + way * 4 * (1 - 2 * vertical) * (1 + order)]
    out: list[Line] = []
    for side in across:
        a, b = scene.blocks.get(src), scene.blocks.get(dst)
        tails = [p for p in (_end(a, way, side, vertical), _end(b, -way, side, vertical)) if p]
        if kind == "near" and len(tails) == 2:
            out.append((tails[0], tails[1]))
            continue
        if a:
            out.append((tails[0], _off(tails[0], 16.0 * way, vertical)))
        if b:
            out.append((_off(tails[-1], -16.0 * way, vertical), tails[-1]))
    return out


def _end(box: Box | None, way: int, side: float, vertical: bool) -> tuple[float, float] | None:
    """The point on a block's edge where an arrow starts or ends."""
    if box is None:
        return None
    if vertical:
        return box.left + side, (box.bottom if way > 0 else box.top) + 2 * way
    return (box.right if way > 0 else box.left) + 2 * way, box.top + side


def _off(point: tuple[float, float], by: float, vertical: bool) -> tuple[float, float]:
    return (point[0], point[1] + by) if vertical else (point[0] + by, point[1])


def _across(scene: Scene, src: int, dst: int, order: int) -> tuple[Line, int]:
    """A send on a plane to no neighbour: through the gap along its row or column, else straight, behind."""
    a, b = scene.blocks[src], scene.blocks[dst]
    ax, ay, bx, by = (
        (a.left + a.right) / 2,
        (a.top + a.bottom) / 2,
        (b.left + b.right) / 2,
        (b.top + b.bottom) / 2,
    )
    by_side = _aside(scene.plan, src, dst, order)
    if a.top == b.top:
        over, end = a.bottom + by_side, bx + min(by_side - 3, (b.right - b.left) / 2 - 2)
        return ((ax, a.bottom), (ax, over), (end, over), (end, b.bottom + 2)), OVER
    if a.left == b.left:
        over, end = a.right + by_side, by + min(by_side - 3, (b.bottom - b.top) / 2 - 2)
        return ((a.right, ay), (over, ay), (over, end), (b.right + 2, end)), OVER
    return between(((ax, ay), (bx, by)), a, b, 2), BACK


def _band(canvas: Canvas, scene: Scene, pairs: dict[Pair, list[int]]) -> None:
    """Far sends: down, along their track, and up."""
    tracks = _tracks(scene.plan, scene.frame)
    if not tracks:
        return
    step = min(_TRACK, _BAND / (max(tracks.values()) + 1))
    ends: dict[int, list[tuple[int, Pair]]] = {}
    for s, d, k in tracks:
        ends.setdefault(s, []).append((scene.plan.shown[d][0], (s, d, k)))
        ends.setdefault(d, []).append((scene.plan.shown[s][0], (s, d, k)))
    at: dict[tuple[int, Pair], float] = {}
    for holder, near in ends.items():
        box, mine = scene.blocks[holder], scene.plan.shown[holder][0]
        # partners on the left come first, the nearest of them outermost, so that lines cross little
        near.sort(key=lambda e: (e[0] > mine, -e[0], e[1]))
        for i, (_, pair) in enumerate(near):
            at[holder, pair] = box.left + (i + 1) * (box.right - box.left) / (len(near) + 1)
    for pair, track in tracks.items():
        s, d, k = pair
        bottom = scene.blocks[s].bottom + 3
        y = bottom + 5 + (track + 1) * step
        line = ((at[s, pair], bottom), (at[s, pair], y), (at[d, pair], y), (at[d, pair], bottom))
        if (s, d, k) in pairs:
            _arrow(canvas, line, k, OVER, step < 4)
        if (d, s, k) in pairs:
            _arrow(canvas, line[::-1], k, OVER, step < 4)
