"""all_reduce by packed spanning trees: sums go up each tree to its root and come down again, in a pipeline.

On an open mesh corners have fewer links than the middle, and reduce_scatter with all_gather waits for them.
Trees need not: of K spanning trees no more than c use any one cable, so each carries 1 / K of the array and
a link 1 / K for each of its trees, together c / K. Where K / c is the number of cables over N - 1 all cables
are full. The schedule is periodic with period c: each direction of a cable belongs to at most c (tree, way)
streams, each of which has a residue of the step number for itself, so no two sends ever meet. Chunk j of a
tree follows chunk j - 1 by c steps. A cable of half the speed takes two steps for a send, and is in half as
many trees as others at most.

For large D that gains over reduce_scatter with all_gather 1.25 on 2 x 4 chips, 1.50 on 4 x 4, 1.63 on 4 x 8,
1.75 on 8 x 8, 1.88 on 16 x 16, 1.33 on 2 x 4 x 4 and 1.25 on 8 x 16 with one wrap; nothing on 2 x 2 and
2 x 2 x 2, where all ranks have as many links. For small D it may lose: a hop may wait up to c steps, or share
its link.

This is not what XLA runs; it runs axis by axis (`multi_axis`).

Cost: T = (F + c (m - 1)) (alpha + D / (K m W)) for m chunks a tree, where F is the steps that one chunk takes
up and down; for large D it comes near c / K x D / W. With a lane for each tree on a link latency comes once a
hop and once every c steps, and sends share links; K, c, m and the lanes are chosen for the size.
"""

import functools
import random
from dataclasses import dataclass

import numpy as np

from hopcast.graph import packing
from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import COPY, REDUCE, Repeat, Schedule, Sends, one_group, sends
from hopcast.ir.topology import Ints

from . import _chunks, _links, _modulo, option
from ._cayley import Longs

SOURCE = (
    "Nash-Williams 1961 and Tutte 1961 (how many trees there are); Edmonds 1965 (packing by matroid union); "
    "Rau and Glaeser 1981 (modulo schedules)"
)
OPTIONS: dict[str, tuple[str, ...]] = {"chunks": ()}  # of each tree; none given: the fastest number
MOST_RANKS = 384
_MOST_SENDS, _MOST_STEPS = 2_400_000, 10_000  # that are simulated in a second, round by round
_SPARED, _FEW_SENDS = 0.005, 200_000  # part of the time that is not worth more sends than these
_MOST_PERIOD, _MOST_EDGES = 16, 4_096  # copies of a cable, and edges of all trees together
_SAME = 1e-9  # part by which rates may differ and be one
_PACKINGS, _FEW_EDGES = 3, 360  # packings tried, where they have no more edges than that together
_POLISH = 2_000  # exchanges of edges tried
_WAIT = 0.6  # of a period, that two hops wait for their residues; 0.4 to 0.75 on the grids tried
# Flows that a first chunk which shares links takes, in those of one that does not: so many for each step that
# it would take, or fewer. On grids from 2x4 to 8x16, from 256 KiB to 1 GiB, right within a third (2026-11).
_BY_STEP, _BY_HOP, _BY_CHUNK = 1.5, 3.3, 0.5


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """One pipeline for each tree."""
    n, rate, alpha = group.ranks, float(_links.rates(group).max()), max(group.latency)
    whole, key = hint.size / rate, _key(group)
    plan = _plan(n, key, *_shape(n, key, alpha, whole), hint.seed)
    trees = int(plan.tree.max()) + 1
    asked = option(OPTIONS, hint, "chunks")
    fill = _Fill(plan.length, plan.hops, plan.period)
    each = 2 * trees * (n - 1) * len(group.all_groups)
    _, m, shared = _pipeline(fill, trees, each, alpha, whole, int(asked) if asked else 0)
    period, last = plan.period, plan.period * (m - 1)
    begins = [np.flatnonzero(plan.start % period == k) for k in range(period)]

    def make(i: int) -> Sends:
        rows = begins[i % period]
        chunk = (i - plan.start[rows]) // period
        rows = rows[(chunk >= 0) & (chunk < m)]
        chunk = (i - plan.start[rows]) // period + plan.tree[rows] * m
        return sends(plan.src[rows], plan.dst[rows], chunk, 1, plan.op[rows], lane[rows])

    def pattern(i: int) -> tuple[str, int]:
        return ("full", i % period) if plan.length - period <= i <= last else ("step", i)

    lane = plan.colour * trees + plan.tree if shared else plan.colour
    first = sends(plan.src, plan.dst, plan.tree * m, 1, plan.op, lane)
    return Schedule(
        of("all_reduce", n, parts=trees * m), "tree_packing", one_group(n), n,
        plan.length + last, make, None, int(lane.max()) + 1, pattern,
        repeat=Repeat(plan.start, first, period, m),
    )  # fmt: skip


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs links from rank to rank, some ranks with more of them than others, and not too many ranks."""
    if group.ranks > MOST_RANKS:
        return f"it packs trees of up to {MOST_RANKS} ranks, and these are {group.ranks:,}; use multi_axis"
    return _unfit(group)


def _unfit(group: Group) -> str | None:
    """Why links are not such that trees gain anything."""
    links = _links.of(group)
    if not len(links):
        return "it needs links from rank to rank, and these meet in switches; use ring"
    cables = np.array(_cables(links), np.int32).reshape(-1, 2)
    degree = np.bincount(cables.ravel(), minlength=group.ranks)
    if group.ranks > 2 and np.all(degree == degree[0]):
        return (
            "all its ranks have as many links, so trees gain nothing over reduce_scatter with all_gather; "
            "use multi_axis or translated_tree"
        )
    if not _links.joined(np.concatenate([cables, cables[:, ::-1]]), group.ranks):
        return "the cables between its ranks that are alive do not join all of them"
    return None


def is_too_large(group: Group) -> bool:
    """Whether trees would gain something, but are not packed as there are too many ranks.

    >>> from hopcast.testing import grid_group
    >>> [is_too_large(grid_group(20, 20, wraps=w)) for w in (False, True)], is_too_large(grid_group(4, 4))
    ([True, False], False)
    """
    return group.ranks > MOST_RANKS and _unfit(group) is None


def worth_from(group: Group) -> float:
    """D beyond which it promises less than reduce_scatter with all_gather on all links: bytes, 0 or infinity.

    These take a hop each way for every step along the axes, and the time in which the rank with fewest links
    gets and sends its part of the array. (For a few bytes trees may take less again: they take fewer hops.)

    Cost: some 20 ms.

    >>> from hopcast.ir.topology import Axis
    >>> axes, rate, lag = (Axis("x", 4, False), Axis("y", 4, False)), (45e9, 45e9), (1e-6, 1e-6)
    >>> round(worth_from(Group(axes, False, rate, lag, np.arange(16)[None])) / 2**20, 1)
    1.2
    """
    n, links = group.ranks, _links.of(group)
    rate, alpha = max(group.bandwidth), max(group.latency)
    if not rate or n == 1:  # links differ, and no closed form says what the other takes; or nothing to send
        return 0.0
    key = _key(group)
    steps = sum(a.length // 2 if a.wraps else a.length - 1 for a in group.axes)
    ports = int(np.bincount(links[:, 1], minlength=n).min())
    least = float("inf")
    for whole in (2 ** (k / 4) / rate for k in range(4 * 40, 4 * 10, -1)):
        other = 2 * steps * alpha + 2 * (n - 1) / n * whole / ports
        if _promised(n, key, _shape(n, key, alpha, whole), alpha, whole) >= other:
            return least
        least = whole * rate
    return 0.0


def _key(group: Group) -> bytes:
    """``int32[l, 3]``: src, dst and steps that a send takes of each link, as what plans are known by."""
    rates = _links.rates(group)
    slots = np.minimum(np.ceil(rates.max() / rates * (1 - _SAME)), _MOST_PERIOD)
    return np.ascontiguousarray(np.column_stack([_links.of(group), slots]), np.int32).tobytes()


def _known(key: bytes) -> Ints:
    """``int32[l, 3]``, what the key says."""
    return np.frombuffer(key, np.int32).reshape(-1, 3)


def _cables(links: Ints) -> list[tuple[int, int]]:
    """Pairs of ranks that have a link each way, each once."""
    u, v = links.T.astype(np.int64)
    n = int(links.max(initial=0)) + 1
    both = np.intersect1d((u * n + v)[u < v], (v * n + u)[u > v])
    return list(zip((both // n).tolist(), (both % n).tolist(), strict=True))


def _room(key: bytes, copies: int) -> list[int]:
    """Trees that may have each cable: as many sends of the slower of its links as there is time for."""
    slots = {(u, v): k for u, v, k in _known(key).tolist()}
    return [copies // max(slots[u, v], slots[v, u]) for u, v in _cables(_known(key)[:, :2])]


@dataclass(frozen=True)
class _Fill:
    """How long one chunk is on its way in a packing.

    Attributes:
        length: Steps until it has arrived everywhere.
        hops: Sends of it one after another.
        copies: Trees that share a cable, c.
    """

    length: float
    hops: float
    copies: int

    @classmethod
    def expected(cls, radius: int, copies: int) -> "_Fill":
        """Before the trees are known."""
        return cls(2 * radius + _WAIT * radius * (copies - 1), 2 * radius, copies)

    def time(self, alpha: float, flow: float, m: int, shared: bool) -> float:
        """Seconds of m chunks a tree, each of which has a link for itself for ``flow`` seconds.

        With a lane for each link its sends go one after the other, latency and all: as by steps. With one for
        each tree and link, latency comes once a hop and once a period, for the c sends of a link start
        together and share it; but the first chunk flows slower for those that share with it, and later ones
        get in each other's way.
        """
        if not shared:
            return (self.length + (m - 1) * self.copies) * (alpha + flow)
        busy = (
            self.copies * flow / (alpha + self.copies * flow)
        )  # part of the time in which a link is not idle
        slower = busy * min(_BY_STEP * self.length, _BY_HOP * self.hops + _BY_CHUNK * m)
        return self.hops * alpha + slower * flow + (m - 1) * (alpha + self.copies * flow)


def _pipeline(
    fill: _Fill, trees: int, each: int, alpha: float, whole: float, asked: int = 0
) -> tuple[float, int, bool]:
    """The least of these times, the number of chunks of each tree, and whether they share links.

    Args:
        fill: Of the packing.
        trees: K.
        each: Sends of one chunk of every tree, in all groups.
        alpha: Latency of a link, seconds.
        whole: D / W, seconds.
        asked: Chunks of each tree; 0: the fastest number.
    """
    most = max(1, min(_MOST_SENDS // each, _MOST_STEPS // fill.copies))
    if not whole:
        return 0.0, asked or min(_chunks.BLIND, most), False
    tried = {asked} if asked else {min(most, round(2 ** (k / 4))) for k in range(4 * most.bit_length())}
    ways = [
        (fill.time(alpha, whole / trees / m, m, shared), m, shared) for m in tried for shared in (False, True)
    ]
    enough = min(ways)[0] * (1 + _SPARED)
    return min((w for w in ways if w[0] <= enough), key=lambda w: (max(w[1] * each, _FEW_SENDS), w[0]))


@functools.lru_cache(maxsize=64)
def _shape(n: int, key: bytes, alpha: float, whole: float) -> tuple[int, int]:
    """Trees and copies that promise least: more trees a copy fill links, fewer copies take fewer steps."""
    cables = np.array(_cables(_known(key)[:, :2]), np.int32).reshape(-1, 2)
    shapes: list[tuple[int, int]] = []
    for copies in range(1, _MOST_PERIOD + 1):
        room = np.array(_room(key, copies))
        trees = int(room.sum()) // (n - 1)
        if trees * (n - 1) > _MOST_EDGES and shapes:
            break
        used = cables[room > 0]
        if not _links.joined(np.concatenate([used, used[:, ::-1]]), n):
            continue  # some rank has slow cables only, which are not through before the period ends
        if not shapes or trees * shapes[-1][1] > shapes[-1][0] * copies:
            shapes.append((trees, copies))
    return min(shapes, key=lambda s: _promised(n, key, s, alpha, whole)) if whole else shapes[-1]


def _promised(n: int, key: bytes, shape: tuple[int, int], alpha: float, whole: float) -> float:
    trees, copies = shape
    fill = _Fill.expected(_radius(n, key), copies)
    return _pipeline(fill, trees, 2 * trees * (n - 1), alpha, whole)[0]


@functools.lru_cache(maxsize=64)
def _radius(n: int, key: bytes) -> int:
    """Links from the centre to the rank farthest from it."""
    return packing.radius(n, _cables(_known(key)[:, :2]))


@dataclass(frozen=True, eq=False)
class _Plan:
    """The sends of chunk 0 of every tree.

    Shapes: k sends, all ``int64[k]``.

    Attributes:
        period: c.
        length: Steps until chunk 0 of every tree has arrived everywhere.
        hops: Sends of one tree one after another, at most.
        start: Step of each send.
        tree, src, dst, op: What it is.
        colour: Number of its link among those of its rank.
    """

    period: int
    length: int
    hops: int
    start: Longs
    tree: Longs
    src: Longs
    dst: Longs
    op: Longs
    colour: Longs


@functools.lru_cache(maxsize=32)
def _plan(n: int, key: bytes, trees: int, copies: int, seed: int) -> _Plan:
    """Pack the trees (one fewer if there are not so many) and place their sends; small ones more than once.

    Cost: 0.3 s on meshes from 4x4 to 8x16, 0.9 s on 16x16.
    """
    links = _known(key)[:, :2]
    slots = {(u, v): k for u, v, k in _known(key).tolist()}
    edges, room = _cables(links), _room(key, copies)
    best: tuple[Longs, list[list[tuple[int, int, int]]]] | None = None
    for k in range(max(1, min(_PACKINGS, _FEW_EDGES // (trees * (n - 1))))):
        packed = None
        while packed is None:
            packed = packing.spanning_trees(n, edges, trees, room, _PACKINGS * seed + k, _POLISH)
            trees -= packed is None
        streams = [_stream(n, [edges[e] for e in tree]) for tree in packed]
        start = _modulo.placed(streams, copies, slots, random.Random(seed))
        if best is None or start.max() < best[0].max():
            best = start, streams
    assert best is not None
    start, streams = best
    src, dst, op = (np.concatenate([[s[i] for s in stream] for stream in streams]) for i in range(3))
    colour = dict(zip(map(tuple, links.tolist()), _links.colours(links).tolist(), strict=True))
    mine = np.array([colour[u, v] for u, v in zip(src.tolist(), dst.tolist(), strict=True)], np.int64)
    tree = np.repeat(np.arange(len(streams)), 2 * (n - 1))
    hops = max(_modulo.Waits.of(streams, slots).left)
    return _Plan(copies, int(start.max()) + 1, hops, start, tree, src, dst, op, mine)


def _stream(n: int, tree: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Sends of one chunk (src, dst, op): up, the farthest first, then down, the nearest first."""
    root = packing.centres(n, tree)[0]
    near: list[list[int]] = [[] for _ in range(n)]
    for u, v in tree:
        near[u].append(v)
        near[v].append(u)
    above = {root: root}
    order = [root]
    for u in order:
        for v in near[u]:
            if v not in above:
                above[v] = u
                order.append(v)
    down = [(above[v], v, COPY) for v in order[1:]]
    return [(v, u, REDUCE) for u, v, _ in reversed(down)] + down
