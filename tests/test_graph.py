"""Flows, disjoint routes, distances and candidate cuts, beside networkx and beside trying everything."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopcast.graph import cuts, distance, flow
from hopcast.graph.usable import usable
from hopcast.ir.topology import Topology
from hopcast.topologies import mesh, ring, switch, torus, twisted_torus
from hopcast.topologies._grid import grid

modest = settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)


@st.composite
def grids(draw: st.DrawFn, half: bool = False) -> Topology:
    """Up to 6x5x4, mixed wraps, some links dead or slow, latencies that differ."""
    shape = [draw(st.integers(1, most)) for most in (6, 5, 4)[: draw(st.integers(1, 3))]]
    wraps = [draw(st.booleans()) for _ in shape]
    made = grid("random", shape, wraps, 12.0, 1.0, half and draw(st.booleans()))
    seed = np.random.default_rng(draw(st.integers(0, 10_000)))
    rate = made.bandwidth.copy()
    kind = draw(st.sampled_from(["alike", "slow", "dead"]))
    if kind != "alike":
        few = seed.random(made.links) < draw(st.sampled_from([0.05, 0.3]))
        few |= few[made.wire]  # of a cable at half duplex both directions
        rate[few] = 0.0 if kind == "dead" else seed.integers(1, 12, made.links)[made.wire][few]
    made = made.with_links(rate)
    if draw(st.booleans()):
        made.latency[:] = seed.choice([0.0, 1.0, 2.5], made.links)
    return made


def digraph(topology: Topology) -> "nx.DiGraph[int]":
    graph = nx.DiGraph()
    graph.add_nodes_from(range(topology.vertices))
    for a, b, rate, wait in zip(
        topology.src, topology.dst, topology.bandwidth, topology.latency, strict=True
    ):
        if rate > 0:
            graph.add_edge(int(a), int(b), capacity=int(rate), unit=1, cost=1, wait=float(wait))
    return graph


def pair_of(draw: st.DrawFn, topology: Topology) -> tuple[int, int]:
    return draw(st.integers(0, topology.vertices - 1)), draw(st.integers(0, topology.vertices - 1))


@modest
@given(st.data())
def test_disjoint_routes_are_as_many_and_as_short_as_can_be(data: st.DataObject) -> None:
    topology = data.draw(grids())
    a, b = pair_of(data.draw, topology)
    found = flow.disjoint_routes(topology, a, b)
    if a == b:
        assert found == []
        return
    graph = digraph(topology)
    assert len(found) == nx.edge_connectivity(graph, a, b)
    best = nx.max_flow_min_cost(graph, a, b, capacity="unit", weight="cost")
    assert sum(map(len, found)) == nx.cost_of_flow(graph, best, weight="cost")
    links = list(itertools.chain(*found))
    assert len(links) == len(set(links))
    for route in found:
        ends = [a, *(int(topology.dst[i]) for i in route)]
        assert [int(topology.src[i]) for i in route] == ends[:-1]
        assert ends[-1] == b
        assert (topology.bandwidth[route] > 0).all()


def test_opposite_corners_of_an_open_grid_have_two_shortest_routes() -> None:
    made = flow.disjoint_routes(mesh.build("mesh:4x4", (4, 4), 1.0, 0.0), 15, 0)
    assert [len(route) for route in made] == [6, 6]
    assert len(flow.disjoint_routes(torus.build("torus:16x20x28", (16, 20, 28), 1.0, 0.0), 0, 4321)) == 6


def test_routes_keep_to_the_links_allowed() -> None:
    topology = torus.build("torus:4x4", (4, 4), 1.0, 0.0)
    along_y = topology.axis == 1
    assert [len(r) for r in flow.disjoint_routes(topology, 0, 1, along_y)] == [1, 3]
    assert flow.disjoint_routes(topology, 0, 4, along_y) == []


@modest
@given(st.data())
def test_max_flow_is_networkx_and_its_cut_carries_it(data: st.DataObject) -> None:
    topology = data.draw(grids())
    a, b = pair_of(data.draw, topology)
    if a == b:
        with pytest.raises(ValueError, match="both sources and sinks"):
            flow.max_flow(topology, [a], [b])
        return
    found = flow.max_flow(topology, [a], [b])
    assert found.value == nx.maximum_flow_value(digraph(topology), a, b)
    assert found.side[a]
    assert not found.side[b]
    crosses = found.side[topology.src] & ~found.side[topology.dst] & (topology.bandwidth > 0)
    assert found.links.tolist() == np.flatnonzero(crosses).tolist()


@modest
@given(st.data())
def test_max_flow_of_any_rates_is_a_cut_and_no_cut_is_smaller(data: st.DataObject) -> None:
    shape = (data.draw(st.integers(2, 3)), data.draw(st.integers(1, 3)))
    topology = grid("random", shape, (True, False), 1.0, 0.0)
    rates = np.random.default_rng(data.draw(st.integers(0, 999))).random(topology.links) * 1e11
    topology = topology.with_links(rates)
    sets = np.array(list(itertools.product([False, True], repeat=topology.chips)))
    sets = sets[sets[:, 0] & ~sets[:, -1]]
    least = min(rates[s[topology.src] & ~s[topology.dst]].sum() for s in sets)
    assert flow.max_flow(topology, [0], [topology.chips - 1]).value == pytest.approx(least, rel=1e-8)


def test_many_sources_and_sinks_share_a_switch() -> None:
    topology = switch.build("switch:6", (6,), 5.0, 0.0)
    assert flow.max_flow_between(topology, np.array([0, 1]), [2, 3, 4, 5]) == 10.0


@modest
@given(st.data())
def test_distances_are_networkx(data: st.DataObject) -> None:
    topology = data.draw(grids())
    graph = digraph(topology)
    every = np.arange(topology.chips, dtype=np.int32)
    hops, seconds = distance.distances(usable(topology), every).between(every[:, None], every[None])
    for a in range(topology.chips):
        far = nx.single_source_shortest_path_length(graph, a)
        wait = nx.single_source_dijkstra_path_length(graph, a, weight="wait")
        assert hops[a].tolist() == [far.get(b, np.inf) for b in range(topology.chips)]
        assert seconds[a] == pytest.approx([wait.get(b, np.inf) for b in range(topology.chips)])
    a, b = pair_of(data.draw, topology)
    route = distance.shortest_route(usable(topology), a, b)
    if np.isfinite(hops[a, b]):
        assert topology.latency[route].sum() == pytest.approx(seconds[a, b])
        assert [a, *topology.dst[route]] == [*topology.src[route], b]
    else:
        assert route == []


@modest
@given(st.integers(1, 9), st.booleans(), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_sums_over_pairs_by_cuts_are_sums_over_pairs(x: int, wx: bool, y: int, wy: bool, seed: int) -> None:
    topology = grid("g", (x, y), (wx, wy), 1.0, 0.0)
    ranks = np.random.default_rng(seed).permutation(x * y)[: max(1, x * y // 2)].astype(np.int32)
    groups = np.stack([ranks, np.sort(ranks)])
    far = distance.distances(usable(topology), ranks)
    hops, _ = far.between(ranks[:, None], ranks[None])
    assert far.total(groups).tolist() == [hops.sum()] * 2
    corner = far.corners(np.arange(x * y, dtype=np.int32)[None])
    if isinstance(far, distance.Straight):
        assert corner is not None
        every = np.arange(x * y)
        assert far.between(corner, every)[0].max() == far.between(every[:, None], every)[0].max()


def test_long_lines_and_broken_pods_are_measured_too() -> None:
    line = ring.build("ring:200", (200,), 1.0, 1.0)
    rate = line.bandwidth.copy()
    rate[[0, 200]] = 0.0
    line = line.with_links(rate)
    every = np.arange(200, dtype=np.int32)
    hops, seconds = distance.distances(usable(line), every).between(every[:1], every)
    assert hops.max() == seconds.max() == 199
    pod = torus.build("torus:12x12x12", (12, 12, 12), 1.0, 1.0)
    rate = pod.bandwidth.copy()
    rate[5] = 0.0
    every = np.arange(1728, dtype=np.int32)
    far = distance.distances(usable(pod.with_links(rate)), every)
    assert not far.exact
    one = distance.distances(usable(pod.with_links(rate)), every[:3])
    assert one.exact
    assert (far.between(every[:3, None], every)[0] <= one.between(every[:3, None], every)[0]).all()


def test_only_whole_axes_are_straight() -> None:
    topology = torus.build("torus:4x8", (4, 8), 1.0, 0.0)
    assert usable(topology).straight
    rows = usable(topology, topology.axis == 1)
    assert rows.straight
    assert rows.components == 4
    assert rows.component.tolist() == np.repeat(np.arange(4), 8).tolist()
    assert not usable(topology, np.arange(topology.links) != 7).straight
    assert not usable(twisted_torus.build("torus:4x8,twisted", (4, 8), 1.0, 0.0)).straight
    assert not usable(switch.build("switch:4", (4,), 1.0, 0.0)).straight


@modest
@given(st.data())
def test_components_and_capacities(data: st.DataObject) -> None:
    topology = data.draw(grids(half=True))
    allowed = np.isin(topology.axis, sorted(data.draw(st.sets(st.integers(0, 2)))))
    network = usable(topology, allowed)
    graph = nx.Graph()
    graph.add_nodes_from(range(topology.vertices))
    live = allowed & (topology.bandwidth > 0)
    graph.add_edges_from(zip(topology.src[live].tolist(), topology.dst[live].tolist(), strict=True))
    wanted = {frozenset(part) for part in nx.connected_components(graph)}
    parts = {frozenset(np.flatnonzero(network.component == k).tolist()) for k in range(network.components)}
    assert parts == wanted
    some = np.random.default_rng(data.draw(st.integers(0, 99))).random((3, len(network.links))) < 0.5
    total = network.capacity(some)
    for row, chosen in zip(total, some, strict=True):
        for k in range(network.components):
            links = network.links[chosen & (network.component[network.src] == k)]
            assert row[k] == topology.bandwidth[np.unique(topology.wire[links])].sum()
    out, into, both = network.at_vertices()
    for v in range(topology.vertices):
        ends = [topology.src == v, topology.dst == v, (topology.src == v) | (topology.dst == v)]
        here = [topology.bandwidth[np.unique(topology.wire[live & e])].sum() for e in ends]
        assert [out[v], into[v], both[v]] == here


@pytest.mark.parametrize("shape", [(9216,), (512, 8), (16, 20, 28), (2,) * 12], ids=str)
def test_candidates_stay_few(shape: tuple[int, ...]) -> None:
    topology = torus.build("torus", shape, 1.0, 0.0)
    found = cuts.candidate_cuts(topology)
    assert len(np.unique(found, axis=0)) > len(shape)
    assert len(found) * topology.links < 5_000_000
    assert len(list(cuts.candidate_partitions(topology))) <= 27


def test_weak_places_are_among_the_candidates() -> None:
    topology = ring.build("ring:64", (64,), 8.0, 0.0)
    rate = topology.bandwidth.copy()
    rate[[20, 47, 64 + 20, 64 + 47]] = 1.0  # between 20 and 21, 47 and 48
    weak = (np.arange(64) > 20) & (np.arange(64) <= 47)
    assert any(np.array_equal(weak, c) for c in cuts.candidate_cuts(topology.with_links(rate)))


def test_switches_go_with_the_chips_below_them() -> None:
    # Two switches of three chips each, joined by a thin pair of links.
    chips, low, high = np.arange(6), 6, 7
    up = np.where(chips < 3, low, high)
    src = np.concatenate([chips, up, [low, high]]).astype(np.int32)
    dst = np.concatenate([up, chips, [high, low]]).astype(np.int32)
    links = np.arange(len(src), dtype=np.int32)
    rate = np.append(np.full(12, 4.0), [1.0, 1.0])
    one = switch.build("switch:6", (6,), 4.0, 0.0)
    topology = Topology(
        "two", 6, 8, src, dst, links * 0, rate, rate * 0, links, one.axes, one.coords, one.port
    )
    half = np.isin(np.arange(8), [0, 1, 2, low])
    assert any(np.array_equal(half, c) for c in cuts.candidate_cuts(topology))
    assert flow.max_flow_between(topology, [0, 1, 2], [3, 4, 5]) == 1.0
