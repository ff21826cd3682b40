"""Slices with hosts: inside a slice over its own links, between slices over PCIe, hosts and the network.

Chips of one slice are joined by dimension_order, or by twisted where its wrap-arounds are twisted, and a dead
link is gone round inside the slice. Between slices data go from a chip to its host, over the network to the
other chip's host, and to that chip. A host reaches chips of its own slice over PCIe: its own ones directly,
others through the nearest of its own and from there over the links of the slice. Two hosts talk over the
network.

Source: Gordic 2026, Inside TPU and GPU clusters, part 1 (HBM, PCIe, host, DCN, host, PCIe, HBM).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Ints, Topology
from hopcast.names import InputError

from . import Routes, assemble, dimension_order, twisted

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outside:
    """Links between chips, hosts and the network, by what is below.

    Shapes: n chips, h hosts.

    Attributes:
        host: ``int64[n]``, the host of each chip, as a vertex.
        up, down: ``int64[n + h]``, the link of a chip or host to what is above it, and back.
        each: Hosts of one slice.
    """

    host: Longs
    up: Longs
    down: Longs
    each: int


def inside(topology: Topology) -> Bools:
    """``bool[m]``: links between chips of one slice."""
    return np.asarray(topology.axis > 0)


def outside_of(topology: Topology) -> Outside:
    """The tables of a topology of slices.

    Raises:
        InputError: if it is none.
    """
    if not topology.is_slices:
        raise InputError(f"{topology.name} has no hosts; its routing rule is dimension_order or shortest")
    links = np.flatnonzero(~inside(topology))
    src, dst = topology.src[links], topology.dst[links]
    rises = src < dst
    up, down = np.full(topology.vertices - 1, -1), np.full(topology.vertices - 1, -1)
    up[src[rises]], down[dst[~rises]] = links[rises], links[~rises]
    host = topology.dst[up[: topology.chips]].astype(np.int64)
    return Outside(host, up, down, (topology.vertices - 1 - topology.chips) // topology.axes[0].length)


def slice_at(topology: Topology, outside: Outside, vertex: Ints) -> Longs:
    """``int64[...]``: the slice of each chip or host; -1 for the network."""
    chip = topology.coords[np.minimum(vertex, topology.chips - 1), 0]
    host = (vertex - topology.chips) // outside.each
    found = np.where(vertex < topology.chips, chip, host)
    return np.asarray(np.where(vertex == topology.vertices - 1, -1, found), np.int64)


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """The routes of all pairs of chips, hosts and the network.

    Raises:
        InputError: if the topology has no hosts, or dead links leave a pair without a route.
    """
    outside = outside_of(topology)
    chips = (src < topology.chips) & (dst < topology.chips)
    here = slice_at(topology, outside, src)
    same = chips & (here == slice_at(topology, outside, dst))
    ici = topology.with_links(np.where(inside(topology), topology.bandwidth, 0.0))
    parts = []
    for mine, detours in ((same, ici), (~same, topology)):
        at = np.flatnonzero(mine)
        if not len(at):
            continue
        usual = (
            _inner(topology, src[at], dst[at])
            if detours is ici
            else _outer(topology, outside, src[at], dst[at])
        )
        found = dimension_order.around(topology, usual, src[at], dst[at], detours)
        parts.append((at[found.pair], found))
    if not parts:
        return _nowhere(0)
    if len(parts) == 1:
        return parts[0][1]
    keys = ("weight", "hops", "links", "latency")
    weight, hops, links, latency = (np.concatenate([getattr(f, key) for _, f in parts]) for key in keys)
    pair = np.concatenate([p for p, _ in parts]).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(hops, dtype=np.int64)])
    return dimension_order.in_order(Routes(pair, weight, start, links, latency))


def _inner(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """Between chips of one slice, as on the slice alone; dead links count as live."""
    one = one_slice(topology)
    across = one.coords[one.dst] - one.coords[one.src]
    rule = twisted if bool((np.count_nonzero(across, axis=1) > 1).any()) else dimension_order
    found = rule.routes(one, src % one.chips, dst % one.chips)
    where = np.repeat((src // one.chips)[found.pair], found.hops)
    links = found.links + where.astype(np.int64) * one.links
    return assemble(topology, found.pair, found.weight, found.hops.astype(np.int64), links)


def one_slice(topology: Topology) -> Topology:
    """The first slice by itself, all its links live and alike."""
    slices = topology.axes[0].length
    n, m = topology.chips // slices, int(inside(topology).sum()) // slices
    ones = np.ones(m)
    return Topology(
        topology.name, n, n, topology.src[:m], topology.dst[:m], topology.axis[:m] - 1, ones, ones,
        topology.wire[:m], topology.axes[1:], topology.coords[:n, 1:], topology.port[:n, 1:],
    )  # fmt: skip


def _outer(topology: Topology, outside: Outside, src: Ints, dst: Ints) -> Routes:
    """Pairs that leave a slice or begin or end at a host: links up, links inside a slice, links down."""
    chips, centre = topology.chips, topology.vertices - 1
    begin, end = src.copy(), dst.copy()  # of the way inside a slice; equal where there is none
    near = slice_at(topology, outside, src) == slice_at(topology, outside, dst)
    from_host, to_host = near & (src >= chips) & (dst < chips), near & (src < chips) & (dst >= chips)
    begin[from_host] = _nearest(topology, outside, src[from_host], dst[from_host])
    end[to_host] = _nearest(topology, outside, dst[to_host], src[to_host])
    alone = ~(from_host | to_host)
    begin[alone] = end[alone] = 0
    usual = _nowhere(len(src)) if alone.all() else _inner(topology, begin, end)
    before = np.full((len(src), 2), -1)
    after = np.full((len(src), 2), -1)
    before[from_host, 0] = outside.down[begin[from_host]]
    after[to_host, 0] = outside.up[end[to_host]]
    for table, links, vertex, order in (
        (before, outside.up, src, (0, 1)),
        (after, outside.down, dst, (1, 0)),
    ):
        chip, host = alone & (vertex < chips), alone & (vertex != centre)
        table[chip, order[0]] = links[vertex[chip]]
        machine = np.where(vertex < chips, outside.host[np.minimum(vertex, chips - 1)], vertex)
        table[host, order[1]] = links[machine[host]]
    return _spliced(topology, before, usual, after)


def _spliced(topology: Topology, before: Longs, usual: Routes, after: Longs) -> Routes:
    """Routes with links put before and behind: ``int64[k, 2]`` each, -1 where there is none."""
    hops = usual.hops.astype(np.int64)
    ahead, behind = before[usual.pair], after[usual.pair]
    count = (ahead >= 0).sum(1) + hops + (behind >= 0).sum(1)
    at = np.cumsum(count) - count  # where the next link of each route goes
    links = np.zeros(int(count.sum()), np.int32)
    for table in (ahead, None, behind):
        if table is None:
            links[np.arange(len(usual.links)) + np.repeat(at - usual.start[:-1], hops)] = usual.links
            at += hops
            continue
        for link in table.T:
            there = link >= 0
            links[at[there]] = link[there]
            at += there
    return assemble(topology, usual.pair, usual.weight, count, links)


def _nowhere(count: int) -> Routes:
    """Routes of pairs whose ends are the same."""
    return Routes(
        np.arange(count, dtype=np.int32), np.ones(count), np.zeros(count + 1, np.int64),
        np.zeros(0, np.int32), np.zeros(count),
    )  # fmt: skip


def _nearest(topology: Topology, outside: Outside, host: Ints, chip: Ints) -> Ints:
    """The chip of each host that is fewest hops along the axes from a chip of its slice; the first such."""
    found = np.zeros(len(host), np.int32)
    for i, (machine, goal) in enumerate(zip(host, chip, strict=True)):
        mine = np.flatnonzero(outside.host == machine)
        gap = np.abs(topology.coords[mine, 1:] - topology.coords[goal, 1:])
        length = np.array([a.length for a in topology.axes[1:]])
        wraps = np.array([a.wraps for a in topology.axes[1:]])
        far = np.where(wraps, np.minimum(gap, length - gap), gap).sum(1)
        found[i] = mine[far.argmin()]
    return found
