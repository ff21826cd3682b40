"""How far a long answer is, on stderr: after two seconds, and only on a terminal."""

import shutil
import sys
import threading
import time

_PATIENCE = 2.0  # seconds before the first word
_PAUSE = 0.2  # between two of them
_LEAST = 50  # columns that are cleared at the end, whatever was said


class Progress:
    """Call it with the part of a simulation that is done, and ``doing`` with what is done besides.

    As a context it says what is done, for how long already, until a simulation says how far it is; and it
    clears its line at the end, also if interrupted.
    """

    def __init__(self, doing: str = "making the schedule") -> None:
        self._began = time.monotonic()
        self._next = self._began + _PATIENCE
        self._doing = doing
        self._told = False
        self._widest = 0
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

    def doing(self, what: str) -> None:
        """From now on this is done, until something else is or a simulation says how far it is."""
        self._doing, self._told = what, False

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._clock.is_alive():
            self._clock.join()
        if self._widest:
            print("\r" + " " * max(self._widest, _LEAST) + "\r", end="", file=sys.stderr, flush=True)

    def _tick(self) -> None:
        """Until all is over."""
        pause = _PATIENCE
        while not self._over.wait(pause):
            if not self._told:
                self._show(f"{self._doing}, {time.monotonic() - self._began:.0f} s")
            pause = _PAUSE

    def _show(self, text: str) -> None:
        """On one line of the terminal, over what stood there."""
        line = f"hopcast: {text}"[: shutil.get_terminal_size().columns - 1]
        print(f"\r{line.ljust(self._widest)}", end="", file=sys.stderr, flush=True)
        self._widest = max(self._widest, len(line))
