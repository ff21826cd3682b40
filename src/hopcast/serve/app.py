"""The HTTP side: who may ask, how much, and the stream in which a question is answered.

Two addresses, both under the token: ``GET /TOKEN/`` is the page, ``POST /TOKEN/ask`` a question. A question
is answered as lines of JSON while it is worked on: ``{"say": ..., "seconds": ...}``, and last
``{"error": ...}`` or ``{"data": ...}``. Closing the connection takes the question back. A request that is
refused, or no question, has another status than 200 and ``{"error": ...}`` only.
"""

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hopcast.names import InputError

from .asked import Asked, names_only, read
from .pool import BusyError, Pool
from .work import explain

MOST_BODY = 64 * 2**10  # bytes; `asked` allows 27 kB of words
_MOST_DRAINED = 64 * 2**20  # read and thrown away, so that the answer is heard
_BODY_SECONDS = 10.0
_KEPT = 16  # answers, and in all
_KEPT_BYTES = 32 * 2**20
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Lets through who knows the token and comes from this page.

    A page of another site can make a browser send requests here, but not read the token; and under a name of
    its own that leads to 127.0.0.1 it is given away by its Host.

    Args:
        app: What is guarded; the token is its root path.
        token: What addresses begin with.
        port: Where the server listens.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it in one line."""
        if scope["type"] != "http":
            return
        why = self._refusal(scope)
        if why:
            await _refuse(403, why)(scope, receive, send)
            return
        await self._app({**scope, "root_path": f"/{self._token}"}, receive, send)

    def _refusal(self, scope: Scope) -> str:
        """Why a request is refused; empty if it is not."""
        heads: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            heads.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts, origins = heads.get("host", []), heads.get("origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return f"Host is {', '.join(hosts) or 'missing'}; this server is {self._hosts[0]}"
        if any(o != f"http://{h}" for o in origins for h in hosts):
            return f"Origin is {', '.join(origins)}; only the page of this server may ask it"
        sites = heads.get("sec-fetch-site", [])
        if scope["method"] != "GET" and any(s not in ("same-origin", "none") for s in sites):
            return f"the request comes from {', '.join(sites)}; only the page of this server may ask it"
        given = scope["path"].split("/")[1]
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return "the address lacks the token; open the one that hopcast serve printed"
        return ""


def _refuse(status: int, why: str) -> JSONResponse:
    # What is left of the request's body is not read: the connection cannot be used again.
    line = "".join(c if c.isprintable() else "?" for c in why)
    return JSONResponse({"error": line}, status, {**_HEADERS, "Connection": "close"})


class App:
    """The page and its questions.

    Args:
        page: The page as text, with its first answer in it.
        pool: Who answers the others.
    """

    def __init__(self, page: str, pool: Pool) -> None:
        self._page = page
        self._pool = pool
        self._known: OrderedDict[Asked, bytes] = OrderedDict()

    def guarded(self, token: str, port: int) -> ASGIApp:
        """The application behind its guard."""
        return Starlette(
            routes=[Route("/", self._show), Route("/ask", self._ask, methods=["POST"])],
            middleware=[Middleware(Guard, token=token, port=port)],
            exception_handlers={HTTPException: _lost, Exception: _broken},
        )

    async def _show(self, request: Request) -> Response:
        return HTMLResponse(self._page, headers=_HEADERS)

    async def _ask(self, request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refuse(415, "a question is JSON; send it as Content-Type: application/json")
        try:
            body = await _body(request)
        except TimeoutError:
            return _refuse(408, f"the question did not arrive within {_BODY_SECONDS:g} s")
        except ClientDisconnect:
            return Response(status_code=400)
        if body is None:
            return _refuse(413, f"a question has at most {MOST_BODY:,} bytes; this one has more")
        try:
            asked = read(body)
            self._pool.refuse_if_full()
        except BusyError as busy:
            return _refuse(503, str(busy))
        except ValueError as error:
            return _refuse(400, str(error))
        return StreamingResponse(self._lines(request, asked), 200, _HEADERS, "application/x-ndjson")

    async def _lines(self, request: Request, asked: Asked) -> AsyncGenerator[bytes, None]:
        try:
            names_only(asked)
        except InputError as error:
            yield _line({"error": str(error)})
            return
        known = self._known.get(asked)
        if known is not None:
            self._known.move_to_end(asked)
            yield _data(known)
            return
        async with aclosing(self._pool.ask(asked)) as events:
            async for event in events:
                if await request.is_disconnected():
                    return
                if isinstance(event, bytes):
                    self._keep(asked, event)
                    yield _data(event)
                else:
                    yield _line(event)

    def _keep(self, asked: Asked, data: bytes) -> None:
        """Remember an answer, so that reloading the page costs nothing; the oldest are forgotten."""
        self._known[asked] = data
        while len(self._known) > _KEPT or sum(map(len, self._known.values())) > _KEPT_BYTES:
            self._known.popitem(last=False)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _data(data: bytes) -> bytes:
    return b'{"data":' + data + b"}\n"


async def _body(request: Request) -> bytes | None:
    """The body of a request; None if it is too large."""
    found, size = bytearray(), 0
    async with asyncio.timeout(_BODY_SECONDS):
        async for part in request.stream():
            size += len(part)
            if size > _MOST_DRAINED:
                break
            if size <= MOST_BODY:
                found += part
    return bytes(found) if size <= MOST_BODY else None


async def _lost(request: Request, error: Exception) -> Response:
    """An address or a method that is not there."""
    assert isinstance(error, HTTPException)
    return _refuse(error.status_code, f"{request.method} is not for this address; there is: GET /, POST /ask")


async def _broken(request: Request, error: Exception) -> Response:
    """Our own mistake, still in one line."""
    return _refuse(500, explain(error))
