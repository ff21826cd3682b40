"""What an all_to_all over all ranks puts on the links of one axis."""

from hopcast.ir.topology import Axis


def axis_load(axis: Axis) -> float:
    """Bytes over the busiest link of an axis, in units of D / N.

    Messages go the shorter way, and half each way where both are equal.

    A link of a ring of n carries n / 8 (n even) or (n^2 - 1) / (8 n) (n odd) of what a rank sends, the middle
    link of an open axis n / 4 or (n^2 - 1) / (4 n).

    Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, section 3.3 (channel
    load).

    >>> axis_load(Axis("x", 8, True)), axis_load(Axis("x", 4, False)), axis_load(Axis("x", 2, False))
    (1.0, 1.0, 0.5)
    """
    n = axis.length
    return n * n // 4 / n / 2 if axis.wraps else n * n // 4 / n


def axis_hops(axis: Axis) -> int:
    """Links of the longest route along an axis.

    >>> axis_hops(Axis("x", 8, True)), axis_hops(Axis("x", 4, False))
    (4, 3)
    """
    return axis.length // 2 if axis.wraps else axis.length - 1
