"""Exchanges and sums over GPU nodes: rails, stages, and what oversubscription costs."""

import numpy as np
import pytest
from grids import build
from predicting import GIB, MICRO, NVLINK, micros

import hopcast as hc
from hopcast.clusters import cluster as named
from hopcast.interpret import check
from hopcast.names import InputError
from hopcast.price.steps import steps


@pytest.mark.parametrize("algorithm", ["direct", "pxn"])
def test_two_nodes_against_one(algorithm):
    one = micros("all_to_all", "dgx-h100,latency=0", algorithm="direct")
    assert one == pytest.approx(7 / 64 * GIB / NVLINK / MICRO, rel=1e-9)
    two = micros("all_to_all", "dgx-h100:2,latency=0", algorithm=algorithm)
    assert two / one == pytest.approx(2.5714, rel=1e-4)
    each = micros("all_to_all", "dgx-h100,latency=0", per_rank=True, algorithm="direct")
    of_two = micros("all_to_all", "dgx-h100:2,latency=0", per_rank=True, algorithm=algorithm)
    assert of_two / each == pytest.approx(5.1429, rel=1e-4)


@pytest.mark.parametrize(
    ("nodes", "algorithm", "ratio", "within"),
    [
        (64, "pxn", 1.0159, 1e-4),
        (64, "direct", 1.8770, 1e-4),
        pytest.param(128, "pxn", 1.512, 5e-4, marks=pytest.mark.slow),
        pytest.param(128, "direct", 1.939, 5e-4, marks=pytest.mark.slow),
    ],
)
def test_oversubscription_costs_what_crosses_the_spine(nodes, algorithm, ratio, within):
    times = [
        micros("all_to_all", f"dgx-h100:{nodes},latency=0{o}", algorithm=algorithm, price="steps")
        for o in ("", ",oversubscription=2")
    ]
    assert times[1] / times[0] == pytest.approx(ratio, abs=within)


@pytest.mark.parametrize("text", ["fat-tree:5x4,leaf=4,spine=1", "fat-tree:8x2,leaf=4,spine=2"])
def test_pxn_keeps_to_its_rails(text):
    where = named(text)
    topology, n = where.topology, where.topology.chips
    nodes, g = topology.shape
    schedule = build("all_to_all", "pxn", where)
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
    "way",
    [
        "hierarchical",
        "hierarchical,pipeline=off",
        "hierarchical,stages=3",
        "hierarchical,stages=3,pieces=2",
    ],
)
@pytest.mark.parametrize("text", ["fat-tree:2x3", "fat-tree:5x4", "fat-tree:9x2", "fat-tree:3x1"])
def test_all_to_all_by_stages_computes(text, way):
    check(build("all_to_all", way, named(text), size=GIB))


def test_three_stages_send_fewer_messages_than_two_and_two_fewer_than_direct():
    where = named("fat-tree:9x4")
    counts = []
    for way in ("direct", "hierarchical,pipeline=off", "hierarchical,pipeline=off,stages=3"):
        columns = build("all_to_all", way, where).columns()
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
    time = micros("all_reduce", pod, GIB / cut, mesh=mesh, over="dp", algorithm="ring", price="steps")
    assert time == pytest.approx(micro, abs=0.06)
