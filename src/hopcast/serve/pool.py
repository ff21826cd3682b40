"""A few processes that answer questions; one is ended where its question is taken back or takes too long."""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from hopcast.names import InputError

from .asked import Asked

TICK = 0.25  # seconds between two signs of life
MOST_WAITING = 128
MOST_WORKERS = 4
Event = dict[str, Any] | bytes


class BusyError(InputError):
    """More questions wait than the server keeps."""


@dataclass(eq=False)
class _Worker:
    """A process, and whether it is free for a question."""

    process: asyncio.subprocess.Process
    free: bool = True

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def read(self) -> Event | None:
        """What it says next; None where it has ended."""
        assert self.process.stdout is not None
        try:
            line = await self.process.stdout.readline()
            if not line:
                return None
            event: dict[str, Any] = json.loads(line)
            return await self.process.stdout.readexactly(event["bytes"]) if "bytes" in event else event
        except asyncio.IncompleteReadError:
            return None


class Pool:
    """Processes, and the questions that wait for one.

    Args:
        limit: Seconds that a question may take, once its turn has come.
        workers: Processes; 0: as many as there are processors, at most `MOST_WORKERS`.
    """

    def __init__(self, limit: float, workers: int = 0) -> None:
        self.limit = limit
        self.size = workers or max(1, min(MOST_WORKERS, os.cpu_count() or 1))
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._live: set[_Worker] = set()
        self._waiting: list[object] = []
        self._lives: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Start the processes, without waiting for them."""
        for _ in range(self.size):
            self._another()

    async def close(self) -> None:
        """End the processes. Questions that they are at are answered with an error."""
        self._closed = True
        while self._lives:
            # One that is being started joins the others a moment later.
            for worker in self._live:
                worker.kill()
            await asyncio.wait(self._lives, timeout=TICK)

    def refuse_if_full(self) -> None:
        """Refuse a question that would wait behind too many.

        Raises:
            BusyError: if it would.
        """
        if len(self._waiting) >= MOST_WAITING:
            raise BusyError(f"{MOST_WAITING} questions wait already; ask again when some are answered")

    async def ask(self, asked: Asked) -> AsyncGenerator[Event, None]:
        """What happens to a question, at least once every `TICK` seconds.

        Closing the iterator takes the question back, and ends the process that works on it.

        Yields:
            ``{"say": text, "seconds": t}``, t since its turn came; last ``{"error": text}`` or the data of
            the page, as bytes of JSON.
        """
        place = object()
        self._waiting.append(place)
        getting = asyncio.ensure_future(self._idle.get())
        try:
            while not (await asyncio.wait({getting}, timeout=TICK))[0]:
                if self._closed:
                    yield {"error": "the server ends"}
                    return
                ahead = self._waiting.index(place)
                yield {"say": f"waiting behind {ahead} others" if ahead else "waiting", "seconds": 0.0}
            self._waiting.remove(place)
            async with aclosing(self._answer(getting.result(), asked)) as events:
                async for event in events:
                    yield event
        finally:
            if place in self._waiting:
                self._waiting.remove(place)
            if not getting.cancel() and not getting.cancelled():
                self._give_back(getting.result())

    async def _answer(self, worker: _Worker, asked: Asked) -> AsyncGenerator[Event, None]:
        """Events of one question from one process, which is free again after its last word."""
        began = time.monotonic()
        worker.free = False
        assert worker.process.stdin is not None
        worker.process.stdin.write(json.dumps(asked.record()).encode() + b"\n")
        said = "starting"
        reading = asyncio.ensure_future(worker.read())
        try:
            while (left := self.limit - (time.monotonic() - began)) > 0:
                if (await asyncio.wait({reading}, timeout=min(TICK, left)))[0]:
                    event = reading.result()
                    if event is None:
                        yield {"error": "the server ends" if self._closed else _ENDED}
                        return
                    if isinstance(event, bytes) or "error" in event:
                        worker.free = True
                        yield event
                        return
                    said = event["say"]
                    reading = asyncio.ensure_future(worker.read())
                yield {"say": said, "seconds": round(time.monotonic() - began, 2)}
            yield {"error": _too_long(self.limit)}
        finally:
            reading.cancel()

    def _give_back(self, worker: _Worker) -> None:
        """Keep a process for the next question, or end it and start another in its place."""
        if worker.free:
            self._idle.put_nowait(worker)
        else:
            worker.kill()
            self._another()

    def _another(self) -> None:
        if self._closed:
            return
        life = asyncio.ensure_future(self._live_on())
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    async def _live_on(self) -> None:
        """The life of one process, unless the pool is closed."""
        # A session of its own: Ctrl-C in the terminal is the server's to act on. -P: a file in the user's
        # folder is no module of ours.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hopcast.serve.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        worker = _Worker(process)
        self._live.add(worker)
        await worker.read()  # it says that it is ready
        self._idle.put_nowait(worker)
        await process.wait()
        self._live.discard(worker)


_ENDED = "the process that worked on it ended, perhaps for lack of memory; ask again, or for fewer chips"


def _too_long(limit: float) -> str:
    return (
        f"it takes more than {limit:g} s; ask for fewer chips, name an algorithm, "
        "or start hopcast serve with a larger --limit"
    )
