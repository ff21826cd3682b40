"""Links that can be full before all others: the rest need not be looked at when rates are shared out.

Where all routes over a link go on to another that is no faster, the first carries at most what the second
does: the second alone keeps both from being too full. So of a row of links between two turns only those
remain that routes join before and leave after.
"""

from dataclasses import replace

import numpy as np

from hopcast.ir.topology import Bools, Floats, Ints

from .network import Longs, Paths


def needed(paths: Paths, capacity: Floats) -> tuple[Paths, Longs]:
    """The same routes over the links that matter, numbered anew; and which these are.

    Rates that are max-min fair over these are so over all: what the others allow follows.

    Cost: a few passes over the crossings.

    >>> row = Paths(np.arange(3), np.ones(2), np.zeros(2), np.array([0, 3, 5]),
    ...             np.array([0, 1, 2, 1, 2], np.int32), np.ones(5, np.int32))
    >>> fewer, links = needed(row, np.array([1.0, 1.0, 1.0]))
    >>> fewer.hop.tolist(), fewer.link.tolist(), links.tolist()
    ([0, 1, 2], [0, 0], [1])
    """
    links = np.arange(len(capacity))
    if np.any(paths.times != 1):
        return paths, links
    hop, link = paths.hop, paths.link
    while True:
        spare = _spare(hop, link, capacity[links])
        if not spare.any():
            return replace(paths, hop=hop, link=link, times=np.ones(len(link), np.int32)), links
        kept = ~spare[link]
        hop = np.concatenate([[0], np.cumsum(kept)])[hop]
        number = np.cumsum(~spare) - 1
        link = number[link[kept]].astype(np.int32)
        links = links[~spare]


def _spare(hop: Longs, link: Ints, capacity: Floats) -> Bools:
    """``bool[links]``: those without routes, and those whose routes all use one that is no faster."""
    many = len(capacity)
    uses = np.bincount(link, minlength=many)
    spare: Bools = uses == 0
    some = hop[1:] > hop[:-1]
    for step, end in ((1, hop[1:][some] - 1), (-1, hop[:-1][some])):
        beside = np.roll(link, -step).astype(np.int64)
        beside[end] = many
        low, high = np.full(many, many), np.full(many, -1)
        np.minimum.at(low, link, beside)
        np.maximum.at(high, link, beside)
        a = np.flatnonzero((low == high) & (low < many))
        b = low[a]
        # Of links with the same routes and speed the first remains.
        more = (uses[b] > uses[a]) | (capacity[b] < capacity[a]) | (b < a)
        spare[a[more & (capacity[b] <= capacity[a])]] = True
    return spare
