"""How ranks are shifted so that the network is shifted along, for all_to_all and all that serves it.

Where every rank does the same with every other, any numbering of ranks by digits will do, and adding to a
digit moves what one rank does to what another does. On nodes under a fat tree digits are pod, leaf, node and
GPU: these shifts move links onto links.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.graph import rolls
from hopcast.graph.alike import lowest
from hopcast.ir import orbits
from hopcast.ir.group import Group
from hopcast.ir.schedule import Orbit, Sends, sends

Ranks = npt.NDArray[np.int64]


def shape(group: Group) -> tuple[int, ...]:
    """Lengths of the digits: those of the network where the group has all of its chips, else of the levels.

    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.mesh import group, physical
    >>> pod = cluster("dgx-h100:64")
    >>> shape(group(pod, physical(pod.topology), ())), shape(group(pod, physical(pod.topology), ("node",)))
    ((2, 32, 8), (64,))
    """
    if not group.switched and not group.levels:
        return group.shape
    topology = None if group.cluster is None else group.cluster.topology
    if topology is not None and not topology.port.size and group.ranks == topology.chips:
        found = rolls.nested(topology)
        if found and np.array_equal(rolls.begun_at(found, int(group.all_groups[0, 0])), group.all_groups[0]):
            return found
    return tuple(level.ranks for level in group.levels) or (group.ranks,)


def stands_for(group: Group) -> int:
    """Ranks for which one stands where ranks go round each level: those brought to it by moving the network.

    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.mesh import group, physical
    >>> pod = cluster("dgx-h100:64")
    >>> stands_for(group(pod, physical(pod.topology), ()))
    16
    """
    topology = None if group.cluster is None else group.cluster.topology
    if topology is None or group.ranks < topology.chips:
        return 1
    moves = [move[: topology.chips] for move in rolls.periods(topology)]
    return topology.chips // len(np.unique(lowest(moves, topology.chips)))


@dataclass(frozen=True, eq=False)
class Passed:
    """What rank 0 sends, each row with the first of the messages in it: from whom, for whom.

    Shapes: k sends, all ``int64[k]``.

    Attributes:
        step: When, ascending.
        dst: Where to.
        origin, goal: Ranks of the message.
        count: Messages from there on.
        lane: Of the send.
    """

    step: Ranks
    dst: Ranks
    origin: Ranks
    goal: Ranks
    count: Ranks
    lane: Ranks


def join(parts: list[tuple[object, ...]]) -> Passed:
    """Rows of several kinds; scalars are repeated. In order of steps."""
    rows = [np.broadcast_arrays(*(np.asarray(c, np.int64).ravel() for c in part)) for part in parts]
    columns = [np.concatenate([r[i] for r in rows]) for i in range(6)]
    order = np.argsort(columns[0], kind="stable")
    return Passed(*(c[order] for c in columns))


def orbit(passed: Passed, chunk: Callable[[Ranks, Ranks], Ranks], digits: tuple[int, ...]) -> Orbit:
    """The claim that all ranks do as rank 0.

    Args:
        passed: What rank 0 sends.
        chunk: Number of the first chunk of a send with the message from one rank for another; called for
            moved messages too.
        digits: See `shape`.
    """

    def moved(rank: Ranks) -> Ranks:
        """Where a rank is when the destination of its row has come to rank 0."""
        at, to = (np.stack(np.unravel_index(r, digits)) for r in (rank, passed.dst))
        there = tuple((at - to) % np.array(digits)[:, None])
        return np.asarray(np.ravel_multi_index(there, digits), np.int64)

    def rows(src: Ranks, dst: Ranks, origin: Ranks, goal: Ranks) -> Sends:
        return sends(src, dst, chunk(origin, goal), passed.count, 0, passed.lane)

    zero = np.zeros_like(passed.dst)
    out = rows(zero, passed.dst, passed.origin, passed.goal)
    into = rows(moved(zero), zero, moved(passed.origin), moved(passed.goal))
    return Orbit(passed.step, out, into, orbits.shifts(digits))
