"""In which order messages of all_to_all cross the links of their shortest ways, so that no round is uneven.

A message goes from its source by a hop vector: so many links up or down each axis. The rounds are as many as
the longest vector has links. What has to be found are orders of the links, over which the message is spread,
such that in every round the links of that axis are busiest which are busiest in all: then the rounds take
together what these links take to carry all that they ever have to.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from hopcast.ir.topology import Floats

from ._cayley import Longs, Torus

Order = tuple[int, ...]
_MOST_AXES = 4  # axes of which all orders are tried; of more the rotated ones


@dataclass(frozen=True, eq=False)
class Plan:
    """What rank 0 does, and with it every rank.

    Shapes: k sends in order of rounds, all ``int64[k]``; c chunks of each source.

    Attributes:
        rounds: Their number.
        round: When.
        source: The rank whose message it is.
        chunk: First, of this source's chunks.
        count: How many.
        way: Generator along which they go.
        to: ``int64[c]``: displacement of each chunk's goal.
        part: ``float64[c]``: part of what a rank has in all.
    """

    rounds: int
    round: Longs
    source: Longs
    chunk: Longs
    count: Longs
    way: Longs
    to: Longs
    part: Floats


@functools.lru_cache(maxsize=64)
def load(torus: Torus) -> Floats:
    """``float64[generators]``: messages over a link of each, in all."""
    _, vector = torus.vectors
    return np.asarray((_crossings(torus, vector) / ties(torus)[:, None]).sum(0), np.float64)


def ties(torus: Torus) -> Longs:
    """``int64[v]``: of each hop vector how many make its displacement, itself among them."""
    made, _ = torus.vectors
    return np.asarray(np.bincount(made, minlength=torus.ranks)[made], np.int64)


@functools.lru_cache(maxsize=64)
def orders(torus: Torus) -> tuple[Order, ...]:
    """Orders of axes of which each message takes equal parts; none where rounds would be uneven with them.

    One axis after another, messages cross all their links of it. All orders together do wherever every axis
    has links both ways: what an axis carries in a round is its Shapley value, that is how much more often,
    on average over the orders, the hops of the axes before it and its own are more than the rounds so far
    than those before it alone; and the longest axis adds the most, whatever axes are before it. Mostly the
    orders that turn one of them round do. The cable of an axis of two ranks carries what two links of a
    longer axis share, so beside long axes that axis is neither first nor last: there many messages meet.
    Which orders do is counted, not taken for granted; twisted tori have turned out to be even.

    Source: Shapley 1953, A value for n-person games (Contributions to the Theory of Games 2, 307).

    >>> orders(Torus((4, 4), False)), len(orders(Torus((4, 8, 8), False))), orders(Torus((2, 4), False))
    (((0, 1), (1, 0)), 6, ())
    """
    d, shape = len(torus.shape), torus.shape
    turned = [tuple((i + k) % d for i in range(d)) for k in range(d)]
    families = [turned, [o[::-1] for o in turned]]
    if d <= _MOST_AXES:
        every = list(itertools.permutations(range(d)))
        families += [every, [o for o in every if 2 not in (shape[o[0]], shape[o[-1]])]]
    return next((tuple(f) for f in families if f and _is_even(torus, f)), ())


def _is_even(torus: Torus, family: list[Order]) -> bool:
    """Whether one axis is the busiest in every round, counted in whole parts of a message."""
    _, vector = torus.vectors
    many = ties(torus)
    part = math.lcm(*np.unique(many).tolist()) // many
    busy = np.zeros((len(torus.shape), torus.diameter + 1), np.int64)
    for order in family:
        until = np.cumsum(abs(vector[:, order]), axis=1)
        for i, a in enumerate(order):
            np.add.at(busy[a], until[:, i - 1] if i else 0 * part, part)
            np.subtract.at(busy[a], until[:, i], part)
    busy = np.cumsum(busy, axis=1) * np.where(np.array(torus.shape) == 2, 2, 1)[:, None]  # one cable for both
    return bool(busy.max(0).sum() == busy.sum(1).max())


@functools.lru_cache(maxsize=8)
def by_axes(torus: Torus) -> Plan:
    """Every message in equal parts for each of the `orders`.

    Chunks of an order are sorted by their hop vectors, the axis that is crossed first counting most, and of
    an axis first what goes up it, from near to far, then what goes down, from far to near, as displacements
    are numbered. So all that goes on along an axis, from one source, is a run of chunks.

    Cost: O(orders x vectors) array steps, and as many sends.
    """
    made, vector = torus.vectors
    family = orders(torus)
    to, part = [np.zeros(1, np.int64)], [np.ones(1)]  # chunk 0 stays where it is
    legs = []
    for k, order in enumerate(family):
        by = np.lexsort(vector[:, order[::-1]].T % (2 * torus.diameter + 1))
        legs += [_leg(torus, vector[by], order, i, 1 + k * len(by)) for i in range(len(order))]
        to.append(made[by])
        part.append(1 / (ties(torus)[by] * len(family)))
    rows = np.concatenate(legs, 1)
    when, source, chunk, count, way = rows[:, np.argsort(rows[0], kind="stable")]
    ends, parts = np.concatenate(to), np.concatenate(part) / torus.ranks
    return Plan(torus.diameter, when, source, chunk, count, way, ends, parts)


def _leg(torus: Torus, vector: Longs, order: Order, i: int, at: int) -> Longs:
    """What rank 0 sends along the axis that comes i-th in an order.

    A send is of all messages with equal hops along the axes before, and at least so many along this one. As
    part of a shortest way is one, there are messages with just as many, and with each there begins a send.

    Shapes: ``int64[5, sends]``: round, source, chunk, count and way.

    Args:
        torus: Of all.
        vector: ``int64[v, axes]``, sorted by the order.
        order: Of axes.
        i: Place in it.
        at: The chunk of the first vector.
    """
    axis, alike, outer = order[i], _starts(vector[:, order[: i + 1]]), _starts(vector[:, order[:i]])
    block = np.searchsorted(outer, alike, "right") - 1
    turn = (outer + np.add.reduceat(vector[:, axis] >= 0, outer, dtype=np.int64))[block]  # where down begins
    hops = vector[alike, axis]
    first, last = np.where(hops > 0, alike, turn), np.where(hops > 0, turn, np.append(alike[1:], len(vector)))
    passed = np.zeros_like(vector[alike])
    passed[:, order[:i]] = vector[alike][:, order[:i]]
    passed[:, axis] = hops - np.sign(hops)
    up, down = (int(np.argmax(torus.ways[:, axis] == sign)) for sign in (1, -1))
    way = np.where(hops > 0, up, down)
    rows = np.stack([abs(passed).sum(1), torus.number(-passed), at + first, last - first, way])
    return np.asarray(rows[:, hops != 0], np.int64)


def _starts(sorted_rows: Longs) -> Longs:
    """Where rows differ from the one before; the first does."""
    return np.flatnonzero(np.append(True, (sorted_rows[1:] != sorted_rows[:-1]).any(1)))


@functools.lru_cache(maxsize=4)
def by_links(torus: Torus) -> Plan:
    """The links of a vector, axis by axis, filled up with idle rounds, and this word turned round.

    Of as many parts as there are rounds part k begins with the k-th letter and ends with the one before, so
    in each round every generator carries the same part of all that it carries.

    Cost: O(vectors x diameter^2) array steps, and as many sends.
    """
    made, vector = torus.vectors
    rounds = torus.diameter
    until = np.cumsum(_crossings(torus, vector), axis=1)
    letter = np.arange(rounds)
    word = (letter >= until[:, :, None]).sum(1)  # generator of each letter; their number where idle
    steps = np.concatenate([torus.ways, np.zeros((1, len(torus.shape)), np.int64)])[word]
    done = np.concatenate([np.zeros_like(steps[:, :1]), np.cumsum(steps, axis=1)], 1)
    columns = []
    for t in range(rounds):
        at = (letter + t) % rounds  # the letter at which part k = letter is
        v, k = np.nonzero(word[:, at] < len(torus.ways))
        gone = done[v, at[k]] - done[v, k]
        gone += np.where((k + t >= rounds)[:, None], done[v, rounds], 0)
        columns.append([np.full(len(v), t), torus.number(-gone), 1 + v * rounds + k, word[v, at[k]]])
    when, source, chunk, way = (np.concatenate(c) for c in zip(*columns, strict=True))
    to = np.concatenate([[0], np.repeat(made, rounds)])  # chunk 0 stays where it is
    part = np.concatenate([[1.0], np.repeat(1 / (ties(torus) * rounds), rounds)]) / torus.ranks
    return Plan(rounds, when, source, chunk, np.ones_like(chunk), way, to, part)


def _crossings(torus: Torus, vector: Longs) -> Longs:
    """``int64[v, generators]``: links of each generator that a hop vector crosses."""
    return np.asarray(np.maximum(vector @ torus.ways.T, 0), np.int64)
