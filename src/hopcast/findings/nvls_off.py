"""The switch of the node could add and multicast (NVLink SHARP), and does not."""

from dataclasses import replace

from hopcast import algorithms
from hopcast.ir.cluster import Cluster
from hopcast.predict import Answer
from hopcast.question import Question
from hopcast.units import show_seconds

from . import _command, _fabric, _library

SOURCE = (
    "Klenk et al. 2020, doi:10.1109/ISCA45697.2020.00085 (reduction in NVSwitch); "
    "Gordic 2026, Inside TPU and GPU clusters, part 6"
)
APPEARS = "predict all_reduce dgx-h100,nvls=off --size 1GiB"
ABSENT = "predict all_reduce dgx-a100 --size 1GiB"
_WORTH = 0.98  # said if at most this part of the time is left


def when(answer: Answer) -> str | None:
    """all_reduce inside a node whose switch reduces, or would if it were not switched off, by other means."""
    better = _better(answer)
    if better is None:
        return None
    how = "is off" if _off(answer.question.cluster) else "is not used"
    return (
        f"NVLS {how}: with it all_reduce takes {show_seconds(better)} instead of {show_seconds(answer.time)} "
        f"({answer.time / better:.3g} times as fast, ideal)"
    )


def gain(answer: Answer) -> str:
    """The same with it."""
    cluster = answer.question.cluster
    if _off(cluster):
        return _command.predict(answer, cluster=_fabric.without(cluster, "nvls"), algorithm="nvls")
    return _command.predict(answer, algorithm="nvls")


def _off(cluster: Cluster) -> bool:
    return cluster.options.get("nvls") == "off"


def _better(answer: Answer) -> float | None:
    """Seconds by nvls, where that is worth it."""
    q = answer.question
    inside = q.group.switched and not q.group.levels and q.group.ranks > 1
    if q.collective != "all_reduce" or q.schedule is not None or not inside or _in_network(answer):
        return None
    where = _library.elsewhere(q, _fabric.rebuilt(q.cluster, "nvls")) if _off(q.cluster) else q
    time = None if where is None else _seconds(where)
    return time if time is not None and time <= _WORTH * answer.time else None


def _in_network(answer: Answer) -> bool:
    return answer.algorithm.split(",")[0] in ("nvls", "sharp")


def _seconds(question: Question) -> float | None:
    one, hint = algorithms.get("nvls"), replace(question.hint, options={})
    if question.group.ability != "nvls":  # switches between nodes may add too, by other means
        return None
    if one.valid(question.collective, question.group, hint) is not None:
        return None
    cost = one.cost(question.collective, question.group, hint)
    return None if cost is None else cost.total()
