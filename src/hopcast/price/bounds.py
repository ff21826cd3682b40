"""The least time that any schedule can take: no answer is ever below physics.

A bound is the largest of several, each of which every schedule must respect:

- port: what a rank must send and receive, over what its links carry;
- cut: what must go from some ranks to the others, over what the links between carry, each direction by itself;
- partition: a sum needed everywhere must cross between k parts 2 (k - 1) times if only ranks sum;
- distance: data for one rank take as many links as it is away, out of what all links carry;
- latency: the longest of the shortest routes that data must travel.

Where usable links fall into components (the rows of a torus), every component is bounded by itself.

Source: Thompson 1979 (cuts); Tutte 1961 and Nash-Williams 1961 (partitions); Zhao et al. 2024, arXiv:2402.06787 (cuts
of collectives). A bound of log2(n) rounds is not among them: a rank may use all its links at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.graph.cuts import candidate_cuts, candidate_partitions
from hopcast.graph.distance import Searched, Straight, distances, shortest_route
from hopcast.graph.usable import Usable, usable
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import Collective
from hopcast.ir.topology import Bools, Floats, Ints
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds, show_size

from . import bounds_names as words
from .bounds_traffic import Traffic, traffic

_CUT_CELLS = 4_000_000  # of (cut, link or rank) held at once
_PAIRS = 4_000_000  # distances held at once
_SAME = 1e-9  # a bound must be larger by this part to be named instead of a simpler one
# A figure whose key begins with one of these says that switches reduce or multicast.
IN_NETWORK = ("nvls.", "sharp.")


@dataclass(frozen=True, eq=False)
class Bound:
    """The least time, and what makes it so.

    Attributes:
        seconds: The larger of the two below.
        kind: port, cut, partition, distance, latency, or none where nothing has to move.
        what: One sentence that names the port, cut or route.
        links: ``int32[...]``, its links, one way.
        bandwidth_seconds: What bytes take.
        latency_seconds: What the longest route takes.
    """

    seconds: float
    kind: str
    what: str
    links: Ints
    bandwidth_seconds: float
    latency_seconds: float


@dataclass(frozen=True, eq=False)
class _Found:
    """One bound; what it says is made only if it is the largest. Times are for D = 1 byte, but of latency."""

    seconds: float
    kind: str
    say: Callable[[float], str]
    links: Callable[[], Ints]


@dataclass(frozen=True, eq=False)
class _Task:
    """What must move where: one collective on all groups, over the usable links."""

    network: Usable
    parts: Traffic
    groups: Ints
    where: Ints  # component of each group

    def per_component(self, each: Floats) -> Floats:
        """Sums over the groups of each component: ``[..., g]`` to ``[..., k]``."""
        if self.network.components == 1:
            return np.asarray(each.sum(-1, keepdims=True))
        flat = each.reshape(-1, each.shape[-1])
        total = np.zeros((self.network.components, len(flat)))
        np.add.at(total, self.where, flat.T)
        return np.ascontiguousarray(total.T).reshape(*each.shape[:-1], self.network.components)


def bound(
    cluster: Cluster, collective: Collective | Traffic, groups: Ints, size: float, links: Bools | None = None, *,
    in_network: bool = False, share: Floats | None = None,
) -> Bound:  # fmt: skip
    """The least time of a collective on all groups at once, over some links.

    Args:
        cluster: Gives the links.
        collective: Of one group; for named ones with equal shards ``bounds_traffic.standard`` is cheaper to make.
        groups: ``int32[g, n]``, the chips of every group.
        size: D of one group, bytes.
        links: ``bool[m]``, links that may be used; all if not given. Dead ones are never used.
        in_network: Whether switches may reduce and multicast, and not only ranks.
        share: ``float64[chunks]``, the part of D that each chunk of ``collective`` is.

    Raises:
        InputError: if a rank cannot be reached over these links.

    Cost: O(n) for ports, a few milliseconds for cuts, and distances by coordinates or one search per rank.

    >>> from hopcast.topologies import torus
    >>> from hopcast.ir.collective import of
    >>> grid = Cluster("torus:4x4", torus.build("torus:4x4", (4, 4), 1e9, 0.0), "torus", "dimension_order")
    >>> found = bound(grid, of("all_gather", 16), np.arange(16, dtype=np.int32)[None], 64e9)
    >>> found.seconds, found.kind
    (15.0, 'port')
    """
    parts = collective if isinstance(collective, Traffic) else traffic(collective, share)
    if parts.is_empty:
        return Bound(0.0, "none", "nothing has to move", np.zeros(0, np.int32), 0.0, 0.0)
    network = usable(cluster.topology, links)
    task = _Task(network, parts, np.asarray(groups, np.int32), network.component[np.asarray(groups)[:, 0]])
    far = _distances(task)
    route = _latency(task, far)
    found = [_ports(task), _cuts(task), _partitions(task, in_network), _distance(task, far)]
    best = found[0]
    for other in found[1:]:
        best = other if other.seconds > best.seconds * (1 + _SAME) else best
    volume, latency = best.seconds * size, route.seconds
    chosen = route if latency > volume * (1 + _SAME) else best
    kind = chosen.kind if max(volume, latency) > 0 else "none"
    return Bound(max(volume, latency), kind, chosen.say(size), chosen.links(), volume, latency)


def bound_on_axes(
    cluster: Cluster, collective: Collective | Traffic, groups: Ints, size: float, axes: Sequence[int] | None = None, *,
    in_network: bool = False, share: Floats | None = None,
) -> Bound:  # fmt: skip
    """The bound over the links along some physical axes (None: all links). Arguments and errors as of `bound`."""
    mask = None if axes is None else np.isin(cluster.topology.axis, np.asarray(axes, np.int64))
    return bound(cluster, collective, groups, size, mask, in_network=in_network, share=share)


def limit(
    cluster: Cluster, collective: Collective | Traffic, groups: Ints, size: float, share: Floats | None = None
) -> Bound:
    """The bound over every link and with every ability that the cluster has, also those that the algorithm leaves idle.

    Switches reduce and multicast if the cluster has a figure of one of the abilities ``IN_NETWORK``. Arguments and
    errors as of `bound`.
    """
    able = any(key.startswith(IN_NETWORK) for key in cluster.figures)
    return bound(cluster, collective, groups, size, None, in_network=able, share=share)


def worst_cut(task: _Task, cuts: Bools) -> _Found:
    """The cut, of those given, that takes longest in one of its components and directions.

    At half duplex also both directions together, over the cables that the cut parts.

    Shapes: ``cuts`` is ``bool[c, v]``.
    """
    network, best = task.network, (0.0, np.zeros(0, bool), 0, 0.0, 0.0)
    held = max(1, _CUT_CELLS // max(len(network.links), task.groups.size, 1))
    for at in range(0, len(cuts), held):
        inside = cuts[at : at + held]
        begins, ends = inside[:, network.src], inside[:, network.dst]
        mine = inside[:, task.groups]
        ways = [
            (inside, begins & ~ends, task.parts.leaving(mine)),
            (~inside, ends & ~begins, task.parts.leaving(~mine)),
        ]
        if network.shared:
            ways.append((inside, begins ^ ends, ways[0][2] + ways[1][2]))
        for within, crossing, part in ways:
            demand, rate = task.per_component(part), network.capacity(crossing)
            ratio = np.divide(demand, rate, out=np.zeros_like(demand), where=rate > 0)
            c, k = (int(i) for i in np.unravel_index(ratio.argmax(), ratio.shape)) if ratio.size else (0, 0)
            if ratio.size and ratio[c, k] > best[0] * (1 + _SAME):
                here = within[c] & (network.component == k)
                best = (float(ratio[c, k]), here, k, float(demand[c, k]), float(rate[c, k]))
    seconds, here, k, demand, rate_there = best

    def crossing_links() -> Ints:
        begins, ends = here[network.src], here[network.dst]
        cross = begins ^ ends if network.shared else begins & ~ends
        return np.sort(network.links[cross & (network.component[network.src] == k)]).astype(np.int32)

    def say(size: float) -> str:
        place = words.members(network.topology, here, network.component == k)
        ways_ = "between" if network.shared else "from"
        other = "and the rest" if network.shared else "to the rest"
        return (
            f"{words.some_links(len(crossing_links()))} {ways_} {place} {other} carry {show_rate(rate_there)} together, "
            f"and at least {show_size(demand * size)} must cross"
        )

    return _Found(seconds, "cut", say, crossing_links if seconds else _no_links)


def _cuts(task: _Task) -> _Found:
    return worst_cut(task, candidate_cuts(task.network.topology))


def _ports(task: _Task) -> _Found:
    """Single chips: sent, received, and at half duplex both over the same cables."""
    network, chips = task.network, task.network.topology.vertices
    sent, received = task.parts.port()
    where = task.groups.ravel()
    out, into = (np.bincount(where, np.tile(p, len(task.groups)), chips) for p in (sent, received))
    rates = network.at_vertices()
    choices = [("send", out, rates[0]), ("receive", into, rates[1])]
    if network.shared:
        choices.append(("send and receive", out + into, rates[2]))
    ratios = [np.divide(d, r, out=np.zeros(chips), where=r > 0) for _, d, r in choices]
    which = max(range(len(ratios)), key=lambda i: (float(ratios[i].max()), -i))
    v = int(ratios[which].argmax())
    verb, demand, rate = choices[which]

    def links() -> Ints:
        ends = [network.src == v, network.dst == v, (network.src == v) | (network.dst == v)][which]
        return np.sort(network.links[ends]).astype(np.int32)

    def say(size: float) -> str:
        name = network.topology.place(v)
        return (
            f"{words.chip(name)} must {verb} at least {show_size(demand[v] * size)}, and its "
            f"{words.some_links(len(links()))} carry {show_rate(rate[v])} together"
        )

    return _Found(float(ratios[which][v]), "port", say, links)


def _partitions(task: _Task, in_network: bool) -> _Found:
    """Sends between the parts of a partition, over what all links between parts carry."""
    network, topology = task.network, task.network.topology
    best = (0.0, np.zeros(topology.vertices, np.int32), 0, 0.0, 0.0)
    switches = topology.vertices > topology.chips
    # Where there are no switches a network cannot sum by itself, and copies alone are bounded as well by ports and cuts.
    wanted = not in_network if switches else task.parts.summed_everywhere > 0
    for label in candidate_partitions(topology) if wanted else ():
        sends = task.per_component(task.parts.transfers(_distinct(label[task.groups])))
        begins, ends = label[network.src], label[network.dst]
        leaves, enters = (begins >= 0) & (begins != ends), (ends >= 0) & (begins != ends)
        # A send leaves a part and enters one: on the same link, or on one link before a switch and one behind it.
        rates = network.capacity(np.stack([leaves, enters, leaves & enters, leaves | enters]))
        for rate in (rates[0], rates[1], (rates[2] + rates[3]) / 2):
            ratio = np.divide(sends, rate, out=np.zeros_like(sends), where=rate > 0)
            k = int(ratio.argmax())
            if ratio[k] > best[0] * (1 + _SAME):
                best = (float(ratio[k]), label, k, float(sends[k]), float(rate[k]))
    seconds, label, k, sends_there, rate_there = best

    def links() -> Ints:
        cross = (label[network.src] != label[network.dst]) & (network.component[network.src] == k)
        return np.sort(network.links[cross]).astype(np.int32)

    def say(size: float) -> str:
        count = len(np.unique(label[(network.component == k) & (label >= 0)]))
        return (
            f"{words.some_links(len(links()))} between {count} {words.parts(topology, label)} carry "
            f"{show_rate(rate_there)} together, and without reduction in the network at least "
            f"{show_size(sends_there * size)} must cross them"
        )

    return _Found(seconds, "partition", say, links if seconds else _no_links)


def _distinct(labels: Ints) -> Ints:
    """How many different labels each row has."""
    ordered = np.sort(labels, axis=1)
    return np.asarray(1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1), np.int32)


def _distance(task: _Task, far: Straight | Searched) -> _Found:
    """Bytes times links, over what all links carry."""
    network, parts, groups = task.network, task.parts, task.groups
    each = np.zeros(len(groups))
    if parts.each_pair > 0:
        each += parts.each_pair * far.total(groups)
    if len(parts.pair_part):
        for g in range(len(groups)):
            hops, _ = far.between(groups[g, parts.pair_src], groups[g, parts.pair_dst])
            each[g] += float(hops @ parts.pair_part)
    crossed = task.per_component(each)
    rate = network.capacity(np.ones((1, len(network.links)), bool))[0]
    ratio = np.divide(crossed, rate, out=np.zeros_like(crossed), where=rate > 0)
    k = int(ratio.argmax())

    def links() -> Ints:
        return np.sort(network.links[network.component[network.src] == k]).astype(np.int32)

    def say(size: float) -> str:
        return (
            f"on shortest routes the data take {show_size(crossed[k] * size)} of links, and all "
            f"{words.some_links(len(links()))} carry {show_rate(rate[k])} together"
        )

    return _Found(float(ratio[k]), "distance", say, links)


def _distances(task: _Task) -> Straight | Searched:
    """From every rank that holds something that another needs."""
    parts, groups = task.parts, task.groups
    if parts.between_all or parts.summed_at.any():
        return distances(task.network, groups.ravel())
    local = np.unique(np.concatenate([np.flatnonzero(parts.copied_from), parts.pair_src]))
    return distances(task.network, groups[:, local.astype(np.int64)].ravel())


def _latency(task: _Task, far: Straight | Searched) -> _Found:
    """The longest of the shortest routes from a holder to a rank in need.

    Raises:
        InputError: where there is no route.
    """
    worst, ends = -1.0, (0, 0)
    for src, dst in _needs(task, far):
        hops, seconds = far.between(src, dst)
        if np.isinf(hops).any():
            at = np.unravel_index(int(np.isinf(hops).argmax()), hops.shape)
            raise _cut_off(
                task, int(np.broadcast_to(src, hops.shape)[at]), int(np.broadcast_to(dst, hops.shape)[at])
            )
        at = np.unravel_index(int(seconds.argmax()), seconds.shape)
        if seconds[at] > worst:
            worst = float(seconds[at])
            ends = int(np.broadcast_to(src, seconds.shape)[at]), int(np.broadcast_to(dst, seconds.shape)[at])
    if not far.exact:
        _check_reach(task)
    topology = task.network.topology

    def links() -> Ints:
        return np.array(shortest_route(task.network, *ends), np.int32)

    def say(size: float) -> str:
        return (
            f"the shortest route from {topology.place(ends[0])} to {topology.place(ends[1])} takes {show_seconds(worst)} "
            f"over {words.some_links(len(links()))}"
        )

    return _Found(max(worst, 0.0), "latency", say, links)


def _needs(task: _Task, far: Straight | Searched) -> list[tuple[Ints, Ints]]:
    """Pairs that data must travel, as arrays that broadcast; of all pairs of a group those that matter."""
    parts, groups = task.parts, task.groups
    pairs: list[tuple[Ints, Ints]] = []
    if parts.between_all:
        corner = far.corners(groups)
        if corner is not None:
            pairs.append((corner[:, None], groups))
        else:
            held = max(1, _PAIRS // max(groups.size, 1))
            some = [groups[:, i : i + held] for i in range(0, parts.ranks, held)]
            pairs += [(s[:, :, None], groups[:, None, :]) for s in some]
    else:
        pairs += [(groups[:, r, None], groups) for r in np.flatnonzero(parts.copied_from)]
        pairs += [(groups, groups[:, r, None]) for r in np.flatnonzero(parts.summed_at)]
    if len(parts.pair_src):
        pairs.append((groups[:, parts.pair_src], groups[:, parts.pair_dst]))
    return pairs


def _check_reach(task: _Task) -> None:
    """That all ranks of a group reach each other, where distances do not say so."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    network, v = task.network, task.network.topology.vertices
    graph = coo_array((np.ones(len(network.links), np.int8), (network.src, network.dst)), (v, v)).tocsr()
    _, label = connected_components(graph, directed=True, connection="strong")
    apart = label[task.groups] != label[task.groups[:, :1]]
    if apart.any():
        g, r = np.unravel_index(int(apart.argmax()), apart.shape)
        raise _cut_off(task, int(task.groups[g, 0]), int(task.groups[g, r]))


def _cut_off(task: _Task, src: int, dst: int) -> InputError:
    topology = task.network.topology
    dead = " that are live" if np.any(topology.bandwidth == 0) else ""
    return InputError(
        f"{topology.name}: rank {dst} ({topology.place(dst)}) is cut off from rank {src} ({topology.place(src)}) "
        f"on the links{dead} among those to be used; revive a link or use more axes"
    )


def _no_links() -> Ints:
    return np.zeros(0, np.int32)
