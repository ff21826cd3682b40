"""The shell around the commands: finding them, errors in one line, exit statuses, formats, start-up."""

import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

import hopcast
import hopcast.cli
from hopcast.cli import _output, _shell, main
from hopcast.table import Page

FAKE = '''"""Pretend to do something, in one line."""

from typing import Annotated

import typer

from hopcast.cli._options import Format, FormatOption, SizeOption
from hopcast.cli._output import emit


def command(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="What to raise, or fine.")],
    size: SizeOption = "8",
    times: Annotated[int, typer.Option("--times")] = 1,
    part: Annotated[float, typer.Option("--part")] = 0.5,
    format: FormatOption = Format.TABLE,
) -> int | None:
    """Pretend.

    This paragraph teaches what the command is for, over
    two lines.

    Example:
        hopcast fake-one fine --size 8MiB
        hopcast fake-one no
    """
    errors = {
        "value": ValueError("'v5e:3x' is not a cluster;\\n  write v5e:4x4"),
        "lookup": LookupError("no ring"),
        "key": KeyError("ring"),
        "assert": AssertionError("our mistake"),
        "interrupt": KeyboardInterrupt(),
        "pipe": BrokenPipeError(),
        "file": FileNotFoundError(2, "No such file or directory", "x.npz"),
        "extra": ModuleNotFoundError("No module named 'plotly'", name="plotly"),
        "escape": ValueError("\\x1b[31mred"),
        "exit": typer.Exit(1),
        "abort": typer.Abort(),
    }
    if what in errors:
        raise errors[what]
    if what == "no":
        return 1
    emit([{"what": what, "size": size}], format=format, command=context.obj, inputs={"size": size})
    return None
'''


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command ``fake-one``, added as a contributor adds one: a file with its name."""
    (tmp_path / "fake_one.py").write_text(FAKE)
    monkeypatch.setattr(hopcast.cli, "__path__", [*hopcast.cli.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "hopcast.cli.fake_one", raising=False)


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from hopcast.cli import main; sys.exit(main())", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, check=False)


def test_help_lists_every_command_with_its_first_line(fake: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert "fake-one  Pretend to do something, in one line." in out
    assert not err
    assert main([]) == 0
    assert capsys.readouterr().out == out


def test_every_command_has_a_line_of_its_own_a_docstring_and_an_example() -> None:
    for name, file in _shell.commands().items():
        assert 0 < len(_shell.summary(file)) <= 80, name
        assert _shell.summary(file)[-1].isalnum() or _shell.summary(file).endswith((".", ")")), name
        assert _shell.examples(name), f"{name}: an Example: section with a line `hopcast {name} ...`"


def test_help_of_a_command_keeps_the_lines_of_its_example(
    fake: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fake_one", "--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"hopcast fake-one fine --size 8MiB\n +hopcast fake-one no\n", out)
    assert "for, over two lines." in out
    assert "128MB (x 1000)" in " ".join(out.split())
    for words in (["help", "fake-one"], ["fake-one", "-h"]):
        assert main(words) == 0
        assert capsys.readouterr().out == out
    assert _shell.examples("fake-one") == ["hopcast fake-one fine --size 8MiB", "hopcast fake-one no"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hopcast {hopcast.__version__}\n"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["fake-one", "value"], 2, "error: 'v5e:3x' is not a cluster; write v5e:4x4"),
        (["fake-one", "lookup"], 2, "error: no ring"),
        (["fake-one", "file"], 2, "error: x.npz: No such file or directory"),
        (["fake-one", "extra"], 2, "error: this needs plotly; install it with: pip install 'hopcast[plot]'"),
        (["fake-one", "escape"], 2, "error: ?[31mred"),
        (["fake-one"], 2, "error: what is missing; as in: hopcast fake-one fine --size 8MiB\n"),
        (
            ["fake-one", "fine", "--siez", "8"],
            2,
            "no option --siez; did you mean --size? (see: hopcast fake-one",
        ),
        (["fake-one", "fine", "--zzz"], 2, "error: no option --zzz (see: hopcast fake-one --help)\n"),
        (
            ["fake-one", "--size"],
            2,
            "error: --size takes a value; as in: hopcast fake-one fine --size 8MiB\n",
        ),
        (["fake-one", "fine", "--format", "xml"], 2, "error: --format: 'xml' is not one of 'table', 'json'"),
        (["fake-one", "fine", "--times", "x"], 2, "error: --times 'x': write a whole number (see: "),
        (["fake-one", "fine", "--part", "x"], 2, "error: --part 'x': write a number (see: "),
        (["fake-one", "fine", "more"], 2, "error: 'more' is too much: fake-one takes WHAT; as in: hopcast f"),
        (["fake-one", "no", "more"], 2, "takes WHAT; as in: hopcast fake-one no\n"),
        (["fake_won"], 2, "no command 'fake_won'; did you mean fake-one? as in: hopcast fake-one fine"),
        (["fake"], 2, "no command 'fake'; did you mean fake-one? as in: hopcast fake-one fine"),
        (["zzz"], 2, "error: no command 'zzz'; there is: "),
        (["--formt"], 2, "error: no option '--formt' before the command"),
        (["fake-one", "key"], 70, "internal error: KeyError: 'ring' (use --debug)"),
        (["fake-one", "assert"], 70, "internal error: AssertionError: our mistake (use --debug)"),
        (["fake-one", "interrupt"], 130, "interrupted"),
        (["fake-one", "abort"], 130, "interrupted"),
    ],
)
def test_an_error_is_one_line_on_stderr(
    fake: None, capsys: pytest.CaptureFixture[str], words: list[str], status: int, message: str
) -> None:
    assert main(words) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hopcast: ")
    assert err.count("\n") == 1
    assert message in err


def test_debug_shows_the_traceback_wherever_it_stands(fake: None, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--debug", "fake-one", "value"], ["fake-one", "value", "--debug"]):
        assert main(words) == 2
        assert "Traceback" in capsys.readouterr().err
    assert main(["fake-one", "--", "--debug"]) == 0, "after -- it is an argument"


def test_a_command_says_no_with_status_1(fake: None) -> None:
    assert main(["fake-one", "no"]) == 1
    assert main(["fake-one", "exit"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX pipe")
def test_a_closed_pipe_is_quiet() -> None:
    program = "import sys; from hopcast.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()\n" + program, "--help"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == _shell.BROKEN_PIPE


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from hopcast.cli import main; main(['--help']); main(['--version'])\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'typer', 'pydantic', 'plotly', 'matplotlib'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules)) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_help_of_each_command_loads_nothing_heavy() -> None:
    program = (
        "import sys; from hopcast.cli import _shell, main\n"
        "for name in _shell.commands(): assert main([name, '--help']) == 0, name\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'plotly', 'matplotlib'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules)) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_help_takes_less_than_a_fifth_of_a_second() -> None:
    def once() -> float:
        start = time.perf_counter()
        assert run("--help").returncode == 0
        return time.perf_counter() - start

    assert min(once() for _ in range(5)) < 0.2


class Color(Enum):
    RED = "red"


ROWS = [
    {
        "name": "x",
        "time_us": np.float64(187.264),
        "steps": np.int32(3),
        "bound": math.nan,
        "wraps": np.True_,
        "at": Path("a/b"),
        "axes": [{"name": "x", "length": np.int64(4)}],
    },
    {
        "name": "a|b,c",
        "time_us": 1e4,
        "steps": 10,
        "bound": math.inf,
        "wraps": False,
        "at": Color.RED,
        "axes": np.arange(2),
    },
]


def render(rows: list[dict[str, object]], format: str, **more: object) -> str:
    given = {"command": [], "inputs": {}, "keys": None, "title": None, "notes": [], "page": Page(), **more}
    return _output.render(rows, format, **given)  # type: ignore[arg-type]


def test_json_is_exactly_the_promised_object() -> None:
    found = json.loads(
        render(ROWS, "json", command=["hopcast", "x"], inputs={"size": np.int64(8)}, keys=["name"])
    )
    assert list(found) == ["schema", "hopcast", "command", "inputs", "rows"]
    assert found["schema"] == 1
    assert found["hopcast"] == hopcast.__version__
    assert found["command"] == ["hopcast", "x"]
    assert found["inputs"] == {"size": 8}
    assert found["rows"] == [
        {
            "name": "x",
            "time_us": 187.264,
            "steps": 3,
            "bound": None,
            "wraps": True,
            "at": "a/b",
            "axes": [{"name": "x", "length": 4}],
        },
        {
            "name": "a|b,c",
            "time_us": 10000.0,
            "steps": 10,
            "bound": None,
            "wraps": False,
            "at": "red",
            "axes": [0, 1],
        },
    ]


def test_csv_has_row_keys_and_nested_values_as_json() -> None:
    first, second = csv.DictReader(io.StringIO(render(ROWS, "csv")))
    assert first["time_us"] == "187.264"
    assert first["bound"] == ""
    assert first["wraps"] == "true"
    assert json.loads(first["axes"]) == [{"name": "x", "length": 4}]
    assert second["name"] == "a|b,c"


def test_markdown_is_a_table() -> None:
    text = render(ROWS, "md", keys=["name", "time_us"], title="Times", notes=["Ideal."])
    assert text == (
        "**Times**\n\n| name | time (us) |\n| --- | ---: |\n| x | 187.3 |\n| a\\|b,c | 10000 |\n\nIdeal."
    )


def test_table_aligns_numbers_on_the_decimal_point() -> None:
    text = render(ROWS, "table", keys=["name", "time_us", "wraps"], title="Times", notes=["Ideal."])
    expected = """
Times

name   time (us)  wraps
x          187.3  yes
a|b,c    10000    no

Ideal."""
    assert text == expected.removeprefix("\n")


def test_one_long_row_is_keys_and_values() -> None:
    lines = render(ROWS[:1], "table").splitlines()
    assert lines[1] == "time (us)  187.3"
    assert lines[-1] == "axes       name=x length=4"


@pytest.mark.parametrize("width", [30, 40, 60, 100])
def test_a_table_fits_the_terminal(width: int) -> None:
    rows = [
        {"code": "W1", "text": "a sentence of several words " * 4, "max_link_bytes": n} for n in (8, 4096)
    ]
    text = render(rows, "table", title="A title that is long " * 3, page=Page(width))
    assert max(map(len, text.splitlines())) <= width
    assert "4096" in text


def test_no_rows_is_said() -> None:
    assert render([], "table", keys=["a"]) == "(no rows)"
    assert render([], "csv", keys=["a"]) == "a"
    assert json.loads(render([], "json"))["rows"] == []


def test_colours_only_on_a_terminal_and_never_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "72")
    assert _output.page() == Page()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert _output.page() == Page(72, color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert _output.page() == Page(72, color=False)
    assert "\x1b" in render(ROWS, "table", page=Page(None, color=True))


def test_a_row_that_cannot_be_written_is_our_mistake() -> None:
    with pytest.raises(TypeError, match="cannot hold a object"):
        render([{"a": object()}], "json")
    with pytest.raises(ValueError, match="no format 'xml'"):
        render(ROWS, "xml")


def test_a_command_knows_its_own_words(fake: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fake-one", "fine", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["command"] == ["hopcast", "fake-one", "fine", "--format", "json"]
