"""all_gather on a torus by one tree of displacements, which every rank makes its own.

On a torus, straight or twisted, all ranks see the same network, so one broadcast tree over the displacements
from a root serves all roots at once: a row (round, p, generator g) says that every rank x sends to its
neighbour along g the chunk of the rank from which p leads to x. In a round a generator brings at most
``batch`` displacements into the tree. By translation all links of a generator then carry exactly as many
chunks, and a shard cut into as many pieces as divide the work evenly makes all generators alike.

The tree is grown greedily: the generator least used takes the displacement that fewest others could bring.
Few rounds of large batches cost less latency, many of small ones keep all links busy to the end; of powers of
two the batch is taken that is fastest for the size asked.

Cost: T = rounds alpha + sum over rounds of the busiest generator's chunks x D / (N pieces W); the port bound
is (N - 1) / (N generators) D / W.
"""

import functools
from dataclasses import dataclass

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Orbit, Schedule, Sends, one_group, sends

from . import _cayley, option
from ._cayley import Longs, Torus

SOURCE = (
    "hopcast 2026 (greedy tree on displacements, translated); the port bound it approaches: "
    "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521; "
    "Cayley graphs of networks: Akers and Krishnamurthy 1989, doi:10.1109/12.21148"
)
OPTIONS: dict[str, tuple[str, ...]] = {"batch": ()}  # none given: the fastest power of two
MOST_RANKS = 65_536
_MOST_ROUNDS = 256  # more are not tried where fewer will do
_MOST_ROWS = 8_192  # of a tree of several pieces: beyond it whole shards come within 1 % of the bound
_MOST_HOPS = 1_024


def all_gather(group: Group, hint: Hint) -> Schedule:
    """The tree, from all ranks at once."""
    torus, tree = _torus(group), _chosen(group, hint)
    n, pieces = torus.ranks, tree.pieces
    ends = np.searchsorted(tree.round, np.arange(tree.rounds + 1))
    rank, to = np.arange(n, dtype=np.int32), torus.to.astype(np.int32)

    def make(i: int) -> Sends:
        rows = slice(ends[i], ends[i + 1])
        way, piece = tree.way[rows], tree.piece[rows].astype(np.int32)
        chunk = torus.around(torus.minus(tree.at[rows]))
        chunk *= pieces
        chunk += piece[:, None]
        all_rows = (len(way), n)
        return Sends(
            np.broadcast_to(rank, all_rows).ravel(),
            to[way].ravel(),
            chunk.ravel(),
            np.ones(chunk.size, np.int32),
            np.zeros(chunk.size, np.uint8),
            np.repeat(way.astype(np.uint16), n),
        )

    def pattern(i: int) -> tuple[int, ...]:
        return tuple(np.bincount(tree.way[ends[i] : ends[i + 1]], minlength=len(torus.to)).tolist())

    def orbit() -> Orbit:
        here = torus.to[:, 0][tree.way]  # where one link along each row's generator leads
        out = sends(0, here, torus.minus(tree.at) * pieces + tree.piece, lane=tree.way)
        opposite = torus.minus(here)
        held = torus.add(torus.minus(tree.at), opposite)
        into = sends(opposite, 0, held * pieces + tree.piece, lane=tree.way)
        return Orbit(tree.round, out, into, torus.moves)

    task = of("all_gather", n, parts=pieces)
    return Schedule(
        task, "translated_tree", one_group(n), n, tree.rounds, make, None, len(torus.to), pattern,
        functools.cache(orbit),
    )  # fmt: skip


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a torus whose links are alike and all there."""
    torus = _cayley.of(group)
    if isinstance(torus, str):
        return torus
    if torus.ranks > MOST_RANKS:
        return f"its tree would have {torus.ranks:,} displacements; it stops at {MOST_RANKS:,}"
    if torus.diameter > _MOST_HOPS:
        return f"ranks are up to {torus.diameter} links apart; use bidirectional_ring or multi_axis"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """Where one generator is the busiest in every round: its lane is then never idle and never late."""
    if not group.uniform:
        return False
    busy = _chosen(group, hint).busy
    return bool((busy == busy.max(0)).all(1).any())


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """Rounds, and the busiest generator of each."""
    tree = _chosen(group, hint)
    return _time(tree, hint, max(group.latency), _rate(group))


@dataclass(frozen=True, eq=False)
class Tree:
    """A broadcast tree of every piece of the root's shard, over displacements.

    Shapes: k rows in order of rounds, all ``int64[k]``; g generators.

    Attributes:
        round: When.
        at: Displacement that sends.
        way: Generator along which it sends.
        piece: Of the shard.
        busy: ``int64[g, rounds]``: rows of each generator.
    """

    round: Longs
    at: Longs
    way: Longs
    piece: Longs
    busy: Longs

    @property
    def rounds(self) -> int:
        """Their number."""
        return len(self.busy.T)

    @property
    def pieces(self) -> int:
        """Of a shard."""
        return int(self.piece.max()) + 1


def _torus(group: Group) -> Torus:
    torus = _cayley.of(group)
    assert isinstance(torus, Torus)
    return torus


def _rate(group: Group) -> float:
    """Of a link; twisted axes do not say theirs."""
    return max(group.bandwidth)


def _time(tree: Tree, hint: Hint, alpha: float, rate: float) -> Cost:
    n, load = (tree.piece == 0).sum() + 1, tree.busy.max(0).sum()
    each = hint.size / (int(n) * tree.pieces * rate) if rate else 0.0
    return Cost(tree.rounds * alpha, float(load) * each)


def _chosen(group: Group, hint: Hint) -> Tree:
    """The tree of the batch asked for, or of the fastest."""
    torus, alpha, rate = _torus(group), max(group.latency), _rate(group)
    asked = option(OPTIONS, hint, "batch")
    return _fastest(torus, alpha, hint.size / rate if rate else 0.0, int(asked) if asked else 0)


@functools.lru_cache(maxsize=64)
def _fastest(torus: Torus, alpha: float, whole: float, asked: int) -> Tree:
    """Of all pieces and batches tried the tree of least time; ``whole`` is D / W, seconds."""
    generators, others = len(torus.to), torus.ranks - 1
    even = generators // int(np.gcd(others, generators))
    best: tuple[float, Tree] | None = None
    for pieces in sorted({1, even if torus.ranks * even <= _MOST_ROWS else 1}):
        work = others * pieces / generators  # of each generator at least
        batch = asked or 1 << (int(np.ceil(work)) - 1).bit_length()
        while batch:
            rounds = max(torus.diameter, int(np.ceil(work / batch)))
            least = rounds * alpha + work / (torus.ranks * pieces) * whole
            if best is not None and (least >= best[0] or rounds > _MOST_ROUNDS > torus.diameter):
                break  # smaller batches take more rounds
            tree = _grown(torus, pieces, batch)
            busy = tree.busy.max(0)
            time = tree.rounds * alpha + float(busy.sum()) / (torus.ranks * pieces) * whole
            if best is None or time < best[0]:
                best = time, tree
            # A batch that no generator ever filled is as good as the largest that one did.
            batch = 0 if asked else 1 << (min(batch, int(busy.max())) - 1).bit_length() >> 1
    assert best is not None
    return best[1]


@functools.lru_cache(maxsize=64)
def _grown(torus: Torus, pieces: int, batch: int) -> Tree:
    """The tree in which a generator brings in at most ``batch`` displacements in a round.

    Cost: O(rounds x generators x N pieces) array steps and O(N pieces) plain ones.
    """
    n, generators = torus.ranks, len(torus.to)
    back = np.argsort(torus.to, axis=1)  # the displacement from which a generator leads here
    rng = np.random.default_rng(0)
    inside = np.zeros((pieces, n), bool)
    inside[:, 0] = True
    total = np.zeros(generators, np.int64)
    rows: list[tuple[int, int, int]] = []
    busy: list[Longs] = []
    while not inside.all():
        new = np.flatnonzero(~inside)
        piece, place = np.divmod(new, n)
        can = inside[piece, back[:, place]]
        rank = can.sum(0) + rng.random(len(new))
        reach = np.flatnonzero(can.any(0))
        reach = reach[np.argsort(rank[reach])]
        queues = [new[reach[can[g, reach]]].tolist() for g in range(generators)]
        used, taken = _deal(queues, batch, total)
        rows += [(len(busy), g, cell) for cell, g in taken.items()]
        inside.ravel()[list(taken)] = True
        total += used
        busy.append(used)
    when, way, cell = np.array(rows, np.int64).T
    piece, place = np.divmod(cell, n)
    return Tree(when, back[way, place], way, piece, np.array(busy, np.int64).T)


def _deal(queues: list[list[int]], batch: int, total: Longs) -> tuple[Longs, dict[int, int]]:
    """In turn, those used least first, each generator takes the first of its queue that is not taken."""
    taken: dict[int, int] = {}
    used = np.zeros(len(queues), np.int64)
    heads = [iter(q) for q in queues]
    order = np.argsort(total, kind="stable").tolist()
    for _ in range(batch):
        if not order:
            break
        for g in list(order):
            cell = next((c for c in heads[g] if c not in taken), None)
            if cell is None:
                order.remove(g)
            else:
                taken[cell] = g
                used[g] += 1
    return used, taken
