"""The two ways round a ring, and both ways of a cable at half duplex: what the simplest bounds miss."""

import numpy as np
import pytest
from grids import cluster
from hypothesis import given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast.graph.concurrent import Demands, lengths, seconds
from hopcast.graph.usable import usable
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology
from hopcast.price import bounds_exact as exact
from hopcast.price.bounds import Bound, bound
from hopcast.price.bounds_around import around
from hopcast.price.bounds_kinds import Task
from hopcast.price.bounds_traffic import Traffic, standard
from hopcast.topologies import full_mesh
from hopcast.topologies._grid import grid

modest = settings(max_examples=60, deadline=None, derandomize=True)
RATE = 45e9


def everyone(topology: Topology) -> np.ndarray:
    return np.arange(topology.chips, dtype=np.int32)[None]


def program(topology: Topology, parts: Traffic) -> float:
    """What the linear program over all routings proves: the least that bytes take."""
    network = usable(topology)
    demands = Demands(*exact.pairs_of(Task(network, parts, everyone(topology))))
    return seconds(network, demands, lengths(network, demands))


def shifted(text: str, shift: int) -> tuple[Topology, Traffic, Bound]:
    where = cluster(text)
    parts = standard("permute", where.topology.chips, shift=shift)
    return where.topology, parts, bound(where, parts, everyone(where.topology), 1.0)


@pytest.mark.parametrize("n", [3, 4, 5, 8, 16])
def test_a_permute_round_a_ring_goes_both_ways(n):
    for shift in range(1, n):
        topology, parts, found = shifted(f"{n}w", shift)
        assert found.seconds == pytest.approx(shift * (n - shift) / n**2, rel=1e-12)
        assert found.seconds == pytest.approx(program(topology, parts), rel=1e-9)


@pytest.mark.parametrize("text", ["3wx3w", "4wx4w", "3wx5w", "4wx3wx3w", "4wx3", "3x3", "2x4"])
def test_a_permute_on_a_grid_is_bounded_as_a_linear_program_does(text):
    for shift in (1, 2, 3, 5):
        topology, parts, found = shifted(text, shift)
        assert found.seconds == pytest.approx(program(topology, parts), rel=1e-9)


@modest
@given(st.data())
def test_any_pairs_on_a_torus_take_no_less(data):
    """Never more than the linear program says, whatever pairs there are and however fast links are."""
    shape = data.draw(st.sampled_from([(3,), (5,), (3, 3), (3, 4)]))
    made = grid("grid", list(shape), [True] * len(shape), 1.0, 0.0)
    rate = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=made.links, max_size=made.links))
    topology = made.with_links(np.array(rate))
    n = made.chips
    one_of_them = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    pairs = data.draw(st.lists(one_of_them, min_size=1, max_size=6, unique=True))
    src, dst = np.array(pairs, np.int32).T
    zero = np.zeros(n)
    parts = Traffic(n, 0.0, zero, zero, 0.0, src, dst, np.full(len(pairs), 1 / len(pairs)))
    found = around(Task(usable(topology), parts, everyone(topology)))
    assert found is not None
    assert 0 < found.seconds <= program(topology, parts) * (1 + 1e-9)


def test_a_permute_over_cables_between_all_is_bounded_by_the_best_routing():
    topology = full_mesh.build("full_mesh:6", (6,), 1.0, 0.0)
    parts = standard("permute", 6, shift=1)
    where = Cluster("full_mesh:6", topology, "full_mesh", "shortest")
    found = bound(where, parts, everyone(topology), 1.0)
    assert found.seconds == pytest.approx(program(topology, parts), rel=1e-9)
    assert found.seconds > standard("permute", 6).port()[0].max() / 5  # what a port of five links says


def test_the_ways_round_are_said():
    row = hc.predict("permute", "ring:8,bandwidth=45GB/s", size="8MiB")
    assert row.rows[0]["bound_us"] == pytest.approx(7 / 64 * 8 * 2**20 / RATE * 1e6)
    found = shifted("8w", 1)[2]
    assert "links up x counted 7 times and links down 1" in found.what
    assert len(found.links) == 16


@pytest.mark.parametrize(
    ("name", "text", "seconds"),
    [
        # What comes in at all ranks, over all cables: 3 D over 4 of them, and so on.
        ("all_gather", "4w", 3 / 4), ("reduce_scatter", "4w", 3 / 4), ("all_gather", "8w", 7 / 8),
        ("all_gather", "3wx3w", 8 / 18), ("broadcast", "2x4", 7 / 10), ("reduce", "2x4", 7 / 10),
        ("broadcast", "8w", 7 / 8), ("all_reduce", "4w", 6 / 4),
    ],
)  # fmt: skip
def test_at_half_duplex_all_that_arrives_goes_over_all_cables_once(name, text, seconds):
    axes = text.split("x")
    made = grid(text, [int(a.rstrip("w")) for a in axes], ["w" in a for a in axes], 1.0, 0.0, True)
    where = Cluster(text, made, "grid", "dimension_order")
    found = bound(where, standard(name, made.chips), everyone(made), 1.0)
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    assert found.kind == "partition"


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter"])
def test_a_ring_at_half_duplex_is_an_optimum(collective):
    name = "ring:4,duplex=half,bandwidth=45GB/s,latency=0"
    row = hc.predict(collective, name, size="1GiB", algorithm="ring").rows[0]
    assert row["efficiency"] == pytest.approx(1.0, rel=1e-9)
    assert row["bound_us"] == pytest.approx(0.75 * 2**30 / RATE * 1e6, rel=1e-9)
