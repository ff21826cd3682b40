"""Schedules that send the same in round after round, each send over one link.

What a send waits for is the same in every round, so a few numbers for each send of the first round are all
there is to keep. When a round has gone just as an earlier one did, so will all but the last, and they are
passed over. That happens soon where sends never meet. Where they share links it mostly does not: how they
overlap goes on changing, and a difference in the last digit grows from round to round, whoever computes it.
After hundreds of rounds two ways to add the same numbers differ by up to a few parts in a thousand.
`one_link`, which follows all sends, adds them in the same way.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Repeat, Schedule, Sends, sends
from hopcast.ir.topology import Floats
from hopcast.routing import routes

from .network import Longs
from .noise import Noise
from .relay import Relayed

if TYPE_CHECKING:
    from .repeat_engine import State

_SLICE = 500_000  # events between two looks at the keyboard, a fifth of a second (2 cores, 2026-11)
FEW, _MOST_FIRST = 20_000, 200_000  # sends in all, and sends of the first round


def passed(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float = 0.0,
    progress: Callable[[float], None] | None = None,
    noise: Noise | None = None,
) -> Relayed | None:
    """Simulate a schedule that repeats itself; None of any other, or if a send crosses several links.

    None too if reducing takes time or sends do not go at the rate of their link, and of few sends, which
    are over before the compiled loop is there.

    Args: as `flows.simulate`.

    Cost: some 0.4 us for each send until rounds are alike, and for those of the last rounds.

    >>> from hopcast.algorithms import get
    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.group import Hint
    >>> from hopcast.ir.mesh import group, physical
    >>> c = cluster("chain:3,bandwidth=1GB/s,latency=0")
    >>> where = group(c, physical(c.topology), ())
    >>> s = get("tree_packing").build("all_reduce", where, Hint(options={"chunks": "10000"}))
    >>> found = passed(s, c, 1e9)
    >>> round(found.seconds, 6), found.sends < 100
    (1.0001, True)
    """
    repeat = schedule.repeat
    if repeat is None or gamma or noise or schedule.share is not None or not _is_apart(repeat):
        return None
    if len(repeat.step) * repeat.times * len(schedule.groups) < FEW:
        return None
    rows, group = _everywhere(repeat, schedule)
    topology = cluster.topology
    found = routes(cluster, rows.src, rows.dst)
    if len(found.pair) != len(rows) or np.any(found.hops != 1):
        return None
    links, wire = np.unique(topology.wire[found.links], return_inverse=True)
    if np.any(topology.bandwidth[links] <= 0):
        return None
    step = np.tile(repeat.step, len(schedule.groups))
    _, lane = np.unique(rows.src.astype(np.int64) * schedule.lanes + rows.lane, return_inverse=True)
    residue = step % repeat.period
    if len(np.unique(lane * repeat.period + residue)) < len(rows):
        return None  # sends of one lane and step start together
    waits = _waits(group * (int(rows.chunk.max()) + 1) + rows.chunk, step, rows, schedule.vertices)
    try:
        from . import repeat_engine as engine  # numba is imported only where it is needed
    except ImportError:
        return None
    volume = schedule.bytes(rows, size)
    state = _state(
        repeat.times, step // repeat.period, residue, lane.astype(np.int64), wire.astype(np.int64), waits,
        (found.latency, volume, topology.bandwidth[links]),
    )  # fmt: skip
    mark, unit = int(step.argmax()), float((volume / state.links.capacity[wire] + found.latency).min())
    engine.begin(state)
    while engine.run(state, _SLICE, mark, unit) != engine.OVER:
        if progress is not None:
            progress(float(state.came.mean()) / repeat.times)
    assert np.all(state.came == repeat.times)  # all wait for earlier steps, so none for each other
    load = np.asarray(np.bincount(links[wire], repeat.times * volume, topology.links), np.float64)
    sent = len(rows) * (repeat.times - int(state.tally[engine.SKIPPED]))
    late = float(state.late[int(state.tally[engine.LAST])])
    return Relayed(float(state.clock[engine.CLOCK]), late, load, sent)


def _is_apart(repeat: Repeat) -> bool:
    """Whether sends of different rounds never touch the same chunk, and sends are few."""
    if len(repeat.step) > _MOST_FIRST or np.any(repeat.rows.count != 1):
        return False
    first = np.unique(repeat.rows.chunk)
    order = np.lexsort((first, first % repeat.chunks))
    near = np.diff(first[order]) < repeat.chunks * repeat.times
    return not np.any(near & (np.diff(first[order] % repeat.chunks) == 0))


def _everywhere(repeat: Repeat, schedule: Schedule) -> tuple[Sends, Longs]:
    """The sends of the first round in all groups, and the group of each."""
    rows, groups = repeat.rows, schedule.groups
    ends = (groups[:, v].ravel() for v in (rows.src, rows.dst))
    rest = (np.tile(c, len(groups)) for c in (rows.chunk, rows.count, rows.op, rows.lane))
    return sends(*ends, *rest), np.repeat(np.arange(len(groups)), len(rows))


def _waits(chunk: Longs, step: Longs, rows: Sends, vertices: int) -> tuple[Longs, Longs]:
    """Which row waits for which: for what came into its cell and what left the cell it writes, before."""
    src, dst = (chunk * vertices + v for v in (rows.src, rows.dst))
    parts = []
    for mine, theirs in ((src, dst), (dst, src)):
        order = np.argsort(theirs, kind="stable")
        low, high = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
        many = high - low
        waits = np.repeat(np.arange(len(mine)), many)
        at = np.arange(len(waits)) + np.repeat(low - np.cumsum(many) + many, many)
        other = order[at]
        before = step[other] < step[waits]
        parts.append((waits[before], other[before]))
    both = np.unique(np.concatenate([w * len(step) + o for w, o in parts]))
    return both // len(step), both % len(step)


def _state(
    times: int,
    base: Longs,
    residue: Longs,
    lane: Longs,
    wire: Longs,
    waits: tuple[Longs, Longs],
    rates: tuple[Floats, Floats, Floats],
) -> "State":
    """The arrays of a run that has not begun."""
    from . import repeat_engine as engine
    from .link import empty

    k, lanes = len(base), int(lane.max()) + 1
    order = np.lexsort((residue, lane))
    # A lane sends one at a time.
    seats = np.bincount(np.unique(wire * lanes + lane) // lanes, minlength=len(rates[2]))

    def starts(column: Longs, many: int) -> Longs:
        return np.searchsorted(column, np.arange(many + 1)).astype(np.int64)

    def longs(many: int) -> Longs:
        return np.zeros(many, np.int64)

    def floats(many: int) -> Floats:
        return np.zeros(many)

    waiting, other = waits
    back = np.argsort(other, kind="stable")
    return engine.State(
        links=empty(rates[2], rates[1], seats), times=times, base=base.astype(np.int64), lag=rates[0],
        lane=lane.astype(np.int32), wire=wire.astype(np.int32),
        queue=starts(lane[order], lanes), row=order.astype(np.int32),
        need=starts(waiting, k), needs=other.astype(np.int32),
        follow=starts(other[back], k), follows=waiting[back].astype(np.int32),
        came=longs(k), turn=longs(lanes), at=longs(lanes), does=np.zeros(k, np.int8),
        late=floats(k), later=floats(k),
        old_came=longs(k), old_does=np.zeros(k, np.int8), old_moment=floats(k),
        old_late=floats(k), old_later=floats(k),
        tally=longs(8), clock=floats(3),
    )  # fmt: skip
