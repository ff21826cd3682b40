"""Two binary trees in which no rank has children in both: each carries every other chunk from the root.

broadcast: chunks 0, 2, 4, ... go down the first tree and 1, 3, 5, ... down the second, as a pipeline. A
rank receives in even steps from its parent in one tree and in odd steps from that in the other; one that
has children passes a chunk on to one of them in the next even and to the other in the next odd step. So
every port is busy both ways in every step. Such steps exist because senders and receivers with their cables
are a bipartite graph of degree 2, whose edges two colours are enough for, and no rank waits once it has
begun. reduce is the mirror image, all_reduce one after the other; of the ranks counted from the root the
first tree has the odd ones as leaves and the second the even ones. ``channels=8`` makes trees of nodes
instead, two for each of so many NICs of a node, for all_reduce (see `_tree_channels`), as libraries do; with
``inside=nvls`` the switch of a node adds.

Cost: h + m - 1 steps, where h, about 2 log2 n, is when the last rank has its first chunk; on a switch T = (h
+ m - 1) (alpha + D / (m W)), twice that for all_reduce.
"""

import functools
import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends

from . import _chunks, _rates, _tree_channels, option
from ._rounds import on_switch

SOURCE = (
    "Sanders, Speck and Traff 2009, Two-tree algorithms for full bandwidth broadcast, reduction and scan, "
    "doi:10.1016/j.parco.2009.09.001"
)
ALONE = "a tree joins 2 ranks or more"
OPTIONS: dict[str, tuple[str, ...]] = {"chunks": (), "channels": (), "inside": ("chain", "nvls")}
BY_PLACE = ("channels",)
_TURNS = (
    1,
    3,
    5,
    0,
)  # of the second tree; one of the first three served all of 4 to 3,000 ranks, the last serves 3
Longs = npt.NDArray[np.int64]


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Even chunks down one tree, odd chunks down the other."""
    n, root = group.ranks, hint.root
    parent, when = trees(n)
    m = _pieces(group, hint)
    place = np.arange(1, n)
    rank, tree = np.tile((place + root) % n, 2), np.repeat([0, 1], n - 1)
    before, begin = (parent[:, 1:].ravel() + root) % n, when[:, 1:].ravel()
    many = np.where(tree == 0, (m + 1) // 2, m // 2)

    def make(t: int) -> Sends:
        nth, late = np.divmod(t - begin, 2)
        now = np.flatnonzero((nth >= 0) & (nth < many) & (late == 0))
        return sends(before[now], rank[now], 2 * nth[now] + tree[now])

    last = int(begin.max())

    def pattern(t: int) -> Hashable:
        return (t % 2, last) if last <= t < m - 1 else ("end", t)

    steps = int((begin + 2 * many - 1)[many > 0].max())
    whole = of("broadcast", n, root=root, parts=m)
    return Schedule(whole, "double_tree", one_group(n), n, steps, make, None, 1, pattern)


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums up both trees to a root, and back down."""
    if "channels" in hint.options:
        channels, inside = _asked(hint)
        above = trees(group.levels[0].ranks)[0]
        return _tree_channels.all_reduce(group, channels, inside, _pieces(group, hint), above)
    return algebra.then(reduce(group, hint), broadcast(group, hint), "all_reduce")


def reduce(group: Group, hint: Hint) -> Schedule:
    """The mirror image of broadcast, with a lane for each tree.

    Nothing holds a leaf up, so leaves of one parent begin together and share its port. On one lane their
    sends in the other tree would wait for that, and half of the bandwidth would be lost.
    """
    up = algebra.reverse(broadcast(group, hint))

    def make(i: int) -> Sends:
        rows = up.make(i)
        return replace(rows, lane=(rows.chunk % 2).astype(np.uint16))

    return replace(up, make=make, lanes=2)


@functools.lru_cache(maxsize=64)
def trees(n: int) -> tuple[Longs, Longs]:
    """The two trees over places 0..n-1, where place 0 is the root.

    Shapes: both results are ``int64[2, n]``, by tree and place; those of the root mean nothing.

    Returns:
        The parent of each place, and the step in which it receives the first chunk.

    >>> [x.tolist() for x in trees(4)]
    [[[-1, 2, 0, 2], [-1, 3, 3, 0]], [[0, 1, 0, 2], [0, 2, 3, 1]]]
    """
    one = _in_order(n - 1)
    for turn in _TURNS:
        # Leaves are at odd places, and a turn by an odd number moves them to even ones.
        name = np.arange(n)
        name[1:] = (name[1:] - 1 + turn) % (n - 1) + 1
        parent = np.full((2, n), -1, np.int64)
        parent[0], parent[1][name] = one, name[one]
        parent[:, 0] = -1
        children = [_children(row) for row in parent.tolist()]
        colour = _colours(n, children)
        if colour is not None:
            break
    assert colour is not None
    when = np.zeros((2, n), np.int64)
    for tree in (0, 1):
        order = [0]
        for u in order:
            below = children[tree].get(u, [])
            order += below
            early = -1 if u == 0 else int(when[tree, u])
            for v in below:
                when[tree, v] = early + 1 + (early + 1 - colour[tree, v]) % 2
    return parent, when


def _children(parent: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for v, u in enumerate(parent[1:], 1):
        found.setdefault(u, []).append(v)
    return found


def _in_order(places: int) -> Longs:
    """Parents of places 1.. of a binary tree in order: even places have children, odd ones are leaves."""
    parent = np.zeros(places + 1, np.int64)
    waiting = [(0, places, 0)]
    while waiting:
        begin, size, above = waiting.pop()
        if size:
            half = 1 << (size.bit_length() - 1)
            parent[begin + half] = above
            waiting += [(begin, half - 1, begin + half), (begin + half, size - half, begin + half)]
    return parent


def _colours(n: int, children: list[dict[int, list[int]]]) -> Longs | None:
    """The parity of the steps in which each place receives in each tree: ``int64[2, n]``, or None.

    The two cables to a place differ, and so do those to the two children of one. An only child receives in
    the steps in which its parent does not: else the parent, which nothing holds up, would be a step early and
    in the way of what the child receives in the other tree.
    """
    beside: dict[int, list[tuple[int, int]]] = {}  # place to others, and whether their colours differ
    first = [tree[0][0] for tree in children]
    pairs = [(first[0], first[1], 0)]
    for tree in children:
        pairs += [(c[0], c[1] if len(c) > 1 else u, 1) for u, c in tree.items() if u]
    for a, b, other in pairs:
        beside.setdefault(a, []).append((b, other))
        beside.setdefault(b, []).append((a, other))
    colour = np.full(n, -1, np.int64)
    for start in (first[0], *range(1, n)):
        waiting = [(start, 0)] if colour[start] < 0 else []
        while waiting:
            v, mine = waiting.pop()
            if colour[v] < 0:
                colour[v] = mine
                waiting += [(w, mine ^ other) for w, other in beside.get(v, [])]
            elif colour[v] != mine:
                return None
    return np.stack([colour, 1 - colour])


def _pieces(group: Group, hint: Hint) -> int:
    """Asked for, or the number of least time; a chunk has at least one byte."""
    asked = option(OPTIONS, hint, "chunks")
    if asked:
        return int(asked)
    if "channels" in hint.options:
        return _tree_channels.pieces(group, hint.size, *_asked(hint))
    filling, most, port = _filling(group.ranks), max(1, int(hint.size)), _rates.of_ports(group)
    if port is None:
        return min(_chunks.BLIND, most)
    # Over nodes the network is the slowest level, and each step has some send on it.
    alpha = port.latency if group.levels else hint.alpha
    free = _chunks.FREE if not alpha else _chunks.MOST
    return _chunks.best(filling, alpha, hint.size * port.slowness, min(free, most))


def _asked(hint: Hint) -> tuple[int, str]:
    """How many channels, and how sums are made inside nodes."""
    return int(hint.options["channels"]), option(OPTIONS, hint, "inside")


def seconds(group: Group, hint: Hint) -> float | None:
    """About how long all_reduce takes over nodes of ranks; None elsewhere, or where nobody knows the links.

    A chunk goes up through log2 N ports of the network, in which it meets another, and down through as many,
    each of which may have served another before; further chunks follow in 7/4 latencies and twice their
    bytes, for which the halves of an all_reduce overlap. Up to 15 % from flows on 2 to 128 nodes of 8.
    """
    if "channels" in hint.options:
        return _tree_channels.seconds(group, hint.size, *_asked(hint), _pieces(group, hint))
    rates = _rates.of_levels(group) if len(group.levels) == 2 else None
    if rates is None:
        return None
    m = _pieces(group, hint)
    (outer, inner), chunk = rates, hint.size / m
    up, inside = (math.log2(level.ranks) for level in group.levels)
    first = up * (3 * outer.latency + 4 * chunk * outer.slowness) + (3 * inside + 1) * inner.latency
    return first + (m - 1) * (1.75 * outer.latency + 2 * chunk * outer.slowness)


def _filling(n: int) -> int:
    return int(trees(n)[1][:, 1:].max())


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair. Channels are of all_reduce over nodes of ranks."""
    if "channels" not in hint.options:
        return "inside= is of channels=" if "inside" in hint.options else None
    if collective != "all_reduce":
        return f"channels= is of all_reduce; {collective} goes over trees of all ranks"
    return _tree_channels.why_not(group, *_asked(hint))


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch outwards: on the way to the root leaves have nothing to wait for and begin early.

    Measured on 4 to 32 ranks: at zero latency reduce and all_reduce take at most one step more than steps,
    with latency up to 11 % less.
    """
    if "channels" in hint.options:
        return False
    return group.uniform and (collective == "broadcast" or (group.ranks == 2 and not group.latency[0]))


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """(h + m - 1) (alpha + D / (m W)) on a switch; None of several channels, which only flows can tell."""
    if not group.switched or "channels" in hint.options:
        return None
    m = _pieces(group, hint)
    steps = _steps(group.ranks, m) * (1 + (collective == "all_reduce"))
    return on_switch(group, steps, steps * hint.size / m)


def _steps(n: int, m: int) -> int:
    begin = trees(n)[1][:, 1:]
    many = np.array([[(m + 1) // 2], [m // 2]])
    return int(np.where(many > 0, begin + 2 * many - 1, 0).max())
