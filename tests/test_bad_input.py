"""Bad input: one line on stderr, what was given and what would be right; exit 2, nothing on stdout."""

from pathlib import Path

import pytest
from cli import run

TORUS = "torus:4x4,bandwidth=45GB/s"
BAD = [
    (["predict", "all_gathr", TORUS, "--size", "1M"], ["all_gathr", "all_gather"]),
    (["predict", "all_gather", "tours:4x4", "--size", "1M"], ["tours", "torus"]),
    (["predict", "all_gather", "v5e:3x5", "--size", "1M"], ["3x5", "4x4"]),
    (["predict", "all_gather", "v5e", "--size", "1M"], ["v5e:"]),
    (["predict", "all_gather", "torus:4x", "--size", "1M"], ["4x"]),
    (["predict", "all_gather", "torus:0x4", "--size", "1M"], ["0"]),
    (["predict", "all_gather", "torus:4x4,bandwith=45GB/s", "--size", "1M"], ["bandwith", "bandwidth"]),
    (["predict", "all_gather", "torus:4x4,bandwidth=45", "--size", "1M"], ["45", "GB/s"]),
    (["predict", "all_gather", "torus:4x4,latency=1", "--size", "1M"], ["5us", "latency"]),
    (["predict", "all_gather", "torus:4x4,duplex=quarter", "--size", "1M"], ["quarter", "full or half"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--over", "w"], ["'w'", "x, y"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--over", "x,x"], ["twice"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--algorithm", "rng"], ["rng", "ring"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--algorithm", "ring"], ["multi_axis"]),
    (
        ["predict", "all_gather", TORUS, "--size", "1M", "--over", "x", "--algorithm", "ring,split=on"],
        ["split"],
    ),
    (
        ["predict", "all_gather", "mesh:4x4", "--size", "1M", "--over", "x", "--algorithm", "ring"],
        ["wrap", "chain"],
    ),
    (["predict", "broadcast", TORUS, "--size", "1M", "--algorithm", "ring"], ["broadcast", "all_gather"]),
    (["predict", "all_gather", TORUS, "--size", "0"], ["'0'"]),
    (["predict", "all_gather", TORUS, "--size", "-1"], ["-1"]),
    (["predict", "all_gather", TORUS, "--size", "12Mb"], ["12Mb", "128MB"]),
    (["predict", "all_gather", TORUS], ["--size"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--price", "guess"], ["guess", "formula"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--mesh", "data=4,model=8"], ["32", "16"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--mesh", "data=4,data=4"], ["twice"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--mesh", "data"], ["data=4"]),
    (["predict", "broadcast", TORUS, "--size", "1M", "--root", "16"], ["16", "15"]),
    (["predict", "broadcast", TORUS, "--size", "1M", "--root", "4,0"], ["4,0", "0 to 3"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--root", "3"], ["no root", "broadcast"]),
    (["predict", "permute", TORUS, "--size", "1M", "--shift", "16"], ["16"]),
    (["predict", "all_gather", "h100:8", "--size", "1M"], ["dgx-h100"]),
    (["predict", "all_gather", "dgx-h100:4", "--size", "1M", "--dead", "0,0:1,0"], ["nvswitch and rail"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--dead", "0,0:2,2"], ["no cable", "0,1"]),
    (["predict", "all_gather", TORUS, "--size", "1M", "--slow", "0,0:0,1=2"], ["0.5"]),
    (["predict", "all_gather", TORUS, TORUS, "--size", "1M"], []),
    (["predict", "all_gather", "nowhere.toml", "--size", "1M"], ["nowhere.toml"]),
    (["predict", "nowhere.csv", TORUS, "--size", "1M"], ["nowhere.csv"]),
    (["predict", "nowhere.py:f", TORUS, "--size", "1M"], ["nowhere.py"]),
    (["route", "v5e:4x4", "3,4", "0,0"], ["3,4", "0 to 3"]),
    (["route", "v5e:4x4", "3,3,3", "0,0"], ["3 coordinates", "2"]),
    (["route", "v5e:4x4", "rank 16", "0,0"], ["16", "15"]),
    (["route", "v5e:4x4", "0,0", "0,0"], ["same chip"]),
    (["bisect", "switch:8", "--split", "4/5"], ["4/5", "8"]),
    (["bisect", "switch:8", "--split", "4/4", "--by", "nodes"], ["nodes", "chips"]),
    (["bisect", "dgx-h100:4", "--split", "2/2", "--by", "su"], ["1 su"]),
    (["sweep", "all_gather", TORUS, "-b", "8M", "-e", "1M"], ["8M", "1M"]),
    (["sweep", "all_gather", TORUS, "-f", "1"], ["above 1"]),
    (["list", "cips"], ["cips", "chips"]),
    (["shw", "v5e:4x4"], ["shw", "show"]),
    (["draw", "torus:4x4", "-o", "picture.gif"], ["picture.gif", ".svg"]),
    (["draw", "torus:4x4", "-o", "no/such/folder/x.svg"], ["no/such/folder"]),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[" ".join(w) for w, _ in BAD])
def test_one_line_and_exit_two(words: list[str], says: list[str]) -> None:
    ran = run(*words)
    assert ran.status == 2, ran
    assert ran.out == ""
    errors = [line for line in ran.err.splitlines() if not line.startswith("hopcast: note:")]
    assert len(errors) == 1, ran.err
    assert errors[0].startswith("hopcast: error: ")
    for word in says:
        assert word in errors[0]


CSV = "# collective=all_gather ranks=2 chunks=2\nstep,src,dst,chunk\n0,0,1,0\n0,1,0,1\n"
BROKEN = {
    "number.csv": (CSV.replace("0,0,1,0", "0,zero,1,0"), ["3", "zero"]),
    "rank.csv": (CSV.replace("0,0,1,0", "0,0,7,0"), ["3", "7"]),
    "column.csv": (CSV.replace(",chunk\n", "\n"), ["chunk"]),
    "word.csv": (CSV.replace("all_gather", "all_gathr"), ["all_gathr"]),
    "empty.csv": ("", ["empty.csv"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_schedule_names_file_and_line(name: str, tmp_path: Path) -> None:
    text, says = BROKEN[name]
    path = tmp_path / name
    path.write_text(text)
    ran = run("check", str(path), "ring:2")
    assert ran.status == 2
    assert name in ran.err
    assert all(word in ran.err for word in says), ran.err
    assert len(ran.err.splitlines()) <= 2


TOMLS = {
    "syntax": ("family = torus\n", ["1"]),
    "key": ('family = "torus"\nshpe = [4, 4]\nbandwidth = "45GB/s"\nlatency = "1us"\n', ["shpe", "shape"]),
    "value": ('family = "torus"\nshape = [4, 4]\nbandwidth = "45"\nlatency = "1us"\n', ["bandwidth", "45"]),
}


@pytest.mark.parametrize("name", TOMLS)
def test_a_broken_cluster_names_file_and_key(name: str, tmp_path: Path) -> None:
    text, says = TOMLS[name]
    path = tmp_path / "mine.toml"
    path.write_text(text)
    ran = run("show", str(path))
    assert ran.status == 2
    assert "mine.toml" in ran.err
    assert all(word in ran.err for word in says), ran.err


def test_an_axis_of_length_one_takes_no_time() -> None:
    ran = run(
        "predict",
        "all_gather",
        "torus:1x4,bandwidth=45GB/s",
        "--over",
        "x",
        "--size",
        "1M",
        "--format",
        "json",
    )
    assert ran.status == 0
    assert ran.row["time_us"] == 0
    assert "nothing to send" in ran.err


def test_the_answer_no_is_exit_one(tmp_path: Path) -> None:
    path = tmp_path / "lost.csv"
    path.write_text("# collective=all_gather ranks=2 chunks=2\nstep,src,dst,chunk\n0,0,1,0\n")
    ran = run("check", str(path), "ring:2", "--format", "json")
    assert ran.status == 1
    assert ran.row["valid"] is False
    assert (ran.row["rank"], ran.row["chunk"]) == (0, 1)


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "all_to_all", "ring:1", "--size", "1M"],
        ["predict", "all_gather", "v5e:1x1", "--size", "1M"],
        ["simulate", "all_gather", "ring:1", "--size", "1M"],
        ["sweep", "all_reduce", "ring:1", "-e", "64"],
        ["check", "all_reduce", "ring:1", "--algorithm", "all"],
        ["show", "ring:1"],
        ["bisect", "ring:1"],
        ["draw", "ring:1"],
    ],
    ids=" ".join,
)
def test_one_chip_is_no_error(words: list[str]) -> None:
    ran = run(*words)
    assert ran.status == 0, ran.err
