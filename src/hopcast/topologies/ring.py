"""Chips on a closed line, each joined to two neighbours.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 5
(a k-ary 1-cube).
"""

from collections.abc import Sequence

from hopcast.ir.topology import Topology
from hopcast.names import InputError

from ._grid import grid

EXAMPLES = ((2,), (3,), (8,), (16,))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """A ring of ``shape[0]`` chips."""
    if len(shape) != 1:
        raise InputError(f"{name!r} has {len(shape)} axes; a ring has one, as in ring:8")
    return grid(name, shape, [True], bandwidth, latency, half_duplex)


def diameter(shape: Sequence[int]) -> int:
    """Hops between the two chips farthest apart."""
    return shape[0] // 2


def cut(shape: Sequence[int]) -> int:
    """Links one way across the worst halving."""
    return 2 if shape[0] > 2 else shape[0] - 1
