"""Schedules in files: what is written is read back, and a write that fails leaves what was there."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from grids import build, cluster
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused import one_line_error

from hopcast import algorithms, interpret
from hopcast.ir import algebra, files
from hopcast.ir.collective import ALL, NAMES, Collective, of
from hopcast.ir.schedule import Schedule, from_columns, one_group

EVERY_SUFFIX = pytest.mark.parametrize("suffix", files.SUFFIXES)
WORDS = ("name", "ranks", "root", "shift")


def assert_same(a: Schedule, b: Schedule) -> None:
    for name in WORDS:
        assert getattr(a.collective, name) == getattr(b.collective, name)
    np.testing.assert_array_equal(a.collective.origin, b.collective.origin)
    np.testing.assert_array_equal(a.collective.goal, b.collective.goal)
    np.testing.assert_array_equal(a.groups, b.groups)
    assert (a.algorithm, a.vertices, a.step_count) == (b.algorithm, b.vertices, b.step_count)
    assert (a.share is None) == (b.share is None)
    if a.share is not None and b.share is not None:
        np.testing.assert_array_equal(a.share, b.share)
    one, two = a.columns(), b.columns()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], name)


def round_trip(schedule: Schedule, path: Path) -> Schedule:
    files.save(schedule, path)
    return files.load(path)


def built_by_algorithms() -> list[tuple[str, str]]:
    names = ("ring", "multi_axis", "bidirectional_ring", "chain")
    return [(name, collective) for name in names for collective in algorithms.get(name).collectives]


@EVERY_SUFFIX
@pytest.mark.parametrize(("name", "collective"), built_by_algorithms())
def test_what_algorithms_build_comes_back_and_still_checks(
    name: str, collective: str, suffix: str, tmp_path: Path
) -> None:
    where = cluster({"multi_axis": "4wx4w", "chain": "5"}.get(name, "5w"))
    built = build(collective, name, where, root=3)
    back = round_trip(built, tmp_path / f"plan{suffix}")
    assert_same(built, back)
    interpret.check(back)


@EVERY_SUFFIX
def test_unequal_shares_and_several_groups_come_back(suffix: str, tmp_path: Path) -> None:
    ring = build("all_gather", "ring", cluster("32w"))
    built = algebra.beside([ring, ring], [1 / 3, 2 / 3])
    groups = np.arange(64, dtype=np.int32).reshape(2, 32, order="F")
    laid = algebra.lay(built, groups, 65)
    back = round_trip(laid, tmp_path / f"plan{suffix}")
    assert_same(laid, back)
    interpret.check(back)


@pytest.mark.parametrize("name", NAMES)
def test_owners_are_written_only_where_they_are_not_the_usual(name: str, tmp_path: Path) -> None:
    usual = of(name, 3, root=2, shift=2, parts=2)
    columns = {"step": [0], "src": [0], "dst": [1], "chunk": [0]}
    made = from_columns(usual, "mine", one_group(3), columns)
    path = tmp_path / "plan.json"
    assert_same(made, round_trip(made, path))
    assert "origin" not in json.loads(path.read_text())
    if name in ("all_gather", "reduce_scatter", "gather", "scatter", "permute"):
        turned = of(name, 3, np.array([2, 2, 0, 0, 1, 1], np.int32), root=2, shift=2)
        other = from_columns(turned, "mine", one_group(3), columns)
        assert_same(other, round_trip(other, path))
        assert "origin" in json.loads(path.read_text())


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any columns, whether they compute something or not."""
    ranks, switches = draw(st.integers(2, 6)), draw(st.integers(0, 2))
    name = draw(st.sampled_from([*NAMES, "mine", "my own = 'odd', \"words\" # and \\ more", "\u00e4\n"]))
    root, shift = draw(st.integers(0, ranks - 1)), draw(st.integers(-3, 3))
    own = name not in NAMES or draw(st.booleans())
    task = of(name, ranks, root=root, shift=shift, parts=draw(st.integers(1, 3))) if name in NAMES else None
    if own:
        chunks = task.chunks if task else draw(st.integers(1, 9))
        rank = st.integers(0, ranks - 1)
        owner = np.array(draw(st.lists(rank, min_size=chunks, max_size=chunks)), np.int32)
        if task is None:
            goal = draw(st.lists(st.integers(-1, ranks - 1), min_size=chunks, max_size=chunks))
            first = owner if draw(st.booleans()) else np.full(chunks, ALL, np.int32)
            task = Collective(name, ranks, first, np.array(goal, np.int32), root, shift)
        else:
            task = of(name, ranks, owner, root=root, shift=shift)
    count = draw(st.integers(1, 3)) if switches == 0 else 1
    vertices = ranks * count + switches
    order = np.array(draw(st.permutations(range(vertices)))[: ranks * count], np.int32).reshape(count, ranks)
    groups = order if draw(st.booleans()) else np.arange(ranks * count, dtype=np.int32).reshape(count, ranks)
    vertices = max(vertices, int(groups.max()) + 1)
    rows = draw(st.integers(0, 12))

    def column(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rows, max_size=rows))

    src = np.array(column(0, vertices - 1), int)
    columns = {
        "step": column(0, 5),
        "src": src,
        "dst": (src + np.array(column(1, vertices - 1), int)) % vertices,
        "chunk": column(0, task.chunks - 1),
        "count": column(1, task.chunks),
        "op": column(0, 1),
        "lane": column(0, 65535),
    }
    share = None
    if draw(st.booleans()):
        parts = np.array(
            draw(st.lists(st.integers(0, 50), min_size=task.chunks, max_size=task.chunks)), float
        )
        share = (parts + 0.1) / (parts + 0.1).sum()
    algorithm = draw(st.sampled_from(["ring", "bidirectional_ring,split=on", "", "two words", "a/b+c:d=e"]))
    made = from_columns(task, algorithm, groups, columns, share)
    return dataclasses.replace(made, vertices=vertices)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schedule=schedules())
def test_any_schedule_comes_back_from_every_format(schedule: Schedule, tmp_path: Path) -> None:
    for suffix in files.SUFFIXES:
        path = tmp_path / f"plan{suffix}"
        back = round_trip(schedule, path)
        assert_same(schedule, back)
        again = tmp_path / f"again{suffix}"
        files.save(back, again)
        assert again.read_bytes() == path.read_bytes()
        assert_same(schedule, files.parse(path.read_bytes()))


GOOD_HEAD = "# collective=all_reduce ranks=2 chunks=2\n"
GOOD_ROWS = "step,src,dst,chunk,op\n0,0,1,0,reduce\n0,1,0,1,reduce\n1,1,0,0,copy\n1,0,1,1,copy\n"
GOOD = {
    "plain": GOOD_HEAD + GOOD_ROWS,
    "by hand": "\ufeff\r\n# my plan, don't touch\r\n#collective = AllReduce\r\n#  ranks=2 chunks = 2 \r\n\r\n"
    " Step , SRC,dst , chunk,op,lane,count # the names\r\n# step 0\r\n0,0,1,0, Reduce,, # one\r\n"
    "0 ,1, 0,1,1,0,\r\n\r\n1,1,0,0,,,1\r\n1,0,1,1,COPY,0,1\r\n",
    "unsorted": GOOD_HEAD + "chunk,op,step,src,dst\n0,copy,1,1,0\n1,0,1,0,1\n0,1,0,0,1\n1,reduce,0,1,0\n",
    "no line at the end": (GOOD_HEAD + GOOD_ROWS).rstrip(),
    "said in full": GOOD_HEAD + "# origin=all goal=all share=1/4,0.75 groups=0,1 root=1\n" + GOOD_ROWS,
    "json": json.dumps(
        {
            "collective": "all_reduce",
            "ranks": 2,
            "chunks": 2,
            "step": [0, 0, 1, 1],
            "src": [0, 1, 1, 0],
            "dst": [1, 0, 0, 1],
            "chunk": [0, 1, 0, 1],
            "op": ["reduce", "REDUCE", "copy", 0],
            "count": 1,
        }
    ),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_what_people_write_is_read(text: str) -> None:
    made = files.parse(text.encode(), "plan.csv")
    interpret.check(made)
    assert made.collective.name == "all_reduce"
    assert made.step_count == 2
    columns = made.columns()
    assert sorted(zip(columns["step"].tolist(), columns["op"].tolist(), strict=True)) == [
        (0, 1),
        (0, 1),
        (1, 0),
        (1, 0),
    ]


def test_a_header_after_the_first_send_is_a_comment() -> None:
    made = files.parse(GOOD_HEAD + GOOD_ROWS + "# ranks=3\n")
    assert made.ranks == 2


def test_paths_that_cannot_be_are_named(tmp_path: Path) -> None:
    built = build("all_gather", "ring", cluster("3w"))
    files.save(built, tmp_path / "there.csv")
    assert "there.csv" in one_line_error(files.load, tmp_path / "ther.csv")
    assert "no folder" in one_line_error(files.load, tmp_path / "none" / "plan.csv")
    assert ".npz, .json or .csv" in one_line_error(files.load, tmp_path / "plan.txt")
    assert ".npz, .json or .csv" in one_line_error(files.save, built, tmp_path / "plan")
    assert "cannot write" in one_line_error(files.save, built, tmp_path / "none" / "plan.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "cannot read" in one_line_error(files.load, tmp_path / "folder.csv")
    assert "cannot write" in one_line_error(files.save, built, tmp_path / "folder.csv")


@EVERY_SUFFIX
def test_a_failed_write_leaves_what_was_there(suffix: str, tmp_path: Path) -> None:
    built = build("all_gather", "ring", cluster("3w"))
    path = tmp_path / f"plan{suffix}"
    files.save(built, path)
    before = path.read_bytes()

    def make(i: int) -> object:
        if i == 1:
            raise KeyboardInterrupt
        return built.make(i)

    with pytest.raises(KeyboardInterrupt):
        files.save(dataclasses.replace(built, make=make), path)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == [path.name]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    built = build("all_gather", "ring", cluster("3w"))
    (tmp_path / "real").mkdir()
    link = tmp_path / "plan.csv"
    os.symlink(tmp_path / "real" / "target.csv", link)
    files.save(built, link)
    assert link.is_symlink()
    assert_same(files.load(tmp_path / "real" / "target.csv"), built)
