"""Sets of vertices whose borders are worth looking at: the places where a network is thin."""

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np

from hopcast.ir.topology import Bools, Ints, Topology

from . import tiers

_CELLS = 1_000_000  # of (cut, link): about 5 ms to weigh
_FEW, _MANY = 24, 2048  # cuts at least and at most, whatever their links
_TIERS = 4  # of switches that are put on a side one after the other
_STARTS = 12  # boundaries of an axis that are tried: the weakest ones, and as many evenly spaced


def candidate_cuts(topology: Topology, anywhere: bool = False) -> Bools:
    """Sets of vertices, each to be taken with the rest as a cut, in both directions.

    On a grid: intervals of one axis (to half of it where it wraps), then boxes, the products of intervals.
    Where links are alike and ranks too, intervals that begin at 0 stand for all others; otherwise those
    between the weakest boundaries and some evenly spaced ones are tried. With switches: whole nodes and what
    hangs together without the higher switches (units of a pod), the chips of each switch, and runs of chips
    in order of their numbers, each with the switches that have most of their capacity to them and without
    any; of several slices each slice instead of nodes, and intervals of an axis of all of them.

    The choice does not depend on which links may be used, so that more links never give a higher bound.

    Args:
        topology: Its bandwidths say where it is weak.
        anywhere: Whether intervals are to begin everywhere even on alike links, since ranks differ.

    Returns:
        ``bool[c, v]``.

    >>> from hopcast.topologies import chain, switch
    >>> candidate_cuts(chain.build("chain:3", (3,), 1.0, 0.0)).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0]]
    >>> candidate_cuts(switch.build("switch:4", (4,), 1.0, 0.0)).astype(int).tolist()
    [[1, 1, 0, 0, 0]]
    """
    budget = min(max(_CELLS // max(topology.links, 1), _FEW), _MANY)
    if topology.is_grid:
        made = itertools.islice(_boxes(topology, budget, anywhere), 2 * budget)
    else:
        made = itertools.islice(_rank_sets(topology, anywhere), 2 * budget)
    found = list(made)
    return np.array(found) if found else np.zeros((0, topology.vertices), bool)


def candidate_partitions(topology: Topology) -> Iterator[Ints]:
    """Ways to part the vertices: ``int32[v]`` each, the number of each vertex's part, -1 for a switch.

    The finest first. On a grid every axis is left whole, halved or parted at every chip, in all combinations
    up to four axes. With switches: chips; slices, each with its hosts; else nodes, what hangs together
    without the higher switches, and equal chips of all nodes. A switch between parts cannot sum or copy and
    belongs to none.
    """
    chips = np.arange(topology.chips, dtype=np.int32)
    yield np.concatenate([chips, np.full(topology.vertices - topology.chips, -1, np.int32)])
    if topology.is_slices:
        label = np.concatenate([topology.coords[:, 0], np.full(topology.vertices - topology.chips, -1)])
        up = (topology.src < topology.chips) & (topology.dst >= topology.chips)
        label[topology.dst[up]] = label[topology.src[up]]
        yield label.astype(np.int32)
    elif not topology.is_grid:
        yield from tiers.parts(topology)
        if len(topology.axes) > 1 and topology.axes[-1].switched:
            label = np.full(topology.vertices, -1, np.int64)
            label[: topology.chips] = topology.coords[:, -1]
            yield tiers.with_switches(topology, tiers.tiers(topology), label).astype(np.int32)
    if not topology.is_grid:
        return
    long = [a for a, axis in enumerate(topology.axes) if axis.length > 1]
    ways = [_parts_of_axis(topology.axes[a].length) for a in long]
    if len(long) > 4:
        ways = [w[:2] for w in ways]
    many = itertools.product(*(range(len(w)) for w in ways)) if len(long) <= 4 else _one_axis(len(long))
    for choice in many:
        if any(choice) and not all(c == len(w) - 1 for c, w in zip(choice, ways, strict=True)):
            number = np.zeros(topology.chips, np.int64)
            for a, way, c in zip(long, ways, choice, strict=True):
                number = number * topology.axes[a].length + way[c][topology.coords[:, a]]
            yield number.astype(np.int32)


def _parts_of_axis(length: int) -> list[Ints]:
    at = np.arange(length, dtype=np.int32)
    ways = [np.zeros(length, np.int32), (at >= (length + 1) // 2).astype(np.int32), at]
    return ways if length > 2 else [ways[0], at]


def _one_axis(axes: int) -> Iterator[tuple[int, ...]]:
    return (tuple(int(a == b) for b in range(axes)) for a in range(axes))


def _boxes(topology: Topology, budget: int, anywhere: bool) -> Iterator[Bools]:
    """Intervals of one axis, then products of intervals of two axes, of three ..."""
    long = [a for a, axis in enumerate(topology.axes) if axis.length > 1]
    whole = [_intervals(topology, a, anywhere) for a in long]
    for a, intervals in zip(long, whole, strict=True):
        yield from (inside[topology.coords[:, a]] for inside in _thin(intervals, budget // len(long)))
    options = [_thin(w, budget) for w in whole]
    while math.prod(len(o) + 1 for o in options) > budget and max(map(len, options)) > 2:
        widest = max(range(len(options)), key=lambda i: len(options[i]))
        options[widest] = _thin(options[widest], max(len(options[widest]) // 2, 2))
    for some in (s for k in range(2, len(long) + 1) for s in itertools.combinations(range(len(long)), k)):
        for box in itertools.product(*(options[i] for i in some)):
            sides = (inside[topology.coords[:, long[i]]] for i, inside in zip(some, box, strict=True))
            yield functools.reduce(np.logical_and, sides)


def _intervals(topology: Topology, a: int, anywhere: bool) -> list[Bools]:
    """Intervals of an axis as ``bool[length]`` each, the shorter first."""
    axis, links = topology.axes[a], topology.axis == a
    length, rate = axis.length, topology.bandwidth
    at = np.arange(length)
    half = length // 2 if axis.wraps else length - 1
    if np.all(rate[links] == rate[links][:1]) and not anywhere:
        return [at < size for size in range(1, half + 1)]
    # Boundary b is between b - 1 and b; the weakest carry least both ways together.
    low, high = topology.coords[topology.src[links], a], topology.coords[topology.dst[links], a]
    up = (high - low) % length == 1
    weight = np.bincount(np.where(up, high, low), rate[links], length)
    if not axis.wraps:
        weight[0] = 0.0
    even = np.linspace(0, length - 1, min(length, _STARTS)).astype(int)
    chosen = np.union1d(np.argsort(weight, kind="stable")[:_STARTS], even)
    found = {}
    for start, size in ((b, s) for b in chosen for s in np.sort((chosen - b) % length)):
        if 1 <= size <= half and (axis.wraps or start + size <= length):
            inside = (at - start) % length < size
            found[inside.tobytes()] = inside
    return sorted(found.values(), key=lambda i: int(i.sum()))


def _thin(options: list[Bools], most: int) -> list[Bools]:
    """The first, the last and evenly spaced ones between."""
    if len(options) <= most:
        return options
    return [options[i] for i in np.unique(np.linspace(0, len(options) - 1, max(most, 2)).astype(int))]


def _rank_sets(topology: Topology, anywhere: bool) -> Iterator[Bools]:
    """Slices or nodes, runs of chips, chips of each switch, with and without switches; every set once."""
    chips, seen, sides = topology.chips, set(), _Sides(topology)
    into = topology.dst >= chips
    whole = _of_slices(topology, anywhere) if topology.is_slices else _of_parts(topology)
    for chosen in itertools.chain(whole, _runs(chips), _of_switches(topology, into)):
        if not 1 < int(chosen.sum()) < chips:
            continue
        alone = np.concatenate([chosen, np.zeros(topology.vertices - chips, bool)])
        for inside in (alone, sides.of(alone)):
            if inside.tobytes() not in seen:
                seen.add(inside.tobytes())
                yield inside


def _of_parts(topology: Topology) -> Iterator[Bools]:
    """Of every way to fall into parts one of each size, the last, and those that least can leave or enter."""
    for label in tiers.parts(topology):
        own = label[: topology.chips]
        size = np.bincount(own)
        chosen = {len(size) - 1} | {int(k) for k in np.unique(size, return_index=True)[1]}
        begins, ends = label[topology.src], label[topology.dst]
        for at in (begins, ends):
            border = (at >= 0) & (begins != ends)
            chosen.add(int(np.bincount(at[border], topology.bandwidth[border], len(size)).argmin()))
        yield from (own == part for part in sorted(chosen))


def _runs(chips: int) -> Iterator[Bools]:
    """The first half, then quarters, eighths and so on to 16 runs."""
    at = np.arange(chips)
    yield at < chips // 2
    for parts in (4, 8, 16):
        if chips >= 2 * parts:
            yield from (at * parts // chips == part for part in range(parts))


def _of_slices(topology: Topology, anywhere: bool) -> Iterator[Bools]:
    """Each slice, and intervals of each axis in all slices at once."""
    yield from (topology.coords[:, 0] == s for s in range(topology.axes[0].length))
    for a in range(1, len(topology.axes)):
        yield from (
            inside[topology.coords[:, a]] for inside in _thin(_intervals(topology, a, anywhere), _FEW)
        )


def _of_switches(topology: Topology, into: Bools) -> Iterator[Bools]:
    for switch in range(topology.chips, topology.vertices):
        below = np.zeros(topology.vertices, bool)
        below[topology.src[into & (topology.dst == switch)]] = True
        yield below[: topology.chips]


class _Sides:
    """Puts every switch on the side to which it has more capacity, tier after tier."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        chips, rate = topology.chips, topology.bandwidth
        into, out = topology.dst >= chips, topology.src >= chips
        # Each link pulls a switch to where its other end is.
        self._switch = np.concatenate([topology.dst[into], topology.src[out]]) - chips
        self._other = np.concatenate([topology.src[into], topology.dst[out]])
        self._rate = np.concatenate([rate[into], rate[out]])

    def of(self, inside: Bools) -> Bools:
        """The set with switches. Shapes: ``bool[v]`` both."""
        topology = self._topology
        side = np.where(inside, 1.0, -1.0)
        side[topology.chips :] = 0.0
        for _ in range(_TIERS):
            pull = np.bincount(
                self._switch, self._rate * side[self._other], topology.vertices - topology.chips
            )
            before = side[topology.chips :].copy()
            side[topology.chips :] = np.sign(pull)
            if np.array_equal(before, side[topology.chips :]):
                break
        return np.asarray(side > 0)
