"""The least time that any schedule can take: no answer is ever below physics.

A bound is the largest of several, each of which every schedule must respect:

- port: what a rank must send and receive, over what its links carry;
- cut: what must go from some ranks to the others, over what the links between carry, each way by itself;
- partition: a sum needed everywhere must cross between k parts 2 (k - 1) times if only ranks sum;
- distance: data for one rank take as many links as it is away, out of what all links carry; round a ring,
  and where a linear program proves more, links count by how scarce they are;
- latency: the longest of the shortest routes that data must travel.

Where usable links fall into components (the rows of a torus), every component is bounded by itself. Cuts and
partitions are the worst of all, by closed forms on whole grids and by flows on up to 600 vertices; beyond
that they are the worst of candidates.

Source: Thompson 1979, Area-time complexity for VLSI (cuts); Zhao et al. 2024, arXiv:2402.06787 (cuts of
collectives); Tutte 1961 and Nash-Williams 1961 (partitions). A bound of log2(n) rounds is not among them: a
rank may use all its links at once.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.graph.usable import usable
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import Collective
from hopcast.ir.topology import Bools, Floats, Ints

from . import bounds_exact as exact
from . import bounds_kinds as kinds
from .bounds_around import around
from .bounds_kinds import Found
from .bounds_traffic import Traffic, traffic
from .bounds_travel import distance, latency, travel

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
        tight: Whether some schedule is known to take no more for its bytes as D grows.
    """

    seconds: float
    kind: str
    what: str
    links: Ints
    bandwidth_seconds: float
    latency_seconds: float
    tight: bool = False


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

    Cost: about 10 ms for some hundred vertices, 50 ms for a pod of 8,960 chips or 1,024 GPUs; broken clusters
    of 100 to 600 vertices up to a second, most of it to load compiled code.

    >>> from hopcast.topologies import torus
    >>> from hopcast.ir.collective import of
    >>> grid = Cluster("torus:4x4", torus.build("torus:4x4", (4, 4), 1e9, 0.0), "torus", "dimension_order")
    >>> ranks = np.arange(16, dtype=np.int32)[None]
    >>> found = bound(grid, of("all_gather", 16), ranks, 2**34)
    >>> round(found.seconds, 4), found.what
    (4.0265, 'chip 0,0 must receive at least 15 GiB, and its 4 links carry 4 GB/s together')
    """
    parts = collective if isinstance(collective, Traffic) else traffic(collective, share)
    task = kinds.Task(usable(cluster.topology, links), parts, np.asarray(groups, np.int32))
    return _of(task, size, in_network)


def bound_and_limit(
    cluster: Cluster,
    collective: Collective | Traffic,
    groups: Ints,
    size: float,
    links: Bools | None = None,
    *,
    in_network: bool = False,
    share: Floats | None = None,
    summing: Ints | None = None,
) -> tuple[Bound, Bound]:
    """`bound` over some links and `limit` together; what is the same for both is found once.

    Args and errors are those of `bound`, and with ``in_network``
        summing: The switches that reduce or multicast; all if not given.
    """
    parts = collective if isinstance(collective, Traffic) else traffic(collective, share)
    able = in_network or _is_able(cluster)  # a schedule of one's own shows what its switches can do
    chips = np.asarray(groups, np.int32)
    some, every = (kinds.Task(usable(cluster.topology, mask), parts, chips) for mask in (links, None))
    if not np.array_equal(some.network.links, every.network.links):
        lower, least = _of(some, size, in_network, None, summing), _of(every, size, able)
        # What holds for every link holds for some, and may have been looked at more closely.
        return (least if least.seconds > lower.seconds else lower), least
    measured = _measured(some)
    lower = _of(some, size, in_network, measured, summing)
    same = in_network == able and summing is None
    return lower, lower if same else _of(some, size, able, measured)


@dataclass(frozen=True, eq=False)
class _Measured:
    """What bounds a task whatever switches can do.

    Attributes:
        route: The longest.
        volumes: Port, cut, distance, and the best routing of pairs where that says more.
        routed: Whether one of them is what the best routing of pairs takes.
    """

    route: Found
    volumes: list[Found]
    routed: bool


def _measured(task: kinds.Task) -> _Measured | None:
    if task.parts.is_empty:
        return None
    how = travel(task)
    cut = kinds.cuts(task)
    more = exact.weaker_cuts(task, cut)
    cut = _larger(cut, kinds.worst_cut(task, more)) if len(more) else cut
    ring = around(task)
    volumes = [kinds.ports(task), cut, distance(task, how)] + ([ring] if ring else [])
    best, is_best = exact.routed(task, max(v.seconds for v in volumes))
    return _Measured(latency(task, how), volumes + ([best] if best else []), is_best)


def _partitions(task: kinds.Task, in_network: bool, summing: Ints | None) -> Found:
    found = kinds.partitions(task, in_network, summing)
    if not kinds.are_partitions_bounds(task, in_network) or not (
        task.parts.summed_everywhere or task.network.shared
    ):
        return found
    more = exact.cheaper_partitions(task, found)
    return _larger(found, kinds.worst_partition(task, more)) if more else found


def _larger(first: Found, second: Found) -> Found:
    """The second only if it is really larger."""
    return second if second.seconds > first.seconds * (1 + kinds.SAME) else first


def _of(
    task: kinds.Task,
    size: float,
    in_network: bool,
    found: _Measured | None = None,
    summing: Ints | None = None,
) -> Bound:
    """The largest of all; of those that are equal the simplest."""
    found = found or _measured(task)
    if found is None:
        return Bound(0.0, "none", "nothing has to move", np.zeros(0, np.int32), 0.0, 0.0, True)
    port, cut, *others = found.volumes
    parted = _partitions(task, in_network, summing)
    best = functools.reduce(_larger, [port, cut, parted, *others])
    route, volume = found.route, best.seconds * size
    chosen = route if route.seconds > volume * (1 + kinds.SAME) else best
    binding = {f.kind for f in (port, cut, parted) if f.seconds >= best.seconds * (1 - kinds.SAME)}
    tight = found.routed or exact.is_optimum(task, binding, in_network)
    return Bound(
        max(volume, route.seconds),
        chosen.kind,
        chosen.say(size),
        chosen.links(),
        volume,
        route.seconds,
        tight,
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
    return bound(cluster, collective, groups, size, None, in_network=_is_able(cluster), share=share)


def _is_able(cluster: Cluster) -> bool:
    return any(key.startswith(IN_NETWORK) for key in cluster.figures)
