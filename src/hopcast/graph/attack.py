"""The partition that parts a network most cheaply: how many spanning trees it can hold.

What joins the parts of a partition, over the parts less one, is least for the partition that limits an
all_reduce in which ranks sum (Tutte 1961, Nash-Williams 1961). For a guess x of that ratio, the partition of
least "border less x for each part" is found rank by rank: what a rank can be charged at most, so that no set
of ranks is charged more than its border less x, is one least cut, and the sets that bind join into the parts
(Dilworth's truncation by the greedy algorithm). If that partition is cheaper than the guess, it gives the
next guess.

Source: Cunningham 1985, Optimal attack and reinforcement of a network, doi:10.1145/3828.3829; Frank and
Tardos 1988, Generalized polymatroids and submodular flows, doi:10.1007/BF01589410; Dinkelbach 1967.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Floats, Ints

from . import dinic
from .whole import whole

Longs = npt.NDArray[np.int64]
_MOST = 2**61  # of all capacities together, times what they are multiplied by


@dataclass(frozen=True, eq=False)
class Attack:
    """The cheapest partition.

    Attributes:
        label: ``int32[v]``, the part of each vertex; -1 of what is in none (switches, other vertices).
        strength: Borders of all parts over 2 (parts - 1), in units of the rates given.
        cuts: Least cuts that were computed.
    """

    label: Ints
    strength: float
    cuts: int


def attack(
    vertices: int, ranks: AnyInts, a: AnyInts, b: AnyInts, rate: Floats, start: AnyInts | None = None
) -> Attack:
    """The partition of ranks whose parts are joined by least for each part but one.

    A vertex that is no rank (a switch) goes where it makes a border smaller, or into no part.

    Args:
        vertices: v.
        ranks: ``[n]``, two or more.
        a: ``[e]``, one end of each cable.
        b: ``[e]``, the other.
        rate: ``float64[e]``, what it carries, both ways together.
        start: ``int32[v]``, a partition to start from, -1 for none; every rank by itself if not given.

    Cost: a least cut for each rank and guess; two guesses are usual, and one where the start is right.

    >>> ring = np.arange(5)
    >>> found = attack(5, ring, ring, (ring + 1) % 5, np.ones(5))
    >>> found.strength, found.label.tolist()
    (1.25, [0, 1, 2, 3, 4])
    """
    chips = np.asarray(ranks, np.int64)
    n = len(chips)
    room = whole(rate, _MOST // max(len(rate) * (4 * n) ** 2, 1))[0]
    label = np.full(vertices, -1)
    label[chips] = np.arange(n)
    cheapest = _ratio(label, a, b, room)
    if start is not None and len(np.unique(start[chips])) > 1:
        # Parts without ranks (of switches, say) are none.
        known = np.where(np.isin(start, start[chips]), start, -1).astype(np.int64)
        ratio = _ratio(known, a, b, room)
        if ratio < cheapest:
            label, cheapest = known, ratio
    search = _Search(vertices, chips, np.asarray(a, np.int64), np.asarray(b, np.int64), room)
    cuts = 0
    while cheapest > 0:
        found = search.parted(cheapest)
        cuts += n
        ratio = _ratio(found, a, b, room) if found[chips].max() > 0 else cheapest
        if ratio >= cheapest:
            break
        label, cheapest = found, ratio
    inside, outside = label[a], label[b]
    border = inside != outside
    both = float(rate[border & (inside >= 0)].sum() + rate[border & (outside >= 0)].sum())
    return Attack(label.astype(np.int32), both / 2 / (_parts(label) - 1), cuts)


def _parts(label: AnyInts) -> int:
    return len(np.unique(label[label >= 0]))


def _ratio(label: AnyInts, a: AnyInts, b: AnyInts, room: Longs) -> Fraction:
    """Borders of all parts, over the parts less one."""
    inside, outside = label[a], label[b]
    border = inside != outside
    both = int(room[border & (inside >= 0)].sum()) + int(room[border & (outside >= 0)].sum())
    return Fraction(both, _parts(label) - 1)


class _Search:
    """One network, asked for the best partition at each guess."""

    def __init__(self, vertices: int, ranks: Longs, a: Longs, b: Longs, room: Longs) -> None:
        self._ranks, self._room, self._vertices = ranks, room, vertices
        n = len(ranks)
        self._source, self._sink = vertices, vertices + 1
        tail = np.concatenate([a, b, np.full(n, self._source), ranks])
        head = np.concatenate([b, a, ranks, np.full(n, self._sink)])
        self._flows = dinic.Flows(dinic.arcs(vertices + 2, tail, head), n)

    def parted(self, each: Fraction) -> Longs:
        """``int64[v]``: the partition of least borders less ``each`` a part; parts from 0, -1 for none."""
        ranks, n = self._ranks, len(self._ranks)
        border = self._room * each.denominator
        charge = np.zeros(n, np.int64)
        never = int(border.sum()) * 2 + abs(each.numerator) * n + 1
        part = np.full(self._vertices, -1)
        for i in range(n):
            # Inside are rank i, earlier ranks that pay for themselves and switches; later ranks are outside.
            gain, loss = np.maximum(charge, 0), np.maximum(-charge, 0)
            gain[i], loss[i + 1 :] = never, never
            sent = self._flows.send(np.concatenate([border, border, gain, loss]), self._source, self._sink)
            charge[i] = sent - int(gain[:i].sum()) - each.numerator
            inside = self._flows.side(self._source)[: self._vertices]
            # A set that binds and the parts it meets are one part.
            met = np.unique(part[ranks[:i]][inside[ranks[:i]]])
            part[np.isin(part, met[met >= 0])] = i
            part[inside & ((part < 0) | np.isin(np.arange(self._vertices), ranks[: i + 1]))] = i
        kept = np.unique(part[ranks])
        return np.where(part >= 0, np.searchsorted(kept, part), -1)
