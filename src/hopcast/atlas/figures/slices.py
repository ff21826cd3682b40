"""all_reduce over several slices: inside by ICI, between them over the data centre network, and back."""

import numpy as np

from hopcast.algorithms import hierarchical
from hopcast.atlas import Figure, Numbers, Picture
from hopcast.choose import answer
from hopcast.draw.boxes import Box, around
from hopcast.draw.charts import bars
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.ir import algebra
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.price.steps import steps
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs import ask

_NAMES = (
    "reduce-scatter in the slices",
    "reduce-scatter over DCN",
    "all-gather over DCN",
    "all-gather in the slices",
)
Phase = tuple[bool, Schedule, float]  # over the network or not, its sends, seconds


def _slice(canvas: Sketch, left: float, top: float, wide: int, tall: int, kind: str) -> None:
    """A small grid with the arrows of a phase."""
    wide, tall = min(wide, 8), min(tall, 8)
    step = 98.0 / max(wide - 1, tall - 1, 1)
    line, width = ("s1", 2.2) if kind == "inside" else ("idle", 1.0)
    for i in range(wide):
        for j in range(tall):
            x, y = left + i * step, top + j * step
            canvas.rect(around(x, y, step * 0.5, step * 0.5), "chip", round_by=1.5, layer=OVER)
            if i + 1 < wide:
                canvas.line(((x, y), (x + step, y)), line, width=width)
            if j + 1 < tall:
                canvas.line(((x, y), (x, y + step)), line, width=width)


def _sent(made: Schedule, size: float) -> str:
    """What a chip sends in a phase: those at the rim of a slice less than others."""
    total = np.zeros(made.ranks)
    for rows in made.steps():
        total += np.bincount(rows.src, made.bytes(rows, 1.0), made.ranks)
    least, most = (show_size(float(part) * size) for part in (total.min(), total.max()))
    return f"{most} out of each chip" if least == most else f"{least} to {most} out of a chip"


def _phases(canvas: Sketch, parts: list[Phase], size: float, shape: tuple[int, ...]) -> None:
    """A panel for each phase."""
    many, wide, tall = shape
    for k, ((network, made, time), name) in enumerate(zip(parts, _NAMES, strict=True)):
        left, top = k % 2 * 440.0, k // 2 * 268.0
        canvas.panel(
            Box(left, top, left + 426, top + 256),
            f"{k + 1}. {name}",
            f"{_sent(made, size)}, {show_seconds(time)}",
        )
        shown = min(many, 3)
        for s in range(shown):
            x = left + 34 + s * 134
            label = s if s + 1 < shown or shown == many else many - 1
            _slice(canvas, x, top + 76, wide, tall, "network" if network else "inside")
            canvas.text(x + 49, top + 191, f"slice {label}", size=9)
            if s + 1 == shown < many:
                canvas.text(x - 18, top + 191, "...", size=11)
            if network:
                canvas.arrow(((x + 49, top + 196), (x + 49, top + 221)), 2, width=3.0, both=True)
        net = Box(left + 20, top + 222, left + 406, top + 244)
        canvas.box(net, ["data centre network"], "switch", size=9.5, layer=OVER)


def draw(numbers: Numbers) -> Picture:
    """Four phases and their times."""
    q, where = ask.question("all_reduce", f"{numbers.on},latency=0", size=numbers.size)
    topology = where.cluster.topology
    if not topology.is_slices or len(topology.axes) != 3 or topology.shape[0] < 2 or topology.chips > 512:
        raise InputError(
            f"--on {numbers.on}: this figure takes several slices of two axes, such as v5e:8x8,slices=4"
        )
    many, wide, tall = topology.shape
    outer = q.group.levels[0].axes[0].name
    parts: list[Phase] = []
    for over, made in hierarchical.phases("all_reduce", q.group, q.hint):
        found = steps(algebra.lay(made, q.group.all_groups, topology.vertices), where.cluster, q.size)
        parts.append((over == outer, made, found.latency + found.bandwidth))
    whole = answer(q, "hierarchical", "flows")
    bound = show_seconds(whole.bound.seconds)
    canvas = Sketch()
    _phases(canvas, parts, q.size, topology.shape)
    fuller = "; pieces fill links that a phase alone leaves idle, so the whole takes less than ICI alone"
    ici = sum(t for n, _, t in parts if not n)
    dcn = sum(t for n, _, t in parts if n)
    figures = where.cluster.figures
    rows = [
        (
            "ICI alone",
            ici,
            f"{show_seconds(ici)}, links of {show_rate(figures['ici.bandwidth'].value)}",
            "h1",
        ),
        ("DCN alone", dcn, f"{show_seconds(dcn)}, {show_rate(figures['dcn.bandwidth'].value)} a chip", "h2"),
        ("one after the other", ici + dcn, show_seconds(ici + dcn), "h5"),
        ("in pieces, by flows", whole.time, show_seconds(whole.time), "h3"),
        ("least possible", whole.bound.seconds, f"{bound}, by any schedule", "h4"),
    ]
    bars(canvas, 0, 556, rows, room=400)
    facts = {
        "size": q.size,
        "ici": ici,
        "dcn": dcn,
        "time": whole.time,
        "bound": whole.bound.seconds,
        "chips": topology.chips,
    }
    return Picture(
        canvas.finish(
            f"All-reduce over {many} slices: ICI, then the data centre network",
            f"{show_size(q.size)} on {numbers.on}, {topology.chips} chips",
            [
                f"After phase 1 a chip holds 1/{wide * tall} of the slice's sum, and only that crosses the "
                "slow network: each chip sends to the chips at its own place in the other slices. Cut in "
                f"pieces, both levels work at once{fuller if whole.time < ici else ''}.",
                f"Least possible: {whole.bound.what}.",
            ],
        ),
        facts,
        ("all_reduce", f"{numbers.on},latency=0", numbers.size, "hierarchical,pipeline=off"),
        f"hopcast predict all_reduce {numbers.on},latency=0 --size {numbers.size}",
    )


FIGURES = (
    Figure(
        "dcn_hierarchy", 0, "All-reduce over slices", draw, Numbers(0, "1GiB", "v5e:8x8,slices=4"), "beyond"
    ),
)
