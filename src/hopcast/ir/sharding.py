"""Sharded arrays: ``bf16[1024_x,4096_y]{U_z}`` is an array, its axes on each dim, and its partial sums.

A dim is a number or a name (``i``, whose length is given elsewhere), then ``_`` and the mesh axes that cut
it, the first one coarsest: ``1024_xy`` is cut over x, and every piece over y. Axes of one letter stand side
by side; longer ones are joined by a plus: ``1024_data+model``. ``{U_z}`` says that the array is the sum over
z of what the devices hold. Capitals, as the Scaling Book writes them, are the same axes.

Source: jax-ml scaling-book, chapter Sharding (the notation); JAX, type ``float32[2,2]{U:x}`` of an array that
is unreduced; torch.distributed.tensor placements, read 2026-11.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hopcast.dtypes import itemsize
from hopcast.names import InputError, unknown

_ARRAY = re.compile(r"(\w+)\[([^\[\]]*)\]\s*(?:\{\s*U[_:]\s*([^{}]*?)\s*\})?")
_DIM = re.compile(r"(\d+|[A-Za-z][A-Za-z0-9]*)(?:_(\S*))?")
_EXAMPLE = "bf16[1024_x,4096_y] or f32[i_x,j]{U_y}"
_GATHERED = ("all_gather", "gather", "scatter")
_SUMMED = ("all_reduce", "reduce_scatter", "reduce")

Axes = Mapping[str, int]  # name of a mesh axis to its length, in the order of the mesh


@dataclass(frozen=True)
class Sharding:
    """An array and how it lies on the devices of a mesh.

    Attributes:
        dtype: As `dtypes.itemsize` knows it.
        names: Of the dims; of one without a name its length.
        shape: Lengths of the dims of the whole array.
        axes: For each dim the mesh axes that cut it, coarsest first.
        partial: Mesh axes over which the devices hold summands.
    """

    dtype: str
    names: tuple[str, ...]
    shape: tuple[int, ...]
    axes: tuple[tuple[str, ...], ...]
    partial: tuple[str, ...] = ()

    def __str__(self) -> str:
        dims = (f"{n}_{_join(a)}" if a else n for n, a in zip(self.names, self.axes, strict=True))
        sums = f"{{U_{_join(self.partial)}}}" if self.partial else ""
        return f"{self.dtype}[{','.join(dims)}]{sums}"

    @property
    def sharded(self) -> tuple[str, ...]:
        """All axes that cut a dim."""
        return tuple(a for axes in self.axes for a in axes)


def is_sharded(text: object) -> bool:
    """Whether a size is an array with axes on it, so that it takes a mesh to count its bytes.

    >>> [is_sharded(t) for t in ("bf16[1024_x,4096]", "bf16[1024,4096]", "float8_e5m2[8]", "8MiB")]
    [True, False, False, False]
    """
    _, bracket, dims = str(text).partition("[")
    return bool(bracket) and ("_" in dims or "{" in dims)


def parse(text: str, axes: Axes, lengths: Mapping[str, int] | None = None) -> Sharding:
    """The sharded array that a text spells.

    Args:
        text: ``bf16[1024_x,4096_y]{U_z}``.
        axes: The mesh.
        lengths: Of the dims that have names.

    Raises:
        InputError: for text that is no array, an unknown dtype or axis, an axis used twice, a dim without
            length, and a dim that its axes do not divide (JAX refuses uneven shardings, too).

    >>> s = parse("bf16[1024_X,j]{U_z}", {"x": 4, "y": 4, "z": 2}, {"j": 64})
    >>> str(s), s.shape, s.axes, s.partial
    ('bf16[1024_x,j]{U_z}', (1024, 64), (('x',), ()), ('z',))
    """
    said = text.strip()
    found = _ARRAY.fullmatch(said)
    if found is None:
        raise InputError(f"{said!r} is not a sharded array; write {_EXAMPLE}")
    try:
        itemsize(found[1])
    except ValueError as error:
        raise InputError(f"{said!r}: {error}") from None
    dims = [_DIM.fullmatch(part.strip()) for part in found[2].split(",")]
    if any(d is None for d in dims):
        bad = next(p.strip() for p, d in zip(found[2].split(","), dims, strict=True) if d is None)
        raise InputError(f"{said!r}: {bad!r} is not a dim; write a length or a name, and axes: 1024_x, i_xy")
    names = tuple(d[1] for d in dims if d)
    cuts = tuple(() if d[2] is None else split(d[2], axes, said) for d in dims if d)
    partial = () if found[3] is None else split(found[3], axes, said)
    used = [a for c in (*cuts, partial) for a in c]
    for axis in used:
        if used.count(axis) > 1:
            raise InputError(f"{said!r} uses axis {axis} twice; an axis cuts one dim once, or is summed over")
    shape = tuple(_length(n, lengths or {}, said) for n in names)
    made = Sharding(found[1], names, shape, cuts, tuple(a for a in axes if a in partial))
    reason = uneven(made, axes)
    if reason:
        raise InputError(f"{said!r}: {reason}")
    return made


def split(word: str, axes: Axes, said: str) -> tuple[str, ...]:
    """The axes of one dim: ``xy`` where each letter is an axis, ``data+model``.

    Raises:
        InputError: for one that is not there.

    >>> split("xy", {"x": 2, "y": 2}, ""), split("data+x", {"data": 4, "x": 2}, "")
    (('x', 'y'), ('data', 'x'))
    """
    found: list[str] = []
    for part in word.split("+"):
        whole = _known(part, axes)
        letters = [_known(c, axes) for c in part]
        if whole is not None:
            found.append(whole)
        elif len(part) > 1 and all(len(a) == 1 for a in axes):
            found += [_need(c, axes, said) for c in part]
        elif part and all(letters):
            found += [a for a in letters if a]
        else:
            _need(part, axes, said)
    return tuple(found)


def _known(word: str, axes: Axes) -> str | None:
    return word if word in axes else word.lower() if word.lower() in axes else None


def _need(word: str, axes: Axes, said: str) -> str:
    found = _known(word, axes)
    if found is None:
        raise InputError(f"{said!r}: {unknown('axis', word, axes)}")
    return found


def dims(text: str) -> tuple[str, ...]:
    """Lengths or names of the dims of an array, as they are written; none of text that is no array.

    >>> dims("f32[i_x,1024]{U_y}"), dims("8MiB")
    (('i', '1024'), ())
    """
    found = _ARRAY.fullmatch(text.strip())
    return tuple(part.strip().partition("_")[0] for part in found[2].split(",")) if found else ()


def _length(name: str, lengths: Mapping[str, int], said: str) -> int:
    if name not in lengths and not name.isdecimal():
        raise InputError(f"{said!r}: dim {name} has no length; write a number, or --dims {name}=1024")
    length = int(name) if name.isdecimal() else lengths[name]
    if not 1 <= length < 2**53:
        raise InputError(f"{said!r}: dim {name} has length {length}; it must be at least 1 and below 2^53")
    return length


def lengths_of(text: str | None) -> dict[str, int]:
    """Lengths of dims from ``i=1024,j=4096``.

    Raises:
        InputError: for anything else.

    >>> lengths_of("i=1024,j=4096")
    {'i': 1024, 'j': 4096}
    """
    found: dict[str, int] = {}
    for item in text.split(",") if text else []:
        name, _, length = (p.strip() for p in item.partition("="))
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name) or not length.isdecimal() or not int(length):
            raise InputError(f"--dims {text!r}: write names and lengths, as in i=1024,j=4096")
        if name in found:
            raise InputError(f"--dims {text!r} gives {name} twice")
        found[name] = int(length)
    return found


def uneven(s: Sharding, axes: Axes) -> str | None:
    """Which dim its axes do not divide, or None."""
    for name, length, cut in zip(s.names, s.shape, s.axes, strict=True):
        parts = math.prod(axes[a] for a in cut)
        if length % parts:
            of = " x ".join(f"{a}={axes[a]}" for a in cut) + (f" = {parts}" if len(cut) > 1 else "")
            said = name if name.isdecimal() else f"{name}={length}"
            return f"dim {said} does not divide by {of}; use a multiple of {parts}"
    return None


def _join(axes: Sequence[str]) -> str:
    return ("" if all(len(a) == 1 for a in axes) else "+").join(axes)


def local_shape(s: Sharding, axes: Axes) -> tuple[int, ...]:
    """Lengths of what one device holds.

    >>> local_shape(parse("f32[8_x,6_yz]", {"x": 2, "y": 3, "z": 2}), {"x": 2, "y": 3, "z": 2})
    (4, 1)
    """
    return tuple(n // math.prod(axes[a] for a in cut) for n, cut in zip(s.shape, s.axes, strict=True))


def whole_bytes(s: Sharding) -> float:
    """Bytes of one copy of the whole array."""
    return itemsize(s.dtype) * math.prod(s.shape)


def device_bytes(s: Sharding, axes: Axes) -> float:
    """Bytes that each device holds.

    >>> mesh = {"x": 8, "y": 2}
    >>> device_bytes(parse("f32[1024_xy,4096]", mesh), mesh) == 2**20
    True
    """
    return itemsize(s.dtype) * math.prod(local_shape(s, axes))


def total_bytes(s: Sharding, axes: Axes) -> float:
    """Bytes on all devices together: copies and summands count each.

    >>> mesh = {"x": 2, "y": 8, "z": 2}
    >>> total_bytes(parse("int8[128_xy,2048]", mesh), mesh) / 1024
    512.0
    """
    return device_bytes(s, axes) * math.prod(axes.values())


def logical_size(s: Sharding, over: Iterable[str], axes: Axes) -> float:
    """D of a collective over some axes: the array, less what the other axes cut off.

    >>> mesh = {"x": 4, "y": 4, "z": 4}
    >>> logical_size(parse("bf16[1024_x,4096_y]", mesh), ("x",), mesh)
    2097152.0
    """
    inside = set(over)
    return whole_bytes(s) / math.prod(axes[a] for a in s.sharded if a not in inside)


def collective_size(s: Sharding, collective: str, over: Sequence[str], axes: Axes) -> float:
    """D of a collective on this array, or why that makes no sense.

    Args:
        s: What the array is before an all_gather, an all_to_all or a reduction.
        collective: Its name; any other word is taken at its D.
        over: Axes of the collective.
        axes: The mesh.

    Raises:
        InputError: for a partial sum that is gathered, an all_gather over an axis that does not cut the
            array, a reduction over one that does.
    """
    moving = [a for a in over if axes[a] > 1]
    idle = [a for a in moving if a not in s.sharded]
    cut = [a for a in moving if a in s.sharded]
    if collective in (*_GATHERED, "all_to_all") and s.partial:
        sums = ",".join(s.partial)
        raise InputError(
            f"{s} is a partial sum over {sums}: reduce it first (reduce_scatter or all_reduce, "
            f"--over {sums}), then {collective} it"
        )
    if collective in (*_GATHERED, "all_to_all") and idle:
        which = f"; {','.join(s.sharded)} do" if s.sharded else ""
        raise InputError(
            f"{collective} over {','.join(over)}: {','.join(idle)} does not cut {s}, every rank along it "
            f"holds the same{which}; use --over {','.join(s.sharded) or 'with an axis that cuts it'}"
        )
    if collective in (*_SUMMED, "broadcast") and cut:
        raise InputError(
            f"{collective} over {','.join(over)}: {','.join(cut)} cuts {s}, so that its ranks hold different "
            f"parts and no summands; leave {','.join(cut)} off the dims, as in {_uncut(s, cut)}"
        )
    if collective in _SUMMED and s.partial and set(moving) - set(s.partial):
        raise InputError(
            f"{collective} over {','.join(over)}: {s} is a partial sum over {','.join(s.partial)} only; "
            f"use --over {','.join(s.partial)}"
        )
    if collective == "permute":
        return device_bytes(s, axes) * math.prod(axes[a] for a in over)
    return logical_size(s, over, axes)


def _uncut(s: Sharding, gone: Sequence[str]) -> str:
    cuts = tuple(tuple(a for a in c if a not in gone) for c in s.axes)
    return str(Sharding(s.dtype, s.names, s.shape, cuts, (*s.partial, *gone)))


def torch_placements(s: Sharding, axes: Axes) -> tuple[str, ...]:
    """One placement for each mesh axis, as torch prints them: S(dim), R or P.

    torch cuts a dim by its axes in the order of the mesh; see `torch_order`.

    >>> mesh = {"x": 4, "y": 4, "z": 2}
    >>> torch_placements(parse("bf16[1024_x,4096]{U_z}", mesh), mesh)
    ('S(0)', 'R', 'P')
    """
    where = {a: i for i, cut in enumerate(s.axes) for a in cut}
    return tuple(f"S({where[a]})" if a in where else "P" if a in s.partial else "R" for a in axes)


def torch_order(s: Sharding, axes: Axes) -> bool:
    """Whether every dim is cut in the order of the mesh, as torch's placements mean it."""
    order = list(axes)
    return all(list(cut) == sorted(cut, key=order.index) for cut in s.axes)


def partition_spec(s: Sharding) -> str:
    """As JAX writes it.

    >>> mesh = {"x": 4, "y": 4, "z": 2}
    >>> partition_spec(parse("bf16[1024_xy,4096]{U_z}", mesh))
    "P(('x', 'y'), None, unreduced={'z'})"
    """
    words = [repr(None if not c else c[0] if len(c) == 1 else c) for c in s.axes]
    sums = [f"unreduced={{{', '.join(map(repr, s.partial))}}}"] if s.partial else []
    return f"P({', '.join(words + sums)})"
