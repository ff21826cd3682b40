"""Slices with hosts, PCIe, NICs and the network between them: what is there, and what is assumed of it."""

import numpy as np
import pytest
from refused import one_line_error
from small_slices import cluster

from hopcast import chips, clusters
from hopcast.chips import slices
from hopcast.routing import routes
from hopcast.topologies import _multislice
from hopcast.verbs.bisect import worst_halving
from hopcast.verbs.show import show

# cluster: chips, hosts, links between chips, PCIe and NICs
COUNTS = [
    ("v5e:16x16,slices=2", 512, 64, 2 * 1024, 2 * 512 + 2 * 64),
    ("v5e:4x4,slices=2", 32, 4, 2 * 48, 2 * 32 + 2 * 4),
    ("v5e:4x2,slices=3", 24, 3, 3 * 20, 2 * 24 + 2 * 3),
    ("v5e:1x1,slices=2", 2, 2, 0, 2 * 2 + 2 * 2),
    ("v5e:2x2,slices=2", 8, 2, 2 * 8, 2 * 8 + 2 * 2),
    ("v5p:4x4x4,slices=2", 128, 32, 2 * 384, 2 * 128 + 2 * 32),
    ("v5p:4x4x8,twisted,slices=2", 256, 64, 2 * 768, 2 * 256 + 2 * 64),
    ("v6e:8x16,slices=4", 512, 64, 4 * 480, 2 * 512 + 2 * 64),
    ("v4:1x2x2,slices=2", 8, 2, 2 * 8, 2 * 8 + 2 * 2),
    ("v5litepod-256,slices=2", 512, 64, 2 * 1024, 2 * 512 + 2 * 64),
]


@pytest.mark.parametrize(("text", "n", "hosts", "ici", "outside"), COUNTS, ids=[c[0] for c in COUNTS])
def test_chips_hosts_and_links_are_those_of_the_slices(
    text: str, n: int, hosts: int, ici: int, outside: int
) -> None:
    where = cluster(text)
    topology, figures = where.topology, where.figures
    assert (topology.chips, topology.vertices) == (n, n + hosts + 1)
    assert where.facts["hosts"] == hosts
    assert np.bincount(topology.axis > 0, minlength=2).tolist() == [outside, ici]
    ends = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert sorted(ends) == sorted((b, a) for a, b in ends)
    assert len(set(ends)) == len(ends)
    out = np.bincount(topology.src[topology.axis == 0], topology.bandwidth[topology.axis == 0])
    held = n // hosts
    assert np.allclose(out[:n], figures["pcie.bandwidth"].value)
    machine = held * (figures["pcie.bandwidth"].value + figures["dcn.bandwidth"].value)
    assert np.allclose(out[n : n + hosts], machine)


@pytest.mark.parametrize("text", [c[0] for c in COUNTS])
def test_a_host_holds_a_block_of_neighbours_of_one_slice(text: str) -> None:
    topology = cluster(text).topology
    up = (topology.src < topology.chips) & (topology.axis == 0)
    for host in np.unique(topology.dst[up]):
        mine = topology.coords[topology.src[up & (topology.dst == host)]]
        low, high = mine.min(0), mine.max(0)
        assert np.prod(high - low + 1) == len(mine)
        assert low[0] == high[0]
        assert topology.place(int(host)).startswith(f"host {low[0]}/")


@pytest.mark.parametrize("chip", [n for n in chips.names() if "host.shape" in chips.load(n).shapes])
def test_every_slice_that_exists_has_the_hosts_that_are_counted(chip: str) -> None:
    figure = chips.load(chip)
    if figure.slices is None:
        return
    for total in (1, 4, 8, 16, 32, 64, 128, 256):
        for made in slices.shapes(chip, total):
            block = _multislice.block_of(made.shape, figure.shapes["host.shape"])
            assert total // np.prod(block) == made.hosts, made.shape
            assert all(n % b == 0 for n, b in zip(made.shape, block, strict=True))


def test_hosts_of_v5e_are_2x4_blocks_and_a_slice_that_does_not_tile_is_refused() -> None:
    assert _multislice.block_of((16, 16), (4, 2)) == (2, 4)
    with pytest.raises(ValueError, match=r"4x2 chips do not tile 3x5"):
        _multislice.block_of((3, 5), (4, 2))


def test_one_slice_stays_a_grid_of_chips() -> None:
    one, same = clusters.cluster("v5e:4x4"), clusters.cluster("v5e:4x4,slices=1")
    assert one.topology.is_grid
    assert same.topology.is_grid
    assert (one.topology.links, one.facts, one.assumed) == (same.topology.links, same.facts, same.assumed)
    assert not clusters.with_hosts(one).topology.is_grid


def test_the_network_of_a_pod_carries_what_google_says_and_halves_the_slices() -> None:
    where = cluster("v5e:16x16,slices=2")
    assert worst_halving(where.topology).one_way == pytest.approx(where.figures["pod.dcn.bandwidth"].value)


def test_show_counts_hops_inside_a_slice() -> None:
    row, one = show("v5e:4x8,slices=3").rows[0], show("v5e:4x8").rows[0]
    assert (row["chips"], row["hosts"]) == (96, 12)
    assert (row["diameter"], row["mean_hops"]) == (one["diameter"], one["mean_hops"])
    twisted, straight = (show(f"v5p:4x4x8{t},slices=2").rows[0]["diameter"] for t in (",twisted", ""))
    assert (twisted, straight) == (6, 8)


LATENCIES = [
    ("", 1e-6, 1e-6, 10e-6, ["pcie_latency=1us", "dcn_latency=10us"]),
    (",latency=0", 0, 0, 0, []),
    (",latency=2us", 2e-6, 2e-6, 2e-6, []),
    (",dcn_latency=4us", 1e-6, 1e-6, 4e-6, ["pcie_latency=1us"]),
    (",latency=0,pcie_latency=3us,ici_latency=5us", 5e-6, 3e-6, 0, []),
]


@pytest.mark.parametrize(("options", "ici", "pcie", "dcn", "says"), LATENCIES, ids=[o[0] for o in LATENCIES])
def test_latencies_and_what_is_assumed_of_them(
    options: str, ici: float, pcie: float, dcn: float, says: list[str]
) -> None:
    where = clusters.cluster(f"v5e:4x4,slices=2{options}")
    topology = where.topology
    pairs = np.array([[0, 1], [0, 16]], np.int32)
    assert routes(where, pairs[:, 0], pairs[:, 1]).latency == pytest.approx([ici, 2 * pcie + dcn])
    assert topology.latency[topology.axis > 0] == pytest.approx(ici)
    assumed = " ".join(where.assumed)
    assert "never blocks" in assumed
    assert [w for w in ("pcie_latency=1us", "dcn_latency=10us") if w in assumed] == says


def test_bandwidths_can_be_given_and_must_be_where_nobody_says_them() -> None:
    topology = clusters.cluster("7x:4x4x4,slices=2,pcie_bandwidth=50GB/s,dcn_bandwidth=10GB/s").topology
    outside = topology.bandwidth[topology.axis == 0]
    assert sorted(set(outside.tolist())) == [40e9, 50e9]
    assert set(topology.bandwidth[topology.axis > 0].tolist()) == {90e9}


BAD = [
    ("v5e:4x4,slices=0", ["slices=0", "slices=2"]),
    ("v5e:4x4,slices=1.5", ["slices=1.5", "whole number"]),
    ("v5e:16x16,slices=9999", ["9999", "3906"]),
    ("v5e:4x4,slices", ["slices=VALUE"]),
    ("v5e:4x4,slices=2,slice=3", ["slice", "slices"]),
    ("7x:4x4x4,slices=2", ["pcie_bandwidth="]),
    ("v3:4x4,slices=2,pcie_bandwidth=16GB/s", ["dcn_bandwidth="]),
    ("v5e:4x4,slices=2,dcn_latency=3", ["dcn_latency", "5us"]),
    ("torus:4x4,slices=2", ["slices", "bandwidth"]),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=[b[0] for b in BAD])
def test_a_bad_cluster_is_refused_in_one_line(text: str, says: list[str]) -> None:
    said = one_line_error(clusters.cluster, text)
    assert [word for word in says if word not in said] == []
