"""Packed trees beat reduce_scatter with all_gather on open meshes, but not for small arrays.

And no library runs them.
"""

import math

from hopcast.algorithms import tree_packing
from hopcast.choose import library
from hopcast.predict import Answer
from hopcast.units import show_seconds, show_size

from . import _command, _library

SOURCE = (
    "collective_algorithm_config of the TPU compiler, libtpu of jax 0.10.2, and NVIDIA/nccl v2.30, "
    "src/graph/tuning.cc, both read 2026-11: neither has packed spanning trees; the size is derived from the "
    "times of both by hops and bytes"
)
APPEARS = "predict all_reduce v5e:4x4 --size 64MiB --algorithm tree_packing"
ABSENT = "predict all_reduce v5e:4x4 --size 64MiB --algorithm multi_axis"


def when(answer: Answer) -> str | None:
    """An answer by packed trees."""
    q = answer.question
    if not answer.algorithm.startswith("tree_packing"):
        return None
    theirs, time = library(q), _library.seconds(q)
    runs = f"; XLA runs {theirs.name}" if theirs and q.cluster.library == "xla" else ""
    takes = f", {show_seconds(time)} by its closed form" if runs and time is not None else ""
    least = tree_packing.worth_from(q.group)
    size = show_size(2.0 ** round(math.log2(least))) if 0 < least < math.inf else ""
    below = f"; below about {size} reduce_scatter with all_gather, at its limit, takes less"
    return f"no library runs packed trees{runs}{takes}{below if size else ''}"


def gain(answer: Answer) -> str:
    """All algorithms, for an array for which others may take less."""
    small = answer.question.size < tree_packing.worth_from(answer.question.group)
    return _command.predict(answer, algorithm="best") if small and answer.source != "best" else ""
