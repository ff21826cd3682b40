"""A cluster of the user's own from a .toml file: a family and its shape, or any network.

KEYS say what can stand in a file, and EXAMPLES are one of each kind.
"""

import difflib
import math
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopcast import registry, units
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Axis, Ints, Topology
from hopcast.names import InputError
from hopcast.topologies import _grid

_SHARED = {
    "bandwidth": 'of a link, one way: "45GB/s"',
    "duplex": '"full" (default), or "half": both ways of a cable share its bandwidth',
    "name": "of the cluster in tables; default the file's name",
}
_FAMILY = {
    "family": '"ring", "torus", "switch" and the like: hopcast list topologies',
    "shape": 'lengths of the axes: [4, 8] or "4x8"',
    "wraps": 'of "mesh" and "torus", the axes that close: ["y"]; default all of a torus, none of a mesh',
    "latency": 'of a hop: "1us", or 0',
    **_SHARED,
}
_NETWORK = {
    "chips": "how many; they are vertices 0, 1, 2, ...",
    "switches": "how many; they are the vertices behind the chips; default 0",
    "links": "the cables: a list of them, or a [[links]] for each; those side by side are one of their sum",
    "latency": 'of a link: "1us", or 0; crossing a switch is two links',
    **_SHARED,
}
_LINK = {
    "src": "vertex at one end",
    "dst": "vertex at the other end",
    "bandwidth": "of this one, instead of the file's",
    "latency": "of this one, instead of the file's",
    "duplex": "of this one, instead of the file's",
    "both": "true (default): a cable, which is two links; false: one link, from src to dst",
}
# Which part of a file it is, and its keys with what they mean.
KEYS: Mapping[str, Mapping[str, str]] = {"family": _FAMILY, "network": _NETWORK, "link": _LINK}
_FAMILY_FILE = """\
family = "mesh"
shape = [4, 8]
wraps = ["y"]
bandwidth = "45GB/s"
latency = "1us"
"""
_NETWORK_FILE = """\
chips = 4
switches = 1
bandwidth = "50GB/s"
latency = "1us"
links = [
    { src = 0, dst = 4 },
    { src = 1, dst = 4 },
    { src = 2, dst = 4 },
    { src = 3, dst = 4 },
    { src = 0, dst = 1, bandwidth = "200GB/s" },
    { src = 2, dst = 3, bandwidth = "200GB/s" },
]
"""
EXAMPLES = {"family": _FAMILY_FILE, "network": _NETWORK_FILE}
_MOST = 1_000_000  # vertices
_EXAMPLE = {"bandwidth": '"45GB/s"', "latency": '"1us"'}

Table = Mapping[str, Any]


def read(path: str | os.PathLike[str]) -> Cluster:
    """The cluster that a file describes.

    Raises:
        InputError: with the file, the line of what is no TOML or else the key, and what would be right.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not text (byte {error.start} is 0x{data[error.start]:02x}); a cluster is TOML"
        ) from None
    return parse(text, str(path))


def parse(text: str, path: str) -> Cluster:
    """The cluster that the text of a file describes.

    Args:
        text: TOML.
        path: Of the file, for messages and for the name.

    Raises:
        InputError: as `read`.

    >>> lab = parse('''
    ... family = "torus"
    ... shape = [4, 8]
    ... bandwidth = "45GB/s"
    ... latency = 0
    ... wraps = ["y"]
    ... ''', "lab.toml")
    >>> lab.name, lab.topology.chips, [a.wraps for a in lab.topology.axes], lab.routing
    ('lab.toml', 32, [False, True], 'dimension_order')
    >>> parse("chips = 2", "lab.toml")
    Traceback (most recent call last):
    hopcast.names.InputError: lab.toml: links: no way from chip 0 to chip 1; every vertex needs one
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {_toml_error(error)}") from None
    if "family" in table and "chips" in table:
        raise InputError(f"{path}: family and chips; it is a family with a shape, or chips with [[links]]")
    if "family" in table:
        return _family(table, path)
    if "chips" in table or "links" in table:
        return _network(table, path)
    raise InputError(
        f'{path}: neither family nor chips; write family = "torus" with a shape, or chips = 8 with [[links]]'
    )


def _toml_error(error: Exception) -> str:
    found = re.fullmatch(r"(.*?) \(at (?:line (\d+), column \d+|(end of document))\)", str(error), re.DOTALL)
    if not found:
        return f"not TOML: {str(error).splitlines()[0]}"
    where = f"line {found[2]}" if found[2] else "at its end"
    return f"{where}: not TOML: {found[1].splitlines()[0]}"


def _family(table: Table, path: str) -> Cluster:
    _known(table, _FAMILY, path, "")
    said = _text(table, "family", path)
    try:
        module = registry.load("topologies", "family", said)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    family = module.__name__.rsplit(".", 1)[-1]
    shape = _shape(table, path)
    bandwidth, latency = _bandwidth(table, path, ""), _latency(table, path, "")
    half = _half(table, path, "")
    name = _name(table, path)
    if "wraps" in table:
        if family not in ("torus", "mesh"):
            raise InputError(f'{path}: wraps: a {family} has no axes to close; use family = "mesh"')
        topology = _grid.grid(name, shape, _wraps(table["wraps"], shape, path), bandwidth, latency, half)
    else:
        try:
            topology = module.build(name, shape, bandwidth, latency, half)
        except InputError as error:
            raise InputError(f"{path}: shape: {error}") from None
    routing = (
        "twisted" if family == "twisted_torus" else "dimension_order" if topology.is_grid else "shortest"
    )
    return Cluster(name, topology, family, routing)


def _network(table: Table, path: str) -> Cluster:
    _known(table, _NETWORK, path, "")
    chips = _count(table, "chips", path, 1)
    switches = _count(table, "switches", path, 0)
    vertices = chips + switches
    rows = table.get("links", [])
    if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
        raise InputError(f"{path}: links: each is a [[links]] with src and dst")
    src: list[int] = []
    dst: list[int] = []
    wire: list[int] = []
    rates: list[float] = []
    delays: list[float] = []
    known: dict[tuple[int, int, float], int] = {}
    for i, row in enumerate(rows):
        at = f"links[{i}]."
        _known(row, _LINK, path, at)
        full = {k: table[k] for k in _LINK if k in table} | row
        ends = [_vertex(row, key, path, at, chips, vertices) for key in ("src", "dst")]
        if ends[0] == ends[1]:
            raise InputError(f"{path}: {at}dst: {ends[1]} is its own src; a link joins two vertices")
        both, half = _both(row, path, at), _half(full, path, at)
        if half and not both and "duplex" in row:
            raise InputError(f'{path}: {at}duplex: "half" is of a cable, which has both = true')
        for way in range(1 + both):
            rate, delay = _bandwidth(full, path, at), _latency(full, path, at)
            # Data are striped over cables side by side, so these are one of all their bandwidth.
            beside = known.setdefault((ends[way], ends[1 - way], delay), len(src)) if not half else len(src)
            if beside < len(src):
                rates[beside] += rate
                continue
            wire.append(len(src) - (way if half else 0))
            src.append(ends[way])
            dst.append(ends[1 - way])
            rates.append(rate)
            delays.append(delay)
    columns = [np.array(c, np.int32) for c in (src, dst, wire)]
    _joined(columns[0], columns[1], chips, vertices, path)
    name = _name(table, path)
    topology = Topology(
        name, chips, vertices, columns[0], columns[1], np.zeros(len(src), np.int32), np.array(rates, float),
        np.array(delays, float), columns[2], (Axis("x", chips, False, True),),
        np.arange(chips, dtype=np.int32)[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip
    return Cluster(name, topology, "network", "shortest")


def _known(table: Table, keys: Collection[str], path: str, at: str) -> None:
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key.lower(), keys, 1)
            hint = f"; did you mean {near[0]}?" if near else ";"
            raise InputError(f"{path}: no key {at + key!r}{hint} there is: {', '.join(keys)}")


def _text(table: Table, key: str, path: str) -> str:
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{path}: {key}: {value!r} is not a text in quotes")
    return value.strip()


def _name(table: Table, path: str) -> str:
    return _text(table, "name", path) if "name" in table else path


def _shape(table: Table, path: str) -> tuple[int, ...]:
    value = table.get("shape")
    if value is None:
        raise InputError(f'{path}: no shape; write shape = [4, 4] or "4x4"')
    if isinstance(value, str):
        parts = value.strip().lower().split("x")
        value = [int(p) for p in parts] if all(p.strip().isdecimal() for p in parts) else None
    elif isinstance(value, int):
        value = [value]
    lengths = value if isinstance(value, list) and value else [0]
    if not all(_is_whole(n) and n >= 1 for n in lengths):
        raise InputError(
            f'{path}: shape: {table["shape"]!r} is not a list of lengths from 1, such as [4, 4] or "4x4"'
        )
    if len(lengths) > len(_grid.AXES) or math.prod(lengths) > _MOST:
        raise InputError(f"{path}: shape: the most is {_MOST:,} chips on {len(_grid.AXES)} axes")
    return tuple(lengths)


def _wraps(value: object, shape: Sequence[int], path: str) -> list[bool]:
    axes = list(_grid.AXES[: len(shape)])
    asked = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(asked, list) or not all(a in axes for a in asked):
        raise InputError(f"{path}: wraps: {value!r} is not a list of axes; there is: {', '.join(axes)}")
    for letter, length in zip(axes, shape, strict=True):
        if letter in asked and length < 3:
            raise InputError(
                f"{path}: wraps: axis {letter} has length {length}; an axis closes from length 3 on"
            )
    return [letter in asked for letter in axes]


def _bandwidth(table: Table, path: str, at: str) -> float:
    return _quantity(table, "bandwidth", path, at)


def _latency(table: Table, path: str, at: str) -> float:
    return _quantity(table, "latency", path, at)


def _quantity(table: Table, key: str, path: str, at: str) -> float:
    if key not in table:
        raise InputError(f"{path}: {at}{key}: not given; write {key} = {_EXAMPLE[key]}")
    read_one = units.rate if key == "bandwidth" else units.seconds
    try:
        return read_one(table[key])
    except ValueError as error:
        raise InputError(f"{path}: {at}{key}: {error}") from None


def _half(table: Table, path: str, at: str) -> bool:
    said = table.get("duplex", "full")
    if said not in ("full", "half"):
        raise InputError(f'{path}: {at}duplex: {said!r} is not "full" or "half"')
    return bool(said == "half")


def _both(row: Table, path: str, at: str) -> bool:
    said = row.get("both", True)
    if not isinstance(said, bool):
        raise InputError(f"{path}: {at}both: {said!r} is not true or false")
    return said


def _count(table: Table, key: str, path: str, low: int) -> int:
    value = table.get(key, low if key == "switches" else None)
    if not _is_whole(value) or not low <= value <= _MOST:
        given = "not given" if value is None else f"{value!r}"
        raise InputError(f"{path}: {key}: {given}; it is a whole number from {low} to {_MOST:,}")
    return int(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _vertex(row: Table, key: str, path: str, at: str, chips: int, vertices: int) -> int:
    value = row.get(key)
    switches = "no switches" if vertices == chips else f"switches {chips}..{vertices - 1}"
    there = f"there are chips 0..{chips - 1} and {switches}"
    if value is None:
        raise InputError(f"{path}: {at}{key}: not given; {there}")
    if not _is_whole(value) or not 0 <= value < vertices:
        raise InputError(f"{path}: {at}{key}: {value!r} is no vertex; {there}")
    return int(value)


def _joined(src: Ints, dst: Ints, chips: int, vertices: int, path: str) -> None:
    """Every vertex must be on a way from chip 0 and on one back."""
    for start, end, way in ((src, dst, "from chip 0 to"), (dst, src, "to chip 0 from")):
        seen, before = np.zeros(vertices, bool), 0
        seen[0] = True
        while seen.sum() > before:
            before = seen.sum()
            seen[end[seen[start]]] = True
        if not seen.all():
            lost = int(np.argmin(seen))
            word = f"chip {lost}" if lost < chips else f"vertex {lost} (switch {lost - chips})"
            raise InputError(f"{path}: links: no way {way} {word}; every vertex needs one")
