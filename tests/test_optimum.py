"""The exact all_gather optimum: known values, all cuts of small graphs, ranks that are alike, its flows."""

import itertools
import subprocess
import sys
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast.clusters import cluster
from hopcast.graph import alike, dinic, optimum
from hopcast.graph.optimum import Optimum, best_rate
from hopcast.ir.topology import Axis, Topology
from hopcast.topologies import mesh, torus

modest = settings(max_examples=120, deadline=None, derandomize=True)
GB = 10**9


def network(chips: int, vertices: int, links: list[tuple[int, int, float]]) -> Topology:
    """Any directed graph; the first vertices are chips."""
    src, dst, rate = zip(*links, strict=True) if links else ((), (), ())
    m = len(links)
    return Topology(
        "random", chips, vertices, np.array(src, np.int32), np.array(dst, np.int32), np.zeros(m, np.int32),
        np.array(rate, float), np.zeros(m), np.arange(m, dtype=np.int32), (Axis("x", chips, False),),
        np.arange(chips, dtype=np.int32)[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip


@st.composite
def networks(draw: st.DrawFn, rates: st.SearchStrategy[float]) -> Topology:
    """2 to 6 chips, 0 to 2 switches, links of which some are dead or doubled."""
    chips = draw(st.integers(2, 6))
    vertices = chips + draw(st.integers(0, 2))
    pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v]
    some = draw(st.lists(st.sampled_from(pairs), min_size=vertices, max_size=4 * vertices))
    return network(chips, vertices, [(u, v, draw(rates)) for u, v in some])


def by_all_cuts(topology: Topology, ranks: list[int], allowed: np.ndarray, backwards: bool) -> Fraction:
    """The least ratio over all sets of vertices that leave out a rank."""
    tail, head = (topology.dst, topology.src) if backwards else (topology.src, topology.dst)
    least: Fraction | None = None
    for bits in itertools.product((False, True), repeat=topology.vertices):
        side = np.array(bits)
        inside = int(side[ranks].sum())
        if 0 < inside < len(ranks):
            cross = topology.bandwidth[allowed & side[tail] & ~side[head]]
            ratio = sum(map(Fraction, cross.tolist()), Fraction(0)) / inside
            least = ratio if least is None else min(least, ratio)
    assert least is not None
    return least


def holds(found: Optimum, topology: Topology, ranks: list[int], backwards: bool) -> bool:
    """Whether the links that it names carry what it says out of the side that it names."""
    inside = int(found.side[ranks].sum())
    begins, ends = found.side[topology.src[found.links]], found.side[topology.dst[found.links]]
    right = not np.any(begins) and np.all(ends) if backwards else np.all(begins) and not np.any(ends)
    carried = sum(map(Fraction, topology.bandwidth[found.links].tolist()), Fraction(0))
    return bool(right) and 0 < inside < len(ranks) and carried == found.rate * inside


@pytest.mark.parametrize(
    ("text", "algbw"),
    [
        ("torus:4x4,bandwidth=45GB/s", Fraction(192)),
        ("torus:8x8,bandwidth=45GB/s", Fraction(180 * 64, 63)),
        ("v5e:8x16", Fraction(135 * 128, 127)),
        ("torus:4x4x8,bandwidth=45GB/s", Fraction(270 * 128, 127)),
        ("mesh:4x4,bandwidth=45GB/s", Fraction(90 * 16, 15)),
        ("ring:8,bandwidth=45GB/s", Fraction(90 * 8, 7)),
        ("switch:8,bandwidth=450GB/s", Fraction(450 * 8, 7)),
        # Ports of 450 GB/s and NICs of 50: a GPU's own ports bind two and four nodes, a node's NICs sixteen.
        ("dgx-h100:2", Fraction(500 * 16, 15)),
        ("dgx-h100:4", Fraction(500 * 32, 31)),
        ("dgx-h100:16", Fraction(400 * 128, 120)),
    ],
)
def test_known_optima(text: str, algbw: Fraction) -> None:
    topology = cluster(text).topology
    found = best_rate(topology, np.arange(topology.chips))
    assert found.ranks * found.rate == algbw * GB
    assert holds(found, topology, list(range(topology.chips)), False)


@modest
@given(st.data())
def test_it_is_the_least_of_all_cuts(data: st.DataObject) -> None:
    topology = data.draw(networks(st.integers(0, 12).map(float)))
    ranks = data.draw(st.lists(st.integers(0, topology.chips - 1), min_size=2, unique=True).map(sorted))
    allowed = np.array(
        data.draw(st.lists(st.booleans(), min_size=topology.links, max_size=topology.links)), bool
    )
    allowed |= data.draw(st.booleans())
    backwards = data.draw(st.booleans())
    start = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=topology.vertices,
                                                 max_size=topology.vertices), max_size=3)), bool)  # fmt: skip
    found = best_rate(
        topology, np.array(ranks), allowed, start=start.reshape(-1, topology.vertices), backwards=backwards
    )
    assert found.rate == by_all_cuts(topology, ranks, allowed, backwards)
    assert holds(found, topology, ranks, backwards)


@modest
@given(networks(st.sampled_from([0.1, 1 / 3, 1e9 / 7, 12.5e9 + 1 / 3, 2.0**70])))
def test_odd_rates_give_a_true_cut_that_is_hardly_above_the_least(topology: Topology) -> None:
    everyone = list(range(topology.chips))
    found = best_rate(topology, np.array(everyone))
    least = by_all_cuts(topology, everyone, np.ones(topology.links, bool), False)
    slack = float(topology.bandwidth.max()) * topology.links * 2.0**-38
    assert least <= found.rate <= least + Fraction(slack)
    assert holds(found, topology, everyone, False)


@pytest.mark.parametrize(
    "text",
    ["torus:4x4", "torus:3x5", "mesh:4x4", "mesh:3x4", "v5p:4x4x8,twisted", "dgx-h100:4", "dgx-h100:33",
     "gb200-nvl72:2", "v5e:4x4,slices=2", "switch:5", "hypercube:4", "fat-tree:4x2,leaf=4,spine=1,nics=2"],
)  # fmt: skip
def test_one_of_all_alike_stands_for_all(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = cluster(text).topology
    ranks = np.arange(topology.chips)
    few = best_rate(topology, ranks)
    monkeypatch.setattr(alike, "representatives", lambda topology, ranks, links, rate: ranks)
    every = best_rate(topology, ranks)
    assert few.rate == every.rate
    assert few.flows < every.flows


def test_what_is_alike_depends_on_links_that_count() -> None:
    made = torus.build("torus:4x4", (4, 4), 1.0, 0.0)
    rows = np.flatnonzero(made.axis == 1)
    assert alike.representatives(made, np.arange(16), rows, made.bandwidth[rows]).tolist() == [0]
    few = alike.representatives(made, np.array([0, 1, 4]), np.arange(made.links), made.bandwidth)
    assert few.tolist() == [0, 1]
    # One slow link in the middle of a mesh leaves the mirror image along the other axis.
    open_one = mesh.build("mesh:3x3", (3, 3), 1.0, 0.0)
    slow = open_one.bandwidth.copy()
    slow[open_one.port[4, 0, 0]] = 0.5
    some = alike.representatives(open_one, np.arange(9), np.arange(open_one.links), slow)
    assert some.tolist() == [0, 1, 3, 4, 6, 7]


@modest
@given(networks(st.integers(0, 12).map(float)), st.integers(0, 40))
def test_flows_are_those_of_networkx_plain_and_compiled(topology: Topology, wanted: int) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(topology.vertices))
    for u, v, rate in zip(topology.src, topology.dst, topology.bandwidth, strict=True):
        there = graph.get_edge_data(int(u), int(v), {"capacity": 0})["capacity"]
        graph.add_edge(int(u), int(v), capacity=there + int(rate))
    right = nx.maximum_flow_value(graph, 0, 1)
    capacity = topology.bandwidth.astype(np.int64)
    for times in (0, 10**9):
        flows = dinic.Flows(dinic.arcs(topology.vertices, topology.src, topology.dst), times)
        assert flows.send(capacity, 0, 1, wanted) == min(right, wanted)
        assert flows.send(capacity, 0, 1) == right
        side = flows.side(0)
        assert side[0]
        assert not side[1]
        assert capacity[side[topology.src] & ~side[topology.dst]].sum() == right


def test_without_numba_it_is_slower_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made = mesh.build("mesh:5x7", (5, 7), 3.0, 0.0)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "numba", None)
        assert not dinic.worth_compiling(10**12)
        plain = best_rate(made, np.arange(35))
    assert dinic.worth_compiling(10**12)
    monkeypatch.setattr(dinic, "worth_compiling", lambda work: True)
    compiled = best_rate(made, np.arange(35))
    assert plain.rate == compiled.rate == Fraction(6, 34)
    assert np.array_equal(plain.side, compiled.side)


def test_rings_and_tori_load_no_numba() -> None:
    code = (
        "import sys, numpy as np; from hopcast.topologies import torus;"
        "from hopcast.graph.optimum import best_rate;"
        "print(best_rate(torus.build('', (8, 8), 45e9, 0.0), np.arange(64)).rate, 'numba' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["20000000000/7", "False"]


def test_one_rank_has_no_rate() -> None:
    with pytest.raises(ValueError, match="given: 1"):
        best_rate(mesh.build("mesh:2", (2,), 1.0, 0.0), np.array([0]))


def test_what_cannot_be_reached_has_rate_zero() -> None:
    found = best_rate(network(3, 3, [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 5.0)]), np.arange(3))
    assert found.rate == 0
    assert found.links.tolist() == []
    assert optimum.best_rate(network(3, 3, [(0, 1, 1.0)]), np.arange(2)).rate == 0
