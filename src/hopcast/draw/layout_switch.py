"""Networks with switches in layers: chips in a row, switches of a node below, those that join nodes above."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from hopcast.ir.topology import Topology

from .boxes import Box, around, width
from .geometry import Point
from .layout import MOST_IN_A_ROW, Layout, Trace, centre, too_large
from .words import listed, plural

_LAYER = 92.0
# chips in a row: width of a box, pitch, font size
_TIERS = ((16, 40.0, 60.0, 10.0), (40, 24.0, 32.0, 8.0), (72, 18.0, 24.0, 7.0), (256, 6.0, 8.0, 0.0))
_ALL = 40  # chips up to which all nodes are drawn; above it is the first, the second and the last
_MOST_NODES, _MOST_CHIPS = 6, 100  # of which the second is left out where the nodes have more chips
_WIDEST = 1330.0  # of a row whose boxes grow for their names
_DEEPEST = 220.0  # below their row, of cables from chip to chip
_PAUSE = 56.0  # between nodes that do not follow one another


@dataclass
class _Rows:
    """What the parts of a plan share.

    Attributes:
        near: The neighbours of each vertex.
        alike: For each vertex the first that has the same neighbours, itself for chips.
        hidden: Vertices that are not drawn.
        split: Whether one switch stands between two rows of chips.
        boxes: Of each vertex.
        labels: What stands in them.
        bars: Switches that are as wide as their chips.
    """

    near: list[set[int]]
    alike: list[int]
    hidden: set[int]
    split: bool
    boxes: list[Box]
    labels: dict[int, str] = field(default_factory=dict)
    bars: set[int] = field(default_factory=set)


def layers(topology: Topology, keep: Collection[int] = ()) -> Layout:
    """The plan of a network that is no grid.

    Args:
        topology: The network.
        keep: Vertices that must be drawn. Of many nodes only the first, the second, the last and theirs are.
    """
    near: list[set[int]] = [set() for _ in range(topology.vertices)]
    for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    alike = _alike(topology, near)
    keep = {*keep, *(alike[v] for v in keep)}
    leads = sorted(set(alike[topology.chips :]))
    split = len(leads) == 1 and topology.chips > 16 and near[leads[0]] >= set(range(topology.chips))
    nodes = _nodes_drawn(topology, keep)
    chips = [c for c in range(topology.chips) if nodes is None or int(topology.coords[c, 0]) in nodes]
    half = -(-len(chips) // 2) if split else len(chips)
    if half > MOST_IN_A_ROW:
        raise too_large(topology)
    there = _Rows(near, alike, set(), split, [around(0, 0, 0, 0)] * topology.vertices)
    size, marks = _chips(topology, there, chips, half)
    level = _levels(topology, near)
    _hide(topology, there, level, keep)
    _switches(topology, there, [v for v in leads if v not in there.hidden], level)
    found = Layout(
        there.boxes,
        [],
        lambda v: there.labels[v],
        size or 8.0,
        3.0 if size > 8 else 1.5,
        5.0 if size > 8 else 2.5,
        marks=marks,
        hidden=frozenset(there.hidden),
    )
    ends = zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    found.traces = [
        Trace(()) if there.hidden & {a, b} else _link(there, a, b, max(a, b) < topology.chips)
        for a, b in ends
    ]
    found.notes = _notes(topology, there, leads, nodes, named=bool(size))
    return found


def _nodes_drawn(topology: Topology, keep: Collection[int]) -> list[int] | None:
    """The nodes that are drawn where they are too many for all; None: everything is."""
    if topology.chips <= _ALL or len(topology.axes) < 2 or topology.axes[0].length <= 3:
        return None
    last, each = topology.axes[0].length - 1, topology.chips // topology.axes[0].length
    asked = sorted({int(topology.coords[v, 0]) for v in keep if v < topology.chips})
    usual = [0, last, 1] if 3 * each <= _MOST_CHIPS else [0, last]
    return sorted(dict.fromkeys([*asked, *usual][: max(_MOST_NODES, len(asked))]))


def _chips(
    topology: Topology, there: _Rows, chips: list[int], half: int
) -> tuple[float, list[tuple[Point, str, str]]]:
    """Set the boxes and names of the chips; give their font size, and dots where nodes are left out."""
    wide, pitch, size = next(t[1:] for t in _TIERS if half <= t[0])
    high = 26 if size else wide
    names = {chip: topology.place(chip) for chip in chips}
    longest = max(width(name, size) for name in names.values())
    if size and longest > wide and half * (longest + 12) <= _WIDEST:
        wide, pitch = longest + 4, longest + 12
    elif size and longest > wide:
        size = 0.0
    there.hidden.update(set(range(topology.chips)) - set(chips))
    x, marks = 0.0, list[tuple[Point, str, str]]()
    for j, chip in enumerate(chips):
        row = int(j >= half)
        x = 0.0 if j in (0, half) else x + pitch
        if j and chip != chips[j - 1] + 1:
            middle = x - pitch + (pitch + _PAUSE) / 2
            marks.append(((middle, 3.0), "...", "middle"))
            for left_out in range(chips[j - 1] + 1, chip):
                there.boxes[left_out] = around(middle, 0.0, wide, high)
            x += _PAUSE
        there.boxes[chip] = around(x, 2 * row * _LAYER, wide, high)
        there.labels[chip] = names[chip] if size else ""
    return size, marks


def _hide(topology: Topology, there: _Rows, level: list[int], keep: Collection[int]) -> None:
    """Leave out the switches below which no chip is drawn."""
    order = sorted(range(topology.chips, topology.vertices), key=lambda v: level[v])
    for v in order:
        below = {w for w in there.near[v] if level[w] < level[v]}
        if below and below <= there.hidden and v not in keep:
            there.hidden.add(v)


def _link(there: _Rows, a: int, b: int, chips: bool) -> Trace:
    """From box to box; between layers it leaves and enters by the edges that face each other.

    From the middles it would run behind the boxes beside its own. So would a cable from chip to chip: past
    others it goes below its row.
    """
    (ax, ay), (bx, by) = centre(there.boxes[a]), centre(there.boxes[b])
    if chips and ay == by and abs(a - b) > 1:
        return Trace((((ax, ay), ((ax + bx) / 2, ay + _sag(abs(a - b))), (bx, by)),))
    if b in there.bars:
        bx = ax
    elif a in there.bars:
        ax = bx
    if ay < by:
        ay, by = there.boxes[a].bottom, there.boxes[b].top
    elif ay > by:
        ay, by = there.boxes[a].top, there.boxes[b].bottom
    return Trace((((ax, ay), (bx, by)),), upright=ay != by)


def _sag(places: int) -> float:
    """How far below a row a cable goes: the steeper the farther, so that none runs on another."""
    return min(places * (8.0 + 2.5 * places), _DEEPEST)


def _notes(
    topology: Topology, there: _Rows, leads: list[int], nodes: list[int] | None, *, named: bool
) -> list[str]:
    notes = []
    if nodes is not None:
        axis = topology.axes[0]
        notes.append(
            f"{len(nodes)} of {axis.length:,} {plural(axis.name)} are drawn, "
            f"{listed([str(n) for n in nodes])}, with the switches that they are on."
        )
    if topology.vertices - topology.chips > len(leads):
        notes.append(
            "Switches with the same neighbours are drawn as one; its lines stand for a link to each of them."
        )
    if not named and nodes is None:
        notes.append(f"Chips are in order, 0 at the left to {topology.chips - 1}.")
    elif not named:
        notes.append("Chips are in order, from left to right.")
    return notes


def _alike(topology: Topology, near: list[set[int]]) -> list[int]:
    """For each vertex the first that has the same neighbours, itself for chips."""
    alike = list(range(topology.vertices))
    for _ in range(4):
        first: dict[tuple[int, ...], int] = {}
        for v in range(topology.chips, topology.vertices):
            key = tuple(sorted({alike[w] for w in near[v]}))
            alike[v] = first.setdefault(key, v)
    return alike


def _levels(topology: Topology, near: list[set[int]]) -> list[int]:
    """Hops to the nearest chip; switches without a way to a chip are one above all."""
    level = [0 if v < topology.chips else -1 for v in range(topology.vertices)]
    front, depth = list(range(topology.chips)), 0
    while front:
        depth += 1
        front = sorted({w for v in front for w in near[v] if level[w] < 0})
        for w in front:
            level[w] = depth
    return [depth if k < 0 else k for k in level]


def _switches(topology: Topology, there: _Rows, leads: list[int], level: list[int]) -> None:
    """Set the boxes and names of the switches that are drawn, and which are bars along their chips."""
    boxes, bars = there.boxes, there.bars
    seen = [boxes[c] for c in range(topology.chips)]
    left, right = min(b.left for b in seen), max(b.right for b in seen)
    for depth in range(1, max(level) + 1):
        here = [v for v in leads if level[v] == depth]
        local = [v for v in here if depth == 1 and len(here) > 1 and _is_run(topology, there.near[v])]
        upper = [v for v in here if v not in local]
        for v in local:
            own = [boxes[c] for c in there.near[v] if c < topology.chips]
            boxes[v] = Box(min(b.left for b in own), _LAYER - 13, max(b.right for b in own), _LAYER + 13)
            bars.add(v)
        y = _LAYER if there.split else -depth * _LAYER
        if len(upper) == 1:
            boxes[upper[0]] = Box(left, y - 15, right, y + 15)
            bars.add(upper[0])
        else:
            room = (right - left) / max(len(upper), 1)
            for i, v in enumerate(upper):
                boxes[v] = around(left + (i + 0.5) * room, y, max(min(room * 0.8, 110.0), 6.0), 26)
    for v in range(topology.chips, topology.vertices):
        lead = there.alike[v]
        boxes[v] = boxes[lead]
        if lead in bars:
            bars.add(v)
    for v in leads:
        there.labels[v] = fitting(boxes[v], topology.place(v), there.alike.count(v))


def fitting(box: Box, name: str, many: int) -> str:
    """The longest name of a switch, or of several drawn as one, that has room."""
    tries = (
        _shorter(name) if many == 1 else [f"{many} switches, from {name}", f"{many} switches", f"{many}x", ""]
    )
    return next((t for t in tries if width(t, 10.0) < box.right - box.left - 4), "")


def _shorter(name: str) -> list[str]:
    """A name and what is left of it where there is less room.

    >>> _shorter("unit 0 rail 3 leaf"), _shorter("switch 12"), _shorter("dcn")
    (['unit 0 rail 3 leaf', 'rail 3 leaf', 'rail 3', '3'], ['switch 12', '12'], ['dcn'])
    """
    words = name.split()
    numbers = [i for i, word in enumerate(words) if word.isdecimal()]
    if not numbers or numbers[-1] == 0:
        return [name]
    at = numbers[-1]
    tries = (words, words[at - 1 :], words[at - 1 : at + 1], words[at : at + 1])
    return list(dict.fromkeys(" ".join(t) for t in tries))


def _is_run(topology: Topology, near: set[int]) -> bool:
    """Whether a switch joins chips that follow one another, some but not all, and nothing else."""
    chips = np.array(sorted(near))
    return (
        len(chips) > 1
        and len(chips) < topology.chips
        and chips[-1] < topology.chips
        and int(chips[-1] - chips[0]) == len(chips) - 1
    )
