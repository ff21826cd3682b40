"""A matrix that lies with the hosts comes to one chip and is multiplied: four stages, one of which binds."""

import numpy as np

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.draw.boxes import Box, around
from hopcast.draw.charts import bars
from hopcast.draw.layout import is_step
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.ir.topology import Floats, Topology
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs.matmul import matmul
from hopcast.verbs.predict import predict
from hopcast.verbs.route import route

_MATRIX = "bf16[131072,131072]"


def stages(on: str, matrix: str) -> tuple[dict[str, float], Floats]:
    """Seconds of each stage and the bytes; and the bytes over each link of the slice.

    Raises:
        InputError: for a slice or a matrix that the example cannot be made for.
    """
    cluster = cluster_of(on)
    if not cluster.topology.is_grid or len(cluster.topology.axes) != 2 or "flops.bf16" not in cluster.figures:
        raise InputError(f"--on {on}: this figure takes a slice of TPUs with two axes, such as v5e:4x4")
    if not matrix.startswith("bf16["):
        raise InputError(f"--size {matrix}: this figure takes a matrix, such as {_MATRIX}")
    rows = matrix.removeprefix("bf16[").split(",")[1].rstrip("]")
    gathered = predict("gather", f"{on},latency=0", size=matrix, root="0,0")
    whole = float(gathered.rows[0]["size_bytes"])
    chips = cluster.topology.chips
    loaded = route(f"{on},latency=0", "host:0", "0,0", size=whole / chips).rows[0]
    product = matmul(f"{matrix} @ bf16[{rows},128]", f"{cluster.family}:1x1", backward=False).detail[
        "forward"
    ]
    load = gathered.detail.load
    assert load is not None
    found = {
        "size": whole,
        "chips": float(chips),
        "pcie": loaded["time_us"] * 1e-6,
        "ici": gathered.rows[0]["time_us"] * 1e-6,
        "hbm": float(product.memory),
        "mxu": float(product.compute),
        "flops": float(product.flops),
    }
    return found, load


def draw(numbers: Numbers) -> Picture:
    """The way of the matrix, and a bar for each stage."""
    cluster = cluster_of(numbers.on)
    found, load = stages(numbers.on, numbers.size)
    canvas, figures = Sketch(), cluster.figures
    _way(canvas, cluster.topology, found, load)
    rows = [
        ("PCIe: host to chip", found["pcie"], f"at {show_rate(figures['pcie.bandwidth'].value)}", "h1"),
        (
            "ICI: to chip 0,0",
            found["ici"],
            f"{_into(cluster.topology, load)} links of {show_rate(figures['ici.bandwidth'].value)}",
            "h2",
        ),
        ("HBM: read", found["hbm"], f"at {show_rate(figures['hbm.bandwidth'].value)}", "h3"),
        ("MXU: multiply", found["mxu"], f"{found['flops']:.3g} FLOPs", "h4"),
    ]
    shown = [(name, t, f"{show_seconds(t)}, {how}", cls) for name, t, how, cls in rows]
    bars(canvas, 0, 322, shown, room=420)
    binds, longest = max(((name.split(":")[0], t) for name, t, *_ in rows), key=lambda r: r[1])
    said = (
        f"{binds} binds: streamed, the stages overlap and take {show_seconds(longest)}; one after the other "
    )
    said += f"{show_seconds(sum(r[1] for r in rows))}."
    room = figures["hbm.capacity"].value
    if found["size"] > room:
        said += f" {show_size(found['size'])} does not fit in {show_size(room)} of HBM, so it must stream."
    return Picture(
        canvas.finish(
            f"A {show_size(found['size'])} matrix from the hosts to one chip of {numbers.on}",
            f"{numbers.size}, {show_size(found['size'] / found['chips'])} on each of {int(found['chips'])} "
            "chips",
            [said],
        ),
        found,
        (),
        f"hopcast predict gather {numbers.on} --size '{numbers.size}' --root 0,0",
    )


def _into(topology: Topology, load: Floats) -> int:
    """Links over which chip 0 receives."""
    return int(np.count_nonzero((topology.dst == 0) & (load > 0)))


def _way(canvas: Sketch, topology: Topology, found: dict[str, float], load: Floats) -> None:
    """From the hosts over the slice into one chip."""
    wide, tall = topology.shape
    step = min(46.0, 190.0 / max(wide, tall))
    canvas.panel(
        Box(0, 0, 800, 286),
        "the way of the matrix",
        "every host loads its chips; all chips send to chip 0,0; it multiplies",
    )
    hosts = canvas.box(
        Box(20, 84, 110, 264),
        ["DRAM of", "the hosts", show_size(found["size"])],
        "switch",
        size=11,
        layer=OVER,
    )
    left, top = 214.0, 174 - (tall - 1) * step / 2
    canvas.arrow(((hosts.right + 2, 174), (left - 26, 174)), 1, width=5)
    canvas.text((hosts.right + left - 22) / 2, 160, "PCIe", size=11, cls="bold")
    canvas.text(
        (hosts.right + left - 22) / 2,
        194,
        f"{show_size(found['size'] / found['chips'])} each",
        size=9,
        cls="muted",
    )
    _slice(canvas, left, top, step, topology, load)
    right = left + (wide - 1) * step + 26
    one = canvas.box(
        Box(right + 96, 136, right + 170, 212), ["HBM of", "chip 0,0"], "end", size=11, layer=OVER
    )
    canvas.arrow(((right, 174), (one.left - 2, 174)), 2, width=5)
    canvas.text((right + one.left) / 2, 160, "ICI", size=11, cls="bold")
    canvas.text((right + one.left) / 2, 194, f"{_into(topology, load)} links in", size=9, cls="muted")
    unit = canvas.box(
        Box(one.right + 92, 136, one.right + 166, 212), ["VMEM,", "MXU"], "chip", size=11, layer=OVER
    )
    canvas.arrow(((one.right + 2, 174), (unit.left - 2, 174)), 3, width=5)
    canvas.text((one.right + unit.left) / 2, 160, "HBM", size=11, cls="bold")


def _slice(canvas: Sketch, left: float, top: float, step: float, topology: Topology, load: Floats) -> None:
    """The chips, with an arrow on every link as thick as what it carries."""
    size = min(20.0, step * 0.5)

    def place(chip: int) -> Box:
        x, y = topology.coords[chip]
        return around(left + float(x) * step, top + float(y) * step, size, size)

    for chip in range(topology.chips):
        canvas.rect(place(chip), "chip" if chip else "end", round_by=3, layer=OVER)
    for link in range(topology.links):
        share = float(load[link] / load.max())
        if share > 0 and is_step(topology, link):
            a, b = place(int(topology.src[link])), place(int(topology.dst[link]))
            canvas.link(a, b, 2, width=1.0 + 3.5 * share, gap=1.0)


FIGURES = (
    Figure("tpu_example2", 8, "An offloaded matrix to one chip", draw, Numbers(0, _MATRIX, "v5e:4x4"), "tpu"),
)
