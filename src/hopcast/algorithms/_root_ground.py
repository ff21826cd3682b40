"""Where the trees of one root grow: links between ranks, in whole numbers of trees."""

import functools
from dataclasses import dataclass, replace

import numpy as np

from hopcast.graph import branchings, split, whole
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group

from . import _links, _network
from ._network import Longs

_MOST_SWITCHED = 256  # ranks whose routes over switches are looked at
_MOST_COUNT = 32  # trees tried, but for one through each other rank
_MOST_THROUGH = 6_000  # edges of these
_ENOUGH = 0.99  # of the most that can flow: more trees are not tried then
_SEVERAL, _PART = 3, 32  # links, and one of so many, that are no exception: a lame cable is two


@dataclass(frozen=True, eq=False)
class Wiring:
    """The network of one group; all groups are wired alike and share no link.

    Attributes:
        network: In units.
        unit: Bytes/s.
        latency: Of the slowest route, seconds.
    """

    network: split.Network
    unit: float
    latency: float


def of_group(group: Group) -> Wiring | str:
    """The links of a group where no switch joins its ranks, else routes over switches; or why it has none."""
    if group.cluster is not None and not group.switched and not group.levels and len(_links.of(group)):
        if not group.duplex:
            return "its cables carry one way at a time, and it counts on both"
        ranks, pairs = (np.ascontiguousarray(c, np.int32) for c in (group.all_groups, _links.of(group)))
        return _of_links(group.cluster, ranks.shape, ranks.tobytes(), pairs.tobytes())
    if group.ranks > _MOST_SWITCHED:
        return (
            f"it looks at the routes over switches of up to {_MOST_SWITCHED} ranks; these are {group.ranks:,}"
        )
    found = _network.of(group)
    return found if isinstance(found, str) else _of_routes(found)


@functools.lru_cache(maxsize=128)
def _of_routes(found: _network.Wiring) -> Wiring:
    return Wiring(found.network, float(found.unit), found.latency)


@functools.lru_cache(maxsize=128)
def _of_links(cluster: Cluster, shape: tuple[int, int], key: bytes, pairs: bytes) -> Wiring | str:
    """Of links alone; groups whose links differ have the slowest of each."""
    topology, groups = cluster.topology, np.frombuffer(key, np.int32).reshape(shape)
    ends = np.frombuffer(pairs, np.int32).reshape(-1, 2)
    live = np.flatnonzero(topology.bandwidth > 0)
    have = topology.src[live].astype(np.int64) * topology.vertices + topology.dst[live]
    order = np.argsort(have, kind="stable")
    wanted = groups[:, ends[:, 0]].astype(np.int64) * topology.vertices + groups[:, ends[:, 1]]
    at = np.minimum(np.searchsorted(have[order], wanted), len(have) - 1)
    link = live[order[at]]
    if np.any(have[order][at] != wanted):
        return "not all neighbours of its groups are joined by a link of their own"
    if len(np.unique(link)) < link.size:
        return "several groups share links, and its trees fill those of one"
    found = whole.below(topology.bandwidth[link].min(0))
    if found is None:
        return whole.UNLIKE
    counts, unit = found
    tail, head = ends.T.astype(np.int64)
    routes = [(i,) for i in range(len(ends))]
    network = split.Network(shape[1], shape[1], tail, head, counts, routes, np.zeros((shape[1], 0), np.int64))
    return Wiring(network, float(unit), float(topology.latency[link].max()))


@dataclass(frozen=True, eq=False)
class Ground:
    """Links between ranks, and how many trees from the root they hold.

    Attributes:
        network: What there is, in units.
        links: Between ranks, in trees.
        count: Trees.
        kept: The part of the optimum that they carry.
    """

    network: split.Network
    links: split.Direct
    count: int
    kept: float


@functools.lru_cache(maxsize=256)
def _ground(wiring: Wiring, root: int, turned: bool, count: int) -> Ground:
    """So many trees of equal parts, or fewer where capacities do not hold whole ones."""
    network = wiring.network.turned() if turned else wiring.network
    most = reach(wiring, root, turned)
    scaled = replace(network, capacity=network.capacity * count // max(most, 1))
    links = split.direct_from(scaled, root, count)
    trees = min(int(links.rate), count) if most else 0
    return Ground(network, links, trees, trees / count)


@functools.lru_cache(maxsize=256)
def reach(wiring: Wiring, root: int, turned: bool) -> int:
    """What can flow from the root to the rank that is hardest to reach, in units."""
    network = wiring.network.turned() if turned else wiring.network
    ends = network.tail, network.head, network.capacity
    return branchings.most(network.vertices, network.ranks, *ends, root)


@functools.lru_cache(maxsize=256)
def grounds(wiring: Wiring, root: int, turned: bool, asked: int) -> list[Ground]:
    """What is worth planning on: the fewest trees that carry all, and one through each other rank.

    Where these do not carry nearly all that can flow, whatever number of trees carries most; and where some
    links are lame, the few shallow trees for rounded rates of these.
    """
    if asked:
        return [_ground(wiring, root, turned, asked)]
    return [*_full(wiring, root, turned), *_rounded(wiring, root, turned)]


def _full(wiring: Wiring, root: int, turned: bool) -> list[Ground]:
    """Those that carry nearly all, or as much as there can be."""
    n, most = wiring.network.ranks, reach(wiring, root, turned)
    switched = wiring.network.vertices > n
    through = n - 1 if switched and (n - 1) ** 2 <= _MOST_THROUGH else 0
    first = [c for c in (most, through) if 0 < c <= max(_MOST_COUNT, through)]
    found = [_ground(wiring, root, turned, c) for c in first]
    good = [g for g in found if g.kept >= _ENOUGH]
    if good:
        return good
    for count in range(1, _MOST_COUNT + 1):
        found.append(_ground(wiring, root, turned, count))
        if found[-1].kept >= _ENOUGH:
            break
    return [max(found, key=lambda g: g.kept)]


def _rounded(wiring: Wiring, root: int, turned: bool) -> list[Ground]:
    """Those of a network with lame links, as if each of these had none, half or all of what its like have.

    What fits a lame link that is rounded down fits every faster one, so with more of it nothing gets worse.
    """
    network = wiring.network.turned() if turned else wiring.network
    capacity, most = network.capacity, reach(wiring, root, turned)
    if not most or not is_lame(network):
        return []
    healthy = _healthy(capacity)
    seen, found = {(capacity // np.gcd.reduce(capacity)).tobytes()}, []
    for parts, up in ((1, False), (1, True), (2, False), (2, True)):
        rounded = healthy * (-(-capacity * parts // healthy) if up else capacity * parts // healthy)
        rounded //= max(1, int(np.gcd.reduce(rounded)))
        ends = network.tail, network.head, rounded
        count = branchings.most(network.vertices, network.ranks, *ends, root)
        if rounded.tobytes() in seen or not 0 < count <= _MOST_COUNT:
            continue
        seen.add(rounded.tobytes())
        links = split.direct_from(replace(network, capacity=rounded), root, count)
        trees = min(int(links.rate), count)
        if trees:
            each = float((capacity[rounded > 0] / rounded[rounded > 0]).min())
            found.append(Ground(network, links, trees, trees * each / most))
    return found


def is_lame(network: split.Network) -> bool:
    """Whether some links have less than their like."""
    capacity = network.capacity
    return bool(capacity.any()) and not np.array_equal(capacity, _healthy(capacity))


def _healthy(capacity: Longs) -> Longs:
    """What the like of each link have: the next rate from its own up that several have, or the greatest."""
    rate, often = np.unique(capacity[capacity > 0], return_counts=True)
    usual = rate[(often >= max(_SEVERAL, len(capacity) // _PART)) | (rate == rate[-1])]
    found: Longs = usual[np.searchsorted(usual, capacity)]
    return found
