"""Time and bus bandwidth over size, a curve for each algorithm."""

import math
from collections.abc import Sequence

from hopcast.draw.boxes import Box
from hopcast.draw.charts import Curve, Scale, crossings, evenly, plot, powers
from hopcast.draw.sketch import Sketch
from hopcast.names import InputError
from hopcast.result import Result
from hopcast.units import show_seconds, show_size

MOST_CURVES = 6  # kinds of line that can be told apart

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def chart(swept: Result) -> str:
    """The SVG of a sweep; of many algorithms those that come nearest to the fastest.

    Raises:
        InputError: for fewer than two sizes.
    """
    rows = [row for row in swept.rows if row["size_bytes"]]  # of the others nothing is sent
    sizes = sorted({row["size_bytes"] for row in rows})
    if len(sizes) < 2:
        raise InputError("a chart needs two sizes or more; take others further apart")
    by_name: dict[str, dict[int, tuple[float, float]]] = {}
    for row in rows:
        by_name.setdefault(row["algorithm"], {})[row["size_bytes"]] = (
            row["time_us"] / 1e6,
            row["busbw_GBps"] or 0.0,
        )
    shown = _worth(by_name, sizes)
    times = {name: [by_name[name][s][0] for s in sizes] for name in shown}
    rates = {name: [by_name[name][s][1] for s in sizes] for name in shown}
    across = [float(s) for s in sizes]
    ticks = [2.0**k for k in range(0, 45, 5) if sizes[0] <= 2**k <= sizes[-1]] or [across[0], across[-1]]
    size = Scale(
        "size", across[0], across[-1], ticks, lambda v: show_size(v).replace("iB", "").replace(" ", "")
    )
    low, high = (f(f(t) for t in times.values()) for f in (min, max))
    time = Scale("time", low * 0.8, high * 1.2, powers(low * 0.8, high * 1.2, 10), show_seconds)
    steps = evenly(max(max(r) for r in rates.values()))
    rate = Scale("busbw, GB/s", 0.0, steps[-1], steps, lambda v: f"{v:g}", log=False)
    canvas, what = Sketch(), str(swept.inputs["collective"])
    plot(canvas, Box(60, 0, 420, 300), [Curve(k, across, t) for k, t in times.items()], size, time, what)
    plot(canvas, Box(690, 0, 1050, 300), [Curve(k, across, r) for k, r in rates.items()], size, rate, what)
    left = len(by_name) - len(shown)
    cross = crossings(across, times)
    said = "; ".join(f"{b} overtakes {a} near {_rounded(x)}" for a, b, x in cross)
    notes = [f"As the size grows {said}."] if said else []
    notes.append("Ideal links; real machines start up slower.")
    notes += [f"Left out: {left} that are as fast as one that is drawn, or slower."] if left else []
    return canvas.finish(f"{what} on {swept.inputs['cluster']}", f"{swept.inputs['ranks']} ranks", notes)


def _worth(by_name: dict[str, dict[int, tuple[float, float]]], sizes: Sequence[int]) -> list[str]:
    """The algorithms to draw: complete curves, nearest to the fastest at some size first."""
    whole = [name for name, points in by_name.items() if all(s in points for s in sizes)]
    least = {s: min(by_name[name][s][0] for name in whole) for s in sizes}

    def apart(name: str) -> float:
        return min(by_name[name][s][0] / least[s] for s in sizes)

    kept: list[str] = []
    for name in sorted(whole, key=apart):
        twins = (all(_same(by_name[name][s][0], by_name[k][s][0]) for s in sizes) for k in kept)
        if len(kept) < MOST_CURVES and not any(twins):
            kept.append(name)
    return sorted(kept)


def _rounded(size: float) -> str:
    """To two digits, in powers of 1,024: sizes lie between samples.

    >>> _rounded(5.3217e6), _rounded(120_000)
    ('5.1 MiB', '120 KiB')
    """
    power = min(int(math.log(max(size, 1.0), 1024)), len(_UNITS) - 1)
    return f"{float(f'{size / 1024.0**power:.2g}'):g} {_UNITS[power]}"


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-3 * max(a, b)
