"""Shares of the array for parts that run beside each other."""

import itertools
from collections.abc import Sequence

import numpy as np

from hopcast.ir.topology import Floats


def least_sum(load: Sequence[Sequence[float]]) -> list[float]:
    """Shares of the parts for which the slots together take least.

    They are the x, summing to 1, for which the sum over slots t of the max over parts p of x[p] load[p][t] is
    least: a linear program. For up to three parts all corners of its pieces are tried, which are few; for
    more scipy's HiGHS solves it, which takes half a second to load.

    Args:
        load: ``[parts][slots]``, any unit; not all zero.

    Returns:
        The part of each.

    Cost: under a millisecond for three parts of three slots.

    >>> [round(x, 3) for x in least_sum([[1.0, 4.0], [2.0, 2.0]])]
    [0.333, 0.667]
    """
    table = np.array(load)
    table /= table.max()
    found = _corners(table) if len(table) <= 3 else _solved(table)
    return [float(x) for x in found]


def _corners(table: Floats) -> Floats:
    """The best of all corners: the sum is convex, and linear between planes on which two parts are level.

    A plane through 0 is given by what stands upright on it, and the line in which two meet by their cross
    product; of parts that are not there the share is 0.
    """
    parts, slots = table.shape
    axes = np.eye(3)
    level = [
        table[p, t] * axes[p] - table[q, t] * axes[q]
        for p, q in itertools.combinations(range(parts), 2)
        for t in range(slots)
    ]
    planes = [*level, *axes]
    found = [np.cross(a, b) for a, b in itertools.combinations(planes, 2)]
    corner = np.array([x / x.sum() for x in found if abs(x.sum()) > 1e-12 * np.abs(x).max() > 0])
    corner = np.maximum(corner[(corner.min(1) > -1e-12) & (corner[:, parts:] == 0).all(1), :parts], 0.0)
    time = (corner[:, :, None] * table).max(1).sum(1)
    return np.asarray(corner[int(time.argmin())], np.float64)


def _solved(table: Floats) -> Floats:
    """By scipy."""
    from scipy.optimize import linprog

    parts, slots = table.shape
    rows = np.zeros((parts * slots, parts + slots))
    for p in range(parts):
        for t in range(slots):
            rows[p * slots + t, [p, parts + t]] = table[p, t], -1.0
    goal = np.concatenate([np.zeros(parts), np.ones(slots)])
    equal = np.concatenate([np.ones(parts), np.zeros(slots)])[None]
    found = linprog(goal, rows, np.zeros(len(rows)), equal, [1.0], method="highs")
    return np.maximum(np.asarray(found.x[:parts], np.float64), 0.0)
