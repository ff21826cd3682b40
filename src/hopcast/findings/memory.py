"""What a rank must hold is more than the memory of its chip: stream it in parts, or leave it sharded."""

from hopcast.ir.collective import PAIRS
from hopcast.predict import Answer
from hopcast.units import show_size

SOURCE = "derived: D of the collective against HBM capacity in the chip's file, which names its source"
APPEARS = "predict all_gather v5e:4x4 --size 34GB --over x --algorithm chain"
ABSENT = "predict all_gather v5p:4x4x4 --size 34GB --over x --algorithm ring"

_WHOLE = {
    "all_gather": "every rank ends with",
    "all_reduce": "every rank holds",
    "reduce_scatter": "every rank starts with",
    "broadcast": "every rank ends with",
    "reduce": "every rank starts with",
    "gather": "the root ends with",
    "scatter": "the root starts with",
}


def when(answer: Answer) -> str | None:
    """D on one rank, or a rank's part of it, exceeds its HBM."""
    q = answer.question
    capacity, cores = q.cluster.figures.get("hbm.capacity"), q.cluster.topology.cores
    both = 2 if q.collective in PAIRS else 1  # what is sent and what has come, for it does not run in place
    held = q.size if q.collective in _WHOLE else both * q.size / q.group.ranks
    if capacity is None or held <= capacity.value / cores:
        return None
    who, what = _WHOLE.get(q.collective, "every rank holds"), "a chip" if cores == 1 else "a core"
    has = show_size(capacity.value / cores)
    return f"{who} {show_size(held)}, and {what} has {has} of HBM: stream it in parts"


def gain(answer: Answer) -> str:
    """How it is sharded is the user's choice."""
    return ""
