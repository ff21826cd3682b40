"""The links between the ranks of a group, whatever network they make."""

import numpy as np

from hopcast.ir.group import Group
from hopcast.ir.topology import Bools, Floats, Ints

_FEW = 512  # ranks among which a look from one to the next is quicker than loading a library


def of(group: Group) -> Ints:
    """``int32[l, 2]``: src and dst of every live link between two ranks; no rows where they meet in switches.

    A group that does not say which of them are alive has all links of its axes.

    >>> from hopcast.ir.topology import Axis
    >>> axes = (Axis("x", 2, False), Axis("y", 3, True))
    >>> len(of(Group(axes, False, (1.0, 1.0), (0.0, 0.0), np.arange(6)[None])))
    18
    """
    if group.links is not None:
        return group.links
    if group.switched:
        return np.zeros((0, 2), np.int32)
    rank = np.arange(group.ranks).reshape(group.shape)
    pairs = []
    for a, axis in enumerate(group.axes):
        if axis.length == 1:
            continue
        to = np.roll(rank, -1, a)
        low = np.arange(axis.length if axis.wraps else axis.length - 1)
        ends = np.stack([np.take(rank, low, a).ravel(), np.take(to, low, a).ravel()], 1)
        pairs += [ends, ends[:, ::-1]]
    return np.concatenate(pairs).astype(np.int32) if pairs else np.zeros((0, 2), np.int32)


def rates(group: Group) -> Floats:
    """``float64[l]``: bytes/s of each of these links, the least of all groups; of an axis where nobody said.

    >>> from hopcast.testing import grid_group
    >>> rates(grid_group(2, 2)).tolist() == [45e9] * 8
    True
    """
    links, cluster = of(group), group.cluster
    if cluster is None or group.links is None:
        return np.full(len(links), max(group.bandwidth))
    topology = cluster.topology
    key = topology.src.astype(np.int64) * topology.vertices + topology.dst
    order = np.lexsort((-topology.bandwidth, key))
    wanted = (
        group.all_groups[:, links[:, 0]].astype(np.int64) * topology.vertices
        + group.all_groups[:, links[:, 1]]
    )
    found: Floats = topology.bandwidth[order[np.searchsorted(key[order], wanted)]].min(0)
    return found


def joined(links: Ints, ranks: int) -> bool:
    """Whether every rank can reach every other.

    >>> joined(np.array([[0, 1], [1, 2]]), 3), joined(np.array([[0, 1], [1, 2], [2, 0]]), 3)
    (False, True)
    """
    if ranks > _FEW:
        from scipy.sparse import coo_array, csgraph  # loads in a tenth of a second

        table = coo_array((np.ones(len(links), np.int8), (links[:, 0], links[:, 1])), (ranks, ranks))
        return bool(csgraph.connected_components(table, connection="strong", return_labels=False) == 1)
    return all(bool(_reached(ends, ranks).all()) for ends in (links, links[:, ::-1]))


def _reached(links: Ints, ranks: int) -> Bools:
    """``bool[n]``: what rank 0 reaches."""
    seen = np.zeros(ranks, bool)
    seen[0] = True
    while True:
        new = links[seen[links[:, 0]] & ~seen[links[:, 1]], 1]
        if not len(new):
            return seen
        seen[new] = True


def colours(links: Ints) -> Ints:
    """``int32[l]``: a number for each link; no two links out of a rank, nor two into one, have the same.

    Lanes by these numbers serve one link each, forwards and in the mirror image.

    >>> colours(np.array([[0, 1], [1, 0], [1, 2], [2, 1]])).tolist()
    [0, 0, 1, 1]
    """
    out: dict[int, set[int]] = {}
    into: dict[int, set[int]] = {}
    found = []
    for src, dst in links.tolist():
        taken = out.setdefault(src, set()) | into.setdefault(dst, set())
        colour = next(c for c in range(len(taken) + 1) if c not in taken)
        out[src].add(colour)
        into[dst].add(colour)
        found.append(colour)
    return np.array(found, np.int32)
