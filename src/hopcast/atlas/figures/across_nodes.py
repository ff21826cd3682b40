"""Collectives across nodes, level by level: over the rails of the network and over NVLink in the nodes."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from hopcast import algorithms
from hopcast.algorithms import hierarchical
from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._rails import ROW, Nodes, Send, along, fan, inside, nodes
from hopcast.choose import answer
from hopcast.draw.boxes import Box
from hopcast.draw.charts import bars
from hopcast.draw.sketch import Sketch
from hopcast.ir import algebra
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.price.steps import steps
from hopcast.question import Question
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs import ask

_WIDE = 396.0


@dataclass(frozen=True, eq=False)
class Levels:
    """A collective over nodes, phase by phase.

    Attributes:
        question: What is asked.
        nodes, gpus: How many there are.
        phases: Whether it is over the network, and the schedule on local ranks.
        times: Of each phase alone, seconds.
        whole: All phases, following each other in pieces, by flows.
    """

    question: Question
    nodes: int
    gpus: int
    phases: list[tuple[bool, Schedule]]
    times: list[float]
    whole: Answer

    def total(self, network: bool) -> float:
        """Time of the phases of one level."""
        return sum(t for (net, _), t in zip(self.phases, self.times, strict=True) if net == network)


def levels(collective: str, on: str, size: str) -> Levels:
    """Price the phases alone and together.

    Raises:
        InputError: for a cluster that has no nodes joined by a network.
    """
    q, where = ask.question(collective, f"{on},latency=0", size=size)
    topology = where.cluster.topology
    if len(q.group.levels) != 2 or "nic.bandwidth" not in where.cluster.figures:
        raise InputError(f"--on {on}: this figure takes several GPU nodes, such as dgx-h100:32")
    many, gpus = topology.shape
    hint = replace(q.hint, options={"pipeline": "off"})
    outer = q.group.levels[0].axes[0].name
    phases = [(name == outer, made) for name, made in hierarchical.phases(collective, q.group, hint)]
    times = []
    for _, made in phases:
        found = steps(algebra.lay(made, q.group.all_groups, topology.vertices), where.cluster, q.size)
        times.append(found.latency + found.bandwidth)
    return Levels(q, many, gpus, phases, times, answer(q, "hierarchical", "flows"))


def _sends(made: Schedule) -> list[Send]:
    rows = made.make(0)
    return list(zip(rows.src.tolist(), rows.dst.tolist(), strict=True))


def _sent(made: Schedule) -> float:
    """The part of D that a rank sends in a phase."""
    total = np.zeros(made.ranks)
    for rows in made.steps():
        total += np.bincount(rows.src, made.bytes(rows, 1.0), made.ranks)
    return float(total.max())


def _panels(canvas: Sketch, found: Levels, words: list[str]) -> float:
    """A panel for each phase: who sends to whom, how much, how long."""
    bottom = 0.0
    for k, ((network, made), time, word) in enumerate(zip(found.phases, found.times, words, strict=True)):
        left = k % 2 * (_WIDE + 14)
        high = 104 + found.gpus * ROW
        top = k // 2 * (high + 14)
        how = f"{show_size(_sent(made) * found.question.size)} out of each GPU, {show_seconds(time)}"
        canvas.panel(Box(left, top, left + _WIDE, top + high), f"{k + 1}. {word}", how)
        drawn = nodes(canvas, left + 42, top + 72, found.nodes, found.gpus)
        (along if network else inside)(canvas, drawn, _sends(made))
        bottom = top + high
    return bottom


def _bars(canvas: Sketch, found: Levels, top: float, bound: str) -> None:
    figures = found.question.cluster.figures
    nic, link = figures["nic.bandwidth"].value, figures["nvlink.bandwidth"].value
    net, node = found.total(True), found.total(False)
    rows = [
        ("network alone", net, f"{show_seconds(net)}, {found.gpus} NICs of {show_rate(nic)} a node", "h1"),
        ("NVLink alone", node, f"{show_seconds(node)}, {show_rate(link)} a GPU", "h3"),
        ("one after the other", net + node, show_seconds(net + node), "h5"),
        (
            "in pieces, by flows",
            found.whole.time,
            f"{show_seconds(found.whole.time)}: both levels work at once",
            "h2",
        ),
        (
            bound,
            found.whole.bound.seconds,
            f"{show_seconds(found.whole.bound.seconds)}, {found.whole.bound.kind}",
            "h4",
        ),
    ]
    bars(canvas, 0, top, rows, room=400)


def _picture(collective: str, numbers: Numbers, title: str, words: list[str], how: str, law: str) -> Picture:
    found = levels(collective, numbers.on, numbers.size)
    canvas = Sketch()
    bottom = _panels(canvas, found, words)
    _bars(canvas, found, bottom + 24, "least possible")
    facts = {
        "size": found.question.size, "time_network": found.total(True), "time_node": found.total(False),
        "time_flows": found.whole.time, "bound": found.whole.bound.seconds,
        "nodes": found.nodes, "gpus": found.gpus,
    }  # fmt: skip
    small = f"{numbers.on.split(':')[0]}:4,latency=0"
    return Picture(
        canvas.finish(
            title.format(m=found.nodes, n=found.gpus),
            f"{show_size(found.question.size)} on {numbers.on}: {found.nodes} nodes of {found.gpus} GPUs; a "
            "row is a rail, in its colour",
            [how, law],
        ),
        facts,
        (collective, small, "64MiB", "hierarchical,pipeline=off"),
        f"hopcast predict {collective} {numbers.on},latency=0 --size {numbers.size} --algorithm hierarchical",
    )


def draw_gather(numbers: Numbers) -> Picture:
    """Network first, then inside."""
    return _picture(
        "all_gather", numbers, "All-gather over {m} nodes of {n} GPUs",
        ["over the network, rail by rail", "inside the nodes"],
        "First GPU i of every node gathers, over rail i, the shards of all GPUs i; then the GPUs of a node "
        "exchange what their rails brought. Arrows are the first step of each phase's ring; short ones lead "
        "to nodes not drawn.",
        "T = max(D (M-1)/(M W_node), D (N-1)/(N W_gpu)) if the levels overlap perfectly, about D/W_node; "
        "W_node is the sum of a node's NICs.",
    )  # fmt: skip


def draw_reduce(numbers: Numbers) -> Picture:
    """Down and up again."""
    return _picture(
        "all_reduce", numbers, "All-reduce over {m} nodes of {n} GPUs",
        ["reduce-scatter inside the nodes", "reduce-scatter along the rails",
         "all-gather along the rails", "all-gather inside the nodes"],
        "After phase 1 GPU i of a node owns the node's sum of part i; so only D/N of each GPU crosses the "
        "network, on its own rail; then the way back. Arrows are the first step of each phase's ring.",
        "T = 2 D (M-1)/(M W_node) where the network binds, about 2 D/W_node; with SHARP in its switches "
        "D/W_node.",
    )  # fmt: skip


def draw_exchange(numbers: Numbers) -> Picture:
    """To the right rail first, then along it."""
    q, where = ask.question("all_to_all", f"{numbers.on},latency=0", size=numbers.size)
    if len(q.group.levels) != 2 or where.cluster.topology.shape[0] > 64:
        raise InputError(f"--on {numbers.on}: this figure takes 2 to 64 GPU nodes, such as dgx-h100:32")
    many, gpus = where.cluster.topology.shape
    by = {name: answer(q, name, "flows") for name in ("pxn", "direct")}
    cost = algorithms.get("pxn").cost("all_to_all", q.group, q.hint)
    assert cost is not None
    canvas = Sketch()
    high = 104 + gpus * ROW
    for k, (title, under) in enumerate(
        (("inside the node, to the right rail", "what GPU 0 has for GPUs j of other nodes goes to GPU j"),
         ("along the rails", "GPU j passes it on to GPU j of every other node"))
    ):  # fmt: skip
        left = k * (_WIDE + 14)
        canvas.panel(Box(left, 0, left + _WIDE, high), f"{k + 1}. {title}", under)
        drawn = nodes(canvas, left + 42, 72, many, gpus)
        if k == 0:
            fan(canvas, drawn, 0, range(1, gpus))
        else:
            _rails(canvas, drawn)
    net = q.size * (many - 1) / (many**2 * gpus * where.cluster.figures["nic.bandwidth"].value)
    rows = [
        ("formula", net, f"{show_seconds(net)} = D (M-1)/(M^2 W_node)", "h4"),
        ("by rails (PXN), flows", by["pxn"].time, show_seconds(by["pxn"].time), "h1"),
        (
            "straight, flows",
            by["direct"].time,
            f"{show_seconds(by['direct'].time)}: crosses rails in the spines",
            "h2",
        ),
    ]
    bars(canvas, 0, high + 24, rows, room=400)
    facts = {
        "size": q.size, "time_formula": net, "time_closed": cost.total(), "time_flows": by["pxn"].time,
        "time_direct": by["direct"].time, "nodes": many, "gpus": gpus,
    }  # fmt: skip
    return Picture(
        canvas.finish(
            f"All-to-all over {many} nodes of {gpus} GPUs",
            f"{show_size(q.size)} on {numbers.on}: {(many * gpus) ** 2:,} messages; the way of those of GPU "
            "0 of node 0",
            [
                "Nothing can be summed or shared on the way, for every chunk has its own destination: "
                "(M-1)/M of what a node holds must leave it through its NICs.",
                "T = D (M-1)/(M^2 W_node), about D/(M W_node): D/M is what one node holds. Both ways reach "
                "it where the spines are not oversubscribed.",
            ],
        ),
        facts,
        ("all_to_all", f"{numbers.on.split(':')[0]}:2,latency=0", "64MiB", "pxn"),
        f"hopcast predict all_to_all {numbers.on},latency=0 --size {numbers.size} --algorithm pxn",
    )  # fmt: skip


def _rails(canvas: Sketch, drawn: Nodes) -> None:
    """From node 0 along every rail, in one comb to all drawn nodes."""
    for g in range(drawn.gpus):
        sends = [(g, r) for r in drawn.boxes if r % drawn.gpus == g and r >= drawn.gpus]
        chain = [g, *(r for _, r in sends)]
        along(canvas, drawn, itertools.pairwise(chain))


FIGURES = (
    Figure(
        "ag_hierarchy", 31, "All-gather across nodes", draw_gather, Numbers(0, "1GiB", "dgx-h100:32"), "nodes"
    ),
    Figure(
        "ar_hierarchy", 32, "All-reduce across nodes", draw_reduce, Numbers(0, "1GiB", "dgx-h100:32"), "nodes"
    ),
    Figure(
        "ata_hierarchy",
        34,
        "All-to-all across nodes",
        draw_exchange,
        Numbers(0, "1GiB", "dgx-h100:32"),
        "nodes",
    ),
)
