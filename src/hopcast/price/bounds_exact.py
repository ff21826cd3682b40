"""Bounds that are the optimum, where no closed form has it: broken grids, networks of one's own, switches.

Candidate cuts and partitions are right on whole grids whose links are alike. Elsewhere flows look for what is
thinner than all candidates, starting from the best of them, so that mostly they only confirm it. Whatever
they find is weighed like any candidate: a mistake here could only make a bound lower.

- all_gather, reduce_scatter: the weakest cut for each rank inside (`graph.optimum`);
- broadcast, reduce: the weakest cut between the root and any rank; all_reduce: from one rank, and to it;
- scatter, gather: the weakest cut for each rank behind it;
- all_reduce where only ranks sum: the cheapest partition (`graph.attack`);
- all_to_all, permute, a matrix of traffic: the best routing of all pairs at once (`graph.concurrent`).
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.graph import alike
from hopcast.graph.usable import usable
from hopcast.ir.topology import Bools, Floats, Ints
from hopcast.units import show_size

from . import bounds_names as words
from .bounds_kinds import Found, Task
from .bounds_traffic import Traffic

Longs = npt.NDArray[np.int64]
_VERTICES = 600  # of a whole cluster, beyond which nothing is searched
_FEW = 32  # ranks of which also whole machines are searched; some milliseconds
_WORK = 1_600_000  # ranks times links; a second or so
_VARIABLES = 40_000  # sources times links of a linear program; a second or so
_FEW_GOALS, _FEW_VARIABLES = 4, 10_000  # the same, of sources with so few goals: they take 40 times as long
_SPREAD = 200_000  # the same, where demands are only spread over shortest routes; a tenth of a second


@dataclass(frozen=True, eq=False)
class _Part:
    """A component of the network with the one group in it; of components that are the same only the first.

    Shapes: n ranks, l links.

    Attributes:
        ranks: ``int32[n]``.
        links: ``int64[l]``, places among the usable links.
    """

    ranks: Ints
    links: Longs


def weaker_cuts(task: Task, known: Found) -> Bools:
    """Cuts that may be weaker than a known one, as sets of vertices: ``bool[c, v]``."""
    sides = [s for part in _parts(task) for s in _sides(task, part, known)]
    return np.array(sides) if sides else np.zeros((0, task.network.topology.vertices), bool)


def cheaper_partitions(task: Task, known: Found) -> list[Ints]:
    """Partitions that may be cheaper than a known one, ``int32[v]`` each with -1 for what is in no part."""
    from hopcast.graph.attack import attack  # its modules would slow down the start of every command

    network, found = task.network, []
    for part in _parts(task):
        if _is_settled(task, part):
            continue
        ends, rate = (
            (network.src[part.links], network.dst[part.links]),
            network.rate[network.wire[part.links]],
        )
        if network.shared:  # each wire once
            _, first = np.unique(network.wire[part.links], return_index=True)
            ends, rate = (ends[0][first], ends[1][first]), rate[first]
        here = network.component == network.component[part.ranks[0]]
        start = None if known.label is None else np.where(here, known.label, -1)
        found.append(attack(network.topology.vertices, part.ranks, *ends, rate, start).label)
    return found


def routed(task: Task, known: float) -> tuple[Found | None, bool]:
    """What the best routing of all pairs at once takes, and whether that or what is known is the optimum.

    Args:
        task: Its groups together are one problem, whatever components they are in.
        known: Seconds of D = 1 byte that are proven already; nothing is found if they are the optimum.

    A few pairs (permute) on whole grids and switches are left to cuts and to the two ways round a ring, which
    prove as much there: loading a solver takes longer than all else.
    """
    from hopcast.graph.concurrent import Demands, evenly, lengths, seconds

    network, parts = task.network, task.parts
    ends = min(len(np.unique(parts.pair_src)), len(np.unique(parts.pair_dst)))
    if not _pairs_only(parts) or (parts.each_pair == 0 and ends <= 1):
        return None, False
    if task.is_full and not len(parts.pair_part):
        return None, True
    if not _fits(task) or (len(parts.pair_part) in range(1, parts.ranks + 1) and _is_plain_whole(task)):
        return None, False
    demands = Demands(*pairs_of(task))
    work = len(demands.sources) * len(network.links)
    if work > _SPREAD:
        return None, False
    if evenly(network, demands) <= known * (1 + 1e-9):
        return None, True
    goals = int((demands.wanted > 0).sum(1).max())
    if work > (_VARIABLES if goals > _FEW_GOALS else _FEW_VARIABLES):
        return None, False
    length = lengths(network, demands)
    full = length > 0

    def links() -> Ints:
        return task.numbers(full)

    def say(size: float) -> str:
        rate = float(network.rate[np.unique(network.wire[full])].sum())
        volume = show_size(float(demands.wanted.sum()) * size)
        together = words.carry(len(links()), "", rate)
        return f"{together}, and the best routing of all {volume} fills them"

    return Found(seconds(network, demands, length), "distance", say, links), bool(full.any())


def is_optimum(task: Task, binding: Set[str], in_network: bool) -> bool:
    """Whether some schedule is known to take no more than the bound as D grows; of pairs see `routed`.

    Args:
        task: What was bounded.
        binding: The kinds of bounds that are as large as the largest.
        in_network: Whether switches may sum and multicast.

    Source: packed branchings reach the cuts of all_gather and broadcast (Edmonds 1973; with switches split
    off: Zhao et al. 2024, arXiv:2402.06787), a flow those of scatter, packed trees the partitions of
    all_reduce (Nash-Williams 1961).
    """
    network, parts = task.network, task.parts
    if network.shared or not _is_simple(parts) or not (task.is_full or _is_searched(task)):
        return False
    switches = network.topology.vertices > network.topology.chips
    if parts.summed_everywhere:
        return "partition" in binding and not switches and not in_network and _is_mutual(task)
    if _pairs_only(parts):
        ends = min(len(np.unique(parts.pair_src)), len(np.unique(parts.pair_dst)))
        return (
            bool(binding & {"port", "cut"})
            and ends == 1
            and bool(np.all(parts.pair_part == parts.pair_part[0]))
        )
    out, into, _ = network.at_vertices()
    return bool(binding & {"port", "cut"}) and (not switches or bool(np.allclose(out, into, rtol=1e-12)))


def _parts(task: Task) -> Iterator[_Part]:
    """Components to be searched; none where candidates are right, groups share links or it takes too long."""
    network = task.network
    if task.is_full or not _fits(task) or not task.is_apart:
        return
    rate, seen = network.rate[network.wire], set()
    whose = network.component[network.src]
    for ranks in task.groups:
        links = np.flatnonzero(whose == network.component[ranks[0]])
        ends = network.src[links], network.dst[links]
        place = np.full(network.topology.vertices, -1)
        place[ranks] = np.arange(len(ranks))
        others = np.setdiff1d(np.concatenate(ends), ranks)
        place[others] = len(ranks) + np.arange(len(others))
        print_of = b"".join(x.tobytes() for x in (place[ends[0]], place[ends[1]], rate[links]))
        if print_of not in seen:
            seen.add(print_of)
            yield _Part(ranks, links)


def _sides(task: Task, part: _Part, known: Found) -> list[Bools]:
    """Source sides of cuts of one component; see the list above."""
    network, parts = task.network, task.parts
    vertices = network.topology.vertices
    ends, rate = (network.src[part.links], network.dst[part.links]), network.rate[network.wire[part.links]]
    copies, sums = parts.copied_from, parts.summed_at
    if not _is_simple(parts):
        return []
    from hopcast.graph.weakest import to_all, to_each

    if (copies > 0).all() or (sums > 0).all():
        return [_of_all(task, part, known, bool(sums.any()))]
    if _is_settled(task, part):
        return []
    found: list[Bools | None] = []
    for root in part.ranks[copies > 0]:
        found.append(to_each(vertices, *ends, rate, int(root), part.ranks))
    for root in part.ranks[sums > 0]:
        found.append(to_each(vertices, *ends[::-1], rate, int(root), part.ranks))
    if parts.summed_everywhere:
        root = int(part.ranks[0])
        found += [to_each(vertices, *way, rate, root, part.ranks) for way in (ends, ends[::-1])]
    if len(parts.pair_src) and _are_equal(parts.pair_part):
        src, dst = part.ranks[parts.pair_src], part.ranks[parts.pair_dst]
        if len(np.unique(src)) == 1:
            found.append(to_all(vertices, *ends, rate, int(src[0]), dst))
        elif len(np.unique(dst)) == 1:
            found.append(to_all(vertices, *ends[::-1], rate, int(dst[0]), src))
    return [side for side in found if side is not None]


def _of_all(task: Task, part: _Part, known: Found, back: bool) -> Bools:
    """The cut that binds an all_gather, or a reduce_scatter."""
    from hopcast.graph.optimum import best_rate

    network = task.network
    allowed = np.zeros(network.topology.links, bool)
    allowed[network.links[part.links]] = True
    start = None
    if known.label is not None:
        start = (known.label == (0 if back else 1))[None]
    return best_rate(network.topology, part.ranks, allowed, start=start, backwards=back).side


def pairs_of(task: Task) -> tuple[Longs, Floats]:
    """Sources, and what each vertex wants of each: ``int64[s]`` and ``float64[s, v]``, parts of D."""
    parts, groups = task.parts, task.groups
    sources = np.unique(groups).astype(np.int64)
    place = np.full(task.network.topology.vertices, -1)
    place[sources] = np.arange(len(sources))
    wanted = np.zeros((len(sources), task.network.topology.vertices))
    for ranks in groups:
        if parts.each_pair > 0:
            wanted[np.ix_(place[ranks], ranks)] += parts.each_pair
        np.add.at(wanted, (place[ranks[parts.pair_src]], ranks[parts.pair_dst]), parts.pair_part)
    wanted[np.arange(len(sources)), sources] = 0.0
    busy = wanted.any(1)
    return sources[busy], wanted[busy]


def _is_searched(task: Task) -> bool:
    """Whether every component was searched for what binds it."""
    parts = task.parts
    of_all = bool(np.all(parts.copied_from > 0) or np.all(parts.summed_at > 0))
    return _fits(task) and task.is_apart and (of_all or not any(_is_settled(task, p) for p in _parts(task)))


def _is_settled(task: Task, part: _Part) -> bool:
    """Whether ranks are many and alike: their machine is whole, and candidates are made for such."""
    network = task.network
    rate = network.rate[network.wire[part.links]]
    return len(part.ranks) > _FEW and not np.ptp(
        alike.classes(network.topology, part.ranks, network.links[part.links], rate)
    )


def _is_whole(task: Task) -> bool:
    """Whether the cluster is a whole grid or machine; judged like `_fits` whatever links may be used."""
    topology = task.network.topology
    every = usable(topology)
    same = alike.classes(topology, np.arange(topology.chips), every.links, every.rate[every.wire])
    return not np.ptp(same) or (every.straight and not np.ptp(every.rate))


def _is_plain_whole(task: Task) -> bool:
    """Whether the cluster is a whole grid, or joined by switches; not a mesh of cables, one for each pair."""
    topology = task.network.topology
    return _is_whole(task) and (usable(topology).straight or topology.vertices > topology.chips)


def _fits(task: Task) -> bool:
    # Judged by the whole cluster, so that fewer links are never looked at less closely than more.
    topology = task.network.topology
    return topology.vertices <= _VERTICES and task.groups.size * topology.links <= _WORK


def _is_mutual(task: Task) -> bool:
    """Whether as much leads from each vertex to each other as back."""
    if task.is_plain:
        return True
    network, v = task.network, task.network.topology.vertices
    key = [a.astype(np.int64) * v + b for a, b in ((network.src, network.dst), (network.dst, network.src))]
    rate = network.rate[network.wire]
    place, where = np.unique(np.concatenate(key), return_inverse=True)
    forth = np.bincount(where[: len(rate)], rate, len(place))
    return bool(np.allclose(forth, np.bincount(where[len(rate) :], rate, len(place)), rtol=1e-12))


def _is_simple(parts: Traffic) -> bool:
    """Whether all that moves is of one kind; of copies and sums as much of every rank, or of one alone."""
    kinds: list[bool] = [
        parts.summed_everywhere > 0,
        bool(parts.summed_at.any()),
        bool(parts.copied_from.any()),
        parts.each_pair > 0 or len(parts.pair_part) > 0,
    ]
    ends = parts.summed_at + parts.copied_from
    return sum(kinds) == 1 and (int(np.count_nonzero(ends)) <= 1 or _are_equal(ends))


def _are_equal(part: Floats) -> bool:
    return bool(np.allclose(part, part[:1], rtol=1e-12, atol=0.0))


def _pairs_only(parts: Traffic) -> bool:
    """Whether single ranks need all there is."""
    rest: Floats = np.concatenate([parts.summed_at, parts.copied_from, [parts.summed_everywhere]])
    return not rest.any()
