"""A real server for tests, on a free port, and two questions to ask it."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="serve: no starlette; pip install 'hopcast[serve]'")
pytest.importorskip("uvicorn", reason="serve: no uvicorn; pip install 'hopcast[serve]'")

from hopcast.serve.server import Server

SMALL = {"cluster": "ring:8", "size": "8MiB", "algorithm": "ring"}
# Takes about 8 s, for 25 schedules are tried; measured on 2 cores.
LONG = {"collective": "all_to_all", "cluster": "mesh:26x26", "size": "1GiB", "algorithm": "best"}
PATIENCE = 60.0  # seconds; numba may compile first
AS_JSON = {"Content-Type": "application/json"}


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def ask_refusal(self, body: Any, heads: dict[str, str] = AS_JSON, **how: Any) -> tuple[int, str]:
        """The same of a question."""
        return self.refusal("POST", self.path + "ask", body, heads, **how)

    @contextmanager
    def asking(self, question: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
        """The lines of an answer as they come."""
        with self.request("POST", self.path + "ask", json.dumps(question), AS_JSON) as got:
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
