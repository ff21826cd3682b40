"""Which way data go inside a slice and between slices, and round what is dead."""

import numpy as np
import pytest
from small_slices import cluster

from hopcast import clusters, faults
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology
from hopcast.names import InputError
from hopcast.routing import routes

PLACES = ["v5e:4x4,slices=2", "v5e:2x4,slices=3", "v4:2x2x1,slices=2", "v5p:4x4x8,twisted,slices=2"]


@pytest.mark.parametrize("text", PLACES)
def test_every_vertex_is_found_by_its_own_name(text: str) -> None:
    topology = cluster(text).topology
    for v in range(topology.vertices):
        assert clusters.vertex(topology, topology.place(v)) == v
        assert clusters.vertex(topology, topology.place(v).replace("host ", "host:")) == v
    assert clusters.vertex(topology, f"rank {topology.chips - 1}") == topology.chips - 1


def every_pair(topology: Topology, most: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of vertices, or some that are spread evenly."""
    src, dst = np.divmod(np.arange(topology.vertices**2), topology.vertices)
    some = np.unique(np.linspace(0, len(src) - 1, most).astype(int))
    return src[some].astype(np.int32), dst[some].astype(np.int32)


@pytest.mark.parametrize("text", PLACES)
def test_routes_lead_from_one_end_to_the_other(text: str) -> None:
    where = cluster(text)
    topology = where.topology
    src, dst = every_pair(topology)
    found = routes(where, src, dst)
    assert np.allclose(np.bincount(found.pair, found.weight, len(src)), 1)
    assert np.all(np.diff(found.pair) >= 0)
    for i, pair in enumerate(found.pair):
        way = found.links[found.start[i] : found.start[i + 1]]
        at = src[pair]
        for link in way:
            assert topology.src[link] == at
            at = topology.dst[link]
        assert at == dst[pair]
        assert found.latency[i] == pytest.approx(topology.latency[way].sum())
        inside = max(src[pair], dst[pair]) < topology.chips and np.all(
            topology.coords[src[pair], 0] == topology.coords[dst[pair], 0]
        )
        assert inside == bool(np.all(topology.axis[way] > 0)) or not len(way)


def test_routes_of_chips_are_as_short_as_inside_one_slice() -> None:
    for one, many in (("v5e:4x4", "v5e:4x4,slices=2"), ("v5p:4x4x8,twisted", "v5p:4x4x8,twisted,slices=2")):
        alone, where = cluster(one), cluster(many)
        src, dst = every_pair(alone.topology)
        n = alone.topology.chips
        first, second = routes(alone, src, dst), routes(where, src + n, dst + n)
        assert np.array_equal(first.hops, second.hops)
        assert np.array_equal(first.weight, second.weight)
        assert np.array_equal(first.links + alone.topology.links, second.links)


# src, dst of v5e:4x4,slices=2 (hosts hold 2x4): what is passed
WAYS = [
    ("0/0,0", "0/1,2", "0/0,0 0/1,0 0/1,1 0/1,2"),
    ("0/3,3", "1/0,0", "0/3,3 host 0/1 dcn host 1/0 1/0,0"),
    ("host 0/0", "0/0,2", "host 0/0 0/0,2"),
    ("host 0/1", "0/0,2", "host 0/1 0/2,2 0/1,2 0/0,2"),
    ("0/3,1", "host 0/0", "0/3,1 0/2,1 0/1,1 host 0/0"),
    ("host 0/0", "1/0,2", "host 0/0 dcn host 1/0 1/0,2"),
    ("host 0/0", "host 0/1", "host 0/0 dcn host 0/1"),
    ("0/0,0", "dcn", "0/0,0 host 0/0 dcn"),
    ("dcn", "host 1/1", "dcn host 1/1"),
]


@pytest.mark.parametrize(("src", "dst", "way"), WAYS, ids=[f"{a} to {b}" for a, b, _ in WAYS])
def test_which_way_data_go(src: str, dst: str, way: str) -> None:
    where = cluster("v5e:4x4,slices=2")
    topology = where.topology
    passed = [clusters.vertex(topology, src), *topology.dst[links_between(where, src, dst)].tolist()]
    assert " ".join(topology.place(int(v)) for v in passed) == way


def links_between(where: Cluster, src: str, dst: str) -> np.ndarray:
    """The links of the only route, in order."""
    a, b = (np.array([clusters.vertex(where.topology, v)]) for v in (src, dst))
    found = routes(where, a, b)
    assert len(found.hops) == 1
    return found.links


def hops_between(where: Cluster, src: str, dst: str) -> tuple[int, set[str]]:
    topology, links = where.topology, links_between(where, src, dst)
    return len(links), {topology.axes[i].name for i in topology.axis[links]}


def test_dead_cables_are_gone_round_inside_the_slice_and_a_dead_nic_over_another_host() -> None:
    where = clusters.cluster("v5e:16x16,slices=2")
    assert hops_between(where, "1/15,3", "1/0,3") == (1, {"x"})
    broken = faults.degrade(where, dead=["1/15,3:1/0,3", "host 0/0:dcn"])
    hops, axes = hops_between(broken, "1/15,3", "1/0,3")
    assert (hops, "dcn" in axes) == (3, False)
    assert hops_between(broken, "0/15,3", "0/0,3") == (1, {"x"})
    assert hops_between(broken, "0/0,0", "1/0,0")[0] == 5
    assert hops_between(broken, "0/4,4", "1/0,0")[0] == 4


def test_a_chip_whose_cables_are_all_dead_cannot_be_reached_in_its_slice() -> None:
    dead = ["0/0,0:0/0,1", "0/0,0:0/1,0"]
    where = faults.degrade(clusters.cluster("v5e:2x2,slices=2"), dead=dead)
    with pytest.raises(InputError, match="no route from 0/0,0 to 0/1,1"):
        routes(where, np.array([0]), np.array([3]))


def test_no_pairs_have_no_routes() -> None:
    found = routes(clusters.cluster("v5e:4x4,slices=2"), np.zeros(0, np.int32), np.zeros(0, np.int32))
    assert [len(c) for c in (found.pair, found.weight, found.links, found.latency)] == [0] * 4
    assert found.start.tolist() == [0]
