"""Schedules out of schedules: reverse, then, beside, over, lay.

Most algorithms are compositions. Everything here stays lazy: no step is made before it is asked for.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from . import composed, orbits
from .collective import ALL, REVERSE, Collective
from .schedule import COPY, REDUCE, Schedule, Sends, join
from .topology import Floats, Ints


def reverse(schedule: Schedule) -> Schedule:
    """The mirror image: steps backwards, every send the other way.

    all_gather becomes reduce_scatter and broadcast becomes reduce (copies turn into sums), and back; gather
    and scatter are each other's mirror. It is right where no rank receives a chunk that it already has.
    """
    was = schedule.collective
    name = REVERSE[was.name]
    op = REDUCE if len(was.goal) and was.goal[0] == ALL else COPY
    now = replace(was, name=name, origin=was.goal, goal=was.origin, shift=-was.shift)
    last = schedule.step_count - 1

    def pattern(i: int) -> Hashable:
        return ("reverse", schedule.key(last - i))

    orbit = orbits.reversed(schedule, op)
    make = composed.Mirrored(schedule, op)
    return replace(schedule, collective=now, make=make, pattern=pattern, orbit=orbit, repeat=None)


def then(first: Schedule, second: Schedule, name: str) -> Schedule:
    """One after the other on the same chunks: ``then(reduce_scatter, all_gather, "all_reduce")``.

    Raises:
        ValueError: if the two cut the array differently, or the second starts from what the first does not
            give.
    """
    if first.chunks != second.chunks or not np.array_equal(first.collective.goal, second.collective.origin):
        raise ValueError(f"{second!r} does not start where {first!r} ends")
    a, b = first.collective, second.collective
    both = Collective(name, a.ranks, a.origin, b.goal, b.root, b.shift)
    half = first.step_count

    def pattern(i: int) -> Hashable:
        return (0, first.key(i)) if i < half else (1, second.key(i - half))

    return replace(
        first,
        collective=both,
        step_count=half + second.step_count,
        make=composed.Joined(first, second),
        pattern=pattern,
        lanes=max(first.lanes, second.lanes),
        vertices=max(first.vertices, second.vertices),
        orbit=orbits.joined(first, second),
        alike=None,
        repeat=None,
    )


def beside(
    parts: Sequence[Schedule], share: Sequence[float] | None = None, *, one_lane: bool = False
) -> Schedule:
    """Several at once, each on its own part of the array: two directions, rotated axis orders.

    Args:
        parts: Schedules of one collective over the same groups.
        share: Part of D that each takes; equal if not given.
        one_lane: Keep lane numbers, so that a rank's sends of one step in all parts finish before its next
            step; otherwise the parts are pipelines of their own.
    """
    weight = (
        np.full(len(parts), 1 / len(parts)) if share is None else np.asarray(share, float) / np.sum(share)
    )
    offset = np.concatenate([[0], np.cumsum([p.chunks for p in parts])])
    lane = (
        np.zeros(len(parts), int)
        if one_lane
        else np.concatenate([[0], np.cumsum([p.lanes for p in parts])[:-1]])
    )
    head = parts[0].collective
    origin = np.concatenate([p.collective.origin for p in parts])
    goal = np.concatenate([p.collective.goal for p in parts])
    whole = Collective(head.name, head.ranks, origin, goal, head.root, head.shift)
    cells: Floats | None = np.concatenate([w * p.parts for w, p in zip(weight, parts, strict=True)])
    if cells is not None and np.all(cells == cells[0]):
        cells = None

    def make(i: int) -> Sends:
        live = []
        for k, p in enumerate(parts):
            if i < p.step_count:
                rows = _unwrap(p.make(i), p.chunks)
                shifted = (rows.chunk + offset[k]).astype(np.int32)
                live.append(replace(rows, chunk=shifted, lane=(rows.lane + lane[k]).astype(np.uint16)))
        return join(live)

    def pattern(i: int) -> Hashable:
        return tuple(p.key(i) if i < p.step_count else None for p in parts)

    return Schedule(
        whole,
        parts[0].algorithm,
        parts[0].groups,
        max(p.vertices for p in parts),
        max(p.step_count for p in parts),
        make,
        cells,
        max(p.lanes for p in parts) if one_lane else sum(p.lanes for p in parts),
        pattern,
    )


def over(schedule: Schedule, lines: Ints, base: Ints, scale: int, collective: Collective) -> Schedule:
    """A schedule of one axis as a phase of a larger one: the same on every line, on blocks of chunks.

    Shapes: ``lines`` is ``int32[l, n]``, the local ranks of each line, with its switches behind them if it
    uses any; ``base`` is ``int32[l]``, the chunk at which the line's part of the array begins. Chunk c of
    the small schedule is the ``scale`` chunks from ``base + c * scale``.

    Args:
        schedule: Of n ranks.
        lines: Lines of the larger group.
        base: First chunk of each line.
        scale: Chunks of the larger schedule for one of the small one.
        collective: Of the larger schedule.
    """

    def make(i: int) -> Sends:
        rows = _unwrap(schedule.make(i), schedule.chunks)
        chunk = base[:, None] + (rows.chunk * scale)[None]
        times = len(lines)
        return Sends(
            lines[:, rows.src].ravel().astype(np.int32),
            lines[:, rows.dst].ravel().astype(np.int32),
            chunk.ravel().astype(np.int32),
            np.tile(rows.count * scale, times).astype(np.int32),
            np.tile(rows.op, times),
            np.tile(rows.lane, times),
        )

    def pattern(i: int) -> Hashable:
        return ("over", lines.tobytes() if lines.size < 64 else id(lines), scale, schedule.key(i))

    return Schedule(
        collective,
        schedule.algorithm,
        np.arange(collective.ranks, dtype=np.int32)[None],
        max(collective.ranks, int(lines.max()) + 1),
        schedule.step_count,
        make,
        None,
        schedule.lanes,
        pattern,
    )


def chain_steps(phases: Sequence[Schedule], collective: Collective) -> Schedule:
    """Phases that follow one another on one chunk numbering, without a claim of what each computes."""
    ends = np.cumsum([p.step_count for p in phases])

    def find(i: int) -> tuple[int, int]:
        k = int(np.searchsorted(ends, i, "right"))
        return k, i - (int(ends[k - 1]) if k else 0)

    def make(i: int) -> Sends:
        k, j = find(i)
        return phases[k].make(j)

    def pattern(i: int) -> Hashable:
        k, j = find(i)
        return (k, phases[k].key(j))

    return replace(
        phases[0],
        collective=collective,
        step_count=int(ends[-1]),
        make=make,
        pattern=pattern,
        lanes=max(p.lanes for p in phases),
        vertices=max(p.vertices for p in phases),
        orbit=None,
        alike=None,
        repeat=None,
    )


def stretch(schedule: Schedule, pieces: int) -> Schedule:
    """The same moves in ``pieces`` times as many steps, each of a part of every chunk.

    Every chunk is cut, and one part goes after another. So phases of different numbers of steps can keep step
    with each other.
    """
    if pieces == 1:
        return schedule
    was = schedule.collective
    now = replace(was, origin=np.repeat(was.origin, pieces), goal=np.repeat(was.goal, pieces))

    def make(i: int) -> Sends:
        rows = _unwrap(schedule.make(i // pieces), schedule.chunks)
        return replace(rows, chunk=rows.chunk * pieces + rows.count * (i % pieces))

    def pattern(i: int) -> Hashable:
        return schedule.key(i // pieces)

    share = None if schedule.share is None else np.repeat(schedule.share / pieces, pieces)
    return replace(
        schedule,
        collective=now,
        step_count=schedule.step_count * pieces,
        make=make,
        share=share,
        pattern=pattern,
        orbit=None,
        alike=None,
        repeat=None,
        _ends=[],
    )


def shared(schedule: Schedule, share: Floats | None) -> Schedule:
    """The same schedule with other parts of D for its chunks."""
    return replace(schedule, share=share, orbit=None, alike=None, repeat=None, _ends=[])


def pipeline(phases: Sequence[Schedule], pieces: int) -> Schedule:
    """Phases on one chunk numbering, with the array cut into pieces that follow each other through them.

    A piece enters a phase when it has left the one before and the piece before it has left this one.
    Every phase has lanes of its own, so a rank may serve one piece in one phase and the next piece in
    another.

    Args:
        phases: Each starts from what the one before gives.
        pieces: 1 is one after the other.
    """
    head, last = phases[0].collective, phases[-1].collective
    name = head.name if head.name == last.name else "all_reduce"
    lengths = [p.step_count for p in phases]
    start = np.zeros((pieces, len(phases)), int)
    for k in range(pieces):
        for j in range(len(phases)):
            after = start[k, j - 1] + lengths[j - 1] if j else 0
            start[k, j] = max(after, start[k - 1, j] + lengths[j] if k else 0)
    chunks = phases[0].chunks
    lane = np.concatenate([[0], np.cumsum([p.lanes for p in phases])[:-1]])
    if pieces == 1 and head is last:
        whole = head  # without looking at its chunks, which may be very many
    else:
        where = [np.tile(column, pieces) for column in (head.origin, last.goal)]
        whole = Collective(name, head.ranks, where[0], where[1], head.root, head.shift)
    share = phases[0].share
    parts = None if share is None else np.tile(share / pieces, pieces)

    def active(i: int) -> list[tuple[int, int, int]]:
        at = i - start
        return [(int(k), int(j), int(at[k, j])) for k, j in np.argwhere((at >= 0) & (at < np.array(lengths)))]

    def make(i: int) -> Sends:
        live = []
        for k, j, at in active(i):
            rows = _unwrap(phases[j].make(at), chunks)
            moved = rows.chunk + np.int32(k * chunks) if k else rows.chunk
            live.append(replace(rows, chunk=moved, lane=(rows.lane + lane[j]).astype(np.uint16)))
        return join(live)

    def pattern(i: int) -> Hashable:
        return tuple((j, phases[j].key(at)) for _, j, at in active(i))

    return replace(
        phases[-1],
        collective=whole,
        step_count=int(start[-1, -1]) + lengths[-1],
        make=make,
        share=parts,
        lanes=sum(p.lanes for p in phases),
        pattern=pattern,
        vertices=max(p.vertices for p in phases),
        orbit=orbits.pipelined(phases, start, lane),
        alike=None,
        repeat=None,
        _ends=[],
    )


def lay(schedule: Schedule, groups: Ints, vertices: int, hubs: Ints | None = None) -> Schedule:
    """The same schedule on every group at once, so contention between groups is simply there.

    Shapes: ``groups`` is ``int32[g, n]``: the vertex of each group's local rank; ``hubs`` is ``int32[g, k]``.

    Args:
        schedule: On local ranks 0..n-1 of one group, and its switches n..n+k-1 if it uses any.
        groups: Where they are.
        vertices: Number of vertices of the cluster.
        hubs: Where the switches of each group are.
    """
    known = hubs is not None and hubs.shape[1] > 0
    where = np.concatenate([groups, hubs], 1) if known and hubs is not None else groups
    stays = np.array_equal(where, np.arange(where.shape[1])[None])

    return replace(
        schedule,
        groups=np.ascontiguousarray(groups, np.int32),
        vertices=vertices,
        make=schedule.make if stays else composed.Laid(schedule, where),
        pattern=schedule.pattern,
    )


def relabel(schedule: Schedule, order: Ints) -> Schedule:
    """The same schedule with vertex v called ``order[v]``."""

    def make(i: int) -> Sends:
        rows = schedule.make(i)
        return replace(rows, src=order[rows.src], dst=order[rows.dst])

    return replace(
        schedule,
        groups=order[schedule.groups],
        make=make,
        vertices=max(schedule.vertices, int(order.max()) + 1),
        orbit=None,
        alike=None,
        repeat=None,
    )


def _unwrap(rows: Sends, chunks: int) -> Sends:
    """Rows whose chunks do not run over the end; those that did are cut in two."""
    last = rows.chunk + rows.count
    cut = np.flatnonzero(last > chunks)
    if not len(cut):
        return rows
    head = replace(rows, count=np.minimum(last, chunks) - rows.chunk)
    tail = Sends(
        rows.src[cut],
        rows.dst[cut],
        np.zeros(len(cut), np.int32),
        last[cut] - np.int32(chunks),
        rows.op[cut],
        rows.lane[cut],
    )
    return join([head, tail])
