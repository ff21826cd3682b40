"""Where a network is thin: the parts that a cut leaves, tinted, and thick arrows for what crosses it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from hopcast.graph.usable import usable
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Bools, Ints, Topology
from hopcast.names import InputError
from hopcast.price.bounds_names import members, some_links
from hopcast.units import show_rate

from .boxes import Box, around
from .geometry import Line, toward
from .layout import Layout, centre, lay_out, long_axes
from .svg import BACK, BOXES, LEAST_WIDTH, LINES, OVER, SMALL, Canvas
from .topology import about, draw_cables, draw_vertices
from .topology_text import runs
from .words import counted, plural

TINTS = 6  # kinds of tint; neighbours never share one
CROSSING = 2  # the colour of what crosses
_LISTED = 6  # parts that are named one by one
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WIDEST, _MOST_ROWS = 100, 64


@dataclass(frozen=True, eq=False)
class Cut:
    """Parts of a network and the links that lead from part to part.

    Shapes: v vertices.

    Attributes:
        part: ``int32[v]``, the part of each vertex; -1 of those that the cut is not about.
        links: ``int32[...]``, what crosses, one way.
        head: What stands at the cut: what the links carry.
        under: What stands below it: what must cross.
        names: Of the first parts; empty: their chips are named.
        what: What the links are.
    """

    part: Ints
    links: Ints
    head: str = ""
    under: str = ""
    names: Sequence[str] = field(default_factory=tuple)
    what: str = "what crosses"

    @property
    def parts(self) -> int:
        """Number of parts."""
        return int(self.part.max(initial=-1)) + 1


def of_links(topology: Topology, links: Ints, allowed: Bools | None = None) -> Ints:
    """The parts into which a network falls without some links and those that lead back.

    Parts that the links lead out of come first. A switch from which all links are taken is in none, and what
    the links do not touch is not either.

    Shapes: v vertices, m links.

    Args:
        topology: Links of bandwidth 0 are dead.
        links: Taken out, one way.
        allowed: ``bool[m]``, links that count; all that are alive if not given.

    Returns:
        ``int32[v]``, -1 where there is no part.

    Cost: O(m log v).

    >>> from hopcast.topologies import mesh
    >>> grid = mesh.build("mesh:4x2", (4, 2), 1.0, 0.0)
    >>> of_links(grid, np.flatnonzero((grid.src // 4 == 1) & (grid.dst // 4 == 0))).tolist()
    [1, 1, 1, 1, 0, 0, 0, 0]
    """
    v, src, dst = topology.vertices, topology.src.astype(np.int64), topology.dst.astype(np.int64)
    taken = np.concatenate([src[links] * v + dst[links], dst[links] * v + src[links]])
    left = (topology.bandwidth > 0) & ~np.isin(src * v + dst, taken)
    if allowed is not None:
        left &= allowed
    label = usable(topology, left).component
    first = list(dict.fromkeys([*label[src[links]].tolist(), *label[dst[links]].tolist()]))
    chips = set(label[: topology.chips].tolist())
    number = {old: new for new, old in enumerate(k for k in first if k in chips)}
    return np.array([number.get(k, -1) for k in label.tolist()], np.int32)


def carry(topology: Topology, links: Ints) -> float:
    """Bytes/s of some links together, cables of half duplex counted once."""
    return float(topology.bandwidth[np.unique(topology.wire[links])].sum())


def carries(topology: Topology, links: Ints) -> str:
    """What some links carry, in words.

    >>> from hopcast.topologies import ring
    >>> carries(ring.build("ring:4", (4,), 45e9, 0.0), np.array([0, 2], np.int32))
    '90 GB/s over 2 links'
    """
    return f"{show_rate(carry(topology, links))} over {some_links(len(links))}"


def cut_svg(cluster: Cluster, cut: Cut, *, title: str = "", caption: str = "") -> str:
    """A picture of a cluster's network with a cut.

    Args:
        cluster: What to draw.
        cut: The parts and what crosses.
        title: Headline; by default the cluster's name.
        caption: Sentences under the picture.

    Returns:
        An SVG file that stands alone.

    Raises:
        InputError: if the network is too large to be read, or the cut is none of it.

    >>> from hopcast.topologies import ring
    >>> network = ring.build("ring:4", (4,), 45e9, 0.0)
    >>> links = np.flatnonzero((network.src < 2) & (network.dst >= 2))
    >>> picture = cut_svg(Cluster("ring:4", network, "ring", ""), Cut(of_links(network, links), links))
    >>> picture.count('class="a1"'), picture.count('class="h2"')  # two chips and the key; two arrows and it
    (3, 3)
    """
    topology = cluster.topology
    _check(topology, cut)
    plan, canvas = lay_out(topology), Canvas()
    cells, tint = _cells(plan, topology), tints(topology, cut.part)
    drawn = [(cells[v], shade) for v, shade in enumerate(tint) if shade and v not in plan.hidden]
    for box, shade in dict.fromkeys(drawn):
        canvas.rect(box, f"a{shade}", layer=BACK)
    draw_cables(canvas, plan, topology, None)
    _crossing(canvas, plan, topology, cut.links)
    border = _border(canvas, plan, topology, cut.part, cells)
    draw_vertices(canvas, plan, topology, set())
    _label(canvas, cut, border)
    canvas.widen(LEAST_WIDTH)
    left = canvas.edge.left  # of all lines of the key: each of them moves the edge a little
    for words, shade in _key(topology, cut, tint):
        _sample(canvas, words, shade, left)
    canvas.footer([*([caption] if caption else []), *plan.notes])
    head, said = title or cluster.name, about(cluster)
    canvas.headline(head, said.removeprefix(f"{head}: "))
    return canvas.render(head, " ".join([f"{said}.", *_words(topology, cut), caption, *plan.notes]).strip())


def cut_text(cluster: Cluster, cut: Cut, *, caption: str = "") -> str:
    """A cluster's network with a cut, for a terminal: a letter for the part of each chip, and what crosses.

    Raises:
        InputError: if the cut is none of the network.

    >>> from hopcast.topologies import mesh
    >>> network = mesh.build("mesh:2x2", (2, 2), 45e9, 0.0)
    >>> links = np.flatnonzero((network.src < 2) & (network.dst >= 2))
    >>> cut = Cut(of_links(network, links), links, carries(network, links))
    >>> print(cut_text(Cluster("mesh:2x2", network, "mesh", ""), cut))
    mesh:2x2: 4 chips, 8 links of 45 GB/s one way; x = 2 open, y = 2 open
    <BLANKLINE>
     A B
     A B
    <BLANKLINE>
    A: chips 0,0 and 0,1
    B: chips 1,0 and 1,1
    what crosses: x 0,0>1,0, x 0,1>1,1
    90 GB/s over 2 links
    """
    import textwrap

    topology = cluster.topology
    _check(topology, cut)
    lines = [about(cluster), "", *_letters(topology, cut.part), "", *_words(topology, cut)]
    names = [topology.link_name(int(i)) for i in cut.links[:8]]
    more = f" and {len(cut.links) - 8:,} more" if len(cut.links) > 8 else ""
    lines += [f"{cut.what}: {', '.join(names)}{more}"] if names else []
    lines += [", ".join(said for said in (cut.head, cut.under) if said)][: bool(cut.head or cut.under)]
    wrapped = [part for line in lines for part in (textwrap.wrap(line, _WIDEST) or [""])]
    letters = slice(2, 2 + len(_letters(topology, cut.part)))
    wrapped = [*wrapped[:2], *lines[letters], *wrapped[letters.stop :]]
    return "\n".join([*wrapped, *([""] if caption else []), *textwrap.wrap(caption, _WIDEST)])


def tints(topology: Topology, part: Ints) -> list[int]:
    """The tint of each vertex, 0 without: parts that links join differ, as far as there are tints.

    Shapes: ``part`` is ``int32[v]``.

    >>> from hopcast.topologies import chain
    >>> tints(chain.build("chain:4", (4,), 1.0, 0.0), np.array([0, 0, 1, -1]))
    [1, 1, 5, 0]
    """
    order = (1, 5, 3, 4, 6, 2)
    a, b = part[topology.src], part[topology.dst]
    border = (a >= 0) & (b >= 0) & (a != b)
    near: dict[int, set[int]] = {}
    pairs = np.stack([a[border], b[border]], 1)
    if not topology.is_grid:  # chips meet in switches, and stand side by side in the order of their numbers
        row = part[: topology.chips]
        side = (row[1:] != row[:-1]) & (row[1:] >= 0) & (row[:-1] >= 0)
        pairs = np.concatenate([pairs, np.stack([row[:-1][side], row[1:][side]], 1)])
    for x, y in np.unique(pairs, axis=0).tolist():
        near.setdefault(x, set()).add(y)
        near.setdefault(y, set()).add(x)
    chosen: dict[int, int] = {}
    for k in range(int(part.max(initial=-1)) + 1):
        taken = {chosen[n] for n in near.get(k, ()) if n in chosen}
        chosen[k] = next((t for t in order if t not in taken), order[k % TINTS])
    return [chosen.get(k, 0) for k in part.tolist()]


def _check(topology: Topology, cut: Cut) -> None:
    links = np.asarray(cut.links)
    if np.shape(cut.part) != (topology.vertices,) or np.any((links < 0) | (links >= topology.links)):
        raise InputError(
            f"the cut has {np.size(cut.part)} vertices and links up to {int(links.max(initial=-1))}; "
            f"{topology.name} has {topology.vertices} vertices and links 0 to {topology.links - 1}"
        )


def _pitch(plan: Layout, topology: Topology) -> tuple[float, float] | None:
    """How far boxes of chips are from the next ones across and down; None where they are in no rows."""
    middles = [centre(plan.boxes[v]) for v in range(topology.chips) if v not in plan.hidden]
    rows = sorted({round(y, 1) for _, y in middles})
    across = [b - a for y in rows for a, b in pairwise(sorted({x for x, at in middles if round(at, 1) == y}))]
    all_rows = sorted({round(centre(b)[1], 1) for v, b in enumerate(plan.boxes) if v not in plan.hidden})
    down = [b - a for a, b in pairwise(all_rows)]
    box = plan.boxes[0]
    wide, high = min(across, default=box.right - box.left + 24), min(down, default=box.bottom - box.top + 24)
    crowded = wide < box.right - box.left or high < box.bottom - box.top
    return None if crowded else (wide, high)


def _cells(plan: Layout, topology: Topology) -> list[Box]:
    """The ground of each vertex: grounds of neighbours touch where boxes stand in rows."""
    pitch = _pitch(plan, topology)
    if pitch is None:
        return [box.grown(9) for box in plan.boxes]
    rows: dict[float, list[Box]] = {}
    drawn = {box for v, box in enumerate(plan.boxes) if v not in plan.hidden}
    for box in sorted(drawn, key=lambda b: b.left):
        rows.setdefault(round(centre(box)[1], 1), []).append(box)
    first = plan.boxes[0]
    beside, high = pitch[0] - (first.right - first.left), sorted(rows)
    cells: dict[Box, Box] = {}
    for i, y in enumerate(high):
        row = rows[y]
        gaps = [b.left - a.right for a, b in pairwise(row)]
        least = min(gaps, default=beside)
        # up to the next one, unless that is so far off that something else must be between
        across = [least, *(gap if gap <= 3 * least else least for gap in gaps), least]
        far = [y - high[i - 1] if i else pitch[1], high[i + 1] - y if i + 1 < len(high) else pitch[1]]
        up, down = (gap if gap <= 1.5 * pitch[1] else pitch[1] for gap in far)
        for k, b in enumerate(row):
            left, right = b.left - across[k] / 2, b.right + across[k + 1] / 2
            cells[b] = Box(left, y - up / 2, right, y + down / 2)
    return [cells.get(b, b) for b in plan.boxes]


def _border(canvas: Canvas, plan: Layout, topology: Topology, part: Ints, cells: list[Box]) -> list[Line]:
    """A line between neighbours on a grid that are in different parts, as long as their grounds."""
    if not topology.is_grid:
        return []
    flat = len(long_axes(topology)) > 1 and _pitch(plan, topology) is not None
    found: dict[Line, None] = {}
    for link in range(topology.links):
        a, b = int(topology.src[link]), int(topology.dst[link])
        trace = plan.traces[link]
        if part[a] == part[b] or min(part[a], part[b]) < 0 or trace.wraps or trace.ticks:
            continue
        (ax, ay), (bx, by) = sorted([centre(cells[a]), centre(cells[b])])
        x, y = (ax + bx) / 2, (ay + by) / 2
        if not flat:
            dx, dy = toward((ax, ay), (bx, by))
            found[(x + 24 * dy, y - 24 * dx), (x - 24 * dy, y + 24 * dx)] = None
        elif ay == by:
            found[(x, cells[a].top), (x, cells[a].bottom)] = None
        elif ax == bx:
            found[(cells[a].left, y), (cells[a].right, y)] = None
    for line in found:
        canvas.line(line, "border", layer=LINES)
    return list(found) if flat else []


def _crossing(canvas: Canvas, plan: Layout, topology: Topology, links: Ints) -> None:
    """Thick arrows; a short one where a link leads to another sheet."""
    wide = max(2.2, plan.widest * 0.7)
    for link in links.tolist():
        ways = plan.ways(topology, link, plan.lane)
        for i, way in enumerate(ways):
            tip, size = (f"h{CROSSING}", wide * 1.6 + 3) if i == len(ways) - 1 else ("", 0.0)
            canvas.line(way, f"s{CROSSING}", radius=9, width=wide, tip=tip, size=size, layer=BOXES)


def _label(canvas: Canvas, cut: Cut, border: list[Line]) -> None:
    """What crosses, above the picture and where the border begins, with a line down to it."""
    edge = canvas.edge
    tops = [p for line in border for p in line]
    top = min((y for _, y in tops), default=edge.top)
    at = sorted(x for x, y in tops if y == top)
    upright = [line for line in border if line[0][0] == line[1][0] and line[0][1] == top]
    x = upright[0][0][0] if upright else at[len(at) // 2] if at else (edge.left + edge.right) / 2
    y = edge.top - 12
    if upright:
        canvas.line(((x, y + 4), (x, top)), "border", layer=LINES)
    for words, size, cls in ((cut.under, SMALL, "ink"), (cut.head, 13.0, "bold")):
        if words:
            canvas.text(x, y, words, size=size, cls=cls)
            y -= 17


def _key(topology: Topology, cut: Cut, tint: list[int]) -> Iterator[tuple[str, int]]:
    """Words and tint of each part, or of all together; last, with the colour 0, what crosses."""
    if cut.parts <= _LISTED:
        for k in range(cut.parts):
            yield part_name(topology, cut, k), tint[int(np.flatnonzero(cut.part == k)[0])]
    else:
        yield f"{cut.parts} parts, each on its own ground", 1
    if len(cut.links):
        yield f"{cut.what}: {some_links(len(cut.links))}", 0


def part_name(topology: Topology, cut: Cut, k: int) -> str:
    """What a part consists of.

    >>> from hopcast.topologies import mesh
    >>> grid = mesh.build("mesh:4x4", (4, 4), 1.0, 0.0)
    >>> part_name(grid, Cut((np.arange(16) // 8).astype(np.int32), np.zeros(0, np.int32)), 0)
    'x 0-1: 8 chips'
    """
    inside = cut.part == k
    many = int(inside[: topology.chips].sum())
    said = cut.names[k] if k < len(cut.names) else _nodes(topology, inside)
    said = said or members(topology, inside, cut.part >= 0)
    if cut.parts == 2 and said.startswith(f"{many:,} chips ("):
        return f"the other {many:,} chips"
    return (
        said if (many <= 2 and k >= len(cut.names)) or "chips" in said else f"{said}: {counted(many, 'chip')}"
    )


def _nodes(topology: Topology, inside: Bools) -> str:
    """Whole nodes by their numbers; empty where a part is no such."""
    if topology.is_grid or topology.is_slices or len(topology.axes) < 2:
        return ""
    node, mine = topology.coords[:, 0], inside[: topology.chips]
    whole = np.unique(node[mine])
    if not len(whole) or not np.array_equal(np.isin(node, whole), mine):
        return ""
    word = topology.axes[0].name
    return f"{word} {whole[0]}" if len(whole) == 1 else f"{plural(word)} {runs(whole.tolist())}"


def _sample(canvas: Canvas, words: str, shade: int, left: float) -> None:
    """A line of the key."""
    y = canvas.edge.bottom + 20
    if shade:
        canvas.rect(around(left + 12, y - 4, 24, 13), f"a{shade}", round_by=2)
    else:
        line = ((left, y - 4), (left + 24, y - 4))
        canvas.line(line, f"s{CROSSING}", width=4, tip=f"h{CROSSING}", size=10, layer=OVER)
    canvas.text(left + 32, y, words, anchor="start")


def _words(topology: Topology, cut: Cut) -> list[str]:
    """The parts by their letters."""
    if cut.parts > _LISTED:
        return [f"{cut.parts} parts"]
    return [f"{_LETTERS[k]}: {part_name(topology, cut, k)}" for k in range(cut.parts)]


def _letters(topology: Topology, part: Ints) -> list[str]:
    """The letter of each chip's part: the first two axes of a grid across and down, else in order."""
    letter = [_LETTERS[k % len(_LETTERS)] if k >= 0 else "." for k in part[: topology.chips].tolist()]
    axes = long_axes(topology)
    if not topology.is_grid or len(axes) < 2:
        row = topology.axes[-1].length if len(topology.axes) > 1 else 32
        if len(letter) > _MOST_ROWS * row:
            return [f" {topology.chips:,} chips, too many for a letter each"]
        return [f" {' '.join(letter[i : i + row])}" for i in range(0, len(letter), row)]
    lines: list[str] = []
    sheets: dict[tuple[int, ...], list[int]] = {}
    for v in range(topology.chips):
        sheets.setdefault(tuple(int(topology.coords[v, a]) for a in axes[2:]), []).append(v)
    for where, chips in sheets.items():
        named = zip(axes[2:], where, strict=True)
        lines += [", ".join(f"{topology.axes[a].name} = {i}" for a, i in named)] if where else []
        for j in range(topology.shape[axes[1]]):
            row_ = [v for v in chips if topology.coords[v, axes[1]] == j]
            row_.sort(key=lambda v: int(topology.coords[v, axes[0]]))
            lines.append(f" {' '.join(letter[v] for v in row_)}")
    return lines
