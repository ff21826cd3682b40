"""A TPU pod with its hosts, the rings in it, and several pods over a data centre network."""

from hopcast import chips
from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.draw.boxes import Box, around
from hopcast.draw.sketch import Sketch, fits
from hopcast.draw.svg import BACK, BOXES, LINES, OVER
from hopcast.ir.cluster import Cluster
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs.route import route

_STEP, _CHIP = 30.0, 13.0


def pod_of(text: str) -> Cluster:
    """A slice with two axes that is small enough to draw.

    Raises:
        InputError: for anything else.
    """
    cluster = cluster_of(text)
    topology = cluster.topology
    if (
        not topology.is_grid
        or len(topology.axes) != 2
        or not chips.known(cluster.family)
        or max(topology.shape) > 16
    ):
        raise InputError(
            f"--on {text}: this figure takes a slice of two axes up to 16 x 16, such as v5e:16x16"
        )
    return cluster


def host_block(cluster: Cluster) -> tuple[int, int]:
    """Chips of one host along x and y.

    >>> host_block(cluster_of("v5e:16x16"))
    (4, 2)
    """
    shape = chips.load(cluster.family).shapes.get("host.shape", (2, 2))
    return int(shape[0]), int(shape[1])


def _grid(canvas: Sketch, cluster: Cluster, left: float, top: float, blocks: bool) -> None:
    """Chips, cables, wraparounds as stubs, and hosts' blocks in turn light and dark."""
    wide, tall = cluster.topology.shape
    bx, by = host_block(cluster)
    if blocks:
        for i in range(-(-wide // bx)):
            for j in range(-(-tall // by)):
                a, b = min(wide, (i + 1) * bx), min(tall, (j + 1) * by)
                edge = Box(
                    left + (i * bx - 0.5) * _STEP,
                    top + (j * by - 0.5) * _STEP,
                    left + (a - 0.5) * _STEP,
                    top + (b - 0.5) * _STEP,
                )
                canvas.rect(edge.grown(-1.5), "panel" if (i + j) % 2 else "switch", round_by=6, layer=BACK)
    far = (left + (wide - 1) * _STEP, top + (tall - 1) * _STEP)
    wraps = [a.wraps for a in cluster.topology.axes]
    for k in range(max(wide, tall)):
        if k < tall:
            y = top + k * _STEP
            canvas.line(((left, y), (far[0], y)), "cable", width=1.0)
            if wraps[0]:
                canvas.line(((left - 24, y), (left, y)), "wrap")
                canvas.line(((far[0], y), (far[0] + 24, y)), "wrap")
        if k < wide:
            x = left + k * _STEP
            canvas.line(((x, top), (x, far[1])), "cable", width=1.0)
            if wraps[1]:
                canvas.line(((x, top - 24), (x, top)), "wrap")
                canvas.line(((x, far[1]), (x, far[1] + 24)), "wrap")
    for i in range(wide):
        for j in range(tall):
            canvas.rect(
                around(left + i * _STEP, top + j * _STEP, _CHIP, _CHIP), "chip", round_by=2, layer=OVER
            )
    for k in range(wide):
        canvas.text(left + k * _STEP, top - 30, str(k), size=8, cls="muted")
    for k in range(tall):
        canvas.text(left - 29, top + k * _STEP + 3, str(k), size=8, cls="muted", anchor="end")


def _zoom(canvas: Sketch, cluster: Cluster, left: float, top: float) -> None:
    """One host with its chips, PCIe and NICs, and the network behind it."""
    bx, by = host_block(cluster)
    figures, step = cluster.figures, (86.0, 66.0)
    x0, y0 = left + 62, top + 88
    bar = Box(left + 20, y0 + step[1] * by + 4, x0 + step[0] * (bx - 1) + 42, y0 + step[1] * by + 44)
    nics = int(figures["host.nics"].value) if "host.nics" in figures else 0
    net = Box(bar.left, bar.bottom + 72, bar.right, bar.bottom + 104)
    canvas.panel(
        Box(left, top, bar.right + 20, net.bottom + 22), f"one host and its {bx} x {by} chips",
        f"chips 0,0 to {bx - 1},{by - 1}, enlarged",
    )  # fmt: skip
    for j in range(by):
        for i in range(bx):
            x, y = x0 + i * step[0], y0 + j * step[1]
            box = canvas.box(around(x, y, 42, 26), [f"{i},{j}"], "chip", size=10, layer=OVER)
            lane = x - 29 + 7 * j if j + 1 < by else x
            start = ((box.left, y), (lane, y)) if j + 1 < by else ((x, box.bottom),)
            canvas.arrow((*start, (lane, bar.top - 1)), 1, width=1.8, radius=5, both=True, layer=BOXES)
            if i + 1 < bx:
                canvas.line(((box.right, y - 6), (x + step[0] - 21, y - 6)), "cable")
            if j + 1 < by:
                canvas.line(((x + 8, box.bottom), (x + 8, y + step[1] - 13)), "cable")
    canvas.box(bar, ["host: CPUs and DRAM"], "switch", size=11, layer=OVER)
    for k in range(max(nics, 1)):
        x = bar.left + (bar.right - bar.left) * (k + 1) / (max(nics, 1) + 1)
        canvas.arrow(((x, bar.bottom + 1), (x, net.top - 1)), 2, width=3.0, both=True)
    canvas.box(net, ["data centre network (DCN)"], "chip", size=11, layer=OVER)
    rate = figures["dcn.bandwidth"].value * bx * by
    said = f"{nics} NICs, together" if nics else "NICs, together"
    middle, y = (bar.left + bar.right) / 2, (bar.bottom + net.top) / 2
    canvas.text(middle, y - 4, said, size=9.5)
    canvas.text(middle, y + 9, f"{show_rate(rate)} each way", size=9.5)
    y = net.bottom + 46
    canvas.arrow(((left + 20, y - 4), (left + 46, y - 4)), 1, width=1.8, both=True)
    canvas.text(
        left + 54,
        y,
        f"{bx * by} PCIe links of {show_rate(figures['pcie.bandwidth'].value)} each way",
        size=10,
        anchor="start",
    )
    canvas.line(((left + 20, y + 14), (left + 46, y + 14)), "cable")
    canvas.text(
        left + 54,
        y + 18,
        f"ICI, {show_rate(figures['ici.bandwidth'].value)} each way",
        size=10,
        anchor="start",
    )


def draw_pod(numbers: Numbers) -> Picture:
    """The pod, hosts and all."""
    cluster = pod_of(numbers.on)
    topology, canvas = cluster.topology, Sketch()
    wide, tall = topology.shape
    _grid(canvas, cluster, 46, 60, True)
    edge = 46 + (wide - 1) * _STEP
    under = 60 + (tall - 1) * _STEP + 40
    bar = Box(46 - _STEP / 2, under, edge + _STEP / 2, under + 26)
    said = "data centre network (DCN), behind the hosts"
    canvas.box(bar, [said if fits(said, bar.right - bar.left - 8, 11) else "DCN"], "chip", size=11)
    _zoom(canvas, cluster, edge + 62, 52)
    bx, by = host_block(cluster)
    hosts = cluster.facts["hosts"]
    facts = {"chips": topology.chips, "hosts": hosts, "cables": topology.links // 2, "pcie_a_host": bx * by}
    wraps = [a.name for a in topology.axes if a.wraps]
    closed = (
        f"{' and '.join(wraps)} wrap: column 0 is joined to column {wide - 1}, row 0 to row {tall - 1}."
        if len(wraps) == 2
        else f"{wraps[0]} wraps; the other axis is open."
        if wraps
        else "No axis wraps: the slice is an open grid."
    )
    return Picture(
        canvas.finish(
            f"{cluster.name}: chips, hosts and the way out",
            f"{topology.chips} chips, {topology.links // 2} ICI cables of "
            f"{show_rate(float(topology.bandwidth[0]))} each way, {hosts} hosts",
            [f"Each block of {bx} x {by} chips, every other one shaded, hangs on one host. {closed} Data for "
             "another pod leaves through PCIe and the host, so it can never be faster than those."],
        ),
        facts,
        ("all_gather", numbers.on, "1GiB", "auto"),
        f"hopcast show {numbers.on}",
    )  # fmt: skip


def draw_rings(numbers: Numbers) -> Picture:
    """Every row and every column of a pod that wraps is a ring."""
    cluster = pod_of(numbers.on)
    wide, tall = cluster.topology.shape
    wraps = [a.wraps for a in cluster.topology.axes]
    if not any(wraps):
        raise InputError(
            f"--on {numbers.on}: no axis wraps, so there are no rings; take v5e:16x16 or v5e:8x16"
        )
    canvas, left, top = Sketch(), 46.0, 60.0
    _grid(canvas, cluster, left, top, False)
    right, bottom = left + (wide - 1) * _STEP, top + (tall - 1) * _STEP
    row, column = tall // 4, wide // 8
    if wraps[0]:
        y = top + row * _STEP
        loop = (
            (left, y),
            (right + 21, y),
            (right + 21, y - 12),
            (left - 21, y - 12),
            (left - 21, y),
            (left, y),
        )
        canvas.line(loop, "s1", width=3.2, radius=6, layer=BOXES)
    if wraps[1]:
        x = left + column * _STEP
        loop = (
            (x, top),
            (x, bottom + 21),
            (x + 12, bottom + 21),
            (x + 12, top - 21),
            (x, top - 21),
            (x, top),
        )
        canvas.line(loop, "s2", width=3.2, radius=6, layer=BOXES)
    rings = (tall if wraps[0] else 0) + (wide if wraps[1] else 0)
    said = [
        f"{tall} rows of {wide} along x" if wraps[0] else "",
        f"{wide} columns of {tall} along y" if wraps[1] else "",
    ]
    facts = {"rings": rings, "length": max(n for n, w in zip((wide, tall), wraps, strict=True) if w)}
    return Picture(
        canvas.finish(
            f"Rings in {cluster.name}",
            f"{rings} rings: {' and '.join(s for s in said if s)}, each with links both ways",
            [
                "A row together with its wraparound is a ring, and so is a column; one of each is marked. A "
                "collective over x runs on all rows at once, one over y on all columns, and they share no "
                "link."
            ],
        ),
        facts,
        ("all_gather", numbers.on, "1GiB", "auto"),
        f"hopcast show {numbers.on}",
    )


def draw_pods(numbers: Numbers) -> Picture:
    """Pods over a data centre network, and the way of data from one to another."""
    one = pod_of(numbers.on)
    pods = 3
    found = route(f"{numbers.on},slices=2", "0/0,0", "1/0,0", size=numbers.size).rows[0]
    canvas, figures = Sketch(), one.figures
    bx, by = host_block(one)
    net = canvas.box(Box(0, 0, 900, 34), [], "chip")
    canvas.text(720, 21, "data centre network (DCN)", size=12)
    for p in range(pods):
        left = p * 310.0
        canvas.panel(
            Box(left, 92, left + 280, 350),
            f"pod {p}",
            f"{one.topology.chips} chips, {one.facts['hosts']} hosts",
        )
        _small_pod(canvas, left + 32, 182, *one.topology.shape)
        x = left + 216
        host = canvas.box(around(x, 166, 76, 36), ["host"], "switch", size=11, layer=OVER)
        hbm = canvas.box(
            around(x, 290, 76, 62), ["chip 0,0", "HBM"], "end" if p < 2 else "chip", size=10, layer=OVER
        )
        for a, b in ((hbm.top - 2, host.bottom + 2), (host.top - 2, net.bottom + 2)):
            if p < 2:
                canvas.arrow(((x, a), (x, b)) if p == 0 else ((x, b), (x, a)), 1, width=3.6)
            else:
                canvas.line(((x, a), (x, b)), "cable")
        canvas.text(
            x - 8,
            224,
            f"PCIe, {show_rate(figures['pcie.bandwidth'].value)}",
            size=9,
            cls="muted",
            anchor="end",
        )
        each = figures["dcn.bandwidth"].value
        canvas.text(
            x - 8, 66, f"{show_rate(each * bx * by)} for {bx * by} chips", size=9, cls="muted", anchor="end"
        )
    canvas.arrow(((216, 17), (526, 17)), 1, width=3.6, layer=OVER)
    facts = {
        "hops": int(found["hops"]), "time_us": float(found["time_us"]),
        "latency_us": float(found["latency_us"]),
        "bandwidth_us": float(found["bandwidth_us"]), "dcn": figures["dcn.bandwidth"].value,
    }  # fmt: skip
    rate = found["size_bytes"] / found["bandwidth_us"] / 1e3
    return Picture(
        canvas.finish(
            f"Pods of {one.name} over a data centre network",
            "from HBM over PCIe to the host, over the DCN to the other host, over PCIe into HBM",
            [
                f"{show_size(found['size_bytes'])} from chip 0,0 of pod 0 to chip 0,0 of pod 1: "
                f"{show_seconds(found['time_us'] * 1e-6)}, of which the hops are "
                f"{show_seconds(found['latency_us'] * 1e-6)} and bytes the rest, at {rate:.4g} GB/s. A "
                "network that never blocks is assumed; its latency is, too."
            ],
        ),
        facts,
        ("all_reduce", f"{numbers.on},slices=2", "64MiB", "auto"),
        f"hopcast route {numbers.on},slices=2 0/0,0 1/0,0 --size {numbers.size}",
    )  # fmt: skip


def _small_pod(canvas: Sketch, left: float, top: float, wide: int, tall: int) -> None:
    """All chips of a pod, small."""
    step = 104.0 / max(wide, tall)
    for k in range(tall):
        canvas.line(((left, top + k * step), (left + (wide - 1) * step, top + k * step)), "idle", layer=LINES)
    for k in range(wide):
        canvas.line(((left + k * step, top), (left + k * step, top + (tall - 1) * step)), "idle", layer=LINES)
    chip = min(8.0, 0.6 * step)
    for i in range(wide):
        for j in range(tall):
            canvas.rect(around(left + i * step, top + j * step, chip, chip), "chip", round_by=1, layer=OVER)
    canvas.text(left + (wide - 1) * step / 2, top + 120, "chips over ICI", size=9, cls="muted")


FIGURES = (
    Figure("tpu_topology1", 4, "A v5e pod with its hosts", draw_pod, Numbers(0, "", "v5e:16x16"), "tpu"),
    Figure(
        "tpu_topology2",
        5,
        "Pods over a data centre network",
        draw_pods,
        Numbers(0, "64MiB", "v5e:16x16"),
        "tpu",
    ),
    Figure("ring", 10, "Rings in a pod", draw_rings, Numbers(0, "", "v5e:16x16"), "gather"),
)
