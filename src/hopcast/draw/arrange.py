"""Which ranks of a schedule are drawn and where, and how a rank's chunks are laid out as cells."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ALL
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Ints

from .words import listed

_MOST_ROW, _MOST_SIDE, _MOST_CELLS = 16, 8, 16
_MOST_SHEETS = 8  # ranks on more than two axes of which all are drawn, in sheets side by side
_SETS = 8  # contributions that are drawn one by one


@dataclass(frozen=True)
class Cell:
    """A square of a rank's block: the chunks that it stands for, its colour, its name where it has room."""

    row: int
    column: int
    chunks: Ints
    colour: int
    label: str = ""


@dataclass
class Plan:
    """What is drawn where.

    Attributes:
        shown: Holders that are drawn, their places as (column, row), and their names.
        flat: Whether they are the points of a grid with two axes, rather than a row.
        closed: For the two directions, whether the ends of a line of ranks are joined.
        whole: Whether all ranks of the group are drawn.
        cells: Of one rank; all ranks' are alike.
        wide, high: Of a cell.
        split: Columns of cells before which there is a gap.
        rows: Names of the rows of cells; empty if they have none.
        sets: Whether each contribution to a sum is drawn.
        sheet: Columns of a sheet where a third axis makes several, with a column free between; else 0.
        notes: Sentences for the caption.
    """

    shown: dict[int, tuple[int, int]]
    names: dict[int, str]
    flat: bool
    closed: tuple[bool, bool]
    whole: bool
    cells: list[Cell] = field(default_factory=list)
    wide: float = 34.0
    high: float = 16.0
    split: frozenset[int] = frozenset()
    rows: list[str] = field(default_factory=list)
    sets: bool = False
    sheet: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of ranks."""
        return max(c for c, _ in self.shown.values()) + 1, max(r for _, r in self.shown.values()) + 1

    @property
    def block(self) -> tuple[float, float]:
        """Width and height of a rank's cells together."""
        columns, rows = max(c.column for c in self.cells) + 1, max(c.row for c in self.cells) + 1
        return columns * self.wide + len(self.split) * 4, rows * self.high

    def sheet_of(self, column: int) -> int:
        """On which sheet a column of ranks is."""
        return column // (self.sheet + 1) if self.sheet else 0

    def corner(self, cell: Cell) -> tuple[float, float]:
        """Upper left of a cell in its block."""
        return cell.column * self.wide + 4 * sum(cell.column >= s for s in self.split), cell.row * self.high


def arrange(schedule: Schedule, cluster: Cluster | None, vertices: Ints) -> Plan:
    """The plan of a schedule's pictures.

    Args:
        schedule: Its first group is drawn.
        cluster: Gives the places of ranks; without it they stand in a row.
        vertices: The holders' vertices.
    """
    axes = _grid_axes(schedule, cluster)
    plan = (
        _plane(schedule, cluster, axes)
        if cluster and len(axes) > 1
        else _row(schedule, cluster, axes, vertices)
    )
    if len(schedule.groups) > 1:
        plan.notes.append(
            f"The first of {len(schedule.groups):,} groups; "
            "the others do the same at the same time on their own ranks."
        )
    _cells(plan, schedule, cluster, axes)
    if schedule.share is not None:
        low, high = float(schedule.share.min()), float(schedule.share.max())
        plan.notes.append(f"Chunks are drawn alike; they are {low:.2%} to {high:.2%} of the array each.")
    return plan


def rank_names(group: Ints, cluster: Cluster | None) -> list[str]:
    """Names of ranks, with their chips unless every rank is on the chip of its own number.

    Args:
        group: The chip of each rank.
        cluster: Names chips.

    >>> rank_names(np.array([0, 1]), None), rank_names(np.array([3, 1]), None)
    (['rank 0', 'rank 1'], ['rank 0 on 3', 'rank 1 on 1'])
    """
    if np.array_equal(group, np.arange(len(group))):
        return [f"rank {r}" for r in range(len(group))]
    places = [str(v) if cluster is None else cluster.topology.place(v) for v in group.tolist()]
    return [f"rank {r} on {place}" for r, place in enumerate(places)]


def in_order(vertices: Ints) -> bool:
    """Whether ranks go through the chips of a group in the order of the cluster.

    >>> in_order(np.array([0, 4, 8])), in_order(np.array([4, 0, 8]))
    (True, False)
    """
    return bool(np.all(np.diff(vertices) > 0))


def _grid_axes(schedule: Schedule, cluster: Cluster | None) -> list[int]:
    """Axes of a grid along which the first group's ranks differ, if they fill a box of it; else none."""
    if cluster is None or not cluster.topology.is_grid:
        return []
    at = cluster.topology.coords[schedule.groups[0]]
    axes = [a for a in range(at.shape[1]) if len(np.unique(at[:, a])) > 1]
    return axes if math.prod(len(np.unique(at[:, a])) for a in axes) == schedule.ranks else []


def _row(schedule: Schedule, cluster: Cluster | None, axes: list[int], vertices: Ints) -> Plan:
    """Ranks side by side, then the switches that hold chunks."""
    n = schedule.ranks
    ranks = range(min(n, _MOST_ROW))
    holders = [*ranks, *range(n, min(len(vertices), n + 4))]
    closed = not axes or (cluster is not None and cluster.topology.axes[axes[0]].wraps)
    places = {
        h: str(v) if cluster is None else cluster.topology.place(v) for h, v in enumerate(vertices.tolist())
    }
    names = {h: places[h] for h in holders}
    # Of ranks in order, coordinates or node and GPU say more: which rank it is one sees in the row.
    if not in_order(vertices[:n]) or not all("," in places[h] for h in ranks):
        names |= dict(zip(ranks, rank_names(vertices[:n], cluster), strict=False))
    plan = Plan({h: (i, 0) for i, h in enumerate(holders)}, names, False, (closed, False), len(ranks) == n)
    if n > len(ranks):
        plan.notes.append(
            f"Ranks 0 to {len(ranks) - 1} of {n:,}; "
            "a short arrow at the edge leads to a rank that is not drawn, or comes from one."
        )
    return plan


def _plane(schedule: Schedule, cluster: Cluster, axes: list[int]) -> Plan:
    """Ranks at their places on the first two axes; the first sheet where there are more."""
    topology = cluster.topology
    at = topology.coords[schedule.groups[0]]
    places = [np.unique(at[:, a]) for a in axes]
    index = np.stack([np.searchsorted(p, at[:, a]) for p, a in zip(places, axes, strict=True)], 1)
    side = _MOST_SIDE if schedule.ranks <= _MOST_SIDE**2 else _MOST_SIDE // 2
    sheets = len(axes) > 2 and schedule.ranks <= _MOST_SHEETS
    seen = np.all(index[:, :2] < side, 1) & (sheets | np.all(index[:, 2:] == 0, 1))
    column = index[:, 0] + (len(places[0]) + 1) * _sheet(index)
    shown = {int(h): (int(column[h]), int(index[h, 1])) for h in np.flatnonzero(seen)}
    straight = in_order(schedule.groups[0])
    names = {h: topology.place(int(schedule.groups[0][h])) if straight else str(h) for h in shown}
    full = [len(p) == topology.axes[a].length for p, a in zip(places, axes, strict=True)]
    closed = tuple(
        topology.axes[a].wraps and f and len(p) <= side
        for a, f, p in zip(axes[:2], full, places, strict=False)
    )
    plan = Plan(shown, names, True, (closed[0], closed[1]), len(shown) == schedule.ranks)
    plan.sheet = len(places[0]) if sheets else 0
    across, down, *others = (topology.axes[a].name for a in axes)
    who = "Ranks stand at their places" if straight else "Numbers are ranks, each at the place of its chip"
    more = f", one sheet for each place along {listed(others)}" if sheets else ""
    plan.notes.append(f"{who}: {across} across, {down} down{more}.")
    if len(shown) < schedule.ranks:
        plan.notes.append(
            f"{len(shown)} of {schedule.ranks:,} ranks are drawn; sends to and from the others are not."
        )
    return plan


def _sheet(index: Ints) -> Ints:
    """The sheet of each rank, the first of the axes after two fastest. Shapes: ``index`` is [ranks, axes]."""
    lengths = index[:, 2:].max(0, initial=0) + 1
    scale = np.cumprod([1, *lengths.tolist()])[:-1]
    found: Ints = (index[:, 2:] * scale).sum(1).astype(np.int32)
    return found


def _cells(plan: Plan, schedule: Schedule, cluster: Cluster | None, axes: list[int]) -> None:
    """Cells by what names a chunk: its owner, its source and destination, or its number."""
    c = schedule.collective
    origin, goal = c.origin, c.goal
    if c.name == "all_to_all" or (
        _varies(origin) and _varies(goal) and not np.array_equal(origin, goal) and c.chunks > c.ranks
    ):
        _matrix(plan, schedule)
        return
    owner = origin if _varies(origin) else goal if _varies(goal) else None
    if owner is not None and plan.flat and cluster is not None:
        _maps(plan, schedule, cluster, axes, owner)
    else:
        _columns(plan, schedule, owner)


def _varies(column: Ints) -> bool:
    return bool(len(column)) and bool(column[0] != ALL) and len(np.unique(column)) > 1


def _columns(plan: Plan, schedule: Schedule, owner: Ints | None) -> None:
    """A row of cells per owner, or the chunks in order from top to bottom."""
    c, n = schedule.chunks, schedule.ranks
    most = _MOST_SIDE if plan.flat else _MOST_ROW
    row: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    if owner is None:
        rows = -(-c // -(-c // most))
        row, column = np.arange(c) % rows, np.arange(c) // rows
    else:
        row, column = owner.astype(np.int64), _nth(owner).astype(np.int64)
    tall, across = int(row.max()) + 1, int(column.max()) + 1
    # what must be merged anyway is merged to few cells, for the picture's sake and the file's
    by_row, by_column = -(-tall // most), -(-across // (4 if across > _MOST_CELLS else _MOST_CELLS))
    merged = by_row * by_column > 1
    single = not merged and across == 1
    plan.sets = schedule.collective.reduces and n <= _SETS and not merged and across <= 2 and not plan.flat
    plan.wide, plan.high = _cell_size(plan, schedule, -(-across // by_column), min(tall, most))
    for (r, k), chunks in _grouped(row // by_row, column // by_column):
        # a shard has one colour, and chunks that nobody owns have one each
        colour = r if owner is not None else int(chunks[0]) // (by_row * by_column)
        # On a plane cells are small, and numbers beside them may be ranks.
        plain = not merged and not plan.flat and not schedule.collective.reduces
        name = str(int(chunks[0])) if plain else ""
        plan.cells.append(Cell(r, k, chunks, colour, name))
    if not merged and not plan.flat and plan.high >= 10:
        word = "chunk" if single else "shard" if owner is not None else ""
        plan.rows = [f"{word} {r}" for r in range(tall)] if word else []
    if merged:
        plan.notes.append(_stands_for(plan))


def _cell_size(plan: Plan, schedule: Schedule, columns: int, rows: int) -> tuple[float, float]:
    if plan.sets:
        return schedule.ranks * (9.0 if schedule.ranks <= 4 else 6.0) + 30.0, 17.0
    if plan.flat:
        side = 12.0 if max(columns, rows) <= 4 else 9.0
        return side, side
    wide = 34.0 if columns <= 2 else 24.0 if columns <= 4 else 13.0 if columns <= 8 else 8.0
    high = 17.0 if rows <= 8 else 13.0
    return wide, high if columns <= 4 else min(high, wide)


def _matrix(plan: Plan, schedule: Schedule) -> None:
    """all_to_all: a row per source, a column per destination."""
    n = schedule.ranks
    by = -(-n // _MOST_CELLS)
    side = -(-n // by)
    labelled = by == 1 and n <= 4 and not plan.flat
    plan.wide, plan.high = (
        (28.0, 17.0)
        if labelled
        else (14.0, 13.0)
        if side <= 8 and not plan.flat
        else (7.0, 6.0)
        if side <= 8
        else (5.0, 4.0)
    )
    for (r, k), chunks in _grouped(schedule.collective.origin // by, schedule.collective.goal // by):
        plan.cells.append(Cell(r, k, chunks, r, f"{r}>{k}" if labelled else ""))
    plan.notes.append(
        "In each block the row is the rank that a chunk comes from and the column the one that it goes to"
        f"{f', {by} ranks a cell' if by > 1 else ''}."
    )


def _maps(plan: Plan, schedule: Schedule, cluster: Cluster, axes: list[int], owner: Ints) -> None:
    """For each part of the array a small map of the ranks, with a cell at the place of each chunk's owner."""
    at = cluster.topology.coords[schedule.groups[0]]
    index = np.stack([np.searchsorted(np.unique(at[:, a]), at[:, a]) for a in axes], 1)
    place = [index[owner, 0] + plan.sheet * _sheet(index)[owner], index[owner, 1]]
    long = [int(p.max()) + 1 for p in place]
    by = [-(-k // _MOST_SIDE) for k in long]
    part = part_of(owner)
    parts = int(part.max()) + 1
    wide = -(-long[0] // by[0])
    for (r, k), chunks in _grouped(place[1] // by[1], part * wide + place[0] // by[0]):
        plan.cells.append(Cell(r, k, chunks, k // wide))
    plan.wide = plan.high = 12.0 if max(long) <= 4 and parts <= 2 else 8.0 if max(long) <= 4 else 6.0
    plan.split = frozenset(range(plan.sheet or wide, parts * wide, plan.sheet or wide))
    maps = (
        f"{parts} small maps of the ranks, one for each part of the array,"
        if parts > 1
        else "a small map of the ranks"
    )
    plan.notes.append(
        f"In each block {maps} with a cell at the place of the shard's "
        f"{'future owner' if schedule.collective.reduces else 'owner'}."
    )
    if max(len(c.chunks) for c in plan.cells) > 1:
        plan.notes.append(_stands_for(plan))


def part_of(owner: Ints) -> Ints:
    """Which part of the array each chunk is of: two or three runs in which every owner has equally many.

    >>> part_of(np.array([0, 1, 2, 0, 1, 2])).tolist(), part_of(np.array([0, 0, 1, 1])).tolist()
    ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0])
    """
    parts = next((p for p in (3, 2) if _even(owner, p)), 1)
    return (np.arange(len(owner)) * parts // len(owner)).astype(np.int32)


def _even(owner: Ints, parts: int) -> bool:
    """Whether equal runs of chunks hold the same owners, equally often."""
    if len(owner) % parts:
        return False
    counts = [np.bincount(p, minlength=int(owner.max()) + 1) for p in np.split(owner, parts)]
    return all(np.array_equal(c, counts[0]) for c in counts)


def _nth(owner: Ints) -> Ints:
    """For each chunk how many before it have the same owner."""
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], owner[order])
    nth = np.empty(len(owner), np.int32)
    nth[order] = np.arange(len(owner)) - first
    return nth


def _grouped(row: npt.NDArray[Any], column: npt.NDArray[Any]) -> list[tuple[tuple[int, int], Ints]]:
    """Chunks of each (row, column), in order."""
    key = row.astype(np.int64) * (int(column.max()) + 1) + column
    order = np.argsort(key, kind="stable")
    values, first = np.unique(key[order], return_index=True)
    across = int(column.max()) + 1
    return [
        ((int(v) // across, int(v) % across), part.astype(np.int32))
        for v, part in zip(values, np.split(order, first[1:]), strict=True)
    ]


def _stands_for(plan: Plan) -> str:
    most = max(len(c.chunks) for c in plan.cells)
    least = min(len(c.chunks) for c in plan.cells)
    many = str(most) if most == least else f"{least} to {most}"
    return f"A cell stands for {many} chunks and is filled as far as they are there."
