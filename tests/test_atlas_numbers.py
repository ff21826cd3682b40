"""Every number in a figure of the atlas is the published one, or stands in the relation that it must."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from atlas_figures import fact, picture, words_of
from test_worked import printed

from hopcast.atlas.figures import crossover, exchange
from hopcast.units import show_seconds

ROOT = Path(__file__).parent.parent
D, W, PORT, NODE = 2.0**23, 45e9, 450e9, 400e9  # 8 MiB; v5e link, H100 port, H100 node; SI, one way
GIB = 2.0**30
BOOK, POST = "Scaling Book", "Gordic 2026"

# Published: figure, fact, value, source. Values are SI; times follow from the published formula.
PUBLISHED: list[tuple[str, str, float, str]] = [
    ("torus", "chips", 256, f"{POST}: v5e 16 x 16"),
    ("torus", "per_chip", 4, POST),
    ("topo_3d", "chips", 64, f"{POST}: smallest full 3-D torus"),
    ("topo_3d", "cables", 192, "3 per chip"),
    ("topo_3d", "per_chip", 6, POST),
    ("tpu_topology1", "chips", 256, POST),
    ("tpu_topology1", "hosts", 32, f"{BOOK}: tpus"),
    ("tpu_topology1", "cables", 512, "2 per chip"),
    ("tpu_topology1", "pcie_a_host", 8, f"{POST}: 8 PCIe connections"),
    ("tpu_topology2", "dcn", 3.125e9, f"{BOOK}: tpus"),
    ("tpu_topology2", "bandwidth_us", 64 * 2**20 / 16e9 * 1e6, "PCIe at 16 GB/s is the slowest stage"),
    ("pyramid", "vmem", 22 * 8.2e11, f"{BOOK}: VMEM is 22 x HBM"),
    ("pyramid", "hbm", 8.2e11, BOOK),
    ("pyramid", "ici", 4.5e10, BOOK),
    ("pyramid", "pcie", 1.6e10, BOOK),
    ("pyramid", "dcn", 3.125e9, BOOK),
    ("tpu_example1", "size_bytes", 8_388_608, POST),
    ("tpu_example1", "hops", 6, POST),
    ("tpu_example1", "disjoint_routes", 2, POST),
    ("tpu_example1", "bandwidth_us", D / (2 * W) * 1e6, f"{POST}: 93.2 us"),
    ("tpu_example1", "time_us", D / (2 * W) * 1e6 + 6, f"{POST}: 6 us more"),
    ("tpu_example2", "size", 2.0**35, f"{POST}: bf16 (128Ki, 128Ki)"),
    ("tpu_example2", "pcie", 2.0**31 / 1.6e10, "134 ms"),
    ("tpu_example2", "ici", 15 / 16 * 2.0**35 / 9e10, "358 ms"),
    ("tpu_example2", "hbm", 2.0**35 / 8.2e11, "42 ms"),
    ("tpu_example2", "mxu", 2 * 2.0**34 * 128 / 1.97e14, "22 ms"),
    ("gather_motivation", "size", D, "bf16[2048,2048]"),
    ("gather_motivation", "time", 3 / 8 * D / W, f"{BOOK}: the antipodal shard split, (N-1)/(2N)"),
    ("reduce_scatter_motivation", "time", 3 / 8 * D / W, "as all_gather"),
    ("ring", "rings", 32, f"{POST}: 16 rows and 16 columns"),
    ("ring", "length", 16, POST),
    ("representation", "chips", 8, POST),
    ("representation", "cables", 8, POST),
    ("all_gather1", "steps", 4, f"{BOOK}: floor(N/2)"),
    ("all_gather1", "time_formula", D / (2 * W), BOOK),
    ("all_gather2", "steps", 3, f"{POST}: N - 1"),
    ("all_gather2", "time_formula", 3 / 4 * D / W, POST),
    ("all_gather3", "steps", 3, f"{POST}: N - 1"),
    ("all_gather3", "time_formula", 3 / 4 * D / W, POST),
    ("all_gather4", "steps", 4, "floor(4/2) twice"),
    ("all_gather4", "time_formula", 15 / 16 * D / (4 * W), BOOK),
    ("rs1", "time_formula", D / (2 * W), BOOK),
    ("all_reduce", "time_formula", D / W, BOOK),
    ("rs2", "steps", 3, POST),
    ("rs2", "time_formula", 3 / 4 * D / W, POST),
    ("rs3", "time_formula", 3 / 4 * D / W, POST),
    ("ata1", "time_formula", D / (8 * W), BOOK),
    ("ata1", "most", 8, "N^2 / 8 chunks"),
    ("ata2", "time_formula", 3 / 8 * D / W, f"{BOOK}: (N-1)/(2N)"),
    ("ata2", "most", 6, "3 + 2 + 1 chunks"),
    ("ata3", "time_formula", D / (4 * W), BOOK),
    ("ata3", "most", 4, "(N/2)^2 chunks"),
    ("gpu_topology", "gpus", 1024, BOOK),
    ("gpu_topology", "units", 4, BOOK),
    ("gpu_topology", "nodes", 128, BOOK),
    ("gpu_topology", "nvswitches", 512, BOOK),
    ("gpu_topology", "leaves", 32, BOOK),
    ("gpu_topology", "spines", 16, BOOK),
    ("gpu_topology", "up_each", 2, "2 x 400 Gb/s to each of 16 spines"),
    ("gpu_topology", "node_leaf", 1024, "NVIDIA, H100 SuperPOD, 8 a node"),
    ("gpu_topology", "leaf_spine", 1024, "NVIDIA, H100 SuperPOD, table 4"),
    ("gpu_topology", "bisection", 25.6e12, POST),
    ("gpu_topology", "node_rate", 400e9, POST),
    ("gpu_ring", "time_step", D / 8 / PORT, POST),
    ("gpu_ring", "time_formula", 7 / 8 * D / PORT, BOOK),
    ("sharp", "time_ring", 2 * 7 / 8 * GIB / PORT, BOOK),
    ("gpu_ata", "steps", 7, POST),
    ("gpu_ata", "time_formula", 7 / 64 * D / PORT, BOOK),
    ("ag_tree", "steps", 3, "log2(8)"),
    ("ag_tree", "time_formula", 7 / 8 * D / PORT, POST),
    ("rs_tree", "steps", 3, "log2(8)"),
    ("rs_tree", "time_formula", 7 / 8 * D / PORT, POST),
    ("ag_hierarchy", "time_network", 31 / 32 * GIB / NODE, POST),
    ("ag_hierarchy", "time_node", 7 / 8 * GIB / PORT, POST),
    ("ag_hierarchy", "bound", 31 / 32 * GIB / NODE, "an all_gather over 32 nodes"),
    ("ar_hierarchy", "time_network", 2 * 31 / 32 * GIB / NODE, POST),
    ("ar_hierarchy", "time_node", 2 * 7 / 8 * GIB / PORT, POST),
    ("ata_hierarchy", "time_formula", GIB * 31 / (32**2 * NODE), BOOK),
    ("ata_hierarchy", "time_flows", GIB * 31 / (32**2 * NODE), BOOK),
    ("ar_shard_hierarchy", "time_formula", 2 * 31 / 32 * GIB / NODE, "exact: 2 (R-1)/R D / W_node"),
    ("ar_shard_hierarchy", "time_flows", 2 * 31 / 32 * GIB / NODE, "eight groups at once"),
    ("ar_shard_hierarchy", "net_1", 5326.8e-6, "exact, 1,024 GPUs"),
    ("ar_shard_hierarchy", "net_8", 5326.8e-6, "exact, 1,024 GPUs"),
    ("ar_shard_hierarchy", "net_32", 1300.2e-6, "exact, 1,024 GPUs"),
    ("ar_shard_hierarchy", "net_256", 125.8e-6, "exact, 1,024 GPUs"),
    ("ar_shard_hierarchy", "node_1", 4175.7e-6, "exact, 1,024 GPUs"),
    ("twisted_torus", "straight.diameter", 8, "brute force"),
    ("twisted_torus", "straight.hops", 4, "brute force"),
    ("twisted_torus", "twisted.diameter", 6, "brute force"),
    ("twisted_torus", "twisted.hops", 3.4375, "brute force"),
    ("twisted_torus", "gain", 128 / 73 + 0, "128 / 73.3: most loaded links, brute force"),
    ("dgx_node", "nvswitches", 4, BOOK),
    ("dgx_node", "links", 18, BOOK),
    ("dgx_node", "gpu_rate", 450e9, BOOK),
    ("dgx_node", "node_rate", 400e9, BOOK),
    ("dgx_node", "bisection", 1.8e12, f"{POST}: 4 x 450 GB/s"),
    ("nvl72", "gpus", 72, "NVIDIA, GB200"),
    ("nvl72", "nvswitches", 18, "NVIDIA, GB200: 9 trays of 2"),
    ("nvl72", "trays", 18, "NVIDIA, GB200"),
    ("nvl72", "gpu_rate", 900e9, "NVIDIA, GB200: 1.8 TB/s both ways"),
    ("nvl72", "bisection", 32.4e12, "half of 64.8 TB/s both ways"),
    ("moe_nvl72", "share", 8 / 72, f"{POST}: about 11 %"),
    ("rails", "full.pxn", GIB * 31 / (32**2 * NODE), BOOK),
    ("heat_all_to_all", "time", GIB / W * 8 / (4 * 64), f"{BOOK}: max(dim) / (4 N) on open axes"),
    ("heat_gather", "time", 15 / 16 * GIB / (2 * W), f"{BOOK}: two links into a corner"),
]  # fmt: skip
TOLERANCE = {
    ("twisted_torus", "gain"): 6e-3,  # 73 is 73.3 rounded
    ("tpu_example2", "hbm"): 3e-3,  # the vectors are read, too
    ("ar_shard_hierarchy", "net_256"): 5e-4,  # rounded
}


@pytest.mark.parametrize(
    ("name", "key", "value", "source"), PUBLISHED, ids=[f"{n}.{k}" for n, k, *_ in PUBLISHED]
)
def test_a_number_is_the_published_one(name: str, key: str, value: float, source: str) -> None:
    assert source
    assert fact(name, key) == pytest.approx(value, rel=TOLERANCE.get((name, key), 1e-4))


ONE_FORMULA = [
    "all_gather1",
    "all_gather2",
    "all_gather3",
    "all_gather4",
    "rs1",
    "all_reduce",
    "rs2",
    "rs3",
    "ata1",
    "ata2",
    "ata3",
    "gpu_ring",
    "gpu_ata",
    "ag_tree",
    "rs_tree",
]


@pytest.mark.parametrize("name", ONE_FORMULA)
def test_three_prices_agree_where_the_article_has_one_formula(name: str) -> None:
    assert fact(name, "time_steps") == pytest.approx(fact(name, "time_formula"), rel=1e-9)
    assert fact(name, "time_flows") == pytest.approx(fact(name, "time_formula"), rel=1e-9)
    assert show_seconds(fact(name, "time_formula")) in words_of(picture(name).svg)
    assert "formula, steps and flows agree" in words_of(picture(name).svg).replace("  ", " ")


# In D/W: all_gather and reduce_scatter, all_reduce, all_to_all of the columns of figure 24, N = 8 on a line.
TPU_TABLE = {
    0: (1 / 2, 1, 1 / 8),
    1: (7 / 8, 14 / 8, 7 / 16),
    2: (7 / 8, 14 / 8, 1 / 4),
    3: (15 / 64, 15 / 32, 4 / (8 * 16)),
    4: (63 / 64 / 6, 63 / 64 / 3, 4 / (8 * 64)),
    5: (15 / 32, 15 / 16, 4 / (4 * 16)),
}
LARGE = {0: (1 / 2, 1, 1 / 8), 1: (1, 2, 1 / 2), 2: (1, 2, 1 / 4)}  # N to infinity


@pytest.mark.parametrize("column", TPU_TABLE)
def test_the_table_of_tpus_is_that_of_the_article(column: int) -> None:
    """Source: Gordic 2026, figure 24; jax-ml scaling-book, chapter Sharding; exact forms derived."""
    gather, both, exchanged = TPU_TABLE[column]
    for row, value in (
        ("all_gather", gather),
        ("reduce_scatter", gather),
        ("all_reduce", both),
        ("all_to_all", exchanged),
    ):
        key = f"{row}.{column}"
        assert fact("totaltime", f"{key}.formula") == pytest.approx(value, rel=1e-9), key
        assert fact("totaltime", f"{key}.steps") == pytest.approx(value, rel=1e-9), key
        open_axes = column == 5 and row in ("all_gather", "all_reduce")
        flows = {"all_gather": 1 / 2, "all_reduce": 31 / 32}[row] if open_axes else value
        assert fact("totaltime", f"{key}.flows") == pytest.approx(flows, rel=1e-9), key
    if column in LARGE:
        for row, limit in zip(("all_gather", "all_reduce", "all_to_all"), LARGE[column], strict=True):
            assert fact("totaltime", f"{row}.{column}.large") == pytest.approx(limit, rel=2e-3)


def test_the_table_of_gpus_is_that_of_the_article() -> None:
    """Source: Gordic 2026, figure 35; jax-ml scaling-book, chapter GPUs."""
    node = (7 / 8 * GIB / PORT, 2 * 7 / 8 * GIB / PORT, GIB / PORT, 0.0, 7 / 64 * GIB / PORT)
    nodes = (
        31 / 32 * GIB / NODE,
        2 * 31 / 32 * GIB / NODE,
        GIB / NODE,
        2 * 31 / 32 * GIB / NODE,
        GIB * 31 / 1024 / NODE,
    )
    for k, (inside, across) in enumerate(zip(node, nodes, strict=True)):
        assert fact("totaltime_gpu", f"{k}.node.formula") == pytest.approx(inside, rel=3e-3)
        assert fact("totaltime_gpu", f"{k}.nodes.formula") == pytest.approx(across, rel=1e-6)
        # Pieces on their way up and down cost a tenth at most; nothing is faster than the formula.
        assert across * (1 - 1e-9) <= fact("totaltime_gpu", f"{k}.nodes.flows") <= 1.11 * across


def test_sums_in_the_switch_come_near_the_ideal_ratio() -> None:
    """1.75 for 8 GPUs (Gordic 2026); pieces up and down cost a little."""
    assert 1.7 < fact("sharp", "ratio") <= 1.75
    assert fact("sharp", "time_nvls") == pytest.approx((1 + 1 / 8) * GIB / PORT, rel=5e-3)


def test_classes_of_tpus_are_those_of_the_article() -> None:
    facts = picture("tpu_classes").facts
    assert facts["axes_2"] == "v2 v3 v5e v6e"
    assert facts["axes_3"] == "v4 v5p 7x 8t"


def test_the_pyramid_narrows() -> None:
    rates = [float(v) for v in picture("pyramid").facts.values()]  # type: ignore[arg-type]
    assert rates == sorted(rates, reverse=True)


def test_shards_held_are_those_of_the_article() -> None:
    """1, 3, 5, 7, 8 on a ring of 8 both ways; 1 + t one way."""
    for name, held in (("all_gather1", (1, 3, 5, 7, 8)), ("all_gather2", (1, 2, 3, 4))):
        said = [int(h) for h in re.findall(r"each rank holds (\d+) of", words_of(picture(name).svg))]
        assert tuple(said) == held


def test_loads_of_the_links_are_those_of_the_article() -> None:
    """3, 4, 3 on a line of 4; 6 one way round 4; 8 each way round 8 (figures 21 to 23)."""
    assert np.allclose(picture("ata3").facts["right"][:3], (3, 4, 3))  # type: ignore[index]
    assert np.allclose(picture("ata3").facts["left"][:3], (3, 4, 3))  # type: ignore[index]
    assert np.allclose(picture("ata2").facts["right"], 6)  # type: ignore[arg-type]
    assert np.allclose(picture("ata1").facts["left"], 8)  # type: ignore[arg-type]


def test_a_journey_ends_where_the_chunk_belongs() -> None:
    t = exchange.timed("all_to_all", "ring:5,latency=0", "1MiB", exchange.one_way_exchange)
    for goal, way in exchange.journeys(t.schedule, 2):
        assert way[0][0] == 2
        assert way[-1][1] == goal
        assert len(way) == (goal - 2) % 5


def test_rails_help_only_where_spines_are_thin() -> None:
    assert fact("rails", "full.direct") == pytest.approx(fact("rails", "full.pxn"), rel=1e-6)
    assert fact("rails", "half.direct") > 1.5 * fact("rails", "half.pxn")


def test_sparse_tokens_are_as_expected() -> None:
    assert fact("moe_nvl72", "mean") == pytest.approx(fact("moe_nvl72", "expected"), rel=1e-3)
    assert fact("moe_nvl72", "dense") / fact("moe_nvl72", "even") == pytest.approx(
        72 / fact("moe_nvl72", "mean"), rel=1e-3
    )
    assert fact("moe_traffic", "slower") > 1.2


def test_a_crossing_is_where_both_take_as_long() -> None:
    found = {"a": [1.0 + 2.0 * s for s in crossover._SIZES], "b": [5e6 + 1.0 * s for s in crossover._SIZES]}
    ((first, second, size),) = crossover.crossing(found)
    assert (first, second) == ("a", "b")
    assert size == pytest.approx(5e6 - 1)
    assert fact("crossover_nvls", "nvls.last") > 450  # more than the port: the switch reduces
    assert fact("crossover", "ring.last") == pytest.approx(450, rel=1e-3)


def test_slices_are_no_faster_than_the_bound() -> None:
    assert fact("dcn_hierarchy", "bound") <= fact("dcn_hierarchy", "time")
    assert fact("dcn_hierarchy", "time") < fact("dcn_hierarchy", "ici") + fact("dcn_hierarchy", "dcn")


@pytest.mark.golden
@pytest.mark.slow
def test_the_example_of_a_sharded_all_reduce_prints_what_stands_beside_it() -> None:
    path = ROOT / "examples" / "sharded_all_reduce.py"
    if os.environ.get("HOPCAST_GOLDEN") == "write":
        path.with_suffix(".out").write_text(printed(path), encoding="utf-8")
    told = printed(path)
    assert path.with_suffix(".out").read_text(encoding="utf-8") == told
    rows = [line.replace(" us", "").split() for line in told.splitlines()[-4:]]
    assert [float(r[3]) for r in rows] == [5326.8, 5326.8, 1300.2, 125.8]
    assert [float(r[2]) for r in rows] == [4175.7, 0, 0, 0]
