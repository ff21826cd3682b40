"""Schedules in files: npz and json for programs, csv for people.

A csv file has one send a line and says above what it computes::

    # collective=all_reduce ranks=2 chunks=2
    step, src, dst, chunk, op
    0,    0,   1,   0,     reduce    # rank 0 adds its chunk 0 to that of rank 1
    0,    1,   0,   1,     reduce
    1,    1,   0,   0,     copy
    1,    0,   1,   1,     copy

count (1), op (copy) and lane (0) may be left out, as columns or as cells. Blank lines, spaces and comments
are free; a comment above the first send that is all ``key=value`` is read, and may say besides: root, shift,
algorithm, vertices (switches counted), share (``1/3,2/3``), groups (``0,1;2,3``), and for a collective of
one's own, or chunks in another order, origin and goal: ``all``, or a rank for each chunk. json is an object
and npz an archive of the same words.
"""

import contextlib
import io
import json
import os
import re
import secrets
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hopcast.names import InputError, unknown

from . import record as records
from .place import Place, Record
from .record import COLUMNS, DEFAULTS, EXAMPLE, FIRST, HEAD, NEEDED, OPS, WHICH_COLUMNS
from .schedule import REDUCE, Schedule

SUFFIXES = (".npz", ".json", ".csv")
_KIND = "a schedule is .npz, .json or .csv"
_TOKEN = r'([A-Za-z_]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s"]\S*)'
_HEADER = re.compile(rf"\s*(?:{_TOKEN}\s*)+")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:+-]+")
# What reading an archive that is damaged or no archive raises.
_DAMAGE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
_ITEMS = dict.fromkeys(COLUMNS, np.dtype(np.int32)) | {"op": np.dtype(np.uint8), "lane": np.dtype(np.uint16)}


def save(schedule: Schedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule; the suffix of the path says how. The file is there whole or not at all.

    csv is written step by step and has no limit; json and npz hold all sends in memory.

    Args:
        schedule: Any.
        path: Ends in .npz, .json or .csv.

    Raises:
        InputError: for another suffix, over 50 million sends in json or npz, a path that is not writable.
    """
    target = Path(path)
    write = {".npz": _to_npz, ".json": _to_json, ".csv": _to_csv}.get(target.suffix.lower())
    if write is None:
        raise InputError(f"cannot write {str(path)!r}: {_KIND}")
    with whole_or_not(target) as file:
        write(schedule, file)


def load(path: str | os.PathLike[str]) -> Schedule:
    """Read a schedule from a file; its suffix says how.

    Raises:
        InputError: if it is not there or is no schedule: file, line or send, what would be right.
    """
    source = Path(path)
    if source.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot read {str(path)!r}: {_KIND}")
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}; {_neighbours(source)}") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    return parse(data, str(path), source.suffix.lower())


def parse(data: bytes | str, name: str = "text", suffix: str = "") -> Schedule:
    """The schedule that a text or the bytes of a file hold.

    Args:
        data: csv, json or npz.
        name: For messages.
        suffix: One of SUFFIXES; without it the data themselves tell.

    Raises:
        InputError: if it is none.

    >>> parse('''
    ... # collective=all_gather ranks=2 chunks=2
    ... step,src,dst,chunk
    ... 0, 0, 1, 0
    ... 0, 1, 0, 1
    ... ''')
    Schedule(all_gather, text, ranks=2, chunks=2, steps=1)
    >>> parse('{"collective": "all_gather"', "plan.json")
    Traceback (most recent call last):
    hopcast.names.InputError: plan.json, line 1: not JSON: Expecting ',' delimiter
    """
    if suffix == ".npz" or (not suffix and isinstance(data, bytes) and data[:2] == b"PK"):
        return _from_npz(data.encode() if isinstance(data, str) else data, name)
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}: not text (byte {error.start} is 0x{data[error.start]:02x}); {_KIND}"
            ) from None
    if not data.strip():
        raise InputError(f"{name}: the file is empty; a schedule begins like # {EXAMPLE}")
    is_json = suffix == ".json" or (not suffix and data.lstrip()[0] in "{[")
    return _from_json(data, name) if is_json else _from_csv(data, name)


def read_text(path: str, what: str) -> str:
    """The text of a file.

    Args:
        path: Of it.
        what: What such a file holds, for the message.

    Raises:
        InputError: if there is none, it cannot be read or is no text.
    """
    try:
        data = Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not text (byte {error.start} is 0x{data[error.start]:02x}); {what}"
        ) from None


def _neighbours(path: Path) -> str:
    try:
        near = sorted(f.name for f in path.parent.iterdir() if f.suffix.lower() in SUFFIXES)
    except OSError:
        return f"and no folder {str(path.parent)!r}"
    if not near:
        return (
            f"nor any other schedule in {str(path.parent)!r}; write one's path, or a name such as all_reduce"
        )
    more = ", ..." if len(near) > 8 else ""
    return f"schedules in {str(path.parent)!r}: {', '.join(near[:8])}{more}"


@contextlib.contextmanager
def whole_or_not(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name only when it is complete. A pipe or a device is written to as it is.

    Raises:
        InputError: if it cannot be written.
    """
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    try:
        with _drafted(path) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


@contextlib.contextmanager
def _drafted(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    final = Path(os.path.realpath(path))
    draft = final.with_name(f".{final.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            yield file
        os.replace(draft, final)
    finally:
        draft.unlink(missing_ok=True)


def _columns(schedule: Schedule) -> dict[str, Any]:
    try:
        return dict(schedule.columns())
    except ValueError as error:
        raise InputError(f"{error}; .csv has no such limit") from error


def _to_npz(schedule: Schedule, file: BinaryIO) -> None:
    columns = {name: column.astype(_ITEMS[name]) for name, column in _columns(schedule).items()}
    np.savez_compressed(file, allow_pickle=False, **records.head(schedule), **columns)


def _from_npz(data: bytes, name: str) -> Schedule:
    place = Place(name)
    try:
        archive = np.load(io.BytesIO(data), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(
                f"{name}: an array alone is no schedule; an .npz has {', '.join(FIRST)} and columns"
            )
        record: Record = {key: archive[key] for key in archive.files if key in HEAD or key in COLUMNS}
        others = [key for key in archive.files if key not in record]
        if not all(isinstance(value, np.ndarray) for value in record.values()):
            raise ValueError("a member that is no array")
    except InputError:
        raise
    except _DAMAGE:
        raise InputError(f"{name}: not an .npz of plain arrays, or a damaged one") from None
    if others:
        raise InputError(f"{name}: {unknown('key', others[0], (*HEAD, *COLUMNS))}")
    words = {key: value.item() for key, value in record.items() if value.ndim == 0}
    return records.build(record | words, place)


def _to_json(schedule: Schedule, file: BinaryIO) -> None:
    record = records.head(schedule) | _columns(schedule)
    record["op"] = np.where(record["op"] == REDUCE, "reduce", "copy")
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in record.items()}
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in plain.items())
    file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _from_json(text: str, name: str) -> Schedule:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}, line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON that can be read: {str(error).splitlines()[0]}") from None
    if not isinstance(record, dict):
        kind = "a list" if isinstance(record, list) else "a single value"
        raise InputError(
            f"{name}: {kind} is no schedule; it is an object with {', '.join(FIRST)}, {', '.join(NEEDED)}"
        )
    return records.build(record, Place(name))


def _to_csv(schedule: Schedule, file: BinaryIO) -> None:
    found = records.head(schedule)
    words = [f"{key}={_word(value)}" for key, value in found.items() if not isinstance(value, np.ndarray)]
    lists = [f"# {key}={_list(value)}" for key, value in found.items() if isinstance(value, np.ndarray)]
    file.write("\n".join(["# " + " ".join(words), *lists, ",".join(COLUMNS), ""]).encode())
    for step, rows in enumerate(schedule.steps()):
        op = np.where(rows.op == REDUCE, "reduce", "copy")
        columns = (c.tolist() for c in (rows.src, rows.dst, rows.chunk, rows.count, op, rows.lane))
        file.write(
            "".join(f"{step},{','.join(map(str, row))}\n" for row in zip(*columns, strict=True)).encode()
        )


def _word(value: object) -> str:
    return str(value) if _PLAIN.fullmatch(str(value)) else json.dumps(value)


def _list(values: np.ndarray[Any, Any]) -> str:
    rows = values.tolist() if values.ndim == 2 else [values.tolist()]
    return ";".join(",".join(map(repr, row)) for row in rows)


def _from_csv(text: str, name: str) -> Schedule:
    record: Record = {}
    heads: dict[str, int] = {}
    lines = array("q")
    columns: dict[str, array[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        body, _, comment = line.partition("#")
        if body.isspace() or not body:
            if not lines:
                _header(comment, f"{name}, line {number}", record, heads, number)
        elif not columns:
            columns = {column: array("q") for column in _names(body, f"{name}, line {number}")}
        else:
            _cells(body, columns, f"{name}, line {number}")
            lines.append(number)
    if not columns:
        raise InputError(
            f"{name}: no sends in it; under a line # {EXAMPLE} the columns are named: {','.join(COLUMNS)}"
        )
    return records.build(
        record | {k: np.array(v, np.int64) for k, v in columns.items()}, Place(name, heads, lines)
    )


def _header(comment: str, at: str, record: Record, heads: dict[str, int], number: int) -> None:
    """Take the keys of a comment that is all ``key=value``; any other comment is for people."""
    if not _HEADER.fullmatch(comment):
        return
    for key, value in re.findall(_TOKEN, comment):
        if key not in HEAD:
            raise InputError(f"{at}: {unknown('key', key, HEAD)}")
        if key in record:
            raise InputError(f"{at}: {key} is said twice, first in line {heads[key]}")
        heads[key] = number
        try:
            record[key] = _READ.get(key, int)(json.loads(value) if value.startswith('"') else value)
        except (ValueError, ZeroDivisionError):
            form = _FORM.get(key, "a whole number")
            raise InputError(f"{at}: {key}={value[:40]} is not {form}") from None


def _fraction(text: str) -> float:
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(text)


def _owners(text: str) -> Any:
    return (
        "all"
        if text.lower() == "all"
        else ["all" if t.strip().lower() == "all" else int(t) for t in text.split(",")]
    )


_READ: dict[str, Callable[[str], Any]] = {
    "collective": str,
    "algorithm": str,
    "share": lambda text: [_fraction(t) for t in text.split(",")],
    "origin": _owners,
    "goal": _owners,
    "groups": lambda text: [[int(t) for t in row.split(",")] for row in text.split(";")],
}
_FORM = {
    "share": "a list of numbers like 0.5,0.25,0.25 or 1/3,2/3",
    "origin": "all, or a list of ranks like 0,1,1",
    "goal": "all, or a list of ranks like 0,1,1",
    "groups": "lists of vertices like 0,1;2,3",
}


def _names(body: str, at: str) -> list[str]:
    found = [cell.strip().lower() for cell in body.split(",")]
    if all(cell.lstrip("-").isdigit() for cell in found if cell):
        raise InputError(
            f"{at}: numbers without names; the first line names the columns: {','.join(COLUMNS)}"
        )
    for i, column in enumerate(found):
        if column not in COLUMNS:
            raise InputError(f"{at}: {unknown('column', column[:40], COLUMNS)}")
        if column in found[:i]:
            raise InputError(f"{at}: column {column} stands twice")
    for column in NEEDED:
        if column not in found:
            raise InputError(f"{at}: no column {column}; {WHICH_COLUMNS}")
    return found


def _cells(body: str, columns: dict[str, "array[int]"], at: str) -> None:
    cells = body.split(",")
    if len(cells) != len(columns):
        raise InputError(
            f"{at}: {len(cells)} values for {len(columns)} columns; a line has {','.join(columns)}"
        )
    for cell, (name, column) in zip(cells, columns.items(), strict=True):
        try:
            column.append(OPS[cell.strip().lower()] if name == "op" else int(cell))
        except (ValueError, KeyError, OverflowError):
            if name in DEFAULTS and not cell.strip():
                column.append(DEFAULTS[name])
                continue
            want = "is unknown; write copy or reduce" if name == "op" else "is not a whole number below 2^31"
            raise InputError(f"{at}: {name} {cell.strip()[:40]!r} {want}") from None
