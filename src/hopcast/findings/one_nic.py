"""What leaves a node goes over one or a few of its NICs while others are idle or missing."""

import numpy as np

from hopcast import machines
from hopcast.ir.collective import ROOTED
from hopcast.predict import Answer
from hopcast.units import show_rate

from . import _command, _fabric

SOURCE = (
    "https://github.com/NVIDIA/nccl/issues/1519 (2 nodes of 8 H100 on one NIC each); "
    "derived: a ring through all GPUs in rank order enters and leaves a node once"
)
APPEARS = "predict all_reduce dgx-h100:2 --size 64MiB --algorithm ring"
ABSENT = "predict all_reduce dgx-h100:2 --size 64MiB"
_IDLE = 0.01  # of the busiest: a NIC that carries less counts as idle
_LEVELS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", *ROOTED)


def when(answer: Answer) -> str | None:
    """Bytes outweigh latency, and at most half of the NICs carry data, or the nodes have fewer than usual."""
    cluster, load = answer.question.cluster, answer.load
    if load is None or answer.is_latency_bound or not _fabric.is_pod(cluster):
        return None
    rate = cluster.topology.bandwidth[_fabric.nics(cluster.topology)]
    used, have = _used(answer)
    nodes = cluster.topology.shape[0]
    whole = float(rate.sum()) / nodes
    if have > 1 and 0 < used <= have / 2:
        return (
            f"{used} of the {have} NICs of a node carry data out of it: "
            f"{show_rate(whole * used / have)} of {show_rate(whole)}"
        )
    missing = _missing(answer)
    if not missing or not used:
        return None
    return (
        f"a node has {have} NIC{'s' * (have > 1)} for {_fabric.gpus(cluster)} GPUs, {show_rate(whole)} in "
        f"all, and {cluster.family} usually {missing}"
    )


def _used(answer: Answer) -> tuple[int, int]:
    """NICs of the busiest node that carry data out of it, and NICs of a node."""
    topology, load = answer.question.cluster.topology, answer.load
    assert load is not None
    links = np.flatnonzero(_fabric.nics(topology))
    have = len(links) // topology.shape[0]
    busy = load[links] > _IDLE * load[links].max(initial=0.0)
    per_node = np.bincount(_fabric.node(topology)[topology.src[links[busy]]], minlength=1)
    return int(per_node.max(initial=0)), have


def _missing(answer: Answer) -> int:
    """NICs that the machine usually has, where nics= says fewer."""
    cluster = answer.question.cluster
    if "nics" not in cluster.options or "domain.nics" not in machines.load(cluster.family).figures:
        return 0
    usual = min(machines.load(cluster.family).count("domain.nics"), _fabric.gpus(cluster))
    return usual if int(cluster.options["nics"]) < usual else 0


def gain(answer: Answer) -> str:
    """Level by level, every GPU over its own NIC; or the machine as it usually is."""
    q = answer.question
    used, have = _used(answer)
    if have > 1 and 0 < used <= have / 2:
        fits = q.collective in _LEVELS and q.group.levels and not answer.algorithm.startswith("hierarchical")
        return _command.predict(answer, algorithm="hierarchical") if fits else ""
    return _command.predict(answer, cluster=_fabric.without(q.cluster, "nics"))
