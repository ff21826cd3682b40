"""A grid of any rank whose axes are open: a torus without its wrap-arounds; ``wraps=y`` closes chosen axes.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 5 (k-ary n-mesh).
"""

import math
from collections.abc import Sequence

from hopcast.ir.topology import Topology

from ._grid import grid

EXAMPLES = ((4, 4), (3, 5), (2, 4), (2, 2, 4), (8, 1))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """An open grid."""
    return grid(name, shape, [False] * len(shape), bandwidth, latency, half_duplex)


def diameter(shape: Sequence[int]) -> int:
    """Hops between opposite corners."""
    return sum(k - 1 for k in shape)


def cut(shape: Sequence[int]) -> int:
    """Links one way between the floor and ceil halves of the longest axis."""
    longest = max(shape)
    return math.prod(shape) // longest if longest > 1 else 0
