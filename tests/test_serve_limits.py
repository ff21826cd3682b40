"""hopcast serve in time: questions taken back, ended or told to wait, and the command from start to end."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from refused import one_line_refusal
from served import AS_JSON, LONG, PATIENCE, SMALL, Served, one_line

from hopcast.serve import pool
from hopcast.serve.work import explain

pytestmark = pytest.mark.slow  # processes of its own, which import numpy and numba first


@pytest.fixture
def serving() -> Iterator[Callable[..., Served]]:
    """A server with settings of its own."""
    made: list[Served] = []

    def start(**how: Any) -> Served:
        made.append(Served(**how))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_long_work_shows_progress_and_can_be_taken_back(serving: Callable[..., Served]) -> None:
    served = serving(workers=1)
    with served.asking(LONG) as lines:
        said = [next(lines)]
        while said[-1].get("seconds", 0.0) < 0.4:
            said.append(next(lines))
            assert "say" in said[-1], said[-1]
        (worker,) = served.server._pool._live
        # The next question waits for its turn, and says so.
        with served.asking(SMALL) as others:
            assert next(others)["say"] == "waiting"
    assert said[-1]["say"] == "choosing among algorithms"
    seconds = [s["seconds"] for s in said]
    assert seconds == sorted(seconds)
    # With one process, an answer means that the long question is over; it was ended in the middle.
    assert "data" in served.ask({**SMALL, "size": "5MiB"})
    assert worker.process.returncode == -signal.SIGKILL


def test_a_question_that_takes_too_long_is_ended(serving: Callable[..., Served]) -> None:
    served = serving(limit=0.5, workers=1)
    line = one_line(served.ask(LONG))
    assert line.startswith("it takes more than 0.5 s; ask for fewer chips")
    assert "data" in served.ask(SMALL)


def test_a_process_that_dies_is_replaced(serving: Callable[..., Served]) -> None:
    served = serving(workers=1)
    with served.asking(LONG) as lines:
        while next(lines).get("say") != "choosing among algorithms":
            pass
        (worker,) = served.server._pool._live
        os.kill(worker.process.pid, signal.SIGKILL)
        last = list(lines)[-1]
    assert "the process that worked on it ended" in one_line(last)
    assert "data" in served.ask(SMALL)


def test_a_server_with_too_many_questions_says_so(
    serving: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MOST_WAITING", 1)
    served = serving(workers=1)
    with served.asking(LONG) as lines:
        while "seconds" not in (said := next(lines)) or not said["seconds"]:
            pass
        with served.asking(SMALL) as others:
            assert next(others)["say"] == "waiting"
            status, line = served.ask_refusal(json.dumps(SMALL))
    assert (status, line) == (503, "1 questions wait already; ask again when some are answered")


def test_the_end_of_the_server_is_told_to_those_who_wait() -> None:
    served = Served(workers=1)
    with served.asking(LONG) as lines, served.asking(SMALL) as others:
        while next(lines).get("say") != "choosing among algorithms":
            pass
        began = time.monotonic()
        served.close()
        assert list(lines)[-1] == {"error": "the server ends"}
        assert list(others)[-1] == {"error": "the server ends"}
    assert time.monotonic() - began < 5


def test_our_own_mistakes_and_lack_of_memory_are_one_line() -> None:
    assert explain(MemoryError()).startswith("the question takes more memory than it may")
    assert explain(OverflowError("x")) == "a number is too large: x"
    assert explain(ValueError("a\nb\x00")) == "a b?"
    assert explain(ZeroDivisionError("x")) == "internal error: ZeroDivisionError: x"


# ---- the command

SERVE = "import sys; from hopcast.cli import main; sys.exit(main(['serve']))"


def children(pid: int) -> list[int]:
    file = Path(f"/proc/{pid}/task/{pid}/children")
    if not file.exists():
        pytest.skip("serve: no /proc, which tells the children of a process")
    return [int(word) for word in file.read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_ends_it_quietly_and_no_process_is_left(stop: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        parts = urlsplit(url)
        link = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=PATIENCE)
        link.request("POST", parts.path + "ask", json.dumps(LONG), AS_JSON)
        assert link.getresponse().readline().startswith(b'{"say"')
        workers = children(process.pid)
        assert workers
        process.send_signal(stop)
        out, err = process.communicate(timeout=20)
        link.close()
    assert process.returncode == (130 if stop == signal.SIGINT else -stop)
    assert (out, err) == ("", "hopcast: open this address in a browser; Ctrl-C ends the server\n")
    until = time.monotonic() + 10
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, workers))


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_its_packages_it_says_what_to_install(package: str) -> None:
    code = (
        "import sys\nclass Without:\n    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {package!r}:\n            raise ModuleNotFoundError(name, name=name)\n"
        f"sys.meta_path.insert(0, Without())\n{SERVE}"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"hopcast: error: this needs {package}; install it with: pip install 'hopcast[serve]'\n"
    )


def test_a_port_or_a_limit_that_cannot_be_is_refused(serving: Callable[..., Served]) -> None:
    for words, says in (
        (["--port", str(serving().port)], "leave it off for a free one"),
        (["--port", "70000"], "a port is 1 to 65535"),
        (["--limit", "0"], "a question needs some time"),
        (["--limit", "soon"], "'soon' is not a time"),
    ):
        assert says in one_line_refusal("serve", *words)
