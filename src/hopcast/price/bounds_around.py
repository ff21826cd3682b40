"""The two ways round a ring: what single ranks need takes the short way or the long one, or both in parts."""

from math import gcd

import numpy as np

from hopcast.ir.topology import Axis, Floats, Ints
from hopcast.units import show_size

from . import bounds_names as words
from .bounds_kinds import Found, Task, ratio

_TRIED = 64  # ratios of lengths, one for each distance that pairs are apart


def around(task: Task) -> Found | None:
    """Bytes for single ranks times lengths of links along one wrapped axis, over what these carry.

    Let a link up an axis of n chips have length n - u and one down have u. Then ranks u apart are as far from
    each other one way round as the other, and no routing can gain by it. Of all pairs of lengths those for
    the distances that occur are the best ones. Along other axes links have no length, so that an axis taken
    alone proves at least as much as all of them. A permute by u on a ring takes just that long: (n - u) / n
    of all go up and the others down.

    Returns:
        The worst axis and component; None where no axis wraps, or no pairs are listed.

    Source: Shahrokhi and Matula 1990, doi:10.1145/77600.77620 (lengths of links bound concurrent flow).

    Cost: O(pairs) for each axis.
    """
    network, parts = task.network, task.parts
    if not network.straight or network.shared or not len(parts.pair_part):
        return None
    axes = enumerate(network.topology.axes)
    found = [_along(task, a, axis) for a, axis in axes if axis.wraps]
    return max((f for f in found if f.seconds), key=lambda f: f.seconds, default=None)


def _along(task: Task, a: int, axis: Axis) -> Found:
    """The pair of lengths of one axis that proves most."""
    network, n = task.network, axis.length
    mine = network.topology.axis[network.links] == a
    up = mine & (network.topology.port[network.src, a, 0] == network.links)
    rates = network.capacity(np.stack([up, mine & ~up]))
    apart = _apart(task, a, n)
    here = np.flatnonzero(apart.any(0))
    lengths = here[here > 0][:_TRIED]
    # Of each distance apart, for each pair of lengths: the nearer way round.
    far = np.minimum(here[:, None] * (n - lengths), (n - here[:, None]) * lengths)
    volume = apart[:, here] @ far.astype(float)
    rate = rates[0][:, None] * (n - lengths) + rates[1][:, None] * lengths
    each = ratio(volume, rate)
    if not each.size:
        return Found(0.0, "distance", lambda size: "", lambda: np.zeros(0, np.int32))
    k, best = (int(i) for i in np.unravel_index(each.argmax(), each.shape))
    u = int(lengths[best])
    unit = gcd(n - u, u)

    def links() -> Ints:
        return task.numbers(mine & (network.component[network.src] == k))

    def say(size: float) -> str:
        volume_there = show_size(float(volume[k, best]) / unit * size)
        counted = f"links up {axis.name} counted {(n - u) // unit} times and links down {u // unit}"
        together = words.carry(len(links()), "", float(rate[k, best]) / unit)
        return f"with {counted}, bytes times links are at least {volume_there}, and all {together}"

    return Found(float(each[k, best]), "distance", say, links)


def _apart(task: Task, a: int, n: int) -> Floats:
    """``float64[k, n]``: the parts of D in each component that are for a rank so far up the axis."""
    network, parts, groups = task.network, task.parts, task.groups
    at = network.topology.coords[:, a].astype(np.int64)
    src, dst = groups[:, parts.pair_src], groups[:, parts.pair_dst]
    key = network.component[src].astype(np.int64) * n + (at[dst] - at[src]) % n
    part = np.broadcast_to(parts.pair_part, key.shape)
    total = np.bincount(key.ravel(), part.ravel(), network.components * n)
    return np.asarray(total.reshape(-1, n), float)
