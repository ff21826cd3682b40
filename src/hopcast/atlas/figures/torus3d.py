"""A torus of three axes, drawn aslant: sheets of x and y, one behind the other along z."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.draw.boxes import around
from hopcast.draw.geometry import Point
from hopcast.draw.layout import is_step
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import BACK, OVER
from hopcast.ir.topology import Topology
from hopcast.names import InputError

_ACROSS, _DOWN, _BACK = 104.0, 92.0, (47.0, -33.0)


def _at(topology: Topology, chip: int) -> Point:
    x, y, z = (int(c) for c in topology.coords[chip])
    return x * _ACROSS + z * _BACK[0], y * _DOWN + z * _BACK[1]


def _cables(canvas: Sketch, topology: Topology, centre: int) -> None:
    """Cables; those of one chip in colour, wraparounds as stubs."""
    stub = ((20.0, 0.0), (0.0, 18.0), (17.0, -12.0))
    for link in range(topology.links):
        s, d, axis = int(topology.src[link]), int(topology.dst[link]), int(topology.axis[link])
        mine = s == centre
        if not mine and (d == centre or s > d):
            continue
        a, b = _at(topology, s), _at(topology, d)
        if is_step(topology, link) or abs(int(topology.coords[d, axis]) - int(topology.coords[s, axis])) == 1:
            if mine:
                canvas.arrow(_near((a, b)), 1 + axis, width=3.0, layer=OVER)
            else:
                canvas.line((a, b), "cable", layer=BACK, width=1.4 if axis < 2 else 0.8)
            continue
        dx, dy = stub[axis]
        up = 1 if topology.coords[s, axis] else -1
        for (x, y), way in ((a, up), (b, -up)):
            canvas.line(((x, y), (x + dx * way, y + dy * way)), "wrap", layer=BACK)
        if mine:
            canvas.arrow((a, (a[0] + 1.6 * dx * up, a[1] + 1.6 * dy * up)), 1 + axis, width=3.0, layer=BACK)


def _near(line: tuple[Point, Point]) -> tuple[Point, Point]:
    """The line without its ends, which are under the chips."""
    (ax, ay), (bx, by) = line
    cut = 0.13
    return (ax + cut * (bx - ax), ay + cut * (by - ay)), (bx - cut * (bx - ax), by - cut * (by - ay))


def draw(numbers: Numbers) -> Picture:
    """The torus with the neighbours of one chip."""
    cluster = cluster_of(numbers.on)
    topology = cluster.topology
    if (
        not topology.is_grid
        or len(topology.axes) != 3
        or max(topology.shape) > 8
        or not all(a.wraps for a in topology.axes)
    ):
        raise InputError(
            f"--on {numbers.on}: this figure takes a torus of three axes, each up to 8, such as v5p:4x4x4"
        )
    canvas = Sketch()
    middle = tuple(n // 2 - (n > 2) for n in topology.shape)
    centre = next(c for c in range(topology.chips) if tuple(topology.coords[c]) == middle)
    _cables(canvas, topology, centre)
    near = {int(topology.dst[k]) for k in range(topology.links) if topology.src[k] == centre}
    order = sorted(
        range(topology.chips), key=lambda c: (-int(topology.coords[c, 2]), int(topology.coords[c, 1]))
    )
    for chip in order:
        x, y = _at(topology, chip)
        cls = "end" if chip == centre or chip in near else "chip"
        canvas.rect(around(x, y, 20, 14), cls, round_by=3, layer=OVER)
    names = zip("xyz", ((1, 0), (0, 1), (0.82, -0.57)), (1, 2, 3), strict=True)
    low = (-58.0, topology.shape[1] * _DOWN - 18.0)
    for name, (dx, dy), colour in names:
        canvas.arrow((low, (low[0] + 40 * dx, low[1] + 40 * dy)), colour, width=2.4)
        canvas.text(low[0] + 52 * dx, low[1] + 52 * dy + 4, name, size=12, cls="bold")
    cables = topology.links // 2
    facts = {"chips": topology.chips, "cables": cables, "per_chip": topology.links // topology.chips}
    shape = " x ".join(map(str, topology.shape))
    return Picture(
        canvas.finish(
            f"A 3-D torus of {shape}",
            f"{topology.chips} chips, {cables} cables, {facts['per_chip']} neighbours each: +x, -x, +y, -y, "
            "+z, -z",
            [
                "Arrows lead from one chip to its six neighbours. Dashed stubs are the wraparounds: along "
                "each axis the last chip is joined to the first."
            ],
        ),
        facts,
        ("all_gather", numbers.on, "1MiB", "auto"),
        f"hopcast show {numbers.on}",
    )  # fmt: skip


FIGURES = (Figure("topo_3d", 3, "A 3-D torus", draw, Numbers(0, "", "v5p:4x4x4"), "tpu"),)
