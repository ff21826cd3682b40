"""Hashed routing of a fat tree, cable by cable: each pair keeps to one way, chosen by a hash with a seed.

At every switch on the way up the hash of source, destination and seed picks one of the cables that lead on;
on the way down one of those behind which the destination is. Pairs that fall on the same cable share it,
which even spreading avoids: what that costs is the spread of times over seeds.

Source: Hopps 2000, RFC 2992 (hash of the flow over equal-cost next hops); Steele, Lea and Flood 2014,
doi:10.1145/2660193.2660195 (the mixing function of splitmix64).
"""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.hashes import GOLDEN, Words, mixed
from hopcast.ir.topology import Bools, Ints, Topology

from . import Routes, spread

Longs = npt.NDArray[np.int64]
_MOST_HOPS = 10  # chip, NIC, leaf, spine, core and back


@dataclass(frozen=True, eq=False)
class Choices:
    """Cables by where they lead.

    Shapes: n chips, v vertices, c kinds of chips (those with the same switches above them are one kind).

    Attributes:
        kind: ``int64[n]``.
        reach: ``bool[v, c]``: whether chips of a kind are below a switch.
        up: Rising links, by source; ``up_at`` has where each source begins.
        down: Falling links, by key; ``down_key`` has their keys, ascending: source and kind, or source and
            chip.
    """

    kind: Longs
    reach: Bools
    up: Longs
    up_at: Longs
    down: Longs
    down_key: Longs


@functools.lru_cache(maxsize=4)
def choices(topology: Topology) -> Choices:
    """The tables of a network."""
    t = spread.tables(topology)
    n, v, src, dst = topology.chips, topology.vertices, topology.src, topology.dst
    up = t.rises[np.argsort(src[t.rises], kind="stable")]
    up_at = np.searchsorted(src[up], np.arange(v + 1))
    first = up[up_at[np.arange(n)].clip(max=max(len(up) - 1, 0))] if len(up) else np.zeros(0, int)
    _, kind = np.unique(
        dst[first], return_inverse=True
    )  # planes are alike, so the first one tells them apart
    reach = np.zeros((v, int(kind.max(initial=0)) + 1), bool)
    lowest = t.rises[t.tier[src[t.rises]] == 0]
    reach[dst[lowest], kind[src[lowest]]] = True
    for tier in range(1, int(t.tier.max(initial=0))):
        rising = t.rises[t.tier[src[t.rises]] == tier]
        np.logical_or.at(reach, dst[rising], reach[src[rising]])
    inner = t.falls[dst[t.falls] >= n]
    which, whose = np.nonzero(reach[dst[inner]])
    outer = t.falls[dst[t.falls] < n]
    links = np.concatenate([inner[which], outer])
    key = _key(v, src[links], np.concatenate([v + whose, dst[outer]]))
    order = np.argsort(key, kind="stable")
    return Choices(kind, reach, up, up_at, links[order], key[order])


def _key(v: int, vertex: Longs | Ints, goal: Longs | Ints) -> Longs:
    """One number for a vertex and a goal: a chip, or v and more for a kind."""
    return vertex.astype(np.int64) * (2 * v + 1) + goal


def routes(topology: Topology, src: Ints, dst: Ints, seed: int = 0) -> Routes:
    """One route for each pair; the same for the same pair, network and seed.

    Cost: O(pairs) array steps, besides the tables that are made once for each network.

    Raises:
        InputError: if dead links leave a pair without a route.
    """
    t, c = spread.tables(topology), choices(topology)
    found = spread.near(topology, src, dst, _MOST_HOPS)
    ways, row = found.links, np.flatnonzero(found.open)
    flow = _hash(src[row], dst[row], seed)
    at, goal = src[row].astype(np.int64), dst[row].astype(np.int64)
    falling = np.zeros(len(row), bool)
    lost = ~found.open & (src != dst) & (ways[:, 0] < 0)
    for hop in range(_MOST_HOPS):
        falling |= (t.tier[at] > 0) & c.reach[at, c.kind[goal]]
        want = _key(topology.vertices, at, np.where(t.tier[at] == 1, goal, topology.vertices + c.kind[goal]))
        low, high = (np.searchsorted(c.down_key, want, side) for side in ("left", "right"))
        first, many = np.where(falling, low, c.up_at[at]), np.where(falling, high, c.up_at[at + 1])
        many = many - first
        lost[row[many == 0]] = True
        on = many > 0
        pick = first + (mixed(flow + np.uint64(hop + 1)) % np.maximum(many, 1).astype(np.uint64)).astype(int)
        link = np.where(
            falling, c.down[np.where(falling & on, pick, 0)], c.up[np.where(~falling & on, pick, 0)]
        )
        ways[row[on], hop] = link[on]
        at = np.where(on, topology.dst[link], at).astype(np.int64)
        on &= at != goal
        row, at, goal, falling, flow = row[on], at[on], goal[on], falling[on], flow[on]
        if not len(row):
            break
    lost[row] = True
    return spread.finish(topology, src, dst, ways, lost)


def _hash(src: Ints, dst: Ints, seed: int) -> Words:
    """``uint64[p]``."""
    ends = src.astype(np.uint64) * np.uint64(2**32) + dst.astype(np.uint64)
    return mixed(mixed(ends) + np.full(len(src), seed, np.uint64) * np.uint64(GOLDEN))
