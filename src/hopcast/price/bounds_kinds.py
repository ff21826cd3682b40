"""Each bound by itself: ports, cuts and partitions of one collective on all its groups."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hopcast.graph.cuts import candidate_cuts, candidate_partitions
from hopcast.graph.usable import Usable
from hopcast.ir.topology import Bools, Floats, Ints
from hopcast.units import show_size

from . import bounds_names as words
from .bounds_traffic import Traffic

_CUT_CELLS = 4_000_000  # of (cut, link or rank) held at once
SAME = 1e-12  # a bound must be larger by this part to be named instead of a simpler one


@dataclass(frozen=True, eq=False)
class Found:
    """One bound; its words and links are made only if it is the largest.

    Attributes:
        seconds: Of D = 1 byte; of latency: seconds.
        kind: port, cut, partition, distance or latency.
        say: D to a sentence.
        links: Its links, one way.
        label: ``int32[v]``, of a cut 1 for the side that is left and 0 for all else, of a partition the part
            of each vertex, -1 for none; else None.
    """

    seconds: float
    kind: str
    say: Callable[[float], str]
    links: Callable[[], Ints]
    label: Ints | None = None


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

    @property
    def is_plain(self) -> bool:
        """Whether the network is a whole grid whose links are alike."""
        rate = self.network.rate
        return self.network.straight and bool(np.all(rate == rate[:1]))

    @property
    def is_full(self) -> bool:
        """Whether it is plain and full of ranks, one group in each component: closed forms are for these."""
        return self.is_plain and self.is_apart and self.groups.size == self.network.topology.chips

    @property
    def is_apart(self) -> bool:
        """Whether no two groups are in one component."""
        return len(np.unique(self.network.component[self.groups[:, 0]])) == len(self.groups)

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
    ratios = [ratio(demand, rate) for _, demand, rate in choices]
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
    best, k, demand_there, rate_there, is_both = 0.0, 0, 0.0, 0.0, False
    here: Bools = np.zeros(network.topology.vertices, bool)
    held = max(1, _CUT_CELLS // max(len(network.links), task.groups.size, 1))
    for at in range(0, len(sets), held):
        inside = sets[at : at + held]
        begins, ends = inside[:, network.src], inside[:, network.dst]
        mine = inside[:, task.groups]
        out, back = task.parts.leaving(mine), task.parts.leaving(~mine)
        ways = [(inside, begins & ~ends, out), (~inside, ends & ~begins, back)]
        either = begins ^ ends
        if network.shared:
            ways.append((inside, either, out + back))
        for within, crossing, part in ways:
            demand, rate = task.per_component(part), network.capacity(crossing)
            each = ratio(demand, rate)
            c, j = (int(i) for i in np.unravel_index(each.argmax(), each.shape))
            if each[c, j] > best * (1 + SAME):
                best, k, here = float(each[c, j]), j, within[c] & (network.component == j)
                demand_there, rate_there = float(demand[c, j]), float(rate[c, j])
                is_both = crossing is either

    def links() -> Ints:
        begins, ends = here[network.src], here[network.dst]
        cross = begins ^ ends if is_both else begins & ~ends
        return task.numbers(cross & (network.component[network.src] == k))

    def say(size: float) -> str:
        place = words.members(network.topology, here, network.component == k)
        between = f"between {place} and the rest" if is_both else f"from {place} to the rest"
        volume = show_size(demand_there * size)
        return f"{words.carry(len(links()), between, rate_there)}, and at least {volume} must cross"

    return Found(best, "cut", say, links, here.astype(np.int32))


def partitions(task: Task, in_network: bool, summing: Ints | None = None) -> Found:
    """The worst of the candidate partitions; where some switches reduce, of those with all of them in parts.

    Where a grid is plain and full of ranks, chips by themselves are the worst: an axis a left whole makes
    parts of its chips, and for any other axis b, links(a) / (a - 1) >= 1 and links(b) / (b - 1) <= 2 <= b,
    so b links(a) / (a - 1) >= links(b) / (b - 1) and the parts are joined by more than they need.
    """
    if in_network and summing is not None:
        parted = candidate_partitions(task.network.topology)
        inside = (t for t in parted if np.all(t[summing] >= 0))
        only = np.arange(task.network.topology.vertices) < task.network.topology.chips
        only[summing] = True
        # A part without the switches that only pass on may have less that leads out of it.
        both = itertools.chain.from_iterable((t, np.where(only, t, -1).astype(np.int32)) for t in inside)
        return worst_partition(task, both, "no switch between them reduces")
    if not are_partitions_bounds(task, in_network):
        return worst_partition(task, ())
    tried = candidate_partitions(task.network.topology)
    return worst_partition(task, itertools.islice(tried, 1) if task.is_full else tried)


def are_partitions_bounds(task: Task, in_network: bool) -> bool:
    """Whether partitions bound more than ports and cuts do.

    Without switches a network cannot sum by itself, and copies are bounded as well by ports and cuts; but at
    half duplex every cable carries what goes into some part or what comes out of it, and not both.
    """
    topology = task.network.topology
    if topology.vertices > topology.chips:
        return not in_network
    return task.network.shared or task.parts.summed_everywhere > 0


def worst_partition(task: Task, labels: Iterable[Ints], where: str = "only ranks reduce") -> Found:
    """Sends between the parts of a partition, over what all links between parts carry; the worst of some."""
    network, topology = task.network, task.network.topology
    best, k, sends_there, rate_there, is_twice = 0.0, 0, 0.0, 0.0, False
    label: Ints = np.zeros(topology.vertices, np.int32)
    border: Bools = np.zeros(len(network.links), bool)
    for tried in labels:
        sends = task.per_component(task.parts.transfers(_distinct(tried[task.groups])))
        begins, ends = tried[network.src], tried[network.dst]
        leaves, enters = (begins >= 0) & (begins != ends), (ends >= 0) & (begins != ends)
        # A send leaves a part and enters one: over one link, or over one before a switch and one behind it.
        rates = network.capacity(np.stack([leaves, enters, leaves & enters, leaves | enters]))
        both = leaves | enters
        ways = [(leaves, sends, rates[0]), (enters, sends, rates[1]), (both, 2 * sends, rates[2] + rates[3])]
        for chosen, crossings, rate in ways:
            each = ratio(crossings, rate)
            j = int(each.argmax())
            if each[j] > best * (1 + SAME):
                best, label, k, border = float(each[j]), tried, j, chosen
                sends_there, rate_there = float(crossings[j]), float(rate[j])
                is_twice = chosen is both and bool(rates[2][j])

    def links() -> Ints:
        return task.numbers(border & (network.component[network.src] == k))

    def say(size: float) -> str:
        there = np.where(network.component == k, label, -1)
        count = len(np.unique(there[there >= 0]))
        between, volume = f"between {count} {words.parts(topology, there)}", show_size(sends_there * size)
        together = words.carry(len(links()), between, rate_there)
        if is_twice:  # whatever crosses is counted where it leaves a part and where it enters one
            together += ", those from part to part counted twice"
        return f"{together}, and where {where} at least {volume} must cross them"

    return Found(best, "partition", say, links, label)


def _distinct(labels: Ints) -> Ints:
    """How many different labels each row has."""
    ordered = np.sort(labels, axis=1)
    return np.asarray(1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1), np.int32)


def ratio(demand: Floats, rate: Floats) -> Floats:
    """Seconds; 0 where nothing is carried, for what cannot be reached is an error elsewhere."""
    return np.divide(demand, rate, out=np.zeros_like(demand), where=rate > 0)
