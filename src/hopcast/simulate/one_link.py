"""Every send, event by event, where each crosses one link: links then share themselves out, each for itself.

It adds the same numbers in the same order as `repeat` does. So the two give the same times to the last digit,
also where a difference in that would grow.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .network import Longs, Paths, Problem
from .ran import Ran

if TYPE_CHECKING:
    from .one_link_engine import State

_SLICE = 500_000  # events between two looks at the keyboard, a fifth of a second (2 cores, 2026-11)


def run(problem: Problem, progress: Callable[[float], None] | None = None) -> Ran | None:
    """Simulate all sends; None if one crosses several links or none, reducing takes time, or many meet.

    Args:
        problem: What there is to send.
        progress: Called now and then with the part of the sends that have been received.

    Cost: some 0.8 us for each send.
    """
    whole = Run.of(problem)
    if whole is None:
        return None
    while whole.goes_on():
        if progress is not None:
            progress(whole.received / len(problem.pair))
    return None if whole.is_crowded else whole.ran()


class Run:
    """A run that goes on slice by slice.

    Attributes:
        rang: Whether it stopped for a bell.
        is_crowded: Whether it stopped as too many sends met.
    """

    def __init__(self, problem: Problem, wire: Longs, links: Longs) -> None:
        """Of a problem of which all that waits for nothing is ready."""
        from . import one_link_engine as engine  # numba is imported only where it is needed

        self._engine, self._links, self._wire = engine, links, wire
        self.rang, self.is_crowded = False, False
        self._state = self._of(problem)
        engine.begin(self._state, 0)

    @classmethod
    def of(cls, problem: Problem) -> "Run | None":
        """None if a send crosses several links or none, or reducing takes time."""
        links = _links(problem.paths)
        if links is None or not len(problem.pair) or np.any(problem.after > 0):
            return None
        used = np.unique(links)
        if np.any(problem.capacity[used] <= 0):
            return None
        return cls(problem, np.searchsorted(used, links), used)

    @property
    def received(self) -> int:
        """Sends that have been."""
        return int(self._state.tally[self._engine.DONE])

    def goes_on(self) -> bool:
        """Go on for a slice, or until a bell rang; whether anything still moves and can be followed."""
        ended = self._engine.run(self._state, _SLICE)
        self.rang, self.is_crowded = ended == self._engine.PULL, ended == self._engine.CROWDED
        return ended not in (self._engine.OVER, self._engine.CROWDED)

    def ran(self) -> Ran:
        """What came of all sends so far."""
        state = self._state
        left = state.end < 0
        end, events = np.where(left, 0.0, state.end), int(state.tally[self._engine.INSTANTS]) + 1
        return Ran(state.ready, state.start, end, state.blame.astype(np.int64), left, events)

    def _of(self, problem: Problem) -> "State":
        """The arrays of a run that has not begun."""
        from .link import empty

        engine, arcs, sends = self._engine, problem.arcs, len(problem.pair)
        which = self._wire[problem.pair]
        seats = np.bincount(which, minlength=len(self._links))
        tally = np.zeros(engine.TALLY, np.int64)
        tally[engine.BELL] = len(arcs.pending) - problem.bells
        lag = problem.paths.lag[problem.paths.first[problem.pair]]
        state: State = engine.State(
            empty(problem.capacity[self._links], problem.volume, seats), which.astype(np.int32),
            lag, arcs.start, arcs.target, arcs.pending.copy(),
            np.zeros(sends), np.zeros(sends), np.full(sends, -1.0), np.full(sends, -1, np.int32),
            np.zeros(len(arcs.pending) - sends + 1, np.int64), tally, np.zeros(1),
        )  # fmt: skip
        return state

    def move(self, kept: Longs, problem: Problem) -> None:
        """Go on with sends that were left, of the numbers given, and more behind them."""
        from .link import moved

        old, new, many = self._state, self._of(problem), len(kept)
        for name in ("ready", "start"):
            getattr(new, name)[:many] = getattr(old, name)[kept]
        number = np.full(len(old.end), -1, np.int32)
        number[kept] = np.arange(many)
        for counter in (self._engine.EVENTS, self._engine.INSTANTS):
            new.tally[counter] = old.tally[counter]
        self._state = new._replace(links=moved(old.links, new.links, number), clock=old.clock)
        self._engine.begin(self._state, many)


def _links(paths: Paths) -> Longs | None:
    """``int64[pairs]``: the one link of each pair; None if one has none or several."""
    if np.any(np.diff(paths.first) != 1) or np.any(np.diff(paths.hop) != 1) or np.any(paths.times != 1):
        return None
    return paths.link[paths.first[:-1]].astype(np.int64)
