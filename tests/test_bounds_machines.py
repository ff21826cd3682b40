"""Bounds of whole and broken machines: together as alone, at once, and over distances found by bits."""

import subprocess
import sys
import time
from dataclasses import replace

import grids
import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wirings import everyone, networks

import hopcast as hc
from hopcast.graph.distance import distances, straight
from hopcast.graph.reach import all_from, needs, reach
from hopcast.graph.usable import usable
from hopcast.ir.collective import NAMES
from hopcast.ir.topology import Topology
from hopcast.price.bounds import bound, bound_and_limit, limit
from hopcast.price.bounds_traffic import standard

modest = settings(
    max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
CLOSE = 1 - 1e-9


@modest
@given(networks(chips=6, switches=3), st.sampled_from([0.0, 0.3]))
def test_distances_by_bits_are_those_of_searches(topology: Topology, uneven: float) -> None:
    rng = np.random.default_rng(topology.links)
    latency = topology.latency * (1 + uneven * rng.random(topology.links))
    links = usable(replace(topology, latency=latency))
    ranks, n = everyone(topology), topology.chips
    for weight in (np.ones(topology.links), latency, latency + 1e-6 * rng.integers(0, 3, topology.links)):
        graph = nx.DiGraph()
        for a, b, w in sorted(
            zip(topology.src.tolist(), topology.dst.tolist(), weight.tolist(), strict=True),
            key=lambda x: -x[2],
        ):
            graph.add_edge(a, b, weight=w)  # of parallel links the last, the shortest, stays
        far = dict(nx.all_pairs_dijkstra_path_length(graph))
        table = np.array([[far[a][b] for b in range(n)] for a in range(n)])
        src, dst = (x.ravel() for x in np.indices((n, n)))
        found = reach(links, weight, needs(topology.vertices, ranks, ranks, (src, dst)))
        assert found.farthest == pytest.approx(table.max(), rel=1e-6, abs=1e-18)
        assert found.total == pytest.approx(table.sum(1), rel=1e-6, abs=1e-18)
        assert found.pair == pytest.approx(table.ravel(), rel=1e-6, abs=1e-18)
        assert table[found.source, found.target] == pytest.approx(table.max(), rel=1e-6, abs=1e-18)
    hops = distances(links, ranks[0]).between(src, dst)[0]
    steps = dict(nx.all_pairs_shortest_path_length(graph))
    assert hops.tolist() == [steps[a][b] for a, b in zip(src.tolist(), dst.tolist(), strict=True)]


@pytest.mark.parametrize("text", ["5wx7x9", "4wx4wx8w", "70w", "2x150"])
def test_distances_by_bits_are_those_of_coordinates_over_many_words(text: str) -> None:
    topology = grids.cluster(text, 1.0, 1e-6).topology
    links, ranks = usable(topology), everyone(topology)
    by_coordinates = straight(links, False)
    assert by_coordinates is not None
    found = reach(links, np.ones(topology.links), needs(topology.vertices, ranks, ranks))
    assert found.total.sum() == by_coordinates.total(ranks)[0]
    hops, seconds = by_coordinates.between(ranks[0][:, None], ranks)
    assert found.total.tolist() == hops.sum(1).tolist()
    assert found.farthest == hops.max() == hops[found.source, found.target]
    timed = reach(links, topology.latency, needs(topology.vertices, ranks, ranks))
    assert timed.farthest == pytest.approx(seconds.max(), rel=1e-9)
    assert all_from(links, np.ones(topology.links), ranks[0]).tolist() == hops.tolist()


CLUSTERS = [
    "ring:6", "torus:4x4", "mesh:3x4", "switch:8", "hypercube:4", "full_mesh:6", "v5e:4x8",
    "v5e:4x4,slices=2", "torus:4x8,twisted", "dgx-h100", "dgx-h100:4", "gb200-nvl72:2",
]  # fmt: skip


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", NAMES)
def test_bound_and_limit_together_are_what_they_are_alone(name: str, cluster: str) -> None:
    where = hc.cluster(cluster)
    topology, size = where.topology, 2.0**28
    parts = standard(name, topology.chips)
    mask = topology.axis == 0
    for links in (None, mask) if topology.is_grid and len(topology.axes) == 1 else (None,):
        low, lowest = bound_and_limit(where, parts, everyone(topology), size, links)
        for pair in (
            (low, bound(where, parts, everyone(topology), size, links)),
            (lowest, limit(where, parts, everyone(topology), size)),
        ):
            assert pair[0].what == pair[1].what
            assert pair[0].seconds == pair[1].seconds
            assert pair[0].links.tolist() == pair[1].links.tolist()
        assert low.seconds >= lowest.seconds * CLOSE


def joins(topology: Topology) -> bool:
    """Whether every chip reaches every other."""
    graph = nx.DiGraph()
    live = topology.bandwidth > 0
    graph.add_edges_from(zip(topology.src[live].tolist(), topology.dst[live].tolist(), strict=True))
    return all(nx.has_path(graph, 0, r) and nx.has_path(graph, r, 0) for r in range(1, topology.chips))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_broken_machines_take_longer_than_whole_ones(cluster: str) -> None:
    where = hc.cluster(cluster)
    topology = where.topology
    rng = np.random.default_rng(0)
    slow = topology.with_links(topology.bandwidth * np.where(rng.random(topology.links) < 0.1, 0.25, 1.0))
    dead = topology.with_links(np.where(rng.random(topology.links) < 0.02, 0.0, topology.bandwidth))
    for name in NAMES:
        parts = standard(name, topology.chips)
        whole = limit(where, parts, everyone(topology), 2.0**40)
        for worse in filter(joins, (slow, dead)):
            found = limit(replace(where, topology=worse), parts, everyone(topology), 2.0**40)
            assert found.seconds >= whole.seconds * (1 - 1e-7), name


@pytest.mark.parametrize(
    ("cluster", "most"),
    [("dgx-h100:128", 0.15), ("dgx-h100:128,routing=ecmp", 0.15), ("v5e:16x16,slices=8", 0.25),
     ("v5p:8x8x16,twisted", 0.1), ("v5p:16x20x28", 0.15), ("v5e:4x4", 0.02), ("dgx-h100:2", 0.03)],
)  # fmt: skip
@pytest.mark.parametrize("name", ["all_gather", "all_reduce", "all_to_all"])
def test_whole_machines_are_bounded_at_once(name: str, cluster: str, most: float) -> None:
    where = hc.cluster(cluster)
    parts, best = standard(name, where.topology.chips), np.inf
    for _ in range(3):
        start = time.process_time()
        bound_and_limit(where, parts, everyone(where.topology), 2.0**30)
        best = min(best, time.process_time() - start)
    assert best < 3 * most, f"{best * 1e3:.0f} ms"  # a loaded machine gets three times as long


@pytest.mark.parametrize(
    ("name", "cluster"),
    [("all_gather", "dgx-h100:2"), ("all_to_all", "dgx-h100:4"), ("all_reduce", "dgx-h100:4"),
     ("broadcast", "dgx-h100:2"), ("all_gather", "v5e:4x4,slices=2"), ("all_reduce", "v5e:8x8"),
     ("permute", "v5e:4x4"), ("scatter", "v5e:4x8")],
)  # fmt: skip
def test_bounds_of_whole_machines_load_neither_scipy_nor_numba(name: str, cluster: str) -> None:
    script = (
        "import sys, numpy as np, hopcast as hc\n"
        "from hopcast.price.bounds import bound_and_limit\n"
        "from hopcast.price.bounds_traffic import standard\n"
        f"c = hc.cluster({cluster!r}); n = c.topology.chips\n"
        f"low, _ = bound_and_limit(c, standard({name!r}, n), np.arange(n)[None], 2.0**30)\n"
        "assert low.seconds > 0\n"
        "print([m for m in ('scipy', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
