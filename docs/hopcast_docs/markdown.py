"""Pieces of Markdown, and the words of hopcast turned into it."""

import ast
import contextlib
import inspect
import io
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hopcast import units
from hopcast.cli import main
from hopcast.table import cell

ROOT = Path(__file__).parents[2]
MOST_LINES = 30
WARNING = "<!-- Written by docs/generate.py; `make docs` writes it again. -->"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; None is an empty cell.

    >>> print(table(["a", "b"], [[1, "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\\|y |
    """
    lines = [list(header), ["---"] * len(header), *([_in_cell(c) for c in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _in_cell(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else cell(value)
    return text.replace("|", "\\|").replace("\n", " ")


def page(title: str, *parts: str) -> str:
    """A page: the warning, the title and what is not empty of the rest."""
    return "\n\n".join([WARNING, f"# {title}", *(p.strip("\n") for p in parts if p.strip())]) + "\n"


def prose(text: str) -> str:
    """A docstring as Markdown: code in single backticks, addresses as links, stars and formulas as they are.

    >>> prose("``a`` costs 2 * b\\n+ c, see https://x.org/y.")
    '`a` costs 2 \\\\* b + c, see <https://x.org/y>.'
    """
    text = inspect.cleandoc(text).replace("``", "`")
    text = re.sub(r"(?<=[^\n])\n([+=>]) ", r" \1 ", text)  # a formula that goes on is no list
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else linked(p.replace("*", "\\*")) for p in parts)


def linked(text: str) -> str:
    """Addresses and DOIs as links.

    >>> linked("doi:10.1/ab; https://x.org.")
    '[doi:10.1/ab](https://doi.org/10.1/ab); <https://x.org>.'
    """
    text = re.sub(r"(?<!<)https?://[^\s,;()<>]*[^\s,;()<>.]", lambda m: f"<{m[0]}>", text)
    return re.sub(r"\bdoi:(10\.[^\s,;()]*[^\s,;().])", lambda m: f"[{m[0]}](https://doi.org/{m[1]})", text)


def code(text: str, language: str = "text") -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"


def console(command: str) -> str:
    """A command and what it prints, the beginning of it where that is long.

    Raises:
        ValueError: if the command fails.
    """
    lines = output(command).rstrip().split("\n")
    more = len(lines) - MOST_LINES
    if more > 1:
        lines = [*lines[:MOST_LINES], f"... and {more} more lines"]
    return code("\n".join([f"$ {command}", *lines]), "console")


def output(command: str) -> str:
    """What a command prints on standard output; ``command`` begins with hopcast.

    Raises:
        ValueError: if it fails.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(shlex.split(command)[1:])
    if status != 0:
        raise ValueError(f"{command}: status {status}: {err.getvalue().strip()}")
    return out.getvalue()


def rows(command: str) -> list[dict[str, Any]]:
    """The rows of a command."""
    found: list[dict[str, Any]] = json.loads(output(f"{command} --format json"))["rows"]
    return found


def source_of(path: str) -> ast.Module:
    """The syntax tree of a file of the repository."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def said(key: str, value: float) -> str:
    """A figure for people, by the last word of its key.

    >>> said("ici.bandwidth", 45e9), said("hbm.capacity", 16e9), said("flops.bf16", 1.97e14), said("cores", 2)
    ('45 GB/s', '16 GB', '1.97e+14 FLOP/s', '2')
    """
    last = key.rpartition(".")[2]
    if last == "bandwidth":
        return units.show_rate(value)
    if last == "capacity":
        return units.show_size(value)
    if last == "latency":
        return units.show_seconds(value)
    return f"{value:.6g} FLOP/s" if "flops" in key else f"{value:.6g}"


def ratio(value: float) -> str:
    """Six digits, without the noise of the last ones.

    >>> ratio(0.1 + 0.2), ratio(1.0)
    ('0.3', '1')
    """
    return f"{round(value, 9):.6g}"


def contents(names: Iterable[str]) -> str:
    """A hidden table of contents."""
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
