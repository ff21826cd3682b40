"""Which of many comes first: a tree of minima, for compiled code.

The leaves are the times of all items; above every eight stands the least of them, up to one at the top. A
time that changes mostly is not the least of its eight and does not become it, so nothing else changes.
"""

import numpy as np
import numpy.typing as npt

from .compiled import inlined, outer
from .state import Name

Times = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

_WIDTH = 8  # of what stands below one: a line of cache


def tree(items: int) -> tuple[Times, Longs]:
    """Times, none of which ever comes, and where each storey of them begins.

    >>> times, storeys = tree(10)
    >>> len(times), storeys.tolist()
    (25, [0, 16, 24])
    """
    sizes = [max(-(-items // _WIDTH), 1) * _WIDTH]
    while sizes[-1] > 1:
        above = sizes[-1] // _WIDTH
        sizes.append(above if above == 1 else -(-above // _WIDTH) * _WIDTH)
    starts = np.cumsum([0, *sizes])
    return np.full(int(starts[-1]), np.inf), starts[:-1].astype(np.int64)


@inlined
def change(times: Times, storeys: Longs, item: Name, when: float) -> None:
    """Give an item another time; infinity if it does not come."""
    was, now, at = times[item], when, int(item)
    times[item] = when
    for storey in range(1, len(storeys)):
        at >>= 3
        place = np.uint32(storeys[storey] + at)
        least = times[place]
        if now > least:
            if was > least:
                return
            now = _least(times, storeys[storey - 1] + 8 * at)
        if now == least:
            return
        was = least
        times[place] = now


@inlined
def first(times: Times, storeys: Longs) -> int:
    """The item that comes first."""
    top = len(storeys) - 1
    least, at = times[storeys[top]], 0
    for storey in range(top - 1, -1, -1):
        at *= 8
        while times[storeys[storey] + at] != least:
            at += 1
    return at


@inlined
def _least(times: Times, at: int) -> float:
    """The least of eight."""
    a, b = min(times[at], times[at + 1]), min(times[at + 2], times[at + 3])
    c, d = min(times[at + 4], times[at + 5]), min(times[at + 6], times[at + 7])
    return float(min(min(a, b), min(c, d)))


@outer
def order(times: Times, storeys: Longs) -> None:
    """Put all right above the leaves."""
    for storey in range(1, len(storeys)):
        below = storeys[storey - 1]
        for at in range((storeys[storey] - below) // 8):
            times[storeys[storey] + at] = _least(times, below + 8 * at)
