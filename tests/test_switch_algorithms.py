"""Algorithms for one switch: NVLS, trees and PAT move what they claim, in the time that they claim."""

from dataclasses import replace

import numpy as np
import pytest
from grids import build, cluster, group
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting import GIB, MICRO, NVLINK, micros, predicted_row

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import double_tree, nvls, pat
from hopcast.clusters import cluster as named
from hopcast.interpret import CheckError, check
from hopcast.ir.algebra import then
from hopcast.ir.group import Hint
from hopcast.ir.schedule import REDUCE, from_columns
from hopcast.names import InputError
from hopcast.price import bounds
from hopcast.price.steps import steps
from hopcast.simulate.reference import simulate


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
        schedule = build(collective, name, where, size=hint.size)
        check(schedule)
        formula, stepped = one.cost(collective, mine, hint), steps(schedule, where, 2.0**16)
        assert formula is not None
        assert stepped.latency == pytest.approx(formula.latency, rel=1e-9), n
        assert stepped.bandwidth == pytest.approx(formula.bandwidth, rel=1e-9), n
        if one.exact(collective, mine, hint) and n < 20:
            assert simulate(schedule, where, 2.0**16).seconds == pytest.approx(formula.total(), rel=1e-9), n


@pytest.mark.parametrize(
    ("collective", "up", "down"),
    [("all_reduce", 9 / 8, 9 / 8), ("all_gather", 1 / 8, 1.0), ("reduce_scatter", 1.0, 1 / 8)],
)
@pytest.mark.parametrize("chunks", ["1", "2", "3", "7"])
def test_nvls_moves_what_the_machine_moves(collective, up, down, chunks):
    where = named("dgx-h100")
    found = steps(build(collective, f"nvls,chunks={chunks}", where), where, GIB)
    rises = where.topology.dst == 8
    assert found.load[rises] == pytest.approx(up * GIB, rel=1e-12)
    assert found.load[~rises] == pytest.approx(down * GIB, rel=1e-12)


def test_nvls_against_the_ring_and_the_in_network_bound():
    ideal = "dgx-h100,latency=0"
    by_nvls, by_ring = (micros("all_reduce", ideal, algorithm=a) for a in ("nvls", "ring"))
    assert by_nvls == pytest.approx(1.125 * GIB / NVLINK / MICRO, rel=1e-3)
    assert by_ring / by_nvls == pytest.approx(1.5556, rel=1e-3)
    row = predicted_row("all_reduce", ideal, algorithm="nvls")
    assert by_ring / row["bound_us"] == pytest.approx(1.75, rel=1e-9)
    assert row["bound_us"] == row["limit_us"]
    assert row["price"] == "formula"
    gathered = "bf16[4096,65536]"
    assert micros("all_gather", ideal, gathered, algorithm="nvls") == pytest.approx(1193.0, abs=0.05)
    assert micros("all_gather", ideal, gathered, algorithm="ring") == pytest.approx(1043.92, abs=0.005)


def test_only_what_uses_switches_is_held_to_the_in_network_bound():
    rows = [predicted_row("all_reduce", "dgx-h100", algorithm=a) for a in ("ring", "nvls")]
    assert rows[0]["limit_us"] == rows[1]["limit_us"] == rows[1]["bound_us"] < rows[0]["bound_us"]
    off = predicted_row("all_reduce", "dgx-h100,nvls=off", algorithm="ring")
    assert off["limit_us"] == off["bound_us"] == rows[0]["bound_us"]


def test_nvls_misses_every_lost_contribution():
    where = cluster("switch:3+")
    whole = build("all_reduce", "nvls,chunks=2", where)
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
    there, back = (build(c, "nvls,chunks=1", where) for c in ("reduce_scatter", "all_gather"))
    check(then(there, back, "all_reduce"))


def test_pieces_of_nvls_grow_so_that_few_are_enough():
    mine = group(cluster("switch:8+", NVLINK))
    share = nvls._growing(mine, Hint(GIB))
    assert len(share) < 12
    assert share[1:] == pytest.approx(8 * share[:-1])
    assert share.sum() == pytest.approx(1.0)


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
    schedule = build("all_reduce", "double_tree,chunks=40", where)
    stepped = steps(schedule, where, 1e6)
    assert simulate(schedule, where, 1e6).seconds <= stepped.bandwidth * (1 + 1e-9) + 1e6 / 40 / 1e9


@pytest.mark.parametrize("n", [2, 5, 8, 13, 16, 24, 64])
def test_pat_sends_no_more_together_than_it_may(n):
    where = cluster(f"switch:{n}")
    for together in (1, 2, 4, 64):
        schedule = build("all_gather", f"pat,aggregation={together}", where)
        check(schedule)
        each = [np.bincount(rows.src).max() for rows in schedule.steps()]
        assert max(each) <= together
        assert sum(each) == n - 1
        assert len({tuple(np.unique((r.dst - r.src) % n)) for r in schedule.steps()}) <= schedule.step_count
    assert build("all_gather", "pat", where).step_count == (n - 1).bit_length()
    assert build("all_gather", "pat,aggregation=1", where).step_count == n - 1


def test_pat_with_little_aggregation_keeps_few_chunks_waiting():
    plan = pat._plan(64, 1)
    last_use = {d: i for i, (_, senders) in enumerate(plan) for d in senders}
    got = {d + (1 << bit): i for i, (bit, senders) in enumerate(plan) for d in senders}
    waiting = [sum(got[d] <= i < last_use.get(d, -1) for d in got) for i in range(len(plan))]
    assert max(waiting) <= 6


def test_pat_refuses_what_is_no_power_of_two():
    with pytest.raises(InputError, match="power of two"):
        hc.predict("all_gather", "switch:8", size=GIB, algorithm="pat,aggregation=3")


@pytest.mark.slow
@given(
    st.integers(2, 9), st.sampled_from(["nvls", "sharp"]), st.floats(1e3, 1e9), st.sampled_from([0.0, 1e-6])
)
@settings(max_examples=20, deadline=None)
def test_in_the_network_nothing_is_below_its_bound(n, name, size, alpha):
    where = cluster(f"switch:{n}+", 1e9, alpha)
    schedule = build("all_reduce", name, where, size=size)
    least = bounds.bound(where, schedule.collective, schedule.groups, size, in_network=True).seconds
    time = simulate(schedule, where, size).seconds if schedule.step_count < 300 else None
    assert (time or steps(schedule, where, size).step_seconds.sum()) >= least * (1 - 1e-9)
