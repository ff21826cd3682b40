"""Networks with switches in layers: chips in a row, switches of a node below, those that join nodes above."""

import numpy as np

from hopcast.ir.topology import Topology

from .boxes import Box, around, width
from .layout import Layout, Trace, centre, too_large

_LAYER, _MOST = 92.0, 256
# chips in a row: width of a box, pitch, font size
_TIERS = ((16, 40.0, 60.0, 10.0), (40, 24.0, 32.0, 8.0), (72, 18.0, 24.0, 7.0), (256, 8.0, 12.0, 0.0))


def layers(topology: Topology) -> Layout:
    """The plan of a network that is no grid."""
    near: list[set[int]] = [set() for _ in range(topology.vertices)]
    for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)
    alike = _alike(topology, near)
    leads = sorted(set(alike[topology.chips :]))
    split = len(leads) == 1 and topology.chips > 16 and near[leads[0]] >= set(range(topology.chips))
    rows = [list(range(topology.chips))]
    if split:
        half = -(-topology.chips // 2)
        rows = [rows[0][:half], rows[0][half:]]
    if len(rows[0]) > _MOST or topology.chips > 2 * _MOST:
        raise too_large(topology)
    wide, pitch, size = next(t[1:] for t in _TIERS if len(rows[0]) <= t[0])
    boxes: list[Box] = [around(0, 0, 0, 0)] * topology.vertices
    for i, row in enumerate(rows):
        for j, chip in enumerate(row):
            boxes[chip] = around(j * pitch, 2 * i * _LAYER, wide, 26 if size else wide)
    names = [topology.place(chip) for chip in range(topology.chips)]
    if size and max(width(name, size) for name in names) > wide:
        size = 0.0
    labels = {chip: name if size else "" for chip, name in enumerate(names)}
    bars = _switches(topology, near, alike, leads, boxes, labels, split)
    found = Layout(
        boxes, [], lambda v: labels[v], size or 8.0, 3.0 if size > 8 else 1.5, 5.0 if size > 8 else 2.5
    )
    for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        ends = [centre(boxes[a]), centre(boxes[b])]
        if b in bars:
            ends[1] = (ends[0][0], ends[1][1])
        elif a in bars:
            ends[0] = (ends[1][0], ends[0][1])
        found.traces.append(Trace((tuple(ends),)))
    merged = topology.vertices - topology.chips - len(leads)
    if merged:
        found.notes.append(
            "Switches with the same neighbours are drawn as one; its lines stand for a link to each of them."
        )
    if not size:
        found.notes.append(f"Chips are in order, 0 at the left to {topology.chips - 1}.")
    return found


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


def _switches(
    topology: Topology, near: list[set[int]], alike: list[int], leads: list[int], boxes: list[Box],
    labels: dict[int, str], split: bool,
) -> set[int]:  # fmt: skip
    """Set the boxes and names of switches; give those that are bars along their chips."""
    level, bars = _levels(topology, near), set()
    left, right = boxes[0].left, max(b.right for b in boxes[: topology.chips])
    for depth in range(1, max(level) + 1):
        here = [v for v in leads if level[v] == depth]
        local = [v for v in here if depth == 1 and len(here) > 1 and _is_run(topology, near[v])]
        upper = [v for v in here if v not in local]
        for v in local:
            own = [boxes[c] for c in near[v] if c < topology.chips]
            boxes[v] = Box(min(b.left for b in own), _LAYER - 13, max(b.right for b in own), _LAYER + 13)
            bars.add(v)
        y = _LAYER if split else -depth * _LAYER
        if len(upper) == 1:
            boxes[upper[0]] = Box(left, y - 15, right, y + 15)
            bars.add(upper[0])
        else:
            room = (right - left) / max(len(upper), 1)
            for i, v in enumerate(upper):
                boxes[v] = around(left + (i + 0.5) * room, y, max(min(room * 0.8, 110.0), 6.0), 26)
    for v in range(topology.chips, topology.vertices):
        lead = alike[v]
        boxes[v] = boxes[lead]
        if lead in bars:
            bars.add(v)
    for v in leads:
        many = alike.count(v)
        labels[v] = _fitting(boxes[v], topology.place(v), many)
    return bars


def _fitting(box: Box, name: str, many: int) -> str:
    """The longest name of a switch, or of several drawn as one, that has room."""
    number = name.split()[-1]
    tries = (
        [name, number] if many == 1 else [f"{many} switches, from {name}", f"{many} switches", f"{many}x", ""]
    )
    return next((t for t in tries if width(t, 10.0) < box.right - box.left - 4), "")


def _is_run(topology: Topology, near: set[int]) -> bool:
    """Whether a switch joins chips that follow one another, some but not all, and nothing else."""
    chips = np.array(sorted(near))
    return (
        len(chips) > 1
        and len(chips) < topology.chips
        and chips[-1] < topology.chips
        and int(chips[-1] - chips[0]) == len(chips) - 1
    )
