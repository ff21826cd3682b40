"""Trees as a picture: all of them laid over the network, and each in a panel of its own."""

import math
from collections.abc import Sequence
from fractions import Fraction

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology

from . import tree_fabric
from .boxes import Box, around, width
from .geometry import Line, Point, between, middle, shifted
from .layout import MOST_IN_A_ROW, Layout, centre, lay_out, long_axes, too_large
from .sketch import Sketch
from .svg import BACK, BOXES, LINES, OVER
from .topology import about
from .trees import Tree, cables, is_direct
from .words import counted

MOST_PANELS = 16
_WIDEST = 1120.0
_APART, _LEAST = 4.6, 3.2  # from the middle of one strand to the next
_CLEAR = (26.0, 44.0)  # of a panel: room at its sides and above
_NAME, _WIDEST_NAME = 8.0, 60.0  # of a chip in a tree that is drawn level by level: font size, most room


def colour(tree: int) -> str:
    """The class of a tree's lines: six colours, every second one dashed, then the same the other way about.

    Colours that look alike to some eyes (1 and 6, 2 and 5, 3 and 4) so differ by their dashes.

    >>> [colour(k) for k in (0, 1, 5, 6, 7, 12)]
    ['s1', 'd2', 'd6', 'd1', 's2', 's1']
    """
    return f"{'sd'[(tree // 6 + tree) % 2]}{tree % 6 + 1}"


def part(share: float) -> str:
    """A part of the array, as a fraction where it is a simple one.

    >>> part(0.125), part(0.9999999999), part(0.50145)
    ('1/8 of D', 'all of D', '50.1% of D')
    """
    near = Fraction(share).limit_denominator(64)
    if abs(float(near) - share) > 1e-6:
        return f"{share:.1%} of D"
    return "all of D" if near == 1 else f"{near} of D"


def trees_svg(cluster: Cluster, found: Sequence[Tree], *, title: str = "", caption: str = "") -> str:
    """A picture of trees on a cluster's network.

    On a grid whose cables are the trees' edges the first part shows all trees at once, a strand for each on
    every cable, with their number; then comes a panel for each tree. Elsewhere the panels show who sends to
    whom, level by level, and on a small network with switches the first part has the number of sends that
    cross each cable.

    Args:
        cluster: Where.
        found: The trees.
        title: Headline.
        caption: Sentences under the picture.

    Returns:
        An SVG file that stands alone.

    Raises:
        InputError: if the network is too large to be read.

    >>> from hopcast.topologies import mesh
    >>> network = mesh.build("mesh:2x2", (2, 2), 45e9, 0.0)
    >>> where = Cluster("mesh:2x2", network, "mesh", "dimension_order")
    >>> one = Tree(0, ((1, 0), (2, 0), (3, 1)), 1, 1.0, True, True)
    >>> picture = trees_svg(where, [one])
    >>> picture.count("root 0,0"), "1 tree" in picture
    (1, True)
    """
    topology, canvas = cluster.topology, Sketch()
    if (
        not topology.is_grid and topology.chips > MOST_IN_A_ROW
    ):  # nodes may be left out, vertices of trees not
        raise too_large(topology)
    plan = lay_out(topology)
    direct = is_direct(topology, found)
    used = cables(cluster, found)
    right, numbers = 0.0, list[str]()
    if direct:
        right = _together(canvas, plan, topology, used, len(found))
    elif tree_fabric.fits(plan, topology):
        numbers = tree_fabric.together(canvas, plan, cluster, found)
        right = canvas.edge.right
    shown = found[:MOST_PANELS]
    flat = direct and len(long_axes(topology)) <= 2
    _panels(canvas, plan, topology, shown, flat, right)
    notes = [caption] if caption else []
    notes += [
        _what(found),
        *(() if flat else ("Names in the panels are chips, not ranks.",)),
        *numbers,
        *_loads(found, used, direct),
        *(plan.notes if direct else []),
    ]
    if len(shown) < len(found):
        notes.append(f"{len(shown)} of {len(found)} trees have a panel.")
    said = f"{about(cluster)}; {counted(len(found), 'tree')}"
    return canvas.finish(title or f"Trees on {cluster.name}", said, notes)


def _what(found: Sequence[Tree]) -> str:
    """What the arrows mean."""
    if all(t.up and t.down for t in found):
        return (
            "Arrows are the way of sums, from chip to chip up to the root of each tree; copies of the whole "
            "come back the other way."
        )
    if any(t.up for t in found):
        return "Arrows are the way of sums, up to the root of each tree."
    return "Arrows are the way of copies, from the root of each tree down."


def _loads(found: Sequence[Tree], used: dict[tuple[int, int], list[int]], direct: bool) -> list[str]:
    if not direct:
        return []
    most = max(map(len, used.values()), default=0)
    each = {t.share for t in found}
    said = f"No cable is in more than {most} of the {counted(len(found), 'tree')}"
    if max(each) - min(each) < 1e-9:
        said += f", so it carries no more than {part(most * found[0].share)} each way"
    return [f"{said}."]


def _together(
    canvas: Sketch, plan: Layout, topology: Topology, used: dict[tuple[int, int], list[int]], many: int
) -> float:
    """All trees on the network; gives the right edge of what was drawn."""
    first: dict[tuple[int, int], int] = {}
    for link, (a, b) in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        if a < b:
            first.setdefault((a, b), link)
    most = max(map(len, used.values()), default=1)
    box = plan.boxes[0]
    room = min(box.right - box.left, box.bottom - box.top) - 3
    gap = min(_APART, room / most)
    strands = gap >= _LEAST
    for ends, link in first.items():
        on = used.get(ends, [])
        lines = _strands(plan, topology, link, len(on) if strands else 1, gap)
        for k, ways in enumerate(lines):
            cls = (colour(on[k]) if strands else "cable") if on else "idle"
            wide = (0.63 * gap if strands else 1.5 + 4.5 * len(on) / most) if on else 1.0
            for way in ways:
                canvas.line(way, cls, radius=9, width=wide)
        if not plan.traces[link].ticks and plan.size:
            way = plan.ways(topology, link, 0.0)[0]
            bow = plan.traces[link].wraps and len(way) > 3
            (x, y), _ = middle(way[1:3] if bow else way)  # of a loop beside its row, clear of others
            canvas.box(around(x, y, 8 + 7 * len(str(len(on))), 15), [str(len(on))], "blank", size=9.5)
    for v, place in enumerate(plan.boxes):
        canvas.rect(place, "chip", round_by=min(5.0, (place.bottom - place.top) / 4), solid=True, layer=OVER)
        if name := plan.label(v):
            canvas.middle_text(place, name, size=plan.size)
    edge = canvas.edge
    canvas.text(edge.left, edge.top - 12, f"all {many} at once, and how many share each cable" if many > 1
                else "the tree", size=12, cls="bold", anchor="start")  # fmt: skip
    return canvas.edge.right


def _strands(plan: Layout, topology: Topology, link: int, many: int, gap: float) -> list[list[Line]]:
    """Lines side by side along a link, that far apart."""
    return [plan.ways(topology, link, (i - (many - 1) / 2) * gap) for i in range(max(many, 1))]


def _panels(
    canvas: Sketch, plan: Layout, topology: Topology, shown: Sequence[Tree], flat: bool, right: float
) -> None:
    """A panel for each tree, beside what is there or below it."""
    names = _names(topology, shown)
    room_each = max(22.0, *(width(name, _NAME) + 8 for name in names.values()))
    drawn = [_places(plan, tree, flat, room_each) for tree in shown]
    xs = [x for at in drawn for x, _ in at.values()]
    ys = [y for at in drawn for _, y in at.values()]
    left, top = min(xs), min(ys)
    needed = [width(_root(topology, t), 11, True) + width(part(t.share), 9.5) + 36 for t in shown]
    wide = max(max(xs) - left + 2 * _CLEAR[0], *needed)
    inset = (wide - max(xs) + left) / 2
    high = max(ys) - top + _CLEAR[0] + _CLEAR[1]
    edge = canvas.edge
    columns, tall = _columns(len(shown), _WIDEST, wide, high)
    start = (edge.left, edge.bottom + 24 if right else 0.0)
    if right and _WIDEST - right - 30 >= wide:  # beside what is there, if the page is then less high
        narrow, long = _columns(len(shown), _WIDEST - right - 30, wide, high)
        if long <= edge.bottom - edge.top + 24 + tall:
            columns, start = narrow, (right + 30, edge.top)
    for k, (tree, at) in enumerate(zip(shown, drawn, strict=True)):
        row, column = divmod(k, columns)
        x, y = start[0] + column * (wide + 12), start[1] + row * (high + 12)
        panel = Box(x, y, x + wide, y + high)
        canvas.rect(panel, "panel", round_by=6, layer=BACK)
        canvas.text(x + 12, y + 18, _root(topology, tree), size=11, cls="bold", anchor="start")
        canvas.text(x + wide - 12, y + 18, part(tree.share), size=9.5, cls="muted", anchor="end")
        moved = {v: (px - left + x + inset, py - top + y + _CLEAR[1]) for v, (px, py) in at.items()}
        _one(canvas, topology, tree, moved, k, {} if flat else names, room_each)


def _columns(panels: int, room: float, wide: float, high: float) -> tuple[int, float]:
    """How many panels stand side by side, rows being about equally long, and how high all are together."""
    fit = max(1, int((room + 12) // (wide + 12)))
    rows = math.ceil(panels / fit)
    return math.ceil(panels / rows), rows * (high + 12) - 12


def _root(topology: Topology, tree: Tree) -> str:
    return f"root {topology.place(tree.root)}"


def _names(topology: Topology, shown: Sequence[Tree]) -> dict[int, str]:
    """Of the vertices of trees: their places, or their numbers where one of those is too long."""
    there = sorted({v for tree in shown for v in (tree.root, *(child for child, _ in tree.parent))})
    places = {v: topology.place(v) for v in there}
    short = all(width(place, _NAME) <= _WIDEST_NAME for place in places.values())
    return places if short else {v: str(v) for v in there}


def _places(plan: Layout, tree: Tree, flat: bool, room: float) -> dict[int, Point]:
    """Where the vertices of a tree are in its panel: as on the network, smaller, or level by level."""
    if flat:
        return {v: (x * 0.42, y * 0.42) for v, (x, y) in enumerate(map(centre, plan.boxes))}
    level = {tree.root: 0}
    for child, parent in tree.parent:
        level[child] = level[parent] + 1
    kids: dict[int, list[int]] = {}
    for child, parent in tree.parent:
        kids.setdefault(parent, []).append(child)
    across: dict[int, float] = {}
    free = 0.0
    for v in reversed(_depth_first(tree.root, kids)):
        mine = [across[c] for c in kids.get(v, ())]
        if mine:
            across[v] = sum(mine) / len(mine)
        else:
            across[v] = free
            free -= room + 4
    return {v: (across[v], 34.0 * level[v]) for v in level}


def _depth_first(root: int, kids: dict[int, list[int]]) -> list[int]:
    """Vertices, each before those below it."""
    order, stack = [], [root]
    while stack:
        v = stack.pop()
        order.append(v)
        stack.extend(reversed(kids.get(v, ())))
    return order


def _one(
    canvas: Sketch, topology: Topology, tree: Tree, at: dict[int, Point], k: int, names: dict[int, str],
    room: float,
) -> None:  # fmt: skip
    """One tree: idle cables, its edges, its chips and its root. On a plane chips have places and no names."""
    flat = not names
    side, size = (15.0, 8.0) if not flat or max(topology.shape) <= 5 else (10.0, 6.0)
    boxes = {v: around(x, y, *((side, side) if flat else (room, 16.0))) for v, (x, y) in at.items()}
    if flat:
        for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
            if a < b and topology.coords[a].tolist() != topology.coords[b].tolist() and _next(topology, a, b):
                canvas.line((at[a], at[b]), "idle", layer=BACK)
    kind = colour(k)
    for child, parent in tree.parent:
        ends = (child, parent) if tree.up else (parent, child)
        line: Line = (at[ends[0]], at[ends[1]])
        bent = line if not flat or _next(topology, *ends) else _bow(line)
        canvas.line(between(bent, boxes[ends[0]], boxes[ends[1]], 1.0), kind, radius=8, width=0.325 * size,
                    tip=f"h{kind[1]}", size=size, layer=LINES)  # fmt: skip
    for v, box in boxes.items():
        if v == tree.root:
            canvas.rect(box.grown(2), f"h{kind[1]}", round_by=4, layer=OVER)
        else:
            canvas.rect(box, "chip", round_by=3, layer=BOXES)
            if not flat:
                canvas.middle_text(box, names[v], size=_NAME)


def _next(topology: Topology, a: int, b: int) -> bool:
    """Whether two chips of a grid are neighbours without going round the end."""
    return int(abs(topology.coords[a] - topology.coords[b]).sum()) == 1


def _bow(line: Line) -> Line:
    """Round the end of a row: beside it instead of through the chips between."""
    return (line[0], *shifted(line, 16.0), line[1])
