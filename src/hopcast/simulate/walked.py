"""Every pair of chips of a grid at once: flows that wait for nothing, their routes walked, not stored.

A pod of 4,096 chips has 20 million such flows. Of each only its *cell* is kept: flows of one cell have equal
bytes and started together, and have had the same rate ever since. What is left of a flow and how fast it goes
is said once for each cell. Rates are found by progressive filling over all flows; a cell of which some flows
cross the links that are full, and some do not, is cut in two. So nothing is assumed to be alike: cells only
tell apart what has come to differ.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (progressive filling).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Axis, Bools, Floats, Topology

Longs = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int32]
Progress = Callable[[float], None]
AXES = 4  # longer than one chip, at most
_SPLIT = {"dimension_order": True, "forward": False}  # whether what is half way round goes both ways
_SAME = 1e-12  # events closer than this part of the clock are one, as in the reference
_SLICE = 1_000_000  # flows between two looks at the keyboard: some milliseconds


@dataclass(frozen=True, eq=False)
class Walked:
    """What came of it.

    Attributes:
        seconds: When the last flow was received.
        latency: Seconds that this flow waited for its first byte.
        load: ``float64[m]``, bytes over each link.
        events: Times at which rates changed.
        flows: How many there were.
        cells: How many had to be told apart in the end.
    """

    seconds: float
    latency: float
    load: Floats
    events: int
    flows: int
    cells: int


def fits(schedule: Schedule, cluster: Cluster) -> Bools | None:
    """The axes along which every chip sends to every other, all at once and alike; None of other schedules.

    Shapes: ``bool[axes]``.
    """
    topology = cluster.topology
    if schedule.step_count != 1 or schedule.orbit is None or schedule.share is not None:
        return None
    if not topology.is_grid or topology.half_duplex or cluster.routing not in _SPLIT:
        return None
    if sum(n > 1 for n in topology.shape) > AXES or not _is_even(topology):
        return None
    orbit, (groups, n) = schedule.orbit(), schedule.groups.shape
    if orbit is None or groups * n != topology.chips or n < 2:
        return None
    every = np.array_equal(np.sort(orbit.out.dst), np.arange(1, n)) and not orbit.out.op.any()
    if not every or len(np.unique(orbit.out.count)) > 1:
        return None
    at = topology.coords[schedule.groups]
    over = np.asarray(np.any(at != at[:, :1], axis=(0, 1)), np.bool_)
    whole = np.prod([a.length for a, o in zip(topology.axes, over, strict=True) if o]) == n
    apart = np.all(at[:, :, ~over] == at[:, :1, ~over])
    once = np.array_equal(np.sort(schedule.groups, axis=None), np.arange(topology.chips))
    return over if whole and apart and once else None


def _is_even(topology: Topology) -> bool:
    """Whether no link is dead and links of an axis are alike each way."""
    if not topology.links or np.any(topology.bandwidth <= 0):
        return False
    for a in range(len(topology.axes)):
        for way in (0, 1):
            port = topology.port[:, a, way]
            column = port[port >= 0]
            if len(np.unique(topology.bandwidth[column])) > 1:
                return False
        if len(np.unique(topology.latency[topology.axis == a])) > 1:
            return False
    return True


def is_quick(cluster: Cluster, over: Bools) -> bool:
    """Whether links of an axis carry alike, so that rates have few levels: no open axis of three or more."""
    return all(a.wraps or a.length < 3 or not o for a, o in zip(cluster.topology.axes, over, strict=True))


def run(schedule: Schedule, cluster: Cluster, size: float, progress: Progress | None = None) -> Walked | None:
    """Simulate every flow; None of a schedule that does not fit.

    Cost: 4 bytes for each flow, and a sweep over all of them for each event and, beyond one, each level of
    rates in it; 20 million flows take some 0.05 s (one core, 2026-11).
    """
    over = fits(schedule, cluster)
    if over is None or schedule.orbit is None:
        return None
    orbit = schedule.orbit()
    assert orbit is not None
    volume = float(schedule.bytes(orbit.out, size)[0])
    state = _Run(cluster, over, volume, progress)
    state.go()
    return state.result()


@dataclass(frozen=True, eq=False)
class _Choices:
    """Where a chip can send along one axis.

    Shapes: n chips, o choices; see `walked_engine.Walks` for ``to``, ``way``, ``begin`` and ``end``.

    Attributes:
        hops: ``int64[n, o]``.
        is_half: ``bool[n, o]``: half of the bytes go this way, half the other.
    """

    to: Longs
    way: Longs
    begin: Longs
    end: Longs
    hops: Longs
    is_half: Bools


def _choices(axis: Axis, over: bool, split: bool) -> _Choices:
    n = axis.length
    at = np.arange(n)[:, None]
    if not over:
        return _Choices(at, 0 * at, at, at, 0 * at, np.zeros((n, 1), np.bool_))
    if not axis.wraps:
        to = np.broadcast_to(np.arange(n), (n, n))
        down = (to < at).astype(np.int64)
        hops = abs(to - at)
        begin = np.where(down == 1, to + 1, at)
        return _Choices(to.astype(np.int64), down, begin, begin + hops, hops, np.zeros((n, n), np.bool_))
    ahead = np.arange(n)
    if split and n % 2 == 0:
        ahead = np.append(ahead, -(n // 2))
    ahead = np.where(2 * ahead > n, ahead - n, ahead)[None]
    hops = np.broadcast_to(abs(ahead), (n, ahead.size))
    down = np.broadcast_to((ahead < 0).astype(np.int64), hops.shape)
    begin = np.where(down == 1, (at - hops + 1) % n, at)
    half = np.broadcast_to(split & (2 * abs(ahead) == n), hops.shape)
    return _Choices((at + ahead) % n, down, begin, begin + hops, hops.astype(np.int64), half)


def _tables(found: list[_Choices]) -> dict[str, Longs]:
    """The columns of `walked_engine.Walks`, padded."""
    chips, many = (np.array([c.to.shape[i] for c in found], np.int64) for i in (0, 1))
    tables = {"chips": chips, "many": many}
    for name in ("to", "way", "begin", "end"):
        tables[name] = np.zeros((len(found), int(chips.max()), int(many.max())), np.int64)
        for a, c in enumerate(found):
            column = getattr(c, name)
            tables[name][a, : column.shape[0], : column.shape[1]] = column
    return tables


class _Run:
    """The state of a run. Cell 0 is what a chip would send to itself."""

    def __init__(self, cluster: Cluster, over: Bools, volume: float, progress: Progress | None) -> None:
        from . import walked_engine as engine  # numba is imported only where it is needed

        self.engine, self.progress, self.topology = engine, progress, cluster.topology
        used = [a for a, n in enumerate(cluster.topology.shape) if n > 1]
        self.axes = [-1] * (AXES - len(used)) + used  # those that the grid lacks have one chip
        one = Axis("", 1, False)
        split = _SPLIT[cluster.routing]
        self.choices = [
            _choices(self.topology.axes[a] if a >= 0 else one, a >= 0 and bool(over[a]), split)
            for a in self.axes
        ]
        self.walks = engine.Walks(**_tables(self.choices))
        self.links = [self._links(i) for i in range(AXES)]
        self.capacity = [np.where(x < 0, np.inf, self.topology.bandwidth[x]) for x in self.links]
        self.users = [np.zeros(x.shape, np.int64) for x in self.links]
        self._seat(volume)
        self.now, self.events = 0.0, 0

    def _links(self, i: int) -> Longs:
        """The links of an axis: ``int64[lines, 2, n]``, up and down from each chip; -1: there is none."""
        a, shape = self.axes[i], tuple(int(n) for n in self.walks.chips)
        if a < 0:
            return np.full((self.topology.chips, 2, 1), -1, np.int64)
        ways = [np.moveaxis(self.topology.port[:, a, way].reshape(shape), i, -1) for way in (0, 1)]
        return np.stack([w.reshape(-1, shape[i]) for w in ways], 1).astype(np.int64)

    def _seat(self, volume: float) -> None:
        """Put every flow in a cell: of latency and part of the bytes."""
        chips = tuple(int(n) for n in self.walks.chips)
        far = [int(c.hops.max()) + 1 for c in self.choices]
        ends = np.unravel_index(np.arange(self.topology.chips), chips)
        code = np.zeros((1, 1, 1, 1, 1), np.int64)  # hops along each axis, and how often it is halved
        halves = code.copy()
        for i, c in enumerate(self.choices):
            shape = [len(ends[i]), 1, 1, 1, 1]
            shape[i + 1] = c.hops.shape[1]
            alike = np.array_equal(c.hops, np.broadcast_to(c.hops[:1], c.hops.shape))  # for all chips
            rows = ends[i][:1] if alike else ends[i]
            shape[0] = len(rows)
            code = code * far[i] + c.hops[rows].reshape(shape)
            halves = halves + c.is_half[rows].reshape(shape)
        code = code * (AXES + 1) + halves
        known = np.arange(int(np.prod(far)) * (AXES + 1))
        hops = np.stack(np.unravel_index(known // (AXES + 1), far), 1)
        per = [float(self.topology.latency[self.topology.axis == a][0]) if a >= 0 else 0.0 for a in self.axes]
        every = self.topology.latency
        lag = hops.sum(1) * every[0] if np.all(every == every[0]) else hops @ np.array(per)
        kind = np.stack([lag, known % (AXES + 1)], 1)
        is_there = np.bincount(code.ravel(), minlength=len(known)) > 0
        is_there[hops.sum(1) == 0] = False
        kinds, of = np.unique(kind[is_there], axis=0, return_inverse=True)
        cell_of = np.zeros(len(known), np.int32)
        cell_of[is_there] = of.ravel() + 1
        per_chip = int(np.prod(self.walks.many))
        seats = cell_of[code].reshape(len(code), per_chip)
        self.cell: Cells = np.broadcast_to(seats, (self.topology.chips, per_chip)).copy()
        self.lag, self.halves = (np.append(0, kinds[:, i]) for i in (0, 1))
        self.count = np.bincount(seats.ravel(), minlength=len(kinds) + 1).astype(np.int64)
        self.count *= self.topology.chips // len(seats)
        self.rest = volume * 0.5**self.halves
        self.volume = volume
        self.rate, self.end = np.zeros(len(self.lag)), np.full(len(self.lag), np.inf)

    def go(self) -> None:
        """Advance until all is received."""
        self.load = self._loads()
        waiting = np.flatnonzero(self.count > 0)[1:]
        self.flows, active = int(self.count[1:].sum()), np.zeros(0, np.int64)
        over = active
        while len(waiting) or len(active):
            begins = self.lag[waiting] <= self.now * (1 + _SAME)
            begin, waiting = waiting[begins], waiting[~begins]
            self._shift(begin, over)
            active = self._fill(np.concatenate([active, begin]))
            self.events += 1
            finish = self.now + self.rest[active] / self.rate[active]
            coming = min(finish.min(initial=np.inf), self.lag[waiting].min(initial=np.inf))
            done = finish <= coming * (1 + _SAME)
            self.rest[active] -= self.rate[active] * (coming - self.now)
            self.now = coming
            over, active = active[done], active[~done]
            self.end[over] = coming
        self.events += 1  # the last ends

    def result(self) -> Walked:
        """What came of it. Of flows that end last the first of chip 0 counts, as it would among its sends."""
        late = np.flatnonzero(np.isfinite(self.end) & (self.count > 0))
        last = late[self.end[late] == self.end[late].max()]
        ends = np.ravel_multi_index(
            np.meshgrid(*(c.to[0] for c in self.choices), indexing="ij"), tuple(self.walks.chips)
        )
        mine = np.flatnonzero(np.isin(self.cell[0], last))
        if len(mine):
            last = self.cell[0][mine[ends.ravel()[mine].argmin()]][None]
        return Walked(
            float(self.now), float(self.lag[last[0]]), self.load, self.events, self.flows, len(late)
        )

    def _sweep(self, by: Callable[[Cells, int], None]) -> None:
        """Look at all flows, some chips at a time."""
        many = max(1, _SLICE // self.cell.shape[1])
        for first in range(0, len(self.cell), many):
            by(self.cell[first : first + many], first)
            if self.progress is not None and self.events:
                self.progress(float(self.count[np.isfinite(self.end)].sum()) / self.flows)

    def _lines(self) -> tuple[Longs, Longs, Longs, Longs]:
        """Room for differences from link to link."""
        a, b, c, d = (np.zeros((*x.shape[:2], 2 * x.shape[2] + 1), np.int64) for x in self.links)
        return a, b, c, d

    def _loads(self) -> Floats:
        """``float64[m]``: bytes over each link; whole numbers of the least part of the bytes, so exact."""
        lines, least = self._lines(), int(self.halves.max())
        part = (2 ** (least - self.halves)).astype(np.int64)
        part[0] = 0
        self._sweep(lambda cell, first: self.engine.tally(cell, first, self.walks, part, lines))
        load = np.zeros(self.topology.links)
        for link, parts in zip(self.links, _folded(lines), strict=True):
            load[link[link >= 0]] = parts[link >= 0] * (self.volume * 0.5**least)
        return load

    def _shift(self, begin: Longs, over: Longs) -> None:
        """Count the flows over each link anew."""
        lines, change = self._lines(), np.zeros(len(self.count), np.int64)
        change[begin], change[over] = 1, -1
        self._sweep(lambda cell, first: self.engine.tally(cell, first, self.walks, change, lines))
        self.users = [u + more for u, more in zip(self.users, _folded(lines), strict=True)]

    def _fill(self, active: Longs) -> Longs:
        """Max-min fair rates of active cells. Returns these, with what some of them were cut into."""
        room, left = [c.copy() for c in self.capacity], [u.copy() for u in self.users]
        parts, active = [np.zeros(0, np.int64)], active[self.count[active] > 0]
        while len(active):
            share = [np.full(u.shape, np.inf) for u in left]
            for s, r, u in zip(share, room, left, strict=True):
                np.divide(r, u, out=s, where=u > 0)
            level = min(float(s.min()) for s in share)
            hot = [s <= level * (1 + _SAME) for s in share]
            if all(np.array_equal(h, u > 0) for h, u in zip(hot, left, strict=True)):
                self.rate[active] = level  # every flow crosses some link, and all are full
                parts.append(active)
                break
            fixed, gone = self._freeze(active, hot)
            self.rate[fixed] = level
            parts.append(fixed)
            active = active[self.count[active] > 0]
            left = [u - g for u, g in zip(left, gone, strict=True)]
            room = [np.maximum(r - level * g, 0.0) for r, g in zip(room, gone, strict=True)]
        return np.concatenate(parts)

    def _freeze(self, active: Longs, hot: list[Bools]) -> tuple[Longs, list[Longs]]:
        """Put flows of active cells that cross hot links into cells of their own; count them on each link."""
        new = self._fresh(len(active))
        to, is_open = np.zeros(len(self.count), np.int32), np.zeros(len(self.count), np.int8)
        to[active], is_open[active] = new, 1
        for column in (self.lag, self.halves, self.rest):
            column[new] = column[active]
        moved, lines, sums = np.zeros(len(self.count), np.int64), self._lines(), self._lines()
        for s, h in zip(sums, hot, strict=True):
            np.cumsum(np.concatenate([h, h], -1), axis=-1, out=s[..., 1:])
        self._sweep(
            lambda cell, first: self.engine.freeze(cell, first, self.walks, is_open, sums, to, moved, lines)
        )
        self.count[new] = moved[active]
        self.count[active] -= moved[active]
        return new[self.count[new] > 0], _folded(lines)

    def _fresh(self, many: int) -> Longs:
        """Numbers of cells in which there is no flow."""
        empty = np.flatnonzero(self.count == 0)
        empty = empty[empty > 0]
        lack = many - len(empty)
        if lack > 0:
            more = max(lack, len(self.count))
            empty = np.concatenate([empty, len(self.count) + np.arange(more)])
            for name in ("lag", "halves", "rest", "rate", "count", "end"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros(more, column.dtype)]))
            self.end[-more:] = np.inf
        self.end[empty[:many]] = np.inf
        return empty[:many]


def _folded(lines: tuple[Longs, ...]) -> list[Longs]:
    """From differences to what is on each link: ``int64[lines, 2, n]`` of each axis."""
    found = []
    for x in lines:
        n = x.shape[-1] // 2
        along = np.cumsum(x, axis=-1)
        found.append(along[..., :n] + along[..., n : 2 * n])
    return found
