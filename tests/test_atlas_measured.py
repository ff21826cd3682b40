"""What was measured and is kept: the atlas and README show those numbers, and a new run replaces them."""

import importlib.resources
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from atlas_figures import fact, picture, words_of

from hopcast.atlas.figures.scaling import recorded
from hopcast.atlas.site import atlas

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import run as report  # noqa: E402
from peers import cases, compare  # noqa: E402

ROWS = recorded()["rows"]
TABLE = json.loads((ROOT / "benchmarks" / "results" / "table.json").read_text(encoding="utf-8"))["rows"]
MEASURED = [r for r in ROWS if "cpu_s" in r]
# README's words for the work, and where its numbers stand.
SHOWN = {
    "ring all_reduce, 64 ranks": (TABLE, "all_reduce ring:64 ring"),
    "ring all_reduce, 1,024 ranks": (TABLE, "all_reduce ring:1024 ring"),
    "ring all_reduce, 4,096 ranks": (ROWS, "all_reduce ring:4096 ring"),
    "all_to_all on a ring of 256": (ROWS, "all_to_all ring:256 direct"),
    "all_to_all on a ring of 4,096": (ROWS, "all_to_all ring:4096 direct"),
    "hierarchical all_reduce, 256 GPUs": (TABLE, "all_reduce dgx-h100:32 hierarchical"),
    "ring in random order, 16x16 torus": (ROWS, "all_reduce torus:16x16 ring in random order"),
}


def test_the_record_is_part_of_the_package() -> None:
    assert (importlib.resources.files("hopcast.atlas") / "measured" / "curves.json").is_file()
    assert len(MEASURED) > 20


@pytest.mark.parametrize("row", MEASURED, ids=lambda r: f"{r['work']} {r['tool']}")
def test_a_fact_of_the_figure_is_what_was_measured(row: dict[str, Any]) -> None:
    section = re.sub(r"\W+", "_", row["section"])
    assert fact("scaling", f"{section}.{row['ranks']}.{row['tool']}") == row["cpu_s"]


def test_the_figure_says_what_was_measured_where_and_when() -> None:
    said, results = words_of(picture("scaling").svg), recorded()
    machine, versions = results["machine"], results["versions"]
    for word in (results["date"], machine["cpu"], f"{machine['cores']} cores", versions["SimGrid"], "1 GiB"):
        assert word in said
    for row in ROWS:
        assert row["section"] in said
        assert row["tool"] in said
    stopped = {(r["tool"], r["section"]) for r in ROWS if "note" in r}
    assert all(f"{tool} at " in said and section in said for tool, section in stopped)


def test_the_page_says_how_to_measure_anew(tmp_path: Path) -> None:
    atlas(tmp_path, only="scaling")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    (command,) = re.findall(r"measured anew by <code>make bench BENCH=(.*?)</code>", page)
    asked = report.parser().parse_args(command.replace("&#x27;", "").split())
    assert (asked.only, asked.record) == (["curves"], True)


def test_a_new_measurement_takes_the_place_of_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    took = {"time_us": 2.0, "cpu_s": 3.0, "wall_s": 3.0, "inside_s": 0.5, "MiB": 40.0}
    monkeypatch.setattr(compare, "tools", lambda: [compare.Tool("hopcast", "", lambda *_: dict(took))])
    monkeypatch.setattr(cases, "CURVES", {"a kind": [cases.ring(4), cases.ring(8)]})
    monkeypatch.setattr(report, "KEPT", {"curves": tmp_path / "curves.json"})
    monkeypatch.setattr(report, "CHART", tmp_path / "curves.svg")
    out = tmp_path / "out"
    for words in (["--only", "curves"], ["--only", "curves", "--record"]):
        kept = sorted(p.name for p in tmp_path.iterdir() if p.is_file())
        assert kept == []
        monkeypatch.setattr(sys, "argv", ["run.py", "--to", str(out), *words])
        report.main()
    for name in ("curves.json", "curves.svg"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()
    assert [r["ranks"] for r in json.loads((tmp_path / "curves.json").read_text())["rows"]] == [4, 8]


def test_readme_shows_what_was_measured() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| ([^|]+?) \| (\d.*) \|$", text, re.MULTILINE))
    assert set(shown) >= set(SHOWN)
    for name, (rows, work) in SHOWN.items():
        by_tool = {r["tool"]: r for r in rows if r["work"] == work}
        for tool, cell in zip(("hopcast", "SimGrid", "simpy"), shown[name].split("|"), strict=True):
            row, numbers = by_tool[tool], re.findall(r"[\d.]+", cell)
            if "note" in row:
                assert f"{cell.strip()} s" == row["note"] or not cell.strip(), name
                continue
            for number, key in zip(numbers, ("cpu_s", "inside_s"), strict=True):
                last = 10.0 ** -len(number.partition(".")[2])  # its last digit counts so much
                assert float(number) == pytest.approx(row[key], abs=0.51 * last), (name, tool)
