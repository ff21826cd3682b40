"""The weakest cut between one vertex and others: what a broadcast and a scatter cannot beat.

Every function starts from a ratio that is reached by a cut already known and looks for a weaker one, so that
where that cut is the weakest each flow only confirms it. Capacities are taken as whole numbers; where rates
are not multiples of one rate they are rounded to some 40 bits to search with, and whoever gets a cut weighs
it by true rates.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import AnyInts, Bools, Floats

from . import dinic
from .whole import whole

Longs = npt.NDArray[np.int64]
_MOST = 2**61  # of all capacities together


def to_each(
    vertices: int, tail: AnyInts, head: AnyInts, rate: Floats, root: int, targets: AnyInts
) -> Bools | None:
    """The source side of the weakest cut that parts a root from any of some vertices.

    A broadcast takes at least D over what this cut carries, and packed branchings reach it.

    Shapes: l links; v vertices.

    Args:
        vertices: v.
        tail: ``[l]``.
        head: ``[l]``.
        rate: ``float64[l]``, bytes/s.
        root: A vertex.
        targets: Vertices; the root itself does not count.

    Returns:
        ``bool[v]``; None where no cut is weaker than what leaves the root or enters a target.

    Cost: a flow for each target, of which those that are not weaker stop early.

    Source: Edmonds 1973, Edge-disjoint branchings.

    >>> line = np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([5.0, 1.0, 5.0])
    >>> to_each(4, *line, 0, np.array([3])).tolist()
    [True, True, False, False]
    """
    room = whole(rate, _MOST // max(len(rate), 1))[0]
    others = np.asarray(targets)[np.asarray(targets) != root]
    least = min(int(room[tail == root].sum()), *(int(room[head == t].sum()) for t in others))
    network = dinic.Flows(dinic.arcs(vertices, tail, head), len(others))
    side: Bools | None = None
    for target in others.tolist():
        sent = network.send(room, root, target, least)
        if sent < least:
            least, side = sent, network.side(root)
    return side


def to_all(
    vertices: int, tail: AnyInts, head: AnyInts, rate: Floats, root: int, targets: AnyInts
) -> Bools | None:
    """The source side of the cut that carries least for each target behind it, when each gets its own share.

    Arguments and cost as of `to_each`, but a flow for each cut found and one that confirms the last; None
    where no cut is weaker than what leaves the root.

    Source: Dinkelbach 1967, On nonlinear fractional programming (the ratio).
    """
    others = np.asarray(targets)[np.asarray(targets) != root]
    n = len(others)
    room = whole(rate, _MOST // max(len(rate) * n * n, 1))[0]
    sink = vertices
    network = dinic.Flows(
        dinic.arcs(vertices + 1, np.append(tail, others), np.append(head, np.full(n, sink))), 2
    )
    each, side = Fraction(int(room[tail == root].sum()), n), None
    while each > 0:
        capacity = np.append(room * each.denominator, np.full(n, each.numerator))
        if network.send(capacity, root, sink) == n * each.numerator:
            break
        side = network.side(root)[:vertices]
        crossing = int(room[side[tail] & ~side[head]].sum())
        each = Fraction(crossing, int(np.count_nonzero(~side[others])))
    return side
