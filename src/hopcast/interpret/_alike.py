"""Chunks that fare alike: the same sends, but for a renaming of the ranks. One of them stands for all.

A fingerprint of a chunk is the sum of a random hash of each of its sends: step, source, destination and
whether it adds. Two chunks have equal fingerprints if they have the same sends, else with probability 2**-64.
So have a chunk and another one when the sends of the first are moved, as the moves of `Orbit` do: the moves
are hints, and nothing that they claim is taken for granted.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import Collective
from hopcast.ir.schedule import Schedule, Sends, take
from hopcast.ir.topology import Ints

from . import _moves
from ._cells import Keys

Hashes = npt.NDArray[np.uint64]
_LONG = 8  # chunks of a send from which hashing sends costs little beside following chunks
_MANY = 2**20  # cells; with fewer nothing takes long
_OFTEN = 16  # times that a chunk is sent; with fewer it is followed as soon as told apart
_MIX = np.uint64(0x9E3779B97F4A7C15)


def one_of_each(schedule: Schedule, seed: int) -> Schedule | None:
    """The schedule on one chunk of each kind; None where that would be no less work.

    Cost: one pass, some 15 ns for each send and move.
    """
    moves = _worth_trying(schedule)
    if not len(moves):
        return None
    kept = _representatives(schedule, moves, np.random.default_rng(seed))
    return only(schedule, kept) if 2 * len(kept) <= schedule.chunks else None


def _worth_trying(schedule: Schedule) -> Ints:
    """Moves that may leave few kinds of chunks at little cost: ``int32[g, n]``, often none."""
    none = np.zeros((0, schedule.ranks), np.int32)
    orbit = None if schedule.orbit is None else schedule.orbit()
    if not schedule.chunks:
        return none
    if orbit is None:
        return _guessed(schedule) if schedule.vertices * schedule.chunks >= _MANY else none
    if int(orbit.out.count.sum()) * schedule.ranks < _OFTEN * schedule.chunks:
        return none
    if not len(orbit.moves) or orbit.out.count.mean() >= _LONG:
        return orbit.moves
    return orbit.moves[[int(np.argmax([_period(m) for m in orbit.moves]))]]  # leaves few enough


def _guessed(schedule: Schedule) -> Ints:
    """Moves of a grid, where the sends that they are tried on are long, and few beside the chunks they move.

    Sends of single chunks are as quickly followed as looked at.
    """
    steps = _moves.some_steps(schedule)
    sent, each = sum(len(rows) for rows in steps), sum(int(rows.count.sum()) for rows in steps)
    if each < _LONG * max(sent, 1) or each * schedule.step_count < _OFTEN * schedule.chunks * len(steps):
        return np.zeros((0, schedule.ranks), np.int32)
    return _moves.guessed(schedule, steps)


def _period(move: Ints) -> int:
    """Moves after which rank 0 is back."""
    at, times = int(move[0]), 1
    while at and times < len(move):
        at, times = int(move[at]), times + 1
    return times


def _representatives(schedule: Schedule, moves: Ints, rng: np.random.Generator) -> Keys:
    """``int64[...]``: chunks, ascending, of which all others are images, each the first that is one of them.

    The first ones mostly are neighbours, so what is sent together stays together.
    """
    own, *moved = _fingerprints(schedule, moves, rng)
    kinds, first = np.unique(own, return_index=True)
    label, place = np.arange(len(kinds)), np.argsort(np.argsort(first))  # in order of their first chunks
    links = []
    for images in moved:
        image = images[first]
        at = np.minimum(np.searchsorted(kinds, image), len(kinds) - 1)
        same = kinds[at] == image
        links.append((place[same], place[at[same]]))
    while True:  # the least of all that are joined
        before = label.copy()
        for one, other in links:
            least = np.minimum(label[one], label[other])
            np.minimum.at(label, one, least)
            np.minimum.at(label, other, least)
        label = label[label]
        if np.array_equal(before, label):
            return np.sort(first)[np.unique(label)]


def _fingerprints(schedule: Schedule, moves: Ints, rng: np.random.Generator) -> list[Hashes]:
    """Of every chunk as it is, and as each move makes it: ``uint64[chunks]`` each."""
    task, chunks = schedule.collective, schedule.chunks
    local = [np.arange(schedule.ranks, dtype=np.int32), *moves]
    tables = _hashes(rng, schedule.vertices), _hashes(rng, schedule.vertices)
    of_way = [tuple(t[_on_all(schedule, move)] for t in tables) for move in local]
    alone, edge = np.zeros((2, len(local), chunks + 1), np.uint64)
    for ends in (task.origin, task.goal):
        table = _hashes(rng, schedule.ranks + 1)  # the last is of ALL, -1
        for k, move in enumerate(local):
            alone[k, :chunks] += table[np.append(move, schedule.ranks)[ends]]
    for rows in schedule.steps():
        salt = _hashes(rng, 2)[rows.op] if rows.op.any() else _hashes(rng, 1)
        single = rows.count.max(initial=0) == 1
        src, dst, chunk = (c.astype(np.intp) for c in (rows.src, rows.dst, rows.chunk))  # once for all moves
        for (out, into), points, edges in zip(of_way, alone, edge, strict=True):
            mark = _mixed(out[src] + into[dst] + salt)
            if single:
                np.add.at(points, chunk, mark)
            else:
                _add_runs(edges, rows, mark)
    return [(points + np.cumsum(edges))[:chunks] for points, edges in zip(alone, edge, strict=True)]


def _add_runs(edges: Hashes, rows: Sends, mark: Hashes) -> None:
    """Marks of sends on all their chunks, as differences between one chunk and the next."""
    chunks = len(edges) - 1
    last = rows.chunk.astype(np.int64) + rows.count
    over = np.flatnonzero(last > chunks)
    np.add.at(edges, rows.chunk, mark)
    np.subtract.at(edges, np.minimum(last, chunks), mark)
    edges[:1] += mark[over].sum(dtype=np.uint64)  # of arrays: a scalar that wraps warns
    np.subtract.at(edges, last[over] - chunks, mark[over])


def _hashes(rng: np.random.Generator, many: int) -> Hashes:
    return rng.integers(0, 2**64 - 1, many, np.uint64, endpoint=True)


def _mixed(mark: Hashes) -> Hashes:
    """Sums scattered over all bits, in place.

    Source: Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195 (the finalizer of SplitMix, shortened).
    """
    mark *= _MIX
    mark ^= mark >> np.uint64(32)
    mark *= _MIX
    return mark


def _on_all(schedule: Schedule, move: Ints) -> Keys:
    """Where a move of local ranks takes each vertex; switches stay."""
    to = np.arange(schedule.vertices)
    to[schedule.groups] = schedule.groups[:, move]
    return to


def only(schedule: Schedule, kept: Keys) -> Schedule:
    """The schedule on some of its chunks, ascending, numbered anew. What is a run of chunks stays one."""
    task, chunks = schedule.collective, schedule.chunks
    is_kept = np.zeros(chunks, bool)
    is_kept[kept] = True
    before = np.concatenate([[0], np.cumsum(is_kept)])

    def make(i: int) -> Sends:
        rows = schedule.make(i)
        if rows.count.max(initial=0) == 1:
            rows = take(rows, np.flatnonzero(is_kept[rows.chunk]))
            return replace(rows, chunk=before[rows.chunk].astype(np.int32))
        last = rows.chunk.astype(np.int64) + rows.count
        many = before[np.minimum(last, chunks)] - before[rows.chunk]
        many += before[np.maximum(last - chunks, 0)]
        at = np.flatnonzero(many)
        rows = take(rows, at)
        first = (before[rows.chunk] % len(kept)).astype(np.int32)
        return replace(rows, chunk=first, count=many[at].astype(np.int32))

    part = Collective(task.name, task.ranks, task.origin[kept], task.goal[kept], task.root, task.shift)
    return replace(schedule, collective=part, make=make, share=None, pattern=None, orbit=None, repeat=None)
