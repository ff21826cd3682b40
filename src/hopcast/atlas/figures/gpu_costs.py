"""What collectives cost on GPUs: inside a node and across nodes, by formula, by steps and by flows."""

from collections.abc import Callable

from hopcast import algorithms
from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.atlas.figures.sharded import over_nodes
from hopcast.choose import answer
from hopcast.draw.sketch import Sketch
from hopcast.draw.tables import Cell, draw_table
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size, size
from hopcast.verbs import ask

Three = tuple[float, float, float]


def three(collective: str, on: str, nbytes: float, algorithm: str, law: float) -> Three:
    """Formula, steps and flows, seconds; the formula is the article's where there is no closed form."""
    q, _ = ask.question(collective, on, size=nbytes)
    named, options = algorithms.parse(algorithm)
    if named.valid(q.collective, q.group, q.hint) is not None:
        raise InputError(f"{algorithm} does not fit {on}; take dgx-h100:32")
    closed = (
        answer(q, algorithm, "formula").time
        if not options and named.cost(q.collective, q.group, q.hint)
        else law
    )
    by_steps, by_flows = (answer(q, algorithm, p).time for p in ("steps", "flows"))
    return closed, by_steps, by_flows


def rows_of(on: str, nbytes: float) -> list[tuple[str, dict[str, tuple[str, Three]]]]:
    """For each collective, per place: the formula in symbols, and the three prices.

    Source: Gordic 2026, table of part 7; jax-ml scaling-book, chapter GPUs.
    """
    cluster = cluster_of(on)
    if len(cluster.topology.axes) != 2 or "nic.bandwidth" not in cluster.figures:
        raise InputError(f"--on {on}: this figure takes several GPU nodes, such as dgx-h100:32")
    m, n = cluster.topology.shape
    family = on.split(":")[0]
    one, all_ = f"{family},latency=0", f"{on},latency=0"
    switch = (
        f"switch:{n},bandwidth={cluster.figures['nvlink.bandwidth'].value / 1e9:g}GB/s,latency=0,sharp=on"
    )
    w, net = cluster.figures["nvlink.bandwidth"].value, cluster.figures["nic.bandwidth"].value * n
    d = nbytes
    ring, across = d * (n - 1) / n / w, d * (m - 1) / m / net
    node: Callable[..., Three] = three
    slower, nested = max(ring, across), "hierarchical"
    shard = tuple(over_nodes(all_, d, n, p) for p in ("formula", "steps", "flows"))
    assert len(shard) == 3
    return [
        ("AG, RS", {
            "node": ("D (N-1)/(N W_gpu)", node("all_gather", one, d, "ring", ring)),
            "nodes": ("max over levels; D (M-1)/(M W_node)", node("all_gather", all_, d, nested, slower)),
        }),
        ("AR", {
            "node": ("2 D (N-1)/(N W_gpu)", node("all_reduce", one, d, "ring", 2 * ring)),
            "nodes": ("2 D (M-1)/(M W_node)", node("all_reduce", all_, d, nested, 2 * slower)),
        }),
        ("AR, SHARP", {
            "node": ("D / W_gpu", node("all_reduce", switch, d, "sharp,chunks=512", d / w)),
            "nodes": ("D / W_node", node("all_reduce", all_, d, "sharp", d / net)),
        }),
        (f"AR over X, Y = {n} in the node", {
            "node": ("no replica in the node", (0.0, 0.0, 0.0)),
            "nodes": ("2 D (M-1)/(M W_node)", shard),
        }),
        ("A2A", {
            "node": ("D (N-1)/(N^2 W_gpu)", node("all_to_all", one, d, "pairwise", ring / n)),
            "nodes": ("D (M-1)/(M^2 W_node)", node("all_to_all", all_, d, "pxn", across / m)),
        }),
    ]  # fmt: skip


def draw(numbers: Numbers) -> Picture:
    """The table."""
    nbytes = float(size(numbers.size))
    found = rows_of(numbers.on, nbytes)
    m, n = cluster_of(numbers.on).topology.shape
    facts: dict[str, Fact] = {"size": nbytes}
    rows = []
    for k, (name, cells) in enumerate(found):
        line = []
        for place, (law, prices) in cells.items():
            facts |= dict(
                zip((f"{k}.{place}.{p}" for p in ("formula", "steps", "flows")), prices, strict=True)
            )
            if prices[0]:
                said = tuple(
                    f"{p} {show_seconds(t)}" for p, t in zip(("steps", "flows"), prices[1:], strict=True)
                )
                line.append(Cell(f"{law} = {show_seconds(prices[0])}", said))
            else:
                line.append(Cell(law, (), False))
        rows.append((name, line))
    canvas = Sketch()
    draw_table(
        canvas, [("collective",), (f"inside a node of N = {n} GPUs",), (f"across M = {m} nodes",)], rows
    )
    return Picture(
        canvas.finish(
            "What collectives cost on GPUs",
            f"{show_size(nbytes)} on {numbers.on}; latency left out; bold: the formula; steps and flows from "
            "the schedules",
            [
                "AG all-gather, RS reduce-scatter, AR all-reduce, A2A all-to-all. W_gpu: one GPU into its "
                "NVSwitch, one way; W_node: all NICs of a node. Across nodes the levels follow each other "
                "in pieces; steps, with a barrier after each, cannot show that the levels work at the same "
                "time, flows can. What flows take beyond the formula is the first piece on its way up and "
                "the last on its way down.",
            ],
        ),
        facts,
        (),
        f"hopcast predict all_reduce {numbers.on},latency=0 --size {numbers.size} --algorithm all",
    )


FIGURES = (
    Figure(
        "totaltime_gpu", 35, "What collectives cost on GPUs", draw, Numbers(0, "1GiB", "dgx-h100:32"), "nodes"
    ),
)
