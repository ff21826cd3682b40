"""Where numba keeps what it compiled: beside the source, in the home folder, or where NUMBA_CACHE_DIR says.

In a container none of these may be writable, and numba then refuses to compile (0.68, `numba.core.caching`).
"""

import functools
import tempfile
from typing import Any

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
