"""Between slices the data centre network takes longer than the links inside the slices."""

import numpy as np

from hopcast.chips import slices
from hopcast.predict import Answer
from hopcast.units import show_seconds

from . import _command

SOURCE = "Gordic 2026, Inside TPU and GPU clusters, part 1: DCN is slower than PCIe and easily the bottleneck"
APPEARS = "predict all_reduce v5e:2x4,slices=2 --size 64MiB"
ABSENT = "predict all_reduce v5e:8x8,slices=2,latency=0 --size 64MiB"
APPEARS = "predict all_reduce v5e:4x4,slices=2 --size 64MiB"
ABSENT = "predict all_reduce v5e:4x4,slices=2 --size 64MiB --over x,y"


def when(answer: Answer) -> str | None:
    """A collective over slices and inside them whose busiest PCIe link or NIC is busier than that of ICI."""
    q = answer.question
    if not q.cluster.topology.is_slices or not q.group.levels or answer.latency > answer.bandwidth:
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
    """As many chips in fewer slices, where there are such slices."""
    cluster = answer.question.cluster
    topology = cluster.topology
    kept = [k if k == "twisted" else f"{k}={v}" for k, v in cluster.options.items() if k != "slices"]
    for count in range(1, topology.axes[0].length):
        if topology.chips % count == 0 and "twisted" not in kept:
            larger = slices.shapes(cluster.family, topology.chips // topology.cores // count)
            if larger:
                head = f"{cluster.family}:{slices.spell(larger[0].shape)}"
                name = ",".join([head, *([f"slices={count}"] if count > 1 else []), *kept])
                return _command.predict(answer, cluster=name)
    return ""
