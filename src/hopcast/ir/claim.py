"""What the schedule of a file claims to compute: its collective, by name or by the owners of each chunk."""

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from hopcast.names import InputError, pick, unknown

from .collective import ALIASES, ALL, NAMES, PAIRS, Collective, of
from .place import Place, number, whole
from .topology import Ints

_MOST_SHIFT = 2**22
_AT_ROOT = {"broadcast": "origin", "scatter": "origin", "reduce": "goal", "gather": "goal"}


def collective(record: Mapping[str, Any], place: Place, ranks: int, chunks: int) -> Collective:
    """The collective that a record names.

    Args:
        record: ``collective`` and, where they differ from the usual, root, shift, origin, goal.
        place: For messages.
        ranks: Of one group.
        chunks: Of one group's array.

    Raises:
        InputError: for an unknown name without owners, chunks that do not divide, owners that do not fit.
    """
    given = record["collective"]
    if not isinstance(given, str):
        names = ", ".join(NAMES)
        raise place.wrong("collective", f"collective {reprlib.repr(given)} is not a name; there is: {names}")
    root = number(record, "root", place, 0, ranks - 1) if "root" in record else 0
    shift = number(record, "shift", place, -_MOST_SHIFT, _MOST_SHIFT) if "shift" in record else 1
    said = [k for k in ("origin", "goal") if k in record]
    if len(said) == 1:
        raise place.wrong(said[0], f"{said[0]} stands alone; origin and goal come together")
    name = _name(given, place, bool(said))
    if said:
        origin, goal = (_owners(record, k, place, ranks, chunks) for k in said)
        task = Collective(name, ranks, origin, goal, root, shift)
        _fits(task, place)
        return task
    found = usual(name, ranks, chunks, root, shift)
    if found is None:
        says = (
            f"chunks={chunks} does not fit {name} of {ranks} ranks: it is a multiple of {_unit(name, ranks)}"
        )
        raise place.wrong("chunks", f"{says}, or origin= and goal= say which rank has and gets each chunk")
    return found


def usual(name: str, ranks: int, chunks: int, root: int, shift: int) -> Collective | None:
    """The collective with chunks in order of the ranks; None for other names or chunks that do not fit."""
    unit = _unit(name, ranks)
    if name not in NAMES or chunks % unit:
        return None
    return of(name, ranks, root=root, shift=shift, parts=chunks // unit)


def _unit(name: str, ranks: int) -> int:
    """Chunks come in multiples of it."""
    if name in ("all_reduce", "broadcast", "reduce"):
        return 1
    return ranks * ranks if name in PAIRS else ranks


def _name(given: str, place: Place, own: bool) -> str:
    known = {n: n for n in NAMES} | ALIASES
    try:
        return known[pick("collective", given, known)]
    except InputError:
        if own and given.strip():
            return given
        said = f"{unknown('collective', given, NAMES)}; one of your own needs origin= and goal="
        raise place.wrong("collective", said) from None


def _owners(record: Mapping[str, Any], key: str, place: Place, ranks: int, chunks: int) -> Ints:
    """``int32[chunks]``, local ranks or ALL."""
    value = record[key]
    if isinstance(value, str) and value.strip().lower() == "all":
        return np.full(chunks, ALL, np.int32)
    if isinstance(value, list):
        value = [ALL if v == "all" else v for v in value]
    found = whole(value, key, lambda _, says: place.wrong(key, says))
    if found.shape != (chunks,):
        says = f"{key} has {found.size} entries and chunks={chunks}; it is all, or a rank for each chunk"
        raise place.wrong(key, says)
    bad = (found < ALL) | (found >= ranks)
    if bad.any():
        says = f"{key} {found[bad][0]} is no rank; ranks are 0..{ranks - 1}, and -1 or all is every rank"
        raise place.wrong(key, says)
    return found.astype(np.int32)


def _fits(task: Collective, place: Place) -> None:
    """Refuse owners that are not those of the collective's name."""
    every = task.origin == ALL
    if every.any() and not every.all():
        raise place.wrong("origin", "origin is all for every chunk, or a rank for every chunk")
    like = usual(task.name, task.ranks, _unit(task.name, task.ranks), task.root, task.shift)
    if like is None:
        return
    for key, column, known in (("origin", task.origin, like.origin), ("goal", task.goal, like.goal)):
        if known[0] == ALL:
            right, want = column == ALL, "all"
        elif key == _AT_ROOT.get(task.name):
            right, want = column == task.root, f"the root, {task.root},"
        else:
            right, want = column != ALL, "a rank"
        if not right.all():
            chunk = int(np.argmin(right))
            says = f"{key} of {task.name} is {want} for every chunk; that of chunk {chunk} is {column[chunk]}"
            raise place.wrong(key, says)
    if task.name == "permute" and not np.array_equal(task.goal, (task.origin + task.shift) % task.ranks):
        raise place.wrong(
            "goal", f"goal of permute is origin + shift={task.shift}, modulo ranks={task.ranks}"
        )
