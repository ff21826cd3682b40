"""All levels at once, block by block: what a ring between nodes brings is told inside while the ring goes on.

all_gather: in stage s rank i of node a sends the shard of rank i of node a - s to rank i of node a + 1, and
tells it to all others of its node, in one step. So a node is done one such step after the ring is, however
few pieces there are; reduce_scatter is the mirror image. Pieces follow each other round the ring on one
lane, or two at a time on two lanes, one half a stage behind the other, so that the bytes of one cross the NIC
during the latency of the other. Told inside they take turns, which keeps them apart.

Cost: with N nodes of g ranks, pieces of D / q, the stage b of a ring and u of telling, about q (N - 1) max(b,
u) + u on one lane; on two lanes q / 2 (N - 1) max(b, 2 (b - alpha), 2 u) + 2 u, alpha the latency in b.
"""

import functools
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir import orbits
from hopcast.ir.collective import of
from hopcast.ir.schedule import Orbit, Schedule, Sends, join, one_group, sends

from ._rates import Rate

Ranks = npt.NDArray[np.int64]
Rows = tuple[Ranks, Ranks, Ranks, int]  # src, dst, chunk, lane
_ENOUGH = 4  # nodes of a ring that is not over before lanes that began one after the other have got apart


def lanes(nodes: int, pieces: int) -> tuple[int, ...]:
    """How many lanes so many pieces may go on."""
    return (1,) if nodes < _ENOUGH or pieces % 2 else (1, 2)


@dataclass(frozen=True)
class Plan:
    """How a group is woven.

    Attributes:
        nodes, gpus: Ranks of the outer and the inner level, 2 or more of each.
        pieces: Parts of the array, a multiple of the lanes.
        lanes: Pieces at a time, 1 or 2.
    """

    nodes: int
    gpus: int
    pieces: int = 1
    lanes: int = 1

    @property
    def ranks(self) -> int:
        """In all."""
        return self.nodes * self.gpus

    @property
    def sends(self) -> int:
        """Of one rank in all_gather."""
        return self.pieces * (self.nodes * self.gpus - 1)

    def stages(self, step: int) -> list[tuple[int, int, int]]:
        """Piece, stage and lane of all that goes on in a step."""
        found, (n, lanes) = [], (self.nodes, self.lanes)
        for first in range(0, self.pieces, lanes):
            for lane in range(lanes):
                stage, between = divmod(step - first * (n - 1) - lane, lanes)
                if not between and 0 <= stage < n:
                    found.append((first + lane, stage, lane))
        return found

    def seconds(self, size: float, outer: Rate, inner: Rate) -> float:
        """About how long all_gather takes; see the docstring of the file."""
        each = size / (self.ranks * self.pieces)
        rounds = self.pieces // self.lanes
        stage, tell = outer.seconds(each), self.lanes * inner.seconds(each)
        if self.lanes > 1:
            stage = max(stage, self.lanes * each * outer.slowness)
        both = max(stage, tell)
        return max(rounds * (self.nodes - 1) * both + tell, (rounds * self.nodes - 1) * tell + both)


def all_gather(plan: Plan) -> Schedule:
    """The ring and what it brings, told inside: piece k of the shard of rank r is chunk k n + r."""
    n = plan.ranks
    rank = np.arange(n)

    def make(step: int) -> Sends:
        return join([sends(*row[:3], lane=row[3]) for row in _rows(plan, step, rank)])

    def pattern(step: int) -> Hashable:
        last = plan.nodes - 1
        return tuple((lane, piece == lane and not s, s == last) for piece, s, lane in plan.stages(step))

    @functools.cache
    def orbit() -> Orbit:
        return _orbit(plan, steps)

    steps = plan.pieces * (plan.nodes - 1) + plan.lanes
    whole = of("all_gather", n, owner=np.tile(rank, plan.pieces))
    return Schedule(whole, "hierarchical", one_group(n), n, steps, make, None, plan.lanes + 1, pattern, orbit)


def _rows(plan: Plan, step: int, rank: Ranks) -> list[Rows]:
    """What some ranks send in a step, each kind for itself."""
    nodes, g, inside = plan.nodes, plan.gpus, plan.lanes
    node, gpu = rank // g, rank % g
    fellows = node[:, None] * g + (gpu[:, None] + np.arange(1, g)) % g
    found: list[Rows] = []
    for piece, stage, lane in plan.stages(step):
        chunk = piece * plan.ranks + (node - stage) % nodes * g + gpu
        if stage < nodes - 1:
            # The second lane begins when the first shard has been told, so that it is not in step.
            begins = piece > 0 and piece == lane and not stage
            found.append((rank, (node + 1) % nodes * g + gpu, chunk, inside if begins else lane))
        found.append((np.repeat(rank, g - 1), fellows.ravel(), np.repeat(chunk, g - 1), inside))
    return found


def _orbit(plan: Plan, steps: int) -> Orbit:
    """What rank 0 does, and the same moved round the nodes and round inside so that it comes to rank 0."""
    n, g, shape = plan.ranks, plan.gpus, (plan.nodes, plan.gpus)
    when, out, into = [], [], []
    for step in range(steps):
        for src, dst, chunk, lane in _rows(plan, step, np.zeros(1, np.int64)):
            when.append(np.full(len(src), step))
            out.append(sends(src, dst, chunk, lane=lane))
            piece, owner = np.divmod(chunk, n)
            node, gpu = (owner // g - dst // g) % plan.nodes, (owner - dst) % g
            back = np.ravel_multi_index((-(dst // g) % plan.nodes, -dst % g), shape)
            into.append(sends(back, 0, piece * n + node * g + gpu, lane=lane))
    return Orbit(np.concatenate(when), join(out), join(into), orbits.shifts(shape))
