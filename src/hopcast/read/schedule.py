"""The schedule that a COLLECTIVE on the command line names: a file, a builder, or standard input."""

import sys
from pathlib import PurePath
from typing import IO, Any

from hopcast.ir import files
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError

from . import builder

STDIN = "-"


def is_schedule(text: str) -> bool:
    """Whether a COLLECTIVE is a schedule of the user's own, not the name of a collective.

    >>> [is_schedule(t) for t in ("all_gather", "plan.csv", "a/mine.py:ring", "mine.py", "-", "AllReduce")]
    [False, True, True, True, True, False]
    """
    said = text.strip()
    suffix = PurePath(said).suffix.lower()
    return said == STDIN or ".py:" in said or suffix in (*files.SUFFIXES, ".xml", ".py")


def schedule(
    text: str, group: Group | None = None, hint: Hint | None = None, stdin: IO[Any] | None = None
) -> Schedule:
    """Read or build the schedule.

    Args:
        text: ``plan.npz``, ``plan.json``, ``plan.csv``, ``mine.py:function``, or ``-`` for standard
            input, whose data tell whether they are csv, json or npz.
        group: For a builder.
        hint: For a builder.
        stdin: What ``-`` reads; the process's own if not given.

    Raises:
        InputError: if it cannot be read, or is none.
    """
    said = text.strip()
    if said == STDIN:
        return files.parse(_everything(sys.stdin if stdin is None else stdin), "stdin")
    if ".py:" in said or PurePath(said).suffix.lower() == ".py":
        return builder.build(said, group, hint)
    if PurePath(said).suffix.lower() == ".xml":
        raise InputError(
            f"cannot read {said!r}: MSCCL XML is not read yet; a schedule is .npz, .json or .csv"
        )
    return files.load(said)


def _everything(stdin: IO[Any]) -> bytes | str:
    """Bytes where the stream has them, for an npz is no text."""
    data: bytes | str = getattr(stdin, "buffer", stdin).read()
    return data
