"""Arrays as text that a page unpacks without help: little-endian, gzip, base64.

The same array gives the same text, whenever it is made.
"""

import base64
import gzip
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Floats

Packed = dict[str, Any]
_WHOLE = ((np.uint8, "u1"), (np.int8, "i1"), (np.uint16, "u2"), (np.int16, "i2"), (np.int32, "i4"))
_LEVEL = 6  # of gzip: 9 takes three times as long for 2 % less on the loads of 4,096 chips


def pack(values: npt.ArrayLike) -> Packed:
    """Any array, flattened: whole numbers and truth values in the fewest bytes, others as doubles.

    Returns:
        ``t`` the type, ``n`` the number of values, ``z`` the text.

    >>> pack([1, 2, 300])["t"], pack([0.5])["t"], pack([True, False])["t"], pack([-1])["t"]
    ('u2', 'f8', 'u1', 'i1')
    """
    flat = np.asarray(values).ravel()
    if flat.dtype.kind == "b":
        flat = flat.astype(np.uint8)
    kind, word = (np.dtype(np.float64), "f8") if flat.dtype.kind == "f" else _narrow(flat)
    raw = np.ascontiguousarray(flat, kind.newbyteorder("<")).tobytes()
    return {
        "t": word,
        "n": len(flat),
        "z": base64.b64encode(gzip.compress(raw, _LEVEL, mtime=0)).decode("ascii"),
    }


def _narrow(flat: npt.NDArray[Any]) -> tuple[np.dtype[Any], str]:
    low, high = int(flat.min(initial=0)), int(flat.max(initial=0))
    for kind, word in _WHOLE:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind), word
    return np.dtype(np.float64), "f8"


def unpack(packed: Packed) -> npt.NDArray[Any]:
    """The array again, as the page sees it.

    >>> unpack(pack([3, 1, 2])).tolist()
    [3, 1, 2]
    """
    return np.frombuffer(gzip.decompress(base64.b64decode(packed["z"])), "<" + packed["t"])


class Levels:
    """Columns of numbers of which few differ, such as the loads of all links: each stored as its level.

    Shapes: every column ``float64[m]``.
    """

    def __init__(self) -> None:
        self._values: list[Floats] = []
        self._codes: list[npt.NDArray[Any]] = []

    def add(self, column: Floats) -> None:
        """One more column."""
        values, codes = np.unique(column, return_inverse=True)
        self._values.append(values)
        self._codes.append(codes.astype(np.min_scalar_type(len(values))))

    def packed(self) -> Packed:
        """``values``, ascending, and ``code``, an index into them for every entry of every column.

        >>> levels = Levels()
        >>> levels.add(np.array([0.0, 2.5]))
        >>> levels.add(np.array([2.5, 1.0]))
        >>> found = levels.packed()
        >>> unpack(found["values"]).tolist(), unpack(found["code"]).tolist()
        ([0.0, 1.0, 2.5], [0, 2, 2, 1])
        """
        values = np.unique(np.concatenate(self._values)) if self._values else np.zeros(0)
        places = [np.searchsorted(values, v) for v in self._values]
        kind = np.min_scalar_type(max(len(values), 1))
        codes = [p.astype(kind)[c] for p, c in zip(places, self._codes, strict=True)]
        return {
            "values": pack(values),
            "code": pack(np.concatenate(codes) if codes else np.zeros(0, np.uint8)),
        }
