"""Values of a file with the place where they stand, so that a message can name it."""

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.names import InputError

Record = dict[str, Any]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """Where the values of a record stand.

    Attributes:
        name: Of the file.
        heads: Line of each key, where the file has lines.
        lines: Line of each send, where the file has lines.
    """

    name: str
    heads: Mapping[str, int] = field(default_factory=dict)
    lines: Sequence[int] = ()

    def wrong(self, key: str, says: str) -> InputError:
        """The error of a key: ``plan.csv, line 1: ...``."""
        line = f", line {self.heads[key]}" if key in self.heads else ""
        return InputError(f"{self.name}{line}: {says}")

    def wrong_send(self, row: int, says: str) -> InputError:
        """The error of a send: ``plan.csv, line 7: ...``, or ``plan.json, send 3: ...`` counted from 0."""
        at = f"line {self.lines[row]}" if row < len(self.lines) else f"send {row}"
        return InputError(f"{self.name}, {at}: {says}")


def whole(values: Any, what: str, wrong: Callable[[int, str], InputError]) -> Longs:
    """Whole numbers as an array of the same shape.

    Args:
        values: A number, a list of numbers or lists, an array.
        what: For messages.
        wrong: Index of a value and a text to the error.

    Raises:
        InputError: at the first that is none.

    >>> whole([[1, 2]], "groups", lambda i, says: InputError(says)).tolist()
    [[1, 2]]
    """
    try:
        raw = np.asarray(values)
    except (ValueError, OverflowError):
        raise wrong(0, f"{what} is not a list of whole numbers, or of lists of one length") from None
    if raw.dtype.kind == "i":
        wide = raw.astype(np.int64)
        if not wide.size or (wide.min() > -(2**31) and wide.max() < 2**31):
            return wide
    for i, value in enumerate(np.asarray(values, object).ravel()):
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_whole or abs(int(value)) >= 2**31:
            raise wrong(i, f"{what} {reprlib.repr(value)} is not a whole number below 2^31")
    return raw.astype(np.int64)


def number(record: Mapping[str, Any], key: str, place: Place, low: int, high: int) -> int:
    """One whole number between two others, both allowed.

    Raises:
        InputError: if it is none.
    """
    value = whole(record[key], key, lambda _, says: place.wrong(key, says))
    if value.ndim:
        raise place.wrong(key, f"{key} is one whole number, not a list")
    if not low <= int(value) <= high:
        raise place.wrong(key, f"{key}={int(value)} is not between {low} and {high}")
    return int(value)
