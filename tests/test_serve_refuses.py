"""hopcast serve refuses: files, what no page shows, what is no question, and strangers."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import AS_JSON, SMALL, Served, one_line

from hopcast.serve import app
from hopcast.serve.asked import MOST_CABLES, MOST_CHIPS, MOST_TEXT
from hopcast.verbs.explore import explore

pytestmark = pytest.mark.slow  # processes of its own, which import numpy and numba first


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as found:
        yield found


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
    status, line = served.ask_refusal(body.encode("latin-1"))
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
    heads = AS_JSON | {k: v.format(port=served.port) for k, v in change.items() if k != "path"}
    page = "" if method == "GET" else "ask"
    path = change.get("path", "{path}" + page).format(path=served.path)
    status, line = served.refusal(method, path, json.dumps(SMALL), heads)
    assert status == 403
    assert says in line
    assert served.path.strip("/") not in line.replace(path, "")


def test_a_request_from_another_site_is_refused(served: Served) -> None:
    status, line = served.ask_refusal(json.dumps(SMALL), AS_JSON | {"Sec-Fetch-Site": "cross-site"})
    assert (status, "comes from cross-site" in line) == (403, True)


def test_a_request_without_or_with_two_hosts_is_refused(served: Served) -> None:
    for heads in ("", f"Host: 127.0.0.1:{served.port}\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as link:
            link.sendall(f"GET {served.path} HTTP/1.1\r\n{heads}\r\n".encode())
            first = link.makefile("rb").readline()
        assert first.split()[1] in (b"400", b"403")


def test_the_own_page_may_ask(served: Served) -> None:
    for host in (f"127.0.0.1:{served.port}", f"localhost:{served.port}"):
        heads = AS_JSON | {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        with served.request("POST", served.path + "ask", json.dumps(SMALL), heads) as got:
            assert "data" in json.loads(got.read().splitlines()[-1])


@pytest.mark.parametrize("chunked", [False, True])
def test_ten_megabytes_are_refused(served: Served, chunked: bool) -> None:
    body = b" " * 10_000_000
    if chunked:
        parts = (body[i : i + 100_000] for i in range(0, len(body), 100_000))
        found = served.ask_refusal(parts, encode_chunked=True)
    else:
        found = served.ask_refusal(body)
    assert found == (413, f"a question has at most {app.MOST_BODY:,} bytes; this one has more")
    assert "data" in served.ask(SMALL)


def test_other_methods_types_and_addresses_are_refused(served: Served) -> None:
    ask = served.path + "ask"
    for method, path, want in (("GET", ask, 405), ("PUT", ask, 405), ("GET", served.path + "x", 404)):
        status, line = served.refusal(method, path)
        assert status == want
        assert "there is: GET /, POST /ask" in line
    # A form of another site could send this without asking first.
    status, line = served.ask_refusal(json.dumps(SMALL), {"Content-Type": "text/plain"})
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
