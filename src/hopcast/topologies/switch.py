"""Chips on the ports of one switch that never blocks: an NVSwitch node, a leaf.

A route is one hop: the latency is of the crossing, half of it on the way in and half on the way out.
Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 6 (a crossbar).
"""

from collections.abc import Sequence

import numpy as np

from hopcast.ir.topology import Axis, Topology
from hopcast.names import InputError

EXAMPLES = ((2,), (8,), (72,))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """``shape[0]`` chips and vertex ``shape[0]``, the switch."""
    if len(shape) != 1:
        raise InputError(f"{name!r} has {len(shape)} axes; a switch has a number of ports, as in switch:8")
    n = shape[0]
    chips, switch = np.arange(n, dtype=np.int32), np.full(n, n, np.int32)
    up = np.arange(n)
    return Topology(
        name,
        n,
        n + 1,
        np.concatenate([chips, switch]),
        np.concatenate([switch, chips]),
        np.zeros(2 * n, np.int32),
        np.full(2 * n, float(bandwidth)),
        np.full(2 * n, latency / 2),
        np.concatenate([up, up if half_duplex else up + n]).astype(np.int32),
        (Axis("x", n, False, True),),
        chips[:, None],
        np.zeros((0, 1, 2), np.int32),
    )


def diameter(shape: Sequence[int]) -> int:
    """Crossings of the switch between two chips."""
    return int(shape[0] > 1)


def cut(shape: Sequence[int]) -> int:
    """Ports one way between the two halves."""
    return shape[0] // 2
