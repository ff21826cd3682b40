"""A torus whose short wraparounds are shifted, beside the straight one: seams, distances, all_to_all."""

import math

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.choose import answer
from hopcast.draw.boxes import Box, around
from hopcast.draw.charts import bars
from hopcast.draw.layout import is_step
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.ir.topology import Topology
from hopcast.names import InputError
from hopcast.topologies.twisted_torus import SHAPES, twistable
from hopcast.units import show_seconds
from hopcast.verbs import ask
from hopcast.verbs.show import show

_PITCH = 44.0


def _seams(canvas: Sketch, topology: Topology, left: float, top: float) -> None:
    """The grid, the long axis across; stubs above and below bear the number of the column they lead to."""
    long = int(topology.shape[1] > topology.shape[0])
    wide, tall = topology.shape[long], topology.shape[1 - long]
    for k in range(tall):
        y = top + k * _PITCH
        canvas.line(((left - 20, y), (left + (wide - 1) * _PITCH + 20, y)), "cable", width=1.2)
    for i in range(wide):
        x = left + i * _PITCH
        canvas.line(((x, top), (x, top + (tall - 1) * _PITCH)), "cable", width=1.2)
        for j in range(tall):
            canvas.rect(around(x, top + j * _PITCH, 16, 16), "chip", round_by=3, layer=OVER)
    for link in range(topology.links):
        axis = int(topology.axis[link])
        if axis == long or is_step(topology, link):
            continue
        s, d = (topology.coords[int(v[link])] for v in (topology.src, topology.dst))
        if abs(int(s[axis]) - int(d[axis])) == 1 and tall > 2:
            continue
        up = s[axis] == 0
        x = left + int(s[long]) * _PITCH
        y = top if up else top + (tall - 1) * _PITCH
        moved = int(s[long]) != int(d[long])
        out = y - 22 if up else y + 22
        colour = 1 + min(int(s[long]), int(d[long])) % 4 if moved else 0
        canvas.line(((x, y), (x, out)), f"s{colour}" if moved else "cable", width=2.6 if moved else 1.4)
        canvas.text(
            x, out - 4 if up else out + 11, f"to {int(d[long])}", size=9, cls="bold" if moved else "muted"
        )
    for i in range(wide):
        canvas.text(left + i * _PITCH + 11, top - 11, str(i), size=8, cls="muted", anchor="start")


def draw(numbers: Numbers) -> Picture:
    """Seams of the small one, numbers of both."""
    shape = tuple(int(n) for n in numbers.on.partition(":")[2].split(",")[0].split("x") if n.isdecimal())
    if not shape or not twistable(shape):
        raise InputError(
            f"--on {numbers.on}: a torus that can be twisted is {SHAPES}; write torus:4x8 or v5p:4x4x8"
        )
    n = min(shape)
    small = f"torus:{n}x{2 * n}"
    canvas, step = Sketch(), _PITCH * (2 * n - 1)
    for k, (title, under, name) in enumerate(
        (("straight", "the wraparound leads to the same column", small),
         (f"twisted by {n}", f"crossing the seam moves by {n}, half of the long axis", f"{small},twisted"))
    ):  # fmt: skip
        left = k * (step + 110)
        canvas.panel(Box(left, 0, left + step + 96, 152 + _PITCH * (n - 1)), title, under)
        _seams(canvas, cluster_of(name).topology, left + 48, 98)
    facts: dict[str, Fact] = {}
    rows = []
    top = 190 + _PITCH * (n - 1)
    for k, (name, shown) in enumerate(((numbers.on, "straight"), (f"{numbers.on},twisted", "twisted"))):
        row = show(name).rows[0]
        q, _ = ask.question("all_to_all", f"{name},latency=0", size="1GiB")
        time = answer(q, "direct", "flows").time
        facts |= {
            f"{shown}.diameter": row["diameter"],
            f"{shown}.hops": row["mean_hops"],
            f"{shown}.time": time,
        }
        words = f"{show_seconds(time)}; diameter {row['diameter']}, {row['mean_hops']:.4g} hops on average"
        rows.append((f"{numbers.on}, {shown}", time, words, f"h{2 - k}"))
    canvas.text(0, top, "all-to-all of 1 GiB, by flows", size=12, cls="bold", anchor="start")
    bars(canvas, 0, top + 16, rows, room=360)
    gain = float(facts["straight.time"]) / float(facts["twisted.time"])  # type: ignore[arg-type]
    facts["gain"] = gain
    chips = math.prod(shape)
    return Picture(
        canvas.finish(
            f"A twisted torus: {numbers.on} with shifted seams",
            f"{chips} chips, the same number of links",
            [
                "The shift brings far chips nearer: every link of the twisted torus looks like every other, "
                f"so none is the bottleneck that the long axis is. An all-to-all takes {gain:.3f} times "
                "less. Rings along one axis gain nothing."
            ],
        ),
        facts,
        ("all_to_all", f"{numbers.on},twisted", "64MiB", "direct"),
        f"hopcast show {numbers.on},twisted",
    )


FIGURES = (Figure("twisted_torus", 0, "A twisted torus", draw, Numbers(0, "", "v5p:4x4x8"), "beyond"),)
