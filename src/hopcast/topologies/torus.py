"""A grid of any rank whose axes all wrap around: the network of TPU pods.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 5 (k-ary n-cube).
"""

import math
from collections.abc import Sequence

from hopcast.ir.topology import Topology

from ._grid import grid

EXAMPLES = ((8,), (4, 4), (3, 5), (2, 2, 2), (4, 4, 4), (4, 4, 8), (1, 6))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """A torus; an axis of length 2 is one cable."""
    return grid(name, shape, [True] * len(shape), bandwidth, latency, half_duplex)


def diameter(shape: Sequence[int]) -> int:
    """Hops between the two chips farthest apart."""
    return sum(k // 2 for k in shape)


def cut(shape: Sequence[int]) -> int:
    """Links one way between the floor and ceil halves of the longest axis."""
    longest = max(shape)
    return math.prod(shape) // longest * (2 if longest > 2 else longest - 1)
