"""Flows that wait for nothing, on links of which nothing is known to be alike: which of them are alike.

Flows and links get colours: a flow that of its bytes and its start, a link that of its bandwidth. Then in
turns a link's colour is refined by the colours of the flows over it, and a flow's by those of its links,
until no more colours come of it. Flows of one colour then have the same rate at all times: in progressive
filling the share of links of one colour is the same at every level, so they fill together and fix flows of
the same colours. So one flow and one link of each colour are simulated.

Source: Cardon and Crochemore 1982, doi:10.1016/0304-3975(82)90016-0 (partition refinement).
"""

import itertools
from dataclasses import dataclass

import numpy as np

from hopcast.ir.distinct import distinct
from hopcast.ir.hashes import Words, mixed
from hopcast.ir.topology import AnyInts, Floats, Ints

from .arcs import Arcs
from .network import Longs, Paths, Problem
from .ran import Ran

FEWEST = 64  # flows of which it is worth while to look for equal ones
_BLOCK = 1_000_000  # crossings that are looked at together, to save memory
_LEAST = 2  # flows that a colour stands for, on average; with fewer it would save nothing


@dataclass(frozen=True, eq=False)
class Quotient:
    """One flow for each colour.

    Shapes: f flows of the whole problem, m links.

    Attributes:
        problem: Its sends are the colours of flows, its links those of links.
        flow: ``int64[f]``: the colour of each flow.
        links: Colours of links that are used.
    """

    problem: Problem
    flow: Longs
    links: int


def quotient(problem: Problem) -> Quotient | None:
    """One flow for each colour; None where sends wait for each other or few flows are alike.

    Cost: two or three rounds over all crossings of flows and links.
    """
    paths = problem.paths
    _, send, piece = problem.spread()
    if len(send) < FEWEST or len(problem.arcs.target) or np.any(np.diff(paths.hop) == 0):
        return None
    flat = _Incidence(problem, send, piece)
    kind = np.stack([flat.volume, paths.lag[piece]])
    flow = _named(mixed(mixed(kind[0].view(np.uint64)) + kind[1].view(np.uint64)))
    link = _named(mixed(problem.capacity.view(np.uint64)))
    count = 0
    while True:
        colours, count_of_links = int(flow.max()) + 1, int(link.max()) + 1
        if colours * _LEAST > len(flow):
            return None
        if colours + count_of_links == count:
            return _one_of_each(problem, flat, flow, link)
        count = colours + count_of_links
        link = _named(mixed(flat.by_flows(_word(flow))) + _word(link))
        flow = _named(mixed(flat.by_links(_word(link))) + _word(flow))


def expanded(found: Quotient, ran: Ran, problem: Problem) -> Ran:
    """What comes of all sends when that is what came of one flow of each colour."""
    first, _, piece = problem.spread()
    ends = np.maximum.reduceat(ran.end[found.flow], first[:-1])
    start = np.maximum.reduceat(problem.paths.lag[piece], first[:-1])
    left = np.logical_or.reduceat(ran.left[found.flow], first[:-1])
    zero, none = np.zeros(len(ends)), np.full(len(ends), -1, np.int64)
    return Ran(zero, start, ends + problem.after, none, left, ran.events, ran.window)


class _Incidence:
    """Which flows cross which links: crossing by crossing, those of one flow after those of another."""

    def __init__(self, problem: Problem, send: Longs, piece: Longs) -> None:
        paths = problem.paths
        self.many = np.diff(paths.hop)[piece].astype(np.int32)
        self.first = np.concatenate([[0], np.cumsum(self.many)]).astype(np.int64)
        self.link, self.times = paths.link, paths.times
        if not np.array_equal(piece, np.arange(len(paths.weight))):
            at = np.arange(int(self.first[-1]))
            at += np.repeat(paths.hop[piece] - self.first[:-1], self.many)
            self.link, self.times = paths.link[at], paths.times[at]
        self._once = bool(np.all(self.times == 1))
        self.volume: Floats = problem.volume[send] * paths.weight[piece]
        self.links = len(problem.capacity)
        cuts = np.searchsorted(self.first, np.arange(0, int(self.first[-1]), _BLOCK))
        self._cuts = distinct(np.append(cuts, len(self.many))).tolist()

    def by_flows(self, flow: Words) -> Words:
        """Of each link the sum over the flows that cross it."""
        found = np.zeros(self.links, np.uint64)
        for a, b in itertools.pairwise(self._cuts):
            some = slice(self.first[a], self.first[b])
            words = np.repeat(flow[a:b], self.many[a:b])
            np.add.at(found, self.link[some], self._often(words, some))
        return found

    def by_links(self, link: Words) -> Words:
        """Of each flow the sum over its links."""
        found = np.zeros(len(self.many), np.uint64)
        for a, b in itertools.pairwise(self._cuts):
            some = slice(self.first[a], self.first[b])
            words = self._often(link[self.link[some]], some)
            found[a:b] = np.add.reduceat(words, self.first[a:b] - self.first[a])
        return found

    def _often(self, words: Words, some: slice) -> Words:
        """The words of some crossings, each as often as a link is crossed there."""
        return words if self._once else words * self.times[some].astype(np.uint64)


def _word(colour: Longs) -> Words:
    """A hash of each colour, so that sums are told apart (but for one chance in 2^64 for each two)."""
    return mixed(colour.astype(np.uint64) + np.uint64(1))


def _named(words: Words) -> Longs:
    """Colours 0, 1, ... of equal words."""
    return np.unique(words, return_inverse=True)[1].astype(np.int64).ravel()


def _counted(code: AnyInts, times: Ints) -> tuple[AnyInts, Longs]:
    """The distinct numbers, ascending, and how often each is there: ``code[i]`` is so ``times[i]`` times.

    >>> [c.tolist() for c in _counted(np.array([7, 3, 7]), np.array([1, 2, 3]))]
    [[3, 7], [2, 4]]
    """
    if np.all(times == times[:1]):  # numbers alone are sorted much faster than with what belongs to them
        ordered = np.sort(code)
        weight = None
    else:
        order = np.argsort(code, kind="stable")
        ordered, weight = code[order], times[order].astype(np.int64)
    first = np.flatnonzero(np.append(len(code) > 0, ordered[1:] != ordered[:-1]))
    if weight is None:
        return ordered[first], np.diff(first, append=len(code)) * int(times[0] if len(times) else 1)
    return ordered[first], np.add.reduceat(weight, first)


def _one_of_each(problem: Problem, flat: _Incidence, flow: Longs, link: Longs) -> Quotient:
    """A link of a colour is crossed by as many flows of a colour as any other link of that colour."""
    used = np.flatnonzero(np.bincount(flat.link, minlength=flat.links))
    _, cell = np.unique(link[used], return_inverse=True)
    of = np.full(flat.links, -1, np.int64)
    of[used] = cell.ravel()
    links = int(of.max()) + 1
    colours, member = np.unique(flow, return_index=True)
    size, crowd = np.bincount(flow), np.bincount(of[used], minlength=links)
    many = flat.first[member + 1] - flat.first[member]
    nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    at = np.repeat(flat.first[member], many) + nth
    kind = np.int32 if len(colours) * links < 2**31 else np.int64  # half the memory is half the time
    code = np.repeat((colours * links).astype(kind), many) + of.astype(kind)[flat.link[at]]
    pair, crossings = _counted(code, flat.times[at])
    mine, theirs = np.divmod(pair.astype(np.int64), links)
    times, odd = np.divmod(crossings * size[mine], crowd[theirs])
    assert not odd.any(), "links of one colour are not crossed alike"
    capacity = np.zeros(links)
    capacity[of[used]] = problem.capacity[used]
    count = len(colours)
    _, _, piece = problem.spread()
    paths = Paths(
        np.arange(count + 1), np.ones(count), problem.paths.lag[piece[member]],
        np.searchsorted(mine, np.arange(count + 1)).astype(np.int64),
        theirs.astype(np.int32), times.astype(np.int32),
    )  # fmt: skip
    wait = Arcs(np.zeros(count + 1, np.int64), np.zeros(0, np.int32), np.zeros(count, np.int32))
    one = Problem(capacity, paths, np.arange(count), flat.volume[member], np.zeros(count), wait)
    return Quotient(one, flow, links)
