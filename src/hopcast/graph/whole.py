"""Rates as whole numbers, exactly where they fit: maximum flows count in them."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Floats

_FINEST = 2**40  # units in the fastest rate at most, where rates have no common measure
_COARSE = 2**20  # the same, where that loses no more than _LOST of any rate
_LOST = 1e-3
UNLIKE = "some of its links are a million million times as fast as others, too many units for whole trees"


def whole(rate: Floats, most: int, *, up: bool = True) -> tuple[npt.NDArray[np.int64], Fraction]:
    """Rates as multiples of a unit, exactly if they have a common measure that is not too small.

    Shapes: l rates.

    Args:
        rate: ``float64[l]``, bytes/s.
        most: The largest multiple that there may be.
        up: Whether to round up what is not exact, else down.

    Returns:
        ``int64[l]`` and the unit, bytes/s.

    >>> whole(np.array([450e9, 50e9]), 100)
    (array([9, 1]), Fraction(50000000000, 1))
    >>> whole(np.array([3.0, 1.1]), 10)[0].tolist(), whole(np.array([3.0, 1.1]), 10, up=False)[0].tolist()
    ([10, 4], [10, 3])
    """
    if not rate.any():
        return np.zeros(len(rate), np.int64), Fraction(1)
    if np.all(rate == np.floor(rate)) and rate.max() < 2.0**62:
        counts = rate.astype(np.int64)
        unit = int(np.gcd.reduce(counts))
        if int(counts.max()) // unit <= most:
            return counts // unit, Fraction(unit)
    unit_of = Fraction(float(rate.max())) / min(most, _FINEST)
    each = (Fraction(r) for r in rate.tolist())
    return np.array([-(-r // unit_of) if up else r // unit_of for r in each], np.int64), unit_of


def below(rate: Floats) -> tuple[npt.NDArray[np.int64], Fraction] | None:
    """Rates rounded down to whole multiples of a unit, for trees to fill; None where some would be 0.

    Few units make few trees that differ, so finer ones are taken only where some link is so slow that it
    would lose more than a thousandth of its rate.

    Shapes: l rates, all above 0.

    Args:
        rate: ``float64[l]``, bytes/s.

    Returns:
        ``int64[l]`` and the unit, bytes/s.

    >>> below(np.array([450e9, 50e9]))
    (array([9, 1]), Fraction(50000000000, 1))
    >>> below(np.array([1e12, 1.0]))[0].tolist(), below(np.array([1e12, 0.1]))
    ([1000000000000, 1], None)
    """
    counts, unit = whole(rate, _COARSE, up=False)
    if np.any(counts * float(unit) < rate * (1 - _LOST)):
        counts, unit = whole(rate, _FINEST, up=False)
    return (counts, unit) if counts.all() else None
