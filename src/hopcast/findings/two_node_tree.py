"""Between two nodes half of what busbw assumes crosses the network, so busbw exceeds the NICs' rate."""

from hopcast.ir.collective import busbw_factor
from hopcast.predict import Answer
from hopcast.units import show_rate

from . import _fabric

SOURCE = (
    "nccl-tests, doc/PERFORMANCE.md (busbw of all_reduce counts 2 (n - 1) / n of the size for each rank, as "
    "a ring sends); derived: two nodes need only exchange their sums, D each way"
)
APPEARS = "predict all_reduce dgx-h100:2 --size 1GiB"
ABSENT = "predict all_reduce dgx-h100:4 --size 1GiB"
_LESS = 0.6  # of what busbw counts


def when(answer: Answer) -> str | None:
    """all_reduce over two nodes each of which sends little more than the array."""
    q = answer.question
    topology = q.cluster.topology
    if q.collective != "all_reduce" or answer.load is None or answer.time == 0:
        return None
    if not _fabric.is_pod(q.cluster) or topology.shape[0] != 2 or q.group.ranks != topology.chips:
        return None
    out = _fabric.nics(topology)
    each = float(answer.load[out].sum()) / 2
    counted = busbw_factor(q.collective, q.group.ranks) * q.size
    if each > _LESS * counted:
        return None
    rated = float(topology.bandwidth[out].sum()) / 2
    bus, real = (show_rate(b / answer.time) for b in (counted, each))
    return (
        f"a node sends {each / q.size:.3g} D over its NICs, where busbw counts {counted / q.size:.4g} D: a "
        f"busbw of {bus} is {real} of the {show_rate(rated)} that can leave a node; do not set it beside "
        "busbw of more nodes"
    )


def gain(answer: Answer) -> str:
    """It is about how the number reads."""
    return ""
