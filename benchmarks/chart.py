"""Scaling curves of hopcast and its peers as SVG: seconds over ranks, a panel for each kind of question.

python benchmarks/chart.py FILE.json [-o FILE.svg]
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

from hopcast.draw.boxes import Box
from hopcast.draw.charts import Curve, Scale, plot, powers
from hopcast.draw.sketch import Sketch
from hopcast.units import show_seconds

WIDE, HIGH, APART = 300.0, 230.0, 150.0
TOOLS = ("hopcast", "SimGrid", "simpy")


def svg(results: dict[str, Any]) -> str:
    """The chart of a file of results."""
    rows = [r for r in results["rows"] if r.get("cpu_s")]
    panels = list(dict.fromkeys(r["section"] for r in rows))
    high = 10 ** math.ceil(math.log10(max(r["cpu_s"] for r in rows)))
    low = 10 ** math.floor(math.log10(min(r["cpu_s"] for r in rows)))
    canvas, left = Sketch(), 60.0
    for panel in panels:
        mine = [r for r in rows if r["section"] == panel]
        ranks = sorted({r["ranks"] for r in mine})
        box = Box(left, 0, left + WIDE, HIGH)
        x = Scale("ranks", ranks[0], ranks[-1], ranks, lambda v: f"{v:,.0f}")
        y = Scale("CPU seconds of the whole process", low, high, powers(low, high, 10), show_seconds)
        plot(canvas, box, [c for i, t in enumerate(TOOLS) for c in _curve(mine, t, i)], x, y)
        canvas.text(box.left, -26, panel, size=11, anchor="start")
        left += WIDE + APART
    machine = results["machine"]
    notes = [
        f"A curve that ends early: the next run took over {results['options']['limit_s']:g} s or "
        "4 GiB, and was stopped.",
        f"{machine['cores']} cores of {machine['cpu']}, {results['date'][:10]}.",
    ]
    return canvas.finish("Time to an answer", "hopcast beside other simulators on the same schedules", notes)


def _curve(rows: list[dict[str, Any]], tool: str, kind: int) -> list[Curve]:
    points = sorted((r["ranks"], r["cpu_s"]) for r in rows if r["tool"] == tool)
    if not points:
        return []
    xs, ys = zip(*points, strict=True)
    return [Curve(tool, xs, ys, kind + 1, tuple(range(len(points))))]


def main() -> None:
    """Draw a file."""
    path = Path(sys.argv[1])
    out = Path(sys.argv[3]) if sys.argv[2:3] == ["-o"] else path.with_suffix(".svg")
    out.write_text(svg(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
