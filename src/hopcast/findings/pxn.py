"""Messages between different rails cross the spines; over NVLink first they would stay in one leaf."""

from dataclasses import replace

from hopcast import algorithms
from hopcast.choose import answer as answer_to
from hopcast.ir import algebra
from hopcast.ir.collective import PAIRS
from hopcast.predict import Answer
from hopcast.price.steps import steps
from hopcast.units import show_seconds

from . import _command, _fabric

SOURCE = "NVIDIA 2022, Doubling all2all performance with NCCL 2.12 (PXN)"
APPEARS = "predict all_to_all dgx-h100:4,oversubscription=2 --size 1GiB --algorithm direct"
ABSENT = "predict all_to_all dgx-h100:4 --size 1GiB --algorithm direct"
_WORTH = 0.98  # said if at most this part of the time is left


def when(answer: Answer) -> str | None:
    """Messages of all pairs over nodes, whose links above the leaves are busier than its NICs."""
    if answer.question.collective not in PAIRS or answer.load is None or answer.is_latency_bound:
        return None
    if not _fabric.is_pod(answer.question.cluster) or answer.algorithm.startswith("pxn"):
        return None
    topology = answer.question.cluster.topology
    above = _fabric.busy(topology, answer.load, _fabric.uplinks(topology))
    out = _fabric.busy(topology, answer.load, _fabric.nics(topology))
    better = _seconds(answer) if above > 1.01 * out else None
    if better is None or better > _WORTH * answer.time:
        return None
    return (
        f"{_fabric.crossing(answer):.0%} of what leaves nodes crosses switches above the leaves, whose links "
        f"are busy {show_seconds(above)} and NICs {show_seconds(out)}; over NVLink to the right rail "
        f"first (PXN) it takes about {show_seconds(better)} instead of {show_seconds(answer.time)}"
    )


def gain(answer: Answer) -> str:
    """The same by pxn."""
    return _command.predict(answer, algorithm="pxn")


def _seconds(answer: Answer) -> float | None:
    """By pxn with a barrier after each step, which flows hardly exceed; None where it does not fit.

    Unequal messages go in pieces, where a barrier tells too much: a few of them are simulated.
    """
    q, one = answer.question, algorithms.get("pxn")
    hint = replace(q.hint, options={})
    if one.valid(q.collective, q.group, hint) is not None:
        return None
    if q.collective == "all_to_all_v":
        return None if one.unasked(q.collective, q.group, hint) else answer_to(q, "pxn").time
    made = one.build(q.collective, q.group, hint)
    laid = algebra.lay(made, q.group.all_groups, q.cluster.topology.vertices, q.group.hubs)
    found = steps(laid, q.cluster, q.size)
    return found.latency + found.bandwidth
