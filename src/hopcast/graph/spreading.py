"""Pieces that every rank of a network has are spread to all others, round by round.

A way leads from one rank to another over links of which each is busy for some time with a piece. In a round a
rank sends on what it had when the round began, over each way as many pieces as its links have time for. The
way whose busiest link has done least so far goes first, and for some time again if it went in the round
before: so what a rank gets from afar comes from one other, in the order of rounds, and without barriers
nobody who has less to do runs ahead and takes its links. Of the pieces that a way could bring it brings the
one that is hardest to get where it leads to: to which only slower ways lead from all ranks that have it, and
fewest ways from those that are next to it. So slow ways bring what no fast way will, and once.

Source: hopcast 2026; rarest first: Cohen 2003, Incentives build robustness in BitTorrent.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Floats

from . import dinic, kept

Longs = npt.NDArray[np.int64]
_ALL = 0.05  # what counts of all links of a way, beside the busiest: among equals, ranks that have done least
_AGAIN = 30.0  # short rounds that a way may be ahead of others if it had a piece in the round before
_SAME = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Ways:
    """Ways from rank to rank.

    Shapes: w ways, k links that they cross together, l links.

    Attributes:
        ranks: n.
        src, dst: ``int64[w]``.
        first: ``int64[w + 1]``: what way i crosses is ``link[first[i]:first[i + 1]]``.
        link: ``int64[k]``.
        second: ``float64[l]``, that a link is busy with a byte.
    """

    ranks: int
    src: Longs
    dst: Longs
    first: Longs
    link: Longs
    second: Floats

    @functools.cached_property
    def slowest(self) -> Floats:
        """``float64[w]``, seconds that the slowest link of each way is busy with a byte."""
        slowest: Floats = np.maximum.reduceat(self.second[self.link], self.first[:-1])
        return slowest

    @functools.cached_property
    def speed(self) -> Floats:
        """``float64[w]``, of each way, the fastest being 1."""
        speed: Floats = self.slowest.min() / self.slowest
        return speed

    @functools.cached_property
    def onward(self) -> tuple[Longs, Longs]:
        """``int64[n + 1]`` and ``int64[w]``: ways, by src, and where those of each rank begin."""
        order = np.argsort(self.src, kind="stable")
        return np.searchsorted(self.src[order], np.arange(self.ranks + 1)), order

    @functools.cached_property
    def near(self) -> Floats:
        """``float64[n, n]``: how fast ways from one rank to another are together, of the fastest way."""
        made = np.zeros((self.ranks, self.ranks))
        np.add.at(made, (self.src, self.dst), self.speed)
        return made

    @functools.cached_property
    def far(self) -> Longs:
        """``int64[n, n]``: how fast the slowest way of the best walk between two ranks is; 0: there is none.

        All speeds that there are have numbers from 1 on.

        >>> two = np.arange(2)
        >>> line = Ways(3, two, two + 1, np.arange(3), two, np.ones(2))
        >>> line.far.tolist()
        [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
        """
        speed = np.unique(self.speed.round(9), return_inverse=True)[1].ravel() + 1
        made = np.zeros((self.ranks, self.ranks), np.int64)
        np.maximum.at(made, (self.src, self.dst), speed)
        for middle in range(self.ranks):
            made = np.maximum(made, np.minimum(made[:, middle, None], made[middle]))
        np.fill_diagonal(made, 0)
        return made


@dataclass(frozen=True, eq=False)
class Spread:
    """Who sends what to whom when.

    Shapes: e sends, all ``int64[e]``; chunk c is of rank ``c // pieces``.

    Attributes:
        pieces: Of each rank.
        round: Ascending.
        way: Which.
        chunk: What.
        busy: ``float64[rounds]``, seconds of the busiest link of each round when a piece is one byte.
    """

    pieces: int
    round: Longs
    way: Longs
    chunk: Longs
    busy: Floats

    def time(self, latency: float, shard: float) -> float:
        """Seconds of all rounds, for so many bytes of each rank."""
        return len(self.busy) * latency + float(self.busy.sum()) * shard / self.pieces


def spread(ways: Ways, pieces: int, rounds: tuple[float, ...], unit: float, seed: int = 0) -> Spread:
    """Pieces of all ranks to all others.

    Args:
        ways: From every rank to every other, over others if need be.
        pieces: Of each rank.
        rounds: Seconds that the first rounds have when a piece is a byte.
        unit: Seconds of each later round. Any link may take one piece in any round, however long that takes.
        seed: Other choices among equals.

    Raises:
        ValueError: if some rank cannot be reached.

    Cost: a look at every chunk for each send, 1 ns when compiled: 0.1 s for 64 pieces of each of 32 ranks.

    >>> ends = np.array([0, 1])
    >>> cable = Ways(2, ends, ends[::-1], np.arange(3), ends, np.ones(2))
    >>> made = spread(cable, 3, (2.0,), 1.0)
    >>> made.round.tolist(), made.busy.tolist()
    ([0, 0, 0, 0, 1, 1], [2.0, 1.0])
    """
    growth = _Growth(ways, pieces, (*rounds, unit), seed)
    while growth.missing:
        growth.step()
    at, way, chunk = np.concatenate(growth.rows, 1)
    return Spread(pieces, at, way, chunk, np.array(growth.busy))


class _Growth:
    """What has come where.

    Shapes: n ranks, c chunks, w ways, l links.

    Attributes:
        have: ``bool[n, c]``, what ranks may send.
        far: ``int64[c, n]``, of the best way to a rank from those that have a chunk.
        ease: ``float64[n, c]``, how easily a rank gets a chunk; infinite: it has it.
        again: ``bool[w]``, whether a way had a piece in the round before.
        done: ``float64[l]``, seconds that each link has been busy.
    """

    def __init__(self, ways: Ways, pieces: int, lengths: tuple[float, ...], seed: int) -> None:
        n, chunks = ways.ranks, ways.ranks * pieces
        self.ways, self.lengths = ways, lengths
        owner = np.repeat(np.arange(n), pieces)
        self.have = owner == np.arange(n)[:, None]
        self.far = ways.far[owner]
        ties = np.random.default_rng(seed).random((n, chunks)) * ways.speed.min() / 2
        self.ease = self.far.T * (n + 1.0) + ways.near.T[:, owner] + ties
        self.ease[self.have] = np.inf
        self.again = np.zeros(len(ways.src), np.bool_)
        self.done = np.zeros(len(ways.second))
        self.missing = n * (chunks - pieces)
        self.rows: list[Longs] = []
        self.busy: list[float] = []
        self.run = _kernel(dinic.worth_compiling(self.missing * chunks // 8))

    def step(self) -> None:
        """One round."""
        ways, now = self.ways, len(self.busy)
        less = np.where(self.again, _AGAIN * self.lengths[-1], 0.0)
        done, spent = self.done[ways.link], np.zeros(len(ways.second))
        order = np.maximum.reduceat(done, ways.first[:-1]) + _ALL * np.add.reduceat(done, ways.first[:-1])
        order -= less
        heap = np.argsort(order, kind="stable")
        heap = heap[(~self.have).any(1)[ways.dst[heap]]]
        room = self.lengths[min(now, len(self.lengths) - 1)] * _SAME
        way, chunk = self.run(
            ways.src, ways.dst, ways.first, ways.link, ways.second, *ways.onward, ways.speed, ways.far,
            ways.far.max(1), room, order[heap], heap, self.have, less, self.far, self.ease, self.done, spent,
        )  # fmt: skip
        if not len(way):
            raise ValueError("not every rank can be reached from every other")
        self.have[ways.dst[way], chunk] = True
        self.again[:] = False
        self.again[way] = True
        self.rows.append(np.stack([np.full(len(way), now), way, chunk]))
        self.missing -= len(way)
        self.done += spent
        self.busy.append(float(spent.max()))


@functools.cache
def _kernel(compiled: bool) -> Callable[..., tuple[Longs, Longs]]:
    """The loop, plain or compiled."""
    if not compiled:
        return _round
    import numba
    from numba import extending

    kept.ready()
    extending.overload(_hardest, strict=False)(lambda have, ease: _hardest_looped)
    compile: Any = numba.njit(cache=True)
    made: Callable[..., tuple[Longs, Longs]] = compile(_round)
    return kept.unbroken(made)


def _hardest(have: Bools, ease: Floats) -> int:
    """The chunk of least ease among those that one rank has; any, if there is none."""
    return int(np.where(have, ease, np.inf).argmin())


def _hardest_looped(have: Bools, ease: Floats) -> int:
    """The same, as it is compiled soonest."""
    best, least = 0, np.inf
    for chunk in range(len(have)):
        if have[chunk] and ease[chunk] < least:
            best, least = chunk, ease[chunk]
    return best


def _round(
    src: Longs, dst: Longs, first: Longs, link: Longs, second: Floats, after: Longs, onward: Longs,
    speed: Floats, best: Longs, top: Longs, room: float, order: Floats, heap: Longs, have: Bools,
    less: Floats, far: Longs, ease: Floats, done: Floats, spent: Floats,
) -> tuple[Longs, Longs]:  # fmt: skip
    """Ways and chunks of one round; the way of least ``order`` is on top of ``heap``."""
    ranks, size = len(have), len(heap)
    ways, chunks = [0][:0], [0][:0]
    while size:
        way = heap[0]
        most = total = 0.0
        fits = True
        for i in link[first[way] : first[way + 1]]:
            busy = done[i] + spent[i]
            most, total = max(most, busy), total + busy
            fits &= spent[i] == 0.0 or spent[i] + second[i] <= room
        lasting = most + _ALL * total - less[way]
        u, v, drop = src[way], dst[way], not fits
        if fits and lasting > order[0]:
            order[0] = lasting
        elif fits:
            chunk = _hardest(have[u], ease[v])
            drop = not have[u, chunk] or ease[v, chunk] == np.inf
            if not drop:
                ways.append(int(way))
                chunks.append(chunk)
                for i in link[first[way] : first[way + 1]]:
                    spent[i] += second[i]
                ease[v, chunk] = np.inf
                if top[v] > far[chunk, v]:
                    for i in range(ranks):
                        more = max(best[v, i] - far[chunk, i], 0)
                        far[chunk, i] += more
                        ease[i, chunk] += more * (ranks + 1.0)
                for i in onward[after[v] : after[v + 1]]:
                    ease[dst[i], chunk] += speed[i]
        if drop:
            size -= 1
            order[0], heap[0] = order[size], heap[size]
        at = 0
        while 2 * at + 1 < size:  # down to where it belongs
            low = 2 * at + 1
            if low + 1 < size and order[low + 1] < order[low]:
                low += 1
            if order[low] >= order[at]:
                break
            order[at], order[low] = order[low], order[at]
            heap[at], heap[low] = heap[low], heap[at]
            at = low
    return np.array(ways, np.int64), np.array(chunks, np.int64)
