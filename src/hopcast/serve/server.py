"""The server: on 127.0.0.1 only, at a port of its own, behind a token that nobody can guess."""

import logging
import secrets
import socket

import uvicorn

from hopcast.draw.explorer.build import paged
from hopcast.names import InputError

from .app import App
from .asked import Asked
from .choices import choices
from .pool import Pool
from .work import answer

HOST = "127.0.0.1"
LIMIT = 60.0  # seconds that a question may take
_GRACE = 2  # seconds that answers under way are given at the end
_HEAD = 32 * 2**10  # bytes of a request line and its headers
_CONNECTIONS = 512


class Server(uvicorn.Server):
    """Listens from the start; `run` answers until it is interrupted, or until `should_exit` is set.

    Args:
        port: Where to listen; 0: a free one.
        limit: Seconds that a question may take.
        workers: Processes that answer; 0: by the number of processors.

    Attributes:
        url: The address of the page, with its token.

    Raises:
        InputError: if the port is taken, or the limit is not above 0.
    """

    def __init__(self, port: int = 0, limit: float = LIMIT, workers: int = 0) -> None:
        if limit <= 0:
            raise InputError("--limit 0: a question needs some time, as in --limit 60s")
        self._socket = _listen(port)
        self._pool = Pool(limit, workers)
        at, token = self._socket.getsockname()[1], secrets.token_urlsafe(24)
        self.url = f"http://{HOST}:{at}/{token}/"
        first = answer(Asked(), lambda said: None)
        page = paged(first, choices() | {"limit": limit})
        super().__init__(
            uvicorn.Config(
                App(page, self._pool).guarded(token, at),
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=_CONNECTIONS,
                timeout_graceful_shutdown=_GRACE,
                h11_max_incomplete_event_size=_HEAD,
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer until the end."""
        # It warns of processes that were waited for twice, as those that end with the server may be.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        super().run([self._socket])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the processes too."""
        await super().startup(sockets)
        self._pool.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the processes first: what they are at is told its end, and nothing is left to wait for."""
        await self._pool.close()
        await super().shutdown(sockets)


def _listen(port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise InputError(f"--port {port}: a port is 1 to 65535; leave it off for a free one")
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.bind((HOST, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise InputError(f"--port {port}: {error.strerror}; leave it off for a free one") from None
    return made
