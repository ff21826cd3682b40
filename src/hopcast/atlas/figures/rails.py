"""Rails: the ways from one GPU to another over leaf, spine or NVLink, and what all_to_all gains by them."""

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.choose import answer
from hopcast.draw.boxes import Box, around
from hopcast.draw.charts import bars
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import BACK, OVER
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size
from hopcast.verbs import ask

_PITCH = 66.0


def _network(canvas: Sketch, gpus: int) -> tuple[list[list[Box]], list[Box], Box]:
    """Two nodes side by side, a leaf for each rail above, spines on top."""
    whole = 2 * gpus * _PITCH + 60
    spine = canvas.box(Box(0, 0, whole, 30), ["spine switches"], "switch", size=11, layer=OVER)
    leaves = []
    for r in range(gpus):
        x = whole * (r + 0.5) / gpus
        leaf = canvas.box(around(x, 96, 76, 26), [f"leaf, rail {r}"], "switch", size=9, layer=OVER)
        canvas.line(((x, leaf.top), (x, spine.bottom)), "cable", layer=BACK)
        leaves.append(leaf)
    nodes = []
    for k in range(2):
        left = k * (gpus * _PITCH + 60)
        canvas.rect(Box(left, 214, left + gpus * _PITCH, 330), "blank", round_by=6, layer=BACK)
        bar = canvas.box(
            Box(left + 10, 296, left + gpus * _PITCH - 10, 320),
            [f"NVSwitches of node {k}"],
            "switch",
            size=9.5,
            layer=OVER,
        )
        row = []
        for g in range(gpus):
            box = canvas.box(
                around(left + (g + 0.5) * _PITCH, 244, 50, 28), [f"GPU {g}"], "chip", size=9.5, layer=OVER
            )
            x = (box.left + box.right) / 2
            canvas.line(((x, box.bottom), (x, bar.top)), "cable", layer=BACK)
            leaf = leaves[g]
            up = ((x, box.top), ((leaf.left + leaf.right) / 2, leaf.bottom))
            canvas.line(up, "cable", width=1.0, layer=BACK)
            row.append(box)
        nodes.append(row)
    return nodes, leaves, spine


def _way(canvas: Sketch, colour: int, *stops: tuple[float, float]) -> None:
    canvas.arrow(stops, colour, width=3.0, radius=4, dashed=True)


def _mid(box: Box) -> float:
    return (box.left + box.right) / 2


def _times(on: str, size: str, facts: dict[str, Fact]) -> list[tuple[str, float, str, str]]:
    """all_to_all straight and by rails, on a full tree and on one with half the spines."""
    rows = []
    for name, key in ((on, "full"), (f"{on},oversubscription=2", "half")):
        q, _ = ask.question("all_to_all", f"{name},latency=0", size=size)
        for algorithm, said in (("direct", "straight"), ("pxn", "by rails")):
            time = answer(q, algorithm, "flows").time
            facts[f"{key}.{algorithm}"] = time
            rows.append(
                (
                    f"{said}, {'full tree' if key == 'full' else 'spines 2:1'}",
                    time,
                    show_seconds(time),
                    "h2" if algorithm == "direct" else "h3",  # as their ways in the picture
                )
            )
    return rows


def draw(numbers: Numbers) -> Picture:
    """Three ways, and the all_to_all."""
    q, where = ask.question("all_to_all", numbers.on, size=numbers.size)
    if len(q.group.levels) != 2 or not 4 <= where.cluster.topology.shape[1] <= 8:
        raise InputError(
            f"--on {numbers.on}: this figure takes nodes of 4 to 8 GPUs with rails, such as dgx-h100:32"
        )
    gpus = where.cluster.topology.shape[1]
    canvas = Sketch()
    nodes, leaves, spine = _network(canvas, gpus)
    a, b = nodes[0], nodes[1]
    _way(canvas, 1, (_mid(a[0]) - 6, a[0].top - 1), (_mid(leaves[0]) - 6, leaves[0].bottom + 1))
    _way(canvas, 1, (_mid(leaves[0]) + 10, leaves[0].bottom + 1), (_mid(b[0]) - 6, b[0].top - 1))
    far = gpus - 1
    _way(canvas, 2, (_mid(a[1]), a[1].top - 1), (_mid(leaves[1]), leaves[1].bottom + 1))
    _way(canvas, 2, (_mid(leaves[1]) + 6, leaves[1].top - 1), (_mid(leaves[1]) + 6, spine.bottom + 1))
    _way(canvas, 2, (_mid(leaves[far]) + 6, spine.bottom + 1), (_mid(leaves[far]) + 6, leaves[far].top - 1))
    _way(canvas, 2, (_mid(leaves[far]) + 6, leaves[far].bottom + 1), (_mid(b[far]) + 6, b[far].top - 1))
    mid = gpus // 2
    _way(canvas, 3, (_mid(a[2]) - 5, a[2].bottom + 1), (_mid(a[2]) - 5, 294))
    _way(canvas, 3, (_mid(a[mid]) + 5, 294), (_mid(a[mid]) + 5, a[mid].bottom + 1))
    _way(canvas, 3, (_mid(a[mid]), a[mid].top - 1), (_mid(leaves[mid]) - 6, leaves[mid].bottom + 1))
    _way(canvas, 3, (_mid(leaves[mid]) + 6, leaves[mid].bottom + 1), (_mid(b[mid]), b[mid].top - 1))
    keys = (
        (1, "same rail: GPU 0 to GPU 0 of another node, over one leaf"),
        (2, f"across rails: GPU 1 to GPU {far}, over leaf, spine and leaf"),
        (3, f"PXN: GPU 2 to GPU {mid} over NVLink first, then over its rail: no spine"),
    )
    for i, (colour, text) in enumerate(keys):
        y = 352 + 18 * i
        canvas.arrow(((0, y - 4), (34, y - 4)), colour, width=3.0, dashed=True)
        canvas.text(42, y, text, size=10.5, anchor="start")
    facts: dict[str, Fact] = {"size": q.size}
    rows = _times(numbers.on, numbers.size, facts)
    canvas.text(
        0,
        424,
        f"all-to-all of {show_size(q.size)} on {numbers.on}, by flows",
        size=12,
        cls="bold",
        anchor="start",
    )
    bars(canvas, 0, 438, rows, room=420)
    return Picture(
        canvas.finish(
            "Rails: which way a message takes",
            f"NICs of one number meet in one leaf; {numbers.on}",
            [
                "Between nodes of one unit a message along a rail needs no spine. Where the spines are "
                "thinner than the leaves, an all-to-all that crosses rails waits for them; passed over "
                "NVLink to the right rail first it does not."
            ],
        ),
        facts,
        ("all_to_all", f"{numbers.on.split(':')[0]}:2,latency=0", "64MiB", "pxn"),
        f"hopcast predict all_to_all {numbers.on},oversubscription=2,latency=0 --size {numbers.size} "
        "--algorithm pxn",
    )


FIGURES = (Figure("rails", 0, "Rails and PXN", draw, Numbers(0, "1GiB", "dgx-h100:32"), "beyond"),)
