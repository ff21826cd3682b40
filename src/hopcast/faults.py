"""Slow and dead cables of a cluster, as people write them."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .ir.cluster import Cluster
from .ir.topology import Bools, Topology
from .ir.vertices import vertex
from .names import InputError

_NAMED = 8  # neighbours that an error lists
_LEAST = 1e-6  # part of a bandwidth that may be left: less is dead for all that matters


@dataclass(frozen=True)
class Fault:
    """What is wrong with a link: ``factor`` of its bandwidth is left; 0 is dead."""

    src: int
    dst: int
    factor: float
    one_way: bool


def fault(topology: Topology, text: str, slow: bool) -> Fault:
    """A cable from ``3,3:3,4`` (dead) or ``3,3:3,4=0.5`` (slow); ``3,3>3,4`` is one direction of it.

    Switches have the names by which links are printed: ``rail 0 leaf:4 spines``.

    Raises:
        InputError: where no cable joins the two chips, the factor is not between 0 and 1, or one way is
            meant of a cable whose ways share one bandwidth.
    """
    option = "--slow" if slow else "--dead"
    ends, equals, value = text.partition("=")
    factor = 0.0
    if slow:
        try:
            factor = float(value)
        except ValueError:
            factor = -1.0
        if not _LEAST <= factor <= 1:
            raise InputError(
                f"--slow {text!r}: write the part of the bandwidth that is left, as in 3,3:3,4=0.5 (from a "
                "millionth up to 1)"
            )
    elif equals:
        raise InputError(f"--dead {text!r}: write two neighbours, as in 3,3:3,4")
    src, dst, one_way = _pair(topology, option, text, ends)
    between = (topology.src == src) & (topology.dst == dst)
    if not np.any(between):
        near = sorted({topology.place(int(v)) for v in topology.dst[topology.src == src]})
        near = near if len(near) <= _NAMED else [*near[: _NAMED - 1], f"{len(near) - _NAMED + 1} more"]
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


def _pair(topology: Topology, option: str, text: str, ends: str) -> tuple[int, int, bool]:
    """Both ends, and whether one direction is meant.

    Names may have a colon, ``host:1/0`` and ``pod 0: 8 spines``, so that any may be the one between the ends.
    A link may be written as it is printed, with its axis in front: ``x 3,3>3,4``.
    """
    for i, sign in enumerate(ends):
        if sign in ":>":
            src, dst = _printed(topology, ends[:i]), _named(topology, ends[i + 1 :])
            if src is not None and dst is not None:
                return src, dst, sign == ">"
    one_way = ">" in ends
    pair = ends.split(">" if one_way else ":")
    if len(pair) != 2:
        raise InputError(f"{option} {text!r}: write two neighbours, as in 3,3:3,4")
    bad = next(
        p
        for p, v in zip(pair, (_printed(topology, pair[0]), _named(topology, pair[1])), strict=True)
        if v is None
    )
    raise _no_end(topology, bad)


def _named(topology: Topology, text: str) -> int | None:
    """A chip, a host, or a switch by its label, ``rail 0 leaf``; None for what is none."""
    said = _plain(text)
    for v in range(topology.chips, topology.vertices):
        if _plain(topology.place(v)) == said:
            return v
    try:
        return vertex(topology, text)
    except InputError:
        return None


def _printed(topology: Topology, text: str) -> int | None:
    """The same behind the name of an axis, which stands before the first end of a link."""
    found = _named(topology, text)
    if found is not None:
        return found
    axis, _, rest = text.strip().partition(" ")
    found = _named(topology, rest) if axis in {a.name for a in topology.axes} else None
    # `node 3` is no end of a link, and rank 3 is not what it means.
    return found if found is not None and _plain(topology.place(found)) == _plain(rest) else None


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _no_end(topology: Topology, text: str) -> InputError:
    """The error for what is neither a chip nor a switch: the nearest switch, or what is said of chips."""
    switches = {
        _plain(topology.place(v)): topology.place(v) for v in range(topology.chips, topology.vertices)
    }
    near = difflib.get_close_matches(_plain(text), switches, 1)
    if near:
        return InputError(f"{text!r} is no switch of {topology.name}; did you mean {switches[near[0]]}?")
    try:
        vertex(topology, text)
    except InputError as error:
        return error
    raise AssertionError(text)


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
