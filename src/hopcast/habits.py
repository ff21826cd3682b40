"""What the software of a machine would run by itself: XLA on TPUs, NCCL on NVIDIA's GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from . import algorithms
from .algorithms import _channels, _rates, double_tree, hierarchical
from .ir.collective import ROOTED
from .ir.group import Group, Hint
from .question import Question
from .units import show_rate, show_seconds

# By the rate of one NVLink: of one channel of NVLS at most, and of all rings together, bytes/s, one way.
# Source: NVIDIA/nccl v2.30, src/graph/search.cc (speeds that are tried: up to 60 on sm90 and 90 on sm100, of
# 370.8 and 721.8 of a GPU in src/graph/topo.h; rings reach 360 and 720), read 2026-11.
_SPEEDS = {25e9: (60e9, 360e9), 50e9: (90e9, 720e9)}
# Of its channels, and one of n goes for nothing: NVIDIA/nccl v2.19 to v2.27, src/graph/tuning.cc
_NVLS_KEPT = 5 / 6
_TWISTED = "on a twisted torus rings close after going round twice; trees that fill all links stand for them"
_ROOTED = "NCCL uses all NICs of the root's node; hierarchical, which does so too, stands for its channels"
_MOST_CHANNELS = 16  # rings through the GPUs of a node, one for each
_PAT_KEPT = 0.75  # of the bandwidth of rings, in NCCL's own model: NVIDIA/nccl v2.24 on, src/graph/tuning.cc


@dataclass(frozen=True)
class Habit:
    """An algorithm that a library would take.

    Attributes:
        algorithm: Its name.
        options: Of it.
        why: What else it has, where it had to choose.
    """

    algorithm: str
    options: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


def xla(question: Question) -> Habit | None:
    """Rings on wrapped axes, chains on open ones, one colour per rotated axis order on several; else direct.

    That sums and copies over several slices, or over cores and chips, go level by level is assumed.

    Source: collective_algorithm_config of the TPU compiler, libtpu of jax 0.10.2, read 2026-11.
    """
    group, name = question.group, question.collective
    if group.switched and not group.levels:
        return None
    if name in ("all_to_all", "permute") and not group.switched:
        return Habit("direct")
    if name not in ("all_gather", "reduce_scatter", "all_reduce"):
        return None
    if group.levels:
        # Pieces on open axes get in each other's way; what runs there over cores is not known.
        crossed = not group.switched and not all(a.wraps or a.inner for a in group.axes)
        return None if crossed else Habit("hierarchical")
    if len(group.axes) > 1 and question.cluster.routing == "twisted":
        return Habit("translated_tree", why=_TWISTED)
    if len(group.axes) > 1:
        return Habit("multi_axis")
    return Habit("bidirectional_ring", {"split": "on"}) if group.axes[0].wraps else Habit("chain")


def nccl(question: Question) -> Habit | None:
    """The shape of what NCCL runs.

    Inside a node all_reduce is NVLS where the switch reduces and there are GPUs enough, and everything else
    rings. Between nodes a ring of every channel enters a node by one NIC and leaves it by another, and all
    channels together use all NICs: ``ring,channels=8``; small arrays of all_reduce go over double binary
    trees; between two nodes a tree of nodes moves half as much as rings, as `hierarchical` does. Between
    racks of more than 16 GPUs no more is known than that. With one GPU of each node there are rings, trees,
    and PAT for all_gather and reduce_scatter. Of these it takes what its model says is least; here it is
    what our latencies and rates say. all_to_all is a send for every pair; between nodes it goes over NVLink
    to the GPU of the right rail (PXN). Its protocols, and the rings it finds where GPUs are joined by
    cables, are not modelled.

    Source: NVIDIA/nccl v2.30, src/graph/tuning.cc and src/enqueue.cc (which algorithms are enabled where),
    read 2026-11; NVIDIA 2022, Doubling all2all performance with NCCL 2.12 (PXN).
    """
    group, name = question.group, question.collective
    topology = question.cluster.topology
    ends = np.maximum(topology.src, topology.dst)[topology.axis == len(topology.axes) - 1]
    if not group.switched or (ends < topology.chips).any():
        return None
    if name == "all_to_all":
        return Habit("pxn" if group.levels else "direct")
    if name in ROOTED and group.levels:
        return Habit("hierarchical", why=_ROOTED)
    if name not in ("all_gather", "reduce_scatter", "all_reduce"):
        return None
    if _one_of_each_node(question):
        return _least(question, ("ring", "double_tree" if name == "all_reduce" else "pat"))
    if group.levels:
        return _between_nodes(question)
    if name != "all_reduce" or group.ability != "nvls":
        return Habit("ring")
    few = _too_few(question)
    return Habit("ring", why=few) if few else Habit("nvls")


def _between_nodes(question: Question) -> Habit:
    """What there is for several GPUs of several nodes.

    Trees of nodes reach half the bandwidth of rings from 3 nodes on, and are weighed with that: all_reduce
    of 32 GiB on 8 to 64 nodes of B200 has a busbw of 195 GB/s by trees and 389 by rings. Nodes sum inside
    first, so `hierarchical` stands for them; the smallest arrays take a tree over all GPUs.

    Source: https://github.com/togethercomputer/together-nccl-tests, report of 2026-05-12, read 2026-11-30.
    """
    group = question.group
    outer, inner = group.levels[0].ranks, group.levels[-1].ranks
    reduces = question.collective == "all_reduce"
    if len(group.levels) > 2 or inner > _MOST_CHANNELS:
        return _least(question, ("hierarchical", "double_tree") if reduces else ("hierarchical",))
    if reduces and outer == 2:
        return _least(question, ("hierarchical", "double_tree"))
    rings = f"ring,channels={inner}"
    if not reduces:
        return _habit(rings)
    doubled = replace(question, size=2 * question.size, hint=replace(question.hint, size=2 * question.size))
    times = {
        rings: _seconds(question, rings),
        "hierarchical": _seconds(doubled, "hierarchical"),
        "double_tree": _seconds(question, "double_tree"),
    }
    known = {name: time for name, time in times.items() if time is not None}
    return _fastest(known, rings, "; hierarchical counts as trees of nodes, with half its bandwidth")


def _one_of_each_node(question: Question) -> bool:
    topology, ranks = question.cluster.topology, question.group.all_groups[0]
    return len(topology.axes) > 1 and len(np.unique(topology.coords[ranks, 0])) == len(ranks)


def _too_few(question: Question) -> str:
    """Why rings are taken instead of NVLS; empty where they are not.

    NVLS has a channel for each GPU, so a few of them do not fill NVLink. By NCCL's model it takes 5 of H100
    and H200 and 6 of B200 until NVLS is faster, and so it is measured.

    Source: NVIDIA/nccl v2.27, src/graph/tuning.cc; measured: stas00/ml-engineering, network/benchmarks
    (8 GiB: 363 GB/s with and without NVLS on 4 H200, 414 and 364 on 5; 678 on 5 B200, 778 and 678 on 6),
    read 2026-11-29.
    """
    link = question.cluster.figures.get("nvlink.link.bandwidth")
    speeds = None if link is None else _SPEEDS.get(float(link.value))
    if speeds is None:
        return ""
    n, (channel, rings) = question.group.ranks, speeds
    reached = 2 * _NVLS_KEPT * (n - 1) * channel
    if reached >= rings:
        return ""
    return (
        f"NCCL takes rings on {n} GPUs: by its model NVLS, with a channel for each GPU, has a busbw of "
        f"{show_rate(reached)} and rings have {show_rate(rings)}"
    )


def _least(question: Question, names: tuple[str, ...]) -> Habit:
    """The one that takes least, large messages first where that is not known."""
    times = {name: _seconds(question, name) for name in names}
    known = {name: time for name, time in times.items() if time is not None}
    return _fastest(known if len(known) == len(names) else {}, names[0])


def _fastest(times: Mapping[str, float], usual: str, but: str = "") -> Habit:
    """Of several with known times the one that takes least, and why."""
    if len(times) < 2:
        return _habit(usual)
    said = ", ".join(f"{name} about {show_seconds(t)}" for name, t in times.items())
    return _habit(min(times, key=lambda name: times[name]), f"NCCL takes the fastest: {said}{but}")


def _habit(name: str, why: str = "") -> Habit:
    algorithm, options = algorithms.parse(name)
    return Habit(algorithm.name, options, why)


def _seconds(question: Question, name: str) -> float | None:
    """About how long an algorithm takes; None where nobody knows the links."""
    group, hint = question.group, question.hint
    if name == "hierarchical":
        return hierarchical.seconds(question.collective, group, hint)
    if name.startswith("ring,"):
        one_way = _channels.seconds(group, hint.size)
        halves = 2 if question.collective == "all_reduce" else 1
        return None if one_way is None else halves * one_way
    if name == "double_tree" and not _one_of_each_node(question):
        return double_tree.seconds(group, hint)
    ports = _rates.of_ports(group)
    cost = None if ports is None else _flat(name, question.collective, _like(group, ports), hint)
    return cost


def _like(group: Group, ports: _rates.Rate) -> Group:
    """The same ranks on a switch whose ports are all like the slowest."""
    rates = (1 / ports.slowness,), (ports.latency,)
    return replace(group, levels=(), bandwidth=rates[0], latency=rates[1])


def _flat(name: str, collective: str, group: Group, hint: Hint) -> float | None:
    cost = algorithms.get(name).cost(collective, group, hint)
    kept = _PAT_KEPT if name == "pat" else 1.0
    return None if cost is None else cost.latency + cost.bandwidth / kept
