"""Pages of help on narrow terminals: no line runs over, nothing is lost, and examples can still be pasted."""

import re
import shlex

import pytest
from cli import run

from hopcast.cli import _shell
from hopcast.cli._page import fitted, folded

PAGES = ["", *_shell.commands()]
WIDTHS = [40, 60, 80, 100, 200]


def page(command: str, monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = run(*([command] if command else []), "--help")
    assert (ran.status, ran.err) == (0, "")
    return ran.out.splitlines()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", PAGES)
def test_no_line_runs_over_but_a_word_that_is_longer_than_a_line(
    command: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in page(command, monkeypatch, width):
        assert line == line.rstrip()
        assert len(line) <= width or len(shlex.split(line.removesuffix("\\"))) == 1, line


@pytest.mark.parametrize("width", [24, *WIDTHS])
@pytest.mark.parametrize("command", PAGES[1:])
def test_examples_are_whole_on_every_terminal(
    command: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(page(command, monkeypatch, width)).replace("\\\n", " ")
    found = re.findall(rf"^ +(hopcast {command}\b.*)$", text, re.MULTILINE)
    assert [shlex.split(line) for line in found] == [shlex.split(e) for e in _shell.examples(command)]


@pytest.mark.parametrize("command", PAGES)
def test_a_narrow_page_says_what_a_wide_one_does(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = (
        re.sub(r"\\$|\s", "", "\n".join(page(command, monkeypatch, width)), flags=re.MULTILINE)
        for width in (200, 40)
    )
    assert narrow == wide


def test_what_an_option_does_stands_beside_it_or_below(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {width: page("predict", monkeypatch, width) for width in (40, 80)}
    (wide,) = (line for line in at[80] if line.startswith("  --over AXES"))
    assert re.match(r"  --over AXES +Axes that the collective", wide)
    below = at[40].index("  --over AXES")
    assert at[40][below + 1].strip().startswith("Axes that the")


LINES = [
    ("  hopcast show v5e:4x4", 22, "  hopcast show v5e:4x4"),
    ("  hopcast show v5e:4x4", 21, "  hopcast show \\\n    v5e:4x4"),
    ('  hopcast matmul "a b c" ring:8', 26, '  hopcast matmul "a b c" \\\n    ring:8'),
    ('  hopcast matmul "a b c" ring:8', 18, '  hopcast matmul \\\n    "a b c" \\\n    ring:8'),
    ("  hopcast show a_word_of_any_length", 12, "  hopcast \\\n    show \\\n    a_word_of_any_length"),
]


@pytest.mark.parametrize(("line", "width", "expected"), LINES)
def test_a_command_line_is_folded_between_words(line: str, width: int, expected: str) -> None:
    assert folded(line, width) == fitted(line, width) == expected
