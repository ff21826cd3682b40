"""Small clusters for tests: ``4wx3`` is a grid of 4 (wrapped) by 3 (open), ``switch:5`` five ranks.

``slices:3:2x4`` is three slices of 2 by 4 that meet outside, over PCIe at half the rate of their links and
NICs at a quarter for each chip.

``fat:3x2`` is three nodes of two chips. Switches that reduce have a ``+`` behind: ``switch:5+``,
``fat:3x2+``.
"""

from functools import cache

from hopcast import algorithms
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster, Figure
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group as group_of
from hopcast.ir.mesh import physical
from hopcast.ir.schedule import Schedule
from hopcast.topologies import _multislice, fat_tree, switch
from hopcast.topologies._grid import grid


@cache
def cluster(text: str, bandwidth: float = 1.0, latency: float = 0.0) -> Cluster:
    family, _, shape = text.removesuffix("+").partition(":")
    able = ("sharp", "nvls") if family == "fat" else ("sharp",)
    figures = {f"{a}.supported": Figure(1.0, "a test", "2026-11-30") for a in able if text.endswith("+")}
    if family == "switch":
        made = switch.build(text, [int(shape)], bandwidth, latency)
        return Cluster(text, made, "switch", "shortest", figures=figures)
    if family == "fat":
        made = fat_tree.build(text, [int(n) for n in shape.split("x")], bandwidth, latency)
        return Cluster(text, made, "fat-tree", "spread", figures=figures)
    if text.startswith("slices:"):
        _, count, shape = text.split(":")
        one = cluster(shape, bandwidth, latency).topology
        block = [2 if n % 2 == 0 else 1 for n in one.shape]
        outside = _multislice.Outside(bandwidth / 2, bandwidth / 4, latency, 2 * latency)
        return Cluster(text, _multislice.build(text, one, int(count), block, outside), "slices", "hosts")
    axes = text.split("x")
    made = grid(text, [int(a.rstrip("w")) for a in axes], ["w" in a for a in axes], bandwidth, latency)
    return Cluster(text, made, "grid", "dimension_order")


def group(where: Cluster, over: tuple[str, ...] = ()) -> Group:
    return group_of(where, physical(where.topology), over)


def build(
    collective: str, algorithm: str, where: Cluster, over: tuple[str, ...] = (), **hint: float
) -> Schedule:
    """On all groups, as predict does it."""
    found, options = algorithms.parse(algorithm)
    mine = group(where, over)
    alpha = max(mine.latency)
    small = found.build(collective, mine, Hint(**({"alpha": alpha, "options": options} | hint)))
    return lay(small, mine.all_groups, where.topology.vertices, mine.hubs)
