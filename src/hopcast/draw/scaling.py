"""How seconds grow with ranks, of several tools on the same work: a panel for each kind, one scale."""

from collections.abc import Mapping, Sequence
from typing import Any

from hopcast.names import InputError
from hopcast.units import show_seconds

from . import theme
from .boxes import Box
from .charts import Curve, Scale, plot, powers
from .geometry import Line
from .sketch import Sketch
from .svg import LINES, OVER

_WIDE, _HIGH, _APART = 230.0, 250.0, 390.0
_COLUMNS = 3
_CROSS = 11.0  # from cross to cross of tools that were stopped at the same size
Rows = Sequence[Mapping[str, Any]]


def scaling_svg(
    results: Mapping[str, Any], *, what: str = "cpu_s", title: str = "Time over ranks",
    notes: Sequence[str] = (),
) -> str:  # fmt: skip
    """Charts of seconds over ranks, both in equal factors, side by side.

    Args:
        results: A file of results of `make bench`: ``rows`` with ``section`` (the kind of work), ``tool``,
            ``ranks`` and seconds under the key ``what``, or a ``note`` that says why there are none;
            ``options`` with ``limit_s``, after which a tool was stopped; and ``date``, ``machine`` and
            ``versions``, which stand above the charts.
        what: Whose seconds: ``cpu_s`` of the whole process, ``wall_s`` or ``inside_s``.
        title: Headline.
        notes: Sentences below, before those on crosses.

    Returns:
        An SVG file that stands alone.

    Raises:
        InputError: if no kind of work has two measured sizes.

    >>> rows = [{"section": "ring", "tool": "a", "ranks": n, "cpu_s": n / 100} for n in (10, 100)]
    >>> "100 ms" in scaling_svg({"rows": rows, "date": "2026-11-29"})
    True
    """
    rows = [r for r in results["rows"] if r.get("ranks")]
    sections = [s for s in dict.fromkeys(r["section"] for r in rows) if _grows(_of(rows, s), what)]
    if not sections:
        raise InputError("no kind of work is measured for two numbers of ranks or more; measure curves first")
    rows = [r for r in rows if r["section"] in sections]
    tools = list(dict.fromkeys(r["tool"] for r in rows))
    seconds = [float(r[what]) for r in rows if r.get(what)]
    limit = _limit(results, what) if any(not r.get(what) for r in rows) else 0.0
    low, high = min(seconds) / 1.6, max(max(seconds) * 2.2, limit * 2.2)
    up = Scale("", low, high, powers(low, high, 10), show_seconds)
    canvas = Sketch()
    for k, section in enumerate(sections):
        row, column = divmod(k, _COLUMNS)
        left, top = 60 + column * _APART, row * (_HIGH + 84)
        _chart(canvas, Box(left, top, left + _WIDE, top + _HIGH), _of(rows, section), what, up, tools, limit)
        canvas.text(left, top - 8, section, size=11, cls="bold", anchor="start")
    means = f"{_MEANS.get(what, what)} over ranks, both in equal factors; the median of several runs."
    return canvas.finish(title, _measured_on(results), [means, *notes, *_stopped(rows, what)])


_MEANS = {
    "cpu_s": "Seconds of CPU time of the whole process",
    "wall_s": "Seconds of the whole process by the clock",
    "inside_s": "Seconds of CPU time in a process that is already running",
}


def _measured_on(results: Mapping[str, Any]) -> str:
    """Date, machine and versions in a line."""
    machine, versions = results.get("machine", {}), results.get("versions", {})
    said = [f"Measured {results['date']}"] if results.get("date") else []
    if machine:
        said.append(f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_GiB']:g} GiB")
    said += [f"{name} {version}" for name, version in versions.items() if version]
    return "; ".join(said)


def _limit(results: Mapping[str, Any], what: str) -> float:
    """Seconds at which a tool is stopped; 0 where they are not known in this measure."""
    return float(results.get("options", {}).get("limit_s", 0.0)) if what != "inside_s" else 0.0


def _of(rows: Rows, section: str) -> Rows:
    return [r for r in rows if r["section"] == section]


def _grows(rows: Rows, what: str) -> bool:
    return len({r["ranks"] for r in rows if r.get(what)}) > 1


def _chart(
    canvas: Sketch, box: Box, rows: Rows, what: str, up: Scale, tools: Sequence[str], limit: float
) -> None:
    """One kind of work: a curve for each tool, and where one was stopped a cross on the line of the limit."""
    ranks = sorted({int(r["ranks"]) for r in rows})
    across = Scale("ranks", ranks[0], ranks[-1], ranks, lambda v: f"{v:,.0f}")
    curves = []
    for i, tool in enumerate(tools):
        mine = sorted((int(r["ranks"]), float(r[what])) for r in rows if r["tool"] == tool and r.get(what))
        if mine:
            xs, ys = zip(*mine, strict=True)
            curves.append(Curve(tool, xs, ys, 6 + i, range(len(xs))))
    stopped: dict[int, list[Curve]] = {}
    for curve in sorted(curves, key=lambda c: -c.ys[-1]):  # so that their lines to the crosses do not cross
        if gave_up := [int(r["ranks"]) for r in rows if r["tool"] == curve.name and not r.get(what)]:
            stopped.setdefault(min(gave_up), []).append(curve)
    wide, high = box.right - box.left, box.bottom - box.top
    # without a known limit all that is sure is that it took longer than the chart shows
    y = box.bottom - high * (up.at(limit) if limit else 1.0)
    leads: list[tuple[Line, int]] = []
    for many, who in stopped.items():
        for i, curve in enumerate(who):
            last = (box.left + wide * across.at(curve.xs[-1]), box.bottom - high * up.at(curve.ys[-1]))
            x = box.left + wide * across.at(many) + _CROSS * (i - (len(who) - 1) / 2)
            leads.append(((last, (x, y)), theme.route_number(curve.kind)))
    plot(canvas, box, curves, across, up, clear_of=[line for line, _ in leads])
    if leads and limit:
        canvas.line(((box.left, y), (box.right, y)), "dead", layer=LINES)
        canvas.text(box.left + 5, y - 4, f"stopped at {limit:g} s", size=9, cls="muted", anchor="start")
    for lead, kind in leads:
        _given_up(canvas, lead, kind)


def _given_up(canvas: Sketch, lead: Line, kind: int) -> None:
    """A thin line from the last size that was measured to a cross at the first that was not."""
    canvas.line(lead, f"d{kind}", width=1.0, layer=LINES)
    x, y = lead[-1]
    for way in (1, -1):
        canvas.line(((x - 4, y - 4 * way), (x + 4, y + 4 * way)), f"s{kind}", width=2.2, layer=OVER)


def _stopped(rows: Rows, what: str) -> list[str]:
    """Why who was stopped first where, a sentence for each reason."""
    first: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda r: int(r["ranks"])):
        if not row.get(what):
            first.setdefault((row["tool"], row["section"]), row)
    said: dict[str, list[str]] = {}
    for (tool, section), row in first.items():
        said.setdefault(row["note"], []).append(f"{tool} at {int(row['ranks']):,} ranks of {section}")
    return [f"A cross is where one was stopped ({why}): {'; '.join(who)}." for why, who in said.items()]
