"""Of unequal messages one NIC of a node may have most; spread over all of them it takes less."""

import numpy as np

from hopcast.choose import answer as answer_to
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.units import show_seconds

from . import _command, _fabric

SOURCE = "derived: a node takes no less than its bytes over all its NICs, and NVLink reaches each of them"
_MOE = "--moe tokens=256,hidden=7168,experts=64,top=8"
APPEARS = f"predict all_to_all_v dgx-h100:2 {_MOE},skew=zipf:1.0"
ABSENT = f"predict all_to_all_v dgx-h100:2 {_MOE}"
_BETTER = "pxn,rails=all"
_UNEVEN = 1.25  # times the mean of its node: a NIC busier than that is said to be
_BINDS = 0.75  # of the time: a NIC busy for less is not what it waits for
_WORTH = 0.9  # said if at most this part of the time is left
_PATIENT = 20_000  # messages up to which the other way is simulated, in half a second


def when(answer: Answer) -> str | None:
    """all_to_all_v over nodes that ends with one NIC, while others of its node have long been idle."""
    q = answer.question
    if q.collective != "all_to_all_v" or q.schedule is not None or answer.load is None:
        return None
    if not _fabric.is_pod(q.cluster) or answer.is_latency_bound or answer.algorithm == _BETTER:
        return None
    name, most, mean = _hottest(answer)
    if most < _BINDS * answer.time or most < _UNEVEN * mean:
        return None
    other = _otherwise(answer)
    if other is None:
        return None
    return (
        f"{name} is busy {show_seconds(most)}, the NICs of its node on average {show_seconds(mean)}; "
        f"cut over all NICs of both nodes ({_BETTER}) it takes {other} instead of {show_seconds(answer.time)}"
    )


def gain(answer: Answer) -> str:
    """The same over all rails; nothing where the matrix is not in a file."""
    return _command.predict(answer, algorithm=_BETTER) if answer.question.words else ""


def _hottest(answer: Answer) -> tuple[str, float, float]:
    """The busiest NIC in one direction, its seconds, and the mean of those of its node in that direction."""
    topology, load = answer.question.cluster.topology, answer.load
    assert load is not None
    of = _fabric.node(topology)
    found = ("", 0.0, 0.0)
    for inside, outside in ((topology.src, topology.dst), (topology.dst, topology.src)):
        nics = np.flatnonzero((of[inside] >= 0) & (of[outside] < 0) & (topology.bandwidth > 0))
        seconds, node = load[nics] / topology.bandwidth[nics], of[inside[nics]]
        hot = int(seconds.argmax())
        if seconds[hot] > found[1]:
            mean = float(seconds[node == node[hot]].mean())
            found = (topology.link_name(int(nics[hot])), float(seconds[hot]), mean)
    return found


def _otherwise(answer: Answer) -> str | None:
    """How long it takes over all rails, in words; None where that is hardly less, or does not fit.

    Of very many messages only the least is said, and only if it is less than half.
    """
    q = answer.question
    matrix = q.hint.matrix
    if matrix is None or np.count_nonzero(matrix) * len(q.group.all_groups) > _PATIENT:
        least = answer.bound.seconds
        return f"{show_seconds(least)} or little more" if least < answer.time / 2 else None
    try:
        time = answer_to(q, _BETTER).time
    except InputError:
        return None
    return show_seconds(time) if time <= _WORTH * answer.time else None
