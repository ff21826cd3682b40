"""What binds a collective, drawn; the figures of limits; what the command line draws."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli import run
from pictures import check_picture, cluster, of_class, words

import hopcast as hc
from hopcast import clusters
from hopcast.atlas import Picture, figure
from hopcast.choose import answer
from hopcast.draw.cut import Cut, carry, cut_svg, cut_text, of_links, tints
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.units import show_size
from hopcast.verbs import ask
from hopcast.verbs._cut import binding, halves
from hopcast.verbs.draw import draw

GIB = 2.0**30
W = 45e9


@cache
def priced(collective: str, on: str, algorithm: str = "auto", size: str = "1GiB", **how: Any) -> Answer:
    q, _ = ask.question(collective, on, size=size, **how)
    return answer(q, algorithm)


ALONE = (
    "mesh:4x4", "mesh:3x5", "torus:4x4", "torus:5x5", "torus:4x4x4", "ring:8", "ring:100", "chain:6",
    "hypercube:4", "switch:8", "switch:72", "v5e:8x16", "v5e:16x16", "v5p:4x4x4", "dgx-h100:4",
    "dgx-h100:4,routing=ecmp",
    "fat-tree:8x4,leaf=8,spine=2", "gb200-nvl72:2", "v5e:4x4,slices=2",
)  # fmt: skip
BOUND = (
    ("all_gather", "mesh:4x4", "port"),
    ("all_to_all", "mesh:4x4", "cut"),
    ("all_reduce", "mesh:4x4", "partition"),
    ("all_to_all", "torus:4x8", "cut"),
    ("all_reduce", "dgx-h100:4", "partition"),
    ("all_to_all", "dgx-h100:4", "cut"),
    ("all_to_all", "fat-tree:8x4,leaf=8,spine=2", "cut"),
    ("all_gather", "ring:8", "port"),
)


@pytest.mark.parametrize("name", ALONE)
def test_a_balanced_cut_parts_the_chips_and_counts_what_crosses(name: str) -> None:
    where = clusters.cluster(name)
    topology, shown = where.topology, halves(where)
    part, links = shown.cut.part, shown.cut.links
    assert shown.cut.parts == 2
    inside = np.bincount(part[: topology.chips])
    assert abs(int(inside[0]) - int(inside[1])) <= topology.chips // 2
    crosses = (part[topology.src] == 0) & (part[topology.dst] == 1) & (topology.bandwidth > 0)
    assert links.tolist() == np.flatnonzero(crosses).tolist()
    check_picture(cut_svg(where, shown.cut, title=shown.title, caption=shown.caption))
    text = cut_text(where, shown.cut, caption=shown.caption)
    assert text.isascii()
    assert shown.cut.head in text
    assert max(map(len, text.split("\n"))) <= 4 + max(100, 2 * max(topology.shape))


@pytest.mark.parametrize(("collective", "on", "kind"), BOUND)
def test_what_binds_is_drawn_with_the_numbers_of_the_bound(collective: str, on: str, kind: str) -> None:
    a = priced(collective, f"{on},latency=0")
    where, shown = a.question.cluster, binding(a)
    topology, links = where.topology, shown.cut.links
    assert a.bound.kind == kind
    assert np.array_equal(links, a.bound.links)
    assert np.all(shown.cut.part[topology.src[links]] != shown.cut.part[topology.dst[links]])
    assert shown.cut.part[: topology.chips].min() >= 0
    volume = a.bound.seconds * carry(topology, links)
    assert show_size(round(volume)) in shown.cut.under
    picture = cut_svg(where, shown.cut, title=shown.title, caption=shown.caption)
    check_picture(picture)
    said = words(picture)
    assert shown.cut.head in said
    assert shown.cut.under in said
    assert len(of_class(picture, "path", "h2")) >= 1


def test_arrows_of_a_cut_are_its_links_and_grounds_are_its_sides() -> None:
    shown = binding(priced("all_to_all", "mesh:4x4,latency=0"))
    picture = cut_svg(clusters.cluster("mesh:4x4"), shown.cut)
    assert len(of_class(picture, "path", "h2")) == 4 + 1  # and one in the key
    assert len(of_class(picture, "rect", "a1")) == len(of_class(picture, "rect", "a5")) == 8 + 1
    assert len(of_class(picture, "path", "border")) == 4 + 1  # and one up to the words


def test_dead_cables_are_not_counted_and_stay_visible() -> None:
    dead = ("3,3:4,3", "3,4:4,4")
    a = priced("all_to_all", "v5e:8x8,latency=0", dead=dead)
    shown = binding(a)
    assert shown.cut.head == "270 GB/s over 6 links"
    picture = cut_svg(a.question.cluster, shown.cut)
    check_picture(picture)
    assert len(of_class(picture, "path", "cross")) == 4
    assert "the bound is" in shown.caption


def test_what_has_no_sides_is_drawn_as_its_route() -> None:
    a = priced("broadcast", "mesh:4x4", size="1KiB")
    shown = binding(a)
    assert a.bound.kind == "latency"
    assert shown.cut.parts == 0
    picture = cut_svg(a.question.cluster, shown.cut)
    check_picture(picture)
    assert len(of_class(picture, "path", "h2")) == 6 + 1
    assert cut_text(a.question.cluster, shown.cut).count(" .") == 16


def test_only_the_rows_that_the_collective_runs_over_are_parted() -> None:
    shown = binding(priced("all_gather", "torus:4x4,latency=0", over="x"))
    assert sorted(set(shown.cut.part.tolist())) == [-1, 0, 1]
    assert int((shown.cut.part >= 0).sum()) == 4


@pytest.mark.parametrize("name", ["mesh:4x4", "torus:4x4", "ring:8", "hypercube:4", "switch:6"])
def test_parts_are_what_hangs_together_without_the_links(name: str) -> None:
    topology = cluster(name).topology
    rng = np.random.default_rng(7)
    for _ in range(20):
        links = np.flatnonzero(rng.random(topology.links) < 0.6).astype(np.int32)
        part = of_links(topology, links)
        gone = {frozenset((int(topology.src[i]), int(topology.dst[i]))) for i in links}
        near: dict[int, set[int]] = {v: set() for v in range(topology.vertices)}
        for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
            if frozenset((a, b)) not in gone:
                near[a].add(b)
        for start in range(topology.chips):
            reached, front = {start}, [start]
            for v in front:
                front += [w for w in near[v] - reached if not reached.add(w)]  # type: ignore[func-returns-value]
            if part[start] >= 0:
                assert reached == set(np.flatnonzero(part == part[start]).tolist())


def test_parts_side_by_side_have_different_tints() -> None:
    for name in ("mesh:4x4", "torus:4x4x4", "dgx-h100:2"):
        topology = clusters.cluster(name).topology
        part = np.where(np.arange(topology.vertices) < topology.chips, np.arange(topology.vertices), -1)
        tint = np.array(tints(topology, part.astype(np.int32)))
        assert np.all(tint[topology.chips :] == 0)
        joined = (part[topology.src] >= 0) & (part[topology.dst] >= 0)
        assert np.all(tint[topology.src[joined]] != tint[topology.dst[joined]])
        assert len(set(tint[: topology.chips].tolist())) <= 6


def test_cuts_that_cannot_be_are_refused() -> None:
    where = cluster("mesh:4x4")
    with pytest.raises(
        InputError, match="the cut has 3 vertices and links up to 1; mesh:4x4 has 16 vertices"
    ):
        cut_svg(where, Cut(np.zeros(3, np.int32), np.array([1], np.int32)))
    with pytest.raises(InputError, match="is one chip; a cut parts two or more"):
        draw("mesh:1x1", cut=True)
    with pytest.raises(InputError, match="moves nothing, so nothing binds"):
        binding(priced("all_gather", "mesh:1x1"))


@cache
def drawn(name: str) -> Picture:
    return figure(name).picture()


def fact(name: str, key: str) -> float:
    return float(drawn(name).facts[key])  # type: ignore[arg-type]


NUMBERS = (
    ("packed_trees", "trees", 8, "floor(5 x 24 / 15)"),
    ("packed_trees", "most", 5, "24 cables over 15 edges of a tree are 8/5"),
    ("packed_trees", "full", 24, "all"),
    ("packed_trees", "bound", 5 / 8, "Nash-Williams and Tutte: (N - 1) / cables"),
    ("packed_trees", "phases", 15 / 16, "twice 15/16 over the two links of a corner"),
    ("trees_crossover", "limit", 1.5, "15/16 over 5/8"),
    ("cut_port", "bound", 15 / 16 * GIB / (2 * W), "two links of a corner"),
    ("cut_port", "links", 2, "of a corner"),
    ("cut_middle", "bound", GIB / 4 / (8 * W), "a quarter of D over 8 links"),
    ("cut_parts", "bound", 30 * GIB / (48 * W), "2 (N - 1) D over all links"),
    ("cut_parts", "parts", 16, "every chip"),
    ("cut_dead", "bound", GIB / 4 / (6 * W), "6 of 8 cables are left"),
    ("cut_node", "bound", GIB / 4 * 3 / 4 / 400e9, "a quarter of D, three quarters of it for other nodes"),
    ("cut_node", "links", 8, "NICs of a node"),
)


@pytest.mark.parametrize(("name", "key", "value", "why"), NUMBERS, ids=[f"{n}.{k}" for n, k, *_ in NUMBERS])
def test_numbers_of_the_figures_follow_from_the_network(name: str, key: str, value: float, why: str) -> None:
    assert why
    assert fact(name, key) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("on", ["mesh:4x4", "mesh:2x4", "chain:4"])
def test_where_trees_pay_is_what_flows_say(on: str) -> None:
    """A size from which on they pay is marked only if they never pay below it."""
    f = figure("trees_crossover")
    made = f.picture(f.given(on=on))
    sizes = [2.0**k for k in range(16, 32)]
    times = [
        [hc.predict("all_reduce", on, size=s, algorithm=a, price="flows").rows[0]["time_us"] for s in sizes]
        for a in ("tree_packing", "multi_axis,lockstep=on")
    ]
    gain = [float(other / trees) for trees, other in zip(*times, strict=True)]
    assert made.facts["gain.least"] == pytest.approx(min(gain))
    assert made.facts["gain.last"] == pytest.approx(gain[-1])
    faster = [g > 1 for g in gain]
    assert ("crossing" in made.facts) == (faster == sorted(faster) and not faster[0] and faster[-1])
    said = " ".join(words(made.svg))
    assert ("Trees take less time at every size" in said) == all(faster)
    mixed = any(faster) and faster != sorted(faster)
    assert ("Trees take less time, but not" in said) == mixed


def test_trees_gain_what_the_bounds_allow() -> None:
    assert 1 < fact("trees_crossover", "gain.last") <= 1.5 * (1 + 1e-3)


OTHER = (
    ("packed_trees", "mesh:2x4"), ("packed_trees", "mesh:3x5"), ("trees_beside", "mesh:2x4"),
    ("trees_crossover", "mesh:2x4"), ("cut_port", "mesh:3x3"), ("cut_middle", "v5e:4x8"),
    ("cut_parts", "torus:4x4"), ("cut_dead", "v5e:4x8"), ("cut_node", "dgx-a100:2"),
    ("heat_ecmp", "dgx-h100:4"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "on"), OTHER)
def test_a_figure_is_made_for_another_cluster(name: str, on: str) -> None:
    f = figure(name)
    made = f.picture(f.given(on=on))
    check_picture(made.svg)
    assert made.svg != drawn(name).svg


@pytest.mark.parametrize(
    ("name", "on", "said"),
    [
        ("packed_trees", "torus:4x4", "all its ranks have as many links"),
        ("packed_trees", "mesh:16x16", "up to 64 chips, such as mesh:4x4"),
        ("trees_beside", "mesh:8x8", "up to 96 links"),
        ("cut_port", "v5e:16x32", "no cluster|up to 256 chips|v5e"),
        ("cut_dead", "v5e:2x4", "two axes of 4 chips or more"),
        ("heat_ecmp", "v5e:4x4", "such as dgx-h100:16"),
    ],
)
def test_clusters_that_do_not_fit_are_refused_in_one_line(name: str, on: str, said: str) -> None:
    f = figure(name)
    with pytest.raises(InputError, match=said) as told:
        f.picture(f.given(on=on))
    assert "\n" not in str(told.value)


def test_the_command_line_draws_cuts_trees_and_tiers(tmp_path: Path) -> None:
    for asked, said in (
        (("mesh:4x4", "--cut"), "180 GB/s over 4 links"),
        (("all_reduce", "mesh:4x4", "--size", "1GiB", "--cut"), "at least 30 GiB must cross"),
        (("all_reduce", "mesh:4x4", "--algorithm", "tree_packing", "--size", "1GiB", "--trees"), "8 trees"),
        (("all_to_all", "dgx-h100:4,routing=ecmp", "--algorithm", "direct", "--load"), "leaf - spine up"),
    ):
        ran = run("draw", *asked)
        assert ran.status == 0, ran.err
        assert said in ran.out
        out = tmp_path / "picture.svg"
        assert run("draw", *asked, "-o", str(out)).status == 0
        check_picture(out.read_text())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("mesh:4x4", "--trees"), "--trees: for a collective, and none stands before 'mesh:4x4'"),
        (("all_to_all", "mesh:4x4", "--load", "--cut"), "--load and --cut: each is a picture of its own"),
        (("mesh:4x4", "--cut", "--route", "0,0", "3,3"), "--route and --cut: each is a picture of its own"),
        (("all_gather", "ring:8", "--trees", "--steps", "1"), "--trees and --steps"),
    ],
)
def test_pictures_that_exclude_each_other_are_refused(asked: tuple[str, ...], said: str) -> None:
    ran = run("draw", *asked)
    assert ran.status == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
