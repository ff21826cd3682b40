"""Ranks numbered by where they stand: what is laid along lines or on nodes finds these in any order of ranks.

The order of ranks says who is the root and who holds what. It need not say over which links that goes: a
schedule is built on the same chips in the order of their numbers, and its ranks are then called as they are.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hopcast.graph import rolls
from hopcast.ir import composed, mesh
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ALL, ROOTED
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Orbit, Schedule, Sends
from hopcast.ir.topology import Ints, Topology


@dataclass(frozen=True, eq=False)
class Placed:
    """A group and what its ranks are called.

    Attributes:
        group: The same chips, numbered by place.
        rank: ``int32[n]``, the given number of each of them.
        hub: ``int32[k]``, the given number of each switch of the group.
    """

    group: Group
    rank: Ints
    hub: Ints

    def hint(self, given: Hint) -> Hint:
        """The same hint, the root and messages of unequal size by place."""
        if np.array_equal(self.rank, np.arange(len(self.rank))):
            return given
        root = int(np.flatnonzero(self.rank == given.root)[0])
        matrix = None if given.matrix is None else given.matrix[np.ix_(self.rank, self.rank)]
        return replace(given, root=root, matrix=matrix)

    def called(self, made: Schedule) -> Schedule:
        """A schedule on places as one on the given ranks."""
        n, was = len(self.rank), made.collective
        if np.array_equal(self.rank, np.arange(n)) and np.array_equal(self.hub, np.arange(len(self.hub))):
            return made
        above = np.arange(made.vertices - n, dtype=np.int32)
        above[: len(self.hub)] = self.hub[: len(above)]
        name = np.concatenate([self.rank, n + above]).astype(np.int32)
        origin, goal = (
            np.where(c == ALL, ALL, self.rank[c]).astype(np.int32) for c in (was.origin, was.goal)
        )

        def called(rows: Sends) -> Sends:
            return replace(rows, src=name[rows.src], dst=name[rows.dst])

        root = int(self.rank[was.root]) if was.name in ROOTED else was.root
        task = replace(was, origin=origin, goal=goal, root=root)
        alike = made.alike and replace(made.alike, move=self._moved(made.alike.move))
        repeat = made.repeat and replace(made.repeat, rows=called(made.repeat.rows))
        orbit = None if made.orbit is None or self.rank[0] else self._orbit(made.orbit, called)
        return replace(
            made,
            collective=task,
            make=composed.Called(made, name),
            orbit=orbit,
            alike=alike,
            repeat=repeat,
        )

    def _moved(self, move: Ints) -> Ints:
        """What moves places, as it moves the given ranks."""
        moved = np.empty_like(move)
        moved[..., self.rank] = self.rank[move]
        return moved

    def _orbit(
        self, of: Callable[[], Orbit | None], called: Callable[[Sends], Sends]
    ) -> Callable[[], Orbit | None]:
        """What rank 0 does, which is so called in both."""

        @functools.cache
        def orbit() -> Orbit | None:
            was = of()
            return was and Orbit(was.step, called(was.out), called(was.into), self._moved(was.moves))

        return orbit


def built(build: Callable[[Group, Hint], Schedule], group: Group, hint: Hint) -> Schedule:
    """What a builder makes of a group by place, on its ranks as they are called."""
    by_place = of(group)
    return by_place.called(build(by_place.group, by_place.hint(hint)))


def asked(group: Group, hint: Hint) -> tuple[Group, Hint]:
    """A group by place, and its hint."""
    by_place = of(group)
    return by_place.group, by_place.hint(hint)


@functools.lru_cache(maxsize=64)
def of(group: Group, same_first: bool = False) -> Placed:
    """A group by place if it is all chips or a block of a grid, else as it is.

    A block has along each axis as many chips as there are, or every second, third, ... of them.

    Args:
        group: In any order.
        same_first: Whether nodes are numbered from that of rank 0 on, which then is rank 0 by place too: so
            what it does can stand for all others.

    >>> from hopcast.testing import grid_group
    >>> turned = replace(grid_group(2, 3), all_groups=np.array([[5, 1, 2, 3, 4, 0]], np.int32))
    >>> of(turned).rank.tolist()
    [5, 1, 2, 3, 4, 0]
    """
    if group.cluster is None or (_is_in_order(group) and (group.levels or any(group.bandwidth))):
        return as_it_is(group)
    topology = group.cluster.topology
    whole = group.ranks == topology.chips
    laid = group.levels and any(not axis.switched for axis in topology.axes)
    if laid or not (whole or topology.is_grid):
        return as_it_is(group)
    shape = group.all_groups.shape
    key = np.ascontiguousarray(group.all_groups, np.int32).tobytes()
    found = _by_place(group.cluster, shape, key, same_first)
    if found is None:
        return as_it_is(group)
    return replace(found, hub=_numbers(found.group.hubs, group.hubs))


def as_it_is(group: Group) -> Placed:
    """A group whose ranks are called as they are numbered."""
    n, k = group.ranks, group.hubs.shape[1]
    return Placed(group, np.arange(n, dtype=np.int32), np.arange(k, dtype=np.int32))


def _numbers(switches: Ints, given: Ints) -> Ints:
    """``int32[k]``: what number among those given each switch has; none where they are not the same."""
    if not given.size or switches.shape != given.shape or np.any(np.sort(switches) != np.sort(given)):
        return np.zeros(0, np.int32)
    order = np.argsort(given[0], kind="stable")
    found = np.empty(len(order), np.int32)
    found[np.argsort(switches[0], kind="stable")] = order
    return found


def _is_in_order(group: Group) -> bool:
    """Whether ranks are numbered as their chips, along axes of the lengths that these have."""
    chips, cluster = group.all_groups[0], group.cluster
    if cluster is None or not np.all(chips[1:] > chips[:-1]):
        return False
    along = [len(np.unique(c)) for c in cluster.topology.coords[chips].T]
    return group.switched or [k for k in along if k > 1] == [k for k in group.shape if k > 1]


@functools.lru_cache(maxsize=64)
def _by_place(cluster: Cluster, shape: tuple[int, int], key: bytes, same_first: bool) -> Placed | None:
    """The group by place; None where the groups are no blocks, or are not all ordered alike."""
    given = np.frombuffer(key, np.int32).reshape(shape)
    blocks = _blocks(cluster.topology, given[0], same_first)
    if blocks is None:
        return None
    found = mesh.group(cluster, *blocks)
    if found.all_groups.shape != given.shape:
        return None
    ends = [np.sort(g, axis=1) for g in (found.all_groups, given)]
    order = [np.argsort(e[:, 0]) for e in ends]
    if not np.array_equal(ends[0][order[0]], ends[1][order[1]]):
        return None
    like = np.empty(len(given), np.int64)  # the block of each given group
    like[order[1]] = order[0]
    placed = found.all_groups[like]
    at = np.argsort(given[0])
    rank = at[np.searchsorted(given[0][at], placed[0])].astype(np.int32)
    if not np.array_equal(given[:, rank], placed):
        return None
    hubs = found.hubs[like] if len(found.hubs) == len(like) else found.hubs
    numbers = np.arange(hubs.shape[1], dtype=np.int32)
    return Placed(replace(found, all_groups=placed, hubs=hubs), rank, numbers)


def _from(topology: Topology, chip: int) -> Ints:
    """All chips in an order that begins with one of them, moved so that nodes and rails stay together."""
    digits = rolls.nested(topology)
    if digits:
        return rolls.begun_at(digits, chip).astype(np.int32).reshape(topology.shape)
    order = np.arange(topology.chips, dtype=np.int32).reshape(topology.shape)
    at = zip(topology.coords[chip].tolist(), topology.axes, strict=True)
    return np.roll(order, [-i if axis.switched else 0 for i, axis in at], tuple(range(order.ndim)))


def _blocks(topology: Topology, chips: Ints, same_first: bool) -> tuple[mesh.Mesh, list[str]] | None:
    """A mesh and those of its axes along which these chips lie; None where they are no block."""
    if not topology.is_grid:
        whole = mesh.physical(topology)
        return replace(whole, chips=_from(topology, int(chips[0]))) if same_first else whole, []
    names: list[str] = []
    lengths: list[int] = []
    factors: list[tuple[mesh.Factor, ...]] = []
    inside: dict[str, int] = {}
    for a, axis in enumerate(topology.axes):
        along = np.unique(topology.coords[chips, a])
        length, stride = len(along), int(along[1] - along[0]) if len(along) > 1 else 1
        outer = axis.length // (length * stride)
        if outer * length * stride != axis.length:
            return None
        for name, k, by in ((f"{axis.name}.outer", outer, length * stride), (axis.name, length, stride),
                            (f"{axis.name}.inner", stride, 1)):  # fmt: skip
            names.append(name)
            lengths.append(k)
            factors.append((mesh.Factor(a, k, by),))
        inside[axis.name] = length
    if math.prod(inside.values()) != len(chips):
        return None
    numbers = np.arange(topology.chips, dtype=np.int32).reshape(lengths)
    return mesh.Mesh(tuple(names), numbers, tuple(factors), "row"), list(inside)
