"""Ways over switches that routing does not take: two sends or more, each over one link.

Where two ranks are joined by a cable and by a switch, a send from one to the other takes the cable. What
trees want to carry over the switch is sent to the switch, and by the switch to the other rank: one copy in,
one copy out, as every switch forwards, one step later. So every way over switches counts, and the optimum of
all links is reached, if as much enters every vertex as leaves it.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np

from hopcast.graph import whole
from hopcast.graph.arborescences import Tree
from hopcast.graph.split import Direct, Network, Path
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Group

from . import _ground, _network

_MOST_RANKS, _MOST_WAYS = 32, 20_000  # together seconds beyond
_GAIN = 1.001  # of the optimum, for which switches are named in sends
Row = tuple[int, int, int, int]  # depth, from where, to where, number of the tree


def of(group: Group, mirrored: bool = False) -> list[_network.Wiring] | str:
    """What trees may grow over: all ways over switches where these lead to more, and the routes alone.

    Args:
        group: Its ranks.
        mirrored: Only where every link and route has its like the other way, if there is such a wiring.

    Returns:
        The one of the greatest rate first, or why there is none.

    Cost: that of `_ground.of`, where switches are not all that joins ranks.
    """
    narrow, cluster = _network.of(group), group.cluster
    if isinstance(narrow, str) and not narrow.startswith(_network.UNEVEN):
        return narrow
    wide = _wide(cluster) if cluster is not None and _is_everyone(cluster, group) else None
    if isinstance(narrow, str):
        return narrow if wide is None else [wide]
    if wide is not None and mirrored and not wide.mirrored:
        wide = None
    if wide is None or not _is_better(narrow, wide):
        return [narrow]
    return [wide, narrow] if all(_ground.of(narrow, turned, 0).kept for turned in (False, True)) else [wide]


def _is_everyone(cluster: Cluster, group: Group) -> bool:
    """Whether vertices of the group, also switches, have the numbers that they have in the cluster."""
    topology, known = cluster.topology, group.hubs.shape[1]
    if not group.ranks == topology.chips <= min(_MOST_RANKS, topology.vertices - 1):
        return False
    every = np.concatenate([group.all_groups, group.hubs], 1) if known else group.all_groups
    return np.array_equal(every, np.arange(group.ranks + known)[None])


@functools.lru_cache(maxsize=64)
def _is_better(narrow: _network.Wiring, wide: _network.Wiring) -> bool:
    """Whether all ways lead to more than the routes do, one way of all links or the other."""
    sides = (False,) if narrow.mirrored else (False, True)
    kept = min(_ground.of(narrow, t, 0).kept * float(_ground.optimum(narrow, t) * narrow.unit) for t in sides)
    best = min(float(_ground.optimum(wide, t) * wide.unit) for t in sides)
    if best <= kept * _GAIN:
        return False
    return min(_ground.of(wide, t, 0).kept for t in sides) * best > kept * _GAIN


@functools.lru_cache(maxsize=64)
def _wide(cluster: Cluster) -> _network.Wiring | None:
    """All ways over the switches of a cluster; None where they are too many or switches are not even."""
    topology, n = cluster.topology, cluster.topology.chips
    links = np.flatnonzero(topology.bandwidth > 0)
    tail, head = topology.src[links].astype(np.int64), topology.dst[links].astype(np.int64)
    if topology.half_duplex or len(np.unique(tail * topology.vertices + head)) < len(links):
        return None  # two links between two vertices, and nothing says what takes which
    found = whole.below(topology.bandwidth[links])
    if found is None:
        return None
    counts, unit = found
    out, into = (np.bincount(end, counts, topology.vertices) for end in (tail, head))
    ways = None if np.any(out != into) else _ways(n, tail, head)
    if ways is None:
        return None
    network = Network(n, topology.vertices, tail, head, counts, ways, topology.coords.astype(np.int64)[:n])
    number = np.full(topology.links, -1)
    number[links] = np.arange(len(links))
    routed, latency = _network.routed(cluster, np.arange(n, dtype=np.int32))
    direct = frozenset(tuple(number[list(path)].tolist()) for path in routed)
    mirrored = _network.is_mirrored(network) and _network.is_mirrored(replace(network, routes=sorted(direct)))
    return _network.Wiring(network, unit, latency, mirrored, direct)


def _ways(ranks: int, tail: _network.Longs, head: _network.Longs) -> list[Path] | None:
    """From rank to rank, past no rank and no vertex twice; None if there are too many."""
    onward: dict[int, list[int]] = {}
    for link, u in enumerate(tail.tolist()):
        onward.setdefault(u, []).append(link)
    ends, found = head.tolist(), []
    grown: list[tuple[Path, frozenset[int]]] = [
        ((link,), frozenset((u, ends[link]))) for u in range(ranks) for link in onward.get(u, ())
    ]
    while grown:
        path, passed = grown.pop()
        if ends[path[-1]] < ranks:
            found.append(path)
        else:
            for link in onward.get(ends[path[-1]], ()):
                if ends[link] not in passed:
                    grown.append(((*path, link), passed | {ends[link]}))
        if len(found) + len(grown) > _MOST_WAYS:
            return None
    return sorted(found)


@dataclass
class _Left:
    """A way between two ranks: the switches that its sends name, and how many trees may still take it."""

    via: tuple[int, ...]
    room: int


def sent(
    trees: list[Tree], network: Network, links: Direct, parts: int, direct: frozenset[Path], turned: bool
) -> tuple[list[Tree], list[Row]]:
    """Edges of trees as sends, some to switches and on; trees whose copies go other ways are parted.

    Args:
        trees: Over ``links``.
        network: Whose switches are named.
        links: Of one or more ways between two ranks.
        parts: Into how many a unit of the links' capacity is cut.
        direct: Ways that routing takes.
        turned: Whether the network is turned round, and ways that routing takes lead backwards.

    Returns:
        The trees, and rows of depth, ends and number of the tree. Of the sends of a tree, no two that are
        less than two steps apart lead to one switch, so that what it holds has left when more comes.
    """
    open_ways: dict[tuple[int, int], list[_Left]] = {}
    ends = zip(links.tail.tolist(), links.head.tolist(), strict=True)
    for pair, path, room in zip(ends, links.routes, links.capacity.tolist(), strict=True):
        known = (path[::-1] if turned else path) in direct
        via = () if known else tuple(network.head[list(path[:-1])].tolist())
        open_ways.setdefault(pair, []).append(_Left(via, room * parts))
    for ways in open_ways.values():
        ways.sort(key=lambda way: len(way.via))
    done: list[Tree] = []
    rows: list[Row] = []
    for tree in trees:
        copies = tree.copies
        while copies:
            taken = _taken(tree, open_ways)
            some = min(copies, *(way.room for way in taken))
            for way in taken:
                way.room -= some
            rows += _rows(tree, taken, len(done))
            done.append(Tree(tree.root, some, tree.edges, tree.depth))
            copies -= some
    return done, rows


def routes(network: Network, direct: frozenset[Path], turned: bool) -> dict[tuple[int, int], list[int]]:
    """The links of each send: those to switches and from them, and ways between ranks that routing takes."""
    ends = list(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    found = {pair: [link] for link, pair in enumerate(ends)}
    for path in (p[::-1] if turned else p for p in direct):
        found[ends[path[0]][0], ends[path[-1]][1]] = list(path)
    return found


def _taken(tree: Tree, open_ways: dict[tuple[int, int], list[_Left]]) -> list[_Left]:
    """A way of each edge that has room, over switches that the tree does not pass yet if it can be."""
    passed: set[int] = set()
    found = []
    for edge in tree.edges:
        ways = [way for way in open_ways[edge] if way.room]
        found.append(next((way for way in ways if passed.isdisjoint(way.via)), ways[0]))
        passed |= set(found[-1].via)
    return found


def _rows(tree: Tree, taken: list[_Left], number: int) -> list[Row]:
    """The sends of a tree, each as soon as its data are there and its switch is free."""
    ready, rows = {tree.root: 0}, []
    busy: set[tuple[int, int]] = set()  # a switch, and a step in which it gets or holds something
    for (u, v), way in zip(tree.edges, taken, strict=True):
        begin = ready[u]
        while any((w, begin + i + j) in busy for i, w in enumerate(way.via) for j in (-1, 0, 1)):
            begin += 1
        stops = u, *way.via, v
        rows += [(begin + i, stops[i], stops[i + 1], number) for i in range(len(stops) - 1)]
        busy |= {(w, begin + i) for i, w in enumerate(way.via)}
        ready[v] = begin + len(way.via) + 1
    return rows
