"""Marks of pictures: names clear of arrows, keys in line, what is slow, colours that differ for all eyes."""

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from pictures import box_of, check_picture, cluster, corners, of_class, route, schedule, word_boxes, words

from hopcast import clusters
from hopcast.algorithms import get, names
from hopcast.draw import schedule_svg, schedule_text, topology_svg, topology_text
from hopcast.draw.geometry import passes
from hopcast.draw.history import history
from hopcast.draw.impaired import impaired, slow_links
from hopcast.draw.layout import lay_out
from hopcast.draw.tree_fabric import crossings
from hopcast.draw.tree_picture import colour, trees_svg
from hopcast.draw.trees import trees
from hopcast.faults import degrade
from hopcast.ir.collective import ALL
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group, physical
from hopcast.price.steps import steps
from hopcast.verbs import ask
from hopcast.verbs.check import scheduled
from hopcast.verbs.draw import draw

BETWEEN_NEIGHBOURS = [
    tuple(line.split())
    for line in """
        torus:2x2x2 all_gather      translated_tree
        mesh:2x2x2  all_gather      synthesized
        mesh:4x4    all_gather      synthesized
        mesh:4x4    reduce_scatter  synthesized
        mesh:3x5    all_gather      synthesized
        mesh:2x4    all_reduce      tree_packing
        mesh:8x8    all_gather      multi_axis
        torus:4x4   all_gather      multi_axis
        torus:4x4   all_gather      translated_tree
        torus:4x4   all_reduce      multi_axis
        torus:4x8   all_gather      multi_axis
        mesh:4x4    broadcast       multi_axis
    """.strip().split("\n")
]


def lines(path: ET.Element) -> list[tuple[float, float]]:
    """The points of a path; corners are taken as sharp."""
    numbers = [float(n) for n in re.findall(r"-?[0-9.]+", str(path.get("d")))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@pytest.mark.parametrize(("name", "collective", "algorithm"), BETWEEN_NEIGHBOURS)
def test_no_arrow_between_neighbours_runs_over_the_name_of_a_rank(
    name: str, collective: str, algorithm: str
) -> None:
    picture = schedule_svg(schedule(name, collective, algorithm), cluster(name), steps=[0, 2])
    check_picture(picture)
    named = [(said, box) for said, box in word_boxes(picture) if re.fullmatch(r"\d+(,\d+)+", said)]
    arrows = [lines(p) for k in range(1, 7) for p in of_class(picture, "path", f"r{k}")]
    heads = [lines(p) for k in range(1, 7) for p in of_class(picture, "path", f"h{k}")]
    assert arrows
    hit = {s for s, box in named for line in [*arrows, *heads] if passes(line, box.grown(-0.5))}
    assert not hit


def test_all_ranks_of_the_smallest_cube_are_drawn_with_their_sends_along_every_axis() -> None:
    made = schedule("torus:2x2x2", "all_gather", "translated_tree")
    picture = schedule_svg(made, cluster("torus:2x2x2"), steps=[0])
    check_picture(picture)
    said = words(picture)
    for place in itertools.product((0, 1), repeat=3):
        assert said.count(",".join(map(str, place))) == 1
    assert not [w for w in said if "ranks are drawn" in w]
    rows = made.make(0)
    for lane in range(3):
        pairs = {(int(s), int(d)) for s, d, k in zip(rows.src, rows.dst, rows.lane, strict=True) if k == lane}
        heads = of_class(picture, "path", f"h{lane + 1}")
        assert len(heads) == len(pairs) + 1 == 8 + 1  # and one in the key


HINT = Hint(size=2.0**20, alpha=1e-6, root=3)


def everyone(on: str) -> Group:
    return group(cluster(on), physical(cluster(on).topology), ())


BROADCASTS = [
    (name, on)
    for name in names()
    for on in ("ring:8", "mesh:4x4", "switch:6")
    if "broadcast" in get(name).collectives and get(name).valid("broadcast", everyone(on), HINT) is None
]


@pytest.mark.parametrize(("name", "on"), BROADCASTS)
def test_what_a_rank_holds_of_the_result_is_never_marked_as_no_longer_needed(name: str, on: str) -> None:
    """The root of a broadcast too, where others send it what it has."""
    made = get(name).build("broadcast", everyone(on), HINT)
    story = history(made, range(-1, made.step_count))
    wanted = made.collective.goal == ALL
    for frame in story.frames:
        assert frame.live[:, wanted][(frame.count[:, wanted] == story.full) & story.goal[:, wanted]].all()


@pytest.mark.parametrize("name", ["torus:4x4", "mesh:4x4"])
def test_all_lines_of_a_key_begin_at_one_place(name: str) -> None:
    where = cluster(name)
    ways = [route(where.topology, *stops) for stops in ((0, 1, 2), (0, 4, 8), (1, 5, 9), (2, 6), (3, 7))]
    picture = topology_svg(where, routes=ways)
    check_picture(picture)
    starts = {box.left for said, box in word_boxes(picture) if re.match(r"route \d:", said)}
    assert len(starts) == 1


def test_a_twisted_slice_has_stubs_with_names_and_no_loops() -> None:
    where = clusters.cluster("v5p:4x4x8,twisted")
    picture = topology_svg(where)
    check_picture(picture)
    plan, said = lay_out(where.topology), words(picture)
    wraps = [i for i, trace in enumerate(plan.traces) if trace.wraps]
    assert wraps
    assert all(len(plan.traces[i].lines) == 2 for i in wraps)
    for i in wraps:
        # a chip's own name, and one at the stub of each wrap-around that leads to it
        place = where.topology.place(int(where.topology.dst[i]))
        many = sum(int(where.topology.dst[j] == where.topology.dst[i]) for j in wraps)
        assert said.count(place) == 1 + many
    assert "loop" not in " ".join(said)
    assert "loop" in " ".join(words(topology_svg(clusters.cluster("v5p:4x4x4"))))


FAULTS = [
    ("ring:8", ["0:1=0.5"], ["4:5"], "slow: 0 - 1 at 50%; dead: 4 - 5"),
    ("mesh:4x4", ["0,0:0,1=0.25", "1,1:1,2=0.5"], [], "slow: 0,0 - 0,1 at 25%, 1,1 - 1,2 at 50%"),
    ("torus:4x4", [], ["2,2:2,3"], "dead: 2,2 - 2,3"),
]


@pytest.mark.parametrize(("name", "slow", "dead", "said"), FAULTS)
def test_what_is_slow_or_dead_is_said_and_marked(
    name: str, slow: list[str], dead: list[str], said: str
) -> None:
    where = degrade(cluster(name), slow, dead)
    assert impaired(where) == said
    assert not impaired(cluster(name))
    load = (where.topology.bandwidth > 0).astype(float)
    pictures = [
        topology_svg(where),
        topology_svg(where, load=load),
        topology_svg(where, load=load, title="a"),
    ]
    for picture in pictures:
        check_picture(picture)
        assert said in " ".join(words(picture))
        assert len(of_class(picture, "path", "cross")) == 2 * len(slow) + 2 * len(dead)
    made = schedule(name, "all_gather", "forest" if dead else "direct")
    assert said in schedule_text(made, where).split("\n")[0]
    assert said in " ".join(words(schedule_svg(made, where)))
    assert said in topology_text(where).split("\n")[0]


def test_a_link_that_is_slow_one_way_is_told_from_a_cable() -> None:
    where = cluster("ring:4")
    rate = where.topology.bandwidth.copy()
    rate[3] *= 0.5
    one = replace(where, topology=where.topology.with_links(rate), rated=where.topology.bandwidth)
    assert slow_links(one).tolist() == [3]
    assert re.fullmatch(r"slow: \d > \d at 50%", impaired(one))


def test_trees_whose_colours_look_alike_differ_in_their_dashes() -> None:
    """To deuteranopes 1 and 6, 2 and 5, 3 and 4 of the colours look alike."""
    kinds = [colour(k) for k in range(12)]
    assert len(set(kinds)) == 12
    for first in (0, 6):
        for a, b in ((0, 5), (1, 4), (2, 3)):
            assert kinds[first + a][0] != kinds[first + b][0]


FORESTS = (
    ("all_gather", "dgx-h100:2", "forest"),
    ("all_gather", "switch:8", "direct"),
    ("all_reduce", "dgx-h100", "double_tree"),
    ("broadcast", "switch:8", "binomial"),
)


@pytest.mark.parametrize(("collective", "on", "algorithm"), FORESTS)
def test_numbers_at_the_cables_of_a_network_with_switches_are_their_load(
    collective: str, on: str, algorithm: str
) -> None:
    """The sends that cross a link, times the part of the array that each carries."""
    q, place = ask.question(collective, on, size="1GiB")
    made = scheduled(q, algorithm)
    found = trees(made)
    many = crossings(place.cluster, found)
    load = sum(crossings(place.cluster, [t]) * t.share * q.size for t in found)
    assert np.allclose(load, steps(made, place.cluster, q.size).load)
    assert np.allclose(many, sum(crossings(place.cluster, [t]) for t in found))
    topology, said = (
        place.cluster.topology,
        words(trees_svg(place.cluster, found)),
    )
    ends = {(int(a), int(b)): n for a, b, n in zip(topology.src, topology.dst, many, strict=True)}
    wanted = [f"{n:.3g}/{ends[b, a]:.3g}" for (a, b), n in ends.items() if a < b and n + ends[b, a] > 0]
    assert sorted(w for w in said if re.fullmatch(r"[\d.]+/[\d.]+", w)) == sorted(wanted)


@pytest.mark.parametrize(("on", "part"), [("mesh:2x4", 0.4), ("mesh:4x4", 0.5), ("mesh:8x8", 0.6)])
def test_panels_of_trees_fill_their_page(on: str, part: float) -> None:
    """Panels and what is beside or above them together."""
    picture = draw("all_reduce", on, algorithm="tree_packing", size="1GiB", trees=True).svg()
    check_picture(picture)
    _, _, wide, high = map(float, ET.fromstring(picture).get("viewBox", "").split())
    chips = [r for r in of_class(picture, "rect", "chip") if float(r.get("width", 0)) > 20]
    network = corners(map(box_of, chips))
    parts = corners(map(box_of, of_class(picture, "rect", "panel")))
    covered = float(np.prod(parts[:, 2:] - parts[:, :2], 1).sum())
    covered += float(np.prod(network[:, 2:].max(0) - network[:, :2].min(0)))
    assert covered > part * wide * high


@pytest.mark.parametrize("on", ["torus:8x8", "torus:4x4", "mesh:4x8"])
def test_a_send_past_others_ends_at_its_block(on: str) -> None:
    made = schedule(on, "all_reduce", "recursive_doubling")
    picture = schedule_svg(made, cluster(on))
    check_picture(picture)
    blocks = corners(map(box_of, of_class(picture, "rect", "blank")))
    heads = [np.array(lines(p)[0]) for p in of_class(picture, "path", "h1")][1:]  # the first is of the key
    assert heads
    for tip in heads:
        near = np.all((tip > blocks[:, :2] - 4) & (tip < blocks[:, 2:] + 4), 1)
        assert near.any()
