"""Between slices the data centre network takes longer than the links inside the slices."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hopcast import clusters
from hopcast.chips import slices
from hopcast.choose import answer as answer_to
from hopcast.ir import mesh as meshes
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.question import Question
from hopcast.units import show_seconds

from . import _command

SOURCE = "Gordic 2026, Inside TPU and GPU clusters, part 1: DCN is slower than PCIe and easily the bottleneck"
APPEARS = "predict all_reduce v5e:4x4,slices=2 --size 64MiB"
ABSENT = "predict all_reduce v5e:4x4,slices=2 --size 64MiB --over x,y"
_WORTH = 0.98  # of the time that it takes as asked: a better command takes at most this
_PATIENT = 64  # chips up to which all algorithms are tried on fewer slices, in about a second


def when(answer: Answer) -> str | None:
    """A collective over slices and inside them whose busiest PCIe link or NIC is busier than that of ICI."""
    q = answer.question
    if not q.cluster.topology.is_slices or not q.group.levels or answer.is_latency_bound:
        return None
    outside, inside = busiest(answer)
    if outside <= inside:
        return None
    return (
        f"the way between slices (PCIe, NIC, DCN) is busy {show_seconds(outside)}, "
        f"the links inside them {show_seconds(inside)}: the data centre network binds"
    )


def busiest(answer: Answer) -> tuple[float, float]:
    """Seconds that the busiest link takes for its bytes: of those outside the slices, and of those inside."""
    topology, load = answer.question.cluster.topology, answer.load
    if load is None:
        return 0.0, 0.0
    used = load > 0
    seconds = np.zeros(topology.links)
    seconds[used] = load[used] / topology.bandwidth[used]
    outside = topology.axis == 0
    return float(seconds[outside].max(initial=0.0)), float(seconds[~outside].max(initial=0.0))


def gain(answer: Answer) -> str:
    """As many chips in fewer slices, where there are such slices and it takes less time there."""
    q = answer.question
    whole = not q.over or len(q.over) == len(q.mesh.names)
    if q.words or q.schedule is not None or not whole:
        return ""  # what these mean depends on the shape
    given = answer.algorithm if answer.source == "named" else ""
    tries = [given] if given else ["", *(["best"] if q.group.ranks <= _PATIENT else [])]
    for name in _fewer(answer):
        asked = _there(q, name)
        for algorithm in tries:
            try:
                time = answer_to(asked, algorithm or "auto").time
            except InputError:  # this algorithm needs slices
                continue
            if time <= _WORTH * answer.time:
                return _command.predict(answer, cluster=name, over="", algorithm=algorithm)
    return ""


def _fewer(answer: Answer) -> Iterator[str]:
    """Clusters of as many chips in fewer slices, the fewest first."""
    cluster = answer.question.cluster
    topology = cluster.topology
    kept = [k if k == "twisted" else f"{k}={v}" for k, v in cluster.options.items() if k != "slices"]
    if "twisted" in kept:
        return
    for count in range(1, topology.axes[0].length):
        if topology.chips % count == 0:
            larger = slices.shapes(cluster.family, topology.chips // topology.cores // count)
            if larger:
                head = f"{cluster.family}:{slices.spell(larger[0].shape)}"
                yield ",".join([head, *([f"slices={count}"] if count > 1 else []), *kept])


def _there(question: Question, name: str) -> Question:
    """The same question of all chips of another cluster."""
    cluster = clusters.cluster(name)
    layout = meshes.physical(cluster.topology)
    group = meshes.group(cluster, layout, ())
    hint = replace(question.hint, alpha=max(group.latency, default=0.0), options={})
    return replace(question, cluster=cluster, mesh=layout, over=(), group=group, hint=hint)
