"""In how many pieces and in which rounds something is sent: trials that go from a good choice to better ones.

Few long rounds cost less latency; but in the first one and the last some links have nothing to do, so rounds
grow shorter towards the end.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

_SAME = 1 + 1e-9


class Made(Protocol):
    """What a trial makes."""

    def time(self, latency: float, shard: float) -> float:
        """Seconds, for so many bytes of each rank."""


M = TypeVar("M", bound=Made)


class Place(NamedTuple):
    """How a trial is made: places in lists, but for the longest round, which is a power of two."""

    pieces: int
    longest: int
    part: int
    unit: int
    shortest: int = 0


_MOVES = (
    (0, 1, 0, 0, 0), (0, -1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, -1, 0, 0), (0, 0, 0, 0, 1), (0, 0, 0, 0, -1),
    (1, 0, 0, 0, 0), (-1, 0, 0, 0, 0), (2, 1, 0, 0, 0), (2, 0, 0, 0, 0), (-2, 0, 0, 0, 0),
)  # fmt: skip


@dataclass(frozen=True)
class Field(Generic[M]):
    """What may be tried.

    Attributes:
        make: Of a number of pieces, rounds of some units, and how long a unit is when a piece is a byte, in
            seconds.
        pieces: Of a shard.
        units: Seconds.
        parts: A round takes at most one of so many parts of what is left to do.
        shortest: Units of the last rounds.
        begins: From where better trials are looked for.
        rate: The optimum, bytes/s of every shard.
        work: What a trial of so many pieces costs.
        effort: What all trials may cost together.
        enough: Times the least that there could be: then nothing better is looked for.
        longest: Units of the longest rounds, as a power of two.
    """

    make: Callable[[int, tuple[int, ...], float], M]
    pieces: Sequence[int]
    units: Sequence[float]
    parts: Sequence[int]
    shortest: Sequence[int]
    begins: Sequence[Place]
    rate: float
    work: Callable[[int], int]
    effort: int
    enough: float = 1.0
    longest: int = 63


def fastest(field: Field[M], latency: float, shard: float) -> M:
    """The best trial, where rounds cost so much latency and shards have so many bytes.

    Cost: `Field.effort`, and one trial more.
    """
    trials = _Trials(field, latency, shard)
    enough = field.enough * (latency + shard / field.rate)
    for at in field.begins:
        now, improved = trials.time(at), True
        while improved and now > enough:
            near = (Place(*(i + j for i, j in zip(at, move, strict=True))) for move in _MOVES)
            better = next((there for there in near if trials.time(there) < now / _SAME), None)
            improved = better is not None
            at = better or at
            now = trials.time(at)
    assert trials.best is not None
    return trials.best


class _Trials(Generic[M]):
    """What has been tried."""

    def __init__(self, field: Field[M], latency: float, shard: float) -> None:
        self.field, self.latency, self.shard = field, latency, shard
        self.known: dict[tuple[int, int, tuple[int, ...]], float] = {}
        self.best: M | None = None
        self.effort = 0

    def time(self, at: Place) -> float:
        """Seconds of one trial; where it cannot be the best, of what it promises."""
        field = self.field
        lists = field.pieces, field.parts, field.shortest
        places = at.pieces, at.part, at.shortest
        if not 0 <= at.longest <= field.longest or not all(
            0 <= i < len(c) for i, c in zip(places, lists, strict=True)
        ):
            return math.inf
        pieces, unit = field.pieces[at.pieces], field.units[at.unit]
        whole = pieces / field.rate / unit
        cut = rounds(whole, field.shortest[at.shortest], 1 << at.longest, field.parts[at.part])
        best = math.inf if self.best is None else self.best.time(self.latency, self.shard)
        promised = len(cut) * self.latency + self.shard / field.rate
        key = pieces, at.unit, cut
        if promised >= best or (self.effort > field.effort and key not in self.known):
            return max(promised, best)
        if key not in self.known:
            self.effort += field.work(pieces)
            made = field.make(pieces, cut, unit)
            time = self.known[key] = made.time(self.latency, self.shard)
            if time < best / _SAME:
                self.best = made
        return self.known[key]


def rounds(whole: float, shortest: int, longest: int, part: int) -> tuple[int, ...]:
    """How long rounds are that make up ``whole``: none longer than ``longest`` or a part of what is left.

    None is shorter than ``shortest`` either, but for the last one.

    >>> rounds(12.5, 1, 4, 2), rounds(12.5, 2, 4, 2), rounds(12.5, 1, 4, 1)
    ((4, 4, 2, 1, 1), (4, 4, 2, 2), (4, 4, 4))
    """
    found, left = [], whole * _SAME
    while left >= 1:
        found.append(min(max(shortest, min(longest, int(left / part))), int(left)))
        left -= found[-1]
    return tuple(found)
