"""Which algorithm is fastest at which size: time and bus bandwidth over the size of an all_reduce."""

from dataclasses import replace

from hopcast import algorithms
from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.draw.boxes import Box
from hopcast.draw.charts import Curve, Scale, crossings, evenly, plot, powers
from hopcast.draw.sketch import Sketch
from hopcast.ir.collective import busbw_factor
from hopcast.names import InputError
from hopcast.question import Question
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs import ask

_SIZES = tuple(2.0**k for k in range(10, 34))
_NAMES = (
    "ring",
    "rabenseifner",
    "recursive_doubling",
    "nvls",
    "bidirectional_ring",
    "chain",
    "multi_axis",
    "sequential_rings",
)


def _closed(q: Question, name: str) -> bool:
    """Whether an algorithm fits and has a closed form: then a curve costs nothing."""
    one = algorithms.get(name)
    return (
        one.valid(q.collective, q.group, q.hint) is None
        and one.cost(q.collective, q.group, q.hint) is not None
    )


def curves(on: str) -> dict[str, list[float]]:
    """Seconds of an all_reduce by each algorithm at each of the sizes, by closed form with latency.

    Raises:
        InputError: where fewer than two fit.
    """
    questions = [ask.question("all_reduce", on, size=s)[0] for s in _SIZES]
    names = [n for n in _NAMES if _closed(questions[-1], n)]
    if len(names) < 2:
        raise InputError(
            f"--on {on}: fewer than two algorithms of all_reduce have a closed form there; take dgx-h100"
        )
    found: dict[str, list[float]] = {}
    for name in names:
        one = algorithms.get(name)
        costs = [one.cost("all_reduce", q.group, replace(q.hint, options={})) for q in questions]
        found[name] = [c.total() for c in costs if c is not None]
    return found


def draw(numbers: Numbers) -> Picture:
    """Two charts side by side."""
    cluster = cluster_of(numbers.on)
    found = curves(numbers.on)
    n = cluster.topology.chips
    factor = busbw_factor("all_reduce", n)
    canvas = Sketch()
    sizes = Scale(
        "size",
        _SIZES[0],
        _SIZES[-1],
        [2.0**k for k in (10, 15, 20, 25, 30)],
        lambda v: show_size(v).replace("iB", "").replace(" ", ""),
    )
    low = min(min(t) for t in found.values())
    high = max(max(t) for t in found.values())
    times = Scale("time", low * 0.8, high * 1.2, powers(low * 0.8, high * 1.2, 10), show_seconds)
    plot(
        canvas,
        Box(60, 0, 420, 300),
        [Curve(k, _SIZES, t) for k, t in found.items()],
        sizes,
        times,
        "all_reduce",
    )
    rates = {k: [factor * s / x / 1e9 for s, x in zip(_SIZES, t, strict=True)] for k, t in found.items()}
    most = max(max(r) for r in rates.values())
    ticks = evenly(most)
    speed = Scale("busbw, GB/s", 0.0, ticks[-1], ticks, lambda v: f"{v:g}", log=False)
    plot(
        canvas,
        Box(690, 0, 1050, 300),
        [Curve(k, _SIZES, r) for k, r in rates.items()],
        sizes,
        speed,
        "all_reduce",
    )
    facts: dict[str, Fact] = {f"{k}.last": r[-1] for k, r in rates.items()}
    facts |= {f"{k}.first": t[0] for k, t in found.items()}
    cross = crossing(found)
    facts |= {f"crossing.{a}.{b}": s for a, b, s in cross}
    said = "; ".join(f"{b} overtakes {a} at {show_size(s)}" for a, b, s in cross)
    said = said or f"{min(found, key=lambda name: found[name][0])} is fastest at every size"
    port = float(cluster.topology.bandwidth.max())
    return Picture(
        canvas.finish(
            f"Where algorithms cross: all-reduce on {numbers.on}",
            f"{n} chips, {show_rate(port)} a port one way; closed forms with latency",
            [
                f"Small messages pay for steps, large ones for bytes. Of those drawn, {said}.",
                "busbw as nccl-tests counts it, 2 (N-1)/N D/T: it can exceed the port rate where the switch "
                "reduces. Drawn are algorithms in which a rank serves one partner at a time, and sums in "
                "the switch. Ideal links; real machines start up slower.",
            ],
        ),
        facts,
        (),
        f"hopcast sweep all_reduce {numbers.on} -b 1K -e 8G -f 2 --algorithm all",
    )  # fmt: skip


def crossing(found: dict[str, list[float]]) -> list[tuple[str, str, float]]:
    """Where the fastest algorithm changes: the one before, the one after, and the size between samples."""
    return crossings(_SIZES, found)


FIGURES = (
    Figure("crossover", 0, "Where algorithms cross", draw, Numbers(0, "", "dgx-h100,nvls=off"), "beyond"),
    Figure(
        "crossover_nvls",
        0,
        "Where algorithms cross, with sums in the switch",
        draw,
        Numbers(0, "", "dgx-h100"),
        "beyond",
    ),
)
