"""Switches that reduce, trees, rails and sparse exchanges: what they move, and how long it takes."""

from dataclasses import replace

import numpy as np
import pytest
from grids import cluster, group
from hypothesis import given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import double_tree, nvls, pat
from hopcast.clusters import cluster as named
from hopcast.interpret import CheckError, check
from hopcast.ir import hubs, traffic
from hopcast.ir.algebra import lay, then
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group as group_of
from hopcast.ir.mesh import physical
from hopcast.ir.schedule import REDUCE, Schedule, from_columns
from hopcast.names import InputError
from hopcast.price import bounds
from hopcast.price.steps import steps
from hopcast.read import matrix as matrices
from hopcast.simulate.reference import simulate

GIB, MICRO = 2.0**30, 1e-6
NVLINK, NIC = 450e9, 50e9


def made(
    name: str, collective: str, where: Cluster, mine: Group, size: float = 64.0, **options: str
) -> Schedule:
    one = algorithms.get(name)
    hint = Hint(size, max(mine.latency), options=options)
    return lay(one.build(collective, mine, hint), mine.all_groups, where.topology.vertices, mine.hubs)


def everything(text: str) -> tuple[Cluster, Group]:
    where = named(text)
    return where, group_of(where, physical(where.topology))


def micros(collective: str, where: str, size: float = GIB, **more: object) -> float:
    time = hc.predict(collective, where, size=size, **more).rows[0]["time_us"]
    assert isinstance(time, float)
    return time


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "collective"),
    [
        ("nvls", "all_reduce"),
        ("nvls", "all_gather"),
        ("nvls", "reduce_scatter"),
        ("sharp", "all_reduce"),
        ("double_tree", "broadcast"),
        ("double_tree", "reduce"),
        ("double_tree", "all_reduce"),
        ("pat", "all_gather"),
        ("pat", "reduce_scatter"),
    ],
)
def test_on_a_switch_of_any_size_it_computes_and_its_formula_is_its_steps(name, collective):
    one = algorithms.get(name)
    for n in range(2, 65):
        where = cluster(f"switch:{n}+", 1e9, MICRO)
        mine = group(where)
        hint = Hint(2.0**16, MICRO)
        schedule = made(name, collective, where, mine, 2.0**16)
        check(schedule)
        formula, stepped = one.cost(collective, mine, hint), steps(schedule, where, 2.0**16)
        assert formula is not None
        assert stepped.latency == pytest.approx(formula.latency, rel=1e-9), n
        assert stepped.bandwidth == pytest.approx(formula.bandwidth, rel=1e-9), n
        if one.exact(collective, mine, hint) and n < 20:
            assert simulate(schedule, where, 2.0**16).seconds == pytest.approx(formula.total(), rel=1e-9), n


# NVLS


@pytest.mark.parametrize(
    ("collective", "up", "down"),
    [("all_reduce", 9 / 8, 9 / 8), ("all_gather", 1 / 8, 1.0), ("reduce_scatter", 1.0, 1 / 8)],
)
@pytest.mark.parametrize("chunks", ["1", "2", "3", "7"])
def test_nvls_moves_what_the_machine_moves(collective, up, down, chunks):
    where, mine = everything("dgx-h100")
    found = steps(made("nvls", collective, where, mine, GIB, chunks=chunks), where, GIB)
    rises = where.topology.dst == 8
    assert found.load[rises] == pytest.approx(up * GIB, rel=1e-12)
    assert found.load[~rises] == pytest.approx(down * GIB, rel=1e-12)


def test_nvls_against_the_ring_and_the_in_network_bound():
    ideal = "dgx-h100,latency=0"
    by_nvls, by_ring = (micros("all_reduce", ideal, algorithm=a) for a in ("nvls", "ring"))
    assert by_nvls == pytest.approx(1.125 * GIB / NVLINK / MICRO, rel=1e-3)
    assert by_ring / by_nvls == pytest.approx(1.5556, rel=1e-3)
    row = hc.predict("all_reduce", ideal, size=GIB, algorithm="nvls").rows[0]
    assert by_ring / row["bound_us"] == pytest.approx(1.75, rel=1e-9)
    assert row["bound_us"] == row["limit_us"]
    assert row["price"] == "formula"
    gathered = "bf16[4096,65536]"
    assert micros("all_gather", ideal, gathered, algorithm="nvls") == pytest.approx(1193.0, abs=0.05)
    assert micros("all_gather", ideal, gathered, algorithm="ring") == pytest.approx(1043.92, abs=0.005)


def test_only_what_uses_switches_is_held_to_the_in_network_bound():
    rows = [hc.predict("all_reduce", "dgx-h100", size=GIB, algorithm=a).rows[0] for a in ("ring", "nvls")]
    assert rows[0]["limit_us"] == rows[1]["limit_us"] == rows[1]["bound_us"] < rows[0]["bound_us"]
    off = hc.predict("all_reduce", "dgx-h100,nvls=off", size=GIB, algorithm="ring").rows[0]
    assert off["limit_us"] == off["bound_us"] == rows[0]["bound_us"]


def test_nvls_misses_every_lost_contribution():
    where = cluster("switch:3+")
    whole = made("nvls", "all_reduce", where, group(where), chunks="2")
    columns = whole.columns()
    for i in np.flatnonzero(columns["op"] == REDUCE):
        less = {k: np.delete(v, i) for k, v in columns.items()}
        cut = from_columns(whole.collective, "cut", whole.groups, less)
        with pytest.raises(CheckError):
            check(replace(cut, vertices=whole.vertices))


@pytest.mark.parametrize(
    ("text", "over", "mesh", "reason"),
    [
        ("dgx-h100,nvls=off", None, None, "does not reduce"),
        ("dgx-a100", None, None, "does not reduce"),
        ("dgx-h100:2", None, None, "several switches"),
        ("dgx-h100", "tp", "dp=2,tp=4", "switch of their own"),
        ("v5e:4x4", "x", None, "not on a switch"),
        ("mi300x", None, None, "switch of their own"),
    ],
)
def test_nvls_says_why_it_does_not_fit(text, over, mesh, reason):
    with pytest.raises(InputError, match=reason):
        hc.predict("all_reduce", text, size=GIB, algorithm="nvls", over=over, mesh=mesh)


def test_a_sum_may_be_left_in_a_switch_that_is_used_again():
    where = cluster("switch:5+")
    there, back = (made("nvls", c, where, group(where), chunks="1") for c in ("reduce_scatter", "all_gather"))
    check(then(there, back, "all_reduce"))


def test_pieces_of_nvls_grow_so_that_few_are_enough():
    mine = group(cluster("switch:8+", NVLINK))
    share = nvls._growing(mine, Hint(GIB))
    assert len(share) < 12
    assert share[1:] == pytest.approx(8 * share[:-1])
    assert share.sum() == pytest.approx(1.0)


# SHARP


def test_sharp_on_one_switch_takes_what_its_port_takes():
    row = hc.predict("all_reduce", "switch:8,sharp=on,latency=0", size=GIB, algorithm="sharp").rows[0]
    assert row["time_us"] == pytest.approx(GIB / 45e9 / MICRO, rel=1e-3)
    assert row["efficiency"] == pytest.approx(1.0, rel=1e-3)
    assert row["efficiency"] < 1


@pytest.mark.parametrize("text", ["fat-tree:6x2,leaf=4,spine=2", "fat-tree:9x3,leaf=9,spine=3,routing=ecmp"])
def test_sharp_climbs_from_leaves_to_a_spine(text):
    where = named(text)
    able = replace(where, figures={"sharp.supported": next(iter(named("dgx-h100").figures.values()))})
    for over in ((), ("node",)):
        mine = group_of(able, physical(able.topology), over)
        level = mine.levels[0] if mine.levels else mine
        assert (level.above == -1).sum() == 1
        if over:  # every rail has leaves of its own, and they all end in one spine
            reason = algorithms.get("sharp").valid("all_reduce", mine, Hint())
            assert "share switches" in (reason or "")
            continue
        schedule = made("sharp", "all_reduce", able, mine, inside="ring", chunks="2")
        check(schedule)
        found = simulate(schedule, able, GIB).seconds
        assert found >= bounds.bound(able, schedule.collective, schedule.groups, GIB, in_network=True).seconds


def test_a_switch_above_one_rank_passes_on():
    tall = named("fat-tree:4x1,leaf=2,spine=1,nics=1").topology
    hub, above = hubs.trunk(tall, 0, np.array([[0, 2, 3]], np.int32)) or (None, None)
    assert above is not None
    assert above.tolist() == [4, 3, 3, 4, -1]
    assert [tall.place(v) for v in hub[0]] == ["unit 1 rail 0 leaf", "1 spines"]


def test_sharp_between_nodes_nears_the_nics():
    row = hc.predict("all_reduce", "dgx-h100:4,latency=0", size=GIB, algorithm="sharp").rows[0]
    assert row["bound_us"] == pytest.approx(GIB / (8 * NIC) / MICRO, rel=1e-9)
    assert row["bound_us"] < row["time_us"] < 1.02 * row["bound_us"]
    rails = hc.predict("all_reduce", "dgx-h100:32,latency=0", size=GIB / 8, over="node", algorithm="sharp")
    assert rails.rows[0]["time_us"] == pytest.approx(GIB / 8 / NIC / MICRO, rel=0.01)


@pytest.mark.parametrize(
    "text", ["dgx-h100:4,nics=4", "dgx-h100:40,routing=ecmp", "gb200-nvl72:2", "dgx-h100:3,rails=off"]
)
def test_sharp_fits_what_is_wired_otherwise(text):
    where, mine = everything(text)
    schedule = made("sharp", "all_reduce", where, mine, GIB, chunks="2")
    check(schedule)
    least = bounds.bound(where, schedule.collective, schedule.groups, GIB, in_network=True).seconds
    assert steps(schedule, where, GIB).step_seconds.sum() > least


@pytest.mark.parametrize(
    ("text", "over", "reason"),
    [
        ("dgx-h100:4,sharp=off", None, "do not reduce"),
        ("dgx-h100", None, "use nvls"),
        ("dgx-h100:64", "node", "share switches"),
        ("v5e:4x4", "x", "not on switches"),
    ],
)
def test_sharp_says_why_it_does_not_fit(text, over, reason):
    with pytest.raises(InputError, match=reason):
        hc.predict("all_reduce", text, size=GIB, algorithm="sharp", over=over)


@pytest.mark.parametrize("text", ["torus:4x4,sharp=on", "switch:8,sharp=yes"])
def test_sharp_is_asked_of_a_switch(text):
    with pytest.raises(InputError, match="sharp="):
        named(text)


# Trees


@pytest.mark.parametrize("n", [*range(2, 65), 100, 127, 128, 257, 1024])
def test_two_trees_keep_every_port_free_for_one_chunk_a_step(n):
    parent, when = double_tree.trees(n)
    inner = [set(parent[t, 1:].tolist()) - {0} for t in (0, 1)]
    assert not inner[0] & inner[1] or n == 3
    senders = {(int(parent[t, v]), int(when[t, v]) % 2) for t in (0, 1) for v in range(1, n)}
    receivers = {(v, int(when[t, v]) % 2) for t in (0, 1) for v in range(1, n)}
    assert len(senders) == len(receivers) == 2 * (n - 1)
    for t in (0, 1):
        below = [v for v in range(1, n) if parent[t, v]]
        assert all(when[t, v] > when[t, parent[t, v]] for v in below)
    assert when.max() <= 2 * np.ceil(np.log2(n)) + 1


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 12, 17])
def test_a_double_tree_without_barrier_is_at_most_a_chunk_slower(n):
    where = cluster(f"switch:{n}", 1e9)
    schedule = made("double_tree", "all_reduce", where, group(where), 1e6, chunks="40")
    stepped = steps(schedule, where, 1e6)
    assert simulate(schedule, where, 1e6).seconds <= stepped.bandwidth * (1 + 1e-9) + 1e6 / 40 / 1e9


@pytest.mark.parametrize("n", [2, 5, 8, 13, 16, 24, 64])
def test_pat_sends_no_more_together_than_it_may(n):
    where = cluster(f"switch:{n}")
    for together in (1, 2, 4, 64):
        mine = group(where)
        schedule = made("pat", "all_gather", where, mine, aggregation=str(together))
        check(schedule)
        each = [np.bincount(rows.src).max() for rows in schedule.steps()]
        assert max(each) <= together
        assert sum(each) == n - 1
        assert len({tuple(np.unique((r.dst - r.src) % n)) for r in schedule.steps()}) <= schedule.step_count
    assert made("pat", "all_gather", where, mine).step_count == (n - 1).bit_length()
    assert made("pat", "all_gather", where, mine, aggregation="1").step_count == n - 1


def test_pat_with_little_aggregation_keeps_few_chunks_waiting():
    plan = pat._plan(64, 1)
    last_use = {d: i for i, (_, senders) in enumerate(plan) for d in senders}
    got = {d + (1 << bit): i for i, (bit, senders) in enumerate(plan) for d in senders}
    waiting = [sum(got[d] <= i < last_use.get(d, -1) for d in got) for i in range(len(plan))]
    assert max(waiting) <= 6


def test_pat_refuses_what_is_no_power_of_two():
    with pytest.raises(InputError, match="power of two"):
        hc.predict("all_gather", "switch:8", size=GIB, algorithm="pat,aggregation=3")


# all_to_all over nodes


@pytest.mark.parametrize("algorithm", ["direct", "pxn"])
def test_two_nodes_against_one(algorithm):
    one = micros("all_to_all", "dgx-h100,latency=0", algorithm="direct")
    assert one == pytest.approx(7 / 64 * GIB / NVLINK / MICRO, rel=1e-9)
    two = micros("all_to_all", "dgx-h100:2,latency=0", algorithm=algorithm)
    assert two / one == pytest.approx(2.5714, rel=1e-4)
    per_rank = [
        hc.predict("all_to_all", c, size=GIB, per_rank=True, algorithm=algorithm if ":" in c else "direct")
        for c in ("dgx-h100:2,latency=0", "dgx-h100,latency=0")
    ]
    assert per_rank[0].rows[0]["time_us"] / per_rank[1].rows[0]["time_us"] == pytest.approx(5.1429, rel=1e-4)


@pytest.mark.parametrize(("algorithm", "ratio"), [("pxn", 1.0159), ("direct", 1.8770)])
def test_oversubscription_costs_what_crosses_the_spine(algorithm, ratio):
    times = [
        micros("all_to_all", f"dgx-h100:64,latency=0{o}", algorithm=algorithm, price="steps")
        for o in ("", ",oversubscription=2")
    ]
    assert times[1] / times[0] == pytest.approx(ratio, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "ratio"), [("pxn", 1.512), ("direct", 1.939)])
def test_oversubscription_of_a_pod(algorithm, ratio):
    times = [
        micros("all_to_all", f"dgx-h100:128,latency=0{o}", algorithm=algorithm, price="steps")
        for o in ("", ",oversubscription=2")
    ]
    assert times[1] / times[0] == pytest.approx(ratio, abs=5e-4)


@pytest.mark.parametrize("text", ["fat-tree:5x4,leaf=4,spine=1", "fat-tree:8x2,leaf=4,spine=2"])
def test_pxn_keeps_to_its_rails(text):
    where, mine = everything(text)
    topology, n = where.topology, mine.ranks
    nodes, g = topology.shape
    schedule = made("pxn", "all_to_all", where, mine)
    check(schedule)
    for rows in schedule.steps():
        across = rows.src // g != rows.dst // g
        assert np.array_equal(rows.src[across] % g, rows.dst[across] % g)
    load = steps(schedule, where, n * n).load  # in messages
    inside = (topology.axis == 1) & (topology.src < n)
    relayed = (nodes - 1) * (g - 1)
    assert load[inside] == pytest.approx(relayed + g - 1)
    assert load[(topology.axis == 0) & (topology.src < n)] == pytest.approx((nodes - 1) * g)


@pytest.mark.parametrize(
    "options", [{}, {"pipeline": "off"}, {"stages": "3"}, {"stages": "3", "pieces": "2"}]
)
@pytest.mark.parametrize("text", ["fat-tree:2x3", "fat-tree:5x4", "fat-tree:9x2", "fat-tree:3x1"])
def test_all_to_all_by_stages_computes(text, options):
    where, mine = everything(text)
    check(made("hierarchical", "all_to_all", where, mine, GIB, **options))


def test_three_stages_send_fewer_messages_than_two_and_two_fewer_than_direct():
    where, mine = everything("fat-tree:9x4")
    counts = []
    for name, options in (("direct", {}), ("hierarchical", {}), ("hierarchical", {"stages": "3"})):
        options |= {"pipeline": "off"} if name == "hierarchical" else {}
        columns = made(name, "all_to_all", where, mine, **options).columns()
        across = columns["src"] // 4 != columns["dst"] // 4
        ends = np.stack([columns[c][across] for c in ("src", "dst")])
        counts.append(np.unique(ends, axis=1).shape[1])
    assert counts == [36 * 32, 36 * 8, 9 * 8]


def test_stages_are_of_all_to_all():
    with pytest.raises(InputError, match="stages= is of all_to_all"):
        hc.predict("all_gather", "dgx-h100:2", size=GIB, algorithm="hierarchical,stages=3")


def test_two_level_all_reduce_of_a_pod():
    text = "dgx-h100:32,sharp=off,nvlink_latency=1us,nic_latency=2us"
    whole = micros("all_reduce", text, algorithm="hierarchical,pipeline=off", price="flows")
    assert whole == pytest.approx(9514.60, abs=0.005)


@pytest.mark.parametrize(("cut", "mesh", "micro"), [(32, "dp=32,tp=32", 1300.2), (256, "dp=4,tp=256", 125.8)])
def test_an_array_sharded_over_an_inner_axis_crosses_the_network_in_parts(cut, mesh, micro):
    pod = "dgx-h100:128,latency=0,sharp=off"
    row = hc.predict("all_reduce", pod, size=GIB / cut, mesh=mesh, over="dp", algorithm="ring", price="steps")
    assert row.rows[0]["time_us"] == pytest.approx(micro, abs=0.06)


# Switches in schedules


def test_lines_of_levels_know_their_switches():
    mine = group(cluster("fat:4x3+"))
    rails, nodes = (hubs.lines(mine, level) for level in (0, 1))
    assert rails.shape == (3, 5)
    assert nodes.shape == (4, 4)
    assert sorted([*rails[:, 4:].ravel(), *nodes[:, 3:].ravel()]) == list(range(12, 12 + mine.hubs.shape[1]))
    topology = cluster("fat:4x3+").topology
    place = np.concatenate([mine.all_groups, mine.hubs], 1)[0]
    for line in (*rails, *nodes):
        switch = place[line[-1]]
        assert all(np.any((topology.src == place[v]) & (topology.dst == switch)) for v in line[:-1])


@pytest.mark.slow
@given(
    st.integers(2, 9), st.sampled_from(["nvls", "sharp"]), st.floats(1e3, 1e9), st.sampled_from([0.0, 1e-6])
)
@settings(max_examples=20, deadline=None)
def test_in_the_network_nothing_is_below_its_bound(n, name, size, alpha):
    where = cluster(f"switch:{n}+", 1e9, alpha)
    schedule = made(name, "all_reduce", where, group(where), size)
    least = bounds.bound(where, schedule.collective, schedule.groups, size, in_network=True).seconds
    time = simulate(schedule, where, size).seconds if schedule.step_count < 300 else None
    assert (time or steps(schedule, where, size).step_seconds.sum()) >= least * (1 - 1e-9)


# Traffic matrices


@given(st.integers(2, 7), st.integers(0, 10**6), st.sampled_from(["direct", "pairwise"]))
@settings(max_examples=30, deadline=None)
def test_any_matrix_is_delivered_and_no_faster_than_its_ports(n, seed, name):
    rng = np.random.default_rng(seed)
    sent = rng.exponential(1e6, (n, n)) * (rng.random((n, n)) < 0.6)
    sent[0, 1] += 1.0
    where = cluster(f"switch:{n}", 1e9)
    mine, one = group(where), algorithms.get(name)
    hint = Hint(float(sent.sum()), 0.0, matrix=sent / sent.sum())
    schedule = lay(one.build("all_to_all_v", mine, hint), mine.all_groups, n + 1)
    check(schedule)
    apart = sent * (1 - np.eye(n))
    least = max(apart.sum(0).max(), apart.sum(1).max()) / 1e9
    found = bounds.bound(where, schedule.collective, schedule.groups, hint.size, share=schedule.share).seconds
    assert found == pytest.approx(least, rel=1e-9)
    assert simulate(schedule, where, hint.size).seconds >= least * (1 - 1e-9)


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_a_matrix_comes_from_a_file_and_says_its_size(tmp_path, suffix):
    sent = np.array([[0, 1e6, 0], [0, 5e5, 3e6], [2e6, 0, 0]])
    path = tmp_path / f"m{suffix}"
    if suffix == ".npy":
        np.save(path, sent)
    else:
        path.write_text("# bytes\n" + "\n".join(", ".join(map(str, row)) for row in sent) + "\n")
    text = "switch:3,bandwidth=1GB/s,latency=0"
    found = hc.predict("all_to_all_v", text, matrix=str(path), algorithm="direct")
    row = found.rows[0]
    assert row["size_bytes"] == 6.5e6
    assert row["time_us"] == pytest.approx(3000)
    assert row["bound_us"] == pytest.approx(3000)
    assert "max/mean" in str(found)
    twice = hc.predict("all_to_all_v", text, matrix=sent.tolist(), size=13e6, algorithm="direct").rows[0]
    assert twice["time_us"] == pytest.approx(6000)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,2\n3,4\n5,6\n", "3 x 2"),
        ("1,2\n3\n", "line 2 has 1"),
        ("0,-1\n1,0\n", "row 0, column 1 is negative"),
        ("0,nan\n1,0\n", "row 0, column 1 is no number"),
        ("0,inf\n1,0\n", "infinite"),
        ("0,0\n0,0\n", "all zero"),
        ("0,x\n1,0\n", "line 1"),
        ("0,1,1\n1,0,1\n1,1,0\n", "of 3 ranks and the group has 2"),
        ("", "empty"),
    ],
)
def test_a_bad_matrix_is_refused_in_one_line(tmp_path, text, reason):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=reason) as error:
        matrices.read(str(path), 2)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "no size"),
        ({"size": GIB}, "with equal messages it is all_to_all"),
        ({"matrix": "none.csv"}, "no file"),
        ({"matrix": [[0, 1], [1, 0]], "moe": "tokens=1"}, "give one"),
        ({"moe": "tokens=1,hidden=8,experts=4"}, "lacks top"),
        ({"moe": "tokens=1,hidden=8,experts=4,top=5"}, "at most all 4"),
        ({"moe": "tokens=0,hidden=8,experts=4,top=1"}, "whole number from 1"),
        ({"moe": "tokens=1,hidden=8,experts=4,top=1,skew=zipf:-1"}, "S from 0"),
        ({"moe": "tokens=1,hidden=8,experts=4,top=1,dtype=apples"}, "apples"),
        ({"moe": "tokens=1,hidden=8,experts=4,top=1,phase=both"}, "dispatch"),
        ({"moe": "tokens=1,hidden=8,experts=4,top=1,colour=red"}, "colour"),
        ({"moe": "tokens=99999999,hidden=8,experts=256,top=1"}, "or fewer"),
    ],
)
def test_bad_traffic_is_refused(more, reason):
    with pytest.raises(InputError, match=reason):
        hc.predict("all_to_all_v", "switch:2", **more)


def test_a_matrix_is_of_all_to_all_v():
    with pytest.raises(InputError, match="it is of all_to_all_v"):
        hc.predict("all_gather", "switch:2", matrix=[[0, 1], [1, 0]])


# Experts


def test_top_8_of_256_touch_few_chips_of_a_rack():
    layer = traffic.read_moe("tokens=1024,hidden=7168,experts=256,top=8,seed=1")
    assert layer.expected(72) == pytest.approx(7.716, abs=5e-4)
    sent, touched = traffic.route(layer, 72)
    assert touched == pytest.approx(7.716, abs=0.01)
    assert sent.sum() == pytest.approx(touched * 72 * 1024 * 7168 * 2)
    said = hc.predict("all_to_all_v", "gb200-nvl72", moe="tokens=64,hidden=7168,experts=256,top=8")
    assert "7.716 expected" in str(said)
    assert "of 72 chips (10.7%" in str(said)
    assert "max/mean" in str(said)


@given(st.integers(1, 9), st.integers(1, 40), st.data())
@settings(max_examples=30, deadline=None)
def test_experts_are_spread_evenly_and_every_token_finds_its_own(chips, experts, data):
    top = data.draw(st.integers(1, experts))
    layer = traffic.Moe(20, 4, "bf16", experts, top, data.draw(st.sampled_from([0.0, 1.0, 3.0])), 5)
    each = np.bincount(layer.homes(chips), minlength=chips)
    assert np.ptp(each) <= 1
    sent, touched = traffic.route(layer, chips)
    assert -(-top // each.max()) <= touched <= min(top, (each > 0).sum())
    assert (sent <= 20 * layer.token_bytes).all()
    if top == experts:
        assert np.array_equal(sent > 0, np.broadcast_to(each > 0, sent.shape))


def test_skew_makes_some_chips_busier_and_combine_goes_back():
    layer = traffic.Moe(512, 64, "bf16", 64, 4, 0.0, 3)
    even, _ = traffic.route(layer, 16)
    skewed, _ = traffic.route(replace(layer, skew=1.0), 16)
    assert skewed.sum(0).max() > 1.5 * even.sum(0).max()
    assert traffic.unevenness(skewed) > 1.5 * traffic.unevenness(even)
    back, _ = traffic.route(replace(layer, phase="combine"), 16)
    assert np.array_equal(back, even.T)
    again, _ = traffic.route(layer, 16)
    other, _ = traffic.route(replace(layer, seed=4), 16)
    assert np.array_equal(again, even)
    assert not np.array_equal(other, even)


def test_zipf_draws_in_proportion():
    layer = traffic.Moe(40_000, 1, "bf16", 4, 1, 1.0, 0)
    sent, _ = traffic.route(layer, 4)
    part = np.sort(sent.sum(0) / sent.sum())[::-1]
    want = 1 / np.arange(1, 5)
    assert part == pytest.approx(want / want.sum(), abs=0.005)
