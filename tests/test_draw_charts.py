"""Loads of tiers of switches, crossings of curves, and tools over ranks."""

import math
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from pictures import box_of, check_picture, cluster, of_class, word_boxes, words

from hopcast import clusters
from hopcast.atlas import figure
from hopcast.choose import answer
from hopcast.draw.boxes import Box
from hopcast.draw.charts import Curve, Scale, crossings, evenly, plot, powers
from hopcast.draw.fabric import Side, fabric_svg, fabric_text, has_tiers, heat_class, tiers
from hopcast.draw.geometry import passes
from hopcast.draw.scaling import scaling_svg
from hopcast.draw.sketch import Sketch
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.verbs import ask
from hopcast.verbs.draw import draw

GIB = 2.0**30


@cache
def priced(collective: str, on: str, algorithm: str = "auto", size: str = "1GiB", **how: Any) -> Answer:
    q, _ = ask.question(collective, on, size=size, **how)
    return answer(q, algorithm)


FABRICS = (
    "dgx-h100:4", "dgx-h100:4,routing=ecmp", "dgx-h100:16,oversubscription=2,routing=ecmp",
    "dgx-h100:64,routing=ecmp",
    "fat-tree:8x4,leaf=4,spine=4,routing=ecmp", "switch:8", "gb200-nvl72:2",
)  # fmt: skip


@pytest.mark.parametrize("on", FABRICS)
def test_every_cable_is_in_one_tier_with_its_own_load(on: str) -> None:
    a = priced("all_to_all", f"{on},latency=0", "direct")
    topology, load = a.question.cluster.topology, a.load
    assert load is not None
    found = tiers(topology, load)
    seen = np.concatenate([w.links[w.links >= 0] for t in found for w in (t.up, t.down)])
    assert sorted(seen.tolist()) == list(range(topology.links))
    for t in found:
        for way in (t.up, t.down):
            there = way.links >= 0
            assert np.allclose(way.busy[there], (load / topology.bandwidth)[way.links[there]])
            assert int(there.sum()) == t.cables
    side = Side(a.question.cluster, load, "all alike")
    picture = fabric_svg([side], title=f"Load on {on}", caption="A caption.")
    check_picture(picture)
    text = fabric_text(side)
    assert text.isascii()
    busy = load / topology.bandwidth
    hottest = int(busy.argmax())
    name = f"{topology.place(int(topology.src[hottest]))} > {topology.place(int(topology.dst[hottest]))}"
    assert name in text
    assert name in " ".join(words(picture))


def test_hashed_flows_meet_and_spread_ones_do_not() -> None:
    """On average a cable has the even share; the fullest has more, and ends last."""
    p = figure("heat_ecmp").picture()
    f = {k: float(v) for k, v in p.facts.items()}  # type: ignore[arg-type]
    assert f["ecmp.even"] == pytest.approx(f["spread.even"])
    assert f["spread.most"] == pytest.approx(f["spread.even"])
    assert f["ecmp.most"] > 1.1 * f["ecmp.even"]
    assert f["ecmp.time"] == pytest.approx(f["ecmp.most"])
    # 16 nodes of 8: of 1 GiB the part between nodes is 15/16, over 8 leaves of 8 cables of 50 GB/s; of
    # what a rail's GPU sends 1/8 stays under its leaf
    assert f["spread.even"] == pytest.approx(GIB * 15 / 16 * 7 / 8 / (64 * 50e9))


def test_classes_of_heat_grow_with_the_share() -> None:
    found = [heat_class(p) for p in np.linspace(0.0, 2.0, 201)]
    assert found == sorted(found)
    assert set(found) == {0, 1, 2, 3, 4, 5}
    assert heat_class(1.0) == 3


def test_grids_have_no_tiers() -> None:
    assert not has_tiers(cluster("mesh:4x4").topology)
    with pytest.raises(InputError, match="has no tiers of switches"):
        tiers(cluster("mesh:4x4").topology, np.ones(48))
    one, two = (clusters.cluster(c) for c in ("dgx-h100:4", "switch:8"))
    sides = [Side(c, np.ones(c.topology.links), "x") for c in (one, two)]
    with pytest.raises(InputError, match="has not the tiers of"):
        fabric_svg(sides, title="two")


def test_a_crossing_lies_between_samples() -> None:
    xs = (1.0, 2.0, 4.0)
    found = crossings(xs, {"a": [1.0 + x for x in xs], "b": [2.5 + x / 4 for x in xs]})
    assert [(a, b) for a, b, _ in found] == [("a", "b")]
    assert found[0][2] == pytest.approx(2.0)
    assert crossings(xs, {"a": (1, 1, 1), "b": (2, 2, 2)}) == []


def test_a_sweep_says_where_the_fastest_changes() -> None:
    picture = draw("all_reduce", "mesh:4x4", sweep=("64K", "256M")).svg()
    check_picture(picture)
    assert re.search(r"tree_packing overtakes \S+ near [\d.]+ MiB", " ".join(words(picture)))


@pytest.mark.parametrize(
    "other",
    [((0.5, 0.4), (1.0, 0.6)), ((0.5, 0.55), (1.0, 0.45)), ((0.42, 0.0), (0.42, 1.0))],
    ids=["rises past the name", "falls past it", "stands to its left"],
)
def test_the_name_of_a_curve_that_ends_early_is_clear_of_the_others(
    other: tuple[tuple[float, float], ...],
) -> None:
    canvas, box, unit = Sketch(), Box(0, 0, 400, 300), Scale("", 0.0, 1.0, (), str, log=False)
    early = Curve("early", (0.0, 0.5), (0.0, 0.5))
    plot(canvas, box, [early, Curve("other", *zip(*other, strict=True))], unit, unit)
    line = tuple((400 * x, 300 * (1 - y)) for x, y in other)
    found = [b for said, b in word_boxes(canvas.render("t", "d")) if said == "early"]
    assert len(found) == 1
    assert box.holds(found[0])
    assert not passes(line, found[0])


def measured() -> dict[str, Any]:
    """Two kinds of work, three tools, one of which is stopped."""
    rows: list[dict[str, Any]] = [
        {"section": section, "tool": tool, "ranks": n, "cpu_s": 0.2 + factor * n**power, "note": None}
        for section in ("all_reduce, ring", "all_to_all, ring")
        for tool, factor, power in (("hopcast", 1e-5, 1.0), ("one", 1e-5, 1.6), ("two", 1e-4, 2.0))
        for n in (16, 64, 256, 1024)
    ]
    for row in rows:
        if row["cpu_s"] > 20:
            row |= {"note": "longer than 20 s", "cpu_s": None}
    return {
        "date": "2026-11-29",
        "machine": {"cores": 2, "cpu": "a machine", "memory_GiB": 7.5},
        "versions": {"hopcast": "0.1", "two": None},
        "options": {"limit_s": 20},
        "rows": [*rows, {"section": "table", "tool": "hopcast", "ranks": 8, "cpu_s": 1.0}],
    }


def test_a_chart_over_ranks_has_a_curve_for_each_tool_and_a_cross_where_one_stopped() -> None:
    picture = scaling_svg(measured())
    check_picture(picture)
    said = words(picture)
    assert "Measured 2026-11-29; 2 cores of a machine, 7.5 GiB; hopcast 0.1" in said
    assert said.count("hopcast") == said.count("one") == said.count("two") == 2
    assert "stopped (longer than 20 s): two at 1,024 ranks of all_reduce, ring;" in " ".join(said)
    dots = {k: len(of_class(picture, "rect", f"h{k}")) for k in (1, 2, 3)}
    assert dots == {1: 8, 2: 8, 3: 6}
    crosses = [p for p in of_class(picture, "path", "s3") if p.get("stroke-width") == "2.2"]
    assert len(crosses) == 2 * 2
    assert said.count("stopped at 20 s") == 2


def test_a_cross_stands_at_the_limit_of_seconds_on_the_scale_of_the_curves() -> None:
    picture = scaling_svg(measured())
    at = {said: (b.top + b.bottom) / 2 for said, b in word_boxes(picture) if said in ("1 s", "10 s")}
    limits = {float(str(p.get("d")).split()[-1]) for p in of_class(picture, "path", "dead")}
    ends = [re.findall(r"-?[0-9.]+", str(p.get("d"))) for p in of_class(picture, "path", "d3")]
    crosses = {float(end[-1]) for end in ends}
    assert crosses == limits
    right = at["10 s"] + (at["10 s"] - at["1 s"]) * math.log10(20 / 10)
    assert min(crosses) == pytest.approx(right, abs=1.5)  # half a line of text


def test_tools_that_are_stopped_at_the_same_size_have_a_cross_each() -> None:
    rows = [
        r | ({"cpu_s": None} if r["ranks"] == 1024 and r["tool"] == "one" else {}) for r in measured()["rows"]
    ]
    picture = scaling_svg(measured() | {"rows": rows})
    check_picture(picture)
    ends = [
        re.findall(r"-?[0-9.]+", str(p.get("d"))) for k in "23" for p in of_class(picture, "path", f"d{k}")
    ]
    assert len(ends) == len({(end[-2], end[-1]) for end in ends}) == 4


def test_without_a_known_limit_a_cross_stands_on_the_upper_edge() -> None:
    given = measured()
    del given["options"]
    picture = scaling_svg(given)
    check_picture(picture)
    assert not of_class(picture, "path", "dead")
    tops = {box_of(r).top for r in of_class(picture, "rect", "panel")}
    ends = [re.findall(r"-?[0-9.]+", str(p.get("d"))) for p in of_class(picture, "path", "d3")]
    assert {float(end[-1]) for end in ends} == tops


def test_one_scale_serves_all_panels_of_a_chart_over_ranks() -> None:
    """The same seconds are as high in both: the first tool's curves are alike."""
    picture = scaling_svg(measured())
    dots = [(float(r.get("x", 0)), float(r.get("y", 0))) for r in of_class(picture, "rect", "h1")]
    assert sorted(y for _, y in dots[:4]) == sorted(y for _, y in dots[4:])


def test_a_chart_over_ranks_needs_two_of_them() -> None:
    with pytest.raises(InputError, match="two numbers of ranks or more"):
        scaling_svg({"rows": measured()["rows"][-1:]})


def test_scales_and_ticks() -> None:
    scale = Scale("bytes", 1.0, 1000.0, powers(1.0, 1000.0, 10), str)
    assert [scale.at(t) for t in scale.ticks] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    for high in (0.3, 7.0, 430.0, 1000.0):
        ticks = evenly(high)
        assert ticks[0] == 0
        assert ticks[-1] >= high
        assert len(ticks) <= 8
