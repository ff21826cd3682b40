"""The links and switches between the ranks of a group, and which pairs of ranks have them to themselves."""

import functools
import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.graph import whole
from hopcast.graph.split import Network, Path
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group
from hopcast.ir.topology import Bools, Floats, Ints
from hopcast.names import InputError
from hopcast.routing import routes

Longs = npt.NDArray[np.int64]
UNEVEN = "not as much enters each of its vertices as leaves it"


@dataclass(frozen=True, eq=False)
class Wiring:
    """The network of one group, all of whose groups are wired alike and share no link.

    Attributes:
        network: Links in units of ``unit``.
        unit: Bytes/s.
        latency: Of the slowest route, seconds.
        mirrored: Whether every link and route has its like the other way.
        direct: Routes that a send takes by itself; the others name their switches. None: all do.
    """

    network: Network
    unit: Fraction
    latency: float
    mirrored: bool
    direct: frozenset[Path] | None = None


def of(group: Group) -> Wiring | str:
    """The wiring of a group, or the reason why it has none of its own."""
    if group.cluster is None:
        return "it looks at single links, and this group does not say on which cluster it is"
    key = np.ascontiguousarray(group.all_groups, np.int32)
    return _of(group.cluster, key.shape, key.tobytes())


@functools.lru_cache(maxsize=128)
def _of(cluster: Cluster, shape: tuple[int, int], key: bytes) -> Wiring | str:
    topology, groups = cluster.topology, np.frombuffer(key, np.int32).reshape(shape)
    if topology.half_duplex:
        return "its cables carry one way at a time, and it counts on both"
    used = np.zeros(topology.links, bool)
    all_of_them: list[_Seen] = []
    for ranks in groups:
        try:
            seen = _seen(cluster, ranks)
        except InputError as reason:
            return f"not all of its ranks reach each other: {reason}"
        if used[seen.links].any():
            return "several groups share links, and its trees fill those of one"
        used[seen.links] = True
        all_of_them.append(seen)
    one = all_of_them[0]
    if not all(one.is_like(other) for other in all_of_them):
        return "its groups are not wired alike"
    vertices = int(max(one.tail.max(initial=0), one.head.max(initial=0), shape[1] - 1)) + 1
    found = whole.below(one.rate)
    if found is None:
        return whole.UNLIKE
    counts, unit = found
    coords = topology.coords[groups[0]].astype(np.int64)
    network = Network(shape[1], vertices, one.tail, one.head, counts, one.routes(), coords)
    out, into = (np.bincount(end, counts, vertices) for end in (one.tail, one.head))
    if vertices > shape[1] and np.any(out != into):
        return f"{UNEVEN}, so its switches cannot be taken out"
    return Wiring(network, unit, one.latency, is_mirrored(network))


@dataclass(frozen=True, eq=False)
class _Seen:
    """The useful routes of one group, on its own vertices.

    Shapes: l links, k routes.

    Attributes:
        links: ``int64[l]``, of the cluster.
        tail, head: ``int64[l]``, ends: ranks, and behind them others.
        rate: ``float64[l]``, bytes/s.
        start: ``int64[k + 1]``: of route i, ``crossed[start[i]:start[i + 1]]``.
        crossed: ``int64[...]``, places in the columns above.
        latency: The longest, seconds.
    """

    links: Longs
    tail: Longs
    head: Longs
    rate: Floats
    start: Longs
    crossed: Longs
    latency: float

    def is_like(self, other: "_Seen") -> bool:
        """Whether two groups are wired alike."""
        names = ("tail", "head", "rate", "start", "crossed")
        return all(np.array_equal(getattr(self, c), getattr(other, c)) for c in names)

    def routes(self) -> list[Path]:
        """As tuples of links."""
        return sorted({tuple(self.crossed[a:b].tolist()) for a, b in itertools.pairwise(self.start)})


def _seen(cluster: Cluster, ranks: Ints) -> _Seen:
    topology, n = cluster.topology, len(ranks)
    crossed, start, latency = _useful(cluster, ranks)
    links, first, number = np.unique(crossed, return_index=True, return_inverse=True)
    order = np.argsort(first)  # by the first route that takes them: alike in groups that are wired alike
    rank_of = np.empty(len(links), np.int64)
    rank_of[order] = np.arange(len(links))
    links = links[order]
    ends = np.stack([topology.src[links], topology.dst[links]], 1).ravel()
    place = np.full(topology.vertices, -1)
    place[ranks] = np.arange(n)
    inner, met = np.unique(ends[place[ends] < 0], return_index=True)
    place[inner[np.argsort(met)]] = n + np.arange(len(inner))
    tail, head = place[topology.src[links]], place[topology.dst[links]]
    return _Seen(links, tail, head, topology.bandwidth[links], start, rank_of[number.ravel()], latency)


def is_mirrored(network: Network) -> bool:
    """Whether every link has one of the same capacity the other way, and every route is one backwards too."""
    ends = list(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    number = {pair: i for i, pair in enumerate(ends)}
    back = [number.get((v, u), -1) for u, v in ends]
    if len(number) < len(ends) or -1 in back or np.any(network.capacity[back] != network.capacity):
        return False
    known = set(network.routes)
    return all(tuple(back[link] for link in path[::-1]) in known for path in known)


def routed(cluster: Cluster, ranks: Ints) -> tuple[set[Path], float]:
    """The routes between ranks as links of the cluster, and the longest latency, seconds."""
    crossed, start, latency = _useful(cluster, ranks)
    return {tuple(crossed[a:b].tolist()) for a, b in itertools.pairwise(start)}, latency


def _useful(cluster: Cluster, ranks: Ints) -> tuple[Longs, Longs, float]:
    """The routes between two ranks that pass no third one and are not cut into pieces.

    Returns:
        Their links, where each begins, and the longest latency.
    """
    topology, n = cluster.topology, len(ranks)
    src, dst = (np.asarray(side)[~np.eye(n, dtype=bool)] for side in np.meshgrid(ranks, ranks, indexing="ij"))
    found = routes(cluster, src, dst)
    inside = np.zeros(topology.vertices, bool)
    inside[ranks] = True
    last = np.zeros(len(found.links), bool)
    last[found.start[1:] - 1] = True
    passes = np.add.reduceat(inside[topology.dst[found.links]] & ~last, found.start[:-1])
    whole_ones = (np.bincount(found.pair, minlength=len(src)) == 1)[found.pair]
    kept: Bools = whole_ones & (passes == 0)
    links = found.links[np.repeat(kept, found.hops)].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(found.hops[kept])])
    return links, start, float(found.latency[kept].max(initial=0.0))
