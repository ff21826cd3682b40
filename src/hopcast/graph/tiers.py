"""Networks with switches in tiers, and what they fall into without the higher ones: nodes, units, pods."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Ints, Topology

from .usable import joined


def tiers(topology: Topology) -> npt.NDArray[np.int64]:
    """``int64[v]``: links from the nearest chip, 0 of chips; of what no chip is joined to one more than all.

    >>> from hopcast.topologies import fat_tree
    >>> tiers(fat_tree.build("fat_tree:2x2", (2, 2), 1.0, 0.0)).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 2]
    """
    tier = np.where(np.arange(topology.vertices) < topology.chips, 0, -1)
    for level in range(topology.vertices):
        found = topology.dst[(tier[topology.src] == level) & (tier[topology.dst] < 0)]
        if not len(found):
            break
        tier[found] = level + 1
    return np.where(tier < 0, tier.max(initial=0) + 1, tier)


def parts(topology: Topology) -> Iterator[Ints]:
    """Ways in which a network falls into parts, finer ones first: ``int32[v]`` each, -1 for what joins parts.

    First by nodes, where the last axis is the inside of nodes; then by what is left without the switches of
    the higher tiers. A switch belongs to the part that all below it are of. Every way has more than one part
    and fewer than chips, and none comes twice.

    >>> from hopcast.topologies import fat_tree
    >>> [p.tolist() for p in parts(fat_tree.build("fat_tree:2x2", (2, 2), 1.0, 0.0))]
    [[0, 0, 1, 1, 0, 1, -1, -1, -1]]
    """
    seen = set()
    tier = tiers(topology)
    for label in _candidates(topology, tier):
        found = np.unique(label[: topology.chips])
        if not 1 < len(found) < topology.chips or label[: topology.chips].tobytes() in seen:
            continue
        seen.add(label[: topology.chips].tobytes())
        whole = np.full(topology.vertices, -1)
        whole[: topology.chips] = np.searchsorted(found, label[: topology.chips])
        yield with_switches(topology, tier, whole).astype(np.int32)


def _candidates(topology: Topology, tier: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Labels of vertices of which only those of chips count."""
    if len(topology.axes) > 1 and topology.axes[-1].switched:
        outer = topology.coords[:, :-1].astype(np.int64)
        lengths = topology.shape[:-1]
        yield np.ravel_multi_index(tuple(outer.T), lengths).astype(np.int64)
    for level in range(int(tier.max(initial=0))):
        low = (tier[topology.src] <= level) & (tier[topology.dst] <= level)
        yield _components(topology, low)


def _components(topology: Topology, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """``int64[v]``: what these links join has one number."""
    return joined(topology.vertices, topology.src[allowed], topology.dst[allowed])


def with_switches(
    topology: Topology, tier: npt.NDArray[np.int64], label: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Labels of chips, and of switches below which there is one label only; tier after tier."""
    rising = np.flatnonzero(tier[topology.dst] == tier[topology.src] + 1)
    for level in range(int(tier.max(initial=0))):
        links = rising[tier[topology.src[rising]] == level]
        below, switch = label[topology.src[links]], topology.dst[links]
        low, high = np.full(topology.vertices, topology.vertices), np.full(topology.vertices, -1)
        np.minimum.at(low, switch, below)
        np.maximum.at(high, switch, below)
        one = (low == high) & (high >= 0)
        label = np.where(one, high, label)
    return label
