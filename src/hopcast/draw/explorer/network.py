"""A cluster as the page needs it: links as columns, and for switches the tiers in which they are drawn."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology

from .encode import Levels, pack

Longs = npt.NDArray[np.int64]
_ROUNDS = 4  # of merging switches that have the same neighbours: one for each tier of a fat tree and more


def network(cluster: Cluster) -> dict[str, Any]:
    """Chips, switches and links.

    ``tier`` is 0 for chips and counts the rows of switches above them; ``lead`` is the switch in whose place
    a vertex is drawn: the first of those with the same neighbours; ``block`` numbers the chips that share
    their nearest switches.
    """
    topology = cluster.topology
    kind = "grid" if topology.is_grid else "slices" if topology.is_slices else "switched"
    rates = Levels()
    rates.add(topology.bandwidth)
    tier, lead, block = tiers(topology)
    return {
        "name": cluster.name,
        "kind": kind,
        "chips": topology.chips,
        "vertices": topology.vertices,
        "axes": [
            {"name": a.name, "length": a.length, "wraps": a.wraps, "switched": a.switched}
            for a in topology.axes
        ],
        "labels": list(topology.labels),
        "coords": pack(topology.coords),
        "src": pack(topology.src),
        "dst": pack(topology.dst),
        "axis": pack(topology.axis),
        "rate": rates.packed(),
        "tier": pack(tier),
        "lead": pack(lead),
        "block": pack(block),
        "notes": list(cluster.notes),
    }


def tiers(topology: Topology) -> tuple[Longs, Longs, Longs]:
    """Tier and place of every vertex, block of every chip.

    Switches that are as many hops from the nearest chip but on links of different axes, such as those inside
    nodes and the leaves outside, are different tiers: those of the last axis, the innermost, are nearest.

    Shapes: ``int64[v]``, ``int64[v]``, ``int64[chips]``.

    >>> import hopcast.clusters
    >>> [t.tolist() for t in tiers(hopcast.clusters.cluster("switch:3").topology)]
    [[0, 0, 0, 1], [0, 1, 2, 3], [0, 0, 0]]
    """
    v, chips = topology.vertices, topology.chips
    lead = np.arange(v)
    if v == chips:
        return np.zeros(v, np.int64), lead, np.zeros(chips, np.int64)
    level = np.where(np.arange(v) < chips, 0, v)
    for depth in range(1, v):
        fresh = (level[topology.src] == depth - 1) & (level[topology.dst] == v)
        if not fresh.any():
            break
        level[topology.dst[fresh]] = depth
    inner = np.full(v, -1)
    down = level[topology.dst] < level[topology.src]
    np.maximum.at(inner, topology.src[down], topology.axis[down])
    place = level * (len(topology.axes) + 1) + np.where(level > 0, len(topology.axes) - 1 - inner, 0)
    _, tier = np.unique(place, return_inverse=True)
    near = _neighbours(topology)
    for _ in range(_ROUNDS):
        first: dict[tuple[int, bytes], int] = {}
        for switch in range(chips, v):
            about = (int(tier[switch]), np.unique(lead[near[switch]]).tobytes())
            lead[switch] = first.setdefault(about, switch)
    block = np.zeros(chips, np.int64)
    up = (topology.src < chips) & (tier[topology.dst] == 1)
    block[topology.src[up]] = lead[topology.dst[up]]
    return tier, lead, np.unique(block, return_inverse=True)[1]


def _neighbours(topology: Topology) -> list[Longs]:
    """For each vertex those that its links lead to."""
    order = np.argsort(topology.src, kind="stable")
    ends = np.searchsorted(topology.src[order], np.arange(1, topology.vertices))
    return [part.astype(np.int64) for part in np.split(topology.dst[order], ends)]
