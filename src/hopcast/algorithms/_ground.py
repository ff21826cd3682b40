"""Where the trees of a forest grow: links between ranks, in whole numbers of trees."""

import bisect
import functools
from dataclasses import dataclass, replace
from fractions import Fraction

from hopcast.graph import split
from hopcast.graph.optimum import rate_between

from ._network import Wiring

_PARTS = 16  # of a unit of capacity, where whole units cannot be shared evenly enough
_FREE = 64  # times what all shards need: a faster link never binds, and has too many capacities to try
_SCALES = 12  # tried until as many trees fit over routes as over links


@dataclass(frozen=True, eq=False)
class Ground:
    """Links between ranks and how many trees they hold.

    Attributes:
        network: What there is, in trees.
        links: Between ranks.
        count: Trees of each rank.
        parts: Into which a unit of the links' capacity must be cut for so many.
        kept: The part of the optimum that they reach together.
    """

    network: split.Network
    links: split.Direct
    count: int
    parts: int
    kept: float


@functools.lru_cache(maxsize=256)
def of(wiring: Wiring, turned: bool, count: int) -> Ground:
    """The ground of so many trees of each rank, or with 0 of as many as reach the optimum.

    Few trees are shallow and alike, and reach a little less: capacities must hold whole trees.

    Cost: some tens of flows for each rank; for each scale tried as many again.
    """
    network = wiring.network.turned() if turned else wiring.network
    most = optimum(wiring, turned)
    if not most:
        return Ground(network, split.direct(network, most), 0, 1, 0.0)
    scales = _scales(network, count, most) if count else [most.denominator * p for p in (1, _PARTS)]
    best: Ground | None = None
    for scale in map(Fraction, scales):
        finer = scaled(network, scale)
        links = split.direct(finer, Fraction(count) if count else most * scale)
        reached = min(links.rate, Fraction(count)) if count else links.rate
        kept = float(reached / (most * scale))
        if best is None or kept > best.kept:
            best = Ground(finer, links, reached.numerator, reached.denominator, kept)
        if reached == (count or most * scale):
            break
    assert best is not None
    return best


@functools.lru_cache(maxsize=256)
def optimum(wiring: Wiring, turned: bool) -> Fraction:
    """The optimum of a network, or of it with all links turned round."""
    return rate(wiring.network.turned() if turned else wiring.network)


def rate(network: split.Network) -> Fraction:
    """The optimum: what every rank can send to all others, in units of capacity."""
    return rate_between(network.ranks, network.tail, network.head, network.capacity, network.vertices)


def scaled(network: split.Network, scale: Fraction) -> split.Network:
    """With so many times the capacities, in whole numbers below."""
    return replace(network, capacity=network.capacity * scale.numerator // scale.denominator)


def _scales(network: split.Network, count: int, most: Fraction) -> list[Fraction]:
    """By what capacities can be scaled so that, rounded down, so many trees of each rank fit, least first.

    All are between k / most and twice that, where some capacity grows by one.
    """
    low = count / most
    sizes = sorted({int(c) for c in network.capacity if 0 < c <= _FREE * network.ranks * most})
    steps = {Fraction(j, c) for c in sizes for j in range(int(low * c), int(2 * low * c) + 2)}
    tried = sorted({low, 2 * low, *(u for u in steps if low < u < 2 * low)})
    first = bisect.bisect_left(tried, True, key=lambda scale: rate(scaled(network, scale)) >= count)
    return tried[first : first + _SCALES] or tried[-1:]
