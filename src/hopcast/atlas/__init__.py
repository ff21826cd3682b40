"""The atlas: pictures of how data moves, each made from what hopcast computes, for any numbers.

A file of ``figures/`` that does not begin with an underscore holds ``FIGURES``, one figure or a family of
them. To add a figure, add a file. Figures 1 to 35 are those of the article, under its file names; the others
have the number 0.

Source: Gordic 2026, Inside TPU and GPU clusters, https://www.aleksagordic.com/blog/collective-operations
"""

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from hopcast import registry
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError, pick

Fact = float | int | str | tuple[float, ...]


@dataclass(frozen=True)
class Numbers:
    """What a figure can be made for.

    Attributes:
        ranks: Ranks of the collective; 0 where the figure takes none.
        size: Bytes as written, ``8MiB``; empty where it takes none.
        on: A cluster; empty where it takes none.
    """

    ranks: int = 0
    size: str = ""
    on: str = ""


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Attributes:
        svg: A file that stands alone.
        facts: The numbers in it, by name, SI units: what tests hold against published values.
        live: Arguments of `hopcast explore` that show the same, collective and cluster first; empty where
            the explorer cannot.
        ask: A command that gives its numbers.
        schedule: What the live page shows where no algorithm of that name makes it.
        compare: An algorithm that the live page shows beside it, on one clock.
        renew: The command that measures anew what the figure shows; empty where nothing is measured.
    """

    svg: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    live: tuple[str, ...] = ()
    ask: str = ""
    schedule: Schedule | None = None
    compare: str = ""
    renew: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure of the atlas.

    Attributes:
        id: Its file name.
        number: In the article; 0 beyond it.
        title: What it shows.
        draw: Makes it.
        takes: The numbers that it is made for unless others are given.
        group: The part of the atlas that it stands in.
    """

    id: str
    number: int
    title: str
    draw: Callable[[Numbers], Picture]
    takes: Numbers = Numbers()
    group: str = ""

    def given(self, ranks: int = 0, size: str = "", on: str = "") -> Numbers:
        """Its numbers with others in their place.

        Raises:
            InputError: for a number that the figure does not take.
        """
        asked = {k: v for k, v in (("ranks", ranks), ("size", size), ("on", on)) if v}
        able = [f.name for f in fields(Numbers) if getattr(self.takes, f.name)]
        for key in asked:
            if key not in able:
                takes = " and ".join(f"--{a}" for a in able)
                raise InputError(f"--{key}: figure {self.id} takes {takes or 'no numbers of its own'}")
        return Numbers(ranks or self.takes.ranks, size or self.takes.size, on or self.takes.on)

    def command(self, numbers: Numbers) -> str:
        """The command line that makes it."""
        words = [f"--{f.name} {value}" for f in fields(Numbers) if (value := getattr(numbers, f.name))]
        return " ".join(["hopcast atlas --only", self.id, *words, "-o site"])

    def picture(self, numbers: Numbers | None = None) -> Picture:
        """The figure, for its own numbers or others.

        Raises:
            InputError: for numbers that it cannot be made for.
        """
        return self.draw(numbers or self.takes)


@functools.cache
def every() -> tuple[Figure, ...]:
    """All figures, those of the article by number and then the others.

    >>> [f.id for f in every()[:3]]
    ['tpu_classes', 'torus', 'topo_3d']
    """
    found: list[Figure] = []
    for name in registry.found("atlas.figures"):
        found += importlib.import_module(f"hopcast.atlas.figures.{name}").FIGURES
    return tuple(sorted(found, key=lambda f: (f.number == 0, f.number)))


def figure(name: str) -> Figure:
    """The figure of that id, or of that number in the article.

    Raises:
        InputError: naming the nearest and all of them.

    >>> figure("all-gather1").number, figure("12").id
    (12, 'all_gather1')
    """
    have = {f.id: f for f in every()}
    numbered = {str(f.number): f for f in every() if f.number}
    return numbered.get(name.strip()) or have[pick("figure", name, have)]
