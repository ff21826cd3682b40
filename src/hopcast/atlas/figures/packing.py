"""All-reduce over packed trees: the trees, what they gain over two phases, and from which size on."""

from collections.abc import Sequence

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of, fraction
from hopcast.choose import answer
from hopcast.draw.boxes import Box
from hopcast.draw.charts import Curve, Scale, crossings, evenly, heat_key, plot
from hopcast.draw.sketch import Sketch
from hopcast.draw.timeline import MOST_LINES, Run, busy_over_time, lines
from hopcast.draw.tree_picture import trees_svg
from hopcast.draw.trees import cables, trees
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs import ask

TREES, PHASES = "tree_packing", "multi_axis,lockstep=on"
_TWO = "reduce_scatter + all_gather"
_SIZES = tuple(2.0**k for k in range(16, 32))
_MOMENTS = 180


def _answer(on: str, size: str | float, algorithm: str, collective: str = "all_reduce") -> Answer:
    """By flows.

    Raises:
        InputError: where a figure would take long.
    """
    if cluster_of(on).topology.chips > 64:
        raise InputError(f"--on {on}: this figure takes a mesh of up to 64 chips, such as mesh:4x4")
    q, _ = ask.question(collective, on, size=size)
    return answer(q, algorithm, "flows")


def _limits(on: str, size: float) -> tuple[float, float]:
    """Seconds of the bounds without latency: of an all_reduce, and of its two phases one after the other."""
    bounds = [
        _answer(f"{on},latency=0", size, "best", c).bound.seconds for c in ("all_gather", "reduce_scatter")
    ]
    return _answer(f"{on},latency=0", size, PHASES).bound.seconds, sum(bounds)


def draw_trees(numbers: Numbers) -> Picture:
    """Every tree, and how many share a cable."""
    on = f"{numbers.on},latency=0"
    a = _answer(on, numbers.size, TREES)
    where = a.question.cluster
    found = trees(a.schedule)
    used = cables(where, found)
    most = max(map(len, used.values()))
    full = sum(len(which) == most for which in used.values())
    n, size = where.topology.chips, a.question.size
    rate = float(where.topology.bandwidth.max())
    best, phases = (s * rate / size for s in _limits(numbers.on, size))
    caption = (
        f"A spanning tree of {n} chips has {n - 1} cables, and {len(found)} trees take "
        f"{len(found) * (n - 1)} of {most} x {len(used)} = {most * len(used)} places: {full} of {len(used)} "
        f"cables are full. T comes near {fraction(most / len(found))} D/W for large D; the bound is "
        f"{fraction(best)} D/W. "
        f"{_TWO} cannot take less than {fraction(phases)} D/W."
    )
    title = f"{len(found)} spanning trees packed on {numbers.on}"
    facts: dict[str, Fact] = {
        "trees": len(found), "most": most, "full": full, "cables": len(used), "time": a.time,
        "bound": best, "phases": phases, "deepest": max(t.depth for t in found),
    }  # fmt: skip
    words = f"all_reduce {on} --size {numbers.size} --algorithm {TREES}"
    return Picture(
        trees_svg(where, found, title=title, caption=caption),
        facts,
        ("all_reduce", on, "64MiB", TREES),
        f"hopcast draw {words} --trees",
    )


def draw_beside(numbers: Numbers) -> Picture:
    """Links over time, of both on one clock."""
    both = [_answer(numbers.on, numbers.size, name) for name in (TREES, PHASES)]
    where = both[0].question.cluster
    if where.topology.links > MOST_LINES:
        raise InputError(f"--on {numbers.on}: this figure takes up to {MOST_LINES} links, such as mesh:4x4")
    until = max(a.time for a in both) * 1.04
    runs, means = [], []
    for a, name in zip(both, ("packed trees", _TWO), strict=True):
        assert a.flows is not None
        busy = busy_over_time(a.schedule, where, a.question.size, a.flows, until, _MOMENTS)
        means.append(float(busy.sum() * until / _MOMENTS / len(busy) / a.time))
        runs.append(Run(f"{name}: links are busy {means[-1]:.0%} of the time", busy, a.time))
    canvas = Sketch()
    box = lines(canvas, where.topology, runs, until)
    heat_key(canvas, box.left, box.bottom + 18, "how busy a link is, in fifths; blank: idle")
    gain = both[1].time / both[0].time
    notes = [
        "A line is a link. In a phase along an open line of n chips a link carries 1 to n - 1 shards, as "
        "many as chips lie behind it, and all wait for the fullest; in the next phase others wait. Trees "
        f"keep all links busy from when they are filled until they drain: {gain:.2f} times as fast here.",
        "It is not what XLA runs, which goes axis by axis.",
    ]
    facts: dict[str, Fact] = {
        "size": both[0].question.size, "trees": both[0].time, "phases": both[1].time, "gain": gain,
        "busy.trees": means[0], "busy.phases": means[1], "bound": both[0].bound.seconds,
    }  # fmt: skip
    size = show_size(both[0].question.size)
    return Picture(
        canvas.finish(f"Two all-reduces of {size} on {numbers.on}, on one clock", where.name, notes),
        facts,
        ("all_reduce", numbers.on, numbers.size, TREES),
        f"hopcast predict all_reduce {numbers.on} --size {numbers.size} --algorithm all",
        compare=PHASES,
    )


def draw_crossing(numbers: Numbers) -> Picture:
    """Bus bandwidth, and how many times as fast trees are, over size."""
    found = {name: [_answer(numbers.on, s, name).time for s in _SIZES] for name in (TREES, PHASES)}
    cluster = cluster_of(numbers.on)
    n = cluster.topology.chips
    factor = 2 * (n - 1) / n
    rates = {k: [factor * s / t / 1e9 for s, t in zip(_SIZES, v, strict=True)] for k, v in found.items()}
    best, phases = _limits(numbers.on, 2.0**30)
    rates["bound"] = [factor * 2.0**30 / best / 1e9] * len(_SIZES)
    gain = [b / a for a, b in zip(found[TREES], found[PHASES], strict=True)]
    sizes = Scale("size", _SIZES[0], _SIZES[-1], [2.0**k for k in (16, 20, 24, 28)], _short)
    canvas = Sketch()
    steps = evenly(max(max(r) for r in rates.values()))
    speed = Scale("busbw, GB/s", 0.0, steps[-1], steps, lambda v: f"{v:g}", log=False)
    names = {TREES: "packed trees", PHASES: _TWO, "bound": "bound"}
    drawn = [Curve(names[k], _SIZES, r, i) for i, (k, r) in enumerate(rates.items())]
    plot(canvas, Box(60, 0, 400, 280), drawn, sizes, speed, "all_reduce")
    ticks = [0.25 * k for k in range(int(max(*gain, phases / best) / 0.25) + 2)]
    times = Scale("times as fast as " + _TWO, 0.0, ticks[-1], ticks, lambda v: f"{v:g}", log=False)
    flat = [phases / best] * len(_SIZES)
    gains = [Curve("packed trees", _SIZES, gain, 0), Curve("ratio of the bounds", _SIZES, flat, 2)]
    plot(canvas, Box(690, 0, 1030, 280), gains, sizes, times)
    one = 280 * (1 - times.at(1.0))
    canvas.line(((690, one), (1030, one)), "border")
    facts: dict[str, Fact] = {"gain.least": min(gain), "gain.last": gain[-1], "limit": phases / best}
    begins = _begins(gain)
    if begins:
        facts["crossing"] = where = crossings(_SIZES, found)[-1][2]
        x = 690 + 340 * sizes.at(where)
        canvas.line(((x, one), (x, 280)), "border")
        canvas.text(x + 6, 272, f"{where / 2**20:.1f} MiB", size=10, cls="bold", anchor="start")
    straight = [_answer(numbers.on, s, "direct").time for s in _SIZES]
    fewer = [d < min(t, p) for d, t, p in zip(straight, *found.values(), strict=True)]
    rate = float(cluster.topology.bandwidth.max())
    latency = float(cluster.topology.latency.max())
    notes = [
        f"Trees fill every link; {_TWO} leaves links idle. {_compared(gain)}"
        + (f" The algorithm direct takes less than both {_span(fewer)}." if any(fewer) else ""),
        f"By flows, {show_rate(rate)} a link one way and {show_seconds(latency)} a hop; ideal links; "
        "sizes are powers of two.",
    ]
    return Picture(
        canvas.finish(f"What packed trees gain: all-reduce on {numbers.on}", f"{n} chips", notes),
        facts,
        (),
        f"hopcast sweep all_reduce {numbers.on} -b 64K -e 2G -f 2 --algorithm {TREES}",
    )  # fmt: skip


def _begins(gain: Sequence[float]) -> int:
    """The sample from which on trees take less, where before it they never do; 0 where there is none such.

    >>> _begins([0.8, 0.9, 1.1, 1.4]), _begins([1.2, 0.9, 1.1]), _begins([1.1, 1.2]), _begins([0.8, 0.9])
    (2, 0, 0, 0)
    """
    at = next((i for i, g in enumerate(gain) if g > 1), 0)
    return at if all(g > 1 for g in gain[at:]) else 0


def _compared(gain: Sequence[float]) -> str:
    """Where trees are faster than the two phases and where not, at the sizes that are drawn."""
    slower = [g < 1 for g in gain]
    if all(slower):
        return "Here that takes less time at every size."
    if not any(slower):
        return f"Trees take less time at every size, and gain least {_span([g == min(gain) for g in gain])}."
    if _begins(gain):
        return f"Trees take more time {_span(slower)} and less from there on."
    most = 1 / min(gain) - 1
    return f"Trees take less time, but not {_span(slower)}: there it is up to {most:.1%} more."


def _span(which: Sequence[bool]) -> str:
    """The sizes for which something holds, from the first to the last.

    >>> _span([False, True, False, False]), _span([True, True, False])
    ('at 128 KiB', 'from 64 KiB to 128 KiB')
    """
    sizes = [show_size(s) for s, holds in zip(_SIZES, which, strict=False) if holds]
    return f"at {sizes[0]}" if len(sizes) == 1 else f"from {sizes[0]} to {sizes[-1]}"


def _short(size: float) -> str:
    return show_size(size).replace("iB", "").replace(" ", "")


FIGURES = (
    Figure(
        "packed_trees", 0, "Spanning trees packed on a mesh", draw_trees, Numbers(0, "1GiB", "mesh:4x4"),
        "beyond",
    ),
    Figure(
        "trees_beside", 0, "All-reduce over packed trees beside two phases", draw_beside,
        Numbers(0, "64MiB", "mesh:4x4"), "beyond",
    ),
    Figure(
        "trees_crossover", 0, "What packed trees gain at which size", draw_crossing,
        Numbers(0, "", "mesh:4x4"), "beyond",
    ),
)  # fmt: skip
