"""Put the page together: its template, style sheet and scripts, and the data of one or two answers."""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hopcast.draw import theme
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.units import show_size

from .network import network
from .numbers import numbers
from .plan import plan

# In the order in which they run; each adds to the one object `H`.
SCRIPTS = (
    "core.js",
    "plan.js",
    "replay.js",
    "journey.js",
    "layout.js",
    "views/line.js",
    "views/grid.js",
    "views/planes.js",
    "views/space.js",
    "views/donut.js",
    "views/tiers.js",
    "views/circle.js",
    "paint.js",
    "arrows.js",
    "stage.js",
    "matrix.js",
    "time.js",
    "gantt.js",
    "table.js",
    "panels.js",
    "keys.js",
    "main.js",
)
# Only on a page that a server gives.
SERVED = ("controls.js",)
# Idle, then seven parts of a step's time: viridis, pale to dark on a light page, dark to bright on a dark.
# Source: Smith and van der Walt 2015, viridis, at eighths; the two darkest are lifted on the dark page.
LOADS = (
    ("#c3ccd5", "#a0da39", "#4ac16d", "#1fa187", "#277f8e", "#365c8d", "#46327e", "#440154"),
    ("#3a4653", "#565bb0", "#3f78a8", "#2a8f98", "#1fa187", "#4ac16d", "#a0da39", "#fde725"),
)
MOST_SIDES = 2


def page(answers: Sequence[Answer], command: str = "", title: str = "") -> str:
    """The page as text.

    Args:
        answers: One, or two that are compared side by side.
        command: The command line that makes it, which the page shows.
        title: Of the page; default: what is asked.

    Raises:
        InputError: for more answers than the page has room for.
    """
    return paged(content(answers, command, title))


def content(answers: Sequence[Answer], command: str = "", title: str = "") -> dict[str, Any]:
    """What the page shows, as JSON has it; arguments and errors are those of `page`."""
    if not 1 <= len(answers) <= MOST_SIDES:
        raise InputError(f"{len(answers)} answers; a page shows 1, or {MOST_SIDES} side by side")
    return {
        "title": title or _title(answers),
        "command": command,
        "chunks": theme.CHUNKS,
        "sides": [{"net": network(a.question.cluster), "plan": plan(a), **numbers(a)} for a in answers],
    }


def paged(data: Mapping[str, Any], choices: Mapping[str, Any] | None = None) -> str:
    """The page as text, from its content.

    Args:
        data: What `content` gives.
        choices: What the controls of a served page offer; None: a page without controls, which asks nobody.
    """
    served = choices is not None
    names = (*SCRIPTS, *SERVED) if served else SCRIPTS
    scripts = "\n".join(["'use strict';", "const H = {};", *(f"{{\n{_read(name)}}}" for name in names)])
    parts = {
        "TITLE": escape(str(data["title"])),
        "CONNECT": "; connect-src 'self'" if served else "",
        "STYLE": _palette() + _read("page.css") + (_read("controls.css") if served else ""),
        "CONTROLS": _read("controls.html").replace("<!--CHOICES-->", _json(choices)) if served else "",
        "DATA": _json(data),
        "SCRIPT": scripts,
    }
    text = _read("page.html")
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _json(data: Mapping[str, Any] | None) -> str:
    """JSON inside a script element, where nothing may look like markup."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _title(answers: Sequence[Answer]) -> str:
    """What is shown, in one line."""
    q = answers[0].question
    over = f" over {','.join(q.over)}" if q.over else ""
    if len({a.question.cluster.name for a in answers}) == 1:
        by = " and ".join(a.algorithm for a in answers)
        return f"{q.collective} of {show_size(q.size)} on {q.cluster.name}{over} by {by}"
    sides = " and on ".join(f"{a.question.cluster.name} by {a.algorithm}" for a in answers)
    return f"{q.collective} of {show_size(q.size)}{over} on {sides}"


def _palette() -> str:
    """The colours of `draw` as CSS variables, for the three settings of the page's theme."""
    light, dark = (
        ";".join(
            [f"--{name}:{pair[i]}" for name, pair in theme.COLOURS.items()]
            + [f"--load{k}:{colour}" for k, colour in enumerate(LOADS[i])]
        )
        for i in (0, 1)
    )
    return (
        f":root{{{light};color-scheme:light}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{dark};color-scheme:dark}}}}\n"
        f":root[data-theme=light]{{{light};color-scheme:light}}\n"
        f":root[data-theme=dark]{{{dark};color-scheme:dark}}\n"
    )


def _read(name: str) -> str:
    where = importlib.resources.files("hopcast.draw.explorer")
    return where.joinpath(*name.split("/")).read_text(encoding="ascii")
