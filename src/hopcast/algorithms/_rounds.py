"""Rounds of algorithms that double what a rank holds, and their closed forms on a switch."""

from hopcast.ir.group import Cost, Group


def rounds(ranks: int) -> int:
    """The least k with 2**k >= ranks.

    >>> [rounds(n) for n in (2, 3, 4, 5, 8)]
    [1, 2, 2, 3, 3]
    """
    return (ranks - 1).bit_length()


def is_power_of_two(ranks: int) -> bool:
    """Whether doubling ends at exactly this many ranks."""
    return ranks == 1 << rounds(ranks)


def power_below(ranks: int) -> int:
    """The greatest power of two that is at most ``ranks``.

    >>> [power_below(n) for n in (2, 3, 4, 7)]
    [2, 2, 4, 4]
    """
    return 1 << (ranks.bit_length() - 1)


def on_switch(group: Group, crossings: int, volume: float) -> Cost | None:
    """The time of so many steps in which the busiest port carries ``volume`` bytes in all; None off a switch.

    Args:
        group: Of the ranks.
        crossings: Steps, each one crossing of the switch.
        volume: Bytes through the busiest port one way, summed over the steps.
    """
    if not group.switched:
        return None
    return Cost(crossings * group.latency[0], volume / group.bandwidth[0])
