"""How far data must travel: the longest of the shortest routes, and bytes times links in all."""

from dataclasses import dataclass

import numpy as np

from hopcast.graph import alike
from hopcast.graph.distance import Straight, shortest_route, straight
from hopcast.graph.reach import Reached, needs, reach
from hopcast.graph.usable import turned
from hopcast.ir.topology import AnyInts, Floats, Ints
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size

from . import bounds_names as words
from .bounds_kinds import Found, Task, ratio

_PAIRS = 4_000_000  # distances held at once
_SEARCHED = 4500  # ranks of a broken grid that are searched from; a third of a second
_ALIKE = 2048  # ranks above which it pays to look for those that are alike


@dataclass(frozen=True, eq=False)
class Travel:
    """What distances say about a task.

    Shapes: k components.

    Attributes:
        seconds: Latency of the longest shortest route from a holder to a rank in need.
        src, dst: Its ends.
        crossed: ``float64[k]``, parts of D times the links that they cross at least, where single ranks need
            them; 0 of what is copied or summed on the way.
    """

    seconds: float
    src: int
    dst: int
    crossed: Floats


def travel(task: Task) -> Travel:
    """Measure what must travel, by coordinates on whole grids and by search elsewhere.

    Raises:
        InputError: where there is no route.

    Cost: O(ranks) by coordinates; else links times ranks / 64 for each time at which something arrives.
    """
    parts = task.parts
    everyone = parts.between_all or bool(parts.summed_at.any())
    holders = (
        parts.ranks if everyone else np.count_nonzero(parts.copied_from) + len(np.unique(parts.pair_src))
    )
    far = straight(task.network, len(task.groups) * int(holders) > _SEARCHED)
    if far is None:
        return _searched(task)
    if not far.exact:
        _check_reach(task)
    return _by_coordinates(task, far)


def distance(task: Task, how: Travel) -> Found:
    """Bytes for single ranks times the links they take, over what all links carry."""
    network = task.network
    rate = network.capacity(np.ones((1, len(network.links)), bool))[0]
    each = ratio(how.crossed, rate)
    k = int(each.argmax())

    def links() -> Ints:
        return task.numbers(network.component[network.src] == k)

    def say(size: float) -> str:
        volume = show_size(float(how.crossed[k]) * size)
        together = words.carry(len(links()), "", float(rate[k]))
        return f"bytes times links are {volume} on shortest routes, and all {together}"

    return Found(float(each[k]), "distance", say, links)


def latency(task: Task, how: Travel) -> Found:
    """The longest of the shortest routes from a holder to a rank in need."""

    def links() -> Ints:
        return np.array(shortest_route(task.network, how.src, how.dst), np.int32)

    def say(size: float) -> str:
        src, dst = (task.network.topology.place(v) for v in (how.src, how.dst))
        many = words.some_links(len(links()))
        return f"the shortest route from {src} to {dst} takes {show_seconds(how.seconds)} over {many}"

    return Found(how.seconds, "latency", say, links)


def _by_coordinates(task: Task, far: Straight) -> Travel:
    parts, groups = task.parts, task.groups
    worst, ends = -1.0, (0, 0)
    for src, dst in _needed(task, far):
        hops, seconds = far.between(src, dst)
        gone = np.isinf(hops)
        if gone.any():
            raise _cut_off(task, *_pair(src, dst, int(gone.argmax())))
        at = int(seconds.argmax())
        if seconds.flat[at] > worst:
            worst, ends = float(seconds.flat[at]), _pair(src, dst, at)
    each = parts.each_pair * far.total(groups) if parts.each_pair > 0 else np.zeros(len(groups))
    if len(parts.pair_part):
        listed = [far.between(ranks[parts.pair_src], ranks[parts.pair_dst])[0] for ranks in groups]
        each = each + np.array(listed) @ parts.pair_part
    return Travel(max(worst, 0.0), *ends, task.per_component(each))


def _needed(task: Task, far: Straight) -> list[tuple[Ints, Ints]]:
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


def _searched(task: Task) -> Travel:
    """From holders onward; for sums at some ranks, and pairs with fewer ends than starts, from there back."""
    parts, groups = task.parts, task.groups
    forth, back = np.zeros((len(groups), 0), np.int32), np.zeros((len(groups), 0), np.int32)
    many = np.ones(1)
    if parts.between_all:
        forth, many = _sources(task)
    else:
        forth, back = groups[:, parts.copied_from > 0], groups[:, parts.summed_at > 0]
    pairs = (groups[:, parts.pair_src].ravel(), groups[:, parts.pair_dst].ravel())
    onward = len(np.unique(parts.pair_src)) <= len(np.unique(parts.pair_dst))
    best = Travel(-1.0, 0, 0, np.zeros(task.network.components))
    for holders, is_back in ((forth, False), (back, True)):
        listed = pairs if onward != is_back else (pairs[0][:0],) * 2
        if holders.size or listed[0].size:
            found = _search(task, holders, listed, many, is_back)
            worse = found if found.seconds > best.seconds else best
            best = Travel(worse.seconds, worse.src, worse.dst, best.crossed + found.crossed)
    return best


def _sources(task: Task) -> tuple[Ints, Floats]:
    """Ranks to search from, and how many each stands for."""
    network, groups = task.network, task.groups
    if len(groups) > 1 or groups.size <= _ALIKE or len(task.parts.pair_src):
        return groups, np.ones(groups.size)
    latency = network.topology.latency[network.links]
    same = alike.classes(network.topology, groups[0], network.links, latency)
    first, many = np.unique(same, return_counts=True)
    return first[None].astype(np.int32), many.astype(float)


def _search(task: Task, holders: Ints, pairs: tuple[Ints, Ints], many: Floats, back: bool) -> Travel:
    network, parts, groups = task.network, task.parts, task.groups
    if back:
        network, pairs = turned(network), (pairs[1], pairs[0])
    asked = needs(network.topology.vertices, holders, groups, pairs)
    lengths = network.topology.latency[network.links]
    found = timed = reach(network, lengths, asked)
    if timed.missing:
        raise _cut_off(task, *(timed.missing[::-1] if back else timed.missing))
    crossed = np.zeros(network.components)
    if parts.each_pair > 0 or len(pairs[0]):
        found = reach(network, np.ones(len(lengths)), asked)
        crossed += _crossed(task, found, asked.sources, many, pairs)
    src, dst = (timed.target, timed.source) if back else (timed.source, timed.target)
    return Travel(timed.farthest, src, dst, crossed)


def _crossed(task: Task, found: Reached, sources: AnyInts, many: Floats, pairs: tuple[Ints, Ints]) -> Floats:
    """Parts of D times links, of each component: ``float64[k]``."""
    network, parts = task.network, task.parts
    crossed = np.zeros(network.components)
    if parts.each_pair > 0:
        np.add.at(crossed, network.component[sources], parts.each_pair * many * found.total)
    if len(pairs[0]):
        part = np.tile(parts.pair_part, len(task.groups))
        np.add.at(crossed, network.component[pairs[0]], part * found.pair)
    return crossed


def _pair(src: Ints, dst: Ints, at: int) -> tuple[int, int]:
    """The pair at a flat place of two arrays that broadcast."""
    both = np.broadcast_arrays(src, dst)
    return int(both[0].flat[at]), int(both[1].flat[at])


def _check_reach(task: Task) -> None:
    """That the first rank of a group reaches all and all reach it, where distances do not say so."""
    for back in (False, True):
        network = turned(task.network) if back else task.network
        asked = needs(network.topology.vertices, task.groups[:, :1], task.groups)
        missing = reach(network, np.ones(len(network.links)), asked).missing
        if missing:
            raise _cut_off(task, *(missing[::-1] if back else missing))


def _cut_off(task: Task, src: int, dst: int) -> InputError:
    topology = task.network.topology
    start, end = topology.place(src), topology.place(dst)
    return InputError(
        f"{topology.name}: no route from rank {src} ({start}) to rank {dst} ({end}) over the "
        f"{len(task.network.links)} of {topology.links} links that are live and may be used; "
        "use more axes or fewer dead links"
    )
