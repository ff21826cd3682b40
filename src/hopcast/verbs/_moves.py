"""What each step of a reshard costs, and the cheapest sequence of steps."""

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hopcast.ir import algebra
from hopcast.ir import mesh as meshes
from hopcast.ir.collective import Collective
from hopcast.ir.group import Group, Hint
from hopcast.ir.resharding import Move, moves, senders
from hopcast.ir.schedule import Schedule, Sends, one_group, sends
from hopcast.ir.sharding import Axes, Sharding
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.question import Question

from ._advice import answer
from .ask import Place

_PER_STEP = 1e-12  # seconds: of plans that take equally long the one of fewer steps is chosen


@dataclass(frozen=True)
class Step:
    """One step of a plan; a slice has no answer, for it sends nothing."""

    move: Move
    before: Sharding
    answer: Answer | None

    @property
    def time(self) -> float:
        """Seconds."""
        return self.answer.time if self.answer else 0.0


@dataclass(frozen=True, eq=False)
class Prices:
    """Answers for the collectives of one mesh, each asked once.

    Attributes:
        where: Cluster and mesh.
        axes: Of the mesh.
        algorithm: For all but permutes.
    """

    where: Place
    axes: Axes
    algorithm: str = "auto"
    known: dict[object, Answer | InputError | None] = field(default_factory=dict)
    groups: dict[tuple[str, ...], Group] = field(default_factory=dict)
    paths: dict[tuple[Sharding, Sharding], tuple[Step, ...] | InputError] = field(default_factory=dict)

    def group(self, over: tuple[str, ...]) -> Group:
        """The groups over some axes."""
        if over not in self.groups:
            self.groups[over] = meshes.group(self.where.cluster, self.where.mesh, over)
        return self.groups[over]

    def path(self, start: Sharding, goal: Sharding) -> "tuple[Step, ...]":
        """`cheapest`, searched once for each pair.

        Raises:
            InputError: where no sequence of moves leads there.
        """
        if (start, goal) not in self.paths:
            try:
                self.paths[start, goal] = tuple(cheapest(self, start, goal))
            except InputError as error:
                self.paths[start, goal] = error
        found = self.paths[start, goal]
        if isinstance(found, InputError):
            raise found
        return found

    def least(self, move: Move) -> float:
        """Seconds that a move takes at least: what a rank must receive over all its links along the axes."""
        group = self.group(move.over)
        n = group.ranks
        if move.name == "slice" or n == 1 or not group.uniform_rates or move.name == "permute":
            return 0.0
        shares = n if move.name == "all_to_all" else 1
        ports = (1 if group.switched else a.ports for a in group.axes)
        rate = sum(b * p for b, p in zip(group.bandwidth, ports, strict=True))
        return move.size * (n - 1) / n / shares / rate

    def of(self, move: Move, before: Sharding) -> Answer | None:
        """The answer of a move; None where nothing is sent.

        Raises:
            InputError: where no algorithm does it on this cluster.
        """
        if move.name == "slice" or self.group(move.over).ranks == 1:
            return None
        key: object = (move.name, move.over, move.size)
        if move.name == "permute":
            source = senders(before, move.after, self.axes)
            key = (key, source.tobytes())
        if key not in self.known:
            try:
                self.known[key] = self._ask(move, source if move.name == "permute" else None)
            except InputError as error:
                self.known[key] = error
        found = self.known[key]
        if isinstance(found, InputError):
            raise found
        return found

    def _ask(self, move: Move, source: "np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None") -> Answer:
        cluster, group = self.where.cluster, self.group(move.over)
        hint = Hint(move.size, max(group.latency, default=0.0))
        asked = Question(cluster, move.name, self.where.mesh, move.over, group, move.size, hint)
        if source is not None:
            own = algebra.lay(_permutation(source), group.all_groups, cluster.topology.vertices)
            return answer(replace(asked, collective=own.collective.name, schedule=own), prices=())
        return answer(asked, self.algorithm, prices=())


def _permutation(source: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> Schedule:
    """Every rank's block goes to one rank, in one step on the network's own routes."""
    n = len(source)
    goal = np.empty(n, np.int32)
    goal[source] = np.arange(n)
    src = np.flatnonzero(goal != np.arange(n))
    task = Collective("block_permute", n, np.arange(n, dtype=np.int32), goal)

    def make(i: int) -> Sends:
        return sends(src, goal[src], src)

    return Schedule(task, "direct", one_group(n), n, 1, make)


def cheapest(prices: Prices, start: Sharding, goal: Sharding, idle: bool = False) -> list[Step]:
    """The sequence of moves of least time.

    A search by least time first (Dijkstra) over shardings. A move is priced when its lower bound comes up, so
    that most are never simulated.

    Args:
        prices: Of the mesh.
        start: Where the array is.
        goal: Where it shall be.
        idle: Whether to slice also over axes that the goal does not use.

    Raises:
        InputError: where no sequence of moves leads there.
    """
    tie = itertools.count()
    heap: list[tuple[float, int, Sharding, tuple[Step, ...], Move | None]] = [
        (0.0, next(tie), start, (), None)
    ]
    closed: set[Sharding] = set()
    refused: InputError | None = None
    while heap:
        spent, _, state, path, unpriced = heapq.heappop(heap)
        if state in closed:
            continue
        if unpriced is not None:
            before = path[-1].move.after if path else start
            try:
                step = Step(unpriced, before, prices.of(unpriced, before))
            except InputError as error:
                refused = error
                continue
            real = _spent((*path, step))
            heapq.heappush(heap, (real, next(tie), state, (*path, step), None))
            continue
        if state == goal:
            return list(path)
        closed.add(state)
        for move in moves(state, goal, prices.axes, idle):
            if move.after not in closed:
                least = spent + _PER_STEP + prices.least(move)
                heapq.heappush(heap, (least, next(tie), move.after, path, move))
    raise refused or InputError(f"no sequence of collectives leads from {start} to {goal}")


def _spent(path: Sequence[Step]) -> float:
    return sum(s.time + _PER_STEP for s in path)
