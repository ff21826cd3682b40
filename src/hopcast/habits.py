"""What the software of a machine would run by itself: XLA on TPUs, NCCL on NVIDIA's GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from . import algorithms
from .algorithms import _channels, _rates, double_tree, hierarchical
from .graph import tiers
from .ir.collective import PAIRS, ROOTED
from .ir.group import Group, Hint
from .price import nccl as model
from .question import Question
from .units import show_rate, show_seconds

_TWISTED = "on a twisted torus rings close after going round twice; trees that fill all links stand for them"
_ROOTED = "NCCL uses all NICs of the root's node; hierarchical, which does so too, stands for its channels"
_MOST_CHANNELS = 16  # rings or trees through the GPUs of a node, one for each
_INSIDE = {"ring": "ring", "nvls": "nvls"}  # our names of what NCCL has inside a node
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
    if question.physical_axes is None:
        return None  # in an order of chips that is none of axes; what runs then is not known
    if len(group.axes) > 1 and question.cluster.routing == "twisted":
        return Habit("translated_tree", why=_TWISTED)
    if len(group.axes) > 1:
        return Habit("multi_axis")
    return Habit("bidirectional_ring", {"split": "on"}) if group.axes[0].wraps else Habit("chain")


def nccl(question: Question) -> Habit | None:
    """The shape of what NCCL runs.

    all_reduce takes what NCCL's own model says is least (`price.nccl`): inside a node rings, and from some
    size on NVLS where the switch reduces and there are GPUs enough; between nodes double binary trees, from
    some size on trees whose sums inside nodes NVLS makes, and rings where there is no NVLS. Each channel of
    rings and trees enters and leaves nodes by a NIC of its own, so all NICs are used:
    ``double_tree,channels=8``. Everything else goes round rings. Between racks of more than 16 GPUs, and on
    machines that the model has no figures of, it is what our latencies and rates say; so it is with one GPU
    of each node, where there are rings, trees, and PAT for all_gather and reduce_scatter. all_to_all is a
    send for every pair, whatever their sizes; between nodes it goes over NVLink to the GPU of the right rail
    (PXN: NCCL_P2P_PXN_LEVEL is 2 by default, wherever it can). Its protocols, and the rings it finds where
    GPUs are joined by cables, are not modelled.

    Source: NVIDIA/nccl v2.30, src/graph/tuning.cc and src/enqueue.cc (which algorithms are enabled where),
    and src/graph/search.cc (PXN), read 2026-11; NVIDIA 2022, Doubling all2all performance with NCCL 2.12.
    """
    group, name = question.group, question.collective
    topology = question.cluster.topology
    ends = np.maximum(topology.src, topology.dst)[topology.axis == len(topology.axes) - 1]
    if not group.switched or (ends < topology.chips).any():
        return None
    if name in PAIRS:
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
    machine = _machine(question, 1, group.ranks, nvls=True)
    if machine is None:
        return Habit("nvls")
    few = _too_few(machine)
    taken = Habit("ring", why=few) if few else _by_model(machine, question.size, _INSIDE)
    return taken if taken.algorithm == "ring" else Habit("nvls")


def _between_nodes(question: Question) -> Habit:
    """What there is for several GPUs of several nodes."""
    group = question.group
    nodes, each = group.levels[0].ranks, group.levels[-1].ranks
    reduces = question.collective == "all_reduce"
    if len(group.levels) > 2 or each > _MOST_CHANNELS:
        return _least(question, ("hierarchical", "double_tree") if reduces else ("hierarchical",))
    rings, trees = f"ring,channels={each}", f"double_tree,channels={each}"
    if not reduces:
        return _habit(rings)
    nvls = group.levels[-1].ability == "nvls"
    over_nvls = f"{trees},inside=nvls"
    nvls = nvls and _fits(question, over_nvls)
    machine = _machine(question, nodes, each, nvls)
    if machine is None:
        return _least(question, (rings, trees, over_nvls) if nvls else (rings, trees))
    return _by_model(machine, question.size, {"ring": rings, "tree": trees, "nvls_tree": over_nvls})


def _by_model(machine: model.Machine, size: float, names: Mapping[str, str]) -> Habit:
    """What NCCL's own model takes, by our names of its algorithms."""
    times = model.all_reduce(machine, size)
    said = ", ".join(f"{name} about {show_seconds(t)}" for name, t in times.items())
    taken = min(times, key=times.__getitem__).partition(" ")[0]
    return _habit(names[taken], f"NCCL takes the fastest by its own model: {said}")


def _machine(question: Question, nodes: int, each: int, nvls: bool) -> model.Machine | None:
    """What NCCL finds; None where its model has no figures of such GPUs."""
    figures, topology = question.cluster.figures, question.cluster.topology
    if "nvlink.links" not in figures or "nvlink.link.bandwidth" not in figures:
        return None
    links, link = int(figures["nvlink.links"].value), float(figures["nvlink.link.bandwidth"].value)
    if not model.is_known(links, link):
        return None
    of = next(tiers.parts(topology), None) if nodes > 1 else None
    if of is None:
        return model.Machine(nodes, each, links, link, 1, 0.0, nvls)
    rated = topology.bandwidth if question.cluster.rated is None else question.cluster.rated
    out = np.flatnonzero((of[topology.src] == 0) & (of[topology.dst] < 0))
    return model.Machine(nodes, each, links, link, min(len(out), each), float(rated[out].max()), nvls)


def _one_of_each_node(question: Question) -> bool:
    topology, ranks = question.cluster.topology, question.group.all_groups[0]
    return len(topology.axes) > 1 and len(np.unique(topology.coords[ranks, 0])) == len(ranks)


def _too_few(machine: model.Machine) -> str:
    """Why rings are taken instead of NVLS at every size; empty where they are not.

    NVLS has a channel for each GPU, so a few of them do not fill NVLink. By NCCL's model it takes 5 of H100
    and H200 and 6 of B200 until NVLS is faster, and so it is measured.

    Source: NVIDIA/nccl v2.27, src/graph/tuning.cc; measured: stas00/ml-engineering, network/benchmarks
    (8 GiB: 363 GB/s with and without NVLS on 4 H200, 414 and 364 on 5; 678 on 5 B200, 778 and 678 on 6),
    read 2026-11-29.
    """
    reached, rings = model.nvls_busbw(machine), model.ring_busbw(machine)
    if reached >= rings:
        return ""
    return (
        f"NCCL takes rings on {machine.each} GPUs: by its model NVLS, with a channel for each GPU, has a "
        f"busbw of {show_rate(reached)} and rings have {show_rate(rings)}"
    )


def _least(question: Question, names: tuple[str, ...]) -> Habit:
    """The one that takes least, large messages first where that is not known."""
    times = {name: _seconds(question, name) for name in names}
    known = {name: time for name, time in times.items() if time is not None}
    if len(known) < len(names) or len(names) < 2:
        return _habit(names[0])
    said = ", ".join(f"{name} about {show_seconds(t)}" for name, t in known.items())
    return _habit(min(known, key=known.__getitem__), f"NCCL takes the fastest: {said}")


def _fits(question: Question, name: str) -> bool:
    """Whether an algorithm fits: where a link of a node is ill, its GPUs have no switch that adds for all."""
    algorithm, options = algorithms.parse(name)
    hint = replace(question.hint, options=options)
    return algorithm.valid(question.collective, question.group, hint) is None


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
    if name.startswith("double_tree") and not _one_of_each_node(question):
        return double_tree.seconds(group, replace(hint, options=algorithms.parse(name)[1]))
    ports = _rates.of_ports(group)
    cost = None if ports is None else _flat(name, question.collective, _like(group, ports), hint)
    return cost


def _like(group: Group, ports: _rates.Rate) -> Group:
    """The same ranks on a switch whose ports are all like the slowest."""
    rates = (1 / ports.slowness,), (ports.latency,)
    return replace(group, levels=(), bandwidth=rates[0], latency=rates[1], apart=True, duplex=True)


def _flat(name: str, collective: str, group: Group, hint: Hint) -> float | None:
    cost = algorithms.get(name).cost(collective, group, hint)
    kept = _PAT_KEPT if name == "pat" else 1.0
    return None if cost is None else cost.latency + cost.bandwidth / kept
