"""How long hopcast and other simulators take to answer, as measured: a record, drawn."""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.draw.scaling import scaling_svg
from hopcast.units import rate, seconds, show_rate, show_seconds, show_size

_TITLE = "Time to an answer, beside other simulators"
_SAME = 1e-6  # relative difference up to which two answers count as equal


def recorded() -> Mapping[str, Any]:
    """What was measured: rows of seconds, with the machine, the versions and the date.

    Source: a run of benchmarks/run.py, kept in measured/curves.json; its key ``about`` explains the others.
    """
    file = importlib.resources.files("hopcast.atlas") / "measured" / "curves.json"
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def chart(results: Mapping[str, Any]) -> str:
    """The SVG of such a record."""
    options = results["options"]
    size = show_size(options["size_bytes"])
    given = dict(word.split("=") for word in options["links"].split(","))
    links = f"{show_rate(rate(given['bandwidth']))} each way and {show_seconds(seconds(given['latency']))}"
    notes = [
        f"One collective of {size} over links of {links}, simulated flow by flow; all are given the same "
        "schedule. Where all ranks are alike, hopcast follows one for all; a peer sends every message. In "
        "small cases hopcast's time is the start of Python.",
        f"Answers are equal to {_SAME * 1e6:g} in a million{_apart(results['rows'])}.",
    ]
    return scaling_svg(results, title=_TITLE, notes=notes)


def _apart(rows: Sequence[Mapping[str, Any]]) -> str:
    """On which work the answers differ, and how much."""
    most: dict[str, float] = {}
    for row in rows:
        if row.get("difference", 0.0) > _SAME:
            most[row["section"]] = max(most.get(row["section"], 0.0), row["difference"])
    said = [f"{section}, by up to {part:.1%}" for section, part in most.items()]
    why = "flows that share links for many steps let small differences grow, and simpy lets messages queue"
    return f", except on {'; '.join(said)}: {why}" if said else ""


def draw(numbers: Numbers) -> Picture:
    """A panel for each kind of work."""
    results = recorded()
    facts: dict[str, Fact] = {
        f"{_word(r['section'])}.{r['ranks']}.{r['tool']}": r["cpu_s"] for r in results["rows"] if "cpu_s" in r
    }
    renew = "make bench BENCH='--only curves --record'"
    return Picture(chart(results), facts, renew=renew)


def _word(section: str) -> str:
    """A kind of work as one word.

    >>> _word("all_reduce, ring in random order")
    'all_reduce_ring_in_random_order'
    """
    return section.replace(",", "").replace(" ", "_")


FIGURES = (Figure("scaling", 0, _TITLE, draw, Numbers(), "beyond"),)
