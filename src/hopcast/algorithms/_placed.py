"""Ranks numbered by where they stand: what is laid along lines of a grid finds these in any order of ranks.

The order of ranks says who is the root and who holds what. It need not say over which links that goes: a
schedule is built on the same chips in the order of their numbers, and its ranks are then called as they are.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hopcast.ir import mesh
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ALL
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, Sends
from hopcast.ir.topology import Ints, Topology


@dataclass(frozen=True, eq=False)
class Placed:
    """A group and what its ranks are called.

    Attributes:
        group: The same chips, numbered by place.
        rank: ``int32[n]``, the given number of each of them.
    """

    group: Group
    rank: Ints

    def hint(self, given: Hint) -> Hint:
        """The same hint, the root by place."""
        return replace(given, root=int(np.flatnonzero(self.rank == given.root)[0]))

    def called(self, made: Schedule) -> Schedule:
        """A schedule on places as one on the given ranks."""
        n, was = len(self.rank), made.collective
        if np.array_equal(self.rank, np.arange(n)):
            return made
        name = np.concatenate([self.rank, np.arange(n, made.vertices, dtype=np.int32)])
        origin, goal = (
            np.where(c == ALL, ALL, self.rank[c]).astype(np.int32) for c in (was.origin, was.goal)
        )

        def make(i: int) -> Sends:
            rows = made.make(i)
            return replace(rows, src=name[rows.src], dst=name[rows.dst])

        task = replace(was, origin=origin, goal=goal, root=int(self.rank[was.root]))
        return replace(made, collective=task, make=make, orbit=None, alike=None, repeat=None)


def built(build: Callable[[Group, Hint], Schedule], group: Group, hint: Hint) -> Schedule:
    """What a builder makes of a group by place, on its ranks as they are called."""
    by_place = of(group)
    return by_place.called(build(by_place.group, by_place.hint(hint)))


def asked(group: Group, hint: Hint) -> tuple[Group, Hint]:
    """A group by place, and its hint."""
    by_place = of(group)
    return by_place.group, by_place.hint(hint)


@functools.lru_cache(maxsize=64)
def of(group: Group) -> Placed:
    """A group by place if it is all chips or a block of a grid, else as it is.

    A block has along each axis as many chips as there are, or every second, third, ... of them.

    >>> from hopcast.testing import grid_group
    >>> turned = replace(grid_group(2, 3), all_groups=np.array([[5, 1, 2, 3, 4, 0]], np.int32))
    >>> of(turned).rank.tolist()
    [5, 1, 2, 3, 4, 0]
    """
    as_it_is = Placed(group, np.arange(group.ranks, dtype=np.int32))
    if group.cluster is None or (_is_in_order(group) and (group.levels or any(group.bandwidth))):
        return as_it_is
    whole = group.ranks == group.cluster.topology.chips
    if group.levels or not (whole or group.cluster.topology.is_grid):
        return as_it_is
    shape = group.all_groups.shape
    found = _by_place(group.cluster, shape, np.ascontiguousarray(group.all_groups, np.int32).tobytes())
    return found or as_it_is


def _is_in_order(group: Group) -> bool:
    """Whether ranks are numbered as their chips, along axes of the lengths that these have."""
    chips, cluster = group.all_groups[0], group.cluster
    if cluster is None or not np.all(chips[1:] > chips[:-1]):
        return False
    along = [len(np.unique(c)) for c in cluster.topology.coords[chips].T]
    return group.switched or [k for k in along if k > 1] == [k for k in group.shape if k > 1]


@functools.lru_cache(maxsize=64)
def _by_place(cluster: Cluster, shape: tuple[int, int], key: bytes) -> Placed | None:
    """The group by place; None where the groups are no blocks, or are not all ordered alike."""
    given = np.frombuffer(key, np.int32).reshape(shape)
    blocks = _blocks(cluster.topology, given[0])
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
    return Placed(replace(found, all_groups=placed, hubs=hubs), rank)


def _blocks(topology: Topology, chips: Ints) -> tuple[mesh.Mesh, list[str]] | None:
    """A mesh and those of its axes along which these chips lie; None where they are no block."""
    if not topology.is_grid:
        return mesh.physical(topology), []
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
