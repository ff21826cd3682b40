"""A traffic matrix from a file: .csv or .txt with a row of numbers for each rank, or .npy."""

from pathlib import Path

import numpy as np

from hopcast.ir import traffic
from hopcast.ir.files import read_text
from hopcast.ir.topology import Floats
from hopcast.names import InputError

SUFFIXES = (".csv", ".txt", ".npy")


def read(path: str, ranks: int) -> Floats:
    """Bytes from row to column: ``float64[n, n]``.

    In text, commas or blanks part the numbers and ``#`` begins a comment.

    Args:
        path: Of the file.
        ranks: n.

    Raises:
        InputError: if there is no such file, or it holds no matrix of that many ranks.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"no file {path!r}; a traffic matrix is a {', '.join(SUFFIXES)} file of bytes")
    suffix = file.suffix.lower()
    if suffix == ".npy":
        try:
            return traffic.checked(np.load(file, allow_pickle=False), ranks, path)
        except (OSError, EOFError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: it is no numpy file ({error}); np.save writes one") from None
    if suffix not in SUFFIXES:
        raise InputError(f"{path!r}: a traffic matrix is a {', '.join(SUFFIXES)} file")
    return traffic.checked(_numbers(path, read_text(path, "bytes from row to column")), ranks, path)


def _numbers(path: str, text: str) -> list[list[float]]:
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            rows.append([float(w) for w in words])
        except ValueError:
            raise InputError(
                f"{path}, line {number}: {line.strip()[:40]!r} is not a row of numbers"
            ) from None
        if len(rows[-1]) != len(rows[0]):
            raise InputError(
                f"{path}, line {number} has {len(rows[-1])} numbers and the first row {len(rows[0])}; "
                "a traffic matrix is square"
            )
    if not rows:
        raise InputError(f"{path} is empty; it has a row of numbers for each rank")
    return rows
