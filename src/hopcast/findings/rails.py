"""NICs of one number are not on one leaf: what equal GPUs of two nodes exchange crosses the spines."""

from hopcast.predict import Answer
from hopcast.units import show_size

from . import _command, _fabric

SOURCE = (
    "NVIDIA DGX SuperPOD reference architecture (H100), "
    "https://docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-h100/latest/, "
    "read 2026-11-29 (rails: NIC k of every node of a unit on leaf k, one hop apart)"
)
APPEARS = "predict all_reduce dgx-h100:16,rails=off --size 1GiB"
ABSENT = "predict all_reduce dgx-h100:16 --size 1GiB"


def when(answer: Answer) -> str | None:
    """The cluster is wired node by node, and some of what leaves nodes crosses switches above the leaves."""
    q = answer.question
    if q.cluster.options.get("rails") != "off" or answer.load is None:
        return None
    part = _fabric.crossing(answer)
    if part < 0.01:
        return None
    out = float(answer.load[_fabric.nics(q.cluster.topology)].sum())
    return (
        f"{part:.0%} of the {show_size(out)} that leave nodes cross switches above the leaves; with rails "
        "equal GPUs of a unit meet in one leaf: less latency, and nothing for oversubscription to slow"
    )


def gain(answer: Answer) -> str:
    """The same on a cluster with rails."""
    return _command.predict(answer, cluster=_fabric.without(answer.question.cluster, "rails"))
