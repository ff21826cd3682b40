"""Uneven traffic: matrices of bytes and the tokens of experts, delivered and no faster than the ports."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli import run
from grids import cluster, group
from hypothesis import given, settings
from hypothesis import strategies as st
from predicting import GIB
from refused import one_line_error, one_line_refusal

import hopcast as hc
from hopcast import algorithms
from hopcast.interpret import check
from hopcast.ir import traffic
from hopcast.ir.algebra import lay
from hopcast.ir.group import Hint
from hopcast.names import InputError
from hopcast.price import bounds
from hopcast.read import matrix as matrices
from hopcast.simulate.reference import simulate


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
    assert (
        "of pairs the largest has 3 times the mean, the rank that sends most 1.5 times, "
        "the one that receives most 1.5 times"
    ) in " ".join(str(found).split())
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
    assert reason in one_line_error(matrices.read, str(path), 2)


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
    assert "times the mean" in str(said)


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


WORDS = ["all_to_all_v", "dgx-a100:2", "--moe", "tokens=64,hidden=64,experts=16,top=2"]


@pytest.mark.parametrize("command", ["predict", "simulate", "check", "draw", "explore"])
def test_every_command_of_one_collective_takes_the_layer_of_experts(command, tmp_path):
    out = ["-o", str(tmp_path / "page.html")] if command == "explore" else []
    ran = run(command, *WORDS, *out)
    assert ran.status == 0, ran.err
    assert "pxn" in (Path(out[1]).read_text(encoding="utf-8") if out else ran.out)


@pytest.mark.parametrize("command", ["predict", "simulate", "check", "draw", "explore", "sweep"])
def test_who_sends_what_has_to_be_said(command):
    more = ["--size", "1MiB"] if command in ("predict", "simulate") else []
    assert "says who sends what" in one_line_refusal(command, *WORDS[:2], *more)


def test_a_layer_of_experts_is_as_large_as_it_says():
    moe = {"moe": WORDS[3]}
    told = hc.predict(*WORDS[:2], **moe).rows[0]
    ran = hc.simulate(*WORDS[:2], **moe)
    assert ran.inputs["time_us"] == pytest.approx(told["time_us"])
    assert ran.inputs["size_bytes"] == told["size_bytes"]
