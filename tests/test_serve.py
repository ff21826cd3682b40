"""hopcast serve: what it answers, whom it refuses, how a question is taken back, the page in a browser."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser_driver import Browser, skip_or_fail
from cli import run

pytest.importorskip("starlette", reason="serve: no starlette; pip install 'hopcast[serve]'")
pytest.importorskip("uvicorn", reason="serve: no uvicorn; pip install 'hopcast[serve]'")

from hopcast.draw.explorer.build import content
from hopcast.serve import app, pool
from hopcast.serve.asked import MOST_CABLES, MOST_CHIPS, MOST_TEXT, Asked
from hopcast.serve.choices import choices
from hopcast.serve.server import Server
from hopcast.serve.work import answer, explain
from hopcast.verbs.explore import explore

pytestmark = pytest.mark.slow  # processes of its own, which import numpy and numba first

SMALL = {"cluster": "ring:8", "size": "8MiB", "algorithm": "ring"}
# Takes about 8 s, for 25 schedules are tried; measured on 2 cores.
LONG = {"collective": "all_to_all", "cluster": "dgx-h100:32", "size": "1GiB", "algorithm": "best"}
PATIENCE = 60.0  # seconds; numba may compile first


class Served:
    """A real server on a free port, in a thread."""

    def __init__(self, **how: Any) -> None:
        self.server = Server(**how)
        self.url = self.server.url
        parts = urlsplit(self.url)
        assert parts.hostname == "127.0.0.1"
        self.port, self.path = parts.port, parts.path
        self._thread = threading.Thread(target=self.server.run)
        self._thread.start()

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()

    @contextmanager
    def request(
        self, method: str, path: str, body: Any = None, heads: dict[str, str] | None = None, **how: Any
    ) -> Iterator[http.client.HTTPResponse]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            link.request(method, path, body, heads or {}, **how)
            yield link.getresponse()
        finally:
            link.close()

    def refusal(self, method: str, path: str, *more: Any, **how: Any) -> tuple[int, str]:
        """Status and the one line."""
        with self.request(method, path, *more, **how) as got:
            return got.status, one_line(json.loads(got.read()))

    @contextmanager
    def asking(self, question: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
        """The lines of an answer as they come."""
        heads = {"Content-Type": "application/json"}
        with self.request("POST", self.path + "ask", json.dumps(question), heads) as got:
            assert got.status == 200
            yield (json.loads(line) for line in got)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The last line of an answer."""
        with self.asking(question) as lines:
            return list(lines)[-1]


def one_line(record: dict[str, str]) -> str:
    assert list(record) == ["error"]
    assert "\n" not in record["error"]
    assert len(record["error"]) < 1000
    return record["error"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    found = Served()
    yield found
    found.close()


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


# ---- what it answers


@pytest.mark.parametrize(
    "question",
    [
        SMALL,
        {"collective": "AllReduce", "cluster": "v5e:4x4", "size": "bf16[1024,1024]", "over": "x,y"},
        {"cluster": "torus:4x4", "algorithm": "multi_axis", "slow": ["0,0:0,1=0.5"]},
        {"cluster": "ring:8", "algorithm": "direct", "dead": ["3:4"]},
        {"cluster": "ring:8", "algorithm": "ring", "compare": "bidirectional_ring"},
        {"collective": "all_reduce", "cluster": "mesh:4x4", "algorithm": "best", "compare": "torus:4x4"},
    ],
    ids=str,
)
def test_an_answer_is_the_data_of_the_page_that_explore_writes(
    served: Served, question: dict[str, Any]
) -> None:
    data = served.ask(question)["data"]
    asked = Asked(**{k: tuple(v) if isinstance(v, list) else v for k, v in question.items()})
    assert data.pop("asked") == asked.record()
    how = {k: v for k, v in asked.record().items() if k not in ("collective", "cluster") and v}
    page = explore(asked.collective, asked.cluster, **how)
    assert data.pop("warnings") == list(page.warnings)
    assert data == json.loads(json.dumps(content(page.answers, data["command"])))


def test_the_command_of_an_answer_makes_the_same_page(served: Served, tmp_path: Path) -> None:
    question = {"cluster": "torus:4x4", "over": "x", "algorithm": "ring", "slow": ["0,0:1,0=0.5"]}
    data = served.ask(question)["data"]
    out = tmp_path / "page.html"
    assert run(*data["command"].split()[1:], "-o", str(out)).status == 0
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', out.read_text())
    assert found is not None
    assert json.loads(found[1])["sides"] == data["sides"]


@pytest.mark.parametrize(
    "question",
    [
        {"cluster": "rng:8"},
        {"cluster": "v5e:3x3"},
        {"cluster": "v5e"},
        {"cluster": "ring:8,bandwidth=45Gbit"},
        {"collective": "all_gathr"},
        {"size": "12Mb"},
        {"over": "q"},
        {"algorithm": "rng"},
        {"algorithm": "all"},
        {"algorithm": "hierarchical"},
        {"compare": "rng"},
        {"slow": ["0,0:2,2=0.5"]},
        {"dead": ["0,0"]},
    ],
    ids=str,
)
def test_errors_are_those_of_the_command_line(
    served: Served, question: dict[str, Any], tmp_path: Path
) -> None:
    asked = Asked(**{k: tuple(v) if isinstance(v, list) else v for k, v in question.items()})
    ran = run(*asked.words[1:], "-o", str(tmp_path / "page.html"))
    assert ran.status == 2
    assert f"hopcast: error: {one_line(served.ask(question))}\n" == ran.err.split("hopcast: note")[0]


def test_questions_are_answered_again_from_memory(served: Served) -> None:
    question = {**SMALL, "size": "3MiB"}
    first = served.ask(question)
    with served.asking(question) as lines:
        again = list(lines)
    assert again == [first]


def test_fifty_questions_at_once(served: Served) -> None:
    questions = [{"cluster": f"ring:{n}", "size": "4MiB", "algorithm": "ring"} for n in range(3, 53)]
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(served.ask, questions))
    for question, found in zip(questions, answers, strict=True):
        side = found["data"]["sides"][0]
        assert side["net"]["name"] == question["cluster"]
        assert side["plan"]["steps"] == side["net"]["chips"] - 1


def test_each_family_begins_with_a_shape_that_can_be_shown() -> None:
    offered = choices()
    names = [f["name"] for f in offered["families"]]
    assert {"v5e", "7x", "dgx-h100", "gb200-nvl72", "ring", "torus"} <= set(names)
    for family in offered["families"]:
        told: list[str] = []
        found = answer(Asked(cluster=f"{family['name']}:{family['shape']}"), told.append)
        assert found["sides"][0]["net"]["chips"] > 1, family
        assert told
    assert {a["name"] for a in offered["algorithms"]} >= {"ring", "multi_axis", "hierarchical"}


# ---- whom it refuses


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"collective": "mine.py:all_reduce"}, "is a file"),
        ({"collective": "/tmp/plan.csv"}, "is a file"),
        ({"collective": "plan.npz"}, "is a file"),
        ({"collective": "plan.xml"}, "is a file"),
        ({"collective": "-"}, "is a file"),
        ({"collective": " - "}, "is a file"),
        ({"cluster": "mine.toml"}, "is a file"),
        ({"cluster": "/etc/passwd"}, "is a file"),
        ({"cluster": "../x.TOML"}, "is a file"),
        ({"cluster": "mine.toml,latency=0"}, "is a file"),
        ({"cluster": "v5e:4x4,bandwidth=1.toml"}, "is a file"),
        ({"cluster": "v5e:4x4;ls"}, "cannot be read"),
        ({"cluster": ""}, "cannot be read"),
        ({"compare": "mine.toml"}, "is a file"),
        ({"compare": "x:1.toml"}, "is a file"),
        ({"compare": "./mine"}, "is a file"),
        ({"algorithm": "mine.py:ring"}, "is a file"),
        ({"cluster": "ring:99999"}, "too large"),
        ({"cluster": "torus:200x200"}, "too large"),
        ({"cluster": "ring:" + "9" * 190}, "too large"),
        ({"cluster": "dgx-h100:16384"}, f"{MOST_CHIPS:,} chips"),
        ({"compare": "torus:200x200"}, "too large"),
    ],
    ids=str,
)
def test_files_and_what_no_page_shows_are_refused(
    served: Served, question: dict[str, Any], says: str
) -> None:
    assert says in one_line(served.ask(question))


def test_a_builder_is_not_run(served: Served, tmp_path: Path) -> None:
    mine, mark = tmp_path / "mine.py", tmp_path / "mark"
    mine.write_text(f"open({str(mark)!r}, 'w').close()\ndef f(group, hint):\n    raise SystemExit\n")
    for text in (f"{mine}:f", str(mine)):
        for key in ("collective", "algorithm", "compare", "cluster"):
            one_line(served.ask({key: text}))
    assert not mark.exists()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 30_000, "not JSON"),
        ("\xff", "not JSON"),
        ("[1]", "JSON list"),
        ('{"file": "x"}', "no key 'file'"),
        ('{"cluster": 5}', "cluster is a text; given: 5"),
        ('{"slow": "0:1=0.5"}', "slow is a list of cables"),
        ('{"dead": [5]}', "dead is a text"),
        (json.dumps({"size": "8" * (MOST_TEXT + 1)}), f"the most is {MOST_TEXT}"),
        (json.dumps({"dead": ["0:1"] * (MOST_CABLES + 1)}), f"the most is {MOST_CABLES}"),
        ('{"size": "8\\nMiB"}', "in one line"),
        ('{"size": "8\\u0000MiB"}', "in one line"),
        ('{"size": "\\ud800"}', "in one line"),
    ],
)
def test_what_is_no_question_is_refused(served: Served, body: str, says: str) -> None:
    heads = {"Content-Type": "application/json"}
    status, line = served.refusal("POST", served.path + "ask", body.encode("latin-1"), heads)
    assert status == 400
    assert says in line


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"path": "/"}, "lacks the token"),
        ({"path": "/ask"}, "lacks the token"),
        ({"path": "/favicon.ico"}, "lacks the token"),
        ({"path": "/x{path}"}, "lacks the token"),
        ({"path": "/%00/"}, "lacks the token"),
        ({"Host": "evil.example"}, "Host is evil.example"),
        ({"Host": "127.0.0.1:1"}, "Host is"),
        ({"Host": "127.0.0.1"}, "Host is"),
        ({"Origin": "http://evil.example"}, "Origin is http://evil.example"),
        ({"Origin": "null"}, "Origin is null"),
        ({"Origin": "https://127.0.0.1:{port}"}, "Origin is https"),
        ({"Origin": "http://localhost:{port}"}, "Origin is http://localhost"),
    ],
    ids=str,
)
def test_strangers_are_refused(served: Served, method: str, change: dict[str, str], says: str) -> None:
    heads = {"Content-Type": "application/json"}
    heads |= {k: v.format(port=served.port) for k, v in change.items() if k != "path"}
    page = "" if method == "GET" else "ask"
    path = change.get("path", "{path}" + page).format(path=served.path)
    status, line = served.refusal(method, path, json.dumps(SMALL), heads)
    assert status == 403
    assert says in line
    assert served.path.strip("/") not in line.replace(path, "")


def test_a_request_from_another_site_is_refused(served: Served) -> None:
    heads = {"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"}
    status, line = served.refusal("POST", served.path + "ask", json.dumps(SMALL), heads)
    assert (status, "comes from cross-site" in line) == (403, True)


def test_a_request_without_or_with_two_hosts_is_refused(served: Served) -> None:
    for heads in ("", f"Host: 127.0.0.1:{served.port}\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as link:
            link.sendall(f"GET {served.path} HTTP/1.1\r\n{heads}\r\n".encode())
            first = link.makefile("rb").readline()
        assert first.split()[1] in (b"400", b"403")


def test_the_own_page_may_ask(served: Served) -> None:
    for host in (f"127.0.0.1:{served.port}", f"localhost:{served.port}"):
        heads = {"Content-Type": "application/json", "Host": host, "Origin": f"http://{host}"}
        heads["Sec-Fetch-Site"] = "same-origin"
        with served.request("POST", served.path + "ask", json.dumps(SMALL), heads) as got:
            assert "data" in json.loads(got.read().splitlines()[-1])


@pytest.mark.parametrize("chunked", [False, True])
def test_ten_megabytes_are_refused(served: Served, chunked: bool) -> None:
    body = b" " * 10_000_000
    heads = {"Content-Type": "application/json"}
    if chunked:
        parts = (body[i : i + 100_000] for i in range(0, len(body), 100_000))
        found = served.refusal("POST", served.path + "ask", parts, heads, encode_chunked=True)
    else:
        found = served.refusal("POST", served.path + "ask", body, heads)
    assert found == (413, f"a question has at most {app.MOST_BODY:,} bytes; this one has more")
    assert "data" in served.ask(SMALL)


def test_other_methods_types_and_addresses_are_refused(served: Served) -> None:
    ask = served.path + "ask"
    for method, path, want in (("GET", ask, 405), ("PUT", ask, 405), ("GET", served.path + "x", 404)):
        status, line = served.refusal(method, path)
        assert status == want
        assert "there is: GET /, POST /ask" in line
    # A form of another site could send this without asking first.
    status, line = served.refusal("POST", ask, json.dumps(SMALL), {"Content-Type": "text/plain"})
    assert (status, "application/json" in line) == (415, True)


def test_a_body_that_does_not_come_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_BODY_SECONDS", 0.3)
    heads = f"Host: 127.0.0.1:{served.port}\r\nContent-Type: application/json\r\nContent-Length: 90\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as link:
        link.sendall(f"POST {served.path}ask HTTP/1.1\r\n{heads}\r\n".encode() + b'{"size"')
        assert link.makefile("rb").readline().split()[1] == b"408"


def test_the_page_is_sealed(served: Served) -> None:
    with served.request("GET", served.path) as got:
        html, heads = got.read().decode(), got.headers
    assert heads["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in heads["Content-Security-Policy"]
    assert heads["X-Content-Type-Options"] == "nosniff"
    assert "connect-src 'self'" in html
    assert served.path.strip("/") not in html
    assert "http:" not in html


def test_a_page_on_disk_has_no_controls_and_asks_nobody() -> None:
    html = explore("all_gather", "ring:4", size="4MiB", algorithm="ring").html
    assert (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"" in html
    )
    for word in ("fetch(", "connect-src", 'id="ask"', "<form", "<!--", "askcluster"):
        assert word not in html


# ---- taking a question back, limits


def test_long_work_shows_progress_and_can_be_taken_back(serving: Callable[..., Served]) -> None:
    served = serving(workers=1)
    with served.asking(LONG) as lines:
        said = [next(lines)]
        while said[-1].get("seconds", 0.0) < 1.0:
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
    served = serving(limit=1.5, workers=1)
    line = one_line(served.ask(LONG))
    assert line.startswith("it takes more than 1.5 s; ask for fewer chips")
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
            heads = {"Content-Type": "application/json"}
            status, line = served.refusal("POST", served.path + "ask", json.dumps(SMALL), heads)
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
        link.request("POST", parts.path + "ask", json.dumps(LONG), {"Content-Type": "application/json"})
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


def test_a_port_or_a_limit_that_cannot_be_is_refused(served: Served) -> None:
    for words, says in (
        (["--port", str(served.port)], "leave it off for a free one"),
        (["--port", "70000"], "a port is 1 to 65535"),
        (["--limit", "0"], "a question needs some time"),
        (["--limit", "soon"], "'soon' is not a time"),
    ):
        ran = run("serve", *words)
        assert (ran.status, ran.out) == (2, "")
        assert says in ran.err
        assert len(ran.err.splitlines()) == 1


# ---- the page in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    skip_or_fail()
    found = Browser()
    yield found
    found.close()


@pytest.fixture
def show(browser: Browser, served: Served) -> Callable[..., Browser]:
    def opened(search: str = "", **how: Any) -> Browser:
        browser.do("open", url=served.url + search, **how)
        return browser

    return opened


ANSWERED = (
    "new Promise((done, no) => { const began = Date.now(); const look = () => {"
    "if (!hopcast.asking()) requestAnimationFrame(() => requestAnimationFrame(() => done("
    "document.getElementById('said').textContent)));"
    "else if (Date.now() - began > 60000) no('not answered'); else setTimeout(look, 20); }; look(); })"
)


def submit(b: Browser, **fields: str) -> str:
    """Fill fields, submit, wait, and give what the status line says."""
    for name, text in fields.items():
        b.do("select" if name in ("collective", "family") else "fill", on=f"#ask{name}", text=text)
    b.do("click", on="#show")
    return str(b.ask(ANSWERED))


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_controls_ask_and_the_page_shows_the_answer(show: Callable[..., Browser], dark: bool) -> None:
    b = show(dark=dark)
    assert b.text("h1").startswith("all_gather of 8 MiB on v5e:4x4")
    said = submit(b, family="ring", shape="8", size="4MiB", algorithm="ring")
    assert said.startswith("note: ring is a generic family")
    assert b.text("h1") == "all_gather of 4 MiB on ring:8 by ring"
    assert len(b.ask("hopcast.places(0)")) == 8
    assert b.ask("hopcast.moments().length") == 7
    want = [[s, (5 + s) % 8, (6 + s) % 8] for s in range(7)]
    assert b.ask("hopcast.journey(0, 5)") == want
    assert (
        b.keys("ArrowRight", "ArrowRight")["step"] == 1
    )  # the keys of the page work on, from the button too
    submit(b, collective="all_reduce", family="torus", shape="2x3x4", algorithm="best", compare="mesh:2x3x4")
    assert b.ask("hopcast.sides()") == 2
    assert b.text("#command").startswith("hopcast explore all_reduce torus:2x3x4 --size 4MiB")
    submit(b, compare="", over="x")
    assert b.ask("hopcast.sides()") == 1


@pytest.mark.browser
def test_an_error_is_one_line_and_the_page_keeps_its_answer(show: Callable[..., Browser]) -> None:
    b = show()
    before = b.text("h1")
    said = submit(b, shape="3x3")
    assert said.startswith("error: ")
    assert "3x3" in said
    assert b.text("h1") == before
    assert "is a file" in submit(b, shape="4x4", compare="mine.toml")
    assert b.text("h1") == before


@pytest.mark.browser
def test_a_question_can_be_cancelled_by_keyboard(show: Callable[..., Browser]) -> None:
    b = show()
    family, shape = LONG["cluster"].split(":")
    b.do("select", on="#askcollective", text=LONG["collective"])
    b.do("select", on="#askfamily", text=family)
    b.do("fill", on="#askshape", text=shape)
    b.do("fill", on="#askalgorithm", text="best")
    b.do("keys", keys=["Enter"])
    assert b.ask("hopcast.asking()") is True
    b.ask(
        "new Promise(done => { const look = () => document.getElementById('progress').value > 0.2 ? done(1)"
        ": setTimeout(look, 20); look(); })"
    )
    assert "s, of 60 s at most" in b.text("#said")
    b.ask("(document.getElementById('cancel').focus(), 0)")
    b.do("keys", keys=["Enter"])
    assert b.ask("hopcast.asking()") is False
    assert b.text("#said").startswith("cancelled")
    assert b.ask("document.activeElement.id") == "show"
    assert "v5e:4x4" in b.text("h1")


@pytest.mark.browser
def test_the_address_holds_the_question(show: Callable[..., Browser], served: Served) -> None:
    b = show()
    submit(b, family="ring", shape="6", algorithm="ring", dead="0:1")
    found = b.ask("location.search")
    assert b.ask("location.pathname") == served.path
    title = b.text("h1")
    b = show(found)
    b.ask(ANSWERED)
    assert b.text("h1") == title
    assert b.ask("document.getElementById('askdead').value") == "0:1"
    submit(b, dead="", shape="7")
    assert "ring:7" in b.text("h1")
    b.ask("(history.back(), new Promise(done => addEventListener('popstate', () => done(0), {once: true})))")
    b.ask(ANSWERED)
    assert b.text("h1") == title


@pytest.mark.browser
def test_a_chosen_link_is_slowed_or_cut(show: Callable[..., Browser]) -> None:
    b = show()
    assert b.ask("document.getElementById('slowlink').disabled") is True
    b.ask("(document.activeElement.blur(), 0)")
    b.keys(".", ";")
    b.do("click", on="#slowlink")
    slow = b.ask("document.getElementById('askslow').value")
    assert re.fullmatch(r"0,0:\d,\d=0\.5", slow)
    b.do("click", on="#deadlink")
    b.do("fill", on="#askslow", text="")
    dead = b.ask("document.getElementById('askdead').value")
    assert dead == slow.removesuffix("=0.5")
    assert not submit(b, algorithm="multi_axis").startswith("error")
    assert b.text("#command").endswith(f"--dead {dead}")


@pytest.mark.browser
def test_controls_fit_a_phone_and_have_names(show: Callable[..., Browser]) -> None:
    b = show(width=390, height=844)
    assert b.ask("document.getElementById('question').open") is False
    b.do("click", on="#question summary")
    assert b.ask("document.documentElement.scrollWidth") <= 390
    wide = b.ask(
        "[...document.querySelectorAll('#ask input, #ask select, #ask button')]"
        ".filter(e => e.offsetParent).map(e => e.getBoundingClientRect())"
        ".map(r => [r.left, r.right, r.height])"
    )
    assert len(wide) >= 11
    assert all(left >= 0 and right <= 390 and high >= 30 for left, right, high in wide)
    submit(b, family="ring", shape="8")
    tree = b.do("tree")["value"]
    assert not re.search(r"- button\s*$", tree, re.MULTILINE)
    for name in ("collective", "size", "cluster", "shape", "axes", "algorithm", "slow cables", "dead cables"):
        assert re.search(rf'(textbox|combobox) "{name}', tree), name
