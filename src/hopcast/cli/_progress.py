"""How far a long answer is, on stderr: after two seconds, and only on a terminal."""

import sys
import threading
import time

_PATIENCE = 2.0  # seconds before the first word
_PAUSE = 0.2  # between two of them


class Progress:
    """Call it with the part of a simulation that is done.

    As a context it says before that how long the schedule has been made, and clears its line at the end, also
    if interrupted.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._next = self._began + _PATIENCE
        self._shown = self._told = False
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __call__(self, part: float) -> None:
        """Show a part between 0 and 1."""
        self._told = True
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next = now + _PAUSE
        self._show(f"{part:4.0%} of the sends are received")

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._clock.is_alive():
            self._clock.join()
        if self._shown:
            print("\r" + " " * 50 + "\r", end="", file=sys.stderr, flush=True)

    def _tick(self) -> None:
        """Until a simulation says how far it is, or all is over."""
        pause = _PATIENCE
        while not self._over.wait(pause) and not self._told:
            self._show(f"making the schedule, {time.monotonic() - self._began:.0f} s")
            pause = _PAUSE

    def _show(self, text: str) -> None:
        self._shown = True
        print(f"\rhopcast: {text}", end="", file=sys.stderr, flush=True)
