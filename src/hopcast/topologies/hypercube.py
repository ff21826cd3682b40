"""A grid of axes of length 2: each chip is joined to those whose number differs in one bit.

``hypercube:4`` has 16 chips.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 5 (2-ary n-cube).
"""

from collections.abc import Sequence

from hopcast.ir.topology import Topology
from hopcast.names import InputError

from ._grid import grid

EXAMPLES = ((1,), (3,), (4,))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """A hypercube of ``shape[0]`` dimensions."""
    if len(shape) != 1 or shape[0] > 14:
        raise InputError(f"{name!r}: a hypercube takes its number of dimensions, 1 to 14, as in hypercube:4")
    return grid(name, [2] * shape[0], [False] * shape[0], bandwidth, latency, half_duplex)


def diameter(shape: Sequence[int]) -> int:
    """Bits in which two chips can differ."""
    return shape[0]


def cut(shape: Sequence[int]) -> int:
    """Links one way between the two halves."""
    return int(2 ** (shape[0] - 1))
