"""Run the command line in this process and look at what it printed."""

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Any

from hopcast.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of --format json."""
        return json.loads(self.out)["rows"]

    @property
    def row(self) -> dict[str, Any]:
        """The only row."""
        (only,) = self.rows
        return only


def run(*words: str) -> Ran:
    """`hopcast WORDS`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(words))
    return Ran(status, out.getvalue(), err.getvalue())


def rows(*words: str) -> list[dict[str, Any]]:
    """Rows of a command that must succeed."""
    ran = run(*words, "--format", "json")
    assert ran.status == 0, ran.err
    return ran.rows


def row(*words: str) -> dict[str, Any]:
    """The only row of a command that must succeed."""
    (only,) = rows(*words)
    return only
