"""Leaves have more cables down than up, and what crosses the spines waits for the cables up."""

from hopcast.predict import Answer
from hopcast.units import show_seconds

from . import _command, _fabric

SOURCE = (
    "Gordic 2026, Inside TPU and GPU clusters, part 5 (downlink over uplink capacity of a switch); "
    "Leiserson 1985, Fat-trees, doi:10.1109/TC.1985.6312192"
)
APPEARS = "predict all_to_all dgx-h100:4,oversubscription=2 --size 1GiB --algorithm direct"
ABSENT = "predict all_to_all dgx-h100:4,oversubscription=2 --size 1GiB --algorithm pxn"


def when(answer: Answer) -> str | None:
    """The busiest link above the leaves takes longer for its bytes than the busiest NIC."""
    cluster = answer.question.cluster
    if answer.load is None or answer.is_latency_bound or not _fabric.is_pod(cluster):
        return None
    topology = cluster.topology
    ratio = _ratio(answer)
    above = _fabric.busy(topology, answer.load, _fabric.uplinks(topology))
    out = _fabric.busy(topology, answer.load, _fabric.nics(topology))
    if ratio < 1.01 or above <= 1.01 * out:
        return None
    return (
        f"leaves are oversubscribed {ratio:.3g}:1 and {_fabric.crossing(answer):.0%} of what leaves nodes "
        f"goes above them: the busiest link there takes {show_seconds(above)}, "
        f"the busiest NIC {show_seconds(out)}"
    )


def _ratio(answer: Answer) -> float:
    """Downlink over uplink capacity of all leaves together."""
    topology = answer.question.cluster.topology
    down, up = _fabric.nics(topology), _fabric.leaf_uplinks(topology)
    capacity = float(topology.bandwidth[up].sum())
    return float(topology.bandwidth[down].sum()) / capacity if capacity > 0 else 1.0


def gain(answer: Answer) -> str:
    """Without oversubscription, for what it costs."""
    cluster = answer.question.cluster
    if "oversubscription" not in cluster.options:
        return ""
    return _command.predict(answer, cluster=_fabric.without(cluster, "oversubscription"))
