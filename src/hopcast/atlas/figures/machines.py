"""GPU machines: one node with its switches and NICs, and a rack of 72 GPUs as one domain."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.draw.boxes import Box, around
from hopcast.draw.sketch import Sketch, middle_of
from hopcast.draw.svg import BACK, OVER
from hopcast.names import InputError
from hopcast.units import show_rate
from hopcast.verbs.show import show


def draw_node(numbers: Numbers) -> Picture:
    """GPUs between their NVSwitches and their NICs."""
    cluster = cluster_of(numbers.on)
    figures, gpus = cluster.figures, cluster.topology.chips
    if gpus > 16 or "domain.nvswitches" not in figures:
        raise InputError(f"--on {numbers.on}: this figure takes one node of up to 16 GPUs, such as dgx-h100")
    switches, nics = int(figures["domain.nvswitches"].value), int(figures["domain.nics"].value)
    links, link = int(figures["nvlink.links"].value), figures["nvlink.link.bandwidth"].value
    rate, nic = figures["nvlink.bandwidth"].value, figures["nic.bandwidth"].value
    canvas, pitch = Sketch(), 92.0
    whole = gpus * pitch
    hubs = [
        Box(whole * (k + 0.5) / switches - 62, 0, whole * (k + 0.5) / switches + 62, 32)
        for k in range(switches)
    ]
    for k, hub in enumerate(hubs):
        canvas.box(hub, [f"NVSwitch {k}"], "switch", size=10.5, layer=OVER)
    for g in range(gpus):
        x = (g + 0.5) * pitch
        gpu = canvas.box(around(x, 170, 64, 48), [f"GPU {g}", "HBM"], "chip", size=10, layer=OVER)
        for k, hub in enumerate(hubs):
            foot = (gpu.left + 10 + 44 * (k + 0.5) / switches, gpu.top)
            head = (hub.left + 12 + (hub.right - hub.left - 24) * (g + 0.5) / gpus, hub.bottom)
            canvas.line((foot, head), f"s{k % 6 + 1}", width=1.3, layer=BACK)
        if g < nics:
            box = canvas.box(around(x, 262, 64, 28), [f"NIC {g}"], "switch", size=10, layer=OVER)
            canvas.line(((x, gpu.bottom), (x, box.top)), "cable")
            canvas.arrow(((x, box.bottom + 1), (x, box.bottom + 34)), 2, width=2.6, both=True)
            canvas.text(x, box.bottom + 48, f"rail {g}", size=9, cls="muted")
    side = whole + 14
    canvas.text(side, 84, f"{links} NVLinks a GPU", size=11, cls="bold", anchor="start")
    canvas.text(side, 100, f"of {show_rate(link)}: {show_rate(rate)}", size=10, anchor="start")
    canvas.text(side, 116, "one way, spread over", size=10, anchor="start")
    canvas.text(side, 132, f"{switches} NVSwitches", size=10, anchor="start")
    canvas.text(side, 258, f"{nics} NICs of {nic * 8 / 1e9:g} Gb/s", size=11, cls="bold", anchor="start")
    canvas.text(side, 274, f"{show_rate(nic * nics)} out of the node", size=10, anchor="start")
    half = gpus // 2 * rate
    facts = {
        "gpus": gpus,
        "nvswitches": switches,
        "gpu_rate": rate,
        "node_rate": nic * nics,
        "bisection": half,
        "links": links,
    }
    return Picture(
        canvas.finish(
            f"One node: {numbers.on}",
            f"{gpus} GPUs, {switches} NVSwitches, {nics} NICs",
            [
                f"Every GPU reaches every other over one NVSwitch, and all {gpus} at once at full rate: half "
                f"of them can send {show_rate(half)} to the other half, one way. Out of the node goes "
                f"{show_rate(nic * nics)}, {rate * gpus / (nic * nics):g} times less than all GPUs together "
                "put into NVLink."
            ],
        ),
        facts,
        ("all_gather", numbers.on, "64MiB", "ring"),
        f"hopcast show {numbers.on}",
    )


def draw_rack(numbers: Numbers) -> Picture:
    """Trays of GPUs, trays of switches, and the links of one GPU and of one switch."""
    cluster = cluster_of(numbers.on)
    row, figures, gpus = show(cluster).rows[0], cluster.figures, cluster.topology.chips
    switches = int(figures["domain.nvswitches"].value) if "domain.nvswitches" in figures else 0
    trays = row["nodes"] or 0
    if gpus < 32 or gpus > 144 or not switches or not trays:
        raise InputError(f"--on {numbers.on}: this figure takes one rack, such as gb200-nvl72")
    each, rate = gpus // trays, figures["nvlink.bandwidth"].value
    canvas, pitch = Sketch(), 54.0
    hubs, chips = [], []
    for k in range(switches):
        x = (k + 0.5) * trays * pitch / switches
        hubs.append(canvas.box(around(x, 14, 34, 28), [str(k)], "switch", size=10, layer=OVER))
    for t in range(trays):
        x = (t + 0.5) * pitch
        frame = Box(x - 24, 196, x + 24, 196 + each * 21 + 26)
        canvas.rect(frame, "blank", round_by=4, layer=BACK)
        for g in range(each):
            cls = "end" if t == 0 and g == 0 else "chip"
            box = around(x, 213 + 21 * g, 34, 16)
            chips.append(canvas.box(box, [str(t * each + g)], cls, size=8.5, round_by=3, layer=OVER))
        canvas.text(x, frame.bottom - 6, f"tray {t}", size=8, cls="muted")
    (x, _), top = middle_of(chips[0]), chips[0].top
    for hub in hubs:
        canvas.line(((x, top), (middle_of(hub)[0], hub.bottom)), "s1", width=1.5, layer=BACK)
    end = (middle_of(hubs[-1])[0] + 4, hubs[-1].bottom)
    for chip in chips[::each][1:]:
        canvas.line(((middle_of(chip)[0], 196), end), "r2", width=1.2, layer=BACK)
    canvas.text(0, -14, f"{switches} NVSwitches", size=12, cls="bold", anchor="start")
    half = gpus // 2 * rate
    facts = {"gpus": gpus, "nvswitches": switches, "gpu_rate": rate, "bisection": half, "trays": trays}
    return Picture(
        canvas.finish(
            f"One domain of {gpus} GPUs: {numbers.on}",
            f"{trays} trays of {each} GPUs, {switches} NVSwitches, {show_rate(rate)} a GPU one way",
            [
                "Every GPU has a link to every switch: those of GPU 0 are drawn whole, those of switch "
                f"{switches - 1} dashed, one for each tray. So any two GPUs are one hop apart, and half of "
                f"the rack can send {show_rate(half)} to the other half, one way: {gpus} GPUs are to each "
                "other what the 8 of a node were before."
            ],
        ),
        facts,
        ("all_gather", numbers.on, "64MiB", "ring"),
        f"hopcast show {numbers.on}",
    )


FIGURES = (
    Figure("dgx_node", 0, "One DGX H100 node", draw_node, Numbers(0, "", "dgx-h100"), "beyond"),
    Figure("nvl72", 0, "One GB200 NVL72 rack", draw_rack, Numbers(0, "", "gb200-nvl72"), "beyond"),
)
