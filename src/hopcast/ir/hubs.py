"""The switches that a group of ranks may reduce and multicast in, as vertices of its schedule.

Switch j of a group of n ranks is local vertex n + j; `algebra.lay` puts it where ``Group.hubs`` says.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from hopcast.names import InputError

from .cluster import Cluster
from .group import Group
from .schedule import REDUCE, Schedule, Sends
from .topology import Ints, Topology

ABILITIES = ("nvls", "sharp")
NONE = np.zeros((0, 0), np.int32)


def ability(cluster: Cluster, axis: int) -> str:
    """Whether switches along an axis reduce and multicast: ``nvls``, ``sharp``, or empty where they do not.

    NVLink SHARP is of the switches inside nodes, the last axis of a machine; SHARP of those between nodes.
    A switch that stands alone may have either.

    >>> from hopcast.clusters import cluster
    >>> [ability(cluster("dgx-h100:2"), axis) for axis in (0, 1)], ability(cluster("switch:8"), 0)
    (['sharp', 'nvls'], '')
    """
    axes = len(cluster.topology.axes)
    fits = ABILITIES if axes == 1 else ABILITIES[:1] if axis == axes - 1 else ABILITIES[1:]
    return next((w for w in fits if any(k.startswith(f"{w}.") for k in cluster.figures)), "")


def _unlike(schedule: Schedule) -> Iterator[tuple[int, Sends]]:
    """Steps with their numbers, one of all that are alike."""
    seen = set()
    for i, rows in enumerate(schedule.steps()):
        if schedule.key(i) not in seen:
            seen.add(schedule.key(i))
            yield i, rows


def used(schedule: Schedule, chips: int, most: int) -> Ints | None:
    """The switches that send or receive by themselves; None where more than ``most`` sends would be read."""
    found, count = np.zeros(schedule.vertices, bool), 0
    for _, rows in _unlike(schedule):
        count += len(rows)
        if count > most:
            return None
        found[rows.src] = found[rows.dst] = True
    found[:chips] = False
    return np.flatnonzero(found).astype(np.int32)


def refuse_unable(schedule: Schedule, cluster: Cluster) -> None:
    """A switch adds, or sends on more than once what it has, only where the machine's switches can.

    Args:
        schedule: On vertices of the cluster.
        cluster: Where it is to run.

    Raises:
        InputError: naming a switch that would have to.

    Cost: O(sends), of steps that differ.
    """
    topology = cluster.topology
    for i, rows in _unlike(schedule):
        adds = rows.dst[(rows.op == REDUCE) & (rows.dst >= topology.chips)]
        out = rows.src >= topology.chips
        sent = np.stack([rows.src[out], rows.chunk[out]], 1)
        order = np.lexsort(sent.T)
        again = np.flatnonzero((np.diff(sent[order], axis=0) == 0).all(1))
        copies = sent[order[again], 0]
        for switch, does in [(v, "add") for v in adds[:1]] + [(v, "copy") for v in copies[:1]]:
            axis = int(topology.axis[topology.dst == switch].max())
            if not ability(cluster, axis):
                raise InputError(
                    f"the schedule has {topology.place(int(switch))} {does} what passes in step {i}, and "
                    f"switches of {cluster.name} there do not; see nvls= and sharp= in `hopcast list options`"
                )


def trunk(topology: Topology, axis: int, groups: Ints) -> tuple[Ints, Ints] | None:
    """The switches in which the ranks of each group meet, over the links of one axis.

    From the ranks upward, until one switch is above all: a switch that is above all so far, if there is one,
    else each its own. A switch above a single rank or switch of the group only passes on and is left out.

    Shapes: ``groups`` is ``int32[g, n]``.

    Args:
        topology: The network.
        axis: Whose links count.
        groups: Ranks of each group.

    Returns:
        ``int32[g, k]``, the switches of each group, and ``int32[n + k]``, the local vertex above each rank
        and switch, -1 at the top; None where ranks do not meet, or groups meet in different ways.

    Cost: O(g n) for each tier of switches.

    >>> from hopcast.clusters import cluster
    >>> pod = cluster("fat-tree:4x2,leaf=4,spine=1,nics=2").topology
    >>> hubs, above = trunk(pod, 0, np.array([[0, 2, 4, 6], [1, 3, 5, 7]], np.int32))
    >>> [[pod.place(v) for v in row] for row in hubs.tolist()], above.tolist()
    ([['unit 0 rail 0 leaf', 'unit 1 rail 0 leaf', '1 spine'],
      ['unit 0 rail 1 leaf', 'unit 1 rail 1 leaf', '1 spine']], [4, 4, 5, 5, 6, 6, -1])
    """
    over = _uppers(topology, axis)
    found = [_climb(over, [int(v) for v in ranks]) for ranks in groups]
    if any(f is None or f[1] != (found[0] or ([], []))[1] for f in found):
        return None
    return (
        np.array([f[0] for f in found if f], np.int32).reshape(len(groups), -1),
        np.array((found[0] or ([], []))[1], np.int32),
    )


def _uppers(topology: Topology, axis: int) -> dict[int, list[int]]:
    """The switches one tier above each vertex, ascending."""
    links = np.flatnonzero(topology.axis == axis)
    src, dst = topology.src[links], topology.dst[links]
    tier = np.where(np.arange(topology.vertices) < topology.chips, 0, -1)
    level = 0
    while True:
        reached = dst[(tier[src] == level) & (tier[dst] < 0)]
        if not len(reached):
            break
        level += 1
        tier[reached] = level
    rises = tier[dst] == tier[src] + 1
    over: dict[int, list[int]] = {}
    for a, b in np.unique(np.stack([src[rises], dst[rises]], 1), axis=0).tolist():
        over.setdefault(a, []).append(b)
    return over


def _climb(over: dict[int, list[int]], ranks: list[int]) -> tuple[list[int], list[int]] | None:
    """The switches of one group, and what is above each rank and switch."""
    hubs: list[int] = []
    above = [-1] * len(ranks)
    at = dict(enumerate(ranks))  # local vertex to where its data have got
    while len(at) > 1:
        choices = [over.get(v, []) for v in at.values()]
        common = set(choices[0]).intersection(*choices[1:])
        if not all(choices):
            return None
        goal = {i: min(common) if common else c[0] for i, c in zip(at, choices, strict=True)}
        below: dict[int, list[int]] = {}
        for i, v in goal.items():
            below.setdefault(v, []).append(i)
        at = {}
        for v, members in below.items():
            if len(members) == 1:
                at[members[0]] = v
                continue
            hub = len(above)
            hubs.append(v)
            above.append(-1)
            at[hub] = v
            for i in members:
                above[i] = hub
    return hubs, above


def of_levels(levels: Sequence[Group], groups: Ints) -> Ints:
    """``int32[g, k]``: the switches of all lines of all levels of groups, level after level.

    Shapes: ``groups`` is ``int32[g, n]``, ranks row-major over the levels.
    """
    shaped = groups.reshape(-1, *(v.ranks for v in levels))
    parts = [np.zeros((len(groups), 0), np.int32)]
    for i, level in enumerate(levels):
        if not level.hubs.shape[1]:
            continue
        row = np.zeros(int(level.all_groups.max()) + 1, np.int64)
        row[level.all_groups] = np.arange(len(level.all_groups))[:, None]
        first = np.take(shaped, 0, axis=1 + i).reshape(len(groups), -1)
        parts.append(level.hubs[row[first]].reshape(len(groups), -1))
    return np.concatenate(parts, 1)


def lines(group: Group, level: int) -> Ints:
    """``int32[l, n + k]``: local ranks of each line of a level, and its switches behind them.

    Lines are row-major over the other levels.
    """
    lengths = [v.ranks for v in group.levels]
    counts = [len(_ranks_of(lengths, i)) * v.hubs.shape[1] for i, v in enumerate(group.levels)]
    ranks = _ranks_of(lengths, level)
    first = group.ranks + sum(counts[:level])
    switches = np.arange(first, first + counts[level]).reshape(len(ranks), -1)
    return np.concatenate([ranks, switches], 1).astype(np.int32)


def _ranks_of(lengths: list[int], level: int) -> Ints:
    whole = np.arange(int(np.prod(lengths)), dtype=np.int32).reshape(lengths)
    return np.moveaxis(whole, level, -1).reshape(-1, lengths[level])
