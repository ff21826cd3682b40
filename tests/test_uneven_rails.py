"""Unequal messages over nodes: delivered in pieces, no faster than physics, and no slower than need be."""

import shlex

import numpy as np
import numpy.typing as npt
import pytest
from cli import row

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import _rails
from hopcast.interpret import check
from hopcast.ir import algebra
from hopcast.predict import at_hand, beside_bounds
from hopcast.price.steps import steps
from hopcast.question import Question
from hopcast.verbs import ask

Matrix = npt.NDArray[np.float64]
SPREAD = "pxn,rails=all"
WAYS = ("pxn", "pxn,pieces=1", SPREAD, f"{SPREAD},pieces=5", "hierarchical", "hierarchical,pipeline=off")
NODES = (
    "dgx-h100:2", "dgx-a100:2,gpus=3", "gb200-nvl72:3,gpus=4", "dgx-h100:2,nics=4", "dgx-h100:3,gpus=1",
    "dgx-h100:4,gpus=4,oversubscription=2", "fat-tree:5x2,leaf=4,spine=1",
)  # fmt: skip
SLICES = ("v5e:2x2,slices=3", "v5e:2x4,slices=2,latency=0")
KINDS = ("any", "sparse", "to one", "from one", "one message", "inside", "a grain")


def sent(kind: str, n: int, g: int, seed: int) -> Matrix:
    """Bytes from rank to rank."""
    rng = np.random.default_rng(seed)
    found = rng.exponential(1e6, (n, n))
    if kind == "sparse":
        found *= rng.random((n, n)) < 0.1
        found[0, n - 1] += 1.0
    elif kind == "to one":
        found[:, rng.integers(n)] *= 20
    elif kind == "from one":
        found[rng.integers(n)] *= 20
    elif kind == "one message":
        found *= 0
        found[0, n - 1] = 1e7
    elif kind == "inside":
        node = np.arange(n) // g
        found *= node[:, None] == node
    elif kind == "a grain":
        found[rng.integers(n), rng.integers(n)] = 1e-4
    return found


def asked(where: str, kind: str, seed: int) -> tuple[Question, Matrix]:
    group = ask.place(where, None, None, "").group
    matrix = sent(kind, group.ranks, group.levels[-1].ranks, seed)
    q = ask.question("all_to_all_v", where, size=float(matrix.sum()), matrix=matrix)[0]
    return q, matrix * (q.size / matrix.sum())  # whole bytes in all


def built(q: Question, way: str) -> hc.Schedule:
    one, options = algorithms.parse(way)
    hint = type(q.hint)(q.hint.size, q.hint.alpha, options=options, matrix=q.hint.matrix)
    return one.build("all_to_all_v", q.group, hint)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("where", "way"),
    [(w, a) for w in NODES for a in WAYS] + [(w, a) for w in SLICES for a in WAYS if "pxn" not in a],
)
def test_every_matrix_arrives_whole_and_no_faster_than_physics(where: str, way: str, kind: str) -> None:
    q, matrix = asked(where, kind, seed=1)
    made = built(q, way)
    check(made)
    whole = made.collective
    assert made.share is not None
    arrived = np.zeros_like(matrix)
    np.add.at(arrived, (whole.origin, whole.goal), made.share * q.size)
    np.testing.assert_allclose(arrived, matrix, rtol=1e-9)
    found = beside_bounds(at_hand(q, None, made, way, "named"))
    assert found.time >= found.bound.seconds * (1 - 1e-9)
    plain = built(q, "direct")
    least = beside_bounds(at_hand(q, None, plain, "direct", "named")).bound.seconds
    assert found.bound.seconds == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("way", WAYS[:4])
@pytest.mark.parametrize("where", ["dgx-h100:3", "fat-tree:5x2,leaf=4,spine=1"])
def test_between_nodes_all_keeps_to_a_rail(where: str, way: str) -> None:
    q, _ = asked(where, "any", seed=2)
    g = q.group.levels[-1].ranks
    for rows in built(q, way).steps():
        across = rows.src // g != rows.dst // g
        assert np.array_equal(rows.src[across] % g, rows.dst[across] % g)


@pytest.mark.parametrize("kind", ["any", "sparse", "to one", "from one"])
@pytest.mark.parametrize("where", ["dgx-h100:3", "dgx-a100:2", "fat-tree:5x2,leaf=4,spine=1"])
def test_all_nics_of_a_node_carry_the_same(where: str, kind: str) -> None:
    q, matrix = asked(where, kind, seed=3)
    nodes, g = q.cluster.topology.shape
    made = algebra.lay(built(q, SPREAD), q.group.all_groups, q.cluster.topology.vertices, q.group.hubs)
    load, topology = steps(made, q.cluster, q.size).load, q.cluster.topology
    between = matrix.reshape(nodes, g, nodes, g).sum((1, 3)) * (1 - np.eye(nodes))
    for end, bytes_ in ((topology.src, between.sum(1)), (topology.dst, between.sum(0))):
        nics = (topology.axis == 0) & (end < topology.chips)
        np.testing.assert_allclose(load[nics], bytes_[end[nics] // g] / g, rtol=1e-9)


@pytest.mark.parametrize("kind", ["any", "to one", "from one"])
@pytest.mark.parametrize(
    "where", ["dgx-h100:2", "dgx-h100:8", "dgx-a100:4", "hgx-b200:4", "dgx-h100:4,nics=4"]
)
def test_spread_over_all_nics_it_is_near_the_limit(where: str, kind: str) -> None:
    q, matrix = asked(where, kind, seed=4)
    more = {"size": 40 * q.size, "matrix": matrix}
    spread, plain = (
        hc.predict("all_to_all_v", where, algorithm=way, **more).rows[0] for way in (SPREAD, "direct")
    )
    assert spread["efficiency"] > 0.88
    if kind != "any":
        assert plain["efficiency"] < 0.6
        assert hc.predict("all_to_all_v", where, algorithm="best", **more).rows[0]["algorithm"] == SPREAD


@pytest.mark.parametrize("size", [2**20, 2**26, 2**32])
@pytest.mark.parametrize("where", ["dgx-h100:2", "dgx-h100:8", "dgx-h100:4,oversubscription=2"])
def test_equal_messages_take_what_all_to_all_takes(where: str, size: int) -> None:
    n = ask.place(where, None, None, "").group.ranks
    same = hc.predict("all_to_all", where, size=size).rows[0]
    found = hc.predict("all_to_all_v", where, size=size, matrix=np.ones((n, n))).rows[0]
    assert (
        (found["algorithm"], found["algorithm_source"])
        == (same["algorithm"], "library")
        == ("pxn", "library")
    )
    assert found["time_us"] == pytest.approx(same["time_us"], rel=0.02)


@pytest.mark.parametrize("option", ["rails=all", "pieces=2"])
def test_options_of_unequal_messages_are_refused_with_equal_ones(option: str) -> None:
    with pytest.raises(hc.InputError, match=f"{option.split('=')[0]}= is of all_to_all_v"):
        hc.predict("all_to_all", "dgx-h100:2", size="1GiB", algorithm=f"pxn,{option}")


def test_very_many_messages_are_passed_on_by_name_only() -> None:
    q, _ = ask.question("all_to_all_v", "dgx-h100:64", size=1.0, matrix=np.ones((512, 512)))
    for name in ("pxn", "hierarchical"):
        assert "262,144 messages" in str(algorithms.get(name).unasked("all_to_all_v", q.group, q.hint))
        assert algorithms.get(name).unasked("all_to_all", q.group, q.hint) is None


@pytest.mark.parametrize("seed", range(20))
def test_two_ways_to_cut_a_line_lose_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (rng.exponential(1.0, rng.integers(2, 40)) ** 3 for _ in range(2))
    other *= (rng.random(len(other)) < 0.8) + 1e-30
    other[0] *= rng.random() < 0.5
    other *= one.sum() / other.sum()
    of_one, of_other, length = _rails._overlay(one, other)
    assert (length > 0).all()
    assert all((np.diff(numbers) >= 0).all() for numbers in (of_one, of_other))
    np.testing.assert_allclose(np.bincount(of_one, length, len(one)), one, rtol=1e-12)
    np.testing.assert_allclose(np.bincount(of_other, length, len(other)), other, atol=1e-9 * one.sum())


def test_a_hot_nic_is_named_with_what_all_of_them_take() -> None:
    command = "predict all_to_all_v dgx-h100:4 --moe tokens=256,hidden=7168,experts=64,top=8,skew=zipf:1.0"
    here = row(*shlex.split(command))
    found = {f["code"]: f for f in here["findings"]}["hot_nic"]
    there = row(*shlex.split(found["try"])[1:])
    assert there["algorithm"] == SPREAD
    assert there["time_us"] < here["time_us"] / 2
    assert f"{there['time_us']:.4g} us" in found["text"]


@pytest.mark.parametrize("options", ["oversubscription=2", "oversubscription=4"])
def test_what_a_finding_says_of_another_cluster_keeps_who_sends_what(options: str) -> None:
    command = f"predict all_to_all_v dgx-h100:4,{options} --moe tokens=64,hidden=7168,experts=64,top=8"
    here = row(*shlex.split(f"{command} --algorithm direct"))
    tries = {f["code"]: f["try"] for f in here["findings"]}
    assert {"oversubscription", "pxn"} <= set(tries)
    for one in ("oversubscription", "pxn"):
        assert row(*shlex.split(tries[one])[1:])["time_us"] < here["time_us"]
