"""What the ports of ranks that meet in switches are worth: bandwidth of a port and latency of a crossing."""

import numpy as np
import numpy.typing as npt

from .topology import Ints, Topology


def star(topology: Topology, axis: int, groups: Ints) -> tuple[float, float]:
    """Rate of a port and latency of a crossing, where every group has a switch of its own; else rate 0.

    Each rank has one cable on this axis, all cables of a group end in one switch, and no two groups share
    one.
    """
    # Links between switches are no ports: ranks that meet in one switch do not cross them.
    at_chips = np.minimum(topology.src, topology.dst) < topology.chips
    links = np.flatnonzero((topology.axis == axis) & at_chips)
    src, dst = topology.src[links], topology.dst[links]
    hop = 2 * float(topology.latency[links].max(initial=0.0))
    up = src < topology.chips
    centre = np.full(topology.chips, -1)
    centre[src[up]] = dst[up]
    alone = np.array_equal(np.sort(src[up]), np.sort(dst[~up])) and len(np.unique(src[up])) == up.sum()
    at = centre[groups]
    own = alone and bool((at == at[:, :1]).all()) and len(np.unique(at[:, 0])) == len(groups)
    alike = own and bool((at >= topology.chips).all()) and np.ptp(topology.latency[links]) == 0
    return (rate(topology.bandwidth[links]) if alike else 0.0), hop


def tree(topology: Topology, axis: int, groups: Ints) -> tuple[float, float] | None:
    """The same where ranks of a group are each in a machine that alike groups share, all on one switch.

    All groups do the same at the same time, so each has its part of a machine's cable: a machine holds one
    rank of each of some groups, and all ranks of these groups are together in machines.
    """
    links = np.flatnonzero(topology.axis == axis)
    src, dst = topology.src[links], topology.dst[links]
    from_chip, to_chip = src < topology.chips, dst < topology.chips
    tiers = [from_chip, to_chip, ~from_chip & ~to_chip & (src < dst), ~from_chip & ~to_chip & (src > dst)]
    above = np.full(topology.vertices, -1)
    above[src[tiers[0]]], above[src[tiers[2]]] = dst[tiers[0]], dst[tiers[2]]
    machines = np.unique(above[: topology.chips])
    ends = [np.arange(topology.chips)] * 2 + [machines] * 2
    own = [np.sort(v) for v in (src[tiers[0]], dst[tiers[1]], src[tiers[2]], dst[tiers[3]])]
    if not all(map(np.array_equal, ends, own)) or machines[0] < 0 or np.ptp(above[machines]) > 0:
        return None
    at = above[groups]
    _, together = np.unique(at[:, 0], return_inverse=True)
    first = np.unique(together, return_index=True)[1]
    shared = np.bincount(together)
    apart = bool((np.diff(np.sort(at[first].ravel())) > 0).all())
    if not apart or np.ptp(shared) > 0 or not np.array_equal(at, at[first][together]):
        return None
    rates = [rate(topology.bandwidth[links[t]]) for t in tiers]
    if rates[0] != rates[1] or rates[2] != rates[3] or any(np.ptp(topology.latency[links[t]]) for t in tiers):
        return None
    crossing = sum(float(topology.latency[links[t]][0]) for t in tiers)
    return min(rates[0], rates[2] / int(shared[0])), crossing


def rate(bandwidth: npt.NDArray[np.float64]) -> float:
    """The bandwidth of links that are alike, else 0."""
    return float(bandwidth[0]) if len(bandwidth) and np.all(bandwidth == bandwidth[0]) else 0.0
