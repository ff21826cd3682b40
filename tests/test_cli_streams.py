"""A shell may close stdout or stderr: what is printed goes nowhere, and all else is as before."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import hopcast
from hopcast.cli import _shell

COMMANDS = [name for name in _shell.commands() if name != "serve"]  # which ends only when it is told to
QUESTION = "hopcast predict all_gather ring:8 --size 1MiB"
WRONG = "hopcast predict all_gather ring:8 --size much"


def ran(command: str, closed: str, where: Path) -> "subprocess.CompletedProcess[str]":
    """A command line in a shell of its own, with some streams closed."""
    start = f"{shlex.quote(sys.executable)} -c 'import sys; from hopcast.cli import main; sys.exit(main())'"
    words = f"{start} {command.removeprefix('hopcast ')} {closed}"
    env = os.environ | {"PYTHONPATH": str(Path(hopcast.__file__).parents[1])}
    return subprocess.run(
        ["sh", "-c", words], cwd=where, env=env, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_runs_without_anywhere_to_print(name: str, tmp_path: Path) -> None:
    assert ran(_shell.examples(name)[0], ">&- 2>&-", tmp_path).returncode == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("command", "status"), [(QUESTION, 0), (WRONG, 2)])
def test_a_closed_stream_changes_neither_status_nor_what_others_get(
    command: str, status: int, closed: str, tmp_path: Path
) -> None:
    whole, less = (ran(command, streams, tmp_path) for streams in ("", closed))
    assert less.returncode == whole.returncode == status
    assert less.stdout == ("" if closed.startswith(">") or " >" in closed else whole.stdout)
    assert less.stderr == ("" if "2>" in closed else whole.stderr)
    assert whole.stdout + whole.stderr


def test_a_picture_is_not_written_where_stdout_was(tmp_path: Path) -> None:
    made = ran("hopcast draw ring:8 -o ring.svg", ">&- 2>&-", tmp_path)
    assert made.returncode == 0
    text = (tmp_path / "ring.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert text.rstrip().endswith("</svg>")
