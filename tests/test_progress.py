"""What a terminal shows of an answer that takes long."""

import io
import sys
import time

import pytest

from hopcast.cli import _progress, main


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(_progress, "_PATIENCE", 0.05)
    monkeypatch.setattr(_progress, "_PAUSE", 0.01)


def test_a_long_build_is_said_to_go_on_and_the_line_is_cleared(monkeypatch, soon):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with _progress.Progress():
        time.sleep(0.3)
    assert "making the schedule, 0 s" in shown.getvalue()
    assert shown.getvalue().endswith(" " * 50 + "\r")


def test_once_a_simulation_says_how_far_it_is_nothing_else_is_said(monkeypatch, soon):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with _progress.Progress() as progress:
        progress(0.0)
        time.sleep(0.2)
        progress(0.5)
        time.sleep(0.1)
    assert "50% of the sends are received" in shown.getvalue()
    assert "making" not in shown.getvalue()


def test_a_short_answer_and_a_file_get_no_words(monkeypatch, soon):
    for shown, pause in ((Terminal(), 0.0), (io.StringIO(), 0.2)):
        monkeypatch.setattr(sys, "stderr", shown)
        with _progress.Progress() as progress:
            time.sleep(pause)
            progress(0.1)
        assert not shown.getvalue()


def test_what_is_done_is_said_and_a_short_word_covers_a_long_one(monkeypatch, soon):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with _progress.Progress("checking") as progress:
        time.sleep(0.15)
        progress.doing("looking at 16 MiB, 21 of 31 sizes")
        time.sleep(0.15)
        progress(0.5)
        progress.doing("drawing")
        time.sleep(0.15)
    said = shown.getvalue()
    words = ("checking, 0 s", "looking at 16 MiB, 21 of 31 sizes, 0 s", "drawing, 0 s")
    order = [said.index(word) for word in words]
    assert order == sorted(order)
    widths = [len(line) for line in said.split("\r") if line]
    assert widths[-1] >= max(widths[:-1])  # all is cleared


LONG = [
    ("check", "all_reduce ring:4 --algorithm all", "checking "),
    ("check", "all_reduce ring:4", "checking "),
    ("advise", "all_gather --chips 4 --on v5e --size 1MiB", "looking at v5e:2x2, 1 of "),
    ("sweep", "all_gather ring:4 -b 1K -e 2K", "looking at 1 KiB, 1 of 2 sizes"),
    ("draw", "all_gather ring:4", "drawing"),
    ("simulate", "all_gather ring:4 --size 1MiB -o trace.json", "writing the trace"),
    ("explore", "all_gather ring:4 --size 1MiB -o page.html", "making the page"),
]


@pytest.mark.parametrize(("command", "words", "said"), LONG)
def test_every_long_command_says_what_it_does(monkeypatch, tmp_path, capsys, command, words, said):
    """All that is done is shown at once, as if each word had come after two seconds."""
    shown = Terminal()
    told = _progress.Progress.doing

    def at_once(self, what):
        told(self, what)
        self._show(f"{what}, 0 s")

    def entered(self):
        self._show(f"{self._doing}, 0 s")
        return self

    monkeypatch.setattr(_progress.Progress, "doing", at_once)
    monkeypatch.setattr(_progress.Progress, "__enter__", entered)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", shown)
    assert main([command, *words.split()]) == 0
    assert f"hopcast: {said}" in shown.getvalue()
    assert "looking at" not in capsys.readouterr().out
