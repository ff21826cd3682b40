"""Every send, event by event, where each crosses one link: links then share themselves out, each for itself.

It adds the same numbers in the same order as `repeat` does. So the two give the same times to the last digit,
also where a difference in that would grow.
"""

from collections.abc import Callable

import numpy as np

from .network import Longs, Problem
from .ran import Ran

_SLICE = 500_000  # events between two looks at the keyboard, a fifth of a second (2 cores, 2026-11)


def run(problem: Problem, progress: Callable[[float], None] | None = None) -> Ran | None:
    """Simulate all sends; None if one crosses several links or none, reducing takes time, or many meet.

    Args:
        problem: What there is to send.
        progress: Called now and then with the part of the sends that have been received.

    Cost: some 0.8 us for each send.
    """
    wire = _wires(problem)
    if wire is None or np.any(problem.after > 0):
        return None
    links, which, seats = np.unique(wire, return_inverse=True, return_counts=True)
    if np.any(problem.capacity[links] <= 0):
        return None
    from . import one_link_engine as engine  # numba is imported only where it is needed
    from .link import empty

    sends, arcs = len(wire), problem.arcs
    state = engine.State(
        empty(problem.capacity[links], problem.volume, seats), which.astype(np.int32),
        problem.paths.lag[problem.paths.first[problem.pair]], arcs.start, arcs.target, arcs.pending.copy(),
        np.zeros(sends), np.zeros(sends), np.full(sends, -1.0), np.full(sends, -1, np.int32),
        np.zeros(len(arcs.pending) - sends + 1, np.int64), np.zeros(4, np.int64), np.zeros(1),
    )  # fmt: skip
    engine.begin(state)
    while (ended := engine.run(state, _SLICE)) != engine.OVER:
        if ended == engine.CROWDED:
            return None
        if progress is not None:
            progress(int(state.tally[engine.DONE]) / sends)
    left = state.end < 0
    state.end[left] = 0.0
    events = int(state.tally[engine.INSTANTS]) + 1
    return Ran(state.ready, state.start, state.end, state.blame.astype(np.int64), left, events)


def _wires(problem: Problem) -> Longs | None:
    """``int64[s]``: the one link of each send; None if one has none or several."""
    paths = problem.paths
    if not len(problem.pair) or np.any(np.diff(paths.first) != 1) or np.any(np.diff(paths.hop) != 1):
        return None
    if np.any(paths.times != 1):
        return None
    return paths.link[paths.first[problem.pair]].astype(np.int64)
