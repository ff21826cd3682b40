"""What NCCL takes by size: never far from the better of what it has, nor below what is possible.

Sources: [bound] price.bounds; [measured] stas00/ml-engineering, network/benchmarks (NVLS by how many GPUs);
[NCCL] src/graph/tuning.cc (which algorithms there are where).
"""

from dataclasses import replace

import numpy as np
import pytest
from predicting import GIB, micros, predicted_row

import hopcast as hc
from hopcast import machines
from hopcast.algorithms import double_tree, get
from hopcast.choose import library
from hopcast.clusters import cluster
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.price import nccl
from hopcast.verbs import ask

KIB, MIB = 2.0**10, 2.0**20
SIZES = (8, 64 * KIB, MIB, 16 * MIB, 256 * MIB, 8 * GIB)


MODEL = {"ring": "ring,channels=8", "tree": "double_tree,channels=8"}
MODEL["nvls_tree"] = MODEL["tree"] + ",inside=nvls"
MACHINES = {"dgx-a100": (12, 25e9, 25e9), "dgx-h100": (18, 25e9, 50e9), "hgx-b200": (18, 50e9, 50e9)}


@pytest.mark.parametrize("nodes", [2, 8, 32])
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("size", SIZES)
def test_all_reduce_between_nodes_is_what_the_model_takes(name, nodes, size):
    """[bound] Nor is it far from the better of rings and trees, though the model has other figures."""
    links, link, nic = MACHINES[name]
    times = nccl.all_reduce(nccl.Machine(nodes, 8, links, link, 8, nic, name != "dgx-a100"), size)
    row = predicted_row("all_reduce", f"{name}:{nodes}", size)
    assert row["algorithm"] == MODEL[min(times, key=times.get).split()[0]]
    assert row["algorithm_source"] == "library"
    ways = [MODEL[w] for w in ("ring", "tree")]
    best = min(micros("all_reduce", f"{name}:{nodes}", size, algorithm=a) for a in ways)
    assert row["bound_us"] * (1 - 1e-9) <= row["time_us"] <= 1.7 * best


@pytest.mark.parametrize(
    "collective", ["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast"]
)
@pytest.mark.parametrize("name", [n for n in machines.names() if n != "fat-tree"])
def test_what_is_taken_fits_where_a_link_is_ill(name, collective):
    """Slow or dead, one way: of a link of each kind of the first GPU."""
    whole = cluster(f"{name}:2").topology
    healthy = library(ask.question(collective, f"{name}:2", size="1GiB")[0])
    out = np.flatnonzero((whole.src == 0) & (whole.bandwidth > 0))
    for link in {int(whole.axis[i]): i for i in out}.values():
        for kept in (0.5, 0.0):
            rate = whole.bandwidth * np.where(np.arange(whole.links) == link, kept, 1)
            where = replace(cluster(f"{name}:2"), topology=whole.with_links(rate))
            asked, _ = ask.question(collective, where, size="1GiB")
            found = library(asked)
            assert (found is None) == (healthy is None)
            if found is not None:
                hint = replace(asked.hint, options=found.options)
                assert found.algorithm.valid(collective, asked.group, hint) is None


# Two nodes, microseconds of nccl-tests: slower than our trees, faster than rings could be. p4d.24xlarge with
# 4 NICs of 100 Gb/s (https://github.com/NVIDIA/nccl/issues/527); Snellius, 4 H100 a node and no NVSwitch.
@pytest.mark.parametrize(
    ("text", "size", "measured"),
    [
        ("dgx-a100:2,nics=4,nic=100Gb/s", GIB, 35_215),
        ("dgx-h100:2,gpus=4,nics=4,nic=200Gb/s,nvls=off", 8 * GIB, 96_175),
    ],
)
def test_trees_between_two_nodes_where_nics_are_slow(text, size, measured):
    row = predicted_row("all_reduce", text, size)
    assert row["algorithm"].startswith("double_tree,channels=")
    assert row["time_us"] <= measured < micros("all_reduce", text, size, algorithm="ring,channels=4")


# nccl-tests, 8 bytes, one process for each GPU, in place, microseconds: issue 309 of NVIDIA/nccl-tests (H100
# on 2 and 4 nodes, 8 NICs of 400 Gb/s each), argonne-lcf/alcf-nccl-tests (2 DGX A100, a slow start)
@pytest.mark.parametrize(
    ("name", "nodes", "measured", "within"),
    [("dgx-h100", 2, 24.7, 0.03), ("dgx-h100", 4, 34.75, 0.03), ("dgx-a100", 2, 35.2, 0.35)],
)
def test_the_model_knows_the_latency_of_machines(name, nodes, measured, within):
    links, link, nic = MACHINES[name]
    times = nccl.all_reduce(nccl.Machine(nodes, 8, links, link, 8, nic, name != "dgx-a100"), 8)
    assert min(times.values()) * 1e6 == pytest.approx(measured, rel=within)


@pytest.mark.parametrize(("size", "most"), [(8, 60.0), (64 * KIB, 85.0), (MIB, 200.0), (8 * GIB, 46_000.0)])
def test_a_pod_is_never_far_from_its_best(size, most):
    """Trees take 2 (7 NVLink + 7 network) latencies at the least; 8 GiB over the NICs 42,614 us."""
    assert micros("all_reduce", "dgx-h100:128", size) <= most


@pytest.mark.parametrize(
    ("text", "small", "large"), [("dgx-h100", "ring", "nvls"), ("hgx-b200", "ring", "nvls")]
)
def test_small_arrays_inside_a_node_go_round_rings(text, small, large):
    """[NCCL] Their latency is less than that of NVLS."""
    for size, algorithm in ((8, small), (64 * KIB, small), (16 * MIB, large)):
        assert predicted_row("all_reduce", text, size)["algorithm"] == algorithm


@pytest.mark.parametrize(
    ("command", "size", "algorithm"),
    [
        # [measured] up to which GPUs NVLS brings nothing
        *(("all_reduce", f"dgx-h100,gpus={n}", "ring" if n < 5 else "nvls") for n in range(3, 9)),
        *(("all_reduce", f"dgx-h200,gpus={n}", "ring" if n < 5 else "nvls") for n in range(3, 9)),
        *(("all_reduce", f"hgx-b200,gpus={n}", "ring" if n < 6 else "nvls") for n in range(3, 9)),
        ("all_reduce", "dgx-a100", "ring"),
        ("all_reduce", "gb200-nvl72", "nvls"),
    ],
)
def test_nvls_takes_gpus_enough(command, size, algorithm):
    found = predicted_row(command, size, 8 * GIB)
    assert (found["algorithm"], found["algorithm_source"]) == (algorithm, "library")


@pytest.mark.parametrize("text", ["dgx-h100:16 node", "dgx-h100:64 node", "dgx-h100:8,gpus=1"])
@pytest.mark.parametrize(
    ("collective", "small", "large"),
    [("all_reduce", "double_tree", "ring"), ("all_gather", "pat", "ring"), ("reduce_scatter", "pat", "ring")],
)
def test_one_gpu_of_each_node_has_trees_and_pat(text, collective, small, large):
    """[NCCL]"""
    where, *over = text.split()
    for size, algorithm in ((64, small), (8 * GIB, large)):
        found = predicted_row(collective, where, size, over=over or None)
        assert (found["algorithm"], found["algorithm_source"]) == (algorithm, "library")


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter"])
@pytest.mark.parametrize("size", [8, GIB])
def test_whole_nodes_have_no_pat(collective, size):
    """[NCCL]"""
    found = predicted_row(collective, "dgx-h100:8", size)
    assert found["algorithm"].split(",")[0] in ("ring", "hierarchical")
    assert found["algorithm_source"] == "library"


@pytest.mark.parametrize(
    ("text", "size", "words"),
    [
        ("dgx-h100,gpus=4", GIB, ["NCCL takes rings on 4 GPUs", "300 GB/s", "360 GB/s"]),
        ("dgx-h100:16", 8, ["NCCL takes the fastest by its own model", "tree LL about 55.2 us"]),
    ],
)
def test_it_says_why(text, size, words):
    said = " ".join(hc.predict("all_reduce", text, size=size).warnings)
    assert all(word in said for word in words)
    assert not any("NCCL takes" in w for w in hc.predict("all_reduce", "dgx-h100", size=GIB).warnings)


@pytest.mark.parametrize(
    "text", ["dgx-h100:2", "dgx-h100:16", "hgx-b200:32", "gb200-nvl72:4", "dgx-h100:4,nics=4"]
)
@pytest.mark.parametrize("size", SIZES[:-1])
def test_trees_over_nodes_are_cut_into_chunks_well(text, size):
    where = cluster(text)
    mine = group(where, physical(where.topology), ())
    many = get("double_tree").build("broadcast", mine, Hint(size, max(mine.latency))).chunks
    assert size > 8 or many == 1
    near = {max(1, many // 2), min(2 * many, int(size))} - {many}
    others = [micros("all_reduce", text, size, algorithm=f"double_tree,chunks={k}") for k in near]
    assert micros("all_reduce", text, size, algorithm="double_tree") <= 1.15 * min(others)


@pytest.mark.parametrize("text", ["dgx-h100:2", "dgx-h100:16", "dgx-h100:128", "hgx-b200:32", "dgx-a100:8"])
@pytest.mark.parametrize("size", SIZES[:-2])
def test_the_estimate_of_trees_is_near_flows(text, size):
    where = cluster(text)
    mine = group(where, physical(where.topology), ())
    about = double_tree.seconds(mine, Hint(size, max(mine.latency))) * 1e6
    assert about == pytest.approx(micros("all_reduce", text, size, algorithm="double_tree"), rel=0.2)
