"""What one step of each level takes, for builders that choose how many pieces and lanes there are.

Where all links of a level are alike its figures say so. Elsewhere, on fat trees of several tiers and where
ranks share NICs, the sends of the step are routed and the busiest link counts.
"""

import functools
from dataclasses import dataclass

import numpy as np

from hopcast.ir.group import Group
from hopcast.ir.topology import Ints
from hopcast.names import InputError
from hopcast.routing import routes


@dataclass(frozen=True)
class Rate:
    """A step in which every rank sends.

    Attributes:
        latency: Seconds before the first byte, on the longest way: in a ring all come to wait for it.
        slowness: Seconds for each byte that each send has.
    """

    latency: float
    slowness: float

    def seconds(self, size: float) -> float:
        """Of the step, where each send has so many bytes."""
        return self.latency + size * self.slowness


@functools.lru_cache(maxsize=64)
def of_levels(group: Group) -> tuple[Rate, Rate] | None:
    """Of a step round the nodes, each rank to its equal in the next, and of one in which each tells its node.

    Args:
        group: Of two levels, the outer first. None comes of one whose links nobody knows.

    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.mesh import group, physical
    >>> pod = cluster("dgx-h100:128,latency=0")
    >>> [round(1e-9 / rate.slowness, 1) for rate in of_levels(group(pod, physical(pod.topology), ()))]
    [50.0, 64.3]
    """
    outer, inner = group.levels
    n, g = group.ranks, inner.ranks
    rank = np.arange(n, dtype=np.int32)
    along = _alike(outer, 1) or routed(group, rank, (rank + g) % n)
    first, other = (x.ravel() for x in np.indices((g, g), np.int32))
    apart = first != other
    inside = _alike(inner, g - 1) or routed(group, first[apart], other[apart])
    return None if along is None or inside is None else (along, inside)


@functools.lru_cache(maxsize=64)
def of_ports(group: Group) -> Rate | None:
    """Of a step in which each rank sends a message over the slowest level; None where nobody knows its links.

    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.mesh import group, physical
    >>> pod = cluster("dgx-h100:4,nics=4")
    >>> round(1e-9 / of_ports(group(pod, physical(pod.topology), ())).slowness, 1)
    25.0
    """
    if group.uniform_rates:
        return Rate(max(group.latency), 1 / min(group.bandwidth))
    rank, n = np.arange(group.ranks, dtype=np.int32), group.ranks
    # Without levels to the next rank; over nodes to the equal in the next node.
    return routed(group, rank, (rank + (n // group.levels[0].ranks if group.levels else 1)) % n)


def _alike(level: Group, sends: int) -> Rate | None:
    """Of a level whose ranks all have such a port, through which they send so often at once."""
    return Rate(level.latency[0], sends / level.bandwidth[0]) if level.uniform_rates else None


def routed(group: Group, src: Ints, dst: Ints) -> Rate | None:
    """Of sends between local ranks of every group at once; None where nobody knows a way."""
    if group.cluster is None:
        return None
    topology = group.cluster.topology
    ends = (group.all_groups[:, r].ravel() for r in (src, dst))
    try:
        found = routes(group.cluster, *ends)
    except (
        InputError
    ):  # dead links leave no route: pieces do not matter, and who prices the sends will say so
        return None
    crossed = np.repeat(found.weight, found.hops)
    load = np.bincount(topology.wire[found.links], crossed, topology.links)
    busy = load > 0
    return Rate(float(found.latency.max()), float((load[busy] / topology.bandwidth[busy]).max(initial=0.0)))
