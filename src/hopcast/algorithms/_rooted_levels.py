"""Rooted collectives over nodes: all NICs of the root's node carry their part, and so does every rail.

broadcast: part i of the array goes from the root over NVLink to rank i of its node, from there along rail i
to the ranks i of all nodes, and every rank tells the others of its node what it has got. On a rail pieces
follow each other down two trees over the nodes, those of `double_tree`: every other piece down each, all
sends at half the rate of a NIC, so that no rank has to keep step with another. An array in one piece goes
down a binomial tree. The root's own part leaves by its NIC; inside its node each piece of it goes to one
other rank, every time to the next, which tells the rest: so the root sends the array once over NVLink, and
not nearly twice. Where pieces are many, several are told at a time.

scatter: what is for rank i of another node goes over NVLink to rank i of the root's node and over its NIC to
its goal, in pieces, each with messages for all nodes; last the root sends what is for its own node.

Every rank receives every chunk once, from one that has had it a step before. reduce and gather are the
mirror images.

Cost: N nodes of g ranks, NICs of rate B. broadcast in m pieces takes about (log2 N - 1 + m / 2) (alpha + 2 D
/ (g m B)), and a piece over NVLink before and behind; scatter in q pieces about q alpha + (N - 1) D / (N g
B), and a piece over NVLink.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import Collective, of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns, one_group

from . import _rates, double_tree

MOST_SENDS = 5_000_000  # that may be asked for
_TRIED_SENDS = 500_000  # that are followed in a second
_MOST_PIECES, _MOST_TOLD, _MOST_SCATTERED = 1_024, 32, 64
_BLIND = 8  # pieces where nobody knows the links
_HARDLY = 1.01  # times the least time: not worth more sends
# Lanes: inside nodes, along rails, and from the root to each of its node.
_TELL, _REST, _RAIL, _FIRST = range(4)
Longs = npt.NDArray[np.int64]
Rows = Longs  # int64[6, k]: step, src, dst, chunk, count, lane


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Inside the root's node, along the rails, inside all nodes."""
    (nodes, g), plan = _shape(group), _broadcast_plan(group, hint)
    whole = of("broadcast", nodes * g, root=hint.root, parts=g * plan.pieces)
    return _made(whole, [*_spread(plan, g, hint.root), *_along(plan, nodes, g, hint.root)])


def scatter(group: Group, hint: Hint) -> Schedule:
    """Over NVLink to the right rail, and along it."""
    (nodes, g), q = _shape(group), _scatter_pieces(group, hint)
    root, (home, own) = hint.root, divmod(hint.root, g)
    piece, rail, far = (np.arange(k) for k in (q, g, nodes - 1))
    other = np.delete(rail, own)
    # Chunks: of each rail, piece by piece, one for every other node; behind them those of the root's node.
    first = (rail[:, None] * q + piece) * (nodes - 1)
    stays = g * q * (nodes - 1) + rail * q
    goal = (home + 1 + far) % nodes * g + rail[:, None, None]  # [rail, 1, far]
    owner = np.concatenate([np.broadcast_to(goal, (g, q, nodes - 1)).ravel(), np.repeat(home * g + rail, q)])
    rows = [
        _rows(piece, root, home * g + other[:, None], first[other], nodes - 1, _FIRST),
        _rows(piece[:, None] + 1, home * g + rail[:, None, None], goal, first[..., None] + far, 1, _RAIL),
        _rows(q, root, home * g + other, stays[other], q, _FIRST),
    ]
    return _made(of("scatter", nodes * g, owner, root=root), rows)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs nodes of ranks that reach each other, joined by a network, and not too many pieces."""
    if len(group.levels) != 2 or not all(v.switched and v.ranks > 1 for v in group.levels):
        return f"{collective} needs nodes of ranks that all reach each other; use forest or binomial"
    nodes, g = _shape(group)
    pieces = int(hint.options.get("pieces", 0))
    each = _sends(nodes, g, 1, 1) if collective in ("broadcast", "reduce") else nodes * g
    most = max(MOST_SENDS // (each * len(group.all_groups)), 1)
    if pieces > most:
        return f"{pieces:,} pieces take too many sends; up to {most:,} are possible here"
    return None


def seconds(collective: str, group: Group, hint: Hint) -> float | None:
    """About how long it takes; None where nobody knows the links."""
    rates = _rates.of_levels(group)
    if rates is None:
        return None
    if collective in ("broadcast", "reduce"):
        return _broadcast_plan(group, hint).seconds(hint.size, *rates)
    return _scatter_seconds(group, hint.size, _scatter_pieces(group, hint), *rates)


def _shape(group: Group) -> tuple[int, int]:
    """Nodes, and ranks of a node."""
    return group.levels[0].ranks, group.levels[1].ranks


def _rows(*columns: npt.ArrayLike) -> Rows:
    """Columns of one kind of sends, each repeated to the shape of all."""
    return np.stack([c.ravel() for c in np.broadcast_arrays(*map(np.asarray, columns))]).astype(np.int64)


def _made(whole: Collective, kinds: Sequence[Rows]) -> Schedule:
    names = ("step", "src", "dst", "chunk", "count", "lane")
    columns: dict[str, npt.ArrayLike] = dict(zip(names, np.concatenate(kinds, 1), strict=True))
    return from_columns(whole, "hierarchical", one_group(whole.ranks), columns)


@dataclass(frozen=True, eq=False)
class _Way:
    """How pieces come from the first node to all others; nodes are counted from that of the root.

    Shapes: N nodes; ``int64[k, N]`` by kind of piece and node.

    Attributes:
        parent: From which node each receives a piece of each kind; piece p is of kind p mod k.
        begin: In which step it receives the first piece of a kind. The next comes a step later.
    """

    parent: Longs
    begin: Longs

    @property
    def kinds(self) -> int:
        """Pieces of a step, each at a part of the rate."""
        return len(self.parent)

    def received(self, pieces: int) -> Longs:
        """``int64[N - 1, pieces]``: the step in which each other node receives each piece."""
        nth, kind = np.divmod(np.arange(pieces), self.kinds)
        return self.begin[kind, 1:].T + nth

    def steps(self, pieces: int) -> int:
        """Until all nodes have all pieces."""
        return int(self.begin[:, 1:].max()) - (-pieces // self.kinds)


@functools.lru_cache(maxsize=64)
def _ways(nodes: int) -> tuple[_Way, ...]:
    """A binomial tree, and two trees whose sends are all under way at a time, at half the rate.

    >>> [way.steps(1) for way in _ways(16)], _ways(16)[1].steps(100)
    ([4, 4], 53)
    """
    place = np.arange(nodes)[None]
    high = np.array([[max(v, 1).bit_length() - 1 for v in range(nodes)]])
    parent = np.maximum(double_tree.trees(nodes)[0], 0)
    above, depth = parent, np.zeros_like(parent)
    while above.any():
        depth, above = depth + (above > 0), np.take_along_axis(parent, above, 1)
    return _Way(place - (1 << high), high), _Way(parent, depth)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Of a broadcast.

    Attributes:
        way: Along each rail.
        rate: Of a step along rails.
        pieces: Of a part of the array.
        told: How many pieces a rank tells its node at a time.
        gpus: Ranks of a node.
    """

    way: _Way
    rate: _rates.Rate | None
    pieces: int
    told: int
    gpus: int

    def seconds(self, size: float, outer: _rates.Rate, inner: _rates.Rate) -> float:
        """About how long it takes: a piece inside, the rail, and telling the last pieces."""
        piece, kinds = size / (self.gpus * self.pieces), self.way.kinds
        # The root sends a piece of its own part to one other rank, or, if it is the only piece, to all.
        more = self.gpus / (self.gpus - 1) if self.pieces > 1 else 2.0
        inside, tell = inner.seconds(kinds * more * piece), inner.seconds(self.told * piece)
        stage = max((self.rate or outer).seconds(kinds * piece), inside)
        groups = -(-self.pieces // self.told)
        return inside + max(self.way.steps(self.pieces) * stage, (groups - 1) * tell) + tell


def _spread(plan: _Plan, g: int, root: int) -> list[Rows]:
    """From the root to the other ranks of its node: their parts, and its own.

    Piece p of part i is chunk i m + p.
    """
    home, own = divmod(root, g)
    piece, other = np.arange(plan.pieces), home * g + np.delete(np.arange(g), own)
    chunk, step, gpu = own * plan.pieces + piece, piece // plan.way.kinds, other[:, None] % g
    parts = _rows(step, root, other[:, None], gpu * plan.pieces + piece, 1, _FIRST + gpu)
    if plan.pieces == 1:
        return [parts, _rows(0, root, other, chunk, 1, _FIRST + own)]
    helper = other[piece % (g - 1)]
    rest = _rows(step + 1, helper, other[:, None], chunk, 1, _REST)
    return [parts, _rows(step, root, helper, chunk, 1, _FIRST + own), rest[:, rest[1] != rest[2]]]


def _along(plan: _Plan, nodes: int, g: int, root: int) -> list[Rows]:
    """Along the rails, and what comes of a part told in every node."""
    home, m = root // g, plan.pieces
    piece, rail, place = np.arange(m), np.arange(g), np.arange(1, nodes)
    received = plan.way.received(m)
    # A step later than inside the root's node, where the first of all pieces comes in step 0.
    came = np.concatenate([piece[None] // plan.way.kinds, received + 1])
    before = plan.way.parent[piece % plan.way.kinds, 1:].T  # [place, piece]
    src, dst = ((home + v)[..., None] % nodes * g + rail for v in (before, place[:, None]))
    rails = _rows(came[1:, :, None], src, dst, rail * m + piece[:, None], 1, _RAIL)
    first = np.arange(0, m, plan.told)
    last = np.minimum(first + plan.told, m) - 1
    done = 1 + np.maximum(came[:, last], came[:, np.maximum(last - 1, first)])  # [node, group]
    teller = ((home + np.arange(nodes)) % nodes)[:, None, None, None] * g + rail[
        :, None
    ]  # [node, 1, rail, 1]
    hearer = teller - rail[:, None] + rail
    told = _rows(
        done[..., None, None], teller, hearer, rail[:, None] * m + first[:, None, None],
        (last + 1 - first)[:, None, None], _TELL,
    )  # fmt: skip
    # The root hears nothing, and its own part is spread otherwise in its node.
    spread = (told[1] == root) | (told[2] == root)
    return [rails, told[:, (told[1] != told[2]) & ~spread]]


def _sends(nodes: int, g: int, pieces: int, told: int) -> int:
    """Of a broadcast, about: along rails, inside, and inside the root's node."""
    return pieces * (nodes * g + 2 * g) + -(-pieces // told) * nodes * g * (g - 1)


def _broadcast_plan(group: Group, hint: Hint) -> _Plan:
    """The way, pieces and how many are told at a time that take least, or hardly longer with fewer sends."""
    nodes, g = _shape(group)
    rates, asked = _rates.of_levels(group), int(hint.options.get("pieces", 0))
    if hint.options.get("pipeline") == "off":
        asked = asked or 1
    binomial, trees = _ways(nodes)
    if rates is None:
        return _Plan(trees, None, asked or _BLIND, 1, g)
    room, plans = _TRIED_SENDS // len(group.all_groups), []
    for way in (binomial, trees):
        rate = _tree_rate(group) if way is trees else rates[0]
        for m in [asked] if asked else [1 << k for k in range(_MOST_PIECES.bit_length())]:
            for told in (1 << k for k in range(min(_MOST_TOLD, m).bit_length())):
                if m == 1 or (way is trees and (asked or _sends(nodes, g, m, told) <= room)):
                    plans.append(_Plan(way, rate, m, told, g))
    times = [p.seconds(hint.size, *rates) for p in plans]
    good = [p for p, t in zip(plans, times, strict=True) if t <= _HARDLY * min(times)]
    return min(good, key=lambda p: _sends(nodes, g, p.pieces, p.told))


@functools.lru_cache(maxsize=64)
def _tree_rate(group: Group) -> _rates.Rate | None:
    """Of a step in which every node sends down one of the two trees; None where nobody knows the links."""
    (nodes, g), rates = _shape(group), _rates.of_levels(group)
    if rates is None or group.levels[0].uniform_rates:
        return rates and rates[0]
    parent = _ways(nodes)[1].parent[:, 1:]
    child = np.tile(np.arange(1, nodes), 2)
    src, dst = (v.ravel()[:, None] * g + np.arange(g) for v in (parent, child))
    both = _rates.routed(group, src.ravel(), dst.ravel())
    return both and replace(both, slowness=both.slowness / 2)


def _scatter_seconds(group: Group, size: float, q: int, outer: _rates.Rate, inner: _rates.Rate) -> float:
    """Pieces inside and over NICs at the same time, and what stays in the node."""
    nodes, g = _shape(group)
    message = size / (nodes * g)
    inside, between = (rate.seconds((nodes - 1) * message / q) for rate in (inner, outer))
    return max(q * between + inside, q * inside + max(between, inner.seconds(message)))


def _scatter_pieces(group: Group, hint: Hint) -> int:
    """Asked for, or the fewest that take hardly longer than the best number."""
    rates, asked = _rates.of_levels(group), int(hint.options.get("pieces", 0))
    if hint.options.get("pipeline") == "off":
        return asked or 1
    if asked or rates is None:
        return asked or _BLIND
    nodes, g = _shape(group)
    most = max(1, min(_MOST_SCATTERED, _TRIED_SENDS // (nodes * g * len(group.all_groups))))
    times = {1 << k: _scatter_seconds(group, hint.size, 1 << k, *rates) for k in range(most.bit_length())}
    return next(q for q, t in times.items() if t <= _HARDLY * min(times.values()))
