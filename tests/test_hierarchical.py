"""Levels woven block by block: right, as fast as the slower level, and never slower than one after the other.

Sources: [bound] price.bounds; [full] every send followed; [measured] clusters on which somebody ran it;
[off] the same levels one after the other.
"""

import functools

import pytest

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import hierarchical
from hopcast.clusters import cluster
from hopcast.interpret import check
from hopcast.ir import algebra
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.price import bounds, bounds_traffic
from hopcast.simulate import flows

MIB, GIB = 2.0**20, 2.0**30
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce")
MACHINES = ("dgx-h100", "hgx-b200", "dgx-a100", "gb200-nvl72", "mi300x")
ODD = ("dgx-h100:3", "dgx-h100:4,gpus=3", "dgx-h100:6,nics=2", "dgx1-v100:3", "fat-tree:5x4", "dgx-h100:40")


@functools.cache
def place(text):
    where = cluster(text)
    return where, group(where, physical(where.topology), ())


def laid(text, collective, size, **options):
    where, mine = place(text)
    made = algorithms.get("hierarchical").build(collective, mine, Hint(size, options=options))
    return algebra.lay(made, mine.all_groups, where.topology.vertices, mine.hubs)


def seconds(text, collective, size, **options):
    return flows.simulate(laid(text, collective, size, **options), place(text)[0], size, detail=False).seconds


def bound(text, collective, size):
    where, mine = place(text)
    return bounds.bound(where, bounds_traffic.standard(collective, mine.ranks), mine.all_groups, size).seconds


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("text", [*(f"{m}:2" for m in MACHINES), *ODD, "dgx-h100:16"])
def test_woven_levels_compute(text, collective):
    for size, options in [
        (MIB, {}),
        (GIB, {}),
        (GIB, {"pieces": "1"}),
        (GIB, {"pieces": "3"}),
        (GIB, {"pieces": "4"}),
    ]:
        check(laid(text, collective, size, **options))


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("text", ["dgx-h100:4", "dgx-h100:5,gpus=3", "mi300x:4", "dgx-h100:40,gpus=2"])
@pytest.mark.parametrize("pieces", ["1", "2", "6"])
def test_what_one_rank_does_stands_for_all(text, collective, pieces):
    """[full]"""
    made, where = laid(text, collective, 16 * MIB, pieces=pieces), place(text)[0]
    short = flows.simulate(made, where, 16 * MIB, detail=False)
    full = flows.simulate(made, where, 16 * MIB, shortcut=False)
    assert short.seconds == pytest.approx(full.seconds, rel=1e-9)
    assert short.solved <= full.solved


@pytest.mark.parametrize("text", [*(f"{m}:{n}" for m in MACHINES for n in (2, 4, 8)), *ODD, "dgx-h100:128"])
def test_never_below_the_bound_nor_slower_than_one_level_after_the_other(text):
    """[bound] [off]"""
    for collective in COLLECTIVES:
        for size in (8.0, 16 * MIB, 8 * GIB):
            time, off = seconds(text, collective, size), seconds(text, collective, size, pipeline="off")
            assert bound(text, collective, size) * (1 - 1e-9) <= time <= off * (1 + 1e-9), (collective, size)


@pytest.mark.parametrize("text", [f"{m}:{n}" for m in MACHINES for n in (2, 3, 4, 16)] + ["dgx-h100:128"])
def test_large_arrays_reach_95_percent_of_the_bound(text):
    """[bound] Every level is hidden by the one that binds."""
    for collective in COLLECTIVES:
        assert bound(text, collective, 32 * GIB) >= 0.95 * seconds(text, collective, 32 * GIB), collective


@pytest.mark.parametrize("text", ["dgx-h100:2", "dgx-h100:4", "dgx-h100:16", "hgx-b200:8", "gb200-nvl72:4"])
@pytest.mark.parametrize("size", [MIB, 16 * MIB, 256 * MIB, 8 * GIB])
def test_other_numbers_of_pieces_gain_little(text, size):
    best = min(seconds(text, "all_reduce", size, pieces=str(1 << k)) for k in range(6))
    assert seconds(text, "all_reduce", size) <= 1.1 * best


@pytest.mark.parametrize(
    "text", [f"{m}:{n}" for m in MACHINES for n in (2, 4, 16)] + ["dgx-h100:64", "dgx-h100:6,nics=2"]
)
@pytest.mark.parametrize("size", [8.0, MIB, 64 * MIB, GIB])
def test_the_estimate_is_near_flows(text, size):
    """It chooses pieces and lanes, and between this and trees."""
    for collective in COLLECTIVES:
        about = hierarchical.seconds(collective, place(text)[1], Hint(size))
        assert about == pytest.approx(seconds(text, collective, size), rel=0.15), collective


@pytest.mark.parametrize(
    ("text", "size", "us"),
    [
        # together-nccl-tests, 2026-05-12: 8 NDR400 a node, NCCL 2.28.9, without SHARP, its fastest way.
        ("hgx-b200:2", 32 * GIB, 89_515.8),
        ("hgx-b200:8", 32 * GIB, 173_499.5),
        ("hgx-b200:16", 32 * GIB, 175_335.2),
        ("hgx-b200:64", 32 * GIB, 175_945.4),
        # NVIDIA/nccl-tests, an issue on 230 nodes with 8 RoCE NICs of 400 Gb/s each: the fastest of six runs.
        ("fat-tree:230x8,bandwidth=450GB/s,nic=50GB/s", 16 * GIB, 91_276.0),
    ],
)
def test_no_machine_is_faster_than_its_ideal(text, size, us):
    """[measured] nor are these much slower."""
    ideal = seconds(text, "all_reduce", size) * 1e6
    assert 0.8 * us <= ideal <= us


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter"])
@pytest.mark.parametrize(
    "where", ["v5e:4x4,slices=2", "v5e:4x4,slices=3", "v5e:2x2,slices=2", "v6e:4x4,slices=4"]
)
def test_pieces_behind_each_other_on_open_axes_keep_out_of_each_others_way(where, collective):
    """It takes what the slower level does by itself, and little more."""
    row = hc.predict(collective, f"{where},latency=0", size="1GiB", algorithm="hierarchical").rows[0]
    inside = hc.predict(
        "reduce_scatter", f"{where.split(',')[0]},latency=0", size="1GiB", algorithm="multi_axis"
    )
    assert row["time_us"] < 1.03 * max(row["bound_us"], inside.rows[0]["time_us"])
