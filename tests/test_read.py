"""Builders, schedules and clusters of the user's own: what is right is read, what is wrong is named."""

import io
import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from hopcast import algorithms, interpret
from hopcast.ir import files
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group, logical, physical
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Axis
from hopcast.names import InputError
from hopcast.price.steps import steps
from hopcast.read import builder, cluster_toml
from hopcast.read.schedule import is_schedule, schedule
from hopcast.routing import routes

RING = Group((Axis("x", 4, True),), False, (1.0,), (0.0,), np.arange(4, dtype=np.int32)[None])

MINE = """
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.schedule import Schedule, one_group, sends
from near import AHEAD


@dataclass
class Move:
    ahead: int


def taking_both(group, hint):
    n, rank, move = group.ranks, np.arange(group.ranks), Move(AHEAD)
    return Schedule(of("all_gather", n), "mine", one_group(n), n, n - 1,
                    lambda i: sends(rank, (rank + move.ahead) % n, (rank - i) % n))


def taking_nothing():
    head = {"collective": "all_gather", "ranks": 2, "chunks": 2}
    return head | {"step": [0, 0], "src": [0, 1], "dst": [1, 0], "chunk": [0, 1]}


def without_ranks(group, hint):
    r = np.arange(group.ranks)
    s, r = np.divmod(np.arange(group.ranks * (group.ranks - 1)), group.ranks)
    return {"collective": "all_gather", "chunks": group.ranks, "step": s, "src": r,
            "dst": (r + 1) % group.ranks, "chunk": (r - s) % group.ranks}


def hinted(group, hint=None):
    assert hint.size == 7
    return taking_both(group, hint)


class Called:
    def __call__(self, group, hint):
        return taking_both(group, hint)


called = Called()
number = 3


def returning_nothing():
    pass


def returning_a_list():
    return [1, 2]


def raising(group, hint):
    return 1 / 0


def raising_below(group, hint):
    from hopcast.units import size
    return size("12Mb")


def quitting():
    raise SystemExit("enough")


def three(a, b, c):
    pass


def wrong_dict():
    return taking_nothing() | {"dst": [1, 5]}


def wrong_groups():
    made = Schedule(of("all_gather", 3), "mine", one_group(2), 3, 1, lambda i: sends([0], [1], [0]))
    return made


def late(group, hint):
    def make(i):
        if i == 2:
            raise KeyError("no step two")
        return sends([0], [1], [i * 4])
    return Schedule(of("all_gather", 4), "mine", one_group(4), 4, 3, make)


def late_kind(group, hint):
    return Schedule(of("all_gather", 4), "mine", one_group(4), 4, 1, lambda i: [(0, 1, 0)])
"""


def line_of(words: str) -> int:
    """The line of MINE that holds them."""
    found = [n for n, line in enumerate(MINE.splitlines(), 1) if words in line]
    assert len(found) == 1
    return found[0]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "near.py").write_text("AHEAD = 1\n")
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> object:
    modules, paths = {m for m in sys.modules if "builder_" in m}, list(sys.path)
    yield
    assert {m for m in sys.modules if "builder_" in m} == modules
    assert sys.path == paths
    sys.modules.pop("near", None)


@pytest.mark.parametrize(
    ("name", "ranks"), [("taking_both", 4), ("taking_nothing", 2), ("without_ranks", 4), ("called", 4)]
)
def test_a_builder_gives_a_schedule_that_checks(mine: Path, name: str, ranks: int) -> None:
    made = builder.build(f"{mine}:{name}", RING, Hint(size=7))
    assert made.ranks == ranks
    interpret.check(made)


def test_the_hint_is_handed_over(mine: Path) -> None:
    interpret.check(builder.build(f"{mine}:hinted", RING, Hint(size=7)))
    with pytest.raises(InputError, match=f"line {line_of('hint.size == 7')}: AssertionError$"):
        builder.build(f"{mine}:hinted", RING, Hint(size=8))


def one_line_error(function: object, *arguments: object) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments)  # type: ignore[operator]
    said = str(caught.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("taking_bot", "mine.py:taking_bot: no function 'taking_bot'; did you mean taking_both?"),
        ("", "say which function, as in mine.py:my_all_reduce; there is: taking_both, taking_nothing,"),
        ("number", "number is an int, not a function"),
        ("returning_nothing", "returned nothing; a builder returns a Schedule or a dict"),
        ("returning_a_list", "returned a list; a builder returns"),
        ("raising", f"mine.py:raising, line {line_of('1 / 0')}: ZeroDivisionError: division by zero"),
        ("raising_below", f"line {line_of('12Mb')}: ValueError: '12Mb' is not a size"),
        ("quitting", f"line {line_of('enough')}: SystemExit: enough"),
        ("three", "takes (a, b, c); a builder takes (group, hint) or nothing"),
        ("wrong_dict", "mine.py:wrong_dict, send 1: dst 5 is not there; ranks are 0..1"),
        ("wrong_groups", "groups of shape (1, 2) and a collective of 3 ranks"),
    ],
)
def test_what_is_wrong_with_a_builder_is_said_in_one_line(mine: Path, name: str, says: str) -> None:
    assert says in one_line_error(builder.build, f"{mine}:{name}", RING, Hint())


def test_a_step_is_checked_when_it_is_made(mine: Path) -> None:
    made = builder.build(f"{mine}:late", RING, Hint())
    assert len(made.make(0)) == 1
    assert "step 1, send 0: chunk 4 is not there" in one_line_error(made.make, 1)
    assert f"line {line_of('no step two')}: KeyError: 'no step two'" in one_line_error(made.make, 2)
    made = builder.build(f"{mine}:late_kind", RING, Hint())
    assert "step 0 is a list; it is Sends" in one_line_error(made.make, 0)


def test_a_builder_for_a_group_needs_one(mine: Path) -> None:
    assert "takes (group, hint): name the cluster" in one_line_error(builder.build, f"{mine}:taking_both")
    assert builder.build(f"{mine}:taking_nothing").ranks == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def f():\n    return (\n", "broken.py:f, line 2: SyntaxError: '(' was never closed"),
        (
            "import no_such_module_here\n",
            "line 1: ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        ("x = 1\n\nraise RuntimeError('a\\nb')\n", "line 3: RuntimeError: a"),
        ("\x00", "broken.py:f"),
        ("f = 1\n", "f is an int, not a function; there is: none"),
    ],
)
def test_a_file_that_does_not_load_is_said_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    assert says in one_line_error(builder.build, f"{path}:f", RING)


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    assert "no file" in one_line_error(builder.build, f"{tmp_path}/none.py:f", RING)
    (tmp_path / "folder.py").mkdir()
    assert "cannot read" in one_line_error(builder.build, f"{tmp_path}/folder.py:f", RING)


def test_an_edited_file_is_what_runs(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    columns = '"step": [0, 0], "src": [0, 1], "dst": [1, 0], "chunk": [0, 1]'
    for name in ("all_gather", "all_reduce"):
        path.write_text(
            f'def f():\n    return {{"collective": "{name}", "ranks": 2, "chunks": 2, {columns}}}\n'
        )
        assert builder.build(f"{path}:f").collective.name == name
    assert [f.name for f in tmp_path.iterdir()] == ["edited.py"]


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_files_and_standard_input_give_the_same_schedule(suffix: str, tmp_path: Path) -> None:
    built = algorithms.get("ring").build("all_reduce", RING, Hint())
    path = tmp_path / f"plan{suffix}"
    files.save(built, path)
    assert is_schedule(str(path))
    streams: list[io.IOBase] = [
        io.BytesIO(path.read_bytes()),
        io.TextIOWrapper(io.BytesIO(path.read_bytes())),
    ]
    streams += [] if suffix == ".npz" else [io.StringIO(path.read_text())]
    for made in [schedule(str(path)), *(schedule("-", stdin=s) for s in streams)]:  # type: ignore[arg-type]
        interpret.check(made)
        assert made.columns()["chunk"].tolist() == built.columns()["chunk"].tolist()


def test_a_builder_is_a_schedule(mine: Path) -> None:
    made = schedule(f"{mine}:taking_both", RING, Hint())
    assert isinstance(made, Schedule)
    interpret.check(made)


def test_standard_input_that_is_none_and_xml_are_refused() -> None:
    assert "stdin: the file is empty" in one_line_error(lambda: schedule("-", stdin=io.StringIO("")))
    assert "stdin: a list is no schedule" in one_line_error(lambda: schedule("-", stdin=io.StringIO("[1]")))
    assert "MSCCL XML is not read yet" in one_line_error(schedule, "plan.xml")


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
    built = algorithms.get("ring").build("all_reduce", RING, Hint())
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
