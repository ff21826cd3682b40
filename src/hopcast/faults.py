"""Slow and dead cables of a cluster, as people write them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .ir.cluster import Cluster
from .ir.topology import Bools, Topology
from .ir.vertices import vertex
from .names import InputError


@dataclass(frozen=True)
class Fault:
    """What is wrong with a link: ``factor`` of its bandwidth is left; 0 is dead."""

    src: int
    dst: int
    factor: float
    one_way: bool


def fault(topology: Topology, text: str, slow: bool) -> Fault:
    """A cable from ``3,3:3,4`` (dead) or ``3,3:3,4=0.5`` (slow); ``3,3>3,4`` is one direction of it.

    Raises:
        InputError: where no cable joins the two chips, the factor is not between 0 and 1, or one way is
            meant of a cable whose ways share one bandwidth.
    """
    ends, equals, value = text.partition("=")
    factor = 0.0
    if slow:
        try:
            factor = float(value)
        except ValueError:
            factor = -1.0
        if not 0 < factor <= 1:
            raise InputError(
                f"--slow {text!r}: write the part of the bandwidth that is left, "
                "as in 3,3:3,4=0.5 (above 0, up to 1)"
            )
    elif equals:
        raise InputError(f"--dead {text!r}: write two neighbours, as in 3,3:3,4")
    one_way = ">" in ends
    pair = ends.split(">" if one_way else ":")
    if len(pair) != 2:
        raise InputError(f"{'--slow' if slow else '--dead'} {text!r}: write two neighbours, as in 3,3:3,4")
    src, dst = (_end(topology, p) for p in pair)
    between = (topology.src == src) & (topology.dst == dst)
    if not np.any(between):
        near = sorted({topology.place(int(v)) for v in topology.dst[topology.src == src]})
        raise InputError(
            f"{text!r}: no cable joins {topology.place(src)} and {topology.place(dst)} on {topology.name}; "
            f"{topology.place(src)} is joined to {' and '.join(near)}"
        )
    back = (topology.src == dst) & (topology.dst == src)
    if one_way and np.isin(topology.wire[between], topology.wire[back]).any():
        both = text.replace(">", ":")
        raise InputError(
            f"{text!r}: at half duplex both ways of a cable share its bandwidth; write {both} for both"
        )
    return Fault(src, dst, factor, one_way)


def _end(topology: Topology, text: str) -> int:
    """A chip, a host, or a switch by its label: ``rail 0 leaf``."""
    said = " ".join(text.lower().split())
    if said[:1].isalpha():
        for v in range(topology.chips, topology.vertices):
            if topology.place(v).lower() == said:
                return v
    return vertex(topology, text)


def degrade(was: Cluster, slow: Sequence[str] = (), dead: Sequence[str] = ()) -> Cluster:
    """The same cluster with slow and dead cables. Routes go round dead ones."""
    topology = was.topology
    bandwidth = topology.bandwidth.copy()
    faults = [fault(topology, s, True) for s in slow] + [fault(topology, d, False) for d in dead]
    for f in faults:
        bandwidth[_shared(topology, f.src, f.dst)] *= f.factor
        if not f.one_way:
            bandwidth[_shared(topology, f.dst, f.src)] *= f.factor
    if not faults:
        return was
    rated = topology.bandwidth if was.rated is None else was.rated
    return replace(was, topology=topology.with_links(bandwidth), rated=rated)


def _shared(topology: Topology, src: int, dst: int) -> Bools:
    """``bool[m]``: the links from one vertex to another, and the parts of the same cable of other cores."""
    chip = np.arange(topology.vertices)
    chip[: topology.chips] //= topology.cores
    if chip[src] == chip[dst] and max(src, dst) < topology.chips:
        return np.asarray((topology.src == src) & (topology.dst == dst))
    return np.asarray((chip[topology.src] == chip[src]) & (chip[topology.dst] == chip[dst]))
