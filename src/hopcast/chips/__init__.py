"""One .toml per chip or machine. Every number carries its source and the day it was read.

A file holds ``title``, ``aliases``, ``library``, ``notes``, the rule of its slices under ``[slice]`` (TPUs
with a torus only), and figures ``{ value, source, seen, trust, other }`` under dotted keys. The last word
of a key says how the value is read: ``bandwidth`` is a rate, of one link one way or of one chip;
``capacity`` bytes; ``latency`` a time; ``shape`` lengths; all else is a plain number (counts, FLOP/s, Hz).
``other`` are disagreeing figures, each a value of the same kind and in brackets where it stands. Where
sources disagree the Scaling Book's figure is the default and the vendor's stands beside it; a figure that
nobody gives is absent.
"""

import datetime
import functools
import importlib.resources
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hopcast import registry, units
from hopcast.ir.cluster import Figure
from hopcast.names import InputError, snake, unknown

Shape = tuple[int, ...]
TRUST = ("A", "B", "C", "M")
_WORDS = ("title", "aliases", "library", "notes", "slice")
# First words of keys, so that a misspelt section is not taken for a figure that nobody asks for.
SECTIONS = (
    "block", "clock", "core", "cores", "dcn", "devices", "dram", "flops", "group", "hbm", "host", "ici",
    "job", "mxu", "nic", "nvlink", "nvls", "pcie", "pod", "vm", "vmem", "vpu",
)  # fmt: skip
# Without these a slice cannot be built, priced or counted: where nobody gives them there is no [slice].
NEEDED = ("ici.bandwidth", "ici.latency", "ici.links", "cores", "devices", "host.chips", "vm.chips")


@dataclass(frozen=True)
class SliceRule:
    """Which slices of a chip exist and which of their axes wrap.

    Attributes:
        axes: Axes of a slice.
        shapes: The shapes that exist; with ``cube``, those below one cube.
        source: Where the rule stands.
        seen: ISO date of reading.
        trust: As of a figure.
        counts: What the number of an accelerator type counts: ``chips`` or ``cores``.
        prefixes: First words of accelerator types; the first is the one to write.
        one_vm: Slices of up to so many chips are one virtual machine; larger ones have ``vm.chips`` in each.
        wraps_at: An axis wraps exactly if it is this long; 0 where cubes decide.
        cube: All axes wrap exactly if each is a multiple of this; 0 where lengths decide.
        most_cubes: Cubes of the largest pod.
        job_cubes: Cubes of the largest job that is scheduled.
        twists: Trust of the claim that slices can be twisted; empty where they cannot.
        type_upto: Every number of cubes up to this is an accelerator type.
        type_cubes: Further numbers of cubes that are.
        longest: Longest axis of a type's default shape; 0: any.
    """

    axes: int
    shapes: tuple[Shape, ...]
    source: str
    seen: str
    trust: str
    counts: str
    prefixes: tuple[str, ...] = ()
    one_vm: int = 0
    wraps_at: int = 0
    cube: int = 0
    most_cubes: int = 0
    job_cubes: int = 0
    twists: str = ""
    type_upto: int = 0
    type_cubes: tuple[int, ...] = ()
    longest: int = 0


@dataclass(frozen=True, eq=False)
class Chip:
    """One chip's data sheet.

    Attributes:
        name: File name, for example ``v5e``.
        title: For people, ``TPU v5e``.
        aliases: Other spellings of the name.
        axes: Axes of its network; 0 where it is no torus.
        stack: Whose collectives run on it.
        figures: By dotted key, SI.
        shapes: The figures that are shapes, as lengths.
        slices: Which slices exist; None where the chip has no torus.
        notes: Disputes and assumptions.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    axes: int
    stack: str
    figures: Mapping[str, Figure]
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    slices: SliceRule | None = None
    notes: tuple[str, ...] = ()

    def figure(self, key: str) -> Figure:
        """The figure of a dotted key.

        Raises:
            InputError: if nobody gives it; it names the nearest key and all of them.
        """
        if key not in self.figures:
            raise unknown("figure", key, self.figures, of=self.name)
        return self.figures[key]

    def __repr__(self) -> str:
        return f"Chip({self.name}, {len(self.figures)} figures)"


@functools.cache
def load(name: str) -> Chip:
    """The chip of that name or alias.

    Raises:
        InputError: for an unknown name, and for a file that is wrong: it names the file and the key.

    >>> load("v5e").figures["ici.bandwidth"].value, load("Ironwood").name
    (45000000000.0, '7x')
    """
    found = _find(name)
    if found is None:
        raise unknown("chip", name, names())
    return parse(f"chips/{found}.toml", _document(found))


def names() -> tuple[str, ...]:
    """The chips there are, by file name.

    >>> "v5p" in names()
    True
    """
    return registry.found("chips", ".toml")


def known(name: str) -> bool:
    """Whether a word is a chip's name or alias.

    >>> known("v5litepod"), known("torus")
    (True, False)
    """
    return _find(name) is not None


def _find(name: str) -> str | None:
    flat = _flat(name)
    return next((n for n in names() if _flat(n) == flat), None) or _aliases().get(flat)


@functools.cache
def _document(name: str) -> Mapping[str, Any]:
    file = importlib.resources.files("hopcast.chips") / f"{name}.toml"
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"chips/{name}.toml is not TOML: {error}") from None


@functools.cache
def _aliases() -> Mapping[str, str]:
    """Every other spelling, to the name; read only when a name is no file."""
    return {_flat(a): n for n in names() for a in _document(n).get("aliases", ())}


def _flat(name: str) -> str:
    """TPU v5 lite, tpu-v5lite and TPUv5Lite are one word."""
    return snake(name).replace("_", "")


def parse(file: str, document: Mapping[str, Any], sections: Sequence[str] = SECTIONS) -> Chip:
    """A chip, or the figures of a machine, from the content of a file.

    Args:
        file: For messages: ``chips/v5e.toml``.
        document: As tomllib gives it.
        sections: First words that a key may have.

    Raises:
        InputError: for a missing, unknown or unreadable entry; it names the file and the key.
    """
    name = file.rpartition("/")[2].removesuffix(".toml")
    for key in document:
        if key not in (*sections, *_WORDS):
            raise unknown("section", key, sections, of=file)
    title, library = (_text(file, key, document.get(key)) for key in ("title", "library"))
    aliases, notes = (_texts(file, key, document.get(key, [])) for key in ("aliases", "notes"))
    figures = {}
    for key, entry in _entries(file, "", {k: v for k, v in document.items() if k not in _WORDS}):
        figures[key] = _figure(file, key, entry)
    rule = _rule(file, document["slice"]) if "slice" in document else None
    need(file, NEEDED if rule else (), figures, "[slice]")
    shapes = {key: f.shape for key, f in figures.items() if f.shape}
    return Chip(name, title, aliases, rule.axes if rule else 0, library, figures, shapes, rule, notes)


def need(file: str, keys: Iterable[str], have: Iterable[str], by: str) -> None:
    """Refuse a file that lacks a figure.

    Args:
        file: For the message.
        keys: What must be there.
        have: What is there.
        by: What needs them.

    Raises:
        InputError: naming the file and the keys that are missing.

    >>> need("chips/mine.toml", ("ici.latency", "cores"), ("cores",), "[slice]")
    Traceback (most recent call last):
    hopcast.names.InputError: chips/mine.toml: ici.latency: is missing; [slice] needs it
    """
    missing = [key for key in keys if key not in have]
    if missing:
        verb, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise _wrong(file, ", ".join(missing), f"{verb} missing; {by} needs {them}")


def _entries(file: str, above: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Dotted keys and the tables that have a value."""
    for key, entry in table.items():
        dotted = f"{above}{key}"
        if not isinstance(entry, dict):
            raise _wrong(file, dotted, f"{entry!r} is no figure; write {{ value, source, seen, trust }}")
        if "value" in entry:
            yield dotted, entry
        else:
            yield from _entries(file, f"{dotted}.", entry)


def _figure(file: str, key: str, entry: Mapping[str, Any]) -> Figure:
    extra = set(entry) - {"value", "source", "seen", "trust", "other"}
    if extra:
        raise _wrong(
            file, key, f"unknown {', '.join(sorted(extra))}; write value, source, seen, trust, other"
        )
    source, seen, trust = (_text(file, f"{key}.{p}", entry.get(p)) for p in ("source", "seen", "trust"))
    _dated(file, key, seen, trust)
    other = _texts(file, f"{key}.other", entry.get("other", []))
    for said in other:
        quoted, _, where = said.partition(" (")
        if not where.endswith(")"):
            raise _wrong(file, f"{key}.other", f"{said!r} must be a value and in brackets where it stands")
        value(file, f"{key}.other", quoted)
    number = value(file, key, entry["value"])
    lengths = shape(entry["value"]) if _kind(key) == "shape" else ()
    return Figure(number, source, seen, trust, other, lengths)


def value(file: str, key: str, said: Any) -> float:
    """A figure's value in SI; the last word of the key says how it is read.

    Raises:
        InputError: naming file and key.

    >>> value("v5e", "ici.bandwidth", "45GB/s"), value("v5e", "host.shape", "4x2"), value("v5e", "cores", 1)
    (45000000000.0, 8.0, 1.0)
    """
    kind = _kind(key)
    try:
        if kind == "shape":
            return float(math.prod(shape(said)))
        if kind == "bandwidth":
            return units.rate(said)
        if kind == "capacity":
            return float(units.size(said))
        if kind == "latency":
            return units.seconds(said)
        number = float(said)
    except (TypeError, ValueError) as error:
        raise _wrong(file, key, str(error)) from None
    if not 0 < number < math.inf:
        raise _wrong(file, key, f"{said!r} must be above 0")
    return number


def _kind(key: str) -> str:
    last = key.removesuffix(".other").rpartition(".")[2]
    return last if last in ("shape", "bandwidth", "capacity", "latency") else "number"


def shape(said: str) -> Shape:
    """Lengths of axes.

    Raises:
        ValueError: if it is not a shape.

    >>> shape("16x20x28")
    (16, 20, 28)
    """
    parts = str(said).lower().split("x")
    if not all(p.isascii() and p.isdigit() and int(p) > 0 for p in parts):
        raise InputError(f"{said!r} is not a shape; write 4x4 or 4x4x8")
    return tuple(int(p) for p in parts)


def _rule(file: str, table: Mapping[str, Any]) -> SliceRule:
    known = SliceRule.__dataclass_fields__
    for key in table:
        if key not in known:
            raise unknown("key", key, known, of=f"{file}: slice")
    for key in ("axes", "shapes", "source", "seen", "trust", "counts"):
        if key not in table:
            raise _wrong(file, f"slice.{key}", "is missing")
    whole = {k: _count(file, k, said) for k, said in table.items() if known[k].type is int}
    text = {
        k: _text(file, f"slice.{k}", said, k == "twists") for k, said in table.items() if known[k].type is str
    }
    _dated(file, "slice", text["seen"], text["trust"])
    if text["counts"] not in ("chips", "cores"):
        raise _wrong(file, "slice.counts", f"{text['counts']!r} must be chips or cores")
    if bool(table.get("cube")) == bool(table.get("wraps_at")):
        raise _wrong(file, "slice", "needs either wraps_at or cube: what decides which axes wrap")
    try:
        shapes = tuple(shape(s) for s in table["shapes"])
    except ValueError as error:
        raise _wrong(file, "slice.shapes", str(error)) from None
    if any(len(s) != whole["axes"] for s in shapes):
        raise _wrong(file, "slice.shapes", f"every shape must have {whole['axes']} axes")
    cubes = tuple(_count(file, "type_cubes", c) for c in table.get("type_cubes", []))
    prefixes = _texts(file, "slice.prefixes", table.get("prefixes", []))
    return SliceRule(shapes=shapes, prefixes=prefixes, type_cubes=cubes, **whole, **text)  # type: ignore[arg-type]


def _count(file: str, key: str, said: Any) -> int:
    if not isinstance(said, int) or isinstance(said, bool) or said < 0:
        raise _wrong(file, f"slice.{key}", f"{said!r} must be a whole number")
    return said


def _dated(file: str, key: str, seen: str, trust: str) -> None:
    try:
        datetime.date.fromisoformat(seen)
    except ValueError:
        raise _wrong(file, f"{key}.seen", f"{seen!r} is not a date; write 2026-11-29") from None
    if trust not in TRUST:
        raise _wrong(file, f"{key}.trust", f"{trust!r} must be one of {', '.join(TRUST)}")


def _text(file: str, key: str, said: Any, empty: bool = False) -> str:
    if not isinstance(said, str) or not (said or empty):
        raise _wrong(file, key, "is missing" if said is None else f"{said!r} must be text")
    return said


def _texts(file: str, key: str, said: Any) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(isinstance(s, str) and s for s in said):
        raise _wrong(file, key, f"{said!r} must be a list of texts")
    return tuple(said)


def _wrong(file: str, key: str, why: str) -> InputError:
    return InputError(f"{file}: {key}: {why}")
