"""The docs are true: pages are fresh, outputs are real, links lead somewhere, the 300 lines agree."""

import ast
import doctest
import importlib.util
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cli import row

from hopcast.atlas import every
from hopcast.interpret import CheckError, check
from hopcast.ir.files import parse
from hopcast.ir.record import COLUMNS, HEAD

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SCRIPT = DOCS / "hopcast_in_300_lines.py"
READ = ("tpu", "all_gather", "reduce_scatter", "all_to_all", "gpu", "inside_a_node", "across_nodes")
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_generated" not in p.parts)
LINK = "bandwidth=45GB/s,latency="


@cache
def module(path: Path) -> ModuleType:
    """A file of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


def blocks(page: str, language: str) -> list[str]:
    """Fenced blocks of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
def test_generated_pages_and_shown_outputs_are_fresh() -> None:
    made = module(DOCS / "generate.py").pages()
    stale = [p for p, text in made.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    gone = set((DOCS / "reference").rglob("*.md")) - set(made)
    names = [p.relative_to(DOCS).as_posix() for p in [*stale, *gone]]
    assert not names, f"{len(names)} pages are stale, {names[:5]} ...: run `make docs`"


def test_the_words_of_pages_are_turned_into_markdown_as_their_examples_say() -> None:
    module(DOCS / "generate.py")
    markdown = sys.modules["hopcast_docs.markdown"]
    failed, tried = doctest.testmod(markdown)
    assert tried >= 5
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        if link.startswith("https://"):
            continue
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        if anchor:
            heads = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in heads], link


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_every_page_is_reached_from_the_first(page: Path) -> None:
    if page == DOCS / "index.md":
        return
    above = [p for p in PAGES if p.name == "index.md" and p.parent in (page.parent, DOCS) and p != page]
    listed = [
        (p.parent / name.strip()).resolve()
        for p in above
        for tree in re.findall(r"```{toctree}\n(.*?)```", p.read_text(encoding="utf-8"), re.DOTALL)
        for name in tree.splitlines()
        if name and not name.startswith(":")
    ]
    listed += [
        (DOCS / n).resolve()
        for n in re.findall(r"^(reference/\S+|read/index)$", (DOCS / "index.md").read_text(), re.MULTILINE)
    ]
    assert page.with_suffix("").resolve() in listed


def test_the_figures_of_the_article_stand_in_its_order() -> None:
    shown = [name for page in READ for name in re.findall(r"```{atlas} (\S+)", _text(f"read/{page}.md"))]
    known = {f.id: f.number for f in every()}
    assert set(shown) <= set(known)
    assert [known[s] for s in shown if known[s]] == list(range(1, 36))


def test_every_group_of_the_atlas_has_a_gallery() -> None:
    shown = re.findall(r"```{gallery} (\S+)", _text("atlas.md"))
    assert sorted(shown) == sorted({f.group for f in every()})


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_schedules_of_the_page_on_files_compute_what_they_claim() -> None:
    page = "schedule_files.md"
    texts = [t for t in (*blocks(page, "text"), *blocks(page, "json")) if "collective" in t and "ranks" in t]
    found = [parse(t) for t in texts if not t.startswith("file ")]
    assert len(found) == 3
    for schedule in found:
        check(schedule)
    lost = "\n".join(texts[0].splitlines()[:-1])
    with pytest.raises(CheckError):
        check(parse(lost))


def test_the_page_on_files_names_every_column_and_key() -> None:
    text = _text("schedule_files.md")
    grammar = next(b for b in blocks("schedule_files.md", "text") if b.startswith("file "))
    for word in (*COLUMNS, *HEAD):
        assert f'"{word}"' in grammar
        assert re.search(rf"^\|[^|]*\b{word}\b", text, re.MULTILINE), word


def printed() -> list[list[str]]:
    """Rows of the table that the 300 lines print: collective, cluster, algorithm, steps, flows, bound."""
    ran = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    return [line.split() for line in ran.stdout.splitlines()[1:-1]]


def test_300_lines_are_300_lines_of_numpy_and_the_standard_library() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    nodes = list(ast.walk(ast.parse(text)))
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
    tops = {n.split(".")[0] for n in names}
    assert "numpy" in tops
    assert tops - {"numpy"} <= set(sys.stdlib_module_names)


def test_300_lines_print_the_numbers_of_the_package() -> None:
    rows = printed()
    assert len(rows) >= 7
    for collective, where, algorithm, *times in rows:
        ours = [_package(collective, where, algorithm, price) for price in ("steps", "flows")]
        want = [ours[0]["time_us"], ours[1]["time_us"], ours[0]["bound_us"]]
        assert [float(t) for t in times] == pytest.approx(want, abs=2e-6), (collective, where)


def _package(
    collective: str, where: str, algorithm: str, price: str, latency: str = "1us", size: str = "8MiB"
) -> dict[str, Any]:
    words = ["--size", size, "--algorithm", algorithm, "--price", price]
    return row("predict", collective, f"{where},{LINK}{latency}", *words)


CASES = [
    (name, n, latency, reduces)
    for name in ("ring", "bidirectional_ring", "chain", "direct")
    for n in (2, 3, 5, 6)
    for latency in (0.0, 3e-6)
    for reduces in ("", "reduce_scatter", "all_reduce")
    if not (name == "direct" and reduces)
]


@pytest.mark.parametrize(("name", "n", "latency", "reduces"), CASES)
def test_300_lines_agree_for_other_numbers(name: str, n: int, latency: float, reduces: str) -> None:
    own = module(SCRIPT)
    made = getattr(own, name)(n)
    made = own.all_reduce(made) if reduces == "all_reduce" else own.reverse(made) if reduces else made
    closed = name != "chain" and n > 2
    net = own.Grid((n,), (closed,), 45e9, latency)
    where = f"{'ring' if closed else 'chain'}:{n}"
    assert own.check(made) == ""
    for price, time in (("steps", own.by_steps), ("flows", own.by_flows)):
        want = _package(made.task.name, where, name, price, f"{latency * 1e6:g}us", "1MiB")
        assert time(made, net, 2**20) * 1e6 == pytest.approx(want["time_us"], rel=1e-9)
        assert own.bound(made.task, net, 2**20) * 1e6 == pytest.approx(want["bound_us"], rel=1e-9)


def test_300_lines_notice_every_lost_send() -> None:
    own = module(SCRIPT)
    for good in (own.all_reduce(own.ring(4)), own.reverse(own.chain(4)), own.direct(3)):
        for s, step in enumerate(good.steps):
            for i in range(len(step)):
                kept = [*good.steps[:s], step[[j for j in range(len(step)) if j != i]], *good.steps[s + 1 :]]
                assert own.check(own.Schedule(good.task, kept)), (s, i)


@pytest.mark.slow
def test_sphinx_builds_without_a_warning_and_pages_ask_nothing_of_the_network(tmp_path: Path) -> None:
    for name in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(name, reason="pip install 'hopcast[docs]' builds the pages")
    words = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-b", "html"]
    ran = subprocess.run([*words, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    pages = list((tmp_path / "html").rglob("*.html"))
    assert len(pages) > len(PAGES)
    asks = re.compile(r'<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="https?:')
    for page in pages:
        assert not asks.search(page.read_text(encoding="utf-8")), page.name
    assert not re.search(r"url\(\s*[\"']?https?:", "".join(f.read_text() for f in tmp_path.rglob("*.css")))
