"""Writes the generated pages of this folder: `make docs` runs it, and a test says when a page is stale."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
WORKED = DOCS.parent / "examples" / "worked"
LINE = re.compile(
    r"(?P<what>.+): published (?P<published>.+); exact (?P<exact>[-+.\deE]+); ours (?P<ours>[-+.\deE]+)"
)


@dataclass(frozen=True)
class Problem:
    """A worked problem: its file, what it asks, where it stands, and the lines of its output."""

    name: str
    title: str
    source: str
    found: tuple[re.Match[str], ...]


def problems() -> Iterator[Problem]:
    """All worked problems, by number."""
    for path in sorted(WORKED.glob("W*.py"), key=lambda p: int(p.stem[1:])):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        head, _, source = text.partition("\n\nSource: ")
        lines = path.with_suffix(".out").read_text(encoding="utf-8").splitlines()
        found = tuple(m for line in lines if (m := LINE.fullmatch(line)))
        title = " ".join(head.partition(": ")[2].split())
        yield Problem(path.stem, title, " ".join(source.split()), found)


def worked() -> str:
    """The index of the worked problems: what was published, what it is exactly, what hopcast answers."""
    text = [
        "# Worked problems",
        "",
        "Problems that others have published, each a few lines of Python under `examples/worked`.",
        "*published* is what the source prints, often rounded; *exact* the same with the given figures",
        "worked out; *ours* what hopcast answers, without latency unless the line says so. A test runs them.",
        "",
        "| problem | quantity | published | exact | ours |",
        "| --- | --- | --- | --- | --- |",
    ]
    for p in problems():
        for i, m in enumerate(p.found):
            where = f"[{p.name}](../examples/worked/{p.name}.py) {p.title}" if i == 0 else ""
            text.append(f"| {where} | {m['what']} | {m['published']} | {m['exact']} | {m['ours']} |")
    text += ["", "## Sources", ""]
    text += [f"- {p.name}: {p.source}" for p in problems()]
    return "\n".join(text) + "\n"


def pages() -> dict[Path, str]:
    """Every generated page and what it should hold."""
    return {DOCS / "worked.md": worked()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
