"""One rank's trees, which all ranks make their own, on any network where ranks can change places.

If ranks are numbered by digits (node and GPU, x and y), a displacement adds to the digits, each modulo its
length. Where every rank has a route to the rank at a displacement from it, all may go by that displacement at
once, and what this puts on each link can be counted. Links on which each displacement puts as much are of one
class: nodes of GPUs have few classes, as tori have. So trees over displacements from one root serve all
roots, and only their sums count, how many edges go by which links.

Trees are grown round by round. In a round every piece of a shard may go on from where it was when the round
began, until the links of a class have been busy for the time that the round has. Of the displacements that
pieces have not reached, that one is taken to which the slowest ways lead, and fewest of them, by the way
whose links have done least so far.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hopcast.ir.collective import of as collective
from hopcast.ir.schedule import Schedule, Sends, one_group, sends
from hopcast.ir.topology import Floats

from . import _trials
from ._cayley import Longs, Torus
from ._network import Wiring
from ._trials import Field, Place

_MOST_CLASSES = 64  # of links; where ranks are not alike there are more
_SAME = 1 + 1e-9
_SLOW = 0.5  # of the time of the slowest kind of ways, from which another may give the length of rounds
_MOST_EDGES = 2_500  # of the trees of all pieces, about 0.1 s
_EFFORT = 25_000  # edges of all trials together
_PARTS = 1, 2, 3, 4, 6  # a round takes at most one of so many parts of what is left to do


@dataclass(frozen=True, eq=False)
class Shifts:
    """What displacements use.

    Shapes: w displacements with a route, k kinds of them, c classes of links.

    Attributes:
        torus: How places are numbered.
        rank: ``int64[n]``, the rank at each place.
        way: ``int64[w]``, displacements.
        kind: ``int64[w]``; those of a kind use the same.
        use: ``float64[k, c]``, seconds of each class when every rank sends a byte along one of the kind.
    """

    torus: Torus
    rank: Longs
    way: Longs
    kind: Longs
    use: Floats


@dataclass(frozen=True, eq=False)
class Grown:
    """Trees of all pieces of the root's shard.

    Shapes: e edges in order of rounds, all ``int64[e]``.

    Attributes:
        pieces: Of a shard.
        round: When.
        at: Displacement from the root that sends.
        way: Displacement along which it sends.
        piece: What.
        kind: Of the way.
        busy: ``float64[rounds]``, seconds of the busiest class of links when a piece is one byte.
    """

    pieces: int
    round: Longs
    at: Longs
    way: Longs
    piece: Longs
    kind: Longs
    busy: Floats

    def time(self, latency: float, shard: float) -> float:
        """Seconds of all rounds, for a shard of so many bytes."""
        return len(self.busy) * latency + float(self.busy.sum()) * shard / self.pieces


@functools.lru_cache(maxsize=64)
def of(wiring: Wiring, turned: bool) -> Shifts | None:
    """The displacements of a network, or None where its ranks are not alike.

    Cost: O(routes x their links) plain steps, and as many array steps for each way to number the ranks.
    """
    network = wiring.network.turned() if turned else wiring.network
    n, links, place = network.ranks, len(network.capacity), network.place - network.place.min(0)
    lengths = (place.max(0) + 1).tolist()
    rank = np.lexsort(place.T[::-1])
    if int(np.prod(lengths)) != n or len(np.unique(place, axis=0)) != n:
        return None  # ranks are not all that there are between the first and the last
    position = np.argsort(rank)
    tail, head = (
        position[ends[[path[i] for path in network.routes]]]
        for ends, i in ((network.tail, 0), (network.head, -1))
    )
    if len(np.unique(tail * n + head)) < len(tail):
        return None  # two ways between two ranks, and nothing says what takes which
    hops = [len(path) for path in network.routes]
    link = np.fromiter(itertools.chain(*network.routes), np.int64)
    few = 2 * len(lengths) * len(np.unique(network.capacity))
    best: Shifts | None = None
    for torus in _numberings(lengths):
        apart = torus.add(head, torus.minus(tail))
        way, by, count = np.unique(apart, return_inverse=True, return_counts=True)
        if np.any(count < n):
            continue  # not every rank has such a route
        crossed = np.bincount(np.repeat(by.ravel(), hops) * links + link, minlength=len(way) * links)
        crossed = crossed.reshape(len(way), links)
        classes = np.unique(crossed / (network.capacity * float(wiring.unit)), axis=1)
        if classes.shape[1] > np.unique(crossed, axis=1).shape[1]:
            continue  # some link is slower than those that do as much for other ranks
        use, kind = np.unique(classes, axis=0, return_inverse=True)
        if best is None or use.shape[1] < best.use.shape[1]:
            best = Shifts(torus, rank, way, kind.ravel(), use)
        if best.use.shape[1] <= few:
            break
    return best if best is not None and best.use.shape[1] <= _MOST_CLASSES else None


def _numberings(lengths: list[int]) -> Iterator[Torus]:
    """Ways to see places as digits: coordinates as they are, and each cut into two."""
    cuts = [[(k,), *((k // d, d) for d in range(2, k) if k % d == 0)] for k in lengths]
    for shape in itertools.product(*cuts):
        yield Torus(tuple(k for k in itertools.chain(*shape) if k > 1), False)


def schedule(shifts: Shifts, grown: Grown) -> Schedule:
    """The all_gather in which every rank does what the root does, a lane for each kind of way."""
    torus, pieces, rounds = shifts.torus, grown.pieces, len(grown.busy)
    n, ends = torus.ranks, np.searchsorted(grown.round, np.arange(rounds + 1))
    place = np.arange(n)

    def make(i: int) -> Sends:
        rows = slice(ends[i], ends[i + 1])
        source = shifts.rank[torus.add(place, torus.minus(grown.at[rows])[:, None])]
        columns = (
            shifts.rank, shifts.rank[torus.add(place, grown.way[rows, None])],
            source * pieces + grown.piece[rows, None], 1, 0, grown.kind[rows, None],
        )  # fmt: skip
        return sends(*(c.ravel() for c in np.broadcast_arrays(*columns)))

    def pattern(i: int) -> tuple[int, ...]:
        return tuple(np.sort(grown.way[ends[i] : ends[i + 1]]).tolist())

    task = collective("all_gather", n, parts=pieces)
    lanes = len(shifts.use)
    return Schedule(task, "forest", one_group(n), n, rounds, make, None, lanes, pattern)


@functools.lru_cache(maxsize=64)
def fastest(shifts: Shifts, rate: float, trees: int, latency: float, shard: float, seed: int = 0) -> Grown:
    """The trees of least time found, going from numbers of pieces and rounds to better ones nearby.

    Args:
        shifts: What displacements use.
        rate: The optimum, bytes/s of every shard.
        trees: In how many parts of a shard it is surely reached.
        latency: Of the slowest route, seconds.
        shard: Bytes.
        seed: Other choices among equals.

    Cost: some tens of trials of up to 0.1 s, together under 1 s up to 128 ranks.
    """
    sends = shifts.torus.ranks - 1
    doubled = [1 << i for i in range(_MOST_EDGES.bit_length())]
    numbers = sorted({*doubled, *(trees * k for k in doubled)})
    numbers = [k for k in numbers if k == 1 or k * sends <= _MOST_EDGES]
    # Rounds as long as some edges of a kind leave links of that kind busy to the end of each.
    slow, kinds = np.unique(np.round(shifts.use.max(1) / shifts.use.max(), 9), return_counts=True)
    common = np.argsort(-kinds[slow > _SLOW], kind="stable")
    units = (slow[slow > _SLOW][common] * shifts.use.max()).tolist()

    def make(pieces: int, cut: tuple[int, ...], unit: float) -> Grown:
        return _Growth(shifts, pieces, seed).grown(cut, unit)

    begins = [
        Place(numbers.index(k), max(0, int(k / rate / unit).bit_length() - 3), _PARTS.index(3), i)
        for k in dict.fromkeys(k for k in (1, trees, numbers[-1]) if k in numbers)
        for i, unit in enumerate(units)
    ]
    field = Field(make, numbers, units, _PARTS, (1,), begins, rate, lambda pieces: pieces * sends, _EFFORT)
    return _trials.fastest(field, latency, shard)


class _Growth:
    """Which pieces have reached which displacements; a cell is a piece at a displacement."""

    def __init__(self, shifts: Shifts, pieces: int, seed: int) -> None:
        torus, self.shifts, self.pieces = shifts.torus, shifts, pieces
        n = torus.ranks
        self.ranks, self.kinds = n, len(shifts.use)
        self.back = torus.add(torus.minus(shifts.way)[:, None], np.arange(n))  # from where a way leads here
        self.ahead = torus.add(shifts.way[:, None], np.arange(n))
        self.uses = [[(int(c), float(row[c])) for c in np.flatnonzero(row)] for row in shifts.use]
        self.speed = (1 / shifts.use.max(1))[shifts.kind]
        self.inside = np.zeros((pieces, n), bool)
        # How fast the fastest that has a piece could bring it, n times, and how fast all together could.
        self.fastest = np.zeros((pieces, n))
        self.ways = np.random.default_rng(seed).random((pieces, n)) * self.speed.min() / 2
        self.done = [0.0] * shifts.use.shape[1]  # seconds that each class has been busy
        self.rows: list[tuple[int, int, int, int]] = []
        for piece in range(pieces):
            self.reach(piece, 0)

    def grown(self, rounds: tuple[int, ...], unit: float) -> Grown:
        """Rounds so many units long, and of one unit until all is reached."""
        busy: list[float] = []
        for length in itertools.chain(rounds, itertools.repeat(1)):
            if self.inside.all():
                break
            busy.append(self.round(len(busy), length * unit * _SAME))
        when, cell, piece, way = np.array(self.rows, np.int64).T
        shifts = self.shifts
        return Grown(self.pieces, when, self.back[way, cell], shifts.way[way], piece, shifts.kind[way],
                     np.array(busy))  # fmt: skip

    def reach(self, piece: int, at: int) -> None:
        """From there it can go on, in the next round."""
        self.inside[piece, at] = True
        to = self.ahead[:, at]
        self.ways[piece, to] += self.speed
        self.fastest[piece, to] = np.maximum(self.fastest[piece, to], self.speed * self.ranks)
        self.ways[piece, at] = np.inf

    def round(self, number: int, budget: float) -> float:
        """One round; seconds that its busiest class takes."""
        held = self.inside.copy()
        can = np.array([held[:, self.back[self.shifts.kind == k]].any(1) & ~held for k in range(self.kinds)])
        can = can.reshape(self.kinds, -1)
        left, cells = can.sum(1), [np.flatnonzero(one) for one in can]
        spent = [0.0] * len(self.done)
        while True:
            fits = [k for k in range(self.kinds) if left[k] and self.fits(spent, k, budget)]
            if not fits:
                return max(spent)
            kind = min(fits, key=lambda k: max(self.done[c] + s for c, s in self.uses[k]))
            mine = cells[kind]
            cell = int(mine[(self.fastest.ravel()[mine] + self.ways.ravel()[mine]).argmin()])
            left -= can[:, cell]
            piece, to = divmod(cell, self.ranks)
            ways = np.flatnonzero((self.shifts.kind == kind) & held[piece, self.back[:, to]])
            self.rows.append((number, to, piece, int(ways[(to + piece) % len(ways)])))
            self.reach(piece, to)
            for c, s in self.uses[kind]:
                self.done[c] += s
                spent[c] += s

    def fits(self, spent: list[float], kind: int, budget: float) -> bool:
        """Whether one edge more is within the budget, or the first of its links in this round."""
        return all(spent[c] + s <= budget or not spent[c] for c, s in self.uses[kind])
