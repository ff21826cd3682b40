"""all_to_all hop by hop in as many rounds as the farthest ranks are apart, all links equally busy in each.

Every message is split evenly over the shortest hop vectors of its displacement. The hops of a vector, axis
by axis, are filled up with idle rounds to R, the diameter, and this word is rotated: of R equal parts of the
message part k begins at its k-th letter and ends at the one before. In each round every generator (a link up
or down an axis) then carries 1 / R of what it carries in all, and as every rank does alike, all links of an
axis are alike. So latency is the least there is, and bandwidth the best that shortest routes can have: both
bounds are met at once. On one ring parts are not needed: in each round all moves that has still to go.

Cost: T = R alpha + D / N^2 / W x the hops of all displacements over the busiest generator, ties counted in
parts; on a ring of n that is n^2 / 8 (even) or (n^2 - 1) / 8 (odd).
"""

import functools
from dataclasses import dataclass

import numpy as np

from hopcast.ir.collective import Collective
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Orbit, Schedule, Sends, one_group, sends
from hopcast.ir.topology import Floats

from . import _cayley
from ._cayley import Longs, Torus

SOURCE = (
    "hopcast 2026 (rotated hop words); the load it meets: Camara et al. 2010, Twisted torus topologies, IEEE "
    "TPDS 21(12), 1765; Dally and Towles 2004, section 3.3 (channel load)"
)
MOST_RANKS = 1_024
_MOST_ROWS = 250_000  # sends of one rank
_MOST_LISTED = 4_000_000  # sends of all, where not all ranks are known to do alike


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Every rank's messages on their ways, which are the same for all ranks."""
    torus = _torus(group)
    ring = len(torus.shape) == 1 and torus.ranks > 2
    plan = _ring(torus.ranks) if ring else _rotated(torus)
    n, each = torus.ranks, len(plan.to)
    rank = np.arange(n)
    ends = np.searchsorted(plan.round, np.arange(plan.rounds + 1))

    def make(i: int) -> Sends:
        rows = slice(ends[i], ends[i + 1])
        way = plan.way[rows, None]
        source = torus.add(plan.source[rows, None], rank)
        columns = (rank, torus.to[way, rank], source * each + plan.chunk[rows, None], plan.count[rows, None])
        flat = np.broadcast_arrays(*columns, 0, way)
        return sends(*(c.ravel() for c in flat))

    def orbit() -> Orbit:
        here = torus.to[:, 0][plan.way]
        out = sends(0, here, plan.source * each + plan.chunk, plan.count, lane=plan.way)
        opposite = torus.minus(here)
        source = torus.add(plan.source, opposite)
        into = sends(opposite, 0, source * each + plan.chunk, plan.count, lane=plan.way)
        return Orbit(plan.round, out, into, torus.moves)

    origin = np.repeat(rank, each).astype(np.int32)
    goal = torus.add(rank[:, None], rank).astype(np.int32)[:, plan.to].ravel()
    share = None if np.all(plan.part == plan.part[0]) else np.tile(plan.part / n, n)
    return Schedule(
        Collective("all_to_all", n, origin, goal), "rotation", one_group(n), n, plan.rounds, make, share,
        len(torus.to), None, functools.cache(orbit),
    )  # fmt: skip


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a torus whose links are alike and all there, and cuts messages into many parts."""
    torus = _cayley.of(group)
    if isinstance(torus, str):
        return torus.replace("synthesized or multi_axis", "dimension_ordered")
    if torus.ranks > MOST_RANKS:
        return f"it passes on {torus.ranks:,}^2 messages and stops at {MOST_RANKS:,} ranks; use direct"
    if len(torus.shape) == 1:
        return None
    # A message crosses about half of the diameter.
    rows = torus.ranks * torus.diameter**2 // 2
    if rows > _MOST_ROWS:
        return f"each rank would make about {rows:,} sends, and it stops at {_MOST_ROWS:,}; use direct"
    whole = (group.apart or torus.twisted) and group.duplex and len(group.all_groups) == 1
    if not whole and rows * group.all_groups.size > _MOST_LISTED:
        return f"about {rows * group.all_groups.size:,} sends on links that others use too; use direct"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On links that serve one group: the busiest generator's lane is never idle and never late."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """Diameter-many rounds, and the load of the busiest generator."""
    torus = _torus(group)
    load = float(_load(torus).max()) / torus.ranks**2
    return Cost(torus.diameter * max(group.latency), load * hint.size / max(group.bandwidth))


def _torus(group: Group) -> Torus:
    torus = _cayley.of(group)
    assert isinstance(torus, Torus)
    return torus


@dataclass(frozen=True, eq=False)
class _Plan:
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


@functools.lru_cache(maxsize=16)
def _ring(n: int) -> _Plan:
    """In round h the messages of the ranks h behind and h ahead go on, all that have farther to go.

    Chunks of a source are ordered by displacement, that half way round standing twice, for either way.
    """
    h = np.arange(n // 2)
    last = n - h - n % 2
    source = np.stack([-h % n, h], 1).ravel()
    chunk = np.stack([h + 1, np.full_like(h, n // 2 + 1)], 1).ravel()
    count = np.stack([n // 2 - h, last - n // 2], 1).ravel()
    twice = np.ones(n, np.int64)
    twice[n // 2] += n % 2 == 0
    to, part = np.repeat(np.arange(n), twice), np.repeat(1 / (n * twice), twice)
    keep = count > 0
    when, way = np.repeat(h, 2), np.tile([0, 1], n // 2)
    return _Plan(n // 2, when[keep], source[keep], chunk[keep], count[keep], way[keep], to, part)


@functools.lru_cache(maxsize=4)
def _rotated(torus: Torus) -> _Plan:
    """The parts of all messages, each with its own rotation of its word.

    Cost: O(vectors x diameter^2) array steps.
    """
    made, vector = torus.vectors
    rounds, n = torus.diameter, torus.ranks
    crossed = _crossings(torus, vector)
    until = np.cumsum(crossed, axis=1)
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
        source = torus.number(-gone)
        columns.append([np.full(len(v), t), source, 1 + v * rounds + k, word[v, at[k]]])
    when, source, chunk, way = (np.concatenate(c) for c in zip(*columns, strict=True))
    to = np.concatenate([[0], np.repeat(made, rounds)])  # chunk 0 stays where it is
    ties = np.bincount(made, minlength=n)[made]
    part = np.concatenate([[1.0], np.repeat(1 / (ties * rounds), rounds)]) / n
    return _Plan(rounds, when, source, chunk, np.ones_like(chunk), way, to, part)


def _crossings(torus: Torus, vector: Longs) -> Longs:
    """``int64[v, generators]``: links of each generator that a hop vector crosses."""
    return np.asarray(np.maximum(vector @ torus.ways.T, 0), np.int64)


@functools.lru_cache(maxsize=64)
def _load(torus: Torus) -> Floats:
    """``float64[generators]``: messages over a link of each, in all."""
    made, vector = torus.vectors
    ties = np.bincount(made, minlength=torus.ranks)[made]
    return np.asarray((_crossings(torus, vector) / ties[:, None]).sum(0), np.float64)
