"""bisect: capacity across a cut of the ranks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.graph.flow import max_flow
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology
from hopcast.names import InputError, unknown
from hopcast.result import Result

from . import ask


@dataclass(frozen=True, eq=False)
class Cut:
    """Some of the chips, and what can cross from them to the others.

    Attributes:
        what: In words.
        inside: ``bool[chips]``.
        one_way: Bytes/s from inside to outside.
        other_way: Bytes/s from outside to inside.
    """

    what: str
    inside: npt.NDArray[np.bool_]
    one_way: float
    other_way: float


def capacity(topology: Topology, inside: npt.NDArray[np.bool_]) -> float:
    """Bytes/s that can cross from the chips inside to the others; switches stand on whichever side lets least through."""
    if topology.vertices == topology.chips:
        crosses = inside[topology.src] & ~inside[topology.dst]
        wires = np.unique(topology.wire[crosses])
        return float(topology.bandwidth[wires].sum())
    inner, outer = (np.flatnonzero(side).tolist() for side in (inside, ~inside))
    return max_flow(topology, inner, outer).value


def _cut(topology: Topology, what: str, inside: npt.NDArray[np.bool_]) -> Cut:
    return Cut(what, inside, capacity(topology, inside), capacity(topology, ~inside))


def worst_halving(topology: Topology) -> Cut:
    """The balanced cut of least capacity: of a grid the halves of each axis, of a switch the halves in rank order."""
    if topology.chips < 2:
        return Cut("one chip", np.ones(topology.chips, bool), 0.0, 0.0)
    if not topology.is_grid:
        return _cut(topology, "first half of the ranks", np.arange(topology.chips) < topology.chips // 2)
    halves = [
        _cut(topology, f"{axis.name} < {axis.length // 2}", topology.coords[:, a] < axis.length // 2)
        for a, axis in enumerate(topology.axes)
        if axis.length > 1
    ]
    # Only halves count: an axis of odd length cuts unequally, so the most balanced ones are compared first.
    balance = [abs(int(c.inside.sum()) * 2 - topology.chips) for c in halves]
    return min(
        (c for c, b in zip(halves, balance, strict=True) if b == min(balance)), key=lambda c: c.one_way
    )


def bisect(cluster: str | Cluster, *, split: str = "", by: str = "chips") -> Result:
    """Capacity across a cut.

    Args:
        cluster: A name or an object.
        split: ``88/40``: so many first in rank order against the rest; empty: the worst balanced cut.
        by: What the split counts: chips.

    Returns:
        One row: one_way_GBps and both_ways_GBps.

    >>> bisect("torus:4x4,bandwidth=45GB/s").rows[0]["one_way_GBps"]
    360.0
    """
    where = ask.cluster_of(cluster)
    topology = where.topology
    if by != "chips":
        raise unknown(f"unit of a split of {where.name}", by, ("chips",))
    if split:
        parts = split.split("/")
        if (
            len(parts) != 2
            or not all(p.strip().isdecimal() for p in parts)
            or sum(map(int, parts)) != topology.chips
            or "0" in parts
        ):
            raise InputError(
                f"--split {split}: write two parts that add up to the {topology.chips} chips of {where.name}, as in {topology.chips // 2}/{topology.chips - topology.chips // 2}"
            )
        cut = _cut(
            topology, f"first {parts[0]} chips in rank order", np.arange(topology.chips) < int(parts[0])
        )
    else:
        cut = worst_halving(topology)
    row = {
        "cluster": where.name,
        "cut": cut.what,
        "inside": int(cut.inside.sum()),
        "outside": int((~cut.inside).sum()),
        "one_way_GBps": cut.one_way / 1e9,
        "both_ways_GBps": (cut.one_way if topology.half_duplex else cut.one_way + cut.other_way) / 1e9,
    }
    return Result([row], (), None, (), where.assumed, {"cluster": where.name, "split": split}, cut)
