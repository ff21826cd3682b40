"""What collectives cost on TPUs, in D/W: by formula, by steps and by flows, on lines and grids."""

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._schedules import one_way_exchange
from hopcast.atlas._steps import LINK
from hopcast.atlas._timing import Own, Timing, at_most, closed_form, fraction, timed, times
from hopcast.draw.sketch import Sketch
from hopcast.draw.tables import Cell, draw_table

# head, cluster for N ranks on a line, algorithms of all_gather and of all_to_all, whether N may grow
COLUMNS: tuple[tuple[tuple[str, ...], str, str, str | Own, bool], ...] = (
    (("ring, both ways", "wraparound, N = {n}"), "ring:{n}", "bidirectional_ring", "dimension_ordered", True),
    (("ring, one way", "one direction used, N = {n}"), "ring:{n}", "ring", one_way_exchange, True),
    (("open line", "no wraparound, N = {n}"), "chain:{n}", "chain", "dimension_ordered", True),
    (("2 axes, both wrap", "4 x 4"), "torus:4x4", "multi_axis", "direct", False),
    (("3 axes, all wrap", "4 x 4 x 4"), "torus:4x4x4", "multi_axis", "direct", False),
    (("2 axes, both open", "4 x 4"), "mesh:4x4", "multi_axis", "direct", False),
)
ROWS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all")
_LARGE = 1024


def cell(collective: str, column: int, ranks: int) -> tuple[Timing, float | None]:
    """The three prices of one cell, and the formula in D/W for many ranks where they can grow.

    Cost: a simulation of up to 64 ranks.
    """
    _, name, gather, exchange, grows = COLUMNS[column]
    algorithm = exchange if collective == "all_to_all" else gather
    t = timed(collective, name.format(n=ranks) + LINK, "1GiB", algorithm)
    large = closed_form(collective, name.format(n=_LARGE) + LINK, "1GiB", algorithm) if grows else None
    return t, None if large is None else large * t.rate / t.size


def draw(numbers: Numbers) -> Picture:
    """The table."""
    ranks = at_most(numbers.ranks, least=3, most=32)
    facts: dict[str, Fact] = {}
    rows = []
    for name in ROWS:
        cells = []
        for c in range(len(COLUMNS)):
            t, large = cell(name, c, ranks)
            key = f"{name}.{c}"
            three = [p * t.rate / t.size for p in (t.formula, t.steps, t.flows)]
            facts |= dict(zip((f"{key}.formula", f"{key}.steps", f"{key}.flows"), three, strict=True))
            lines = [f"steps {fraction(three[1])}", f"flows {fraction(three[2])}"]
            if large is not None:
                facts[f"{key}.large"] = large
                lines.append(f"N = {_LARGE:,}: {large:.3f}")
            cells.append(Cell(times(fraction(three[0])), tuple(lines)))
        rows.append((name, cells))
    canvas = Sketch()
    heads = [("collective",), *(tuple(line.format(n=ranks) for line in head) for head, *_ in COLUMNS)]
    draw_table(canvas, heads, rows)
    return Picture(
        canvas.finish(
            "What collectives cost on TPUs, in D/W",
            "D: bytes of the whole array; W: bytes/s of one link one way; bold: the closed form; latency "
            "left out",
            [
                "Bytes alone decide for large messages, and the number of chips hardly matters; a missing "
                "wraparound doubles the time, a second axis halves it, an all-reduce is two all-gathers. An "
                "all-to-all on k equal axes of n takes n/(8 N) wrapped and n/(4 N) open, N the number of "
                "chips.",
                "Steps and flows are computed from the schedules. Where they differ from the formula a link "
                "waits for another: all-gather on open axes.",
            ],
        ),
        facts,
        (),
        "hopcast atlas --only totaltime -o site",
    )


FIGURES = (Figure("totaltime", 24, "What collectives cost on TPUs", draw, Numbers(8), "exchange"),)
