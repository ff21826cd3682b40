"""Shares of the array for parts that run beside each other."""

from collections.abc import Sequence

import numpy as np


def least_sum(load: Sequence[Sequence[float]]) -> list[float]:
    """Shares of the parts for which the slots together take least.

    They are the x, summing to 1, for which the sum over slots t of the max over parts p of x[p] load[p][t] is
    least: a linear program, by scipy's HiGHS.

    >>> [round(x, 3) for x in least_sum([[1.0, 4.0], [2.0, 2.0]])]
    [0.333, 0.667]
    """
    from scipy.optimize import linprog

    table = np.array(load)
    scale = table.max()
    parts, slots = table.shape
    rows = np.zeros((parts * slots, parts + slots))
    for p in range(parts):
        for t in range(slots):
            rows[p * slots + t, [p, parts + t]] = table[p, t] / scale, -1.0
    goal = np.concatenate([np.zeros(parts), np.ones(slots)])
    equal = np.concatenate([np.ones(parts), np.zeros(slots)])[None]
    found = linprog(goal, rows, np.zeros(len(rows)), equal, [1.0], method="highs")
    return [float(x) for x in np.maximum(found.x[:parts], 0.0)]
