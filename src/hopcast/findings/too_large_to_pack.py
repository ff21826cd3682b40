"""Some ranks have fewer links than others, and there are too many to pack trees that would gain from it."""

from hopcast.algorithms import tree_packing
from hopcast.predict import Answer

SOURCE = "derived: the bound by partitions, which packed trees reach (Nash-Williams 1961 and Tutte 1961)"
APPEARS = "predict all_reduce mesh:20x20 --size 1GiB --algorithm best"
ABSENT = "predict all_reduce torus:20x20 --size 1GiB --algorithm best"
_SHORT = 0.9  # of the bound: above it there is little to gain


def when(answer: Answer) -> str | None:
    """The fastest of all algorithms stays far below the bound, and packed trees were not among them."""
    q = answer.question
    if q.collective != "all_reduce" or answer.source != "best" or answer.efficiency >= _SHORT:
        return None
    if answer.is_latency_bound or not tree_packing.is_too_large(q.group):
        return None
    return (
        f"{answer.efficiency:.0%} of the bound is reached: ranks with fewer links hold the others up. "
        "Packed trees (tree_packing) would not wait for them, but are built for up to "
        f"{tree_packing.MOST_RANKS} ranks, and these are {q.group.ranks:,}"
    )


def gain(answer: Answer) -> str:
    """There is nothing else to try."""
    return ""
