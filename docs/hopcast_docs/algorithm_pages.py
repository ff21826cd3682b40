"""A page for each algorithm: what it does, where it fits, what it takes by each price and at best."""

import functools
import math
from collections.abc import Iterator

from hopcast import algorithms, units
from hopcast.algorithms import Algorithm
from hopcast.choose import answer
from hopcast.question import Question
from hopcast.verbs import ask

from .markdown import code, contents, linked, page, prose, ratio, table

# Small networks of every kind, the simplest first.
CLUSTERS = (
    "ring:8", "chain:4", "torus:4x4", "mesh:4x4", "switch:8", "switch:8,sharp=on", "fat-tree:4x4,leaf=4",
)  # fmt: skip
SIZE, RATE, LATENCY = 2**23, "45GB/s", "1us"
_SAME = 1e-9


def pages() -> dict[str, str]:
    """By path in docs/."""
    names = algorithms.names()
    found = {f"reference/algorithms/{n}.md": _algorithm(algorithms.get(n)) for n in names}
    rows = []
    for name in names:
        one = algorithms.get(name)
        rows.append([f"[{name}]({name}.md)", prose(one.summary), ", ".join(one.collectives)])
    text = (
        "One file of `src/hopcast/algorithms` each. `tests/test_every_algorithm.py` builds each on every "
        "group it fits, checks what it computes, holds formula, steps and flows together, and drops, "
        "doubles and misdirects sends to see that the check notices."
    )
    listed = table(["algorithm", "", "gives"], rows)
    found["reference/algorithms/index.md"] = page("Algorithms", text, listed, contents(names))
    return found


def _algorithm(one: Algorithm) -> str:
    options = "\n".join(
        f"- `{key}`: {', '.join(f'`{v}`' for v in values) or 'a whole number'}"
        + (f" (default `{values[0]}`)" if values else "")
        for key, values in one.options.items()
    )
    head, _, rest = (one.module.__doc__ or "").strip().partition("\n")
    return page(
        one.name,
        f"**{prose(head)}**",
        prose(rest.strip("\n")),
        f"Gives: {', '.join(f'[{c}](../collectives/{c}.md)' for c in one.collectives)}.",
        f"Source: {linked(one.source)}.",
        f"## Options\n\n{options}" if options else "",
        _picture(one),
        _costs(one),
        code(f"hopcast predict {_example(one)} --size 8MiB --algorithm {one.name}", "console"),
    )


def _example(one: Algorithm) -> str:
    """A collective and a small cluster that it fits."""
    collective, where, _ = next(cases(one))
    return f"{collective} {where}"


def _picture(one: Algorithm) -> str:
    words = _example(one)
    collective, _, where = words.partition(" ")
    text = (
        f"{collective} on {where}: in each step, who sends which chunk to whom, and who holds what after it."
    )
    return f"```{{drawing}} draw {words} --algorithm {one.name}\n{text}\n```"


def _costs(one: Algorithm) -> str:
    rows = [_row(one, c, where, q) for c, where, q in cases(one)]
    parts = ["latency", "bytes", "formula", "by steps", "by flows", "bound", "exact"]
    header = ["collective", "cluster", "ranks", "steps", *parts]
    text = (
        f"Computed, not typed: {SIZE // 2**20} MiB over links of {RATE} one way and {LATENCY}; on "
        "`fat-tree` a GPU has 450 GB/s to its switch and 50 GB/s to its NIC. *latency* and *bytes* are "
        "the two parts of the time by steps, the second also in units of D / W, the size over the "
        "bandwidth of a link; *bound* is what no schedule on these links beats; *exact*: formula and "
        "flows agree. Times in microseconds."
    )
    return f"## Cost\n\n{text}\n\n{table(header, rows)}" if rows else ""


def cases(one: Algorithm) -> Iterator[tuple[str, str, Question]]:
    """Each collective on each cluster that it fits."""
    for collective in one.collectives:
        if collective == "all_to_all_v":  # it needs a matrix, whose times say nothing in general
            continue
        for where in CLUSTERS:
            q = _question(collective, where)
            if one.valid(collective, q.group, q.hint) is None:
                yield collective, where, q


def _row(one: Algorithm, collective: str, where: str, q: Question) -> list[object]:
    flows, steps = answer(q, one.name, "flows"), answer(q, one.name, "steps")
    formula = one.cost(collective, q.group, q.hint)
    exact = formula is not None and math.isclose(formula.total(), flows.time, rel_tol=_SAME)
    unit = SIZE / units.rate(RATE)
    factor = "" if _is_own(where) else f" ({ratio(steps.bandwidth / unit)} D/W)"
    return [
        collective, f"`{where}`", q.group.ranks, flows.schedule.step_count, _us(steps.latency),
        f"{_us(steps.bandwidth)}{factor}", None if formula is None else _us(formula.total()), _us(steps.time),
        _us(flows.time), _us(flows.bound.seconds), "yes" if exact else "",
    ]  # fmt: skip


def _us(seconds: float) -> str:
    return ratio(seconds * 1e6)


def _is_own(where: str) -> bool:
    """Whether links of a cluster differ, so that it keeps its own figures."""
    return where.startswith("fat-tree")


@functools.cache
def _question(collective: str, where: str) -> Question:
    given = where if _is_own(where) else f"{where},bandwidth={RATE},latency={LATENCY}"
    return ask.question(collective, given, size=SIZE)[0]
