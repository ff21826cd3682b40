"""Networks of one's own for tests: any links between any vertices."""

import numpy as np
from hypothesis import strategies as st

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Axis, Topology


def network(chips: int, vertices: int, links: list[tuple[int, int, float]], latency: float = 0.0) -> Topology:
    """Any directed graph; the first vertices are chips."""
    src, dst, rate = zip(*links, strict=True)
    m = len(links)
    return Topology(
        "random", chips, vertices, np.array(src, np.int32), np.array(dst, np.int32), np.zeros(m, np.int32),
        np.array(rate, float), np.full(m, latency), np.arange(m, dtype=np.int32), (Axis("x", chips, False),),
        np.arange(chips, dtype=np.int32)[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip


def both_ways(cables: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    return [link for a, b, rate in cables for link in ((a, b, rate), (b, a, rate))]


def where_of(topology: Topology) -> Cluster:
    return Cluster(topology.name, topology, "random", "shortest")


@st.composite
def networks(draw: st.DrawFn, chips: int = 6, switches: int = 2) -> Topology:
    """Chips and switches, joined, with links of rates 1 to 5 one way or both."""
    n = draw(st.integers(2, chips))
    v = n + draw(st.integers(0, switches))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    # A tree both ways joins them all; then links at random.
    cables = [(i, int(rng.integers(0, i)), float(rng.integers(1, 6))) for i in range(1, v)]
    more = [(int(a), int(b), float(rng.integers(1, 6))) for a, b in rng.integers(0, v, (v, 2)) if a != b]
    return network(n, v, both_ways(cables) + more, draw(st.sampled_from([0.0, 1e-6])))


def everyone(topology: Topology) -> np.ndarray:
    return np.arange(topology.chips, dtype=np.int32)[None]
