"""Words for the sets of chips and links that bounds name."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Ints, Topology
from hopcast.units import show_rate


def some_links(count: int) -> str:
    """A number of links in words.

    >>> some_links(1), some_links(4)
    ('1 link', '4 links')
    """
    return "1 link" if count == 1 else f"{count:,} links"


def carry(count: int, where: str, rate: float) -> str:
    """What some links carry, in words.

    >>> carry(1, "", 1e9), carry(4, "out of x 0-1", 4e9)
    ('1 link carries 1 GB/s', '4 links out of x 0-1 carry 4 GB/s together')
    """
    said = f"{some_links(count)} {where}".rstrip()
    return f"{said} carries {show_rate(rate)}" if count == 1 else f"{said} carry {show_rate(rate)} together"


def chip(place: str) -> str:
    """A chip by its place.

    >>> chip("3,0"), chip("switch 0")
    ('chip 3,0', 'switch 0')
    """
    return place if place.startswith("switch") else f"chip {place}"


def members(topology: Topology, inside: Bools, among: Bools) -> str:
    """A set of vertices: its chips if they are few, else their coordinates on the axes that they do not fill.

    Shapes: ``inside`` and ``among``, the vertices to fill, are ``bool[v]``.

    >>> from hopcast.topologies import mesh
    >>> grid = mesh.build("mesh:4x4", (4, 4), 1.0, 0.0)
    >>> members(grid, np.arange(16) < 8, np.ones(16, bool))
    'x 0-1'
    >>> members(grid, np.arange(16) < 2, np.ones(16, bool))
    'chips 0,0 and 0,1'
    """
    chips = np.flatnonzero(inside[: topology.chips])
    all_chips = np.flatnonzero(among[: topology.chips])
    if len(chips) <= 2:
        return ("chip " if len(chips) == 1 else "chips ") + " and ".join(
            topology.place(int(c)) for c in chips
        )
    if not (topology.is_grid or topology.is_slices):
        return f"{len(chips)} chips ({_runs(chips)})"
    said, box = [], 1
    for a, axis in enumerate(topology.axes):
        here, there = np.unique(topology.coords[chips, a]), np.unique(topology.coords[all_chips, a])
        box *= len(here)
        if len(here) < len(there) or len(there) == 1 < axis.length:
            said.append(f"{axis.name} {_runs(here)}")
    return ", ".join(said) if said and box == len(chips) else f"{len(chips)} chips ({_runs(chips)})"


def parts(topology: Topology, label: Ints) -> str:
    """What the parts of a partition are; chips labelled -1 are in none.

    >>> from hopcast.topologies import mesh
    >>> grid = mesh.build("mesh:2x2", (2, 2), 1.0, 0.0)
    >>> parts(grid, np.arange(4, dtype=np.int32)), parts(grid, np.array([0, 0, 1, 1], np.int32))
    ('chips', 'parts of 2 chips')
    """
    chips = label[: topology.chips]
    sizes = np.unique(np.unique(chips[chips >= 0], return_counts=True)[1])
    if len(sizes) == 1 and sizes[0] == 1:
        return "chips"
    return f"parts of {sizes[0]} chips" if len(sizes) == 1 else f"parts of {sizes[0]} to {sizes[-1]} chips"


def _runs(numbers: npt.NDArray[np.integer[Any]]) -> str:
    """Ascending numbers, neighbours as runs: at most four, then dots."""
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    first, last = numbers[np.r_[0, breaks + 1]], numbers[np.r_[breaks, len(numbers) - 1]]
    said = [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(first, last, strict=True)]
    return " and ".join(said[:4]) + (" ..." if len(said) > 4 else "")
