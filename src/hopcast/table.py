"""Aligned plain text for reading: a table, or key and value for one long row."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Rows = Sequence[Mapping[str, object]]

_GAP = 2
_LEAST = 12  # a text column is not squeezed below this; the rows are then shown one below the other
_LONG_ROW = 6  # a single row with at least so many keys is shown as key and value
_UNITS = {"us": "us", "ms": "ms", "s": "s", "bytes": "bytes", "GBps": "GB/s", "GiB": "GiB"}


@dataclass(frozen=True)
class Page:
    """Where a table goes. No width means no wrapping."""

    width: int | None = None
    color: bool = False

    def bold(self, text: str) -> str:
        """The text in bold, on a terminal."""
        return f"\x1b[1m{text}\x1b[0m" if self.color and text.strip() else text


def header(key: str) -> str:
    """A row key as a heading.

    >>> header("time_us"), header("busbw_GBps"), header("algorithm_source"), header("tokens_per_s")
    ('time (us)', 'busbw (GB/s)', 'algorithm source', 'tokens per s')
    """
    *words, last = key.split("_")
    if words and last in _UNITS and "per" not in words:
        return f"{' '.join(words)} ({_UNITS[last]})"
    return " ".join([*words, last])


def number(x: float) -> str:
    """Four significant digits or more, and never an exponent for a size that people say in words.

    >>> [number(x) for x in (187.264, 93.75, 50.0, 123456.7, 0.00012345, 2.5e-9, 0.0)]
    ['187.3', '93.75', '50', '123457', '0.0001234', '2.5e-09', '0']
    """
    if x == 0 or not 1e-6 <= abs(x) < 1e15:
        return f"{x:.4g}"
    decimals = max(0, 3 - math.floor(math.log10(abs(x))))
    text = f"{x:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cell(value: object) -> str:
    """A value for reading; items of a list of records are on a line each.

    >>> cell(True), cell(None), cell(["x", "y"]), cell([{"name": "x", "wraps": False}])
    ('yes', '-', 'x, y', 'name=x wraps=no')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return " ".join(f"{k}={cell(v)}" for k, v in value.items())
    if isinstance(value, list):
        nested = any(isinstance(v, Mapping | list) for v in value)
        return ("\n" if nested else ", ").join(map(cell, value)) or "-"
    return "".join(c if c.isprintable() else " " for c in str(value))


def table(rows: Rows, keys: Sequence[str], title: str | None, notes: Sequence[str], page: Page) -> str:
    """Rows as text, in whichever form fits the page.

    >>> print(table([{"name": "x", "us": 1.5}, {"name": "yy", "us": 10}], ["name", "us"], None, [], Page()))
    name    us
    x      1.5
    yy    10
    """
    if not rows:
        body = "(no rows)"
    elif len(rows) == 1 and len(keys) >= _LONG_ROW:
        body = _records(rows, keys, page)
    else:
        body = _columns(rows, keys, page) or _records(rows, keys, page)
    above = [page.bold(_fill(title, page))] if title else []
    return "\n\n".join([*above, body, *(_fill(note, page) for note in notes)])


def _records(rows: Rows, keys: Sequence[str], page: Page) -> str:
    left = max(len(header(k)) for k in keys) + _GAP
    blocks = []
    for row in rows:
        lines = []
        for k in keys:
            first, *more = _wrap(cell(row.get(k)), page.width and max(page.width - left, _LEAST))
            lines.append(page.bold(header(k)) + " " * (left - len(header(k))) + first)
            lines += [" " * left + line for line in more]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _columns(rows: Rows, keys: Sequence[str], page: Page) -> str | None:
    """A table, or None where it does not fit the page however it is wrapped."""
    right = [_is_numeric([row.get(k) for row in rows]) for k in keys]
    heads = [header(k) for k in keys]
    body = [[cell(row.get(k)).replace("\n", "; ") for row in rows] for k in keys]
    body = [_on_the_point(col) if r else col for col, r in zip(body, right, strict=True)]
    widths = _widths(heads, body, right, page.width)
    if widths is None:
        return None
    lines = [page.bold(line) for line in _lines(heads, widths, right)]
    for row in zip(*body, strict=True):
        lines += _lines(row, widths, right)
    return "\n".join(lines)


def _widths(
    heads: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[bool], page_width: int | None
) -> list[int] | None:
    """Width of each column: headings give way first, then the widest text, down to a least width."""
    widths = [max(map(len, [h, *col])) for h, col in zip(heads, body, strict=True)]
    room = (page_width or 10**9) - _GAP * (len(heads) - 1)
    if sum(widths) > room:
        least = [max(map(len, [*h.split(), *col])) for h, col in zip(heads, body, strict=True)]
        widths = [w if sum(widths) <= room else m for w, m in zip(widths, least, strict=True)]
    while sum(widths) > room:
        text = [i for i, r in enumerate(right) if not r and widths[i] > _LEAST]
        if not text:
            return None
        widths[max(text, key=widths.__getitem__)] -= 1
    return widths


def _lines(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    """One row as the lines it takes when its cells are wrapped to the widths."""
    wrapped = [_wrap(c, w) for c, w in zip(cells, widths, strict=True)]
    lines = []
    for i in range(max(map(len, wrapped))):
        parts = [w[i] if i < len(w) else "" for w in wrapped]
        aligned = [p.rjust(n) if r else p.ljust(n) for p, n, r in zip(parts, widths, right, strict=True)]
        lines.append((" " * _GAP).join(aligned).rstrip())
    return lines


def _on_the_point(column: Sequence[str]) -> list[str]:
    """Numbers padded on the right so that their decimal points are below each other."""
    tails = [len(c.partition(".")[2]) + ("." in c) for c in column]
    return [c + " " * (max(tails) - t) for c, t in zip(column, tails, strict=True)]


def _is_numeric(values: Sequence[object]) -> bool:
    given = [v for v in values if v is not None]
    return bool(given) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in given)


def _wrap(text: str, width: int | None) -> list[str]:
    if width is None or all(len(line) <= width for line in text.split("\n")):
        return text.split("\n")
    return [part for line in text.split("\n") for part in textwrap.wrap(line, width) or [""]]


def _fill(text: str, page: Page) -> str:
    return "\n".join(_wrap(text, page.width))
