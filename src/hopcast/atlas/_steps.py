"""Figures that are a schedule step by step with its cost."""

import shlex

from hopcast.draw.schedule import schedule_svg

from . import Picture
from ._timing import Own, Timing, timed

LINK = ",bandwidth=45GB/s,latency=0"  # of a v5e; latency is left out, as in the article's formulas
PORT = ",bandwidth=450GB/s,latency=0"  # of an H100's NVLink


def stepped(
    collective: str, cluster: str, algorithm: str | Own, size: str, *, title: str, how: str, law: str,
) -> Picture:  # fmt: skip
    """A schedule step by step, with its closed form and what it comes to.

    Args:
        collective: What it computes.
        cluster: Where, with its options.
        algorithm: Its name, or what makes it.
        size: D as text.
        title: Headline.
        how: What moves, in a sentence.
        law: The closed form in symbols.
    """
    t = timed(collective, cluster, size, algorithm)
    caption = f"{how} T = {law}: {t.words}."
    svg = schedule_svg(t.schedule, t.cluster, title=title, caption=caption)
    return priced(t, svg, collective, cluster, algorithm, size)


def priced(t: Timing, svg: str, collective: str, cluster: str, algorithm: str | Own, size: str) -> Picture:
    """The picture with its numbers, its command and its live page."""
    if not isinstance(algorithm, str):
        return Picture(svg, t.facts, (collective, cluster, size, ""), "", t.schedule)
    words = (collective, cluster, "--size", size, "--algorithm", algorithm)
    ask = shlex.join(["hopcast", "predict", *words])
    return Picture(svg, t.facts, (collective, cluster, size, algorithm), ask)
