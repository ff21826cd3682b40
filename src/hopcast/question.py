"""What is asked: a collective of some size over some axes of a cluster."""

from collections.abc import Callable
from dataclasses import dataclass

from . import names
from .ir.cluster import Cluster
from .ir.collective import ALIASES, NAMES
from .ir.group import Group, Hint
from .ir.mesh import Mesh
from .ir.schedule import Schedule


def collective_name(given: str) -> str:
    """The collective that a word spells: AllGather, all-gather, sendrecv.

    Raises:
        InputError: naming the nearest and all of them.
    """
    flat = names.snake(given)
    return names.pick("collective", ALIASES.get(flat, ALIASES.get(flat.replace("_", ""), given)), NAMES)


def is_collective(given: str) -> bool:
    """Whether a word spells a collective.

    >>> is_collective("AllReduce"), is_collective("ring:8")
    (True, False)
    """
    try:
        collective_name(given)
    except names.InputError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked.

    Attributes:
        cluster: Where.
        collective: One of the nine names, or the name that a schedule claims.
        mesh: Logical or physical axes.
        over: Axes that it runs over; empty: all.
        group: The groups that come of that.
        size: D of one group, bytes.
        hint: Root, shift, seed, alpha.
        schedule: The user's own; else an algorithm is chosen.
        said: The size as it was written, ``f32[4096,4096]``; empty where it was a number.
        progress: Called now and then with the part of a simulation that is done.
        shortcut: Whether a simulation may use symmetry, if that gives the same answer.
        detail: Whether the times of all sends are wanted, where that takes a moment only.
        words: Options that make it another question, as on the command line: ``("--dead", "0,0:0,1")``.
    """

    cluster: Cluster
    collective: str
    mesh: Mesh
    over: tuple[str, ...]
    group: Group
    size: float
    hint: Hint
    schedule: Schedule | None = None
    said: str = ""
    words: tuple[str, ...] = ()
    progress: Callable[[float], None] | None = None
    shortcut: bool = True
    detail: bool = False

    @property
    def physical_axes(self) -> list[int] | None:
        """Physical axes that the collective runs over; None where that says nothing about links."""
        inside = [
            f
            for n, f in zip(self.mesh.names, self.mesh.factors, strict=True)
            if not self.over or n in self.over
        ]
        if any(f is None for f in inside):
            return None
        return sorted({part.axis for f in inside if f is not None for part in f})
