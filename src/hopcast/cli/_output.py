"""Rows to stdout as a table, JSON, CSV or Markdown. Standard library only."""

import csv
import io
import json
import math
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from hopcast.table import Page, cell, header, table

if TYPE_CHECKING:
    from hopcast.result import Result

Rows = Sequence[Mapping[str, object]]


def emit(
    rows: Rows,
    *,
    format: str = "table",
    command: Sequence[str] = (),
    inputs: Mapping[str, object] | None = None,
    keys: Sequence[str] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print a result on stdout.

    JSON and CSV carry every key of every row, exactly, and neither title nor notes. A table and Markdown are
    for reading.

    Args:
        rows: The result; units are in the key names (``time_us``). numpy scalars and arrays are welcome.
        format: table, json, csv or md.
        command: The words of the command line, as in ``typer.Context.obj``.
        inputs: What the command understood, for JSON.
        keys: The columns to show in a table or Markdown, in order; default: all.
        title: A line above a table.
        notes: Paragraphs below a table.

    Raises:
        ValueError: if there is no such format.
    """
    print(render(rows, format, command, inputs or {}, keys, title, notes, page()))


def show(result: "Result", format: str, command: Sequence[str]) -> None:
    """Print what a verb gave back: its warnings on stderr, the rest on stdout."""
    for warning in result.warnings:
        print(f"hopcast: note: {warning}", file=sys.stderr)
    rows, notes = result.brief if format in ("table", "md") else (result.rows, result.notes)
    emit(
        rows,
        format=format,
        command=command,
        inputs=result.inputs,
        keys=result.shown or None,
        title=result.title,
        notes=notes,
    )


def write(path: str, text: str) -> None:
    """Write a file whole or not at all, and say where on stderr.

    Raises:
        InputError: if it cannot be written.
    """
    from pathlib import Path

    from hopcast.ir.files import whole_or_not
    from hopcast.names import InputError

    if not path:
        raise InputError("-o '': write the name of a file")
    with whole_or_not(Path(path)) as file:
        file.write(text.encode())
    print(f"hopcast: wrote {path}", file=sys.stderr)


def render(
    rows: Rows,
    format: str,
    command: Sequence[str],
    inputs: Mapping[str, object],
    keys: Sequence[str] | None,
    title: str | None,
    notes: Sequence[str],
    page: Page,
) -> str:
    """The text that ``emit`` prints, without the last newline.

    >>> rows = [{"name": "x", "time_us": 187.26}]
    >>> print(render(rows, "csv", [], {}, None, None, [], Page()))
    name,time_us
    x,187.26
    """
    exact = [{k: plain(v) for k, v in row.items()} for row in rows]
    every = list(dict.fromkeys(k for row in exact for k in row))
    shown = every if keys is None else list(keys)
    if format == "json":
        return _json(exact, command, inputs)
    if format == "csv":
        return _csv(exact, every or shown)
    if format == "md":
        return _markdown(exact, shown, title, notes)
    if format == "table":
        return table(exact, shown, title, notes, page)
    raise ValueError(f"no format {format!r}; there is: table, json, csv, md")


def plain(value: object) -> object:
    """The value as JSON has it: numpy becomes Python, NaN and infinity become None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}

    Raises:
        TypeError: if a row holds what has no such form.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # a numpy scalar or array; numpy itself need not be loaded here
        return plain(value.tolist())
    raise TypeError(f"a row cannot hold a {type(value).__name__}: {value!r}")


def page() -> Page:
    """Width and colours of stdout: a terminal has both (NO_COLOR: no colours), a file or a pipe neither."""
    if not sys.stdout.isatty():
        return Page()
    dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return Page(shutil.get_terminal_size().columns, color=not dumb)


def _json(rows: Rows, command: Sequence[str], inputs: Mapping[str, object]) -> str:
    from hopcast import __version__

    whole = {
        "schema": 1,
        "hopcast": __version__,
        "command": list(command),
        "inputs": plain(inputs),
        "rows": rows,
    }
    return json.dumps(whole, indent=2, allow_nan=False)


def _csv(rows: Rows, keys: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        writer.writerow([_csv_cell(row.get(k)) for k in keys])
    return out.getvalue().removesuffix("\n")


def _csv_cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, bool | list | dict) else value


def _markdown(rows: Rows, keys: Sequence[str], title: str | None, notes: Sequence[str]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", "<br>") for c in cells) + " |"

    right = [any(isinstance(r.get(k), int | float) for r in rows) for k in keys]
    lines = [line([header(k) for k in keys]), line(["---:" if r else "---" for r in right])]
    lines += [line([cell(row.get(k)) for k in keys]) for row in rows]
    above = [f"**{title}**"] if title else []
    return "\n\n".join([*above, "\n".join(lines), *notes])
