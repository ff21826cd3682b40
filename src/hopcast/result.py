"""What a verb gives back: rows that print as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .table import Page, cell, header, table

Row = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """Rows with units in their key names; ``str()`` is the table.

    Attributes:
        rows: Plain records.
        shown: Keys that a table shows, in order; empty: all.
        title: A line above the table.
        notes: Paragraphs below it.
        warnings: What belongs on stderr: assumptions, mappings.
        inputs: What was understood, for JSON.
        detail: The object behind the rows, for further calls.
        most: Rows that a table shows; 0: all.
    """

    rows: list[Row]
    shown: Sequence[str] = ()
    title: str | None = None
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    inputs: Row = field(default_factory=dict)
    detail: Any = None
    most: int = 0

    @property
    def brief(self) -> tuple[list[Row], list[str]]:
        """Rows and notes for reading: the first ``most`` rows, and a note of how many more there are."""
        left = len(self.rows) - self.most
        if not self.most or left <= 0:
            return self.rows, list(self.notes)
        return self.rows[: self.most], [f"and {left} more rows; --format csv or json gives all", *self.notes]

    @property
    def keys(self) -> list[str]:
        """Keys that a table shows."""
        return list(self.shown) or list(dict.fromkeys(k for row in self.rows for k in row))

    @property
    def findings(self) -> list[dict[str, str]]:
        """The findings of all rows."""
        return [f for row in self.rows for f in row.get("findings", [])]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame.

        Raises:
            ImportError: if pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        rows, notes = self.brief
        return table(rows, self.keys, self.title, notes, Page())

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(header(k))}</th>" for k in self.keys)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell(r.get(k)))}</td>" for k in self.keys) + "</tr>"
            for r in self.rows
        )
        notes = "".join(f"<p>{escape(n)}</p>" for n in self.notes)
        return f"<table><caption>{escape(self.title or '')}</caption><tr>{head}</tr>{body}</table>{notes}"
