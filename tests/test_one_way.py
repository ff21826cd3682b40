"""Links that have none back: what is counted, cut and drawn of them."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cli import row, run

from hopcast.clusters import cluster
from hopcast.draw import topology_svg, topology_text
from hopcast.draw.layout import lay_out
from hopcast.verbs.show import show

RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
# Links one way, links both ways, cables, links without one back.
FILES = [
    (RING, [], 0, 4),
    (RING, [(0, 2)], 1, 4),
    ([], RING, 4, 0),
    ([(0, 1), (1, 0)], [(1, 2), (2, 3)], 3, 0),
]


def written(one_way: list[tuple[int, int]], both: list[tuple[int, int]], path: Path) -> str:
    """A cluster file with these links."""
    links = [f"{{ src = {a}, dst = {b}, both = false }}" for a, b in one_way]
    links += [f"{{ src = {a}, dst = {b} }}" for a, b in both]
    head = 'chips = 4\nbandwidth = "50GB/s"\nlatency = "1us"\n'
    path.write_text(f"{head}links = [\n{''.join(f'    {link},{chr(10)}' for link in links)}]\n")
    return str(path)


@pytest.mark.parametrize(("one_way", "both", "cables", "alone"), FILES)
def test_a_cable_carries_both_ways_and_other_links_are_counted_apart(
    one_way: list[tuple[int, int]], both: list[tuple[int, int]], cables: int, alone: int, tmp_path: Path
) -> None:
    found = row("show", written(one_way, both, tmp_path / "lab.toml"))
    assert (found["cables"], found.get("one_way_links", 0)) == (cables, alone)
    assert found["links"] == 2 * cables + alone == len(one_way) + 2 * len(both)


CLUSTERS = [
    "ring:2",
    "ring:5",
    "torus:4x4",
    "v5e:4x4,slices=2",
    "7x:2x2x1",
    "dgx-h100:4",
    "mi300x:2",
    "dgx1-v100",
]


@pytest.mark.parametrize("text", [*CLUSTERS, "dgx-h100:4,routing=ecmp", "torus:3x3,duplex=half", "torus:1x1"])
def test_of_whole_cables_there_are_half_as_many_as_links(text: str) -> None:
    (found,) = show(text).rows
    assert 2 * found["cables"] == found["links"]
    assert "one_way_links" not in found


def test_a_ring_one_way_is_cut_by_one_link_each_way(tmp_path: Path) -> None:
    path = written(RING, [], tmp_path / "lab.toml")
    found = row("bisect", path)
    assert (found["one_way_GBps"], found["both_ways_GBps"]) == (50.0, 100.0)


def test_the_picture_says_which_way(tmp_path: Path) -> None:
    path = written(RING, [(0, 2)], tmp_path / "lab.toml")
    said = run("draw", path).out
    assert " chip 0 -- chip 2\n" in said
    for a, b in pairwise([*range(4), 0]):
        assert f" chip {a} -> chip {b}\n" in said
    where = cluster(path)
    assert topology_svg(where).count('class="bundletip"') == len(RING)


JOINED = [
    ("full_mesh:4", [" chip 0 -- chips 1-3", " chip 1 -- chips 2-3", " chip 2 -- chip 3"]),
    ("mi300x", [f" chip {a} -- chip{'s' * (a < 6)} {a + 1}{'-7' * (a < 6)}" for a in range(7)]),
    ("dgx1-v100,gpus=4", [" chip 0 -- chips 1-3", " chip 1 -- chips 2-3", " chip 2 -- chip 3"]),
]


@pytest.mark.parametrize(("text", "lines"), JOINED)
def test_chips_that_no_switch_joins_are_drawn_by_their_cables(text: str, lines: list[str]) -> None:
    where = cluster(text)
    assert topology_text(where).splitlines()[2:] == lines
    assert not np.any(where.topology.dst >= where.topology.chips)
    assert "bundletip" not in topology_svg(where).partition("</style>")[2]


@pytest.mark.parametrize("text", ["full_mesh:4", "mi300x", "dgx1-v100", "dgx1-v100:2"])
def test_no_cable_from_chip_to_chip_runs_behind_another_chip(text: str) -> None:
    topology = cluster(text).topology
    plan = lay_out(topology)
    for link in range(topology.links):
        a, b = int(topology.src[link]), int(topology.dst[link])
        for (ax, ay), (bx, by) in (
            pair for line in plan.ways(topology, link, 0.0) for pair in pairwise(line)
        ):
            for part in np.linspace(0.0, 1.0, 21).tolist() if max(a, b) < topology.chips else []:
                x, y = ax + part * (bx - ax), ay + part * (by - ay)
                for c in set(range(topology.chips)) - {a, b}:
                    box = plan.boxes[c]
                    assert not (box.left < x < box.right and box.top < y < box.bottom), (a, b, c)
