"""Figures that others have published, through the command line, by all three prices.

Sources: jax-ml scaling-book (TPUs, Sharding), Gordic 2026 (Inside TPU and GPU clusters), Patarasuk and Yuan
2009; the routed all_to_all values were brute-forced over all pairs. T W / D is the time in units of size over
link bandwidth.
"""

import numpy as np
import pytest
from cli import row, rows, run

W = 45e9
PRICES = ("formula", "steps", "flows")
GENERIC = "bandwidth=45GB/s,latency=0"


@pytest.mark.parametrize("price", PRICES)
def test_chain_of_four_in_a_v5e_slice(price: str) -> None:
    """Pop quiz 2 of the Sharding chapter: 3 x 8.4e6 / 4.5e10, four groups."""
    words = ["--size", "bf16[2048,8192]", "--over", "x", "--algorithm", "chain", "--price", price]
    got = row("predict", "all_gather", "v5e:4x4,latency=0", *words)
    assert got["time_us"] == pytest.approx(559.241, abs=5e-4)
    assert got["groups"] == 4
    assert row("predict", "all_gather", "v5e:4x4", *words)["time_us"] == pytest.approx(562.241, abs=5e-4)


RATIOS = [
    ("all_gather", f"torus:8,{GENERIC}", "bidirectional_ring", 4 / 8),
    ("all_gather", f"torus:8,{GENERIC}", "bidirectional_ring,split=on", 7 / 16),
    ("all_gather", f"torus:8,{GENERIC}", "ring", 7 / 8),
    ("all_gather", f"torus:4x4,{GENERIC}", "multi_axis", 15 / 64),
    ("all_gather", f"torus:4x4x4,{GENERIC}", "multi_axis", 63 / 384),
    ("all_gather", f"torus:5x5,{GENERIC}", "multi_axis", 24 / 100),
    ("reduce_scatter", f"mesh:4x4,{GENERIC}", "multi_axis", 15 / 32),
    ("all_to_all", f"torus:4x4,{GENERIC}", "direct", 1 / 32),
    ("all_to_all", f"mesh:4x4,{GENERIC}", "direct", 1 / 16),
    ("all_to_all", f"torus:16x16,{GENERIC}", "direct", 1 / 128),
    ("all_to_all", f"torus:4x4x8,{GENERIC}", "direct", 1 / 128),
    ("all_to_all", f"ring:8,{GENERIC}", "direct", 1 / 8),
    ("all_to_all", f"ring:8,{GENERIC}", "ring", 7 / 16),
    ("all_to_all", f"chain:4,{GENERIC}", "direct", 1 / 4),
]


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize(("collective", "cluster", "algorithm", "ratio"), RATIOS)
def test_time_in_units_of_size_over_bandwidth(
    collective: str, cluster: str, algorithm: str, ratio: float, price: str
) -> None:
    got = row("predict", collective, cluster, "--size", "1e9", "--algorithm", algorithm, "--price", price)
    assert got["time_us"] * 1e-6 * W / 1e9 == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize(("price", "ratio"), [("formula", 15 / 32), ("steps", 15 / 32), ("flows", 1 / 2)])
def test_all_gather_on_an_open_mesh_overlaps_its_phases(price: str, ratio: float) -> None:
    got = row(
        "predict",
        "all_gather",
        f"mesh:4x4,{GENERIC}",
        "--size",
        "1e9",
        "--algorithm",
        "multi_axis",
        "--price",
        price,
    )
    assert got["time_us"] * 1e-6 * W / 1e9 == pytest.approx(ratio, rel=1e-9)


def test_simulate_says_why_flows_are_slower_than_steps() -> None:
    ran = run("simulate", "all_gather", f"mesh:4x4,{GENERIC}", "--size", "1e9", "--algorithm", "multi_axis")
    assert "finish a phase early" in ran.out
    assert "6.7% longer" in ran.out  # 1/2 against 15/32


@pytest.mark.parametrize("cluster", ["torus:4x4", "mesh:4x4", "ring:8", "chain:4"])
def test_all_to_all_without_a_named_algorithm_is_at_the_bound(cluster: str) -> None:
    got = row("predict", "all_to_all", f"{cluster},{GENERIC}", "--size", "1e9")
    assert got["efficiency"] == pytest.approx(1, rel=1e-9)


ALL_REDUCE = [
    ("ring:16", "ring", 44769.243),
    ("torus:16x16", "sequential_rings", 47595.445),
    ("torus:8x8x8", "sequential_rings", 47670.652),
]


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize(("cluster", "algorithm", "time_us"), ALL_REDUCE)
def test_all_reduce_of_one_gibibyte(cluster: str, algorithm: str, time_us: float, price: str) -> None:
    """Equal to SimGrid (CM02, factors off) and to the closed form."""
    where = f"{cluster},bandwidth=45GB/s,latency=1us"
    got = row("predict", "all_reduce", where, "--size", "1GiB", "--algorithm", algorithm, "--price", price)
    assert got["time_us"] == pytest.approx(time_us, abs=2e-3)


@pytest.mark.parametrize("price", PRICES)
def test_pipelined_chain_moves_the_array_once(price: str) -> None:
    where = "chain:4,bandwidth=45GB/s,latency=1us"
    got = row(
        "predict", "all_reduce", where, "--size", "1GiB", "--algorithm", "pipelined_chain", "--price", price
    )
    d_over_w = 2**30 / W * 1e6
    assert d_over_w < got["time_us"] <= 1.1 * d_over_w
    best = min((2 * 2 + m - 1) * (1 + d_over_w / m) for m in range(1, 4097))
    assert got["time_us"] == pytest.approx(best, rel=1e-9)


def test_all_to_all_on_a_ring_with_latency() -> None:
    where = "ring:16,bandwidth=45GB/s,latency=1us"
    got = row("predict", "all_to_all", where, "--size", "1MiB", "--per-rank", "--price", "flows")
    assert got["time_us"] == pytest.approx(47.603, abs=1e-3)
    assert (got["size_bytes"], got["per_rank_bytes"]) == (16 * 2**20, 2**20)


def test_two_routes_across_a_v5e_slice() -> None:
    """Example 1 of the article: (3,3) to (0,0), 2 paths of 6 hops, 93.2 us + 6 us."""
    got = row("route", "v5e:4x4", "3,3", "0,0", "--size", "bf16[2048,2048]")
    assert (got["hops"], got["disjoint_routes"]) == (6, 2)
    assert got["bandwidth_us"] == pytest.approx(93.207, abs=5e-4)
    assert got["latency_us"] == pytest.approx(6)


def test_one_axis_of_a_torus_leaves_the_other_idle() -> None:
    where = f"torus:4x4,{GENERIC}"
    words = ["--size", "1e9", "--over", "x", "--algorithm", "bidirectional_ring,split=on"]
    got = row("predict", "all_gather", where, *words)
    assert got["efficiency"] == pytest.approx(1, rel=1e-9)
    assert got["limit_us"] <= got["bound_us"]
    assert "idle_axis" in [f["code"] for f in got["findings"]]


def test_every_algorithm_stays_above_the_bound() -> None:
    found = rows(
        "predict", "all_reduce", "torus:4x4,bandwidth=45GB/s", "--size", "1MiB", "--algorithm", "all"
    )
    assert len(found) > 3
    assert all(r["time_us"] >= r["bound_us"] * (1 - 1e-9) >= r["limit_us"] * (1 - 1e-8) for r in found)
    assert np.all(np.diff([r["time_us"] for r in found]) >= 0)


def test_the_antipodal_chunk_all_one_way_as_simgrid_routes() -> None:
    """53.43 us, where half each way gives 47.60."""
    where = "ring:16,bandwidth=45GB/s,latency=1us,antipodal=forward"
    words = ["--size", "16MiB", "--price", "flows", "--algorithm", "direct"]
    assert row("predict", "all_to_all", where, *words)["time_us"] == pytest.approx(53.429, abs=1e-3)
