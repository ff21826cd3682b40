"""Inside a node of GPUs: a ring that is only an order, all_to_all in rounds, and sums taken by the switch."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._circle import chords, node, pairs_of, sent_share
from hopcast.atlas._steps import PORT, priced
from hopcast.atlas._timing import Timing, at_most, fraction, timed
from hopcast.draw.boxes import Box, around
from hopcast.draw.charts import bars
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import OVER
from hopcast.units import show_rate, show_seconds


def draw_ring(numbers: Numbers) -> Picture:
    """A ring in two orders, and its steps."""
    n = at_most(numbers.ranks, least=3, most=16)
    where = f"switch:{n}{PORT}"
    t = timed("all_gather", where, numbers.size, "ring")
    canvas = Sketch()
    order = [(3 * i) % n if n % 3 else i ^ 1 if i < n - n % 2 else i for i in range(n)]
    for k, (title, under, ranks) in enumerate(
        (
            ("in the order of the GPUs", "rank r on GPU r", list(range(n))),
            ("in another order", "the same time: every hop is once through the switch", order),
        )
    ):
        left = k * 400.0
        canvas.panel(Box(left, 0, left + 384, 340), title, under)
        boxes = node(canvas, left + 192, 196, 112, [f"GPU {g}" for g in range(n)], "NVSwitch")
        place = [boxes[g] for g in ranks]
        chords(canvas, place, pairs_of(t.schedule, 0), width=2.4)
    step = t.formula / t.schedule.step_count
    caption = (
        "Each step moves D/N out of every GPU and into every GPU at full port rate: T_step = D/(N W) = "
        f"{show_seconds(step)}; {t.schedule.step_count} steps, T = D (N-1)/(N W): {t.words}."
    )
    title = f"A ring over an NVSwitch is an order of the {n} GPUs"
    svg = canvas.finish(
        title, f"{n} GPUs, each with {show_rate(t.rate)} into the switch and as much out of it", [caption]
    )
    made = priced(t, svg, "all_gather", where, "ring", numbers.size)
    return Picture(svg, {**made.facts, "time_step": step}, made.live, made.ask)


def draw_exchange(numbers: Numbers) -> Picture:
    """A circle for each round, and what GPU 0 has by then."""
    n = at_most(numbers.ranks, least=3, most=9)
    where = f"switch:{n}{PORT}"
    t = timed("all_to_all", where, numbers.size, "pairwise")
    canvas, wide, high = Sketch(), 250.0, 262.0
    goal, origin = t.schedule.collective.goal, t.schedule.collective.origin
    have = {0}
    for step in range(t.schedule.step_count):
        left, top = step % 4 * (wide + 12), step // 4 * (high + 12)
        pairs = pairs_of(t.schedule, step)
        ahead = (pairs[0][1] - pairs[0][0]) % n
        canvas.panel(
            Box(left, top, left + wide, top + high),
            f"step {step}",
            f"GPU i to GPU i + {ahead}, D/{n * n} each",
        )
        boxes = node(canvas, left + wide / 2, top + 138, 78, [str(g) for g in range(n)])
        chords(canvas, boxes, pairs, width=1.6)
        rows = t.schedule.make(step)
        mine = [int(origin[c]) for c, d in zip(rows.chunk, rows.dst, strict=True) if d == 0 and goal[c] == 0]
        have.update(mine)
        filled = [g if g in have else None for g in range(n)]
        canvas.cells(
            left + 64, top + high - 24, filled, wide=(wide - 84) / n, high=14, fresh=mine, across=True
        )
        canvas.text(left + 58, top + high - 13, "GPU 0", size=9, cls="muted", anchor="end")
    share = sent_share(t.schedule, 0)
    caption = (
        "In step s GPU i sends to GPU i + s + 1 what is meant for it, so every port carries "
        f"{fraction(share)} of D in and out in every step. T = D (N-1)/(N^2 W), about D/(N W): {t.words}. "
        "The row of cells is what GPU 0 has received, a colour for each GPU."
    )
    title = f"All-to-all of {n} GPUs over an NVSwitch"
    svg = canvas.finish(title, f"{n} GPUs, {n * n} messages, {t.schedule.step_count} steps", [caption])
    return priced(t, svg, "all_to_all", where, "pairwise", numbers.size)


def _times(n: int, size: str) -> tuple[Timing, Timing, Timing]:
    """all_reduce by a ring, by the switch that adds, and by loads and stores through it."""
    plain, able = f"switch:{n}{PORT}", f"switch:{n}{PORT},sharp=on"
    return (
        timed("all_reduce", plain, size, "ring"),
        timed("all_reduce", able, size, "sharp,chunks=512"),
        timed("all_reduce", able, size, "nvls,chunks=512"),
    )


def draw_sharp(numbers: Numbers) -> Picture:
    """What a port carries with and without sums in the switch, and the times."""
    n = at_most(numbers.ranks, least=3, most=8)
    ring, sharp, nvls = _times(n, numbers.size)
    canvas = Sketch()
    canvas.panel(
        Box(0, 0, 300, 330), "without: a ring", f"each GPU sends 2 (N-1)/N = {fraction(2 * (n - 1) / n)} of D"
    )
    boxes = node(canvas, 150, 192, 102, [str(g) for g in range(n)])
    chords(canvas, boxes, pairs_of(ring.schedule, 0), width=2.6)
    canvas.text(150, 189, "every GPU adds", size=10)
    canvas.text(150, 204, "and passes on", size=10)
    for k, (title, under, up) in enumerate(
        (
            ("with SHARP: the sum goes up", "each GPU sends its D once; the switch adds", True),
            ("and comes down", "the switch sends the sum to all at once", False),
        )
    ):
        left = 316.0 + k * 316
        canvas.panel(Box(left, 0, left + 300, 330), title, under)
        _through(canvas, left + 150, 192, n, up)
    named = (("ring", ring, "h2"), ("SHARP, ideal", sharp, "h1"), ("NVLS, load and store", nvls, "h3"))
    rows = [
        (name, t.flows, f"{show_seconds(t.flows)}, {t.flows * t.rate / t.size:.3f} D/W", cls)
        for name, t, cls in named
    ]
    bars(canvas, 0, 360, rows, room=520)
    ratio = 2 * (n - 1) / n
    facts = {
        "size": ring.size, "rate": ring.rate, "time_ring": ring.flows,
        "time_sharp": sharp.flows, "time_nvls": nvls.flows,
        "ratio": ring.flows / sharp.flows,
    }  # fmt: skip
    able = f"switch:{n}{PORT},sharp=on"
    return Picture(
        canvas.finish(
            f"All-reduce of {n} GPUs with the sum taken in the switch",
            f"each port {show_rate(ring.rate)} in and as much out; bars: by flows",
            [
                "Without SHARP T = 2 D (N-1)/(N W). With it D/W, for D goes up and the sum comes down at "
                f"the same time, piece after piece: {ratio:g} times faster for {n} GPUs, 2 times for very "
                "many; measured gains are near 1.3 (Gordic 2026). On an H100 node a GPU also loads and "
                "stores its own share of the sum, which adds D/N (NVLS)."
            ],
        ),
        facts,
        ("all_reduce", able, numbers.size, "sharp,chunks=4"),
        f"hopcast predict all_reduce {able} --size {numbers.size} --algorithm all",
    )


def _through(canvas: Sketch, x: float, y: float, n: int, up: bool) -> None:
    """Arrows between the GPUs and the switch."""
    hub = around(x, y, 78, 40)
    names = [str(g) for g in range(n)]
    boxes = node(canvas, x, y, 102, names)
    canvas.rect(hub, "switch", round_by=6, layer=OVER)
    canvas.text(x, y - 4, "NVSwitch", size=9.5)
    canvas.text(x, y + 12, "adds" if up else "multicasts", size=9.5, cls="bold")
    for box in boxes:
        a, b = (box, hub) if up else (hub, box)
        canvas.link(a, b, 1 if up else 3, width=2.6, gap=2.5)


FIGURES = (
    Figure("gpu_ring", 26, "A ring over an NVSwitch", draw_ring, Numbers(8, "8MiB"), "node"),
    Figure("sharp", 27, "All-reduce in the switch", draw_sharp, Numbers(8, "1GiB"), "node"),
    Figure("gpu_ata", 28, "All-to-all over an NVSwitch", draw_exchange, Numbers(8, "8MiB"), "node"),
)
