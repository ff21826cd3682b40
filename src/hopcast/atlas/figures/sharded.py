"""all_reduce over replicas of an array that is sharded inside the node: why the network is not relieved."""

from hopcast import algorithms
from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._rails import ROW, along, nodes
from hopcast.choose import answer
from hopcast.draw.boxes import Box
from hopcast.draw.sketch import Sketch
from hopcast.draw.tables import Cell, draw_table
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size
from hopcast.verbs import ask

_BEYOND = (1, 8, 32, 256)  # GPUs that a weight is cut over, of a pod of 128 nodes


def over_nodes(on: str, size: float, shards: int, price: str = "flows") -> float:
    """Seconds of the network: each of ``shards`` groups sums its part over the replicas, all at once."""
    gpus = ask.cluster_of(on).topology.chips
    mesh = f"data={gpus // shards},model={shards}"
    q, _ = ask.question("all_reduce", on, size=size / shards, mesh=mesh, over="data")
    if price == "formula":
        cost = algorithms.get("ring").cost("all_reduce", q.group, q.hint)
        assert cost is not None
        return cost.total()
    return answer(q, "ring", price).time


def in_the_node(on: str, size: float) -> float:
    """Seconds of an all_reduce inside a node."""
    one = f"{on.split(':')[0]},latency=0"
    q, _ = ask.question("all_reduce", one, size=size)
    return answer(q, "ring", "flows").time


def _panel(canvas: Sketch, many: int, gpus: int) -> float:
    high = 108 + gpus * ROW
    canvas.panel(
        Box(0, 0, 420, high),
        "Y shards in the node, X replicas over nodes",
        "a colour is a shard y: its replicas are summed along its rail",
    )
    drawn = nodes(canvas, 46, 76, many, gpus, colours=list(range(gpus)), names=[f"y{g}" for g in range(gpus)])
    ring = [(k * gpus + g, (k + 1) % many * gpus + g) for k in range(many) for g in range(gpus)]
    along(canvas, drawn, ring)
    return high


def draw(numbers: Numbers) -> Picture:
    """The groups, and the times for cuts inside the node and beyond it."""
    on = f"{numbers.on},latency=0"
    q, where = ask.question("all_reduce", on, size=numbers.size)
    if len(q.group.levels) != 2:
        raise InputError(f"--on {numbers.on}: this figure takes several GPU nodes, such as dgx-h100:32")
    many, gpus = where.cluster.topology.shape
    canvas = Sketch()
    _panel(canvas, many, gpus)
    formula, flows = (over_nodes(on, q.size, gpus, p) for p in ("formula", "flows"))
    node = in_the_node(on, q.size)
    family = numbers.on.split(":")[0]
    pod = f"{family}:128,latency=0"
    beyond = {y: over_nodes(pod, q.size, max(y, gpus)) for y in sorted({max(y, gpus) for y in _BEYOND})}
    rows = []
    facts: dict[str, Fact] = {"size": q.size, "time_formula": formula, "time_flows": flows}
    for y in _BEYOND:
        net, local = beyond[max(y, gpus)], node if y == 1 else 0.0
        facts |= {f"net_{y}": net, f"node_{y}": local}
        cells = [
            Cell(f"{128 * gpus // y}", (), False),
            Cell(show_seconds(local) if local else "none", (), False),
            Cell(show_seconds(net), ()),
        ]
        rows.append((f"{y}", cells))
    canvas.text(440, 34, f"{numbers.on}, Y = {gpus}, X = {many}", size=12, cls="bold", anchor="start")
    y0 = canvas.paragraph(
        440, 54,
        f"{gpus} all-reduces of D/{gpus} over {many} GPUs each, all at once, every one over its own NICs: "
        f"{show_seconds(formula)} by formula, {show_seconds(flows)} by flows. Without the cut each NIC "
        f"carries the same, 2 (D/{gpus}) {many - 1}/{many} = "
        f"{show_size(2 * q.size / gpus * (many - 1) / many)}: the node sums first, {show_seconds(node)}, and "
        f"then GPU i sums its D/{gpus} over rail i.", 420,
    )  # fmt: skip
    canvas.text(
        440, y0 + 24, f"{family}:128, {128 * gpus:,} GPUs, by flows", size=12, cls="bold", anchor="start"
    )
    draw_table(canvas, [("Y",), ("replicas",), ("in the node",), ("over nodes",)], rows, 440, y0 + 36)
    return Picture(
        canvas.finish(
            "All-reduce over replicas of an array sharded in the node",
            f"gradients of {show_size(q.size)}, tensor parallel over Y, data parallel over X",
            [
                f"T_node = 2 (k-1)/k (D/Y)/W_gpu with k = max(1, {gpus}/Y) replicas in a node, T_net = 2 "
                f"(R-1)/R {gpus} D/(W_node max({gpus}, Y)) with R = N/max({gpus}, Y) groups of nodes. A cut "
                "inside the node saves the sum in the node, not the network; only a cut over more than a "
                "node sends less over it."
            ],
        ),
        facts,
        ("all_reduce", f"{family}:4,latency=0", "64MiB", "hierarchical,pipeline=off"),
        f"hopcast predict all_reduce {on} --size {show_size(q.size / gpus).replace(' ', '')} --mesh "
        f"data={many},model={gpus} --over data --algorithm ring",
    )


FIGURES = (
    Figure(
        "ar_shard_hierarchy",
        33,
        "All-reduce of a sharded array",
        draw,
        Numbers(0, "1GiB", "dgx-h100:32"),
        "nodes",
    ),
)
