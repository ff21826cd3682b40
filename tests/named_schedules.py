"""Schedules on clusters that are named as on the command line."""

import math

import numpy as np

from hopcast import algorithms
from hopcast.clusters import cluster as cluster
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group as group_of
from hopcast.ir.mesh import physical
from hopcast.ir.schedule import Schedule

GIB = 2.0**30


def group(where: Cluster, over: tuple[str, ...] = ()) -> Group:
    return group_of(where, physical(where.topology), over)


def built(name: str, collective: str, where: Cluster, size: float, **options: str) -> Schedule:
    mine = group(where)
    made = algorithms.get(name).build(collective, mine, Hint(size, max(mine.latency), options=options))
    return lay(made, mine.all_groups, where.topology.vertices, mine.hubs)


def without(where: Cluster, links: list[int]) -> Cluster:
    """The cluster with these directed links dead."""
    left = where.topology.bandwidth.copy()
    left[links] = 0
    return Cluster(where.name, where.topology.with_links(left), where.family, where.routing)


def ports(where: Cluster) -> int:
    """Links into the poorest chip."""
    live = where.topology.bandwidth > 0
    return int(np.bincount(where.topology.dst[live], minlength=where.topology.chips).min())


def fewest(where: Cluster, pieces: int) -> int:
    """Steps in which the poorest chip can receive everything."""
    return math.ceil(pieces * (where.topology.chips - 1) / ports(where))
