"""Axis after axis, the shorter way round each; at exactly half way round, half of the bytes each way.

Balanced on any torus or mesh when all pairs send alike: the busiest axis carries its least possible load.

Source: Dally and Towles 2004, Principles and Practices of Interconnection Networks, section 8.4
(dimension-order routing).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Bools, Floats, Ints, Topology

from . import Routes, assemble, shortest

Longs = npt.NDArray[np.int64]


def routes(topology: Topology, src: Ints, dst: Ints, split: bool = True) -> Routes:
    """Minimal routes, x first; pairs that a dead link cuts take a shortest way round it.

    Without ``split``, what is exactly half way round goes up, whole.
    """
    pair, weight, steps, up = pieces(topology, src, dst, split)
    found = _links(topology, src[pair], dst[pair], steps, up)
    hops = sum(steps, np.zeros(len(pair), np.int64)).astype(np.int64)
    return around(topology, assemble(topology, pair, weight, hops, found), src, dst)


def pieces(
    topology: Topology, src: Ints, dst: Ints, split: bool = True
) -> tuple[Longs, Floats, list[Longs], list[Bools]]:
    """How many links up or down each axis, for each piece of each pair; dead links count too.

    Returns:
        ``[p]`` each: the pair that a piece serves, ascending; its part of the bytes; and for each axis the
        number of links and whether they lead up.
    """
    pair = np.arange(len(src))
    weight = np.ones(len(src))
    steps, up = [], []
    for a, axis in enumerate(topology.axes):
        length, ahead, tie = (
            axis.length,
            topology.coords[dst, a] - topology.coords[src, a],
            np.zeros(len(src), bool),
        )
        if axis.wraps:
            ahead = ahead % length
            tie = (2 * ahead == length) & split
            ahead = np.where(2 * ahead > length, ahead - length, ahead)
        steps.append(np.abs(ahead)[pair])
        up.append((ahead > 0)[pair])
        twice = np.flatnonzero(tie[pair])  # these pieces are cut in two; the second half goes down
        weight[twice] /= 2
        pair, weight = np.concatenate([pair, pair[twice]]), np.concatenate([weight, weight[twice]])
        steps = [np.concatenate([s, s[twice]]) for s in steps]
        up = [np.concatenate([u, u[twice]]) for u in up[:-1]] + [
            np.concatenate([up[-1], np.zeros(len(twice), bool)])
        ]
    order = np.argsort(pair, kind="stable")
    return pair[order], weight[order], [s[order] for s in steps], [u[order] for u in up]


def _links(topology: Topology, src: Ints, dst: Ints, steps: list[Longs], up: list[Bools]) -> Ints:
    """Links of all pieces, one after the other: int32[sum of hops]."""
    hops = sum(steps, np.zeros(len(src), np.int64))
    first = np.cumsum(hops) - hops
    out = np.zeros(int(hops.sum()), np.int32)
    kind = (
        np.int32 if max(len(out), 4 * topology.chips) < 2**31 else np.int64
    )  # half the memory is half the time
    at = topology.coords[src].astype(np.int64)
    strides = np.array([int(np.prod(topology.shape[a + 1 :])) for a in range(len(topology.axes))])
    for a, many in enumerate(steps):
        links, begin = _walks(topology, a)
        before = np.cumsum(many) - many
        nth = np.arange(int(many.sum()), dtype=kind)
        walk = begin[at @ strides, np.where(up[a], 0, 1)] - before
        found = links[nth + np.repeat(walk.astype(kind), many)]
        if len(nth) == len(out):
            return np.asarray(found, np.int32)
        out[nth + np.repeat((first - before).astype(kind), many)] = found
        first = first + many
        at[:, a] = topology.coords[dst, a]
    return out


def _walks(topology: Topology, a: int) -> tuple[Ints, Longs]:
    """The links of all lines along an axis, twice round up and twice round down.

    Returns:
        ``int32[4 chips]``, and ``int64[chips, 2]``: where in it the walk up from each chip begins, and down.
    """
    length, many = topology.axes[a].length, 2 * topology.chips
    chips = np.moveaxis(np.arange(topology.chips).reshape(topology.shape), a, -1).reshape(-1, length)
    begin = np.zeros((topology.chips, 2), np.int64)
    links = []
    for way, line in enumerate((chips, chips[:, ::-1])):
        links.append(topology.port[np.concatenate([line, line], axis=1), a, way].ravel())
        begin[line, way] = way * many + np.arange(many).reshape(-1, 2 * length)[:, :length]
    return np.concatenate(links), begin


def around(
    topology: Topology, usual: Routes, src: Ints, dst: Ints, detours: Topology | None = None
) -> Routes:
    """The usual routes, but those of pairs with a dead link replaced.

    Args:
        topology: Its links of bandwidth 0 are dead.
        usual: Routes of all pairs.
        src: Where each pair begins.
        dst: Where it ends.
        detours: The same network with the links that a detour may not take dead too.
    """
    dead: Floats = topology.bandwidth == 0
    if not dead.any():
        return usual
    piece = np.repeat(np.arange(len(usual.pair)), usual.hops)
    cut = np.unique(usual.pair[piece[dead[usual.links]]])
    if not len(cut):
        return usual
    detour = shortest.routes(detours or topology, src[cut], dst[cut])
    keep = ~np.isin(usual.pair, cut)
    links = np.concatenate([usual.links[np.repeat(keep, usual.hops)], detour.links])
    both = assemble(
        topology,
        np.concatenate([usual.pair[keep], cut]),
        np.concatenate([usual.weight[keep], detour.weight]),
        np.concatenate([usual.hops[keep], detour.hops]).astype(np.int64),
        links,
    )
    return in_order(both)


def in_order(found: Routes) -> Routes:
    """The same routes with ascending pairs."""
    order = np.argsort(found.pair, kind="stable")
    hops = found.hops[order].astype(np.int64)
    start = np.concatenate([[0], np.cumsum(hops)])
    at = np.repeat(found.start[:-1][order] - start[:-1], hops) + np.arange(int(start[-1]))
    return replace(
        found,
        pair=found.pair[order],
        weight=found.weight[order],
        start=start,
        links=found.links[at],
        latency=found.latency[order],
    )
