"""What a terminal shows of an answer that takes long."""

import io
import sys
import time

import pytest

from hopcast.cli import _progress


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
