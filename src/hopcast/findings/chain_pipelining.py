"""all_reduce on an open axis need not be reduce_scatter, then all_gather.

Reducing one way while broadcasting the other costs half.
"""

from hopcast import algorithms
from hopcast.ir.group import Hint
from hopcast.predict import Answer
from hopcast.units import show_seconds

from . import _command

SOURCE = (
    "derived: reduce_scatter + all_gather on a chain moves 2 (n - 1) / n of D over each link and way, "
    "a pipelined reduce + broadcast D"
)
APPEARS = "predict all_reduce v5e:4x4 --size 8MiB --over x"
ABSENT = "predict all_reduce v5e:16x16 --size 8MiB --over x"


def when(answer: Answer) -> str | None:
    """all_reduce along one open axis by something slower than the pipelined chain."""
    better = _pipelined(answer)
    if better is None:
        return None
    return (
        "pipelined_chain reduces one way and broadcasts the other in chunks at once: "
        f"{show_seconds(better)} instead of {show_seconds(answer.time)}"
    )


def gain(answer: Answer) -> str:
    """The same question with that algorithm."""
    return _command.predict(answer, algorithm="pipelined_chain")


def _pipelined(answer: Answer) -> float | None:
    q = answer.question
    if (
        q.collective != "all_reduce"
        or len(q.group.axes) != 1
        or q.group.axes[0].wraps
        or q.group.switched
        or q.group.ranks < 3
    ):
        return None
    if answer.algorithm.startswith("pipelined_chain"):
        return None
    one = algorithms.get("pipelined_chain")
    hint = Hint(q.size, q.hint.alpha)
    cost = one.cost(q.collective, q.group, hint) if one.valid(q.collective, q.group, hint) is None else None
    return cost.total() if cost and cost.total() < 0.98 * answer.time else None
