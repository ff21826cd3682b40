"""What a run of the engine needs to know of the network and of the sends, gathered from a schedule."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Sends
from hopcast.ir.topology import Floats, Ints
from hopcast.routing import Routes, routes

from .arcs import Arcs

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Paths:
    """Routes of the distinct pairs of a schedule, each pair cut into one or more pieces.

    Shapes: k pairs, q pieces of pairs, x crossings.

    Attributes:
        first: ``int64[k + 1]``: pieces of pair i are ``first[i]`` to ``first[i + 1] - 1``.
        weight: ``float64[q]``: a piece's part of the bytes.
        lag: ``float64[q]``: latency, seconds.
        hop: ``int64[q + 1]``: piece i crosses ``link[hop[i]:hop[i + 1]]``, each ``times`` times.
    """

    first: Longs
    weight: Floats
    lag: Floats
    hop: Longs
    link: Ints
    times: Ints

    def load(self, each: Floats, links: int) -> Floats:
        """``float64[links]``: bytes over each link, of so many bytes, ``float64[k]``, between each pair."""
        piece = np.repeat(each, np.diff(self.first)) * self.weight
        crossed = np.repeat(piece, np.diff(self.hop)) * self.times
        return np.asarray(np.bincount(self.link, crossed, links), np.float64)


@dataclass(frozen=True, eq=False)
class Problem:
    """Sends that wait for each other and flow over shared links.

    Shapes: s sends, m links.

    Attributes:
        capacity: ``float64[m]``, bytes/s.
        paths: Of the distinct pairs.
        pair: ``int64[s]``, of each send.
        volume: ``float64[s]``, bytes.
        after: ``float64[s]``, seconds of reducing.
        arcs: What waits for what.
        bells: How many of its last gates are bells: see `window`.
    """

    capacity: Floats
    paths: Paths
    pair: Longs
    volume: Floats
    after: Floats
    arcs: Arcs
    bells: int = field(default=0, kw_only=True)

    @property
    def pieces(self) -> int:
        """Flows in all."""
        return int(np.diff(self.paths.first)[self.pair].sum())

    def spread(self) -> tuple[Longs, Longs, Longs]:
        """The flows of all sends.

        Shapes: ``int64[s + 1]``, send i has flows ``first[i]`` to ``first[i + 1] - 1``; ``int64[flows]``
            twice, the send
        of each flow and its piece of the paths.
        """
        many = np.diff(self.paths.first)[self.pair]
        first = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
        send = np.repeat(np.arange(len(many)), many)
        return first, send, self.paths.first[self.pair[send]] + np.arange(len(send)) - first[send]

    def load(self) -> Floats:
        """``float64[m]``: bytes over each link."""
        each = np.asarray(np.bincount(self.pair, self.volume, len(self.paths.first) - 1), np.float64)
        return self.paths.load(each, len(self.capacity))


def pairs(rows: Sends, vertices: int) -> tuple[Longs, Ints, Ints]:
    """The distinct pairs of sends: of each send its pair, and of each pair its ends."""
    code = rows.src.astype(np.int64) * vertices + rows.dst
    known, pair = np.unique(code, return_inverse=True)
    src, dst = np.divmod(known, vertices)
    return pair.astype(np.int64), src.astype(np.int32), dst.astype(np.int32)


def paths(cluster: Cluster, src: Ints, dst: Ints) -> Paths:
    """Routes of pairs, by the cluster's rule; links are those whose bandwidth is drawn on."""
    return of_routes(routes(cluster, src, dst), len(src), cluster.topology.wire)


def of_routes(found: Routes, count: int, wire: Ints) -> Paths:
    """The same in the engine's columns."""
    first = np.searchsorted(found.pair, np.arange(count + 1)).astype(np.int64)
    link = np.ascontiguousarray(wire[found.links], np.int32)
    return Paths(
        first,
        np.asarray(found.weight, np.float64),
        np.asarray(found.latency, np.float64),
        found.start.astype(np.int64),
        link,
        np.ones(len(link), np.int32),
    )


def merged(found: Paths, links: int) -> Paths:
    """The same with each link of a piece listed once, with the times it is crossed."""
    piece = np.repeat(np.arange(len(found.hop) - 1), np.diff(found.hop))
    known, where = np.unique(piece * links + found.link, return_inverse=True)
    times = np.bincount(where, found.times, len(known)).astype(np.int32)
    hop = np.searchsorted(known // max(links, 1), np.arange(len(found.hop))).astype(np.int64)
    return replace(found, hop=hop, link=(known % max(links, 1)).astype(np.int32), times=times)
