"""What was spread round by round, again as late as it may be: so its mirror image begins as soon as it can.

Pieces are spread as soon as they can be. In the mirror image sums would go as late as they may, with no time
to spare; and where no barrier keeps ranks in step, whoever falls behind keeps all others waiting. So each
send is moved to the latest round in which its links have time for it, before what it brings is sent on.
Rounds last no longer than they did. (2026-11: in flows sums of 1 GiB take 1 to 19 % less on 2 to 8 nodes of
GPUs of which one has a dead or slow NIC.)

What an owner sends itself over slow ways stays. In the mirror image that is what comes last, so all have
their sums at about one time, and what begins then, the other half of an all_reduce, begins everywhere.

Source: hopcast 2026.
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hopcast.ir.topology import Bools, Floats

from . import dinic, kept
from .spreading import Longs, Spread, Ways

_SLOW = 0.4  # of the fastest way
_SAME = 1 + 1e-9


def late(ways: Ways, spread: Spread) -> Spread:
    """The same sends, each as late as it may be.

    Args:
        ways: Over which they go.
        spread: As soon as they can.

    Returns:
        No more rounds than there were, and together no longer.

    Cost: a look at each round in which a send might go, 2 ns when compiled.

    >>> from hopcast.graph.spreading import spread
    >>> src, dst = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> line = Ways(3, src, dst, np.arange(5), np.arange(4), np.array([1.0, 1.0, 0.5, 0.5]))
    >>> soon = spread(line, 2, (), 1.0)
    >>> soon.round.tolist(), late(line, soon).round.tolist()
    ([0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3], [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3])
    """
    rounds = len(spread.busy)
    src, dst = ways.src[spread.way], ways.dst[spread.way]
    stays = (src == spread.chunk // spread.pieces) & (ways.speed[spread.way] < _SLOW)
    due = np.full((ways.ranks, ways.ranks * spread.pieces), rounds)
    now = spread.round.copy()
    run = _kernel(dinic.worth_compiling(len(now) * rounds // 8))
    spent = np.zeros((rounds, len(ways.second)))
    run(
        src, dst, spread.chunk, spread.way, stays, ways.first, ways.link, ways.second,
        spread.busy * _SAME, due, now, spent,
    )  # fmt: skip
    order = np.argsort(now, kind="stable")
    used, now = np.unique(now[order], return_inverse=True)
    return replace(
        spread, round=now.ravel(), way=spread.way[order], chunk=spread.chunk[order], busy=spent[used].max(1)
    )


@functools.cache
def _kernel(compiled: bool) -> Callable[..., None]:
    """The loop, plain or compiled."""
    if not compiled:
        return _put_off
    import numba

    kept.ready()
    compile: Any = numba.njit(cache=True)
    made: Callable[..., None] = compile(_put_off)
    return made


def _put_off(
    src: Longs, dst: Longs, chunk: Longs, way: Longs, stays: Bools, first: Longs, link: Longs, second: Floats,
    room: Floats, due: Longs, now: Longs, spent: Floats,
) -> None:  # fmt: skip
    """The last ones first; ``now`` is their rounds, ``due`` when what a rank has is first sent on from it."""
    for i in range(len(now)):
        if stays[i]:
            for k in link[first[way[i]] : first[way[i] + 1]]:
                spent[now[i], k] += second[k]
    for i in range(len(now) - 1, -1, -1):
        at = now[i]
        if not stays[i]:
            links = link[first[way[i]] : first[way[i] + 1]]
            at = due[dst[i], chunk[i]] - 1
            while at > now[i]:
                fits = True
                for k in links:
                    fits &= spent[at, k] + second[k] <= room[at]
                if fits:
                    break
                at -= 1
            for k in links:
                spent[at, k] += second[k]
            now[i] = at
        due[src[i], chunk[i]] = min(due[src[i], chunk[i]], at)
