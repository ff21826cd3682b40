"""Pictures of machines over networks and of slices: what is drawn of many nodes, and where lines run."""

import itertools
import re
from functools import cache

import numpy as np
import pytest
from pictures import check_picture, corners, of_class, words

from hopcast import clusters
from hopcast.draw import topology_svg
from hopcast.draw.cut import cut_svg
from hopcast.draw.layout import Layout, centre, lay_out
from hopcast.draw.layout_slices import slices
from hopcast.graph.flow import disjoint_routes
from hopcast.ir.cluster import Cluster
from hopcast.names import InputError
from hopcast.verbs._cut import halves
from hopcast.verbs.draw import draw

MACHINES = (
    "dgx-h100", "dgx-h100:2", "dgx-h100:4", "dgx-h100:4,routing=ecmp", "dgx-h100:6", "dgx-h100:32",
    "dgx-h100:32,oversubscription=2", "dgx-h100:128", "hgx-b200:16", "gb200-nvl72:2", "gb200-nvl72:8",
    "fat-tree:8x4,leaf=8,spine=2", "fat-tree:24x4,leaf=8,spine=2",
)  # fmt: skip
SLICES = (
    "v5e:1x1,slices=2", "v5e:2x2,slices=2", "v5e:4x4,slices=2", "v5e:4x4,slices=4", "v5e:4x4,slices=9",
    "v5e:16x16,slices=4", "v5p:2x2x4,slices=3", "v5p:4x4x4,slices=3", "v6e:8x8,slices=2",
)  # fmt: skip
each = pytest.mark.parametrize("name", [*MACHINES, *SLICES])


@cache
def where(name: str) -> Cluster:
    return clusters.cluster(name)


def drawn(plan: Layout, vertices: int) -> list[int]:
    return [v for v in range(vertices) if v not in plan.hidden]


@each
def test_words_are_apart_and_on_the_page(name: str) -> None:
    check_picture(
        topology_svg(where(name), caption="A caption that needs a line of its own under a picture.")
    )
    shown = halves(where(name))
    check_picture(cut_svg(where(name), shown.cut, title=shown.title, caption=shown.caption))


@each
def test_words_of_a_picture_of_load_are_apart(name: str) -> None:
    topology = where(name).topology
    some = np.random.default_rng(0).integers(0, 9, topology.links) * (topology.bandwidth > 0)
    check_picture(topology_svg(where(name), load=some.astype(float)[topology.wire]))


@each
def test_no_cable_runs_behind_a_box(name: str) -> None:
    """Not of a neighbour in the row either: lines leave boxes towards the other layer."""
    topology = where(name).topology
    plan = lay_out(topology)
    there = drawn(plan, topology.vertices)
    boxes = [plan.boxes[v] for v in there]
    at = corners(boxes)
    for i in range(topology.links):
        ends = {plan.boxes[int(v)] for v in (topology.src[i], topology.dst[i])}
        for line in plan.ways(topology, i, 0.0):
            points = np.concatenate([np.linspace(a, b, 60) for a, b in itertools.pairwise(line)])[:, None]
            inside = np.all((points > at[None, :, :2]) & (points < at[None, :, 2:]), 2).any(0)
            assert {boxes[int(v)] for v in np.flatnonzero(inside)} <= ends, topology.link_name(i)


@each
def test_a_chip_is_drawn_with_all_its_links_or_not_at_all(name: str) -> None:
    topology = where(name).topology
    plan = lay_out(topology)
    hidden = np.array([v in plan.hidden for v in range(topology.vertices)])
    lines = np.array([bool(trace.lines) for trace in plan.traces])
    assert np.array_equal(lines, ~(hidden[topology.src] | hidden[topology.dst]))
    on_grid = (topology.src < topology.chips) & ~hidden[topology.src]
    assert lines[on_grid].all()
    rects = [r for kind in ("chip", "end") for r in of_class(topology_svg(where(name)), "rect", kind)]
    assert len(rects) == int((~hidden[: topology.chips]).sum())


@pytest.mark.parametrize("name", ["dgx-h100:32", "dgx-h100:128", "hgx-b200:16"])
def test_of_many_nodes_the_first_the_second_and_the_last_are_drawn(name: str) -> None:
    topology, picture = where(name).topology, topology_svg(where(name))
    last, said = topology.axes[0].length - 1, words(picture)
    for node in (0, 1, last):
        assert f"node {node} nvswitch" in said
        assert [w for w in said if re.fullmatch(rf"{node},\d", w)] == [f"{node},{gpu}" for gpu in range(8)]
    assert "node 2 nvswitch" not in said
    assert said.count("...") == 1
    assert f"3 of {last + 1} nodes are drawn, 0, 1 and {last}, with the switches that they are on." in said


@pytest.mark.parametrize(
    ("name", "ends"),
    [("dgx-h100:128", (42, 721)), ("dgx-h100:32", (70, 71)), ("v5e:4x4,slices=9", (0, 95))],
)
def test_a_route_is_drawn_with_the_nodes_at_its_ends(name: str, ends: tuple[int, int]) -> None:
    topology = where(name).topology
    found = disjoint_routes(topology, *ends)
    picture = topology_svg(where(name), routes=found)
    check_picture(picture)
    assert len(of_class(picture, "rect", "end")) == 2
    kept = lay_out(topology, keep=ends)
    assert not set(ends) & kept.hidden
    assert set(ends) & lay_out(topology).hidden


def test_the_busiest_link_is_drawn() -> None:
    topology = where("dgx-h100:32").topology
    chip = 17 * 8 + 3
    load = (topology.src == chip).astype(float)
    said = words(topology_svg(where("dgx-h100:32"), load=load[topology.wire]))
    assert "node 17 nvswitch" in said


@pytest.mark.parametrize("name", ["dgx-h100:1024", "hgx-b200:2048"])
def test_a_pod_that_is_too_large_is_refused_with_the_figure_that_shows_it(name: str) -> None:
    wanted = f"or its units: hopcast atlas --only gpu_topology --on {name}$"
    with pytest.raises(InputError, match=wanted):
        topology_svg(where(name))


def test_trees_of_more_chips_than_stand_in_a_row_are_refused() -> None:
    with pytest.raises(InputError, match=r"1,024 chips is too large to draw .*256 in a row"):
        draw("all_reduce", "dgx-h100:128", algorithm="double_tree", trees=True).svg()


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_looks_like_the_same_slice_alone(name: str) -> None:
    topology = where(name).topology
    alone = lay_out(where(re.sub(r",slices=\d+", "", name)).topology)
    plan = slices(topology, True, ())
    n = topology.chips // topology.axes[0].length
    for k in range(topology.axes[0].length):
        mine = range(k * n, k * n + n)
        if set(mine) <= plan.hidden:
            continue
        assert not set(mine) & plan.hidden
        moved = {
            (round(x - a, 6), round(y - b, 6))
            for (x, y), (a, b) in zip(
                (centre(plan.boxes[v]) for v in mine), map(centre, alone.boxes), strict=True
            )
        }
        assert len(moved) == 1
        assert [plan.label(v) for v in mine] == [alone.label(v) for v in range(n)]
    assert plan.traces[0].lines


@pytest.mark.parametrize("name", SLICES)
def test_hosts_stand_above_their_slice_and_the_network_above_all(name: str) -> None:
    topology = where(name).topology
    plan, n = lay_out(topology), topology.chips // topology.axes[0].length
    top = min(plan.boxes[v].top for v in drawn(plan, topology.chips))
    (network,) = (v for v in range(topology.chips, topology.vertices) if topology.place(v) == "dcn")
    for v in drawn(plan, network)[len(drawn(plan, topology.chips)) :]:
        chips = topology.dst[(topology.src == v) & (topology.dst < topology.chips)]
        mine = [plan.boxes[c] for c in range(int(chips[0]) // n * n, int(chips[0]) // n * n + n)]
        x, _ = centre(plan.boxes[v])
        assert plan.boxes[network].bottom < plan.boxes[v].top
        assert plan.boxes[v].bottom < top
        assert min(b.left for b in mine) - 60 < x < max(b.right for b in mine) + 60
