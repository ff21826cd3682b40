"""Examples print what stands beside them, and the worked problems come out as published."""

import contextlib
import importlib.util
import io
import os
import runpy
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
WORKED = sorted((ROOT / "examples" / "worked").glob("W*.py"), key=lambda p: int(p.stem[1:]))
ARTICLE = [
    ROOT / "examples" / f"{n}.py" for n in ("latency_45kb", "offloaded_matmul", "three_hops", "two_routes")
]
# Sources disagree by 2 % on the HBM bandwidth of an H100.
TOLERANCE = {"W21": 0.02}
PROBLEMS = {
    *(f"W{i}" for i in (1, 2, 3, 4, 5, 6, 10, 11, 13, 14, 16, 17, 18, 20, 21, 22, 23, 24, 25, 27, 28, 29)),
    *(f"W{i}" for i in (37, 38, 39, 41, 42, 43, 44, 46, 48, 52, 53, 54, 55, 57, 58)),
    *(f"W{i}" for i in (32, 33, 34, 35, 36, 60, 61, 62, 64, 65, 67, 68, 69, 73, 74)),
}


@cache
def generate() -> ModuleType:
    """docs/generate.py, which reads the same lines."""
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def printed(path: Path) -> str:
    """What an example prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(path), run_name="__main__")
    return out.getvalue()


@pytest.mark.golden
@pytest.mark.parametrize("path", [*ARTICLE, *WORKED], ids=lambda p: p.stem)
def test_an_example_prints_what_stands_beside_it(path: Path) -> None:
    beside = path.with_suffix(".out")
    if os.environ.get("HOPCAST_GOLDEN") == "write":
        beside.write_text(printed(path), encoding="utf-8")
    assert beside.read_text(encoding="utf-8") == printed(path), f"{path.name}: look at it, then `make golden`"


def test_every_problem_is_there() -> None:
    assert {p.stem for p in WORKED} == PROBLEMS


@pytest.mark.parametrize("path", WORKED, ids=lambda p: p.stem)
def test_our_answer_is_the_exact_one(path: Path) -> None:
    found = [m for line in printed(path).splitlines() if (m := generate().LINE.fullmatch(line))]
    assert found
    for m in found:
        assert float(m["ours"]) == pytest.approx(float(m["exact"]), rel=TOLERANCE.get(path.stem, 1e-3)), m[
            "what"
        ]


@pytest.mark.parametrize("path", WORKED, ids=lambda p: p.stem)
def test_our_answer_is_near_the_published_one(path: Path) -> None:
    """Published numbers are rounded, by up to a tenth in the applied chapters."""
    for line in printed(path).splitlines():
        m = generate().LINE.fullmatch(line)
        plain = m["published"].replace(",", "").removeprefix("~") if m else ""
        if m and plain.replace(".", "").replace("e", "").isdecimal():
            assert float(m["ours"]) == pytest.approx(float(plain), rel=0.1), line


def test_the_index_says_what_the_examples_print() -> None:
    for name, text in generate().worked_pages.pages().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `make docs`"
