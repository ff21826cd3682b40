"""Which slices of a TPU pod can be had, which of their axes wrap, and what the cloud calls them.

A slice keeps the order of axes in which it is asked for; 8x16 and 16x8 are the same slice, drawn differently.
"""

import itertools
import math
import re
from dataclasses import dataclass

from hopcast.names import InputError, unknown
from hopcast.topologies import twisted_torus

from . import Chip, Shape, SliceRule, known, load, names
from . import shape as read_shape

_TYPE = re.compile(r"(.+?)-(\d+(?:x\d+)*)", re.IGNORECASE)


@dataclass(frozen=True)
class Slice:
    """A part of a pod that one job gets.

    Attributes:
        chip: Name of the chip.
        shape: Lengths of its axes, in the order asked for.
        wraps: For each axis, whether the last chip is joined to the first.
        twisted: Whether wrap-arounds of the short axes are shifted.
        chips: Number of chips.
        devices: As JAX counts them: cores on v2, v3 and 7x.
        hosts: Machines that hold the chips.
        vms: Virtual machines, as the cloud sells them.
        cubes: Cubes of 4x4x4 chips; 0 where there are none.
        optical_cables: Cables that go through optical switches: wrap-arounds and those between cubes.
        notes: What a reader should know.
    """

    chip: str
    shape: Shape
    wraps: tuple[bool, ...]
    twisted: bool
    chips: int
    devices: int
    hosts: int
    vms: int
    cubes: int
    optical_cables: int
    notes: tuple[str, ...] = ()


def slice_of(chip: Chip | str, shape: Shape, twisted: bool = False) -> Slice:
    """The slice of that shape.

    Raises:
        InputError: if it cannot exist; it names what can be had.

    >>> s = slice_of("v5e", (8, 16))
    >>> s.wraps, s.hosts, s.vms
    ((False, True), 16, 32)
    >>> slice_of("v5p", (16, 20, 28)).hosts
    2240
    """
    chip = load(chip) if isinstance(chip, str) else chip
    rule = _rule_of(chip)
    shape = tuple(int(n) for n in shape)
    _must_exist(chip, rule, shape)
    if twisted:
        _must_twist(chip, rule, shape)
    total, cubes = math.prod(shape), _cubes(rule, shape)
    wraps = tuple(n > 2 and (cubes > 0 if rule.cube else n == rule.wraps_at) for n in shape)
    per_vm, per_host = (int(chip.figure(key).value) for key in ("vm.chips", "host.chips"))
    vms = 1 if total <= max(rule.one_vm, per_vm) else total // per_vm
    # Every axis is closed through switches and cut between cubes: n / cube cables for each line of n chips.
    optical = sum(total // rule.cube for _ in shape) if cubes else 0
    return Slice(
        chip.name, shape, wraps, twisted, total, total * int(chip.figure("devices").value),
        -(-total // per_host), vms, cubes, optical, tuple(_notes(chip, rule, shape, wraps, cubes, twisted)),
    )  # fmt: skip


def shapes(chip: Chip | str, chips: int) -> list[Slice]:
    """Every slice with that many chips, the most compact first; twisted ones follow their shape.

    >>> [(s.shape, s.twisted) for s in shapes("v5p", 256)]
    [((4, 8, 8), False), ((4, 8, 8), True), ((4, 4, 16), False)]
    """
    chip = load(chip) if isinstance(chip, str) else chip
    rule = _rule_of(chip)
    had = sorted(_candidates(rule, chips), key=lambda s: (sum(s), s))
    plain = [(s, False) for s in had]
    bent = [(s, True) for s in had if rule.twists and twisted_torus.twistable(s)]
    return [slice_of(chip, s, t) for s, t in sorted(plain + bent, key=lambda e: (sum(e[0]), e[0], e[1]))]


def is_type(text: str) -> bool:
    """Whether a word looks like an accelerator type of a chip that is known.

    >>> is_type("v5litepod-16"), is_type("v5p-4x4x16"), is_type("v5p-7"), is_type("dgx-h100")
    (True, True, True, False)
    """
    found = _TYPE.fullmatch(text.strip())
    return found is not None and known(found[1])


def type_to_slice(text: str) -> tuple[str, Shape]:
    """Chip and shape of an accelerator type: a number means the default shape, ``v5p-4x4x16`` says another.

    The number counts TensorCores of v2, v3, v4, v5p and 7x, chips of v5e and v6e. The default shape is the
    most compact one, that of least sum of axes.

    Raises:
        InputError: for a chip without types and a number that is none; it names the nearest ones.

    Source: AI-Hypercomputer/xpk 367c8382, src/xpk/core/system_characteristics.py; the rule gives all of it.

    >>> type_to_slice("v5litepod-16"), type_to_slice("v5p-1536"), type_to_slice("tpu7x-4x4x16")
    (('v5e', (4, 4)), ('v5p', (8, 8, 12)), ('7x', (4, 4, 16)))
    """
    found = _TYPE.fullmatch(text.strip())
    if not found:
        raise InputError(
            f"{text!r} is not an accelerator type; write one such as v5litepod-16, v5p-128 or v5p-4x4x16"
        )
    if not known(found[1]):
        raise unknown("chip", found[1], names())
    chip = load(found[1])
    rule = _rule_of(chip)
    if not rule.prefixes:
        raise InputError(
            f"{text!r}: accelerator types of {chip.title} are not known; write {chip.name}:4x4x4"
        )
    if "x" in found[2].lower():
        shape = read_shape(found[2])
        _must_exist(chip, rule, shape)
        return chip.name, shape
    table = types(chip)
    number = int(found[2])
    if number not in table:
        raise InputError(_no_type(text, chip, rule, table, number))
    return chip.name, table[number]


def slice_to_type(chip: Chip | str, shape: Shape) -> str:
    """The accelerator type of a shape: by number if the shape is that number's default, else by lengths.

    Raises:
        InputError: if there is no such slice, or the chip has no types.

    >>> slice_to_type("v5e", (8, 4)), slice_to_type("v5p", (4, 8, 8)), slice_to_type("v5p", (4, 4, 16))
    ('v5litepod-32', 'v5p-512', 'v5p-4x4x16')
    """
    chip = load(chip) if isinstance(chip, str) else chip
    rule = _rule_of(chip)
    _must_exist(chip, rule, shape)
    if not rule.prefixes:
        raise InputError(f"accelerator types of {chip.title} are not known; write {chip.name}:{spell(shape)}")
    number = math.prod(shape) * _counted(chip, rule)
    default = types(chip).get(number, ())
    named = str(number) if sorted(default) == sorted(shape) else spell(shape)
    return f"{rule.prefixes[0]}-{named}"


def types(chip: Chip | str) -> dict[int, Shape]:
    """Every number of an accelerator type with its default shape, ascending.

    >>> list(types("v4").items())[:4]
    [(8, (2, 2, 1)), (16, (2, 2, 2)), (32, (2, 2, 4)), (64, (2, 4, 4))]
    """
    chip = load(chip) if isinstance(chip, str) else chip
    rule = _rule_of(chip)
    found = list(rule.shapes)
    if rule.cube:
        for cubes in sorted({*range(1, rule.type_upto + 1), *rule.type_cubes}):
            compact = min(_boxes(cubes), key=lambda s: (sum(s), s))
            shape = tuple(rule.cube * n for n in compact)
            if not rule.longest or max(shape) <= rule.longest:
                found.append(shape)
    each = _counted(chip, rule)
    return {math.prod(s) * each: s for s in found}


def spell(shape: Shape) -> str:
    """A shape as people write it.

    >>> spell((4, 4, 8))
    '4x4x8'
    """
    return "x".join(map(str, shape))


def _counted(chip: Chip, rule: SliceRule) -> int:
    return int(chip.figure("cores").value) if rule.counts == "cores" else 1


def _rule_of(chip: Chip) -> SliceRule:
    if chip.slices is None:
        raise InputError(f"{chip.title} has no torus, so no slices; what has is {', '.join(_with_slices())}")
    return chip.slices


def _with_slices() -> list[str]:
    return [n for n in names() if load(n).slices is not None]


def _cubes(rule: SliceRule, shape: Shape) -> int:
    """Cubes of a shape; 0 if an axis is no multiple of a cube's."""
    if not rule.cube or any(n % rule.cube for n in shape):
        return 0
    return math.prod(n // rule.cube for n in shape)


def _boxes(volume: int) -> list[Shape]:
    """Every a <= b <= c with a b c = volume."""
    return [
        (a, b, volume // (a * b))
        for a in range(1, round(volume ** (1 / 3)) + 2)
        if volume % a == 0
        for b in range(a, math.isqrt(volume // a) + 1)
        if volume // a % b == 0
    ]


def _candidates(rule: SliceRule, chips: int) -> list[Shape]:
    """Every shape with that many chips, once."""
    listed = [s for s in rule.shapes if math.prod(s) == chips]
    cubes, rest = divmod(chips, rule.cube**3) if rule.cube else (0, 1)
    if rest or not 0 < cubes <= rule.most_cubes:
        return listed
    return listed + [tuple(rule.cube * n for n in box) for box in _boxes(cubes)]


def _exists(rule: SliceRule, shape: Shape) -> bool:
    return any(sorted(shape) == sorted(s) for s in rule.shapes) or 0 < _cubes(rule, shape) <= rule.most_cubes


def _must_exist(chip: Chip, rule: SliceRule, shape: Shape) -> None:
    given = f"{chip.name}:{spell(shape)}"
    if len(shape) != rule.axes:
        example = {2: "4x4", 3: "4x4x8"}[rule.axes]
        raise InputError(
            f"{given} has {len(shape)} axes; {chip.title} has {rule.axes}, as in {chip.name}:{example}"
        )
    if _exists(rule, shape):
        return
    had = f"{', '.join(map(spell, rule.shapes))}"
    if not rule.cube:
        raise InputError(f"no slice {given}; {chip.title} has {had} (axes in either order)")
    cube = spell((rule.cube,) * rule.axes)
    cubes = _cubes(rule, shape)
    if cubes:
        raise InputError(
            f"no slice {given}: it has {cubes} cubes of {cube} and a pod of {chip.title} {rule.most_cubes}"
        )
    near = spell(_nearest(rule, shape))
    raise InputError(
        f"no slice {given}; {chip.title} has {had} (axes in any order) and multiples of {rule.cube} on all "
        f"axes, up to {rule.most_cubes} cubes of {cube}; nearest is {near}"
    )


def _nearest(rule: SliceRule, shape: Shape) -> Shape:
    """The shape that exists whose axes, one by one, are least factors away."""
    steps = [{max(rule.cube, n // rule.cube * rule.cube), -(-n // rule.cube) * rule.cube} for n in shape]
    cubic = [s for s in itertools.product(*steps) if _exists(rule, s)]
    small = [tuple(p) for s in rule.shapes for p in itertools.permutations(s)]
    return min(
        cubic + small, key=lambda s: (sum(abs(math.log(a / b)) for a, b in zip(s, shape, strict=True)), s)
    )


def _must_twist(chip: Chip, rule: SliceRule, shape: Shape) -> None:
    given = f"{chip.name}:{spell(shape)}"
    if not rule.twists:
        able = [n for n in _with_slices() if (r := load(n).slices) is not None and r.twists]
        raise InputError(
            f"{given} cannot be twisted: slices of {chip.title} are not; those of {', '.join(able)} can"
        )
    if not twisted_torus.twistable(shape):
        raise InputError(
            f"{given} cannot be twisted; what can is n x n x 2n or n x 2n x 2n, n a multiple of 4, as 4x4x8"
        )


def _notes(
    chip: Chip, rule: SliceRule, shape: Shape, wraps: tuple[bool, ...], cubes: int, twisted: bool
) -> list[str]:
    notes = (
        [_why_open(chip, rule, shape, wraps)]
        if any(n > 2 and not w for n, w in zip(shape, wraps, strict=True))
        else []
    )
    if rule.job_cubes and cubes > rule.job_cubes:
        most = f"{rule.job_cubes} cubes" + (
            f" ({spell(chip.shapes['job.shape'])})" if "job.shape" in chip.shapes else ""
        )
        notes.append(f"above the largest job that is scheduled, {most}: {chip.figure('job.cubes').source}")
    if rule.trust == "M":
        notes.append(f"slices and wraps of {chip.title} are from memory, without a source")
    if rule.trust == "C":
        notes.append(f"slices and wraps of {chip.title} are assumed: {rule.source}")
    if twisted and rule.twists == "C":
        notes.append(f"twisting is documented for v4 and v5p; that {chip.title} has it is assumed")
    return notes


def _why_open(chip: Chip, rule: SliceRule, shape: Shape, wraps: tuple[bool, ...]) -> str:
    if rule.cube:
        return f"no wrap-around: {chip.title} closes its axes only if each is a multiple of {rule.cube}"
    lengths = sorted({n for n, w in zip(shape, wraps, strict=True) if n > 2 and not w})
    which = " and ".join(map(str, lengths))
    return f"no wrap-around along {which}: {chip.title} closes an axis only at length {rule.wraps_at}"


def _no_type(text: str, chip: Chip, rule: SliceRule, table: dict[int, Shape], number: int) -> str:
    """The error for a number that is no type: the nearest below and above, and shapes of that size."""
    prefix = rule.prefixes[0]
    below, above = [n for n in table if n < number], [n for n in table if n > number]
    near = [f"{prefix}-{n} ({spell(table[n])})" for n in (*below[-1:], *above[:1])]
    each = _counted(chip, rule)
    other = [s.shape for s in shapes(chip, number // each) if not s.twisted] if number % each == 0 else []
    own = f"; by shape, {' or '.join(f'{prefix}-{spell(s)}' for s in other[:2])}" if other else ""
    return (
        f"no accelerator type {text!r}: its number counts {rule.counts}; nearest is {' or '.join(near)}{own}"
    )
