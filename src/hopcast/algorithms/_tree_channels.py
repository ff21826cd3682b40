"""Two trees of nodes for each NIC of a node: what `double_tree,channels=N` builds.

Channel a enters and leaves every node by its rank a. Inside, sums come to that rank along a chain of all
ranks of the node, a + g - 1, ..., a + 1, a, and go back along it; or, with ``inside=nvls``, the switch of the
node adds what the others have and tells them all the sum. Between nodes sums go up a tree and back down: of
the chunks of a channel every other one up the first tree and the others up the second, in which nodes that
have children in the first are leaves. So each NIC carries as much as any other, 2 D / g each way, as with
rings.

A chunk goes up as soon as those of all children are there, and comes down as soon as the root has it: chunk j
moves over an edge j steps behind chunk 0. Every edge is a lane, so of the four edges by which an inner node
sends and receives on a rail some move bytes while others wait for their latency.

Source: NVIDIA/nccl v2.30, src/graph/trees.cc, connect.cc (chains inside, a double binary tree of nodes, two
trees for each channel found) and src/device/all_reduce.h (tree and NVLS tree), read 2026-11.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir import hubs
from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import COPY, REDUCE, Alike, Schedule, Sends, one_group, sends

from . import _channels, _chunks, _rates, _turned, nvls

_MOST_SENDS = 1_000_000  # to follow in a second or two; of one channel where it stands for all
Longs = npt.NDArray[np.int64]
_KINDS = 4  # of edges that leave a rank in one tree: up, down to two nodes, down inside
_UP, _DOWN, _INSIDE = 0, 1, 3


@dataclass(frozen=True, eq=False)
class Edges:
    """Who sends every chunk of a tree to whom, of one channel.

    Shapes: e edges, all ``int64[e]``.

    Attributes:
        src, dst: Local vertices.
        begin: The step of the first chunk.
        op: COPY or REDUCE.
        tree: 0 or 1.
        kind: Edges of a kind that leave a rank in one tree share a lane.
    """

    src: Longs
    dst: Longs
    begin: Longs
    op: Longs
    tree: Longs
    kind: Longs


def all_reduce(group: Group, channels: int, inside: str, pieces: int, parent: Longs) -> Schedule:
    """Sums up the trees of every channel, and back down.

    Args:
        group: Nodes of ranks.
        channels: 1 to as many as a node has ranks.
        inside: ``chain`` or ``nvls``.
        pieces: Chunks of each channel.
        parent: ``int64[2, nodes]``, the node above each in both trees, -1 above the roots.
    """
    nodes, g = (v.ranks for v in group.levels)
    n = nodes * g
    edges = _edges(group, inside, parent)
    start = np.arange(channels) * g // channels  # the rank of each channel in its node
    turned = _turns(nodes, g, group, inside)[start]
    channel = np.repeat(np.arange(channels), len(edges.src))
    src, dst = turned[:, edges.src].ravel(), turned[:, edges.dst].ravel()
    begin, op, tree, kind = (np.tile(c, channels) for c in (edges.begin, edges.op, edges.tree, edges.kind))
    many = np.where(tree == 0, (pieces + 1) // 2, pieces // 2)
    first_chunk, lane = channel * pieces + tree, (channel * 2 + tree) * _KINDS + kind
    last, alike = int(begin.max()), None
    if channels > 1 and g % channels == 0:
        alike = Alike(channels, turned[1, :n].astype(np.int32))

    def make(i: int) -> Sends:
        now = np.flatnonzero((begin <= i) & (i < begin + many))
        chunk = first_chunk[now] + 2 * (i - begin[now])
        return sends(src[now], dst[now], chunk, op=op[now], lane=lane[now])

    def pattern(i: int) -> Hashable:
        return "full" if last <= i < pieces // 2 else ("step", i)

    return Schedule(
        of("all_reduce", n, parts=channels * pieces), "double_tree", one_group(n), int(turned.max()) + 1,
        int((begin + many)[many > 0].max()), make, None, channels * 2 * _KINDS, pattern,
        alike=alike,
    )  # fmt: skip


def _turns(nodes: int, g: int, group: Group, inside: str) -> Longs:
    """``int64[g, v]``: where each vertex is when the ranks of nodes are turned by 0, 1, ...; hubs stay."""
    node, gpu = np.divmod(np.arange(nodes * g), g)
    turned = node * g + (gpu + np.arange(g)[:, None]) % g
    if inside != "nvls":
        return turned
    hub = hubs.lines(group, 1)[:, g].astype(np.int64)
    stay = np.arange(nodes * g, int(hub.max()) + 1)
    return np.concatenate([turned, np.tile(stay, (g, 1))], 1)


def _edges(group: Group, inside: str, parent: Longs) -> Edges:
    """Those of the channel of rank 0 of every node."""
    nodes, g = (v.ranks for v in group.levels)
    head = np.arange(nodes) * np.int64(g)
    hub = hubs.lines(group, 1)[:, g].astype(np.int64) if inside == "nvls" else None
    ready = g - 1 if hub is None else 2  # steps until the sum of a node is at its first rank
    found: list[tuple[npt.ArrayLike, ...]] = []
    for tree in (0, 1):
        up, down, nth = _when(parent[tree], ready)
        below = np.flatnonzero(parent[tree] >= 0)
        above = parent[tree, below]
        found.append((head[below], head[above], up[below], REDUCE, tree, _UP))
        found.append((head[above], head[below], down[above], COPY, tree, _DOWN + nth[below]))
        if hub is None:
            for p in range(1, g):
                found.append((head + p, head + p - 1, g - 1 - p, REDUCE, tree, _UP))
                found.append((head + p - 1, head + p, down + p - 1, COPY, tree, _INSIDE))
            continue
        others = head[:, None] + np.arange(1, g)
        found.append((others.ravel(), np.repeat(hub, g - 1), 0, REDUCE, tree, _INSIDE))
        found.append((hub, head, 1, REDUCE, tree, _UP))
        found.append((head, hub, down, COPY, tree, _INSIDE))
        found.append((np.repeat(hub, g - 1), others.ravel(), np.repeat(down + 1, g - 1), COPY, tree, _INSIDE))
    columns = [np.broadcast_arrays(*(np.asarray(c) for c in row)) for row in found]
    return Edges(*(np.concatenate([row[i] for row in columns]) for i in range(6)))


def _when(parent: Longs, ready: int) -> tuple[Longs, Longs, Longs]:
    """Steps in which nodes send up and down the first chunk, and which child of its parent each is.

    Args:
        parent: ``int64[nodes]``, -1 above the root.
        ready: Steps until the sum of a node is at its first rank.
    """
    nodes = len(parent)
    above = parent.tolist()
    depth = [0] * nodes
    for v in range(nodes):
        u = v
        while above[u] >= 0:
            u, depth[v] = above[u], depth[v] + 1
    up, nth, seen = [ready] * nodes, [0] * nodes, [0] * nodes
    for v in sorted(range(nodes), key=lambda v: -depth[v]):
        if above[v] >= 0:
            up[above[v]] = max(up[above[v]], up[v] + 1)
            nth[v], seen[above[v]] = seen[above[v]], seen[above[v]] + 1
    root = depth.index(0)
    return np.array(up), np.array(depth) + up[root], np.array(nth)


def why_not(group: Group, channels: int, inside: str) -> str | None:
    """Why there are no such trees, or None."""
    reason = _channels.why_not(group, channels, "trees through nodes of several ranks, two")
    if reason or inside != "nvls":
        return reason
    return nvls.valid("all_gather", group.levels[1], Hint())


def pieces(group: Group, size: float, channels: int, inside: str) -> int:
    """Chunks of a channel that take least, as `seconds` reckons; each has a byte at least.

    Never so many that there would be too many sends to simulate.
    """
    g, times = group.levels[1].ranks, _times(group, channels, inside)
    alike = g % channels == 0 and _turned.stands_for(group) >= channels
    followed = 2 * group.ranks * (1 if alike else channels)
    most = max(1, min(_chunks.MOST, _MOST_SENDS // followed, int(size) // channels))
    if times is None:
        return min(_chunks.BLIND, most)
    latency, filling, _, _ = times
    if not latency:
        return most
    best = math.sqrt(2 * filling * size / (channels * latency))
    even = 2 * max(1, round(best / 2))
    return min(even, most) if even <= most or most < 2 else most // 2 * 2


def seconds(group: Group, size: float, channels: int, inside: str, chunks: int) -> float | None:
    """About how long all_reduce takes; None where nobody knows the links.

    The way of one byte up and down, what the first chunk takes on it, and what each further one of a tree
    takes at a rank: a latency, and its bytes over the NIC or over NVLink. Up to 15 % from flows on 2 to 128
    nodes of A100, H100 and B200 (2026-11).
    """
    times = _times(group, channels, inside)
    if times is None:
        return None
    latency, filling, each, trip = times
    chunk = size / (channels * chunks)
    return trip + filling * chunk + (math.ceil(chunks / 2) - 1) * (latency + each * chunk)


def _times(group: Group, channels: int, inside: str) -> tuple[float, float, float, float] | None:
    """Latency of a network crossing; seconds for each byte of a chunk, of the first and of others; the trip.

    Levels of the tree share NICs, which is fitted to flows: the first chunk takes four of its times on each
    level but for some that do without.
    """
    rates = _rates.of_levels(group)
    if rates is None:
        return None
    (outer, inner), (nodes, g) = rates, (v.ranks for v in group.levels)
    up = math.log2(nodes)
    told = inner.slowness * channels / g
    filling = max(4 * up - 7, 2) * outer.slowness + (5 if inside == "nvls" else 10) * told
    on_nic = (2 if nodes == 2 else 4) * outer.slowness
    on_link = 2 * told * g / (g - 1) if inside == "nvls" else 4 * told
    crossed = 1 if inside == "nvls" else g - 1
    trip = 2 * (crossed * inner.latency + math.ceil(up) * outer.latency)
    return outer.latency, filling, max(on_nic, on_link), trip
