"""Pictures of networks: words and chips are apart, and loads, routes and what is dead are told."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from pictures import (
    TWO_ROUTES,
    check_picture,
    cluster,
    corners,
    exchanged,
    of_class,
    overlaps,
    route,
    schedule,
    words,
)

from hopcast.draw import topology, topology_svg, topology_text
from hopcast.draw.layout import lay_out
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Axis, Topology
from hopcast.price.steps import steps
from hopcast.registry import load
from hopcast.routing import routes

NETWORKS = (
    "ring:2", "ring:3", "ring:8", "ring:48", "ring:100", "ring:400", "chain:4", "chain:20", "chain:300",
    "torus:1x1", "torus:1x6", "torus:2x4", "torus:4x4", "torus:8x8", "torus:16x16", "torus:8x16",
    "torus:32x32", "torus:4x4x4", "torus:2x2x4", "torus:8x8x16", "torus:4x4x4x2", "torus:16x16x16",
    "mesh:4x4", "mesh:3x5", "mesh:8x1", "mesh:5x3x2", "mesh:100x2", "switch:2", "switch:8", "switch:30",
    "switch:72", "switch:200", "hypercube:1", "hypercube:3", "hypercube:4", "hypercube:6",
)  # fmt: skip

LOADED = [
    "ring:8",
    "torus:4x4",
    "mesh:4x4",
    "torus:16x16",
    "torus:4x4x4",
    "switch:8",
    "hypercube:4",
    "mesh:8x8x8",
]
each_network = pytest.mark.parametrize("name", NETWORKS)
LARGE = ("torus:32x32", "torus:8x8x16", "torus:16x16x16")  # small ones of the same kinds stand for them
each_small_network = pytest.mark.parametrize("name", [n for n in NETWORKS if n not in LARGE])


@each_network
def test_words_of_a_network_are_apart_and_on_the_page(name: str) -> None:
    check_picture(
        topology_svg(cluster(name), caption="A caption that is long enough to need a line of its own.")
    )


@pytest.mark.parametrize("name", LOADED)
def test_words_of_a_picture_of_load_are_apart(name: str) -> None:
    volume = exchanged(name)
    check_picture(topology_svg(cluster(name), load=volume, title=f"Load of an all_to_all on {name}"))
    assert topology_text(cluster(name), load=volume).isascii()


@each_small_network
def test_no_cable_runs_through_a_chip(name: str) -> None:
    where = cluster(name).topology
    for bows in (True, False):
        plan = lay_out(where, bows)
        at = corners(plan.boxes)
        for i in range(where.links):
            ends = {plan.boxes[int(where.src[i])], plan.boxes[int(where.dst[i])]}
            for line in plan.ways(where, i, 0.0):
                pieces = [np.linspace(a, b, 40) for a, b in itertools.pairwise(line)]
                points = np.concatenate(pieces)[:, None]
                inside = np.all((points > at[None, :, :2]) & (points < at[None, :, 2:]), 2).any(0)
                assert {plan.boxes[int(v)] for v in np.flatnonzero(inside)} <= ends, where.link_name(i)


@each_network
def test_boxes_of_chips_are_apart(name: str) -> None:
    plan = lay_out(cluster(name).topology)
    assert overlaps([(str(i), b) for i, b in enumerate(plan.boxes)]) == []


def test_a_dead_link_is_crossed_out_and_its_twin_is_not() -> None:
    where = cluster("mesh:4x4")
    dead = replace(where, topology=where.topology.with_links(np.where(np.arange(48) == 5, 0.0, 45e9)))
    picture = topology_svg(dead, load=np.where(np.arange(48) == 5, 0.0, 1.0))
    check_picture(picture)
    assert len(of_class(picture, "path", "cross")) == 2
    widths = [float(p.get("stroke-width", 0)) for p in of_class(picture, "path", "u5")]
    assert widths.count(6) == 47


def test_width_and_colour_follow_the_share_of_the_busiest_link() -> None:
    where = cluster("mesh:4x4")
    volume = exchanged("mesh:4x4")
    busy = topology.shares(where.topology, volume)
    # a mesh of 4x4: 3 x 1 of 4 positions cross the middle cut, 3 x 4 pairs the outer ones: 4/4 and 3/4
    assert sorted(set(np.round(busy, 9).tolist())) == [0.75, 1.0]
    picture = topology_svg(where, load=volume)
    widths = {
        c: {float(p.get("stroke-width", 0)) for p in of_class(picture, "path", c)} for c in ("u4", "u5")
    }
    assert max(widths["u4"]) < max(widths["u5"])
    said = words(picture)
    assert said.count("75%") == 32
    assert said.count("100%") == 16


def test_load_of_a_schedule_fits() -> None:
    where = cluster("ring:8")
    volume = steps(schedule("ring:8", "all_gather", "ring"), where, 8e6).load
    text = topology_text(where, load=volume)
    assert re.search(r"x up +8 +7 MB +7 MB +7 MB +100%", text)
    assert re.search(r"x down +8 +0 B +0 B +0 B +0%", text)
    assert "On average a link is busy 50% of that time." in " ".join(text.split())


def test_half_duplex_cables_are_one_line() -> None:
    built = load("topologies", "topology", "ring").build("ring:4", (4,), 45e9, 1e-6, True)
    where = Cluster("ring:4", built, "ring", "dimension_order")
    volume = np.where(built.wire == np.arange(8), 1e6, 0.0)
    picture = topology_svg(where, load=volume)
    assert len(of_class(picture, "path", "u5")) == 4 + 1
    assert "both ways together" in picture


def test_routes_are_drawn_hop_by_hop_and_told_apart_without_colour() -> None:
    where = cluster("mesh:4x4")
    picture = topology_svg(where, routes=[route(where.topology, *stops) for stops in TWO_ROUTES])
    check_picture(picture)
    for i in (1, 2):
        assert len(of_class(picture, "path", f"r{i}")) == 6 + 1
    assert len(of_class(picture, "rect", "end")) == 2
    assert "stroke-dasharray" in picture.split(".hopcast .r2")[1].split("}")[0]
    said = " ".join(words(picture))
    assert "route 1: 3,3 > 2,3 > 1,3 > 0,3 > 0,2 > 0,1 > 0,0, 6 hops" in said


def test_routes_between_sheets_and_round_the_end_are_drawn() -> None:
    where = cluster("torus:4x4x4")
    found = routes(where, np.array([0], np.int32), np.array([15], np.int32))
    way = found.links[: found.start[1]].tolist()
    picture = topology_svg(where, routes=[way])
    check_picture(picture)
    assert "route 1: 0,0,0 > 0,3,0 > 0,3,3, 2 hops" in words(picture)


def test_stubs_of_a_large_torus_name_the_chip_at_the_other_end() -> None:
    said = words(topology_svg(cluster("torus:16x16")))
    for name in ("0,0", "15,0", "0,15", "15,15"):
        assert said.count(name) == 3  # the chip itself, and the two that it is joined to
    assert said.count("0,7") == 2


def test_a_twisted_torus_shows_where_its_links_lead() -> None:
    where = cluster("torus:4x2").topology
    dst = where.dst.copy()
    # the wrap-around of x leads to the other row
    for i in range(where.links):
        if (
            where.axis[i] == 0
            and abs(int(where.coords[where.src[i], 0] - where.coords[where.dst[i], 0])) == 3
        ):
            dst[i] ^= 1
    twisted = Cluster("twisted", replace(where, dst=dst), "twisted", "shortest")
    picture = topology_svg(twisted)
    check_picture(picture)
    said = words(picture)
    assert said.count("3,1") == 2
    assert "askew" in topology_text(twisted)


def test_switches_of_nodes_stand_below_and_those_that_join_nodes_above() -> None:
    """Two nodes of 4 chips, two switches in each, a leaf per rail and a spine."""
    chips, src, dst = 8, [], []
    for chip in range(chips):
        for switch in (8 + 2 * (chip // 4), 9 + 2 * (chip // 4), 12 + chip % 4):
            src += [chip, switch]
            dst += [switch, chip]
    for leaf in range(12, 16):
        src += [leaf, 16]
        dst += [16, leaf]
    m = len(src)
    built = Topology(
        "nodes", chips, 17, np.array(src, np.int32), np.array(dst, np.int32), np.zeros(m, np.int32),
        np.full(m, 50e9), np.full(m, 1e-6), np.arange(m, dtype=np.int32), (Axis("x", chips, False),),
        np.arange(chips, dtype=np.int32)[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip
    where = Cluster("nodes", built, "nodes", "shortest")
    plan = lay_out(built)
    tops = [plan.boxes[v].top for v in range(17)]
    assert tops[16] < tops[12] < tops[0] < tops[8]
    assert plan.boxes[8] == plan.boxes[9]
    check_picture(topology_svg(where))
    check_picture(topology_svg(where, load=np.ones(m)))
    text = topology_text(where)
    assert "switches 0-1 each -- chips 0-3" in text
    assert "switch 4 -- chips 0, 4 and switch 8" in text


def test_text_marks_routes_on_the_grid() -> None:
    where = cluster("mesh:4x4")
    text = topology_text(where, routes=[route(where.topology, *stops) for stops in TWO_ROUTES])
    assert "0,0 <2 1,0 <2 2,0 <2 3,0" in text
    assert "0,3 <1 1,3 <1 2,3 <1 3,3" in text
    assert text.count("1^") == text.count("2^") == 3


@each_network
def test_text_is_plain_and_names_every_chip_of_a_small_network(name: str) -> None:
    where = cluster(name)
    text = topology_text(where)
    assert text.isascii()
    assert not [line for line in text.split("\n") if line != line.rstrip()]
    if where.topology.is_grid and where.topology.chips <= 64:
        for chip in range(where.topology.chips):
            assert re.search(rf"(?<![\d,]){where.topology.place(chip)}(?![\d,])", text), chip
