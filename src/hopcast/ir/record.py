"""A schedule as one flat record, as files hold it, and back with every value checked.

A record has the columns of the sends and a few keys beside them: collective, ranks, chunks and, where they
differ from what the collective has by itself, root, shift, algorithm, vertices, share, origin, goal, groups.
"""

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from hopcast.names import unknown

from .claim import collective, usual
from .collective import ALL
from .place import Longs, Place, Record, number, whole
from .schedule import COPY, REDUCE, Schedule, from_columns, one_group
from .topology import Bools, Floats, Ints

NEEDED = ("step", "src", "dst", "chunk")
DEFAULTS = {"count": 1, "op": COPY, "lane": 0}
COLUMNS = (*NEEDED, *DEFAULTS)
FIRST = ("collective", "ranks", "chunks")
HEAD = (*FIRST, "root", "shift", "algorithm", "vertices", "share", "origin", "goal", "groups")
OPS = {"copy": COPY, "reduce": REDUCE, "0": COPY, "1": REDUCE}
EXAMPLE = "collective=all_reduce ranks=8 chunks=8"
WHICH_COLUMNS = f"the columns are {','.join(NEEDED)} and, if need be, {','.join(DEFAULTS)}"
WHICH_OPS = "is unknown; write copy (0) or reduce (1)"

# What may be asked for before it is taken for a slip: all_to_all of 8,192 ranks has 67 million chunks.
_MOST = {"ranks": 2**22, "chunks": 2**27, "vertices": 2**23}
_MOST_STEPS = 2**24
_SLACK = 1e-9  # of a sum of shares


def head(schedule: Schedule) -> Record:
    """The keys beside the columns; those that a reader finds by itself are left out."""
    task = schedule.collective
    found: Record = {"collective": task.name, "ranks": task.ranks, "chunks": task.chunks}
    found["algorithm"] = schedule.algorithm
    found |= {k: v for k, v, plain in (("root", task.root, 0), ("shift", task.shift, 1)) if v != plain}
    if schedule.vertices != int(schedule.groups.max()) + 1:
        found["vertices"] = schedule.vertices
    if not np.array_equal(schedule.groups, one_group(task.ranks)):
        found["groups"] = schedule.groups
    plain = usual(task.name, task.ranks, task.chunks, task.root, task.shift)
    owners = {"origin": task.origin, "goal": task.goal}
    if plain is None or any(not np.array_equal(getattr(plain, k), v) for k, v in owners.items()):
        found |= {k: "all" if len(v) and np.all(v == ALL) else v for k, v in owners.items()}
    if schedule.share is not None:
        found["share"] = schedule.parts
    return found


def build(record: Mapping[str, Any], place: Place) -> Schedule:
    """The schedule that a record describes.

    Args:
        record: Keys of HEAD and COLUMNS. Columns are lists or arrays; an optional one may be a single value.
        place: For messages.

    Raises:
        InputError: for anything missing, unknown or out of range, with its place and what would be right.

    >>> record = {"collective": "AllGather", "ranks": 2, "chunks": 2}
    >>> record |= {"step": [0, 0], "src": [0, 1], "dst": [1, 0]}
    >>> build(record | {"chunk": [0, 1]}, Place("plan"))
    Schedule(all_gather, plan, ranks=2, chunks=2, steps=1)
    >>> build(record | {"chunk": [0, 2]}, Place("plan"))
    Traceback (most recent call last):
    hopcast.names.InputError: plan, send 1: chunk 2 is not there; with chunks=2 they are 0..1
    """
    for key in record:
        if key not in HEAD and key not in COLUMNS:
            raise place.wrong(str(key), str(unknown("key", str(key), (*HEAD, *COLUMNS))))
    for key in FIRST:
        if key not in record:
            raise place.wrong(key, f"{key} is missing; a schedule begins like {EXAMPLE}")
    ranks, chunks = (number(record, k, place, 1, _MOST[k]) for k in ("ranks", "chunks"))
    task = collective(record, place, ranks, chunks)
    groups = _groups(record, place, ranks)
    vertices = int(groups.max()) + 1
    if "vertices" in record:
        vertices = number(record, "vertices", place, vertices, _MOST["vertices"])
    share = _share(record, place, chunks)
    columns = _columns(record, place)
    wrong = first_wrong(columns, vertices, ranks, chunks)
    if wrong:
        raise place.wrong_send(*wrong)
    algorithm = record.get("algorithm", PurePath(place.name).stem)
    if not isinstance(algorithm, str):
        raise place.wrong("algorithm", f"algorithm {reprlib.repr(algorithm)} is not a name")
    made = from_columns(task, algorithm, groups, dict(columns), share)
    return replace(made, vertices=vertices)


def first_wrong(columns: Mapping[str, Any], vertices: int, ranks: int, chunks: int) -> tuple[int, str] | None:
    """The first send that cannot be, and why; None if all can.

    Shapes: columns of m sends; step may be absent.

    >>> columns = {"src": [0, 1], "dst": [1, 1], "chunk": [0, 0], "count": [1, 1]}
    >>> columns |= {"op": [0, 0], "lane": [0, 0]}
    >>> first_wrong({k: np.array(v) for k, v in columns.items()}, 2, 2, 1)
    (1, 'src and dst are both 1; a send goes to another vertex')
    """
    src, dst, chunk, count, op, lane = (columns[k] for k in ("src", "dst", "chunk", "count", "op", "lane"))
    step = columns.get("step", np.zeros(len(src), np.int64))
    there = f"ranks are 0..{ranks - 1}; switches are vertices too, and vertices= counts all"
    there = there if vertices == ranks else f"vertices are 0..{vertices - 1}"
    tests: list[tuple[Bools, Callable[[int], str]]] = [
        ((step < 0) | (step >= _MOST_STEPS), lambda i: f"step {step[i]} is not in 0..{_MOST_STEPS - 1}"),
        ((src < 0) | (src >= vertices), lambda i: f"src {src[i]} is not there; {there}"),
        ((dst < 0) | (dst >= vertices), lambda i: f"dst {dst[i]} is not there; {there}"),
        (src == dst, lambda i: f"src and dst are both {src[i]}; a send goes to another vertex"),
        (
            (chunk < 0) | (chunk >= chunks),
            lambda i: f"chunk {chunk[i]} is not there; with chunks={chunks} they are 0..{chunks - 1}",
        ),
        (
            (count < 1) | (count > chunks),
            lambda i: f"count {count[i]} is not in 1..{chunks} (chunks={chunks})",
        ),
        ((op != COPY) & (op != REDUCE), lambda i: f"op {op[i]} {WHICH_OPS}"),
        ((lane < 0) | (lane >= 2**16), lambda i: f"lane {lane[i]} is not in 0..{2**16 - 1}"),
    ]
    found = [(int(np.argmax(bad)), say) for bad, say in tests if np.any(bad)]
    if not found:
        return None
    row, say = min(found, key=lambda f: f[0])
    return row, say(row)


def _columns(record: Mapping[str, Any], place: Place) -> dict[str, Longs]:
    for name in NEEDED:
        if name not in record:
            raise place.wrong(name, f"no column {name}; {WHICH_COLUMNS}")
    found = {name: _column(record, name, place) for name in COLUMNS if name in record}
    rows = found["step"].shape
    if len(rows) != 1:
        raise place.wrong("step", "column step is a list with the step of each send")
    for name, column in found.items():
        if column.ndim and column.shape != rows:
            has = f"{len(column)} values" if column.ndim == 1 else "lists in it"
            raise place.wrong(name, f"column {name} has {has} and step has {rows[0]}; each send has one")
    plain = {name: np.int64(value) for name, value in DEFAULTS.items()}
    return {name: np.broadcast_to((plain | found)[name], rows) for name in COLUMNS}


def _column(record: Mapping[str, Any], name: str, place: Place) -> Longs:
    values = record[name]
    if name == "op":
        words = np.asarray(values, object)
        if any(isinstance(v, str) for v in words.ravel()):
            read = [_op(v, i, place) for i, v in enumerate(words.ravel())]
            values = np.reshape(read, words.shape)
    return whole(values, name, place.wrong_send)


def _op(value: object, row: int, place: Place) -> int:
    found = OPS.get(str(value).strip().lower())
    if found is None:
        raise place.wrong_send(row, f"op {reprlib.repr(value)} {WHICH_OPS}")
    return found


def _groups(record: Mapping[str, Any], place: Place, ranks: int) -> Ints:
    if "groups" not in record:
        return one_group(ranks)
    found = whole(record["groups"], "groups", lambda _, says: place.wrong("groups", says))
    if found.ndim != 2 or found.shape[1] != ranks or not len(found):
        says = f"groups are lists of ranks={ranks} vertices each; two groups of two are 0,1;2,3"
        raise place.wrong("groups", says)
    if found.min() < 0 or found.max() >= _MOST["vertices"] or len(np.unique(found)) < found.size:
        raise place.wrong("groups", "groups name vertices from 0, each at most once")
    return found.astype(np.int32)


def _share(record: Mapping[str, Any], place: Place, chunks: int) -> Floats | None:
    if record.get("share") is None:
        return None
    try:
        if np.iscomplexobj(record["share"]):
            raise TypeError
        share = np.asarray(record["share"], np.float64)
    except (ValueError, TypeError, OverflowError):
        says = "share is a list of numbers, the part of the array that each chunk is"
        raise place.wrong("share", says) from None
    if share.shape != (chunks,):
        raise place.wrong("share", f"share has {share.size} entries and chunks={chunks}; each chunk has one")
    bad = ~(np.isfinite(share) & (share >= 0))
    if bad.any():
        raise place.wrong(
            "share", f"share of chunk {int(np.argmax(bad))} is {share[bad][0]}; it is 0 or more"
        )
    total = math.fsum(share)
    if abs(total - 1) > _SLACK:
        says = f"shares sum to {total:.12g}; they must sum to 1 (in csv 1/3 may be written)"
        raise place.wrong("share", says)
    return share
