"""How fast data moves at each distance from a chip's compute units: a pyramid of bandwidths."""

import math

from hopcast import chips
from hopcast.atlas import Figure, Numbers, Picture
from hopcast.draw.boxes import Box
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.names import InputError
from hopcast.units import show_rate

# key of a figure, name, what it joins
LEVELS = (
    ("vmem.bandwidth", "VMEM", "on-chip memory to the matrix units"),
    ("hbm.bandwidth", "HBM", "the chip's own memory"),
    ("ici.bandwidth", "ICI", "one link to a neighbour, one way"),
    ("pcie.bandwidth", "PCIe", "chip to host, one way"),
    ("dcn.bandwidth", "DCN", "to other pods, for each chip"),
)


def draw(numbers: Numbers) -> Picture:
    """A layer for each level that the data sheet gives; its width is the logarithm of its bandwidth."""
    chip = chips.load(numbers.on)
    have = [(k, n, w) for k, n, w in LEVELS if k in chip.figures]
    if len(have) < 3:
        raise InputError(
            f"--on {numbers.on}: {chip.title} has no bandwidth hierarchy on record; take v5e or v5p"
        )
    have.sort(key=lambda level: -chip.figures[level[0]].value)
    rates = [chip.figures[k].value for k, _, _ in have]
    canvas, high = Sketch(), 62.0
    low = math.log10(rates[-1]) - 1.1
    half = [(math.log10(r) - low) * 52.0 for r in rates]
    for i, (_, name, what) in enumerate(have):
        y = i * (high + 10)
        shade = len(have) - i
        wide = half[i]
        canvas.rect(Box(-wide, y, wide, y + high), f"t{min(5, shade)}", round_by=4)
        canvas.rect(Box(-42, y + 17, 42, y + 45), "panel", round_by=4, layer=OVER)
        canvas.text(0, y + 36, name, size=14, cls="bold")
        x = half[0] + 26
        canvas.text(
            x,
            y + 22,
            f"{rates[i]:.4g} B/s".replace("e+0", "e").replace("e+", "e"),
            size=13,
            cls="bold",
            anchor="start",
        )
        canvas.text(x, y + 38, f"{show_rate(rates[i])}: {what}", size=10.5, anchor="start")
        if i:
            canvas.text(
                x,
                y + 54,
                f"1/{rates[i - 1] / rates[i]:.3g} of the one above",
                size=10,
                cls="muted",
                anchor="start",
            )
    facts = {k.split(".")[0]: chip.figures[k].value for k, _, _ in have}
    links = int(chip.figures["ici.links"].value) if "ici.links" in chip.figures else 0
    return Picture(
        canvas.finish(
            f"The bandwidths of a {chip.title}, fast above slow below",
            "the width of a layer is the logarithm of its bandwidth",
            [
                "The farther from the compute units, the slower: from VMEM to the data centre network "
                f"{rates[0] / rates[-1]:,.0f} times. A chip has {links} ICI links, and each carries as much "
                "back at the same time."
            ],
        ),
        facts,
        (),
        f"hopcast show {numbers.on}:4x4" if chip.axes and len(chip.figures) else "",
    )


FIGURES = (Figure("pyramid", 6, "The bandwidth hierarchy of a TPU v5e", draw, Numbers(0, "", "v5e"), "tpu"),)
