"""all_reduce by packed spanning trees: how many there are, how they are placed, what they gain and where."""

import random

import numpy as np
import pytest
from named_schedules import GIB, built, cluster, group, without

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import _modulo, tree_packing
from hopcast.graph import packing
from hopcast.interpret import check
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.price.steps import steps


def cables(where: Cluster) -> list[tuple[int, int]]:
    pairs = zip(where.topology.src.tolist(), where.topology.dst.tolist(), strict=True)
    return sorted({(min(p), max(p)) for p in pairs})


@pytest.mark.parametrize(
    ("name", "trees", "copies"),
    [("mesh:2x4", 10, 7), ("mesh:4x4", 8, 5), ("mesh:4x8", 5, 3), ("mesh:8x8", 16, 9), ("mesh:2x4x4", 2, 1)],
)
@pytest.mark.parametrize("polish", [0, 200])
def test_trees_span_and_use_no_cable_more_often_than_allowed(name, trees, copies, polish):
    where = cluster(name)
    n, edges = where.topology.chips, cables(where)
    found = packing.spanning_trees(n, edges, trees, [copies] * len(edges), 0, polish)
    assert found is not None
    assert len(found) == trees
    assert np.bincount(np.concatenate(found)).max() <= copies
    for tree in found:
        label = list(range(n))
        for u, v in (edges[e] for e in tree):
            assert label[u] != label[v]  # no cycle
            label = [label[u] if x == label[v] else x for x in label]
        assert len(set(label)) == 1


@pytest.mark.parametrize(
    ("name", "trees", "copies"),
    # One tree more than cables x copies / (N - 1), rounded down.
    [("mesh:2x4", 3, 2), ("mesh:4x4", 13, 8), ("mesh:4x8", 42, 25), ("ring:5", 4, 3), ("mesh:2x2x4", 2, 1)],
)
def test_more_trees_than_there_can_be_are_not_found(name, trees, copies):
    where = cluster(name)
    room = [copies] * len(cables(where))
    most = sum(room) / (where.topology.chips - 1)
    found = packing.spanning_trees(where.topology.chips, cables(where), trees, room)
    assert (found is not None) == (trees <= most)


def test_a_cable_may_be_in_fewer_trees_than_others():
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    found = packing.spanning_trees(4, square, 3, [0, 3, 3, 3])
    assert found == [[1, 2, 3]] * 3
    some = packing.spanning_trees(4, square, 3, [1, 3, 3, 2])
    assert some is not None
    assert np.bincount(np.concatenate(some), minlength=4).tolist() == [1, 3, 3, 2]
    assert packing.spanning_trees(4, square, 3, [1, 3, 2, 2]) is None


@pytest.mark.parametrize("copies", [3, 5, 8])
@pytest.mark.parametrize("slow", [1, 2, 3])
def test_no_two_sends_of_a_link_meet_however_long_they_take(copies, slow):
    where = cluster("mesh:3x3")
    edges = cables(where)
    slots = {pair: 1 for u, v in edges for pair in ((u, v), (v, u))}
    slots |= dict.fromkeys(((0, 1), (1, 0), (4, 5)), slow)
    room = [copies // max(slots[u, v], slots[v, u]) for u, v in edges]
    trees = sum(room) // 8
    found = packing.spanning_trees(9, edges, trees, room)
    while found is None:
        trees -= 1
        found = packing.spanning_trees(9, edges, trees, room)
    streams = [tree_packing._stream(9, [edges[e] for e in tree]) for tree in found]
    start = _modulo.placed(streams, copies, slots, random.Random(0)).tolist()
    busy = set()
    at = 0
    for stream in streams:
        ends: dict[int, int] = {}
        for (u, v, _), begin in zip(stream, start[at : at + len(stream)], strict=True):
            assert begin >= ends.get(u, 0)  # what it waits for has come
            ends[v] = max(ends.get(v, 0), begin + slots[u, v])
            taken = {(u, v, (begin + k) % copies) for k in range(slots[u, v])}
            assert len(taken) == slots[u, v]
            assert not taken & busy
            busy |= taken
        at += len(stream)


SLOW = [
    ("mesh:4x4", "0,0:0,1=0.5"), ("mesh:4x4", "1,1:1,2=0.5"), ("mesh:4x4", "1,1:1,2=0.05"),
    ("mesh:4x8", "1,1:2,1=0.7"), ("mesh:2x4", "0,1:0,2=0.5"), ("chain:4", "1:2=0.5"), ("chain:4", "1:2=0.02"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "slow"), SLOW)
def test_a_slow_cable_is_in_as_few_trees_as_it_can_serve(name, slow):
    asked = {"size": "1GiB", "algorithm": "tree_packing", "price": "flows"}
    where = f"{name},bandwidth=45GB/s"
    row = hc.predict("all_reduce", where, slow=[slow], **asked).rows[0]
    assert 0.92 <= row["efficiency"] <= 1
    if name.startswith("mesh"):
        assert row["time_us"] <= 1.15 * hc.predict("all_reduce", where, **asked).rows[0]["time_us"]


def test_trees_of_a_graph_with_a_bridge_are_as_many_as_the_bridge_has_copies():
    # Enough edges for two trees a copy, but all trees need the one between the triangles.
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]
    assert packing.spanning_trees(6, edges, 3, [3] * len(edges)) is not None
    assert packing.spanning_trees(6, edges, 4, [3] * len(edges)) is None


def test_exchanges_make_trees_shallower():
    where = cluster("mesh:8x8")
    edges = cables(where)
    longest = []
    for polish in (0, 500):
        found = packing.spanning_trees(64, edges, 16, [9] * len(edges), 0, polish)
        assert found is not None
        longest.append(max(packing.radius(64, [edges[e] for e in tree]) for tree in found))
    assert longest[1] < longest[0]


@pytest.mark.parametrize("name", ["mesh:2x4", "mesh:3x3", "v5e:4x8", "mesh:2x2x4", "chain:5"])
@pytest.mark.parametrize("chunks", [1, 3])
def test_no_two_sends_of_packed_trees_meet(name, chunks):
    where = cluster(name)
    schedule = built("tree_packing", "all_reduce", where, GIB, chunks=str(chunks))
    check(schedule)
    for rows in schedule.steps():
        pairs = rows.src * schedule.vertices + rows.dst
        assert len(np.unique(pairs)) == len(pairs)


def test_packed_trees_go_round_a_dead_cable():
    where = cluster("torus:4x4,bandwidth=1GB/s,latency=0")
    ends = where.topology.src * 16 + where.topology.dst
    broken = without(where, np.flatnonzero((ends == 1) | (ends == 16)).tolist())
    schedule = built("tree_packing", "all_reduce", broken, 1e9)
    check(schedule)
    found = steps(schedule, broken, 1e9)
    assert found.bandwidth <= 1.03 * 15 / 31  # 31 cables are left
    # The two chips with three links hold reduce_scatter and all_gather up.
    assert found.bandwidth < 2 * 15 / 16 / 3


@pytest.mark.parametrize("name", ["torus:4x4", "mesh:2x2", "hypercube:3", "ring:6", "full_mesh:5"])
def test_where_all_ranks_have_as_many_links_trees_gain_nothing(name):
    reason = algorithms.get("tree_packing").valid("all_reduce", group(cluster(name)), Hint())
    assert "gain nothing" in str(reason)


# T in D / W: the cables of a mesh, each one way, against N - 1 sends of a tree.
LIMIT = {"mesh:2x4": (0.7, 0.03), "mesh:4x4": (0.625, 0.03), "mesh:8x8": (0.5625, 0.04)}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMIT)
def test_packed_trees_come_near_the_limit_of_an_open_mesh(name):
    where = f"{name},bandwidth=45GB/s,latency=0"
    row = hc.predict("all_reduce", where, size="8GiB", algorithm="best", price="flows").rows[0]
    limit, slack = LIMIT[name]
    assert row["algorithm"] == "tree_packing"
    assert 1 <= row["time_us"] / (limit * 8 * GIB / 45e9 * 1e6) <= 1 + slack
    other = hc.predict("all_reduce", where, size="8GiB", algorithm="synthesized", price="flows").rows[0]
    assert other["time_us"] / row["time_us"] > {"mesh:2x4": 1.2, "mesh:4x4": 1.45, "mesh:8x8": 1.65}[name]


# Gain over reduce_scatter with all_gather where nothing but bytes counts.
GAIN = {
    "mesh:2x4": 1.25, "mesh:4x4": 1.50, "mesh:4x8": 1.63, "mesh:8x8": 1.75, "v5e:8x16": 1.25,
    "mesh:2x4x4": 1.33, "mesh:2x2": 1.00, "mesh:2x2x2": 1.00,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", GAIN)
def test_large_arrays_gain_what_the_cables_allow(name):
    half = hc.predict("all_gather", f"{name},latency=0", size="8GiB", algorithm="synthesized").rows[0]
    row = hc.predict("all_reduce", f"{name},latency=0", size="8GiB", algorithm="best", price="flows").rows[0]
    ideal = 2 * half["bound_us"] / row["bound_us"]
    assert ideal == pytest.approx(GAIN[name], abs=0.005)
    assert row["algorithm"].startswith("tree_packing") == (ideal > 1.01)
    assert 2 * half["bound_us"] / row["time_us"] >= 0.94 * ideal


# Shapes that no library serves well: open on some axis, up to as many ranks as are packed.
LARGE = (
    "mesh:16x16", "mesh:12x12", "mesh:8x16", "mesh:9x13", "mesh:4x4x4", "mesh:3x4x4", "mesh:4x4x8",
    "mesh:2x16", "v5e:8x16", "v5p:2x4x4",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_open_meshes_come_near_the_bound(name):
    row = hc.predict("all_reduce", name, size="8GiB", algorithm="best").rows[0]
    assert row["algorithm"] == "tree_packing"
    assert 0.93 <= row["efficiency"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("size", "least"), [("1GiB", 0.93), ("8GiB", 0.96)])
def test_a_slice_of_128_chips_comes_within_a_few_percent_of_the_bound(size, least):
    row = hc.predict("all_reduce", "v5e:8x16", size=size, algorithm="best").rows[0]
    assert least <= row["efficiency"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mesh:4x4", "mesh:3x5", "mesh:2x8", "v5p:2x4x4", "v5e:8x16"])
@pytest.mark.parametrize("size", ["4KiB", "256KiB", "1MiB", "4MiB", "64MiB"])
def test_best_takes_trees_just_where_they_are_faster(name, size):
    best = hc.predict("all_reduce", name, size=size, algorithm="best").rows[0]
    for other in ("tree_packing", "multi_axis", "synthesized", "direct"):
        row = hc.predict("all_reduce", name, size=size, algorithm=other, price="flows").rows[0]
        assert best["time_us"] <= row["time_us"] * (1 + 1e-9)


def test_few_sends_are_followed_where_no_more_gain_anything():
    wide = hc.build("all_reduce", "mesh:4x4", algorithm="tree_packing", size="8GiB")
    assert sum(len(rows) for rows in wide.steps()) < 200_000


# By flows, us: what packings chosen for the size reach, within 3 %.
REACHED = {
    ("mesh:4x4", "1MiB"): 34.3, ("mesh:4x4", "16MiB"): 288.7, ("mesh:8x8", "1MiB"): 43.5,
    ("mesh:8x8", "16MiB"): 291.9, ("mesh:2x4", "4MiB"): 89.4,
}  # fmt: skip


@pytest.mark.parametrize(("name", "size"), REACHED)
def test_trees_and_chunks_are_chosen_for_the_size(name, size):
    where = f"{name},bandwidth=45GB/s,latency=1us"
    row = hc.predict("all_reduce", where, size=size, algorithm="tree_packing").rows[0]
    assert row["time_us"] <= 1.03 * REACHED[name, size]
    base = hc.predict("all_reduce", where, size=size, algorithm="multi_axis", price="flows").rows[0]
    assert row["time_us"] < 1.02 * base["time_us"]


@pytest.mark.parametrize("name", ["mesh:4x4", "mesh:4x8"])
def test_the_size_from_which_trees_are_worth_it_is_about_right(name):
    where = f"{name},bandwidth=45GB/s,latency=1us"
    least = tree_packing.worth_from(group(cluster(where)))
    if least:
        assert 2**19 <= least <= 2**22
    ratio = []
    for size in (max(least, 2.0**20) / 8, max(least, 2.0**20) * 8):
        times = [
            hc.predict("all_reduce", where, size=size, algorithm=a, price="flows").rows[0]["time_us"]
            for a in ("tree_packing", "multi_axis")
        ]
        ratio.append(times[0] / times[1])
    assert ratio[1] < 0.9
    assert ratio[0] > ratio[1] + 0.05


def test_more_groups_do_not_mean_more_sends():
    made = hc.build("all_reduce", "mesh:8x8x4", over="x,y", algorithm="tree_packing", size="1GiB")
    assert len(made.groups) == 4
    assert sum(len(rows) for rows in made.steps()) <= 2_400_000


@pytest.mark.slow
def test_small_arrays_are_better_off_without_trees():
    names = [
        hc.predict("all_reduce", "mesh:4x4", size=size, algorithm="best").rows[0]["algorithm"]
        for size in ("1KiB", "64MiB")
    ]
    assert names[0] != "tree_packing"
    assert names[1] == "tree_packing"
