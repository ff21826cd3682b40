"""A torus of axes n and 2n whose short axes are twisted: ``torus:4x4x8,twisted``.

Crossing the wrap-around of an axis of length n also moves by n along every axis of length 2n. All links
then look alike, and pairs of chips are nearer to each other than on the straight torus: 4x4x8 has diameter
6 in place of 8 and 3.4375 hops on average in place of 4.

Source: Camara, Moreto, Vallejo, Beivide, Miguel-Alonso, Martinez and Navaridas 2010, Twisted torus
topologies for enhanced interconnection networks, IEEE TPDS 21(12), 1765; which shapes TPUs have:
https://docs.cloud.google.com/tpu/docs/v4 (read 2026-11-29).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopcast.ir.topology import Topology
from hopcast.names import InputError

from ._grid import grid

EXAMPLES = ((4, 8), (4, 4, 8), (4, 8, 8), (8, 4, 4), (8, 8, 16))
SHAPES = "n x 2n, n x n x 2n or n x 2n x 2n with n a multiple of 4, such as 4x8, 4x4x8, 4x8x8, 8x8x16"


def twistable(shape: Sequence[int]) -> bool:
    """Whether a torus of this shape, in any order of its axes, can be twisted.

    >>> twistable((4, 4, 8)), twistable((8, 8, 4)), twistable((4, 4, 4)), twistable((6, 6, 12))
    (True, True, False, False)
    """
    n = min(shape)
    return len(shape) in (2, 3) and n % 4 == 0 and set(shape) == {n, 2 * n}


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """A twisted torus. Ports, coordinates and axes are the torus's; only wrap-arounds lead elsewhere.

    Args:
        name: For messages.
        shape: Lengths.
        bandwidth: One way, bytes/s.
        latency: Of one link, seconds.
        half_duplex: Whether both ways share the bandwidth.

    Raises:
        InputError: if the shape cannot be twisted; it names those that can.

    >>> t = build("torus:4x4x8,twisted", (4, 4, 8), 1.0, 0.0)
    >>> t.place(int(t.dst[t.port[3 * 32, 0, 0]]))  # up from 3,0,0 along x
    '0,0,4'
    """
    if not twistable(shape):
        raise InputError(f"{name}: {'x'.join(map(str, shape))} cannot be twisted; what can is {SHAPES}")
    straight = grid(name, shape, [True] * len(shape), bandwidth, latency, half_duplex)
    n, lengths = min(shape), np.array(shape)
    shift = np.where(lengths == n, 0, n)
    src, dst, port = straight.src.copy(), straight.dst.copy(), straight.port.copy()
    for a in np.flatnonzero(lengths == n):
        low = np.flatnonzero(straight.coords[:, a] == n - 1)
        to = (straight.coords[low] + shift) % lengths
        to[:, a] = 0
        high = np.ravel_multi_index(tuple(to.T), tuple(shape))
        up = straight.port[low, a, 0]
        down = straight.port[straight.dst[up], a, 1]  # the other direction of the same cable
        dst[up], src[down], port[high, a, 1] = high, high, down
    return replace(straight, src=src, dst=dst, port=port)


def diameter(shape: Sequence[int]) -> int:
    """Hops between the two chips farthest apart: n on two axes, 3n/2 on three."""
    return len(shape) * min(shape) // 2


def cut(shape: Sequence[int]) -> int:
    """Links one way between the two halves of any axis: twisted wrap-arounds cross those of a long one."""
    return 2 * math.prod(shape) // min(shape)
