"""A pod of GPU nodes: scalable units with their rails in colour, leaves, spines, counts and speeds."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.draw.boxes import Box, around
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import BACK, LINES, OVER
from hopcast.ir.cluster import Cluster
from hopcast.names import InputError
from hopcast.units import show_rate
from hopcast.verbs.bisect import bisect
from hopcast.verbs.show import show


def pod_of(text: str, units: int = 1) -> Cluster:
    """A cluster of GPU nodes with at least so many scalable units.

    Raises:
        InputError: for anything else.
    """
    cluster = cluster_of(text)
    if cluster.facts.get("su", 0) < units or "nic.bandwidth" not in cluster.figures:
        raise InputError(
            f"--on {text}: this figure takes GPU nodes with leaves and spines, such as dgx-h100:{32 * units}"
        )
    return cluster


def draw_pod(numbers: Numbers) -> Picture:
    """Units, leaves, spines, with counts and speeds."""
    cluster = pod_of(numbers.on, 2)
    f = cluster.facts
    su, leaves, spines = f["su"], f["leaf_switches"], f["spine_switches"]
    nodes = f["nodes"] // su
    gpus = cluster.topology.chips // f["nodes"]
    per = leaves // su
    shown = min(su, 4)
    canvas, wide, gap = Sketch(), 268.0, 20.0
    whole = shown * wide + (shown - 1) * gap
    _row(canvas, 0, whole, 0.0, min(spines, 16))
    canvas.text(0, -10, f"{spines} spine switches", size=12, cls="bold", anchor="start")
    for u in range(shown):
        left = u * (wide + gap)
        canvas.rect(Box(left, 190, left + wide, 428), "panel", round_by=6, layer=BACK)
        canvas.text(left + 14, 400, f"scalable unit {u}", size=12, cls="bold", anchor="start")
        said = f"{nodes} nodes, {nodes * gpus} GPUs, {per} leaves"
        canvas.text(left + 14, 417, said, cls="muted", anchor="start")
        boxes = _row(canvas, left + 12, wide - 24, 198.0, per)
        for k in range(min(spines, 16)):
            x = (k + 0.5) * whole / min(spines, 16)
            for b in boxes:
                canvas.line((((b.left + b.right) / 2, b.top - 1), (x, 26)), "idle", width=0.5, layer=BACK)
        _nodes(canvas, left, boxes, nodes, cluster)
    _speeds(canvas, whole + 16, cluster)
    halves = bisect(cluster).rows[0]["one_way_GBps"]
    levels = show(cluster).rows[0]["levels"]
    speeds = {r["name"]: r["link_GBps"] for r in levels}
    _levels(canvas, cluster, halves)
    facts = {
        "gpus": cluster.topology.chips, "nodes": f["nodes"], "units": su, "leaves": leaves, "spines": spines,
        "nvswitches": f["nvswitches"], "up_each": leaf_uplinks(cluster), "node_leaf": f["node_leaf_cables"],
        "leaf_spine": f["leaf_spine_cables"], "bisection": halves * 1e9, "node_rate": speeds["leaf"] * 1e9,
    }  # fmt: skip
    full = halves * 1e9 >= f["nodes"] // 2 * facts["node_rate"] * (1 - 1e-9)
    how = (
        "As much leaves each level upwards as comes in from below, so no half of the pod is cut off from "
        "the other "
        if full
        else "Less leaves a leaf upwards than comes in from below, so halves of the pod are joined "
    )
    return Picture(
        canvas.finish(
            f"{cluster.name}: a fat tree of {cluster.topology.chips:,} GPUs",
            f"{su} scalable units x {nodes} nodes x {gpus} GPUs; {f['nvswitches']} NVSwitches, {leaves} "
            f"leaves, {spines} spines",
            [
                "Every GPU has a NIC of its own, and NICs of one number, a rail, meet in one leaf: so GPU 0 "
                f"of one node reaches GPU 0 of every node of its unit over a single switch. {how}by a "
                f"thinner waist: {show_rate(halves * 1e9)} one way between any two halves."
            ],
        ),
        facts,
        (),
        f"hopcast show {numbers.on}",
    )


def _speeds(canvas: Sketch, left: float, cluster: Cluster) -> None:
    """Counts and speeds beside the picture."""
    f = cluster.facts
    spines, per, nic = (
        f["spine_switches"],
        f["leaf_switches"] // f["su"],
        cluster.figures["nic.bandwidth"].value,
    )
    canvas.text(left, 16, f"{spines} x {show_rate(switch_rate(cluster))}", size=10, anchor="start")
    canvas.text(left, 104, "leaf to spine:", size=10, cls="bold", anchor="start")
    canvas.text(left, 120, f"{leaf_uplinks(cluster):g} cables to each of {spines}", size=10, anchor="start")
    canvas.text(left, 136, f"{f['leaf_spine_cables']:,} cables in all", size=10, anchor="start")
    canvas.text(left, 250, "node to leaf:", size=10, cls="bold", anchor="start")
    canvas.text(left, 266, f"{per} x {nic * 8 / 1e9:g} Gb/s,", size=10, anchor="start")
    canvas.text(left, 282, "one to each leaf", size=10, anchor="start")
    canvas.text(left, 298, f"{f['node_leaf_cables']:,} cables in all", size=10, anchor="start")


def leaf_uplinks(cluster: Cluster) -> float:
    """Cables from a leaf to each spine.

    >>> leaf_uplinks(cluster_of("dgx-h100:128"))
    2.0
    """
    f = cluster.facts
    return f["leaf_spine_cables"] / (f["leaf_switches"] * f["spine_switches"])


def switch_rate(cluster: Cluster) -> float:
    """All ports of a leaf or a spine, one way: ports x the rate of a NIC."""
    return cluster.figures["leaf.ports"].value * cluster.figures["nic.bandwidth"].value


def _row(canvas: Sketch, left: float, wide: float, top: float, many: int) -> list[Box]:
    """Switches side by side."""
    pitch = wide / many
    boxes = []
    for i in range(many):
        box = Box(left + i * pitch + 2, top, left + (i + 1) * pitch - 2, top + 24)
        canvas.box(box, [str(i)], "switch", size=9, layer=OVER)
        boxes.append(box)
    return boxes


def _nodes(canvas: Sketch, left: float, leaves: list[Box], nodes: int, cluster: Cluster) -> None:
    """Two nodes and dots for the rest; a GPU has the colour of its rail."""
    gpus = cluster.topology.chips // cluster.facts["nodes"]
    switches = cluster.facts["nvswitches"] // cluster.facts["nodes"]
    for k, label in enumerate(("node 0", f"node {nodes - 1}")):
        x = left + 14 + k * 132
        canvas.rect(Box(x, 282, x + 108, 382), "blank", round_by=5, layer=LINES)
        canvas.text(x + 54, 374, label, size=9)
        canvas.box(Box(x + 8, 338, x + 100, 356), [f"{switches} NVSwitches"], "switch", size=8.5, layer=OVER)
        for g in range(gpus):
            gx = x + 8 + (g + 0.5) * 92 / gpus
            canvas.rect(around(gx, 306, 9, 14), f"h{g % 6 + 1}", round_by=1.5, layer=OVER)
            canvas.line(((gx, 313), (gx, 338)), "cable", width=0.8)
            leaf = leaves[g % len(leaves)]
            canvas.line(
                ((gx, 299), ((leaf.left + leaf.right) / 2, leaf.bottom + 1)), f"s{g % 6 + 1}", width=1.2
            )
    canvas.text(left + 134, 336, "...", size=14)


def _levels(canvas: Sketch, cluster: Cluster, halves: float) -> None:
    """Capacity between halves of a node, of a unit, of the pod."""
    f, nic = cluster.facts, cluster.figures["nic.bandwidth"].value
    gpus = cluster.topology.chips // f["nodes"]
    inside = gpus // 2 * cluster.figures["nvlink.bandwidth"].value
    unit = f["nodes"] // f["su"] // 2 * nic * gpus
    y = 456.0
    said = (
        f"half to half, one way:   node, {gpus // 2} | {gpus // 2} GPUs: {show_rate(inside)}",
        f"unit, {f['nodes'] // f['su'] // 2} | {f['nodes'] // f['su'] // 2} nodes: {show_rate(unit)}",
        f"pod, {f['nodes'] // 2} | {f['nodes'] // 2} nodes: {show_rate(halves * 1e9)}",
    )
    canvas.text(0, y, ";   ".join(said), size=11, anchor="start")


FIGURES = (
    Figure(
        "gpu_topology",
        25,
        "A DGX H100 SuperPOD of 1,024 GPUs",
        draw_pod,
        Numbers(0, "", "dgx-h100:128"),
        "gpu",
    ),
)
