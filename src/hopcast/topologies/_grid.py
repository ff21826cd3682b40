"""Chips on a grid of any rank, each axis wrapped or open."""

import math
from collections.abc import Sequence

import numpy as np

from hopcast.ir.topology import Axis, Topology

AXES = "xyzuvwabcdefgh"


def grid(
    name: str,
    shape: Sequence[int],
    wraps: Sequence[bool],
    bandwidth: float,
    latency: float,
    half_duplex: bool = False,
) -> Topology:
    """One chip per grid point and a cable to each neighbour.

    An axis of length 2 is one cable and does not wrap: the wrap-around would join the same two chips.

    Args:
        name: For messages.
        shape: Lengths.
        wraps: For each axis, whether the ends are joined.
        bandwidth: One way, bytes/s.
        latency: Of one link, seconds.
        half_duplex: Whether both ways share the bandwidth.
    """
    n = math.prod(shape)
    wraps = [w and k > 2 for w, k in zip(wraps, shape, strict=True)]
    at = (
        np.stack(np.unravel_index(np.arange(n), shape), 1).astype(np.int32)
        if n
        else np.zeros((0, len(shape)), np.int32)
    )
    port = np.full((n, len(shape), 2), -1, np.int32)
    src, dst, axis, wire = [], [], [], []
    links = 0
    for a, (k, wrap) in enumerate(zip(shape, wraps, strict=True)):
        low = np.flatnonzero((at[:, a] < k - 1) | wrap) if k > 1 else np.zeros(0, int)
        to = at[low].copy()
        to[:, a] = (to[:, a] + 1) % k
        high = np.ravel_multi_index(tuple(to.T), tuple(shape))
        port[low, a, 0] = links + np.arange(len(low))
        port[high, a, 1] = links + len(low) + np.arange(len(low))
        src += [low, high]
        dst += [high, low]
        axis.append(np.full(2 * len(low), a))
        up = links + np.arange(len(low))
        wire.append(np.concatenate([up, up if half_duplex else up + len(low)]))
        links += 2 * len(low)
    columns = (
        [np.concatenate(c).astype(np.int32) for c in (src, dst, axis, wire)]
        if links
        else [np.zeros(0, np.int32)] * 4
    )
    return Topology(
        name,
        n,
        n,
        columns[0],
        columns[1],
        columns[2],
        np.full(links, float(bandwidth)),
        np.full(links, float(latency)),
        columns[3],
        tuple(Axis(AXES[a], k, w) for a, (k, w) in enumerate(zip(shape, wraps, strict=True))),
        at,
        port,
    )
