"""Chips on an open line: a ring without the last cable.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 5 (a 1-D mesh).
"""

from collections.abc import Sequence

from hopcast.ir.topology import Topology
from hopcast.names import InputError

from ._grid import grid

EXAMPLES = ((2,), (3,), (4,), (9,))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """A chain of ``shape[0]`` chips."""
    if len(shape) != 1:
        raise InputError(f"{name!r} has {len(shape)} axes; a chain has one, as in chain:4")
    return grid(name, shape, [False], bandwidth, latency, half_duplex)


def diameter(shape: Sequence[int]) -> int:
    """Hops between the two ends."""
    return shape[0] - 1


def cut(shape: Sequence[int]) -> int:
    """Links one way across the worst halving."""
    return int(shape[0] > 1)
