"""Shares of the array for parts that run beside each other."""

from collections.abc import Sequence

import numpy as np

_NIL = 1e-12  # beside loads of at most 1


def least_sum(load: Sequence[Sequence[float]]) -> list[float]:
    """Shares of the parts for which the slots together take least.

    They are the x, summing to 1, for which the sum over slots t of the max over parts p of x[p] load[p][t] is
    least: a linear program in x and the slots' times z, by the simplex method from the corner where part 0
    has everything. Of several ways on the one of least number is taken, so that it ends.

    Args:
        load: ``[parts][slots]``, any unit; not all zero.

    Returns:
        The part of each.

    Cost: a few steps for each part and slot; under a millisecond for three of each.

    Source: Dantzig 1951 (simplex); Bland 1977, doi:10.1287/moor.2.2.103 (least number first).

    >>> [round(x, 3) for x in least_sum([[1.0, 4.0], [2.0, 2.0]])]
    [0.333, 0.667]
    """
    table = np.array(load)
    table /= table.max()
    parts, slots = table.shape
    # Columns: x, z and what is left, x[p] table[p, t] - z[t] + left[p, t] = 0; last row: the x sum to 1.
    rows = parts * slots + 1
    system = np.zeros((rows, parts + slots + rows - 1))
    for p in range(parts):
        for t in range(slots):
            at = p * slots + t
            system[at, [p, parts + t, parts + slots + at]] = table[p, t], -1.0, 1.0
    system[-1, :parts] = 1.0
    given, price = np.zeros(rows), np.zeros(len(system.T))
    given[-1], price[parts : parts + slots] = 1.0, 1.0
    basis = np.array([0, *range(parts, parts + slots), *range(parts + 2 * slots, len(price))])
    while True:
        square = system[:, basis]
        gain = price - np.linalg.solve(square.T, price[basis]) @ system
        better = np.flatnonzero(gain < -_NIL)
        if not len(better):
            break
        value, change = np.linalg.solve(square, np.stack([given, system[:, better[0]]], 1)).T
        falls = np.flatnonzero(change > _NIL)
        ratio = value[falls] / change[falls]
        tied = falls[ratio <= ratio.min() + _NIL]
        basis[tied[np.argmin(basis[tied])]] = better[0]
    found = np.zeros(len(price))
    found[basis] = np.linalg.solve(square, given)
    return [float(x) for x in np.maximum(found[:parts], 0.0)]
