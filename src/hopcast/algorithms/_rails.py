"""Unequal messages between nodes: by NVLink to a rank of some rail, along that rail, by NVLink to the goal.

The rail is that of the goal (PXN), that of the origin, or there are several: then what one node has for
another is cut so that all rails carry the same of it. There a rank keeps on its own rail what fits, at the
end, goals or origins, where that is more; only the rest changes rails twice. So a node takes no longer than
its bytes over all its NICs, whichever of its ranks they are of.

What goes along a rail is besides cut into slots that follow each other, so that NVLink tells one while the
NIC has the next. Slots take turns on two lanes, so that the bytes of one cross the NIC during the latency of
the other; the first is half as long, which keeps them apart, and the last are short, as NVLink ends last.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir import traffic
from hopcast.ir.collective import Collective
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, Sends, join, one_group, sends, take
from hopcast.ir.topology import Floats

from . import _rates

MOST_SLOTS = 16
_BLIND = 8  # slots where nobody knows the links
_MOST_SENDS = 200_000  # of a schedule that is to be simulated in seconds
_HIDDEN = 0.25  # of the time of the NICs: what NVLink takes before them while they have what is their own
_NEAR = 1e-12  # of the array: ends of two cuts that are the same but for rounding
_ORIGIN, _GOAL = 0, 1
_LANES = 2  # of a NIC
Ranks = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Parts of messages between nodes, each on a rail.

    Shapes: p pieces.

    Attributes:
        origin, goal: ``int64[p]``: ranks, of different nodes.
        rail: ``int64[p]``: the rank within both nodes by whose NICs it goes.
        part: ``float64[p]``: of D.
    """

    origin: Ranks
    goal: Ranks
    rail: Ranks
    part: Floats

    def at(self, index: Ranks, part: Floats | None = None) -> "Pieces":
        """Some of them, with parts of their own if given."""
        columns = (self.origin[index], self.goal[index], self.rail[index])
        return Pieces(*columns, self.part[index] if part is None else part)


def all_to_all_v(group: Group, hint: Hint, rails: str, slots: int | None = None) -> Schedule:
    """The schedule.

    Args:
        group: Of nodes; its outer level joins them.
        hint: With the matrix.
        rails: ``goal``, ``origin`` or ``all``.
        slots: That follow each other along a rail; None: as many as pay.

    Cost: O(m log m) for m messages; what a pair of nodes has is cut g times the slots besides.
    """
    nodes = group.levels[0].ranks
    g = group.ranks // nodes
    task, share = traffic.sparse(hint, group.ranks)
    origin, goal = (c.astype(np.int64) for c in (task.origin, task.goal))
    part = np.full(len(origin), 1 / len(origin)) if share is None else share
    away = origin // g != goal // g
    rail = (origin if rails == "origin" else goal) % g
    far = Pieces(origin[away], goal[away], rail[away], part[away])
    if rails == "all" and len(far.part):
        far = _evenly(far, nodes, g)
    far, slot = _in_slots(far, nodes, g, slots or _slots(group, hint, far))
    near = ~away
    # What stays in a node stands behind the rest.
    starts, ends = np.concatenate([far.origin, origin[near]]), np.concatenate([far.goal, goal[near]])
    stays = np.flatnonzero(origin[near] != goal[near])
    rows, step = _rows(far, slot, g)
    local = sends(origin[near][stays], goal[near][stays], len(slot) + stays, lane=_LANES + 2)
    return _made(
        Collective("all_to_all_v", group.ranks, starts.astype(np.int32), ends.astype(np.int32)),
        join([rows, local]),
        np.concatenate([step, np.zeros(len(stays), np.int64)]),
        np.concatenate([far.part, part[near]]),
    )


def unasked(group: Group, hint: Hint, most: int) -> str | None:
    """Why those who try all that fit leave it out; None up to so many messages."""
    count = group.ranks**2 if hint.matrix is None else np.count_nonzero(hint.matrix)
    if count * len(group.all_groups) <= most:
        return None
    return f"it passes on {count:,} messages, and simulating more than {most:,} takes many seconds"


def _made(whole: Collective, rows: Sends, step: Ranks, part: Floats) -> Schedule:
    order = np.argsort(step, kind="stable")
    rows, count = take(rows, order), int(step.max(initial=-1)) + 1
    start = np.searchsorted(step[order], np.arange(count + 1))

    def make(i: int) -> Sends:
        return take(rows, np.arange(start[i], start[i + 1]))

    return Schedule(
        whole, "rails", one_group(whole.ranks), whole.ranks, count, make, part / part.sum(), _LANES + 3
    )


def _overlay(one: Floats, other: Floats) -> tuple[Ranks, Ranks, Floats]:
    """Two ways to cut the same line, laid over each other: the stretches' numbers in both, and their lengths.

    Stretches of a part of ``one`` sum to it, whatever rounding does. A part of ``other`` may be lost that is
    hardly longer than that.

    >>> _overlay(np.array([1.0, 2.0]), np.array([1.5, 1.5]))
    (array([0, 1, 1]), array([0, 0, 1]), array([1. , 0.5, 1.5]))
    """
    ends, cuts = np.cumsum(one), np.cumsum(other)
    above = np.minimum(np.searchsorted(ends, cuts), len(ends) - 1)
    near = _NEAR * ends[-1]
    for end in (ends[np.maximum(above - 1, 0)], ends[above]):
        cuts = np.where(np.abs(end - cuts) < near, end, cuts)
    whole = np.union1d(ends, cuts[(cuts > 0) & (cuts < ends[-1])])
    of_one, length = np.searchsorted(ends, whole), np.diff(whole, prepend=0.0)
    length *= one[of_one] / np.bincount(of_one, length)[of_one]
    return of_one, np.minimum(np.searchsorted(cuts, whole), len(cuts) - 1), length


def _evenly(far: Pieces, nodes: int, g: int) -> Pieces:
    """On all rails alike, for each pair of nodes: on its own what fits, the rest where there is room."""
    pair = far.origin // g * nodes + far.goal // g
    room = np.repeat(np.bincount(pair, far.part, nodes**2) / g, g)
    ends = (far.origin % g, far.goal % g)
    of_end = [np.bincount(pair * g + end, far.part, nodes**2 * g) for end in ends]
    kept = [np.minimum(have, room).reshape(-1, g).sum(1) for have in of_end]
    by_origin = kept[_ORIGIN] >= kept[_GOAL]
    have = np.where(np.repeat(by_origin, g), *of_end)
    rail = np.where(by_origin[pair], *ends)
    other = np.where(by_origin[pair], *ends[::-1])
    order = np.lexsort(((other - rail) % g, rail, pair))
    far = Pieces(far.origin, far.goal, rail, far.part).at(order)
    own = np.minimum(have, room)
    index, cut, part = _overlay(far.part, np.stack([own, have - own], 1).ravel())
    fits, rest = (np.flatnonzero(cut % 2 == odd) for odd in (0, 1))
    far = far.at(index, part)
    if not len(rest):
        return far
    # Which rails the rest goes on makes no difference to what arrives, so rounding does no harm.
    which, where, left = _overlay(part[rest], room - own)
    moved, kept_there = far.at(rest[which], left), far.at(fits)
    return Pieces(
        np.concatenate([kept_there.origin, moved.origin]),
        np.concatenate([kept_there.goal, moved.goal]),
        np.concatenate([kept_there.rail, where % g]),
        np.concatenate([kept_there.part, moved.part]),
    )


def _in_slots(far: Pieces, nodes: int, g: int, slots: int) -> tuple[Pieces, Ranks]:
    """Pieces in order of node, other node and rail, cut into slots, and the slot of each.

    First comes what begins on its rail, which need not wait for NVLink, and last what ends there.
    """
    i, j = far.origin % g, far.goal % g
    waits = np.where(i == far.rail, 0, np.where(j == far.rail, 2, 1))
    line = (far.origin // g * nodes + far.goal // g) * g + far.rail
    order = np.lexsort(((j - far.rail) % g, (i - far.rail) % g, waits, line))
    far, line = far.at(order), line[order]
    if slots == 1 or not len(line):
        return far, np.zeros(len(line), np.int64)
    each = np.bincount(line, far.part, nodes**2 * g)
    index, cut, part = _overlay(far.part, np.outer(each, _lengths(slots)).ravel())
    return far.at(index, part), cut % slots


def _lengths(slots: int) -> Floats:
    """Of the slots, summing to 1: half a slot first, a half and a quarter last.

    >>> (_lengths(4) * 9).tolist()
    [2.0, 4.0, 2.0, 1.0]
    """
    length = np.full(slots, 4.0)
    length[:1] /= 2
    if slots > 2:
        length[-1] = 1.0
    if slots > 3:
        length[-2] = 2.0
    return np.asarray(length / length.sum(), np.float64)


def _slots(group: Group, hint: Hint, far: Pieces) -> int:
    """As many as the root of the latencies that the busiest node's NICs take for its bytes, a power of two.

    Measured on 2 to 16 nodes of H100 and B200 of which tokens are sent to experts, with and without skew:
    2 are best up to about 4 latencies, 4 to about 16, 8 to 64, and 16 beyond. Where nothing is told behind
    the NICs, and before them little, 2 are best at any size: what is its own comes first and hides the rest.
    """
    nodes, n = group.levels[0].ranks, group.ranks
    most = max(1, (_MOST_SENDS - len(far.part)) // (2 * n * nodes * len(group.all_groups)))
    rates = _rates.of_levels(group) if len(group.levels) == 2 else None
    if rates is None:
        return min(_BLIND, most)
    g, (outer, inner) = n // nodes, rates
    busy = max(np.bincount(end // g, far.part, nodes).max() for end in (far.origin, far.goal))
    nics = float(busy) * hint.size / g * outer.slowness
    if g > 1 and (far.goal % g == far.rail).all():
        moved = np.bincount(far.origin, far.part * (far.origin % g != far.rail), n).max()
        if moved * hint.size * inner.slowness / (g - 1) < _HIDDEN * nics:
            return min(2, most)
    if not outer.latency:
        return min(MOST_SLOTS, most)
    want = np.sqrt(nics / outer.latency)
    return int(min(2 ** np.ceil(np.log2(max(want, 2.0))), MOST_SLOTS, most))


def _rows(far: Pieces, slot: Ranks, g: int) -> tuple[Sends, Ranks]:
    """The sends of all slots and their steps; pieces beside each other that go the same way go together."""
    out, into = (end // g * g + far.rail for end in (far.origin, far.goal))
    first, last = far.origin != out, far.goal != into
    lane = slot % _LANES
    early = (slot == 0) & ~first
    parts = [
        _together(first, far.origin, out, slot, np.full_like(lane, _LANES)),
        _together(first, out, into, slot + 1, lane),
        _together(~first, out, into, slot + 1 - early, lane),
        _together(last, into, far.goal, slot + 2, np.full_like(lane, _LANES + 1)),
    ]
    return join([rows for rows, _ in parts]), np.concatenate([step for _, step in parts])


def _together(of: Chosen, src: Ranks, dst: Ranks, step: Ranks, lane: Ranks) -> tuple[Sends, Ranks]:
    """One send for each run of pieces with the same source, destination and step."""
    piece = np.flatnonzero(of)
    columns = (piece - np.arange(len(piece)), src[piece], dst[piece], step[piece])
    new = np.zeros(len(piece), bool)
    new[:1] = True
    for c in columns:
        new[1:] |= c[1:] != c[:-1]
    begin = np.flatnonzero(new)
    count = np.diff(begin, append=len(piece))
    at = piece[begin]
    return sends(src[at], dst[at], at, count, 0, lane[at]), step[at]
