"""all_to_all on a ring both ways and one way and on an open line: whose chunks go where, what links carry."""

import itertools
from dataclasses import replace

import numpy as np

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._schedules import one_way_exchange
from hopcast.atlas._steps import LINK, priced
from hopcast.atlas._timing import Own, Timing, at_most, timed
from hopcast.draw.boxes import Box
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Floats

_PITCH, _CELL = 84.0, 9.0
Hops = tuple[tuple[int, int], ...]


def journeys(schedule: Schedule, source: int) -> list[tuple[int, Hops]]:
    """Destination and hops of what starts at a rank and ends at another; parts that go alike are one.

    Cost: one pass over the sends.
    """
    c = schedule.collective
    mine = np.flatnonzero((c.origin == source) & (c.goal != source))
    hops: dict[int, list[tuple[int, int]]] = {int(k): [] for k in mine}
    for rows in schedule.steps():
        for s, d, first, count in zip(rows.src, rows.dst, rows.chunk, rows.count, strict=True):
            for k in range(int(first), int(first + count)):
                if k % schedule.chunks in hops:
                    hops[k % schedule.chunks].append((int(s), int(d)))
    return sorted({(int(c.goal[k]), tuple(way)) for k, way in hops.items()})


def picture(t: Timing, title: str, under: str, notes: list[str]) -> str:
    """Chunks before, the ways of one chip's chunks, the load of each link, chunks after."""
    canvas, n = Sketch(), t.schedule.ranks
    where = [i * _PITCH for i in range(n)]
    wraps = t.cluster.topology.axes[0].wraps
    y = _stacks(canvas, where, 0.0, "before", [[i] * n for i in range(n)], n)
    y = _chips(canvas, where, y + 12, wraps)
    source = n // 2
    y = _ways(canvas, where, y + 18, source, journeys(t.schedule, source))
    y = _loads(canvas, t, where, y + 26)
    _stacks(canvas, where, y + 30, "after", [list(range(n))] * n, n)
    return canvas.finish(title, under, notes)


def _stacks(
    canvas: Sketch, where: list[float], top: float, name: str, held: list[list[int]], n: int
) -> float:
    """What each chip holds: a cell per destination before, per source after."""
    room = min(_CELL * n, 72.0)
    left = where[0] - 60
    canvas.text(left, top + 12, name, size=11, cls="bold", anchor="end")
    canvas.text(
        left,
        top + 27,
        "a cell for each" if name == "before" else "one from each",
        size=9,
        cls="muted",
        anchor="end",
    )
    canvas.text(
        left, top + 40, "destination" if name == "before" else "source", size=9, cls="muted", anchor="end"
    )
    for x, colours in zip(where, held, strict=True):
        canvas.cells(x - 15, top, colours, wide=30, high=room / n)
    return top + room


def _chips(canvas: Sketch, where: list[float], top: float, wraps: bool) -> float:
    """The chips in a row with their cables."""
    for a, b in itertools.pairwise(where):
        canvas.line(((a + 20, top + 12), (b - 20, top + 12)), "cable")
    if wraps:
        canvas.line(((where[0] - 20, top + 12), (where[0] - 44, top + 12)), "wrap")
        canvas.line(((where[-1] + 20, top + 12), (where[-1] + 44, top + 12)), "wrap")
    for i, x in enumerate(where):
        canvas.box(Box(x - 20, top, x + 20, top + 24), [f"chip {i}"], "chip", size=9)
    return top + 24


def _ways(
    canvas: Sketch, where: list[float], top: float, source: int, found: list[tuple[int, Hops]]
) -> float:
    """A line for each chunk of one chip, hop by hop."""
    step = 15.0
    canvas.text(where[0] - 60, top + 12, f"chunks of chip {source}", size=11, cls="bold", anchor="end")
    canvas.text(where[0] - 60, top + 27, "hop by hop;", size=9, cls="muted", anchor="end")
    canvas.text(where[0] - 60, top + 40, "all chips do alike", size=9, cls="muted", anchor="end")
    n = len(where)
    rows: list[tuple[int, dict[bool, Hops]]] = []
    for _, way in sorted(found, key=lambda f: (len(f[1]), f[0])):
        ahead = (way[0][1] - way[0][0]) % n == 1
        free = next((r for r in rows if ahead not in r[1] and r[0] == len(way)), None)
        if free is None:
            free = (len(way), {})
            rows.append(free)
        free[1][ahead] = way
    for r, (_, both) in enumerate(rows):
        y = top + 6 + r * step
        for ahead, way in sorted(both.items()):
            _hops(canvas, where, y, way, 1 if ahead else -1)
    bottom = top + 6 + len(rows) * step
    canvas.line(((where[source], top - 4), (where[source], bottom - step + 4)), "bundle")
    return bottom


def _hops(canvas: Sketch, where: list[float], y: float, way: Hops, side: int) -> None:
    colour = 1 if side > 0 else 2
    for s, d in way:
        if (d - s) * side > 0:
            canvas.arrow(((where[s] + 3 * side, y), (where[d] - 3 * side, y)), colour, width=1.8, dashed=True)
        else:
            canvas.line(((where[s] + 3 * side, y), (where[s] + 46 * side, y)), f"r{colour}", width=1.8)
            canvas.arrow(
                ((where[d] - 46 * side, y), (where[d] - 3 * side, y)), colour, width=1.8, dashed=True
            )


def per_cable(t: Timing) -> tuple[Floats, Floats]:
    """Chunks of D / N^2 over the link from chip i to i + 1, and back.

    Shapes: two ``float64[N]``; -1 where there is no link.
    """
    n, topology = t.schedule.ranks, t.cluster.topology
    assert t.detail.load is not None
    chunks = t.detail.load / (t.size / n**2)
    out = np.full((2, n), -1.0)
    for link in range(topology.links):
        s, d = int(topology.src[link]), int(topology.dst[link])
        if (d - s) % n == 1:
            out[0, s] = chunks[link]
        else:
            out[1, d] = chunks[link]
    return out[0], out[1]


def _loads(canvas: Sketch, t: Timing, where: list[float], top: float) -> float:
    """A bar for each link: to the right above the line, to the left below."""
    right, left = per_cable(t)
    most, tall = float(max(right.max(), left.max())), 46.0
    middle = top + tall + 4
    canvas.text(where[0] - 60, top + 12, "load of the links", size=11, cls="bold", anchor="end")
    canvas.text(where[0] - 60, top + 27, "in chunks of D/N^2", size=9, cls="muted", anchor="end")
    canvas.text(where[0] - 60, middle - 3, "to the right", size=9, cls="muted", anchor="end")
    canvas.text(where[0] - 60, middle + 12, "to the left", size=9, cls="muted", anchor="end")
    canvas.line(((where[0] - 50, middle), (where[-1] + 52, middle)), "cable")
    for i, x in enumerate(where):
        for value, up, shade in ((right[i], True, "h1"), (left[i], False, "h2")):
            if value < 0 or (value == 0 and not up):
                continue
            at, high = x + _PITCH / 2 - (4 if i < len(where) - 1 else 10), tall * value / most
            edge = (
                Box(at - 11, middle - high, at + 11, middle)
                if up
                else Box(at - 11, middle, at + 11, middle + high)
            )
            canvas.rect(edge, shade, layer=OVER)
            canvas.text(at, edge.top - 3 if up else edge.bottom + 10, f"{value:g}", size=9)
    return middle + tall + 6


def _made(
    collective: str, cluster: str, algorithm: str | Own, n: Numbers, title: str, how: str, law: str
) -> Picture:
    t = timed(collective, cluster, n.size, algorithm)
    right, left = per_cable(t)
    most = float(max(right.max(), left.max()))
    ranks = t.schedule.ranks
    part = t.part(most * t.size / ranks**2 / t.rate)
    load = f"The fullest link carries {most:g} chunks of D/{ranks**2}, {part} of D."
    under = f"{ranks} ranks, {ranks**2} messages of D/{ranks**2}, {t.schedule.step_count} steps"
    svg = picture(t, title, under, [how, f"{load} T = {law}: {t.words}."])
    made = priced(t, svg, collective, cluster, algorithm, n.size)
    loads = {"right": tuple(map(float, right)), "left": tuple(map(float, left))}
    return replace(made, facts={**made.facts, **loads, "most": most})


def _both_ways(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, least=3, most=16)
    return _made(
        "all_to_all", f"ring:{ranks}{LINK}", "dimension_ordered", n,
        f"All-to-all on a ring of {ranks}: every chunk takes the shorter way",
        "A sharded transpose: every chip has a chunk for every other. The chunk for the opposite chip goes "
        "half each "
        "way." if ranks % 2 == 0 else "A sharded transpose: every chip has a chunk for every other.",
        "D/(8W), a quarter of an all-gather" if ranks % 2 == 0 else "D (N^2-1)/(8 N^2 W)",
    )  # fmt: skip


def _one_way(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, least=3, most=16)
    return _made(
        "all_to_all", f"ring:{ranks}{LINK}", one_way_exchange, n,
        f"All-to-all on a ring of {ranks}, one direction",
        f"A chunk for the chip d places on takes d hops: 1 + 2 + ... + {ranks - 1} chunks over every link.",
        "D (N-1)/(2 N W), D/(2W) for large N: half of an all-gather one way",
    )  # fmt: skip


def _chain(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, least=2, most=16)
    return _made(
        "all_to_all", f"chain:{ranks}{LINK}", "dimension_ordered", n,
        f"All-to-all on an open line of {ranks} chips",
        "Everything between the two halves crosses the middle, (N/2)^2 chunks each way; no other link is so "
        "full.",
        "D/(4W), twice that of the ring" if ranks % 2 == 0 else "D (N^2-1)/(4 N^2 W)",
    )  # fmt: skip


FIGURES = (
    Figure("ata1", 21, "All-to-all, ring, both directions", _both_ways, Numbers(8, "8MiB"), "exchange"),
    Figure("ata2", 22, "All-to-all, ring, one direction", _one_way, Numbers(4, "8MiB"), "exchange"),
    Figure("ata3", 23, "All-to-all, open line", _chain, Numbers(4, "8MiB"), "exchange"),
)
