"""Sends that all ranks do alike over links that are not: one rank's sends and waits, at every place.

Nothing is stored for each send but when it is ready, flows and arrives: what waits for it is found by moving
what waits for rank 0's send. Of places that are alike, down to their links, there is one.
"""

from dataclasses import dataclass

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Orbit, Schedule, Sends
from hopcast.ir.topology import Floats, Ints

from . import network, places
from .arcs import Arcs, earlier
from .network import Longs, Problem
from .symmetry import touches

MOST_SENDS = 24_000_000  # 60 bytes each
_MOST_WAITS = 20  # for each send of one rank: beyond that gates are better, which stand for many waits,
_FEW_WAITS = 2_000_000  # unless there are no more than so many of one rank, 8 bytes each
_MOST_MOVES = 16_000_000  # ranks in all moves


@dataclass(frozen=True, eq=False)
class Folded(Problem):
    """A problem of k kinds of sends at each of p places.

    Send ``k p + place`` is one of kind k; its pair is ``pair[k] p + place``. ``pair``, ``volume``, ``after``
    and ``arcs`` are those of the kinds.

    Shapes: a arcs.

    Attributes:
        via: ``int32[a]``: what waits by an arc for a kind at place p waits at place ``moves[via, p]``.
        moves: ``int32[v, p]``.
        of: ``int64[m]``, of the network's links the link that stands for each; None: each for itself.
        spread_over: Places that each one stands for.
    """

    via: Ints
    moves: Ints
    of: Longs | None = None
    spread_over: int = 1

    @property
    def places(self) -> int:
        """Ranks of all groups, or one of each class of them."""
        return int(self.moves.shape[1])

    @property
    def pieces(self) -> int:
        """Flows in all."""
        pairs = np.bincount(self.pair, minlength=(len(self.paths.first) - 1) // self.places)
        return int(np.repeat(pairs, self.places) @ np.diff(self.paths.first))

    def load(self) -> Floats:
        """``float64[m]``: bytes over each link of the network."""
        each = np.bincount(self.pair, self.volume, (len(self.paths.first) - 1) // self.places)
        each_link = self.paths.load(np.repeat(each, self.places), len(self.capacity))
        return each_link if self.of is None else each_link[self.of]

    @classmethod
    def alone(cls, problem: Problem) -> "Folded":
        """Any problem, at one place."""
        p = problem
        via, moves = np.zeros(len(p.arcs.target), np.int32), np.zeros((1, 1), np.int32)
        return cls(p.capacity, p.paths, p.pair, p.volume, p.after, p.arcs, via, moves, bells=p.bells)


def folded(
    schedule: Schedule, cluster: Cluster, size: float, gamma: float, whole: bool = False
) -> Folded | None:
    """All sends of a schedule in which all ranks of a group do alike; None of any other.

    If the ``whole`` is asked for, no place stands for another.
    """
    orbit = None if schedule.orbit is None else schedule.orbit()
    if orbit is None or not len(orbit.moves) or schedule.step_count < 2:
        return None
    kinds = len(orbit.step)
    volume = schedule.bytes(orbit.out, size)
    if not np.array_equal(volume, schedule.bytes(orbit.into, size)):
        return None
    goals, way = np.unique(orbit.out.dst.astype(np.int64), return_inverse=True)
    to = _moves(orbit, goals) if 2 * len(goals) * schedule.groups.size <= _MOST_MOVES else None
    if to is None:
        return None
    groups, n = schedule.groups.shape
    src = np.tile(schedule.groups.ravel(), len(goals))
    dst = np.concatenate([schedule.groups[:, t].ravel() for t in to])
    paths = network.paths(cluster, src, dst)
    few = None if whole else places.alike(schedule.groups, orbit, cluster.topology, paths)
    seeds = np.arange(groups * n) if few is None else few.seeds
    if kinds * len(seeds) > MOST_SENDS:
        return None
    waits = _waits(orbit, schedule.chunks, way, len(goals))
    if waits is None:
        return None
    local = np.concatenate([np.arange(n)[None], to, np.argsort(to, 1)])
    moves = local[:, seeds % n] + seeds // n * n
    reduced = gamma * volume * (orbit.out.op == 1)
    about = way.astype(np.int64), volume, reduced, *waits
    if few is None:
        return Folded(cluster.topology.bandwidth, paths, *about, moves.astype(np.int32))
    stands = groups * n // len(seeds)
    return Folded(few.capacity, few.paths, *about, few.label[moves].astype(np.int32), few.of, stands)


def listed(problem: Folded, schedule: Schedule, step: Longs, rows: Sends) -> Longs | None:
    """``int64[s]``: which send of a whole problem each listed one is; None if two of them look the same."""
    orbit = None if schedule.orbit is None else schedule.orbit()
    if orbit is None or problem.of is not None or len(orbit.step) * problem.places != len(rows):
        return None
    place = schedule.groups.ravel().astype(np.int64)
    mine = (
        np.repeat(orbit.step, len(place)),
        np.tile(place, len(orbit.step)),
        place[problem.moves[1 + problem.pair]].ravel(),
        np.repeat(orbit.out.lane, len(place)).astype(np.int64),
    )
    theirs = (step, *(c.astype(np.int64) for c in (rows.src, rows.dst, rows.lane)))
    order, other = np.lexsort(mine), np.lexsort(theirs)
    here, there = (np.stack(c)[:, o] for c, o in ((mine, order), (theirs, other)))
    if not np.array_equal(here, there) or np.any(np.all(here[:, 1:] == here[:, :-1], axis=0)):
        return None
    found = np.empty(len(rows), np.int64)
    found[other] = order
    return found


def _moves(orbit: Orbit, goals: Longs) -> Longs | None:
    """``int64[goals, n]``: the moves that bring rank 0 to each goal; None if it cannot be brought there."""
    steps = [m.astype(np.int64) for m in orbit.moves] + [np.argsort(m) for m in orbit.moves]
    from_0 = [step.tolist() for step in steps]
    came = {0: (0, -1)}  # the rank before, and the step from there
    front, wanted = [0], set(goals.tolist()) - {0}
    while front and wanted:
        beyond = []
        for rank in front:
            for i, step in enumerate(from_0):
                if step[rank] not in came:
                    came[step[rank]] = rank, i
                    beyond.append(step[rank])
        wanted -= set(beyond)
        front = beyond
    if wanted:
        return None
    found = np.tile(np.arange(orbit.moves.shape[1]), (len(goals), 1))
    for row, goal in enumerate(goals.tolist()):
        often = [0] * len(steps)  # moves commute, so it does not matter in which order they are made
        while goal:
            goal, i = came[goal]
            often[i] += 1
        for step, many in zip(steps, often, strict=True):
            found[row] = _power(step, many)[found[row]]
    return found


def _power(move: Longs, many: int) -> Longs:
    """A move made so many times."""
    found = np.arange(len(move))
    while many:
        found = move[found] if many & 1 else found
        move, many = move[move], many >> 1
    return found


def _waits(orbit: Orbit, chunks: int, way: Longs, ways: int) -> tuple[Arcs, Ints] | None:
    """Arcs between one rank's sends, and by which move: 0, none; 1 + way, along it; 1 + ways + way, back."""
    read, write = touches(orbit, chunks)
    step, kinds = orbit.step, len(orbit.step)
    if len(np.unique(step)) == 1:
        return None
    data, clobber = earlier(write, read, step), earlier(read, write, step)
    if len(data[0]) + len(clobber[0]) > max(_MOST_WAITS * kinds, _FEW_WAITS):
        return None
    turn = _turns(step, orbit.out.lane.astype(np.int64))
    tail = np.concatenate([data[0], clobber[0], turn[0]])
    head = np.concatenate([data[1], clobber[1], turn[1]])
    via = np.concatenate([1 + way[data[0]], 1 + ways + way[clobber[1]], np.zeros(len(turn[0]), np.int64)])
    order = np.argsort(tail, kind="stable")
    start = np.searchsorted(tail[order], np.arange(turn[2] + 1)).astype(np.int64)
    pending = np.bincount(head, minlength=turn[2]).astype(np.int32)
    return Arcs(start, head[order].astype(np.int32), pending), via[order].astype(np.int32)


def _turns(step: Longs, lane: Longs) -> tuple[Longs, Longs, int]:
    """Arcs from each turn of a lane to its next, through a gate where a turn is many sends; nodes in all."""
    span, kinds = int(step[-1]) + 1, len(step)
    known, turn, many = np.unique(lane * span + step, return_inverse=True, return_counts=True)
    follows = np.zeros(len(known) + 1, bool)
    follows[1:-1] = known[1:] // span == known[:-1] // span
    gate = np.cumsum(many > 1) - 1 + kinds
    one = np.zeros(len(known), np.int64)
    one[turn] = np.arange(kinds)
    whole = np.where(many > 1, gate, one)  # what is over when a turn is
    ends = np.flatnonzero(follows[1:][turn] & (many[turn] > 1))
    waits = np.flatnonzero(follows[:-1][turn])
    tail, head = np.concatenate([ends, whole[turn[waits] - 1]]), np.concatenate([gate[turn[ends]], waits])
    return tail, head, kinds + int((many > 1).sum())
