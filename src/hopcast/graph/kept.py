"""Where numba keeps what it has compiled: beside the source, in the home folder, or where NUMBA_CACHE_DIR says.

In a container none of these may be writable, and numba then refuses to compile (0.68, `numba.core.caching`).
"""

import functools
import tempfile

NOTE = (
    "there is no folder that can be written to keep compiled code in, so it is compiled anew each time, which "
    "takes some seconds; set NUMBA_CACHE_DIR to a folder"
)


@functools.cache
def ready() -> str:
    """See to it that numba compiles, before it is told to; it is loaded by this.

    Returns:
        What to tell the user: nothing where compiled code is kept, else ``NOTE``. Then a folder that lasts as
        long as the process takes its place.

    Raises:
        OSError: if there is no folder for temporary files either.
    """
    import numba
    from numba.core import config

    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:
        config.CACHE_DIR = _own().name
        return NOTE
    return ""


@functools.cache
def _own() -> "tempfile.TemporaryDirectory[str]":
    """A folder that is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="hopcast-")


def _nothing() -> None:
    """What numba is asked to find a place for; it is never compiled."""
