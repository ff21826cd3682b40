"""Which links a send crosses. One file per rule; a rule is found by its file name."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast import registry
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import AnyInts, Floats, Ints, Topology


@dataclass(frozen=True, eq=False)
class Routes:
    """The routes of many pairs. A pair whose shortest routes tie is cut into equal pieces, one per route.

    Shapes: k pairs asked for, p pieces. The links of piece i are ``links[start[i]:start[i + 1]]``.

    Attributes:
        pair: ``int32[p]``, the pair that each piece serves; ascending.
        weight: ``float64[p]``, its part of the bytes; the pieces of a pair sum to 1.
        start: ``int64[p + 1]``.
        links: ``int32[...]`` in the order in which they are crossed.
        latency: ``float64[p]``, seconds.
    """

    pair: Ints
    weight: Floats
    start: npt.NDArray[np.int64]
    links: Ints
    latency: Floats

    @property
    def hops(self) -> Ints:
        """``int32[p]``: links of each piece."""
        return np.diff(self.start).astype(np.int32)


def assemble(
    topology: Topology, pair: AnyInts, weight: Floats, hops: npt.NDArray[np.int64], links: AnyInts
) -> Routes:
    """Routes from their columns; latency is added up over the links."""
    start = np.concatenate([[0], np.cumsum(hops)])
    if len(links) and np.all(topology.latency == topology.latency[0]):
        latency = hops * topology.latency[0]  # exact, where a difference of sums is not
    else:
        # Added up route by route: like routes get the very same latency, and so does what starts with them.
        piece = np.repeat(np.arange(len(hops)), hops)
        latency = np.asarray(np.bincount(piece, topology.latency[links], len(hops)), np.float64)
    return Routes(pair.astype(np.int32), weight, start, links.astype(np.int32), latency)


def routes(cluster: Cluster, src: Ints, dst: Ints) -> Routes:
    """Routes of the pairs ``src[i] -> dst[i]`` by the cluster's routing rule.

    ``ecmp,seed=3`` names a rule with its seed.

    Raises:
        InputError: if dead links leave a pair without a route.
    """
    name, _, seed = cluster.routing.partition(",seed=")
    rule = registry.load("routing", "routing rule", name)
    about = (cluster.topology, np.asarray(src, np.int32), np.asarray(dst, np.int32))
    found: Routes = rule.routes(*about, int(seed)) if seed else rule.routes(*about)
    return found
