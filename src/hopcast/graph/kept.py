"""Where numba keeps what it compiled, and how that is called.

It is beside the source, in the home folder, or where NUMBA_CACHE_DIR says. In a container none of these may
be writable, and numba then refuses to compile (0.68, `numba.core.caching`).
"""

import functools
import signal
import tempfile
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

NOTE = (
    "no folder that can be written keeps compiled code, so it is compiled anew each time, which takes some "
    "seconds; set NUMBA_CACHE_DIR to a folder"
)


@functools.cache
def ready() -> None:
    """See to it that numba compiles, before it is told to; it is loaded by this.

    Where it finds no folder, one that lasts as long as the process takes its place.

    Raises:
        OSError: if there is no folder for temporary files either.
    """
    import numba

    settings: Any = numba.config
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:
        settings.CACHE_DIR = _own().name


def unbroken(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which Ctrl-C does not break off but follows: for what gets arrays of compiled code.

    numba makes these arrays Python's by running some Python, and where an interrupt comes due in there the
    process ends in a fault of memory (0.68, 2026-11). Numbers are safe, and so is what gives nothing back.

    >>> unbroken(sum)([1, 2])
    3
    """

    @functools.wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            return function(*args, **named)
        came: list[tuple[int, Any]] = []
        signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
        try:
            return function(*args, **named)
        finally:
            signal.signal(signal.SIGINT, before)
            if came:
                before(*came[-1])

    return called


def note() -> str:
    """What to tell the user: ``NOTE`` where code was compiled and is not kept, else nothing.

    >>> note()
    ''
    """
    return NOTE if _own.cache_info().currsize else ""


@functools.cache
def _own() -> "tempfile.TemporaryDirectory[str]":
    """A folder that is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="hopcast-")


def _nothing() -> None:
    """What numba is asked to find a place for; it is never compiled."""
