"""SHARP: sums climb from leaves to a spine, near what the NICs take, and switches stand in schedules."""

from dataclasses import replace

import numpy as np
import pytest
from grids import build, cluster, group
from predicting import GIB, MICRO, NIC, micros, predicted_row

import hopcast as hc
from hopcast import algorithms
from hopcast.clusters import cluster as named
from hopcast.interpret import check
from hopcast.ir import hubs
from hopcast.ir.group import Hint
from hopcast.names import InputError
from hopcast.price import bounds
from hopcast.price.steps import steps
from hopcast.simulate.reference import simulate


def test_sharp_on_one_switch_takes_what_its_port_takes():
    row = predicted_row("all_reduce", "switch:8,sharp=on,latency=0", algorithm="sharp")
    assert row["time_us"] == pytest.approx(GIB / 45e9 / MICRO, rel=1e-3)
    assert row["efficiency"] == pytest.approx(1.0, rel=1e-3)
    assert row["efficiency"] < 1


@pytest.mark.parametrize("text", ["fat-tree:6x2,leaf=4,spine=2", "fat-tree:9x3,leaf=9,spine=3,routing=ecmp"])
def test_sharp_climbs_from_leaves_to_a_spine(text):
    where = named(text)
    able = replace(where, figures={"sharp.supported": next(iter(named("dgx-h100").figures.values()))})
    for over in ((), ("node",)):
        mine = group(able, over)
        level = mine.levels[0] if mine.levels else mine
        assert (level.above == -1).sum() == 1
        if over:  # every rail has leaves of its own, and they all end in one spine
            reason = algorithms.get("sharp").valid("all_reduce", mine, Hint())
            assert "share switches" in (reason or "")
            continue
        schedule = build("all_reduce", "sharp,inside=ring,chunks=2", able)
        check(schedule)
        found = simulate(schedule, able, GIB).seconds
        assert found >= bounds.bound(able, schedule.collective, schedule.groups, GIB, in_network=True).seconds


def test_a_switch_above_one_rank_passes_on():
    tall = named("fat-tree:4x1,leaf=2,spine=1,nics=1").topology
    hub, above = hubs.trunk(tall, 0, np.array([[0, 2, 3]], np.int32)) or (None, None)
    assert above is not None
    assert above.tolist() == [4, 3, 3, 4, -1]
    assert [tall.place(v) for v in hub[0]] == ["unit 1 rail 0 leaf", "1 spine"]


def test_sharp_between_nodes_nears_the_nics():
    row = predicted_row("all_reduce", "dgx-h100:4,latency=0", algorithm="sharp")
    assert row["bound_us"] == pytest.approx(GIB / (8 * NIC) / MICRO, rel=1e-9)
    assert row["bound_us"] < row["time_us"] < 1.02 * row["bound_us"]
    rails = micros("all_reduce", "dgx-h100:32,latency=0", GIB / 8, over="node", algorithm="sharp")
    assert rails == pytest.approx(GIB / 8 / NIC / MICRO, rel=0.01)


@pytest.mark.parametrize(
    "text", ["dgx-h100:4,nics=4", "dgx-h100:40,routing=ecmp", "gb200-nvl72:2", "dgx-h100:3,rails=off"]
)
def test_sharp_fits_what_is_wired_otherwise(text):
    where = named(text)
    schedule = build("all_reduce", "sharp,chunks=2", where)
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
