"""Forests on whole clusters, for tests."""

from dataclasses import replace

from hopcast import algorithms
from hopcast.algorithms import _network
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import Schedule

GIB = 2.0**30
FOREST = algorithms.get("forest")


def everyone(where: Cluster) -> Group:
    return group(where, physical(where.topology))


def wired(mine: Group) -> _network.Wiring:
    found = _network.of(mine)
    assert isinstance(found, _network.Wiring), found
    return found


def laid(collective: str, where: Cluster, mine: Group, pieces: int = 0, size: float = GIB) -> Schedule:
    hint = Hint(size, max(mine.latency), options={"pieces": str(pieces)} if pieces else {})
    made = FOREST.build(collective, mine, hint)
    return lay(made, mine.all_groups, where.topology.vertices, mine.hubs)


def slowed(where: Cluster, links: list[int], part: float) -> Cluster:
    rate = where.topology.bandwidth.copy()
    rate[links] *= part
    return replace(where, topology=where.topology.with_links(rate))
