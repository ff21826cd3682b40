"""Builders of the user's own: what is right is a schedule, what is wrong is named with its line."""

import io
import sys
from pathlib import Path

import pytest
from grids import build, cluster, group
from refused import one_line_error

from hopcast import interpret
from hopcast.ir import files
from hopcast.ir.group import Hint
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.read import builder
from hopcast.read.schedule import is_schedule, schedule

RING = group(cluster("4w"))

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


def late_lane(group, hint):
    return Schedule(of("all_gather", 4), "mine", one_group(4), 4, 2,
                    lambda i: sends([0, 1], [1, 2], [0, 1], lane=[0, 2 * i]), lanes=2)


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


def test_a_file_without_a_function_is_asked_which(mine: Path) -> None:
    with pytest.raises(
        InputError, match=r"mine\.py: say which function, as in mine\.py:my_all_reduce; there is: "
    ):
        builder.build(str(mine), RING, Hint(size=7))


def test_the_hint_is_handed_over(mine: Path) -> None:
    interpret.check(builder.build(f"{mine}:hinted", RING, Hint(size=7)))
    with pytest.raises(InputError, match=f"line {line_of('hint.size == 7')}: AssertionError$"):
        builder.build(f"{mine}:hinted", RING, Hint(size=8))


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
    made = builder.build(f"{mine}:late_lane", RING, Hint())
    assert made.make(0).lane.tolist() == [0, 0]
    says = "step 1, send 1: lane 2 is not below the lanes=2 of its Schedule; say how many there are, lanes=3"
    assert says in one_line_error(made.make, 1)
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
    built = build("all_reduce", "ring", cluster("4w"))
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
