"""The rules of flows in plain numpy: the definition, for schedules that fit in memory.

No barrier. A send is ready when

(a) every earlier-step send that writes one of its chunks at ``src`` has been received,
(b) every earlier-step send that reads the cells which it overwrites at ``dst`` has left,
(c) all sends of earlier steps on the same (src, lane) have arrived.

A ready send waits the latency of its route; then its bytes flow over the whole route at once at the max-min
fair rate of all active flows, and it is received when its last byte arrives. A send whose shortest routes tie
is that many flows.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends, join
from hopcast.ir.topology import Floats
from hopcast.names import InputError
from hopcast.routing import Routes, routes

from .dependencies import Waits, waits
from .fair import Incidence, fair_rates
from .noise import Noise

MOST_FLOWS = 4_000_000
_SAME = 1e-12  # events closer than this part of the clock are one


@dataclass(frozen=True, eq=False)
class Flows:
    """What happened.

    Shapes: r sends, m links.

    Attributes:
        seconds: When the last send was received.
        load: ``float64[m]``, bytes over each link.
        start, ready, end: ``float64[r]``: when a send was ready, when its bytes began, when it was received.
        blame: ``int64[r]``: the send whose arrival made it ready; -1 where it was ready from the start.
        step: ``int64[r]``, its step.
        rows: The sends themselves.
        events: Times at which rates changed.
    """

    seconds: float
    load: Floats
    ready: Floats
    start: Floats
    end: Floats
    blame: npt.NDArray[np.int64]
    step: npt.NDArray[np.int64]
    rows: Sends
    events: int

    def critical_path(self) -> list[int]:
        """The sends that each waited for the one before, the last to be received at the end."""
        if not len(self.end):
            return []
        path = [int(self.end.argmax())]
        while self.blame[path[-1]] >= 0:
            path.append(int(self.blame[path[-1]]))
        return path[::-1]

    def critical_latency(self) -> float:
        """Seconds of the critical path in which a send waits for its first byte."""
        path = self.critical_path()
        return float((self.start[path] - self.ready[path]).sum())


def simulate(
    schedule: Schedule, cluster: Cluster, size: float, gamma: float = 0.0, noise: Noise | None = None
) -> Flows:
    """Run a schedule on a cluster.

    Args:
        schedule: On the cluster's ranks.
        cluster: Gives routes, bandwidths and latencies.
        size: D of one group, bytes.
        gamma: Seconds to reduce one byte at the receiver.
        noise: What differs from rated.

    Raises:
        InputError: if the schedule is too large for this engine, or its sends wait for each other.
    """
    parts, count = [], 0
    for part in schedule.steps():
        parts.append(part)
        count += len(part)
        if count > MOST_FLOWS:
            raise InputError(
                f"flows of more than {MOST_FLOWS:,} sends ({schedule!r}) are too many for this engine; "
                "use --price steps"
            )
    rows = join(parts)
    step = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    wait = waits(step, rows, schedule.chunks)
    found = routes(cluster, rows.src, rows.dst)
    noise, volume = noise or Noise(), schedule.bytes(rows, size)
    held = noise.starts(max(schedule.vertices, cluster.topology.vertices))[rows.src]
    after = gamma * volume * (rows.op == 1)
    run = _Run(cluster, found, volume * noise.factors(step, rows), wait, after, held)
    run.go()
    if run.left.any():
        raise InputError(_deadlock(schedule, rows, step, run))
    piece = volume[found.pair] * found.weight
    load = np.bincount(
        cluster.topology.wire[found.links], np.repeat(piece, found.hops), cluster.topology.links
    )
    return Flows(
        float(run.end.max(initial=0.0)),
        np.asarray(load, np.float64),
        run.ready,
        run.start,
        run.end,
        run.blame,
        step,
        rows,
        run.events,
    )


class _Run:
    """The state of one simulation: a piece is one flow, a send is one or more pieces."""

    def __init__(
        self, cluster: Cluster, found: Routes, volume: Floats, wait: Waits, after: Floats, held: Floats
    ) -> None:
        self.found, self.wait = found, wait
        self.capacity = cluster.topology.bandwidth
        self.incidence = Incidence(found.start, cluster.topology.wire[found.links])
        self.volume = volume[found.pair] * found.weight  # of each piece
        self.after, self.held = after, held  # of each send: seconds of reducing; it is not ready before
        sends = len(volume)
        self.first = np.searchsorted(found.pair, np.arange(sends + 1))
        self.pieces = np.diff(self.first)  # still to arrive, of each send
        self.left = np.ones(sends, bool)
        self.ready, self.start, self.end = (np.zeros(sends) for _ in range(3))
        self.blame = np.full(sends, -1, np.int64)
        self.opens = np.full(len(found.pair), np.inf)  # when each piece's bytes begin
        self.events = 0

    def go(self) -> None:
        """Advance until nothing moves."""
        now = 0.0
        self._release(np.flatnonzero(self.wait.pending[: len(self.left)] == 0), now)
        active = np.zeros(0, np.int64)
        rest = np.zeros(0)
        due = np.zeros(0, np.int64)  # sends whose bytes are there and that are being reduced
        while True:
            begin = np.flatnonzero(self.opens <= now * (1 + _SAME))
            if len(begin):
                self.opens[begin] = np.inf
                self.start[self.found.pair[begin]] = now
                active, rest = np.concatenate([active, begin]), np.concatenate([rest, self.volume[begin]])
            rate = fair_rates(self.incidence, active, self.capacity)
            self.events += 1
            finish = now + rest / rate if len(active) else np.zeros(0)
            coming = min(
                finish.min(initial=np.inf), self.opens.min(initial=np.inf), self.end[due].min(initial=np.inf)
            )
            if not np.isfinite(coming):
                return
            soon = coming * (1 + _SAME)
            done = finish <= soon
            rest, now = rest - rate * (coming - now), coming
            over = active[done]
            active, rest = active[~done], rest[~done]
            due = self._arrive(over, due, now, soon)

    def _arrive(
        self, over: npt.NDArray[np.int64], due: npt.NDArray[np.int64], now: float, soon: float
    ) -> npt.NDArray[np.int64]:
        """Pieces whose last byte is there; sends that are complete set free those that waited for them."""
        np.subtract.at(self.pieces, self.found.pair[over], 1)
        sends = np.unique(self.found.pair[over])
        sends = sends[self.pieces[sends] == 0]
        self.end[sends] = now + self.after[sends]
        due = np.concatenate([due, sends])
        late = self.end[due] > soon
        received, due = due[~late], due[late]
        self.left[received] = False
        freed, by = self.wait.received(received)
        self.blame[freed] = np.where(self.held[freed] > now, -1, by)
        self._release(freed, now)
        return due

    def _release(self, sends: npt.NDArray[np.int64], now: float) -> None:
        self.ready[sends] = np.maximum(now, self.held[sends])
        for_each = self.first[sends + 1] - self.first[sends]
        nth = np.arange(for_each.sum()) - np.repeat(np.cumsum(for_each) - for_each, for_each)
        piece = np.repeat(self.first[sends], for_each) + nth
        self.opens[piece] = np.repeat(self.ready[sends], for_each) + self.found.latency[piece]


def _deadlock(schedule: Schedule, rows: Sends, step: npt.NDArray[np.int64], run: _Run) -> str:
    stuck = np.flatnonzero(run.left)
    first = int(stuck[np.argmin(step[stuck])])
    return (
        f"{schedule!r}: {len(stuck)} sends never start; the first is step {step[first]}, "
        f"{rows.src[first]} -> {rows.dst[first]}, chunk {rows.chunk[first]}"
    )
