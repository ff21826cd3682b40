"""Each bound by itself: ports, cuts, partitions, distance and latency of one collective on all its groups."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hopcast.graph.cuts import candidate_cuts, candidate_partitions
from hopcast.graph.distance import Searched, Straight, distances, shortest_route
from hopcast.graph.usable import Usable
from hopcast.ir.topology import Bools, Floats, Ints
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size

from . import bounds_names as words
from .bounds_traffic import Traffic

_CUT_CELLS = 4_000_000  # of (cut, link or rank) held at once
_PAIRS = 4_000_000  # distances held at once
SAME = 1e-12  # a bound must be larger by this part to be named instead of a simpler one


@dataclass(frozen=True, eq=False)
class Found:
    """One bound; its words and links are made only if it is the largest.

    Attributes:
        seconds: Of D = 1 byte; of latency: seconds.
        kind: port, cut, partition, distance or latency.
        say: D to a sentence.
        links: Its links, one way.
    """

    seconds: float
    kind: str
    say: Callable[[float], str]
    links: Callable[[], Ints]


@dataclass(frozen=True, eq=False)
class Task:
    """What must move where: one collective on all groups, over the usable links.

    Shapes: g groups of n ranks, k components of the network.

    Attributes:
        network: The links.
        parts: Of each group.
        groups: ``int32[g, n]``.
    """

    network: Usable
    parts: Traffic
    groups: Ints

    def per_component(self, each: Floats) -> Floats:
        """Sums over the groups of each component: ``[..., g]`` to ``[..., k]``."""
        if self.network.components == 1:
            return np.asarray(each.sum(-1, keepdims=True))
        flat = each.reshape(-1, each.shape[-1])
        total = np.zeros((self.network.components, len(flat)))
        np.add.at(total, self.network.component[self.groups[:, 0]], flat.T)
        return np.ascontiguousarray(total.T).reshape(*each.shape[:-1], self.network.components)

    def numbers(self, chosen: Bools) -> Ints:
        """Link numbers of some usable links, ascending. Shapes: ``chosen`` is ``bool[u]``."""
        return np.sort(self.network.links[chosen]).astype(np.int32)


def ports(task: Task) -> Found:
    """Single chips: what they send, what they receive, and at half duplex both over the same cables."""
    network, vertices = task.network, task.network.topology.vertices
    where = task.groups.ravel()
    each = (np.tile(p, len(task.groups)) for p in task.parts.port())
    out, into = (np.bincount(where, p, vertices).astype(float) for p in each)
    rates = network.at_vertices()
    choices = [("send", out, rates[0]), ("receive", into, rates[1])]
    if network.shared:
        choices.append(("send and receive", out + into, rates[2]))
    ratios = [_ratio(demand, rate) for _, demand, rate in choices]
    which = max(range(len(ratios)), key=lambda i: (float(ratios[i].max()), -i))
    v = int(ratios[which].argmax())
    verb, demand, rate = choices[which]

    def links() -> Ints:
        leaves, enters = network.src == v, network.dst == v
        return task.numbers((leaves, enters, leaves | enters)[which])

    def say(size: float) -> str:
        name, volume = words.chip(network.topology.place(v)), show_size(float(demand[v]) * size)
        return (
            f"{name} must {verb} at least {volume}, and its {words.carry(len(links()), '', float(rate[v]))}"
        )

    return Found(float(ratios[which][v]), "port", say, links)


def cuts(task: Task) -> Found:
    """The worst of the candidate cuts."""
    return worst_cut(task, candidate_cuts(task.network.topology, not task.parts.alike))


def worst_cut(task: Task, sets: Bools) -> Found:
    """The cut, of those given, that takes longest in one of its components and directions.

    At half duplex also both directions together, over the cables that the cut parts.

    Shapes: ``sets`` is ``bool[c, v]``.
    """
    network = task.network
    best, here, k, demand_there, rate_there = 0.0, np.zeros(network.topology.vertices, bool), 0, 0.0, 0.0
    held = max(1, _CUT_CELLS // max(len(network.links), task.groups.size, 1))
    for at in range(0, len(sets), held):
        inside = sets[at : at + held]
        begins, ends = inside[:, network.src], inside[:, network.dst]
        mine = inside[:, task.groups]
        out, back = task.parts.leaving(mine), task.parts.leaving(~mine)
        ways = [(inside, begins & ~ends, out), (~inside, ends & ~begins, back)]
        if network.shared:
            ways.append((inside, begins ^ ends, out + back))
        for within, crossing, part in ways:
            demand, rate = task.per_component(part), network.capacity(crossing)
            ratio = _ratio(demand, rate)
            c, j = (int(i) for i in np.unravel_index(ratio.argmax(), ratio.shape))
            if ratio[c, j] > best * (1 + SAME):
                best, k, here = float(ratio[c, j]), j, within[c] & (network.component == j)
                demand_there, rate_there = float(demand[c, j]), float(rate[c, j])

    def links() -> Ints:
        begins, ends = here[network.src], here[network.dst]
        cross = begins ^ ends if network.shared else begins & ~ends
        return task.numbers(cross & (network.component[network.src] == k))

    def say(size: float) -> str:
        place = words.members(network.topology, here, network.component == k)
        between = f"between {place} and the rest" if network.shared else f"from {place} to the rest"
        volume = show_size(demand_there * size)
        return f"{words.carry(len(links()), between, rate_there)}, and at least {volume} must cross"

    return Found(best, "cut", say, links)


def partitions(task: Task, in_network: bool) -> Found:
    """Sends between the parts of a partition, over what all links between parts carry."""
    network, topology = task.network, task.network.topology
    switches = topology.vertices > topology.chips
    # Without switches a network cannot sum by itself, and copies are bounded as well by ports and cuts.
    wanted = not in_network if switches else task.parts.summed_everywhere > 0
    best, k, sends_there, rate_there = 0.0, 0, 0.0, 0.0
    label: Ints = np.zeros(topology.vertices, np.int32)
    border: Bools = np.zeros(len(network.links), bool)
    for tried in candidate_partitions(topology) if wanted else ():
        sends = task.per_component(task.parts.transfers(_distinct(tried[task.groups])))
        begins, ends = tried[network.src], tried[network.dst]
        leaves, enters = (begins >= 0) & (begins != ends), (ends >= 0) & (begins != ends)
        # A send leaves a part and enters one: over one link, or over one before a switch and one behind it.
        rates = network.capacity(np.stack([leaves, enters, leaves & enters, leaves | enters]))
        both = leaves | enters
        ways = [(leaves, sends, rates[0]), (enters, sends, rates[1]), (both, 2 * sends, rates[2] + rates[3])]
        for chosen, crossings, rate in ways:
            ratio = _ratio(crossings, rate)
            j = int(ratio.argmax())
            if ratio[j] > best * (1 + SAME):
                best, label, k, border = float(ratio[j]), tried, j, chosen
                sends_there, rate_there = float(crossings[j]), float(rate[j])

    def links() -> Ints:
        return task.numbers(border & (network.component[network.src] == k))

    def say(size: float) -> str:
        count = len(np.unique(label[(network.component == k) & (label >= 0)]))
        between, volume = f"between {count} {words.parts(topology, label)}", show_size(sends_there * size)
        together = words.carry(len(links()), between, rate_there)
        return f"{together}, and where only ranks reduce at least {volume} must cross them"

    return Found(best, "partition", say, links)


def distance(task: Task, far: Straight | Searched) -> Found:
    """Bytes for single ranks times the links they take, over what all links carry."""
    network, parts, groups = task.network, task.parts, task.groups
    each = parts.each_pair * far.total(groups) if parts.each_pair > 0 else np.zeros(len(groups))
    if len(parts.pair_part):
        hops = [far.between(ranks[parts.pair_src], ranks[parts.pair_dst])[0] for ranks in groups]
        each = each + np.array(hops) @ parts.pair_part
    crossed = task.per_component(each)
    rate = network.capacity(np.ones((1, len(network.links)), bool))[0]
    ratio = _ratio(crossed, rate)
    k = int(ratio.argmax())

    def links() -> Ints:
        return task.numbers(network.component[network.src] == k)

    def say(size: float) -> str:
        volume, together = show_size(float(crossed[k]) * size), words.carry(len(links()), "", float(rate[k]))
        return f"bytes times links are {volume} on shortest routes, and all {together}"

    return Found(float(ratio[k]), "distance", say, links)


def latency(task: Task, far: Straight | Searched) -> Found:
    """The longest of the shortest routes from a holder to a rank in need.

    Raises:
        InputError: where there is no route.
    """
    worst, ends, topology = -1.0, (0, 0), task.network.topology
    for src, dst in _needs(task, far):
        hops, seconds = far.between(src, dst)
        gone = np.isinf(hops)
        if gone.any():
            raise _cut_off(task, *_pair(src, dst, int(gone.argmax())))
        at = int(seconds.argmax())
        if seconds.flat[at] > worst:
            worst, ends = float(seconds.flat[at]), _pair(src, dst, at)
    if not far.exact:
        _check_reach(task)

    def links() -> Ints:
        return np.array(shortest_route(task.network, *ends), np.int32)

    def say(size: float) -> str:
        src, dst = (topology.place(v) for v in ends)
        many = words.some_links(len(links()))
        return f"the shortest route from {src} to {dst} takes {show_seconds(worst)} over {many}"

    return Found(max(worst, 0.0), "latency", say, links)


def distances_of(task: Task) -> Straight | Searched:
    """From every rank that holds something that another needs."""
    parts, groups = task.parts, task.groups
    if parts.between_all or parts.summed_at.any():
        return distances(task.network, groups.ravel())
    local = np.union1d(np.flatnonzero(parts.copied_from), parts.pair_src).astype(np.int64)
    return distances(task.network, groups[:, local].ravel())


def _needs(task: Task, far: Straight | Searched) -> list[tuple[Ints, Ints]]:
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


def _pair(src: Ints, dst: Ints, at: int) -> tuple[int, int]:
    """The pair at a flat place of two arrays that broadcast."""
    both = np.broadcast_arrays(src, dst)
    return int(both[0].flat[at]), int(both[1].flat[at])


def _check_reach(task: Task) -> None:
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


def _cut_off(task: Task, src: int, dst: int) -> InputError:
    topology = task.network.topology
    start, end = topology.place(src), topology.place(dst)
    return InputError(
        f"{topology.name}: no route from rank {src} ({start}) to rank {dst} ({end}) over the "
        f"{len(task.network.links)} of {topology.links} links that are live and may be used; "
        "use more axes or fewer dead links"
    )


def _distinct(labels: Ints) -> Ints:
    """How many different labels each row has."""
    ordered = np.sort(labels, axis=1)
    return np.asarray(1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1), np.int32)


def _ratio(demand: Floats, rate: Floats) -> Floats:
    """Seconds; 0 where nothing is carried, for what cannot be reached is an error elsewhere."""
    return np.divide(demand, rate, out=np.zeros_like(demand), where=rate > 0)
