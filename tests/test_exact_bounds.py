"""Bounds that are the optimum: against all cuts and partitions and closed forms; and that they are quick."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import grids
import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from wirings import both_ways, everyone, network, networks, where_of

import hopcast as hc
from hopcast.graph.attack import attack
from hopcast.graph.concurrent import Demands, evenly, lengths, seconds
from hopcast.graph.optimum import best_rate
from hopcast.graph.usable import usable
from hopcast.graph.weakest import to_all, to_each
from hopcast.ir.collective import NAMES, Collective
from hopcast.ir.topology import Topology
from hopcast.price import bounds_exact as exact
from hopcast.price import bounds_kinds as kinds
from hopcast.price.bounds import Bound, bound, bound_and_limit
from hopcast.price.bounds_traffic import Traffic, standard, traffic

modest = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
CLOSE = 1 - 1e-9


def bound_of(name: str, topology: Topology, **more: int) -> Bound:
    return bound(where_of(topology), standard(name, topology.chips, **more), everyone(topology), 1.0)


def task_of(topology: Topology, parts: Traffic) -> kinds.Task:
    return kinds.Task(usable(topology), parts, everyone(topology))


def all_cuts(topology: Topology) -> np.ndarray:
    return np.array(list(itertools.product([False, True], repeat=topology.vertices)))[1:-1]


def partitions(n: int) -> Iterator[list[int]]:
    """All ways to part n things, each thing with the number of its part."""

    def rest(begun: list[int]) -> Iterator[list[int]]:
        if len(begun) == n:
            yield begun
            return
        for part in range(max(begun, default=-1) + 2):
            yield from rest([*begun, part])

    return rest([])


@pytest.mark.parametrize(
    ("cluster", "tau"),
    [("ring:8", 8 / 7), ("mesh:4x4", 24 / 15), ("mesh:8x8", 112 / 63), ("mesh:2x4", 10 / 7),
     ("torus:4x4", 32 / 15), ("torus:4x4x4", 192 / 63)],
)  # fmt: skip
def test_tau_of_grids(cluster: str, tau: float) -> None:
    """How many spanning trees a grid packs; Tutte 1961 and Nash-Williams 1961: cables over chips less one."""
    text = f"{cluster},bandwidth=45GB/s,latency=0"
    row = hc.predict("all_reduce", text, size="8GiB", price="steps", algorithm="recursive_doubling").rows[0]
    assert row["size_bytes"] / (row["bound_us"] * 1e-6) / 45e9 == pytest.approx(tau, rel=1e-12)
    assert row["bound_kind"] == "partition"
    # The same by least cuts, without a word about grids.
    topology = hc.cluster(cluster).topology
    once = topology.src < topology.dst
    found = attack(
        topology.vertices,
        np.arange(topology.chips),
        topology.src[once],
        topology.dst[once],
        np.ones(once.sum()),
    )
    assert found.strength == pytest.approx(tau, rel=1e-12)


@pytest.mark.parametrize(
    ("cluster", "algbw"),
    [("torus:4x4,bandwidth=45GB/s,latency=0", 192.0),
     ("torus:8x8,bandwidth=45GB/s,latency=0", 11520 / 63),
     ("dgx-h100:2,latency=0", 8000 / 15), ("dgx-h100:4,latency=0", 16000 / 31),
     ("dgx-h100:16,latency=0", 6400 / 15)],
)  # fmt: skip
@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter"])
def test_the_optimum_of_all_gather(name: str, cluster: str, algbw: float) -> None:
    where = hc.cluster(cluster)
    low, lowest = bound_and_limit(
        where, standard(name, where.topology.chips), everyone(where.topology), 2.0**33
    )
    for found in (low, lowest):
        assert 2.0**33 / found.seconds / 1e9 == pytest.approx(algbw, rel=1e-12)
        assert found.tight
    if where.topology.chips <= 64:
        row = hc.predict(name, cluster, size="8GiB").rows[0]
        assert row["size_bytes"] / row["bound_us"] / 1e3 == pytest.approx(algbw, rel=1e-12)
        assert row["limit_us"] == pytest.approx(row["bound_us"], rel=1e-12)


PLAIN = [
    "5",
    "8w",
    "3x3",
    "4x4",
    "2x6",
    "5x3w",
    "4wx4w",
    "2x2x2",
    "3wx2x4",
    "3x3x3",
    "4wx3wx2",
    "2x8w",
    "6wx6",
]


@pytest.mark.parametrize("text", PLAIN)
def test_candidates_are_the_optimum_of_whole_grids(text: str) -> None:
    """What is never searched on them, since closed forms have it: the searches find nothing better."""
    topology = grids.cluster(text).topology
    n, ranks = topology.chips, np.arange(topology.chips)
    ends, rate = (topology.src, topology.dst), topology.bandwidth
    for name, back in (("all_gather", False), ("reduce_scatter", True)):
        assert bound_of(name, topology).seconds == pytest.approx(
            1 / float(n * best_rate(topology, ranks, backwards=back).rate)
        )
    task = task_of(topology, standard("all_reduce", n))
    once = topology.src < topology.dst
    strength = attack(n, ranks, ends[0][once], ends[1][once], rate[once]).strength
    assert max(kinds.ports(task).seconds, kinds.partitions(task, False).seconds) == pytest.approx(
        1 / strength
    )
    for root in {0, n // 2, n - 1}:
        for name, way, search in [
            ("broadcast", ends, to_each), ("reduce", ends[::-1], to_each),
            ("scatter", ends, to_all), ("gather", ends[::-1], to_all),
        ]:  # fmt: skip
            side = search(n, *way, rate, root, ranks)
            rooted = task_of(topology, standard(name, n, root=root))
            known = max(kinds.ports(rooted).seconds, kinds.cuts(rooted).seconds)
            assert side is None or kinds.worst_cut(rooted, side[None]).seconds <= known / CLOSE, (name, root)


@pytest.mark.parametrize("text", PLAIN)
def test_all_to_all_of_whole_grids_is_the_best_routing(text: str) -> None:
    topology = grids.cluster(text).topology
    task = task_of(topology, standard("all_to_all", topology.chips))
    demands = Demands(*exact.pairs_of(task))
    assert demands.wanted.sum() == pytest.approx((topology.chips - 1) / topology.chips)
    if topology.chips <= 27:
        proven = seconds(task.network, demands, lengths(task.network, demands))
        assert bound_of("all_to_all", topology).seconds == pytest.approx(proven, rel=1e-7)
    assert evenly(task.network, demands) >= bound_of("all_to_all", topology).seconds * CLOSE


@modest
@given(networks())
def test_the_cheapest_partition_of_all(topology: Topology) -> None:
    n, v = topology.chips, topology.vertices
    assume(n <= 5)
    found = attack(v, np.arange(n), topology.src, topology.dst, topology.bandwidth)
    best = np.inf
    for chips in partitions(n):
        count = max(chips) + 1
        for switches in itertools.product(range(-1, count), repeat=v - n) if count > 1 else ():
            label = np.array([*chips, *switches])
            begins, ends = label[topology.src], label[topology.dst]
            border = begins != ends
            both = (
                topology.bandwidth[border & (begins >= 0)].sum()
                + topology.bandwidth[border & (ends >= 0)].sum()
            )
            best = min(best, both / 2 / (count - 1))
    assert found.strength == pytest.approx(best, rel=1e-9)
    # The partition it names is one of that strength, whatever it starts from.
    again = attack(v, np.arange(n), topology.src, topology.dst, topology.bandwidth, found.label)
    assert again.strength == pytest.approx(best, rel=1e-9)
    assert len(np.unique(found.label[:n])) > 1


@modest
@given(networks(), st.data())
def test_no_cut_of_any_network_is_worse_than_the_bound_and_none_is_missed(
    topology: Topology, data: st.DataObject
) -> None:
    n = topology.chips
    name = data.draw(
        st.sampled_from(
            ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "scatter", "gather"]
        )
    )
    root = data.draw(st.integers(0, n - 1))
    parts = standard(name, n, root=root)
    task = task_of(topology, parts)
    worst = kinds.worst_cut(task, all_cuts(topology)).seconds
    # Switches that reduce leave only cuts; of whole networks every kind of demand finds the worst of all.
    found = bound(where_of(topology), parts, everyone(topology), 1.0, in_network=topology.vertices > n)
    if name == "all_reduce" and topology.vertices == n:
        assert found.bandwidth_seconds >= worst * CLOSE
    else:
        assert found.bandwidth_seconds == pytest.approx(worst, rel=1e-9)


@modest
@given(networks(chips=8, switches=3), st.data())
def test_a_broadcast_is_bounded_by_the_least_of_all_flows(topology: Topology, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, topology.chips - 1))
    graph = nx.DiGraph()
    for a, b, rate in zip(
        topology.src.tolist(), topology.dst.tolist(), topology.bandwidth.tolist(), strict=True
    ):
        had = graph.get_edge_data(a, b, {"capacity": 0.0})["capacity"]
        graph.add_edge(a, b, capacity=had + rate)
    rest = [r for r in range(topology.chips) if r != root]
    least = min(nx.maximum_flow_value(graph, root, r) for r in rest)
    found = bound(
        where_of(topology),
        standard("broadcast", topology.chips, root=root),
        everyone(topology),
        1.0,
        in_network=True,
    )
    assert found.bandwidth_seconds == pytest.approx(1 / least)
    back = min(nx.maximum_flow_value(graph, r, root) for r in rest)
    found = bound(
        where_of(topology),
        standard("reduce", topology.chips, root=root),
        everyone(topology),
        1.0,
        in_network=True,
    )
    assert found.bandwidth_seconds == pytest.approx(1 / back)


@modest
@given(networks(), st.data())
def test_the_best_routing_is_between_all_cuts_and_any_routing(
    topology: Topology, data: st.DataObject
) -> None:
    n = topology.chips
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    src, dst = np.nonzero(rng.random((n, n)) < 0.6)
    apart = src != dst
    assume(apart.sum() > 1)
    some = Collective("mine", n, src[apart].astype(np.int32), dst[apart].astype(np.int32))
    parts = traffic(some, rng.dirichlet(np.ones(some.chunks)))
    task = task_of(topology, parts)
    demands = Demands(*exact.pairs_of(task))
    proven = seconds(task.network, demands, lengths(task.network, demands))
    assert kinds.worst_cut(task, all_cuts(topology)).seconds <= proven / (1 - 1e-7)
    assert proven <= evenly(task.network, demands) / CLOSE
    # Any other lengths prove less.
    for length in (np.ones(len(topology.src)), 1 / topology.bandwidth, rng.random(len(topology.src))):
        assert seconds(task.network, demands, length) <= proven / (1 - 1e-7)
    assert (
        bound(where_of(topology), some, everyone(topology), 1.0, share=None).tight or parts.pair_part.size < 2
    )


def test_routing_beats_cuts_and_distance_where_both_are_too_low() -> None:
    """Two and three vertices, each joined to all of the other side: cuts say 1, the truth is 4/3.

    A spare chip on thick cables keeps bytes times links low. Source: Okamura and Seymour 1981,
    doi:10.1016/S0095-8956(81)80012-3 (K2,3, where the cut condition does not suffice).
    """
    cables = [(a, b, 1.0) for a in (0, 1) for b in (2, 3, 4)] + [(0, 5, 100.0)]
    topology = network(6, 6, both_ways(cables))
    pairs = [(0, 1), (2, 3), (3, 4), (2, 4)]
    src, dst = (
        np.array(x, np.int32) for x in zip(*(p for a, b in pairs for p in ((a, b), (b, a))), strict=True)
    )
    asked = Collective("mine", 6, src, dst)
    task = task_of(topology, traffic(asked))
    assert kinds.worst_cut(task, all_cuts(topology)).seconds * 8 == pytest.approx(1.0)
    found = bound(where_of(topology), asked, everyone(topology), 8.0)
    assert found.seconds == pytest.approx(4 / 3)
    assert (found.kind, found.tight) == ("distance", True)
    assert (topology.bandwidth[found.links] == 1.0).all()
    many = len(found.links)
    assert found.what == f"{many} links carry {many} B/s together, and the best routing of all 8 B fills them"
    # Whoever is slow in one direction only does not count twice at half duplex.
    shared = replace(topology, wire=np.arange(topology.links, dtype=np.int32) // 2 * 2)
    assert bound(where_of(shared), asked, everyone(topology), 8.0).seconds == pytest.approx(8 / 3)


def test_the_binding_cut_of_a_network_of_ones_own_is_named() -> None:
    # Two rings of three with one thin cable between them, which no candidate looks for.
    cables = [(0, 2, 4.0), (2, 4, 4.0), (4, 0, 4.0), (1, 3, 4.0), (3, 5, 4.0), (5, 1, 4.0), (4, 5, 1.0)]
    topology = network(6, 6, both_ways(cables))
    for name, volume, seconds_ in [
        ("all_gather", "512 MiB", 0.5),
        ("reduce_scatter", "512 MiB", 0.5),
        ("broadcast", "1 GiB", 1),
    ]:
        found = bound(where_of(topology), standard(name, 6), everyone(topology), 2.0**30)
        assert (found.kind, found.tight, len(found.links)) == ("cut", True, 1)
        assert found.seconds == pytest.approx(2**30 * seconds_)
        assert found.what.endswith(f"to the rest carries 1 B/s, and at least {volume} must cross"), found.what
        assert {int(topology.src[found.links[0]]), int(topology.dst[found.links[0]])} == {4, 5}
    found = bound_of("all_reduce", topology)
    assert (found.kind, found.seconds, found.tight) == ("cut", pytest.approx(1.0), True)
    # With one more cable between the rings three parts are joined by least, and no cut says as much.
    more = network(6, 6, both_ways([*cables, (2, 3, 1.0)]))
    found = bound_of("all_reduce", more)
    assert (found.kind, found.tight) == ("cut", True)


@modest
@given(networks(chips=7), st.data())
def test_more_bandwidth_or_another_link_never_raises_a_bound(topology: Topology, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    parts = standard(name, topology.chips, root=data.draw(st.integers(0, topology.chips - 1)))
    before = bound(where_of(topology), parts, everyone(topology), 1e9)
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    faster = topology.bandwidth * np.where(
        rng.random(topology.links) < 0.3, rng.integers(1, 4, topology.links), 1
    )
    more = network(
        topology.chips,
        topology.vertices,
        [
            *zip(topology.src.tolist(), topology.dst.tolist(), faster.tolist(), strict=True),
            (0, topology.chips - 1, 2.0),
        ],
        float(topology.latency[0]),
    )
    assert bound(where_of(more), parts, everyone(topology), 1e9).seconds <= before.seconds / (1 - 1e-7)
