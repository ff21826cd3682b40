"""How far a long simulation is, on stderr: after two seconds, and only on a terminal."""

import sys
import time

_PATIENCE = 2.0  # seconds before the first word
_PAUSE = 0.2  # between two of them


class Progress:
    """Call it with the part that is done; as a context it clears its line at the end, also if interrupted."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, part: float) -> None:
        """Show a part between 0 and 1."""
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next, self._shown = now + _PAUSE, True
        print(f"\rhopcast: {part:4.0%} of the sends are received", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print("\r" + " " * 50 + "\r", end="", file=sys.stderr, flush=True)
