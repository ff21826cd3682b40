"""The worked problems of examples/worked: what was published, what is exact, what hopcast answers."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .markdown import ROOT, linked

WORKED = ROOT / "examples" / "worked"
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
    """The index of the worked problems."""
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
    text += [f"- {p.name}: {linked(p.source)}" for p in problems()]
    return "\n".join(text) + "\n"


def pages() -> dict[str, str]:
    """By path in docs/."""
    return {"worked.md": worked()}
