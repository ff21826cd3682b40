"""The least time that any schedule can take: no answer is ever below physics.

A bound is the largest of several, each of which every schedule must respect:

- port: what a rank must send and receive, over what its links carry;
- cut: what must go from some ranks to the others, over what the links between carry, each way by itself;
- partition: a sum needed everywhere must cross between k parts 2 (k - 1) times if only ranks sum;
- distance: data for one rank take as many links as it is away, out of what all links carry;
- latency: the longest of the shortest routes that data must travel.

Where usable links fall into components (the rows of a torus), every component is bounded by itself.

Source: Thompson 1979, Area-time complexity for VLSI (cuts); Zhao et al. 2024, arXiv:2402.06787 (cuts of
collectives); Tutte 1961 and Nash-Williams 1961 (partitions). A bound of log2(n) rounds is not among them: a
rank may use all its links at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.graph.usable import usable
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import Collective
from hopcast.ir.topology import Bools, Floats, Ints

from . import bounds_kinds as kinds
from .bounds_traffic import Traffic, traffic

# A figure whose key begins with one of these says that switches reduce or multicast.
IN_NETWORK = ("nvls.", "sharp.")


@dataclass(frozen=True, eq=False)
class Bound:
    """The least time, and what makes it so.

    Attributes:
        seconds: The larger of the two below.
        kind: port, cut, partition, distance, latency, or none where nothing has to move.
        what: One sentence that names the port, cut or route.
        links: ``int32[...]``, its links, one way.
        bandwidth_seconds: What bytes take.
        latency_seconds: What the longest route takes.
    """

    seconds: float
    kind: str
    what: str
    links: Ints
    bandwidth_seconds: float
    latency_seconds: float


def bound(
    cluster: Cluster,
    collective: Collective | Traffic,
    groups: Ints,
    size: float,
    links: Bools | None = None,
    *,
    in_network: bool = False,
    share: Floats | None = None,
) -> Bound:
    """The least time of a collective on all groups at once, over some links.

    Args:
        cluster: Gives the links.
        collective: Of one group; ``bounds_traffic.standard`` makes named ones of equal shards cheaply.
        groups: ``int32[g, n]``, the chips of every group.
        size: D of one group, bytes.
        links: ``bool[m]``, links that may be used; all if not given. Dead ones are never used.
        in_network: Whether switches may reduce and multicast, and not only ranks.
        share: ``float64[chunks]``, the part of D that each chunk of ``collective`` is.

    Raises:
        InputError: if a rank cannot be reached over these links.

    Cost: O(n) for ports, some milliseconds for cuts, and distances by coordinates or one search per rank.

    >>> from hopcast.topologies import torus
    >>> from hopcast.ir.collective import of
    >>> grid = Cluster("torus:4x4", torus.build("torus:4x4", (4, 4), 1e9, 0.0), "torus", "dimension_order")
    >>> ranks = np.arange(16, dtype=np.int32)[None]
    >>> found = bound(grid, of("all_gather", 16), ranks, 2**34)
    >>> round(found.seconds, 4), found.what
    (4.0265, 'chip 0,0 must receive at least 15 GiB, and its 4 links carry 4 GB/s together')
    """
    parts = collective if isinstance(collective, Traffic) else traffic(collective, share)
    if parts.is_empty:
        return Bound(0.0, "none", "nothing has to move", np.zeros(0, np.int32), 0.0, 0.0)
    task = kinds.Task(usable(cluster.topology, links), parts, np.asarray(groups, np.int32))
    far = kinds.distances_of(task)
    route = kinds.latency(task, far)
    best = kinds.ports(task)
    for other in (kinds.cuts(task), kinds.partitions(task, in_network), kinds.distance(task, far)):
        best = other if other.seconds > best.seconds * (1 + kinds.SAME) else best
    chosen = route if route.seconds > best.seconds * size * (1 + kinds.SAME) else best
    volume = best.seconds * size
    return Bound(
        max(volume, route.seconds), chosen.kind, chosen.say(size), chosen.links(), volume, route.seconds
    )


def bound_on_axes(
    cluster: Cluster,
    collective: Collective | Traffic,
    groups: Ints,
    size: float,
    axes: Sequence[int] | None = None,
    *,
    in_network: bool = False,
    share: Floats | None = None,
) -> Bound:
    """The bound over the links along some physical axes (None: all links); the rest as in `bound`."""
    mask = None if axes is None else np.isin(cluster.topology.axis, np.asarray(axes, np.int64))
    return bound(cluster, collective, groups, size, mask, in_network=in_network, share=share)


def limit(
    cluster: Cluster, collective: Collective | Traffic, groups: Ints, size: float, share: Floats | None = None
) -> Bound:
    """The bound over every link and with every ability of the cluster, also those an algorithm leaves idle.

    Switches reduce and multicast if the cluster has a figure of one of the abilities ``IN_NETWORK``. The rest
    is as in `bound`.
    """
    able = any(key.startswith(IN_NETWORK) for key in cluster.figures)
    return bound(cluster, collective, groups, size, None, in_network=able, share=share)
