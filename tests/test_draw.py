"""Pictures say what the schedule does, stand alone, and keep words apart."""

import itertools
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from hopcast import algorithms
from hopcast.draw import schedule_svg, schedule_text, theme, topology, topology_svg, topology_text
from hopcast.draw.boxes import Box, of_text
from hopcast.draw.history import history
from hopcast.draw.layout import lay_out
from hopcast.interpret import interpret
from hopcast.ir import algebra
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ALL, of
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import REDUCE, Schedule, from_columns, one_group
from hopcast.ir.topology import Axis, Floats, Topology
from hopcast.names import InputError
from hopcast.price.steps import link_load, steps
from hopcast.registry import load
from hopcast.routing import routes

GOLDEN = Path(__file__).parent / "golden" / "draw"
NETWORKS = (
    "ring:2", "ring:3", "ring:8", "ring:48", "ring:100", "ring:400", "chain:4", "chain:20", "chain:300",
    "torus:1x1", "torus:1x6", "torus:2x4", "torus:4x4", "torus:8x8", "torus:16x16", "torus:8x16",
    "torus:32x32", "torus:4x4x4", "torus:2x2x4", "torus:8x8x16", "torus:4x4x4x2", "torus:16x16x16",
    "mesh:4x4", "mesh:3x5", "mesh:8x1", "mesh:5x3x2", "mesh:100x2", "switch:2", "switch:8", "switch:30",
    "switch:72", "switch:200", "hypercube:1", "hypercube:3", "hypercube:4", "hypercube:6",
)  # fmt: skip
SCHEDULES = [
    tuple(line.split())
    for line in """
        ring:8      all_gather      bidirectional_ring
        ring:8      all_gather      bidirectional_ring,split=on
        ring:8      all_gather      ring
        ring:4      all_gather      ring
        ring:1      all_gather      ring
        switch:8    all_gather      ring
        ring:40     all_gather      ring
        chain:4     all_gather      chain
        torus:4x4   all_gather      multi_axis
        torus:4x8   all_gather      multi_axis
        torus:4x4x4 all_gather      multi_axis
        torus:10x10 all_gather      multi_axis
        ring:4      reduce_scatter  ring
        ring:40     reduce_scatter  bidirectional_ring
        chain:9     reduce_scatter  chain
        torus:4x4   reduce_scatter  multi_axis
        ring:2      all_reduce      ring
        ring:3      all_reduce      ring
        ring:8      all_reduce      ring
        ring:16     all_reduce      ring
        torus:4x4   all_reduce      multi_axis
        mesh:4x4    broadcast       multi_axis
        mesh:3x5    reduce          multi_axis
        mesh:4x4    gather          multi_axis
        mesh:4x4    scatter         multi_axis
        ring:4      all_to_all      exchange
        ring:8      all_to_all      exchange
        switch:16   all_to_all      exchange
        switch:24   all_to_all      exchange
        torus:4x4   all_to_all      exchange
    """.strip().split("\n")
]
SMALL_SCHEDULES = [s for s in SCHEDULES if s[0] in ("ring:4", "ring:8", "mesh:4x4", "chain:4")]
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
each_schedule = pytest.mark.parametrize(("name", "collective", "algorithm"), SCHEDULES)

# Names of at most 40 ranks.
each_small_schedule = pytest.mark.parametrize(
    ("name", "collective", "algorithm"), [s for s in SCHEDULES if s[0] not in ("torus:10x10", "torus:4x4x4")]
)


@cache
def cluster(name: str) -> Cluster:
    family, shape = name.split(":")
    built = load("topologies", "topology", family).build(name, tuple(map(int, shape.split("x"))), 45e9, 1e-6)
    return Cluster(name, built, family, "dimension_order" if built.is_grid else "shortest")


def exchange(n: int) -> Schedule:
    """all_to_all in one step, every rank straight to every other."""
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    columns = {"step": np.zeros(len(src), int), "src": src, "dst": dst, "chunk": src * n + dst}
    return from_columns(of("all_to_all", n), "exchange", one_group(n), columns)


@cache
def schedule(name: str, collective: str, algorithm: str, over: tuple[str, ...] = ()) -> Schedule:
    where = cluster(name)
    chosen = group(where, physical(where.topology), over)
    if algorithm == "exchange":
        made = exchange(chosen.ranks)
    else:
        builder, options = algorithms.parse(algorithm)
        made = builder.build(collective, chosen, Hint(size=2.0**23, alpha=1e-6, options=options))
    return algebra.lay(made, chosen.all_groups, where.topology.vertices)


def exchanged(name: str, size: float = 2.0**23) -> Floats:
    """Bytes over each link when all ranks send alike to all."""
    where = cluster(name)
    n = where.topology.chips
    src, dst = (v.astype(np.int32) for v in np.nonzero(~np.eye(n, dtype=bool)))
    volume = np.full(len(src), size / n**2)
    return link_load(routes(where, src, dst), volume, where.topology.links, where.topology.wire)


def link(where: Topology, src: int, dst: int) -> int:
    return int(np.flatnonzero((where.src == src) & (where.dst == dst))[0])


def route(where: Topology, *stops: int) -> list[int]:
    return [link(where, a, b) for a, b in itertools.pairwise(stops)]


TWO_ROUTES = ((15, 11, 7, 3, 2, 1, 0), (15, 14, 13, 12, 8, 4, 0))


def elements(picture: str, tag: str) -> list[ET.Element]:
    return ET.fromstring(picture).findall(f".//{{http://www.w3.org/2000/svg}}{tag}")


def box_of(rect: ET.Element) -> Box:
    x, y, w, h = (float(rect.get(k, "nan")) for k in ("x", "y", "width", "height"))
    return Box(x, y, x + w, y + h)


def word_boxes(picture: str) -> list[tuple[str, Box]]:
    found = []
    for text in elements(picture, "text"):
        x, y, size = (float(text.get(k, "nan")) for k in ("x", "y", "font-size"))
        words = text.text or ""
        found.append(
            (words, of_text(x, y, words, size, text.get("text-anchor", ""), text.get("class") == "bold"))
        )
    return found


def overlaps(boxes: list[tuple[str, Box]]) -> list[tuple[str, str]]:
    """Pairs that share an area, found from left to right; a tenth is lost to rounding."""
    order = sorted(((w, b.grown(-0.11)) for w, b in boxes), key=lambda e: e[1].left)
    found: list[tuple[str, str]] = []
    open_: list[tuple[str, Box]] = []
    for words, box in order:
        open_ = [o for o in open_ if o[1].right > box.left]
        found += [(o[0], words) for o in open_ if o[1].meets(box)]
        open_.append((words, box))
    return found


def check_picture(picture: str) -> None:
    """One file that stands alone and follows the theme; words run into nothing and stay on the page."""
    root = ET.fromstring(picture)
    left, top, wide, high = map(float, root.get("viewBox", "").split())
    page = Box(left, top, left + wide, top + high)
    words = word_boxes(picture)
    assert words
    assert overlaps(words) == []
    assert [w for w, b in words if not page.holds(b.grown(-0.11))] == []
    solid = [
        box_of(r)
        for r in elements(picture, "rect")
        if r.get("class") in ("chip", "end", "switch", "blank", "spent")
    ]
    lefts = np.array([[b.left, b.top, b.right, b.bottom] for b in solid]).reshape(-1, 4)
    for said, box in words:
        small = box.grown(-0.11)
        meets = (
            (small.left < lefts[:, 2])
            & (lefts[:, 0] < small.right)
            & (small.top < lefts[:, 3])
            & (lefts[:, 1] < small.bottom)
        )
        crossed = [solid[int(i)] for i in np.flatnonzero(meets) if not solid[int(i)].holds(small)]
        assert not crossed, f"{said!r} runs over the rim of a box"
    assert (
        page.holds(
            Box(
                *(
                    f(getattr(b, k) for b in solid)
                    for f, k in zip((min, min, max, max), ("left", "top", "right", "bottom"), strict=True)
                )
            )
        )
        if solid
        else True
    )
    assert [root.find(f"{{http://www.w3.org/2000/svg}}{t}").text for t in ("title", "desc")]  # type: ignore[union-attr]
    assert "<script" not in picture
    assert re.findall(r"https?://[^\"]+", picture) == ["http://www.w3.org/2000/svg"]
    assert set(re.findall(r"url\(([^)]*)\)", picture)) <= {"#hopcast-hatch"}
    assert "prefers-color-scheme:dark" in picture
    assert not re.search(
        r"\d\.\d\d", re.sub(r"<(style|title|desc|text)[^>]*>.*?</\1>|opacity=\S+", "", picture, flags=re.S)
    )


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


@each_schedule
def test_words_of_a_schedule_are_apart_and_on_the_page(name: str, collective: str, algorithm: str) -> None:
    made = schedule(name, collective, algorithm)
    check_picture(schedule_svg(made, cluster(name), caption="How it goes."))
    check_picture(schedule_svg(made))


@each_small_network
def test_no_cable_runs_through_a_chip(name: str) -> None:
    where = cluster(name).topology
    for bows in (True, False):
        plan = lay_out(where, bows)
        at = np.array([[b.left, b.top, b.right, b.bottom] for b in plan.boxes])
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


def test_pictures_are_the_same_every_time() -> None:
    for again in (
        lambda: topology_svg(cluster("torus:4x4")),
        lambda: schedule_svg(schedule("ring:4", "all_reduce", "ring")),
    ):
        assert again() == again()


def test_pictures_follow_a_page_that_sets_the_variables_and_readers_without_variables() -> None:
    sheet = theme.style(["ink", "u5"])
    light, dark = theme.COLOURS["ink"]
    assert f"--hc-ink:{light}" in sheet.split("@media")[0]
    assert f"--hc-ink:{dark}" in sheet.split("@media")[1]
    assert f".ink{{fill:{light};fill:var(--hc-ink)}}" in sheet


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1])
def test_words_and_lines_stand_out_in_both_themes(mode: int) -> None:
    """4.5 to 1 for words and 3 to 1 for marks are what WCAG 2.2 asks for."""
    colour = {name: pair[mode] for name, pair in theme.COLOURS.items()}
    for ground in ("bg", "panel", "chip"):
        assert contrast(colour["ink"], colour[ground]) > 7
    assert min(contrast(colour["muted"], colour[ground]) for ground in ("bg", "panel")) > 4.5
    assert (
        min(contrast(colour[f"r{i}"], colour[ground]) for i in range(1, 7) for ground in ("bg", "panel")) > 3
    )
    assert min(contrast("#10151b", fill) for fill in theme.CHUNKS) > 4.5
    steps_ = [luminance(colour[f"u{i}"]) for i in range(1, 6)]
    assert steps_ == sorted(steps_, reverse=mode == 0)


def one_hot(made: Schedule) -> np.ndarray:
    """Each rank's own contribution: int64[vertices, chunks, ranks]."""
    n = made.ranks
    state = np.zeros((made.vertices, made.chunks, n), np.int64)
    for local, vertex in enumerate(made.groups[0].tolist()):
        mine = (made.collective.origin == ALL) | (made.collective.origin == local)
        state[vertex, mine, local] = 1
    return state


@each_small_schedule
def test_frames_are_what_the_interpreter_gives(name: str, collective: str, algorithm: str) -> None:
    made = schedule(name, collective, algorithm)
    state = one_hot(made)
    for frame in history(made, range(-1, made.step_count)).frames:
        if frame.step >= 0:
            state = interpret(replace(made, step_count=1, make=lambda _, s=frame.step: made.make(s)), state)
        mine = state[made.groups[0]]
        assert np.array_equal(frame.count[: made.ranks], mine.sum(2))
        bits = (frame.who[: made.ranks, :, None] >> np.arange(made.ranks, dtype=np.uint64)) & np.uint64(1)
        assert np.array_equal(bits.astype(bool), mine > 0)


@pytest.mark.parametrize(("name", "collective", "algorithm"), SMALL_SCHEDULES)
def test_a_cell_is_dotted_exactly_when_nothing_depends_on_it(
    name: str, collective: str, algorithm: str
) -> None:
    made = schedule(name, collective, algorithm)
    story = history(made, range(-1, made.step_count))
    for frame in story.frames:
        rest = replace(
            made,
            step_count=made.step_count - frame.step - 1,
            make=lambda i, s=frame.step: made.make(i + s + 1),
        )
        # at the end a cell's value is how often each cell of now has gone into it
        size = frame.count.size
        if size > 600:
            continue
        flow = interpret(rest, np.eye(size, dtype=np.int64).reshape(*frame.count.shape, size))
        used = flow[story.goal].any(0).reshape(frame.count.shape)
        assert np.array_equal(used, frame.live)


def test_a_bidirectional_ring_shows_that_each_rank_holds_1_3_5_7_8_shards() -> None:
    picture = schedule_svg(schedule("ring:8", "all_gather", "bidirectional_ring"), cluster("ring:8"))
    said = [w for w, _ in word_boxes(picture) if w.startswith("each rank holds")]
    assert said == [f"each rank holds {k} of 8 chunks" for k in (1, 3, 5, 7, 8)]
    filled = sum(
        r.get("class", "").startswith("c") and r.get("class") != "chip" for r in elements(picture, "rect")
    )
    assert filled == 8 * (1 + 3 + 5 + 7 + 8)
    outlined = sum(r.get("class") == "new" for r in elements(picture, "rect"))
    assert outlined == 8 * (2 + 2 + 2 + 1) + 1  # and one in the key


def test_partial_sums_are_drawn_contribution_by_contribution() -> None:
    picture = schedule_svg(schedule("ring:4", "reduce_scatter", "ring"), cluster("ring:4"))
    said = [w for w, _ in word_boxes(picture) if re.fullmatch(r"\d/4", w)]
    # live sums: 16 of one; then 8 of one and 4 of two; 4 of one and 4 of three; 4 of four
    assert {k: said.count(k) for k in ("1/4", "2/4", "3/4", "4/4")} == {
        "1/4": 28,
        "2/4": 4,
        "3/4": 4,
        "4/4": 4,
    }
    bars = sum(bool(re.fullmatch(r"c\d", r.get("class", ""))) for r in elements(picture, "rect"))
    assert bars == 28 + 2 * 4 + 3 * 4 + 4 * 4 + 2  # and two in the key


def test_a_contribution_that_is_added_twice_is_marked() -> None:
    columns = {"step": [0, 1], "src": [0, 0], "dst": [1, 1], "chunk": [0, 0], "op": [REDUCE, REDUCE]}
    wrong = from_columns(of("reduce", 2, root=1), "wrong", one_group(2), columns)
    assert "2/2!" in [w for w, _ in word_boxes(schedule_svg(wrong))]


def test_every_send_between_neighbours_has_its_arrow() -> None:
    picture = schedule_svg(schedule("ring:4", "all_gather", "ring"), cluster("ring:4"), steps=[1])
    tips = [p for p in elements(picture, "path") if p.get("class") == "h1"]
    assert len(tips) == 3 + 2 + 1  # the send round the end is two, and one in the key
    far = schedule_svg(exchange(8), cluster("switch:8"), steps=[0])
    tips = [p for p in elements(far, "path") if p.get("class") == "h1"]
    assert len(tips) == 14 + 2 * 2 + (56 - 14 - 2) + 1


def test_a_switch_that_holds_partial_sums_is_a_column_of_its_own() -> None:
    columns = {
        "step": [0, 0, 1, 1],
        "src": [0, 1, 2, 2],
        "dst": [2, 2, 0, 1],
        "chunk": [0] * 4,
        "op": [REDUCE, REDUCE, 0, 0],
    }
    made = replace(from_columns(of("all_reduce", 2), "in_switch", one_group(2), columns), vertices=3)
    words = [w for w, _ in word_boxes(schedule_svg(made, cluster("switch:2")))]
    assert "switch 0" in words
    assert words.count("2/2") == 1 + 2  # in the switch, then in both ranks
    assert "vertex 2" in schedule_text(made)


def test_only_the_first_of_several_groups_is_drawn_with_its_own_names() -> None:
    picture = schedule_svg(schedule("torus:4x4", "all_gather", "ring", ("y",)), cluster("torus:4x4"))
    words = [w for w, _ in word_boxes(picture)]
    assert words.count("0,3") == 4
    assert "1,0" not in words
    assert any(w.startswith("The first of 4 groups") for w in words)


def test_chosen_steps_are_drawn_and_others_refused() -> None:
    made = schedule("ring:8", "all_gather", "ring")
    words = [w for w, _ in word_boxes(schedule_svg(made, steps=[5, 2, 2]))]
    assert [w for w in words if re.fullmatch(r"step \d|start", w)] == ["step 2", "step 5"]
    assert "step 5" in schedule_text(made, steps=(5,))
    for bad in (7, -2):
        with pytest.raises(InputError, match=rf"step {bad}: .*steps 0 to 6"):
            schedule_svg(made, steps=[bad])


def test_a_long_schedule_is_thinned_and_says_so() -> None:
    words = [w for w, _ in word_boxes(schedule_svg(schedule("ring:40", "all_gather", "ring")))]
    drawn = [w for w in words if re.fullmatch(r"step \d+|start", w)]
    assert drawn[:3] == ["start", "step 0", "step 1"]
    assert drawn[-1] == "step 38"
    assert f"{len(drawn)} of 40 states are drawn, the start counted." in words
    assert any(w.startswith("Ranks 0 to 15 of 40") for w in words)


def test_what_is_too_large_to_read_is_refused_with_what_to_draw_instead() -> None:
    for name in ("torus:17x17x17", "mesh:200x2", "switch:600", "ring:5000"):
        with pytest.raises(InputError, match=r"too large to draw .*draw a smaller one, such as"):
            topology_svg(cluster(name))
    for name in ("torus:17x17x17", "mesh:200x2", "ring:5000"):
        with pytest.raises(InputError, match="too large to draw"):
            topology_text(cluster(name))
    made = algorithms.get("ring").build(
        "all_gather", group(cluster("ring:3000"), physical(cluster("ring:3000").topology)), Hint()
    )
    with pytest.raises(InputError, match=r"3,000 ranks x 3,000 chunks are too many .*such as ring:8"):
        schedule_svg(made)


def test_broken_routes_and_loads_are_refused() -> None:
    where = cluster("mesh:4x4")
    good = route(where.topology, 0, 1, 2)
    with pytest.raises(
        InputError, match=r"route 2 goes from link y 0,0>0,1 to link y 0,2>0,3; a link must start"
    ):
        topology_svg(where, routes=[good, [good[0], link(where.topology, 2, 3)]])
    with pytest.raises(InputError, match=r"route 1 has link 48; mesh:4x4 has links 0 to 47"):
        topology_text(where, routes=[[48]])
    with pytest.raises(InputError, match=r"load has shape \(3,\); mesh:4x4 has 48 links"):
        topology_svg(where, load=np.zeros(3))
    with pytest.raises(InputError, match="must be 0 or more"):
        topology_svg(where, load=np.full(48, -1.0))
    dead = replace(where, topology=where.topology.with_links(np.where(np.arange(48) == 5, 0.0, 45e9)))
    with pytest.raises(InputError, match=r"dead link .* can carry none"):
        topology_svg(dead, load=np.ones(48))


def test_a_dead_link_is_crossed_out_and_its_twin_is_not() -> None:
    where = cluster("mesh:4x4")
    dead = replace(where, topology=where.topology.with_links(np.where(np.arange(48) == 5, 0.0, 45e9)))
    picture = topology_svg(dead, load=np.where(np.arange(48) == 5, 0.0, 1.0))
    check_picture(picture)
    assert len([p for p in elements(picture, "path") if p.get("class") == "cross"]) == 2
    assert (
        len(
            [
                p
                for p in elements(picture, "path")
                if p.get("class") == "u5" and float(p.get("stroke-width", 0)) == 6
            ]
        )
        == 47
    )


def test_width_and_colour_follow_the_share_of_the_busiest_link() -> None:
    where = cluster("mesh:4x4")
    volume = exchanged("mesh:4x4")
    busy = topology.shares(where.topology, volume)
    # a mesh of 4x4: 3 x 1 of 4 positions cross the middle cut, 3 x 4 pairs the outer ones: 4/4 and 3/4
    assert sorted(set(np.round(busy, 9).tolist())) == [0.75, 1.0]
    picture = topology_svg(where, load=volume)
    widths = {
        c: {float(p.get("stroke-width", 0)) for p in elements(picture, "path") if p.get("class") == c}
        for c in ("u4", "u5")
    }
    assert max(widths["u4"]) < max(widths["u5"])
    words = [w for w, _ in word_boxes(picture)]
    assert words.count("75%") == 32
    assert words.count("100%") == 16


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
    assert len([p for p in elements(picture, "path") if p.get("class") == "u5"]) == 4 + 1
    assert "both ways together" in picture


def test_routes_are_drawn_hop_by_hop_and_told_apart_without_colour() -> None:
    where = cluster("mesh:4x4")
    picture = topology_svg(where, routes=[route(where.topology, *stops) for stops in TWO_ROUTES])
    check_picture(picture)
    for i in (1, 2):
        assert len([p for p in elements(picture, "path") if p.get("class") == f"r{i}"]) == 6 + 1
    assert len([r for r in elements(picture, "rect") if r.get("class") == "end"]) == 2
    assert "stroke-dasharray" in picture.split(".hopcast .r2")[1].split("}")[0]
    words = " ".join(w for w, _ in word_boxes(picture))
    assert "route 1: 3,3 > 2,3 > 1,3 > 0,3 > 0,2 > 0,1 > 0,0, 6 hops" in words


def test_routes_between_sheets_and_round_the_end_are_drawn() -> None:
    where = cluster("torus:4x4x4")
    found = routes(where, np.array([0], np.int32), np.array([15], np.int32))
    way = found.links[: found.start[1]].tolist()
    picture = topology_svg(where, routes=[way])
    check_picture(picture)
    assert "route 1: 0,0,0 > 0,3,0 > 0,3,3, 2 hops" in [w for w, _ in word_boxes(picture)]


def test_stubs_of_a_large_torus_name_the_chip_at_the_other_end() -> None:
    words = [w for w, _ in word_boxes(topology_svg(cluster("torus:16x16")))]
    for name in ("0,0", "15,0", "0,15", "15,15"):
        assert words.count(name) == 3  # the chip itself, and the two that it is joined to
    assert words.count("0,7") == 2


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
    words = [w for w, _ in word_boxes(picture)]
    assert words.count("3,1") == 2
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


@each_schedule
def test_text_of_a_schedule_says_at_the_end_that_all_is_done(
    name: str, collective: str, algorithm: str
) -> None:
    made = schedule(name, collective, algorithm)
    text = schedule_text(made)
    assert text.isascii()
    assert not [line for line in text.split("\n") if line != line.rstrip()]
    said = re.findall(r"(?:each rank holds|complete|;|  |: )\s*([\d,]+) of ([\d,]+) (?:chunks|results)", text)
    assert said
    assert said[-1][0] == said[-1][1]


def golden(name: str, made: str) -> None:
    path = GOLDEN / name
    if os.environ.get("HOPCAST_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, f"{name} has changed: look at it, then `make golden`"


def two_routes(kind: Callable[..., str]) -> str:
    where = cluster("mesh:4x4")
    return kind(where, routes=[route(where.topology, *stops) for stops in TWO_ROUTES])


def loaded(kind: Callable[..., str]) -> str:
    return kind(cluster("mesh:4x4"), load=exchanged("mesh:4x4"))


def stepwise(name: str, collective: str, algorithm: str, only: list[int] | None = None) -> str:
    return schedule_svg(schedule(name, collective, algorithm), cluster(name), steps=only)


GOLDENS: dict[str, Callable[[], str]] = {
    "ring-8.svg": lambda: topology_svg(cluster("ring:8")),
    "torus-4x4.svg": lambda: topology_svg(cluster("torus:4x4")),
    "torus-4x4x4.svg": lambda: topology_svg(cluster("torus:4x4x4")),
    "switch-8.svg": lambda: topology_svg(cluster("switch:8")),
    "mesh-4x4-routes.svg": lambda: two_routes(topology_svg),
    "mesh-4x4-routes.txt": lambda: two_routes(topology_text) + "\n",
    "torus-4x4.txt": lambda: topology_text(cluster("torus:4x4")) + "\n",
    "mesh-4x4-load.svg": lambda: loaded(topology_svg),
    "mesh-4x4-load.txt": lambda: loaded(topology_text) + "\n",
    "all_gather-ring-8.svg": lambda: stepwise("ring:8", "all_gather", "bidirectional_ring"),
    "all_gather-torus-4x4.svg": lambda: stepwise("torus:4x4", "all_gather", "multi_axis", [0]),
    "reduce_scatter-ring-4.svg": lambda: stepwise("ring:4", "reduce_scatter", "ring"),
    "reduce_scatter-ring-4.txt": lambda: schedule_text(schedule("ring:4", "reduce_scatter", "ring")) + "\n",
    "all_to_all-ring-4.svg": lambda: stepwise("ring:4", "all_to_all", "exchange"),
    "all_to_all-ring-4.txt": lambda: schedule_text(schedule("ring:4", "all_to_all", "exchange")) + "\n",
}


@pytest.mark.golden
@pytest.mark.parametrize("name", GOLDENS)
def test_pictures_have_not_changed(name: str) -> None:
    golden(name, GOLDENS[name]())
