"""Files that hold no schedule: what is wrong is named with its place, and rubbish is no traceback."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from grids import build, cluster
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused import one_line_error

from hopcast.ir import files
from hopcast.names import InputError

EVERY_SUFFIX = pytest.mark.parametrize("suffix", files.SUFFIXES)


def csv(head: str, *rows: str) -> str:
    return "\n".join([head, "step,src,dst,chunk,count,op,lane", *rows])


H = "# collective=all_gather ranks=4 chunks=4"
BAD_CSV = {
    "empty": ("", "is empty"),
    "blank": (" \n\n", "is empty"),
    "only a header": (H, "no sends in it"),
    "no header": (csv("# a plan", "0,0,1,0,1,copy,0"), "collective is missing"),
    "no ranks": (csv("# collective=all_gather chunks=4", "0,0,1,0,1,copy,0"), "ranks is missing"),
    "no chunks": (csv("# collective=all_gather ranks=4", "0,0,1,0,1,copy,0"), "chunks is missing"),
    "ranks is a word": (
        csv("# collective=all_gather ranks=four chunks=4"),
        "line 1: ranks=four is not a whole number",
    ),
    "no ranks at all": (
        csv("# collective=all_gather ranks=0 chunks=4"),
        "line 1: ranks=0 is not between 1 and",
    ),
    "huge ranks": (
        csv("# collective=all_gather ranks=99999999 chunks=4"),
        "line 1: ranks=99999999 is not between",
    ),
    "unknown key": (csv(H + " rot=1"), "line 1: no key 'rot'; did you mean root?"),
    "key twice": (csv(H + " ranks=5"), "line 1: ranks is said twice"),
    "unknown collective": (
        csv("# ranks=4 chunks=4 collective=all_gathr"),
        "line 1: no collective 'all_gathr'; did you mean all_gather?",
    ),
    "chunks do not divide": (
        csv("# collective=all_gather ranks=4 chunks=6"),
        "chunks=6 does not fit all_gather of 4 ranks: it is a multiple of 4",
    ),
    "all_to_all": (csv("# collective=all_to_all ranks=4 chunks=4"), "it is a multiple of 16"),
    "root": (csv("# collective=gather ranks=4 chunks=4 root=4"), "line 1: root=4 is not between 0 and 3"),
    "origin alone": (csv(H + " origin=0,1,2,3"), "line 1: origin stands alone"),
    "short origin": (csv(H + " goal=all origin=0,1,2"), "origin has 3 entries and chunks=4"),
    "origin no rank": (csv(H + " goal=all origin=0,1,2,4"), "origin 4 is no rank; ranks are 0..3"),
    "origin words": (csv(H + " goal=all origin=a,b"), "line 1: origin=a,b is not all, or a list"),
    "origin unlike name": (
        csv(H + " goal=0,0,0,0 origin=0,1,2,3"),
        "goal of all_gather is all for every chunk; that of chunk 0 is 0",
    ),
    "origin unlike root": (
        csv("# collective=broadcast ranks=2 chunks=2 origin=0,1 goal=all"),
        "origin of broadcast is the root, 0, for every chunk",
    ),
    "goal unlike shift": (
        csv("# collective=permute ranks=2 chunks=2 origin=0,1 goal=0,1"),
        "goal of permute is origin + shift=1",
    ),
    "mixed origin": (
        csv("# collective=mine ranks=2 chunks=2 origin=0,all goal=all"),
        "origin is all for every chunk, or a rank",
    ),
    "groups": (csv(H + " groups=0,1;2,3"), "groups are lists of ranks=4 vertices"),
    "groups ragged": (csv(H + " groups=0,1,2,3;4"), "lists of one length"),
    "groups twice": (csv(H + " groups=0,1,2,2"), "each at most once"),
    "nan share": (csv(H + " share=0.5,nan,0.25,0.25"), "line 1: share of chunk 1 is nan"),
    "negative share": (csv(H + " share=0.5,-0.5,0.5,0.5"), "line 1: share of chunk 1 is -0.5"),
    "share sum": (csv(H + " share=0.33,0.33,0.33,0.0"), "line 1: shares sum to 0.99; they must sum to 1"),
    "share count": (csv(H + " share=0.5,0.5"), "share has 2 entries and chunks=4"),
    "share words": (csv(H + " share=a,b"), "line 1: share=a,b is not a list of numbers"),
    "share of nothing": (csv(H + " share=1/0,0,0,0"), "line 1: share=1/0,0,0,0 is not a list"),
    "few vertices": (csv(H + " vertices=3"), "vertices=3 is not between 4"),
    "no column": (H + "\nstep,src,chunk\n0,0,0", "line 2: no column dst; the columns are step,src,dst,chunk"),
    "unknown column": (H + "\nstep,src,dest,chunk", "line 2: no column 'dest'; did you mean dst?"),
    "column twice": (H + "\nstep,src,dst,dst,chunk", "line 2: column dst stands twice"),
    "no names": (H + "\n0,0,1,0", "line 2: numbers without names"),
    "semicolons": (H + "\nstep;src;dst;chunk", "line 2: no column 'step;src;dst;chunk'"),
    "too few cells": (csv(H, "0,0,1,0"), "line 3: 4 values for 7 columns"),
    "too many cells": (csv(H, "0,0,1,0,1,copy,0,0"), "line 3: 8 values for 7 columns"),
    "bad number": (
        csv(H, "0,0,1,0,1,copy,0", "", "0,0,x,0,1,copy,0"),
        "line 5: dst 'x' is not a whole number",
    ),
    "fraction": (csv(H, "0.5,0,1,0,1,copy,0"), "line 3: step '0.5' is not a whole number"),
    "empty cell": (csv(H, "0,,1,0,1,copy,0"), "line 3: src '' is not a whole number"),
    "past 64 bits": (
        csv(H, "0,0,1,99999999999999999999,1,copy,0"),
        "line 3: chunk '99999999999999999999' is not",
    ),
    "past 32 bits": (
        csv(H, "0,0,4294967297,0,1,copy,0"),
        "line 3: dst 4294967297 is not a whole number below 2^31",
    ),
    "unknown op": (csv(H, "0,0,1,0,1,sum,0"), "line 3: op 'sum' is unknown; write copy or reduce"),
    "src": (
        csv(H, "0,0,1,0,1,copy,0", "# c", "0,4,1,0,1,copy,0"),
        "line 5: src 4 is not there; ranks are 0..3",
    ),
    "dst": (csv(H + " vertices=6", "0,0,6,0,1,copy,0"), "line 3: dst 6 is not there; vertices are 0..5"),
    "negative src": (csv(H, "0,-1,1,0,1,copy,0"), "line 3: src -1 is not there"),
    "negative step": (csv(H, "-1,0,1,0,1,copy,0"), "line 3: step -1 is not in 0.."),
    "endless step": (csv(H, "2000000000,0,1,0,1,copy,0"), "line 3: step 2000000000 is not in 0.."),
    "chunk": (csv(H, "0,0,1,4,1,copy,0"), "line 3: chunk 4 is not there; with chunks=4 they are 0..3"),
    "count 0": (csv(H, "0,0,1,0,0,copy,0"), "line 3: count 0 is not in 1..4"),
    "count 5": (csv(H, "0,0,1,0,5,copy,0"), "line 3: count 5 is not in 1..4"),
    "lane": (csv(H, "0,0,1,0,1,copy,65536"), "line 3: lane 65536 is not in 0..65535"),
    "to itself": (csv(H, "0,1,1,0,1,copy,0"), "line 3: src and dst are both 1"),
    "first of several": (csv(H, "0,0,1,0,9,copy,0", "0,0,9,0,1,copy,0"), "line 3: count 9"),
}


@pytest.mark.parametrize(("text", "says"), BAD_CSV.values(), ids=BAD_CSV)
def test_a_wrong_csv_is_named_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    said = one_line_error(files.load, path)
    assert said.startswith(str(path))
    assert says in said


ROW = {"step": [0, 0], "src": [0, 1], "dst": [1, 0], "chunk": [0, 1]}
RECORD = {"collective": "all_gather", "ranks": 2, "chunks": 2} | ROW
BAD_JSON: dict[str, tuple[object, str]] = {
    "list": ([1, 2], "a list is no schedule"),
    "number": (3, "a single value is no schedule"),
    "no columns": ({"collective": "all_gather", "ranks": 2, "chunks": 2}, "no column step"),
    "unknown key": (RECORD | {"chunk_count": [1]}, "no key 'chunk_count'"),
    "name is a number": (RECORD | {"collective": 3}, "collective 3 is not a name"),
    "algorithm is a list": (RECORD | {"algorithm": [1]}, "algorithm [1] is not a name"),
    "ranks is a text": (RECORD | {"ranks": "2"}, "ranks '2' is not a whole number"),
    "ranks is a list": (RECORD | {"ranks": [2]}, "ranks is one whole number"),
    "ranks is true": (RECORD | {"ranks": True}, "ranks True is not a whole number"),
    "ranks is null": (RECORD | {"ranks": None}, "ranks None is not a whole number"),
    "fraction": (RECORD | {"dst": [1, 0.5]}, "send 1: dst 0.5 is not a whole number"),
    "word": (RECORD | {"dst": [1, "zero"]}, "send 1: dst 'zero' is not a whole number"),
    "huge": (RECORD | {"dst": [1, 2**80]}, "is not a whole number below 2^31"),
    "nested": (RECORD | {"dst": [[1, 0]]}, "column dst has lists in it"),
    "ragged": (RECORD | {"dst": [[1], 0]}, "dst is not a list of whole numbers"),
    "short": (RECORD | {"dst": [1]}, "column dst has 1 values and step has 2"),
    "step is one number": (RECORD | {"step": 0}, "column step is a list"),
    "op": (RECORD | {"op": ["copy", "sum"]}, "send 1: op 'sum' is unknown"),
    "op number": (RECORD | {"op": [0, 2]}, "send 1: op 2 is unknown"),
    "op null": (RECORD | {"op": ["copy", None]}, "send 1: op None is unknown"),
    "dst": (RECORD | {"dst": [1, 2]}, "send 1: dst 2 is not there"),
    "share nan": (RECORD | {"share": [float("nan"), 1]}, "share of chunk 0 is nan"),
    "share of texts": (RECORD | {"share": [{}, 1]}, "share is a list of numbers"),
    "share of words": (RECORD | {"share": ["a", "b"]}, "share is a list of numbers"),
    "share of lists": (RECORD | {"share": [[0.5], [0.5, 1]]}, "share is a list of numbers"),
    "origin object": (RECORD | {"origin": {}, "goal": "all"}, "origin"),
    "groups flat": (RECORD | {"groups": [0, 1]}, "groups are lists of ranks=2"),
}


@pytest.mark.parametrize(("record", "says"), BAD_JSON.values(), ids=BAD_JSON)
def test_a_wrong_json_is_named(record: object, says: str) -> None:
    said = one_line_error(files.parse, json.dumps(record), "plan.json", ".json")
    assert said.startswith("plan.json")
    assert says in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"collective":\n 1,,}', "plan.json, line 2: not JSON"),
        ("{" * 3, "plan.json, line 1: not JSON"),
        ('{"a":' * 200_000, "plan.json: not JSON that can be read"),
        ('{"ranks": ' + "9" * 5000 + "}", "plan.json: not JSON that can be read"),
    ],
)
def test_broken_json_is_no_traceback(text: str, says: str) -> None:
    assert says in one_line_error(files.parse, text, "plan.json")


@EVERY_SUFFIX
def test_rubbish_is_no_schedule(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"plan{suffix}"
    for data in (b"", b"\x80\x81\xff\x00" * 9, b"PK\x03\x04rubbish", b"%PDF-1.7\n%\xe2\xe3"):
        path.write_bytes(data)
        assert str(path) in one_line_error(files.load, path)


def test_pickles_and_other_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.npz"
    np.savez(path, collective=np.array([{"a": 1}], object))
    assert "not an .npz of plain arrays" in one_line_error(files.load, path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    assert "an array alone is no schedule" in one_line_error(files.load, path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ranks", "2")
    assert str(path) in one_line_error(files.load, path)
    np.savez(path, **RECORD, share=np.array([0.5, 0.5j]))  # type: ignore[arg-type]
    assert "share is a list of numbers" in one_line_error(files.load, path)
    np.savez(path, **RECORD, lane=np.array(["2026-01-01", "2026-01-02"], "M8[D]"))  # type: ignore[arg-type]
    assert "send 0: lane" in one_line_error(files.load, path)
    np.savez(path, ranks=2, colective="all_gather")
    assert "did you mean collective?" in one_line_error(files.load, path)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_an_error_or_a_schedule(data: st.DataObject, tmp_path: Path) -> None:
    suffix = data.draw(st.sampled_from(files.SUFFIXES))
    path = tmp_path / f"good{suffix}"
    files.save(build("all_reduce", "ring", cluster("3w")), path)
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        made = files.parse(bytes(whole[: cut or None]), "bad", suffix)
    except InputError as error:
        said = str(error)
    else:
        said = ""
        assert made.columns()["src"].max(initial=0) < made.vertices
    assert "\n" not in said
