"""Trees for a terminal: on a plane as they lie there, elsewhere who has what from whom."""

import textwrap
from collections.abc import Sequence

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology

from .layout import long_axes
from .topology import about
from .tree_picture import part
from .trees import Tree, cables, is_direct
from .words import counted

_WIDEST, _MOST_SIDE, _MOST_TREES = 100, 16, 16
_ACROSS, _DOWN = 3, 2  # characters from chip to chip


def trees_text(cluster: Cluster, found: Sequence[Tree]) -> str:
    """Trees as text: R is the root, o another chip; last, how many trees use each cable.

    Args:
        cluster: Where.
        found: The trees.

    Returns:
        Lines of ASCII, without a newline at the end.

    >>> from hopcast.topologies import mesh
    >>> network = mesh.build("mesh:2x2", (2, 2), 45e9, 0.0)
    >>> where = Cluster("mesh:2x2", network, "mesh", "dimension_order")
    >>> print(trees_text(where, [Tree(0, ((1, 0), (2, 0), (3, 1)), 1, 1.0, True, True)]))
    mesh:2x2: 4 chips, 8 links of 45 GB/s one way; x = 2 open, y = 2 open
    1 tree
    <BLANKLINE>
    R--o
    |
    o--o
    0,0
    all of D
    <BLANKLINE>
    trees on each cable
    o-1o
    1  0
    o-1o
    """
    topology = cluster.topology
    shown = found[:_MOST_TREES]
    lines = [about(cluster), counted(len(found), "tree"), ""]
    used = cables(cluster, found) if is_direct(topology, found) else {}
    axes = long_axes(topology)
    plane = bool(used) and len(axes) == 2 and max(topology.shape) <= _MOST_SIDE
    if not plane:
        return "\n".join([*lines, *_listed(topology, shown, len(found))])
    blocks = []
    for tree in shown:
        edges = {(min(e), max(e)): "" for e in tree.parent}
        names = {tree.root: "R"}
        blocks.append([*_sheet(topology, edges, names), topology.place(tree.root), part(tree.share)])
    lines += _beside(blocks)
    lines += [f"and {len(found) - len(shown)} more"] if len(found) > len(shown) else []
    every = {
        (min(a, b), max(a, b)): str(len(used.get((min(a, b), max(a, b)), ())))
        for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    }
    lines += ["trees on each cable", *_sheet(topology, every, {})]
    round_the_end = [ends for ends in every if not _near(topology, *ends)]
    if round_the_end:
        lines += ["cables round the end are not drawn: " + ", ".join(
            f"{topology.place(a)}-{topology.place(b)} {every[a, b]}" for a, b in round_the_end
        )]  # fmt: skip
    return "\n".join(part_ for line in lines for part_ in (textwrap.wrap(line, _WIDEST) if len(line) > _WIDEST
                                                           else [line]))  # fmt: skip


def _near(topology: Topology, a: int, b: int) -> bool:
    return int(abs(topology.coords[a] - topology.coords[b]).sum()) == 1


def _sheet(topology: Topology, edges: dict[tuple[int, int], str], names: dict[int, str]) -> list[str]:
    """Chips of a plane and some cables between neighbours, each with its word if it has one."""
    across, down = long_axes(topology)
    wide, tall = topology.shape[across], topology.shape[down]
    grid = [[" "] * ((wide - 1) * _ACROSS + 1) for _ in range((tall - 1) * _DOWN + 1)]
    at = {
        v: (int(topology.coords[v, down]) * _DOWN, int(topology.coords[v, across]) * _ACROSS)
        for v in range(topology.chips)
    }
    for v, (row, column) in at.items():
        grid[row][column] = names.get(v, "o")
    for (a, b), word in edges.items():
        if not _near(topology, a, b):
            continue
        (row, column), (row_b, _) = at[a], at[b]
        if row == row_b:
            grid[row][column + 1 : column + 3] = (word or "-").rjust(2, "-")[:2]
        else:
            grid[row + 1][column : column + len(word or "|")] = word or "|"
    return ["".join(line).rstrip() for line in grid]


def _beside(blocks: list[list[str]]) -> list[str]:
    """Blocks of lines side by side, as many as fit, then the next ones below."""
    wide = max(len(line) for block in blocks for line in block) + 3
    per = max(1, (_WIDEST + 3) // wide)
    lines: list[str] = []
    for i in range(0, len(blocks), per):
        rows = zip(*blocks[i : i + per], strict=True)
        lines += ["".join(part_.ljust(wide) for part_ in row).rstrip() for row in rows]
        lines.append("")
    return lines


def _listed(topology: Topology, shown: Sequence[Tree], many: int) -> list[str]:
    """Each tree as a list: whom a chip has it from, level by level."""
    lines: list[str] = []
    for tree in shown:
        kids: dict[int, list[int]] = {}
        for child, parent in tree.parent:
            kids.setdefault(parent, []).append(child)
        way = "<-" if tree.up else "->"
        lines.append(f"root {topology.place(tree.root)}, {tree.depth} deep, {part(tree.share)}")
        for parent, below in kids.items():
            said = ", ".join(topology.place(v) for v in below)
            lines += textwrap.wrap(f"{topology.place(parent)} {way} {said}", _WIDEST - 2, initial_indent="  ",
                                   subsequent_indent="    ")  # fmt: skip
    return [*lines, f"and {many - len(shown)} more"] if many > len(shown) else lines
