"""Clusters of the user's own in TOML: what is right is read, what is wrong is named with its key."""

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from grids import build
from grids import cluster as small
from refused import one_line_error

from hopcast import algorithms, interpret
from hopcast.ir import files
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, logical, physical
from hopcast.price.steps import steps
from hopcast.read import cluster_toml
from hopcast.routing import routes


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(textwrap.dedent(text))
    return path


RATES = 'bandwidth = "45GB/s"\nlatency = "1us"\n'
STAR = "".join(f"[[links]]\nsrc = {i}\ndst = 4\n" for i in range(4))


@pytest.mark.parametrize(
    ("text", "wraps", "links", "routing"),
    [
        ('family = "torus"\nshape = [4, 8]\n' + RATES, [True, True], 128, "dimension_order"),
        (
            'family = "Torus"\nshape = "4x8"\nwraps = ["y"]\n' + RATES,
            [False, True],
            2 * (3 * 8 + 4 * 8),
            "dimension_order",
        ),
        (
            'family = "mesh"\nshape = "3X2"\nwraps = "x"\n' + RATES,
            [True, False],
            2 * (3 * 2 + 3),
            "dimension_order",
        ),
        ('family = "mesh"\nshape = [2, 2]\n' + RATES, [False, False], 8, "dimension_order"),
        ('family = "ring"\nshape = 6\n' + RATES, [True], 12, "dimension_order"),
        ('family = "switch"\nshape = [6]\n' + RATES, [False], 12, "shortest"),
        ("chips = 4\nswitches = 1\n" + RATES + STAR, [False], 8, "shortest"),
        ("chips = 1\n", [False], 0, "shortest"),
    ],
)
def test_a_cluster_is_read(text: str, wraps: list[bool], links: int, routing: str, tmp_path: Path) -> None:
    read = cluster_toml.read(write(tmp_path, text))
    assert [a.wraps for a in read.topology.axes] == wraps
    assert (read.topology.links, read.routing) == (links, routing)
    assert read.name == read.topology.name == str(tmp_path / "lab.toml")
    assert np.all(read.topology.bandwidth == 45e9)
    every = np.argwhere(~np.eye(read.topology.chips, dtype=bool)).astype(np.int32)
    assert len(routes(read, every[:, 0], every[:, 1]).pair) >= len(every)


def test_a_network_of_one_switch_is_the_switch_family(tmp_path: Path) -> None:
    halves = RATES.replace("1us", "0.5us")
    ours = cluster_toml.parse("chips = 4\nswitches = 1\n" + halves + STAR, "a")
    theirs = cluster_toml.parse('family = "switch"\nshape = 4\n' + RATES, "b")
    built = build("all_reduce", "ring", small("4w"))
    one, two = (steps(built, c, 1e6) for c in (ours, theirs))
    assert one.latency == pytest.approx(two.latency, rel=1e-12)
    assert one.bandwidth == pytest.approx(two.bandwidth, rel=1e-12)


def test_links_take_what_they_do_not_say_from_the_top() -> None:
    read = cluster_toml.parse(
        'name = "lab"\nchips = 3\nduplex = "half"\n' + RATES + "[[links]]\nsrc = 0\ndst = 1\n"
        '[[links]]\nsrc = 1\ndst = 2\nbandwidth = "10GB/s"\nlatency = 0\nduplex = "full"\n'
        "[[links]]\nsrc = 2\ndst = 0\nboth = false\n",
        "lab.toml",
    )
    topology = read.topology
    assert read.name == topology.name == "lab"
    assert topology.src.tolist() == [0, 1, 1, 2, 2]
    assert topology.dst.tolist() == [1, 0, 2, 1, 0]
    assert topology.wire.tolist() == [0, 0, 2, 3, 4]
    assert topology.bandwidth.tolist() == [45e9, 45e9, 10e9, 10e9, 45e9]
    assert topology.latency.tolist() == [1e-6, 1e-6, 0.0, 0.0, 1e-6]
    assert topology.place(2) == "2"


FAMILY = 'family = "torus"\nshape = [4, 4]\n'
PAIR = "[[links]]\nsrc = 0\ndst = 1\n"
BAD_TOML = {
    "no toml": ("chips = 8\nshape = = 3\n", "lab.toml: line 2: not TOML: Invalid value"),
    "cut off": ('chips = 8\nname = "lab', "at its end: not TOML"),
    "empty": ("", "neither family nor chips"),
    "both forms": (FAMILY + "chips = 3\n", "family and chips"),
    "unknown family": ('family = "tourus"\n', "no family 'tourus'; did you mean torus?"),
    "family no text": ("family = 3\n", "family: 3 is not a text"),
    "unknown key": (FAMILY + 'bandwith = "45GB/s"\n', "no key 'bandwith'; did you mean bandwidth?"),
    "no shape": ('family = "torus"\n' + RATES, "no shape; write shape = [4, 4]"),
    "shape of words": (
        'family = "torus"\nshape = "4xfour"\n' + RATES,
        "shape: '4xfour' is not a list of lengths",
    ),
    "shape of 0": ('family = "torus"\nshape = [4, 0]\n' + RATES, "shape: [4, 0] is not a list of lengths"),
    "shape empty": ('family = "torus"\nshape = []\n' + RATES, "shape: [] is not a list of lengths"),
    "shape of truth": ('family = "torus"\nshape = [true]\n' + RATES, "shape: [True] is not a list"),
    "shape is a table": ('family = "torus"\n[shape]\nx = 1\n', "shape: {'x': 1} is not a list"),
    "huge": ('family = "torus"\nshape = [9999, 9999]\n' + RATES, "the most is 1,000,000 chips"),
    "two ports": ('family = "ring"\nshape = [4, 4]\n' + RATES, "shape: "),
    "no bandwidth": (FAMILY + "latency = 0\n", 'bandwidth: not given; write bandwidth = "45GB/s"'),
    "no latency": (FAMILY + 'bandwidth = "1GB/s"\n', 'latency: not given; write latency = "1us"'),
    "no unit": (FAMILY + "bandwidth = 45\nlatency = 0\n", "bandwidth: '45' is not a bandwidth"),
    "zero": (FAMILY + 'bandwidth = "0GB/s"\nlatency = 0\n', "bandwidth: bandwidth '0GB/s' must be above 0"),
    "latency": (FAMILY + 'bandwidth = "1GB/s"\nlatency = "1 hour"\n', "latency: '1 hour' is not a time"),
    "duplex": (FAMILY + RATES + 'duplex = "both"\n', 'duplex: \'both\' is not "full" or "half"'),
    "wraps word": (FAMILY + RATES + 'wraps = ["z"]\n', "wraps: ['z'] is not a list of axes; there is: x, y"),
    "wraps number": (FAMILY + RATES + "wraps = 1\n", "wraps: 1 is not a list of axes"),
    "wraps of 2": ('family = "mesh"\nshape = [2, 4]\nwraps = ["x"]\n' + RATES, "axis x has length 2"),
    "wraps of a ring": (
        'family = "ring"\nshape = 4\nwraps = ["x"]\n' + RATES,
        "wraps: a ring has no axes to close",
    ),
    "no chips": (PAIR, "chips: not given; it is a whole number from 1"),
    "chips": ("chips = 0\n", "chips: 0; it is a whole number from 1"),
    "chips word": ('chips = "8"\n', "chips: '8'; it is a whole number"),
    "switches": ("chips = 2\nswitches = -1\n", "switches: -1; it is a whole number from 0"),
    "links no table": ("chips = 2\nlinks = 3\n", "links: each is a [[links]] with src and dst"),
    "link key": ("chips = 2\n" + RATES + PAIR + "speed = 3\n", "no key 'links[0].speed'; there is: src, dst"),
    "no src": (
        "chips = 2\n" + RATES + "[[links]]\ndst = 1\n",
        "links[0].src: not given; there are chips 0..1 and no switches",
    ),
    "no such vertex": (
        "chips = 2\nswitches = 2\n" + RATES + PAIR + "[[links]]\nsrc = 0\ndst = 4\n",
        "links[1].dst: 4 is no vertex; there are chips 0..1 and switches 2..3",
    ),
    "to itself": ("chips = 2\n" + RATES + "[[links]]\nsrc = 1\ndst = 1\n", "links[0].dst: 1 is its own src"),
    "both": ("chips = 2\n" + RATES + PAIR + 'both = "yes"\n', "links[0].both: 'yes' is not true or false"),
    "half of one way": ("chips = 2\n" + RATES + PAIR + 'both = false\nduplex = "half"\n', "links[0].duplex"),
    "link bandwidth": ("chips = 2\nlatency = 0\n" + PAIR, "links[0].bandwidth: not given"),
    "apart": ("chips = 3\n" + RATES + PAIR, "links: no way from chip 0 to chip 2"),
    "one way": ("chips = 2\n" + RATES + PAIR + "both = false\n", "links: no way to chip 0 from chip 1"),
    "idle switch": ("chips = 2\nswitches = 1\n" + RATES + PAIR, "no way from chip 0 to vertex 2 (switch 0)"),
}


@pytest.mark.parametrize(("text", "says"), BAD_TOML.values(), ids=BAD_TOML)
def test_a_wrong_cluster_is_named_with_its_key(text: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    said = one_line_error(cluster_toml.read, path)
    assert said.startswith(f"{path}: ")
    assert says in said


def test_a_cluster_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert "no file" in one_line_error(cluster_toml.read, tmp_path / "none.toml")
    assert "cannot read" in one_line_error(cluster_toml.read, tmp_path)
    path = tmp_path / "lab.toml"
    path.write_bytes(b"name = '\xff'")
    assert "not text (byte 8 is 0xff)" in one_line_error(cluster_toml.read, path)


def two_levels(uplinks: int = 1) -> Cluster:
    """Two leaves of two chips each, and one spine."""
    ends = [(0, 4), (1, 4), (2, 5), (3, 5)] + [(4, 6), (5, 6)] * uplinks
    links = "".join(f"[[links]]\nsrc = {a}\ndst = {b}\n" for a, b in ends)
    return cluster_toml.parse("chips = 4\nswitches = 3\n" + RATES + links, "two-levels.toml")


def test_a_network_of_several_switches_has_no_closed_form() -> None:
    cluster = two_levels()
    many = group(cluster, physical(cluster.topology))
    assert many.ranks == 4
    assert not many.uniform_rates
    assert not many.apart
    below = group(cluster, logical(cluster, [("data", 2), ("model", 2)]), ["model"])
    assert below.bandwidth == (float(cluster.topology.bandwidth[0]),), "each pair has its own switch"
    assert below.apart
    one = cluster_toml.parse("chips = 4\nswitches = 1\n" + RATES + STAR, "star.toml")
    star = group(one, physical(one.topology))
    assert star.uniform_rates
    assert star.apart
    assert star.latency == (2e-6,)
    hint = Hint(size=1e6)
    ring = algorithms.get("ring")
    assert ring.cost("all_gather", many, hint) is None
    built = ring.build("all_gather", star, hint)
    price = steps(built, one, 1e6)
    cost = ring.cost("all_gather", star, hint)
    assert cost is not None
    assert cost.total() == pytest.approx(price.latency + price.bandwidth, rel=1e-12)


def test_several_switches_share_their_uplinks() -> None:
    """All four chips send across: two flows on each uplink, so a step takes twice as long as on one."""
    cluster = two_levels()
    across = routes(cluster, np.array([0, 1], np.int32), np.array([2, 3], np.int32))
    assert across.hops.tolist() == [4, 4]
    assert across.latency.tolist() == pytest.approx([4e-6, 4e-6])
    hint = Hint(size=4e6)
    columns = {
        "collective": "permute",
        "ranks": 4,
        "chunks": 4,
        "shift": 2,
        "step": [0] * 4,
        "src": [0, 1, 2, 3],
        "dst": [2, 3, 0, 1],
        "chunk": [0, 1, 2, 3],
    }
    swap = files.parse(json.dumps(columns))
    interpret.check(swap)
    assert steps(swap, cluster, hint.size).bandwidth == pytest.approx(2 * 1e6 / 45e9)


def test_cables_side_by_side_are_one_of_all_their_bandwidth():
    """Two of 10 GB/s are one of 20, the other way too; another latency is another cable."""
    line = "{src = 0, dst = 1}"
    head = 'chips = 2\nbandwidth = "10GB/s"\n'
    both = cluster_toml.parse(f"{head}latency = 0\nlinks = [{line}, {line}]", "lab.toml").topology
    assert (both.links, both.bandwidth.tolist()) == (2, [20e9, 20e9])
    other = '{src = 0, dst = 1, latency = "2us"}'
    apart = cluster_toml.parse(f"{head}latency = 0\nlinks = [{line}, {other}]", "lab.toml").topology
    assert apart.bandwidth.tolist() == [10e9] * 4
    half = f'{head}duplex = "half"\nlatency = 0\nlinks = [{line}, {line}]'
    assert cluster_toml.parse(half, "lab.toml").topology.links == 4
