"""Slow and dead links of a cluster: in words, and as marks across cables."""

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Ints, Topology

from .geometry import Line, middle
from .svg import OVER, Canvas
from .words import counted

_NAMED = 4  # cables of a kind


def slow_links(cluster: Cluster) -> Ints:
    """Links that were made slower than they are rated, and not dead. Shapes: ``int32[...]``."""
    if cluster.rated is None:
        return np.zeros(0, np.int32)
    rate = cluster.topology.bandwidth
    return np.flatnonzero((rate > 0) & (rate < cluster.rated * (1 - 1e-9))).astype(np.int32)


def impaired(cluster: Cluster) -> str:
    """What is slow and what is dead; empty where nothing is.

    >>> from hopcast.faults import degrade
    >>> from hopcast.topologies import ring
    >>> network = ring.build("ring:8", (8,), 45e9, 0.0)
    >>> impaired(degrade(Cluster("ring:8", network, "ring", ""), ["0:1=0.5"], ["2:3"]))
    'slow: 0 - 1 at 50%; dead: 2 - 3'
    """
    topology, slow = cluster.topology, slow_links(cluster)
    said = []
    if len(slow) and cluster.rated is not None:
        part = topology.bandwidth[slow] / cluster.rated[slow]
        said.append(f"slow: {_listed(topology, slow, [f' at {100 * p:.3g}%' for p in part.tolist()])}")
    if len(dead := np.flatnonzero(topology.bandwidth == 0).astype(np.int32)):
        said.append(f"dead: {_listed(topology, dead, [''] * len(dead))}")
    return "; ".join(said)


def _listed(topology: Topology, links: Ints, behind: list[str]) -> str:
    """Cables by their ends, one way only where only that way is meant."""
    there = {(int(topology.src[i]), int(topology.dst[i])): w for i, w in zip(links, behind, strict=True)}
    found: list[str] = []
    for (a, b), words in there.items():
        both = there.get((b, a)) == words
        if both and a > b:
            continue
        found.append(f"{topology.place(a)} {'-' if both else '>'} {topology.place(b)}{words}")
    more = f" and {counted(len(found) - _NAMED, 'more cable')}" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def mark_slow(canvas: Canvas, line: Line, half: float) -> None:
    """Two strokes across the middle of a cable, so far to either side."""
    (x, y), (dx, dy) = middle(line)
    for along in (-2.0, 2.0):
        px, py = x + along * dx, y + along * dy
        stroke = ((px - half * dy, py + half * dx), (px + half * dy, py - half * dx))
        canvas.line(stroke, "cross", layer=OVER)
