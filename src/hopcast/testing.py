"""Checks that anyone can run on an algorithm of their own, and the small groups that ours are tested on.

>>> from hopcast.algorithms import get
>>> ring = get("ring")
>>> build = lambda g, h: ring.build("all_gather", g, h)
>>> report = check_algorithm(build, groups=[ring_group(4), ring_group(5)])
>>> [line.sends_caught == line.sends for line in report]
[True, True]
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .interpret import CheckError, check
from .ir.cluster import Cluster
from .ir.group import Group, Hint
from .ir.mesh import group, physical
from .ir.schedule import Schedule, from_columns
from .price import bounds
from .simulate.reference import simulate
from .topologies import mesh, ring, switch, torus

Build = Callable[[Group, Hint], Schedule]
_RATE, _HOP = 45e9, 1e-6


@dataclass(frozen=True)
class Report:
    """How an algorithm did on one group.

    Attributes:
        name: Of the group's cluster. steps: Number of steps. sends: Number of sends. sends_caught: Sends
        without which `check` finds the schedule wrong; fewer than all where some are spare. efficiency:
        bound / time by flows, 64 MiB at 45 GB/s and 1 us.
    """

    name: str
    steps: int
    sends: int
    sends_caught: int
    efficiency: float


def ring_group(ranks: int) -> Group:
    """A ring of that many ranks."""
    return group_of(
        Cluster(
            f"ring:{ranks}", ring.build(f"ring:{ranks}", (ranks,), _RATE, _HOP), "ring", "dimension_order"
        )
    )


def grid_group(*shape: int, wraps: bool = True) -> Group:
    """A torus, or an open mesh."""
    return group_of(_cluster_named(("torus:" if wraps else "mesh:") + "x".join(map(str, shape))))


def switch_group(ranks: int) -> Group:
    """Ranks on the ports of one switch."""
    return group_of(_cluster_named(f"switch:{ranks}"))


def group_of(cluster: Cluster) -> Group:
    """All chips of a cluster as one group."""
    return group(cluster, physical(cluster.topology))


def check_algorithm(
    build: Build, *, groups: Iterable[Group], size: float = 2.0**26, mutate: bool = True
) -> list[Report]:
    """Build on every group, check it, drop each send in turn, simulate it, and compare with the bound.

    Args:
        build: A builder: group and hint to schedule on local ranks.
        groups: Where to try it.
        size: D, bytes.
        mutate: Whether to drop sends; costs one check per send.

    Raises:
        CheckError: if a schedule does not compute its collective.
        AssertionError: if it would be faster than physics allows.
    """
    reports = []
    for where in groups:
        made = build(where, Hint(size, max(where.latency)))
        check(made)
        columns = made.columns()
        count = len(columns["step"])
        caught = sum(_is_caught(made, columns, i) for i in range(count)) if mutate else 0
        cluster = _cluster_named(where.name)
        time = simulate(made, cluster, size).seconds
        least = bounds.limit(cluster, made.collective, made.groups, size, made.parts).seconds
        assert time >= least * (1 - 1e-9), f"{where.name}: {time} s is below the bound of {least} s"
        reports.append(Report(where.name, made.step_count, count, caught, least / time if time else 1.0))
    return reports


def _is_caught(
    made: Schedule, columns: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]], i: int
) -> bool:
    """Whether `check` notices that send i is gone."""
    keep = np.arange(len(columns["step"])) != i
    without = from_columns(
        made.collective, made.algorithm, made.groups, {k: c[keep] for k, c in columns.items()}, made.share
    )
    try:
        check(without)
    except CheckError:
        return True
    return False


def _cluster_named(name: str) -> Cluster:
    """The cluster of that name, at 45 GB/s and 1 us."""
    family, _, shape = name.partition(":")
    dims = tuple(int(n) for n in shape.split("x"))
    module = {"ring": ring, "torus": torus, "mesh": mesh, "switch": switch}[family]
    routing = "shortest" if family == "switch" else "dimension_order"
    return Cluster(name, module.build(name, dims, _RATE, _HOP), family, routing)
