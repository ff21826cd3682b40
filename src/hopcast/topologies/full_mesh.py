"""Every chip joined to every other by a cable of its own: the xGMI mesh of an AMD node.

Unlike on a switch, what goes to one peer has one cable and no more.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, chapter 1 (a fully
connected network).
"""

import itertools
from collections.abc import Sequence

import numpy as np

from hopcast.ir.topology import Axis, Topology
from hopcast.names import InputError

EXAMPLES = ((1,), (2,), (5,), (8,))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """``shape[0]`` chips; cable after cable, each as two links.

    The axis counts as switched, for any chip reaches any other in one hop and there is no line of chips.

    Args:
        name: For messages.
        shape: One number.
        bandwidth: Of a cable one way, bytes/s.
        latency: Of a cable, seconds.
        half_duplex: Whether both ways share the bandwidth.

    Raises:
        InputError: if there is more than one number.

    Cost: O(n^2).

    >>> build("full_mesh:4", (4,), 1.0, 0.0).links
    12
    """
    if len(shape) != 1:
        raise InputError(
            f"{name!r} has {len(shape)} axes; a full mesh has a number of chips, as in full_mesh:8"
        )
    n = shape[0]
    pairs = np.array(list(itertools.combinations(range(n), 2)), np.int32).reshape(-1, 2)
    m = 2 * len(pairs)
    wire = np.arange(m, dtype=np.int32)
    return Topology(
        name, n, n, pairs.ravel(), pairs[:, ::-1].ravel(), np.zeros(m, np.int32), np.full(m,
        float(bandwidth)), np.full(m, float(latency)), wire - wire % 2 if half_duplex else wire, (Axis("x", n,
        False, True),), np.arange(n, dtype=np.int32)[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip


def diameter(shape: Sequence[int]) -> int:
    """One cable between any two chips."""
    return int(shape[0] > 1)


def cut(shape: Sequence[int]) -> int:
    """Cables between the floor and ceil halves."""
    return (shape[0] // 2) * (shape[0] - shape[0] // 2)
