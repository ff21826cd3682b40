"""Drive a real browser from a test: start tests/browser/driver.js and send it commands."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "browser"
CHROMIUM = os.environ.get("HOPCAST_CHROMIUM", "/usr/bin/chromium")


def missing() -> str:
    """What a browser test lacks on this machine; empty if nothing."""
    if not Path(CHROMIUM).exists():
        return f"no {CHROMIUM}; apt-get install chromium, or set HOPCAST_CHROMIUM"
    if shutil.which("node") is None:
        return "no node; apt-get install nodejs npm"
    if not (HERE / "node_modules" / "playwright-core").is_dir():
        return "no playwright-core; make browser"
    return ""


def skip_or_fail() -> None:
    """Skip the test with the reason; in CI, where all of it is installed, fail."""
    reason = missing()
    if reason and os.environ.get("CI"):
        pytest.fail(f"browser tests run in CI: {reason}")
    if reason:
        pytest.skip(f"browser: {reason}")


class Browser:
    """One page at a time in one browser."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", str(HERE / "driver.js")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, command: str, **words: Any) -> dict[str, Any]:
        """One command of driver.js. Whatever the page complains of, or asks of the network, is an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": command, **words}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the browser ended"
        answer: dict[str, Any] = json.loads(line)
        assert not answer.get("failed"), f"{command} {words}: {answer['failed']}"
        assert not answer["errors"], f"{command} {words}: {answer['errors']}"
        assert not answer["requests"], f"{command} {words}: {answer['requests']}"
        return answer

    def ask(self, code: str) -> Any:
        """The value of an expression in the page."""
        return self.do("ask", code=code)["value"]

    def keys(self, *keys: str) -> dict[str, Any]:
        """Press keys, then give the page's state."""
        self.do("keys", keys=list(keys))
        state: dict[str, Any] = self.ask("hopcast.state()")
        return state

    def rows(self, table: str) -> list[list[str]]:
        """The text of a table's body."""
        found: list[list[str]] = self.ask(
            f"[...document.querySelectorAll('#{table} tbody tr')]"
            ".map(r => [...r.cells].map(c => c.textContent))"
        )
        return found

    def text(self, query: str) -> str:
        """The text of an element."""
        return str(self.ask(f"document.querySelector({query!r}).textContent"))

    def close(self) -> None:
        """End the browser and remove its profile."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def driven() -> Iterator[Browser]:
    """A browser for the tests of a module, or the reason why they are skipped."""
    skip_or_fail()
    found = Browser()
    try:
        yield found
    finally:
        found.close()
