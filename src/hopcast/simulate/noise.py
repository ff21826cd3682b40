"""What makes sends take other times than rated: jitter, ranks that start late, ranks that are slow.

Jitter of J makes the bytes of a send take (1 + J |z|) times as long, where z has mean 0 and variance 1: close
to a normal number, and never above 3.47. A link is never faster than rated, so no time falls below a bound.
A slow rank's sends take its factor times as long. In both cases a send behaves as if it had that much more
bytes, and waits its latency as ever. A late rank sends nothing before its time; it receives.

z is no stored random number but a function of (seed, sample, step, src, dst, lane), so every engine draws the
same one, whatever the order in which it looks at sends. Sends that agree in all of these are one message in
several parts and share their z. It is the sum of the four 16-bit quarters of a hash.

Source: Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195 (SplitMix, the hash).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.hashes import GOLDEN, Words, mixed
from hopcast.ir.schedule import Sends
from hopcast.ir.topology import AnyInts, Floats

from .arcs import Arcs
from .network import Longs, Paths, Problem
from .ran import Ran

MIDDLE = 2 * 65535.0  # mean of the sum of four numbers 0 .. 65535
SPREAD = float(np.sqrt((65536.0**2 - 1) / 3))  # and its standard deviation


@dataclass(frozen=True)
class Noise:
    """What differs from rated.

    Attributes:
        jitter: J, part of the time.
        seed: Of the random numbers.
        sample: Which of many draws with that seed.
        late: Vertex to seconds: it sends nothing before.
        slow: Vertex to a factor: the bytes of its sends take so many times as long.
    """

    jitter: float = 0.0
    seed: int = 0
    sample: int = 0
    late: Mapping[int, float] = field(default_factory=dict)
    slow: Mapping[int, float] = field(default_factory=dict)

    def factors(self, step: Longs, rows: Sends) -> Floats:
        """``float64[sends]``: how many times as long the bytes of each send take.

        >>> from hopcast.ir.schedule import sends
        >>> Noise(0.01, slow={1: 2.0}).factors(np.array([0, 0]), sends([0, 1], [1, 2], 0)).round(4).tolist()
        [1.0004, 2.0239]
        """
        found = np.ones(len(rows))
        if self.jitter > 0:
            key = turn_keys(self.seed, self.sample, step, rows.lane)
            found += self.jitter * deviations(key + pair_keys(rows.src, rows.dst))
        for vertex, factor in self.slow.items():
            found[rows.src == vertex] *= factor
        return found

    def starts(self, vertices: int) -> Floats:
        """``float64[vertices or more]``: seconds before which each sends nothing."""
        found = np.zeros(max([vertices, *(v + 1 for v in self.late)]))
        for vertex, seconds in self.late.items():
            found[vertex] = seconds
        return found


def turn_keys(seed: int, sample: int, step: Longs, lane: AnyInts) -> Words:
    """``uint64[...]``: what a step of a lane adds to the hash."""
    start = mixed(np.array([seed % 2**64, (sample + 1) * GOLDEN % 2**64], np.uint64))
    turn = (np.asarray(step).astype(np.uint64) << np.uint64(16)) | np.asarray(lane).astype(np.uint64)
    return mixed(mixed(start[:1] + start[1:]) + turn * np.uint64(GOLDEN))


def pair_keys(src: npt.ArrayLike, dst: npt.ArrayLike) -> Words:
    """``uint64[...]``: what a pair of vertices adds to the hash."""
    ends = (np.asarray(src).astype(np.uint64) << np.uint64(32)) | np.asarray(dst).astype(np.uint64)
    return mixed(ends)


def deviations(keys: Words) -> Floats:
    """``float64[...]``: |z| of each sum of a turn's and a pair's key."""
    bits = mixed(keys)
    quarters = [(bits >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    total = quarters[0] + quarters[1] + quarters[2] + quarters[3]
    return np.asarray(np.abs(total.astype(np.float64) - MIDDLE) / SPREAD, np.float64)


def applied(problem: Problem, noise: Noise, step: Longs, rows: Sends) -> Problem:
    """The problem with noise; behind its sends stands one more for each late rank, see `_held`."""
    problem = replace(problem, volume=problem.volume * noise.factors(step, rows))
    for vertex, seconds in noise.late.items():
        mine = np.flatnonzero(rows.src == vertex)
        if len(mine) and seconds > 0:
            lane = rows.lane[mine]
            _, of = np.unique(lane, return_inverse=True)
            start = np.full(int(of.max()) + 1, np.iinfo(np.int64).max)
            np.minimum.at(start, of, step[mine])
            problem = _held(problem, mine[step[mine] == start[of]], seconds)
    return problem


def without(ran: Ran, sends: int) -> Ran:
    """What came of the first sends, if nothing blames those behind them."""
    blame = np.where(ran.blame[:sends] < sends, ran.blame[:sends], -1)
    ready, start, end = (c[:sends] for c in (ran.ready, ran.start, ran.end))
    return replace(ran, ready=ready, start=start, end=end, left=ran.left[:sends], blame=blame)


def _held(problem: Problem, first: Longs, seconds: float) -> Problem:
    """One more send, of no bytes and over no link, that takes so long and for which the given sends wait.

    These are the first of each lane of a rank; the rank's later sends wait for them.
    """
    sends, paths, arcs = len(problem.volume), problem.paths, problem.arcs
    more = Paths(
        np.append(paths.first, paths.first[-1] + 1),
        np.append(paths.weight, 1.0),
        np.append(paths.lag, seconds),
        np.append(paths.hop, paths.hop[-1]),
        paths.link,
        paths.times,
    )
    target = arcs.target + (arcs.target >= sends)  # gates are numbered behind the sends
    at, low = sends + 1, int(arcs.start[sends])
    start = np.insert(arcs.start, at, low + len(first))
    start[at + 1 :] += len(first)
    pending = np.insert(arcs.pending, sends, 0)
    pending[first] += 1
    wait = Arcs(
        start.astype(np.int64),
        np.insert(target, low, first).astype(np.int32),
        pending.astype(np.int32),
    )
    return Problem(
        problem.capacity,
        more,
        np.append(problem.pair, len(paths.first) - 1),
        np.append(problem.volume, 0.0),
        np.append(problem.after, 0.0),
        wait,
    )
