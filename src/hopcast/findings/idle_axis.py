"""Links of other axes lie idle while this collective runs."""

import math

import numpy as np

from hopcast.ir.collective import NAMES
from hopcast.predict import Answer
from hopcast.price import bounds, bounds_traffic
from hopcast.units import show_seconds

from . import _command

SOURCE = (
    "jax-ml scaling-book, chapter Sharding: an array sharded over several axes is gathered over all of them"
)
APPEARS = "predict all_gather v5e:4x4 --size 8MiB --over x"
ABSENT = "predict all_gather v5e:4x4 --size 8MiB --over x,y"


def when(answer: Answer) -> str | None:
    """It runs over some axes only, and is not a matter of latency."""
    q = answer.question
    idle = _idle(answer)
    if not idle or answer.latency > answer.bandwidth:
        return None
    chips = math.prod(q.cluster.topology.shape)
    everyone = np.arange(chips, dtype=np.int32)[None]
    whole = bounds.limit(q.cluster, bounds_traffic.standard(q.collective, chips), everyone, q.size)
    return (
        f"the links of {', '.join(idle)} are idle; the same array sharded over all axes would need "
        f"{show_seconds(whole.seconds)} at least, "
        f"over {','.join(q.over)} alone it needs {show_seconds(answer.bound.seconds)}"
    )


def gain(answer: Answer) -> str:
    """The same array over all axes."""
    return _command.predict(answer, over=",".join(a.name for a in answer.question.cluster.topology.axes))


def _idle(answer: Answer) -> list[str]:
    q = answer.question
    axes = q.physical_axes
    if axes is None or q.group.ranks == 1 or q.collective not in NAMES or q.collective == "permute":
        return []
    if q.cluster.topology.is_slices:
        return []  # links within a slice and those between slices are no help to each other
    return [a.name for i, a in enumerate(q.cluster.topology.axes) if i not in axes and a.length > 1]
