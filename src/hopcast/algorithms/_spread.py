"""An all_gather grown round by round where ranks differ: a dead NIC, slow links, chips at the ends of a grid.

What every rank sends over each of its routes is found by `hopcast.graph.spreading`; how many pieces a shard
has and how long rounds are is chosen for the size.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.graph import lateness, spreading
from hopcast.graph.split import Network, Path
from hopcast.graph.spreading import Spread, Ways
from hopcast.ir.collective import of as collective
from hopcast.ir.schedule import Schedule, from_columns, one_group

from . import _ground, _links, _trials
from ._network import Wiring

MOST_SENDS = 66_000  # of all pieces of all shards, where one piece of each has no more
_MOST_CHUNKS = 2_048
_EFFORT = 500_000_000  # looks at chunks in all trials together, about a second
_ENOUGH = 1.005  # times the least time: nothing better is looked for
# Ranks beyond which rounds have at most 2 ** 1 units where the mirror image is wanted. In flows of it longer
# ones lose up to 4 % on 64 and 128 ranks, and gain as much on 16 to 32 (dead and slow NICs, 2026-11).
_FEW_MIRRORED, _MIRRORED = 32, 1
_LAME, _KEPT = 1 / 16, 0.99  # of the optimum: links below the one are left out if all others reach the other
_PARTS = 1, 2, 3, 4, 5, 6, 8, 10
_SHORTEST = 1, 2, 3, 4, 6
_LONGEST = 63  # units, as a power of two: as long as may be
_SLOW = 0.5  # of the time of the slowest kind of ways, from which another may give the length of rounds
_SAME = 9  # decimals up to which two are of a kind


@functools.lru_cache(maxsize=64)
def ways(wiring: Wiring, turned: bool) -> Ways:
    """The routes of a network, or of it with all links turned round."""
    network = wiring.network.turned() if turned else wiring.network
    routes = _worth(network, _ground.optimum(wiring, turned))
    first = np.concatenate([[0], np.cumsum([len(path) for path in routes])])
    link = np.fromiter(itertools.chain(*routes), np.int64)
    src, dst = network.tail[link[first[:-1]]], network.head[link[first[1:] - 1]]
    return Ways(network.ranks, src, dst, first, link, 1 / (network.capacity * float(wiring.unit)))


def _worth(network: Network, most: Fraction) -> Sequence[Path]:
    """The routes that do not take longer for a piece than others for all, if these are enough."""
    lame = network.capacity < _LAME * float(most)
    if not lame.any():
        return network.routes
    others = replace(network, capacity=np.where(lame, 0, network.capacity))
    if _ground.rate(others) < _KEPT * most:
        return network.routes
    found = [path for path in network.routes if not lame[list(path)].any()]
    ends = np.array([(network.tail[p[0]], network.head[p[-1]]) for p in found], np.int32)
    return found if _links.joined(ends, network.ranks) else network.routes


def is_joined(wiring: Wiring) -> bool:
    """Whether every rank can reach every other."""
    far = ways(wiring, False).far
    return bool(np.all(far + np.eye(len(far), dtype=np.int64)))


def is_steady(wiring: Wiring, turned: bool) -> bool:
    """Whether every route is a link of its own, so that without barriers nobody is in another's way."""
    over = ways(wiring, turned)
    return len(over.link) == len(over.src) == len(np.unique(over.link))


@functools.lru_cache(maxsize=32)
def fastest(
    wiring: Wiring, turned: bool, rate: float, shard: float, mirror: bool = False, most: int = MOST_SENDS,
    seed: int = 0,
) -> Spread:  # fmt: skip
    """What takes least of all that is tried.

    Args:
        wiring: The network.
        turned: Whether all links are turned round.
        rate: The optimum, bytes/s of every shard.
        shard: Bytes.
        mirror: Whether its mirror image is wanted too.
        most: Sends of all pieces, where one piece has no more.
        seed: Other choices among equals.

    Cost: about a second where compiled, up to 64 ranks.
    """
    over = ways(wiring, turned)
    sends = over.ranks * (over.ranks - 1)
    slow, kinds = np.unique((over.slowest / over.slowest.max()).round(_SAME), return_counts=True)
    common = np.argsort(-kinds[slow > _SLOW], kind="stable")
    units = (slow[slow > _SLOW][common] * over.slowest.max()).tolist()
    many = max(1, min(most // sends, _MOST_CHUNKS // over.ranks))
    pieces = [1 << i for i in range(many.bit_length())]

    def make(pieces: int, cut: tuple[int, ...], unit: float) -> Spread:
        return spreading.spread(over, pieces, tuple(length * unit for length in cut), unit, seed)

    begins, cap = [], _MIRRORED if mirror and over.ranks > _FEW_MIRRORED else _LONGEST
    for k in dict.fromkeys((0, len(pieces) - 1)):
        for i, unit in enumerate(units[:2]):
            longest = max(0, int(math.log2(max(1.0, pieces[k] / rate / unit))) - 2)
            begins.append(_trials.Place(k, min(longest, cap), _PARTS.index(6) if k else 0, i, 2 if k else 0))

    def work(pieces: int) -> int:
        return sends * pieces * over.ranks * pieces

    field = _trials.Field(make, pieces, units, _PARTS, _SHORTEST, begins, rate, work, _EFFORT, _ENOUGH, cap)
    return _trials.fastest(field, wiring.latency, shard)


def schedule(wiring: Wiring, turned: bool, made: Spread, mirror: bool = False) -> Schedule:
    """The all_gather, or the one of which the ``mirror`` image is wanted.

    Where every route is a link of its own, each goes on when it can: up to 5 % less time in flows (2026-11).
    Where they share NICs and switches they would get in each other's way, so each rank ends a round first.
    """
    over, n = ways(wiring, turned), wiring.network.ranks
    made = lateness.late(over, made) if mirror else made
    src, dst = over.src[made.way], over.dst[made.way]
    columns: dict[str, npt.ArrayLike] = {"step": made.round, "chunk": made.chunk, "src": src, "dst": dst}
    if is_steady(wiring, turned):
        columns["lane"] = src if mirror else dst
    return from_columns(collective("all_gather", n, parts=made.pieces), "forest", one_group(n), columns)
