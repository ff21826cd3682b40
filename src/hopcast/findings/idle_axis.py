"""Links of other axes lie idle while this collective runs."""

import math

import numpy as np

from hopcast.ir import mesh as meshes
from hopcast.ir import sharding
from hopcast.predict import Answer
from hopcast.price import bounds, bounds_traffic
from hopcast.question import Question
from hopcast.units import show_seconds

from . import _command

SOURCE = (
    "jax-ml scaling-book, chapter Sharding: an array sharded over several axes is gathered over all of them"
)
APPEARS = "predict all_gather v5e:4x4 --size 8MiB --over x"
ABSENT = "predict all_gather v5e:4x4 --size 8MiB --over x,y"
_SUMS = ("all_reduce", "reduce_scatter")
_WORTH = 0.95  # of the time that it takes as asked


def when(answer: Answer) -> str | None:
    """It runs over some axes only, is not a matter of latency, and others may hold the same."""
    q = answer.question
    idle = _idle(answer)
    if not idle or answer.is_latency_bound or _others_differ(q, idle):
        return None
    here = f"over {','.join(q.over)} alone it needs {show_seconds(answer.bound.seconds)}"
    if q.collective in _SUMS:
        return _shared_out(answer, ",".join(idle), here)
    chips = math.prod(q.cluster.topology.shape)
    everyone = np.arange(chips, dtype=np.int32)[None]
    whole = bounds.limit(q.cluster, bounds_traffic.standard(q.collective, chips), everyone, q.size)
    return (
        f"the links of {', '.join(idle)} are idle; the same array sharded over all axes would need "
        f"{show_seconds(whole.seconds)} at least, {here}"
    )


def _others_differ(question: Question, idle: list[str]) -> bool:
    """Whether chips along other axes hold other data: they cut the array, or are those of a mesh in use."""
    axes = question.cluster.topology.axes
    if question.mesh.names != meshes.physical(question.cluster.topology).names:
        return True
    if not sharding.is_sharded(question.said):
        return False
    return bool(set(idle) & set(sharding.parse(question.said, {a.name: a.length for a in axes}).sharded))


def _shared_out(answer: Answer, idle: str, here: str) -> str | None:
    """Each of n copies sums one n-th of the array, and they gather the sums."""
    q = answer.question
    others = _others(q)
    along = meshes.group(q.cluster, q.mesh, others)
    copies = along.ranks
    some = bounds_traffic.standard(q.collective, q.group.ranks)
    sums = bounds.limit(q.cluster, some, q.group.all_groups, q.size / copies).seconds
    whole = bounds_traffic.standard("all_gather", copies)
    result = q.size if q.collective == "all_reduce" else q.size / q.group.ranks
    gathered = bounds.limit(q.cluster, whole, along.all_groups, result).seconds
    if sums + gathered > _WORTH * answer.bound.seconds:
        return None
    return (
        f"the links of {idle} are idle; if chips along {idle} hold copies, each of the {copies} can reduce "
        f"its part, {show_seconds(sums)} at least, and gather the rest over {','.join(others)}, "
        f"{show_seconds(gathered)}; {here}"
    )


def _others(question: Question) -> tuple[str, ...]:
    axes = question.cluster.topology.axes
    return tuple(a.name for a in axes if a.length > 1 and a.name not in question.over)


def gain(answer: Answer) -> str:
    """The same array over all axes; of sums over copies, the part of one."""
    q = answer.question
    if q.collective in _SUMS:
        copies = math.prod(a.length for a in q.cluster.topology.axes if a.name in _others(q))
        return _command.predict(answer, size=q.size / copies)
    return _command.predict(answer, over=",".join(a.name for a in q.cluster.topology.axes))


def _idle(answer: Answer) -> list[str]:
    q = answer.question
    axes = q.physical_axes
    if axes is None or q.group.ranks == 1 or q.collective not in (*_SUMS, "all_gather"):
        return []
    if q.cluster.topology.is_slices:
        return []  # links within a slice and those between slices are no help to each other
    return [a.name for i, a in enumerate(q.cluster.topology.axes) if i not in axes and a.length > 1]
