"""Slices of TPU pods: which exist, which axes wrap, what the cloud calls them."""

import itertools
import math
import re

import pytest

from hopcast import chips
from hopcast.chips import slices
from hopcast.names import InputError
from hopcast.topologies import _grid, twisted_torus

# Default shape of each number of TensorCores: AI-Hypercomputer/xpk 367c8382,
# src/xpk/core/system_characteristics.py.
XPK_7X = """
    8=2x2x1 16=2x2x2 32=2x2x4 64=2x4x4 128=4x4x4 256=4x4x8 384=4x4x12 512=4x8x8 640=4x4x20 768=4x8x12
    896=4x4x28 1024=8x8x8 1152=4x12x12 1280=4x8x20 1408=4x4x44 1536=8x8x12 1664=4x4x52 1792=4x8x28
    1920=4x12x20 2048=8x8x16 2176=4x4x68 2304=8x12x12 2432=4x4x76 2560=8x8x20 2688=4x12x28 2816=4x8x44
    2944=4x4x92 3072=8x12x16 3200=4x20x20 3328=4x8x52 3456=12x12x12 3584=8x8x28 3712=4x4x116 3840=8x12x20
    3968=4x4x124 4096=8x16x16 4224=4x12x44 4352=4x8x68 4480=4x20x28 4608=12x12x16 4736=4x4x148 4864=4x8x76
    4992=4x12x52 5120=8x16x20 5248=4x4x164 5376=8x12x28 5504=4x4x172 5632=8x8x44 5760=12x12x20 5888=4x8x92
    6016=4x4x188 6144=12x16x16 6272=4x28x28 6400=8x20x20 6528=4x12x68 6656=8x8x52 6784=4x4x212 6912=12x12x24
    7040=4x20x44 7168=8x16x28 7296=4x12x76 7424=4x8x116 7552=4x4x236 7680=12x16x20 7808=4x4x244 7936=4x8x124
    8064=12x12x28 8192=16x16x16 8320=4x20x52 8448=8x12x44 8704=8x8x68 8832=4x12x92 8960=8x20x28
    9216=12x16x24 9472=4x8x148 9600=12x20x20 9728=8x8x76 9856=4x28x44 9984=8x12x52 10240=16x16x20
    10368=12x12x36 10496=4x8x164 10752=12x16x28 10880=4x20x68 11008=4x8x172 11136=4x12x116 11264=8x16x44
    11520=12x20x24 11648=4x28x52 11776=8x8x92 11904=4x12x124 12032=4x8x188 12160=4x20x76 12288=16x16x24
    13824=12x24x24 16384=16x16x32 17920=16x20x28 18432=16x24x24
"""
XPK_V4 = """
    8=2x2x1 16=2x2x2 32=2x2x4 64=2x4x4 128=4x4x4 256=4x4x8 512=4x8x8 1024=8x8x8 1536=8x8x12 2048=8x8x16
    4096=8x16x16
"""
V5E = "4=2x2 8=2x4 16=4x4 32=4x8 64=8x8 128=8x16 256=16x16"


def table(text: str) -> dict[int, tuple[int, ...]]:
    found = {}
    for entry in text.split():
        number, shape = entry.split("=")
        found[int(number)] = tuple(int(n) for n in shape.split("x"))
    return found


MAPS = {
    "tpu7x": ("7x", table(XPK_7X)),
    "v5p": ("v5p", {k: v for k, v in table(XPK_7X).items() if k not in (16384, 18432)}),
    "v4": ("v4", table(XPK_V4) | {8192: (16, 16, 16)}),
    "v5litepod": ("v5e", table(V5E) | {1: (1, 1)}),
    "v6e": ("v6e", table(V5E) | {1: (1, 1)}),
    "v2": ("v2", table("8=2x2 32=4x4 128=8x8 256=8x16 512=16x16")),
    "v3": ("v3", table("8=2x2 32=4x4 128=8x8 256=8x16 512=16x16 1024=16x32 2048=32x32")),
}
EVERY_TYPE = [
    (f"{prefix}-{n}", chip, shape) for prefix, (chip, entries) in MAPS.items() for n, shape in entries.items()
]
ENTRIES = {"tpu7x": 98, "v5p": 96, "v4": 11 + 1, "v5litepod": 8, "v6e": 8, "v2": 5, "v3": 7}
TORI = [n for n in chips.names() if chips.load(n).slices is not None]


@pytest.mark.parametrize("prefix", MAPS)
def test_the_rule_gives_the_published_map_and_nothing_else(prefix: str) -> None:
    chip, entries = MAPS[prefix]
    assert len(entries) == ENTRIES[prefix]
    assert slices.types(chip) == entries


@pytest.mark.parametrize(("text", "chip", "shape"), EVERY_TYPE, ids=lambda v: str(v))
def test_a_type_and_its_slice_name_each_other(text: str, chip: str, shape: tuple[int, ...]) -> None:
    assert slices.is_type(text)
    assert slices.type_to_slice(text) == (chip, shape)
    assert slices.slice_to_type(chip, shape) == text
    assert slices.slice_to_type(chip, shape[::-1]) == text
    made = slices.slice_of(chip, shape)
    number = int(text.rpartition("-")[2])
    per_chip = 1 if chip in ("v5e", "v6e") else 2
    assert made.chips == math.prod(shape) == number // per_chip


@pytest.mark.parametrize("chip", [c for c, _ in MAPS.values()])
def test_a_shape_that_is_no_default_is_named_by_its_lengths(chip: str) -> None:
    numbered = 0
    for cubes in (1, 2, 4, 8, 12):
        for made in slices.shapes(chip, 64 * cubes):
            text = slices.slice_to_type(chip, made.shape)
            back, shape = slices.type_to_slice(text)
            assert (back, sorted(shape)) == (chip, sorted(made.shape))
            numbered += "x" not in text.rpartition("-")[2]
    assert numbered >= 1


def test_other_spellings_of_a_type() -> None:
    assert slices.type_to_slice("v5e-16") == slices.type_to_slice("v5litepod-16") == ("v5e", (4, 4))
    assert slices.type_to_slice("TPU7x-128") == slices.type_to_slice("ironwood-128") == ("7x", (4, 4, 4))
    assert slices.type_to_slice("v5p-4x4x16") == ("v5p", (4, 4, 16))
    assert not slices.is_type("v5e:4x4")
    assert not slices.is_type("gb200-nvl72")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("v5p-7", r"no accelerator type 'v5p-7': its number counts cores; nearest is v5p-8 \(2x2x1\)"),
        ("v5p-500", r"nearest is v5p-384 \(4x4x12\) or v5p-512 \(4x8x8\)"),
        ("v5p-99999", r"nearest is v5p-17920 \(16x20x28\)"),
        ("v4-384", r"nearest is v4-256 \(4x4x8\) or v4-512 \(4x8x8\); by shape, v4-4x4x12"),
        ("v5litepod-12", r"counts chips; nearest is v5litepod-8 \(2x4\) or v5litepod-16 \(4x4\)"),
        ("v6e-0", r"nearest is v6e-1 \(1x1\)"),
        ("8t-128", "types of TPU 8t are not known; write 8t:4x4x4"),
        ("8i-128", "TPU 8i has no torus"),
        ("v5p-3x4x5", "no slice v5p:3x4x5"),
        ("v9-8", "no chip 'v9'"),
        ("v5p", "is not an accelerator type; write one such as v5litepod-16"),
    ],
)
def test_a_wrong_type_is_refused_with_the_nearest(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        slices.type_to_slice(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("chip", "shape", "wraps"),
    [
        ("v5e", (16, 16), "yes yes"), ("v5e", (8, 16), "no yes"), ("v5e", (16, 8), "yes no"),
        ("v5e", (8, 8), "no no"),
        ("v5e", (4, 4), "no no"), ("v5e", (1, 1), "no no"), ("v6e", (16, 16), "yes yes"),
        ("v6e", (8, 16), "no yes"),
        ("v2", (16, 16), "yes yes"), ("v2", (8, 16), "no yes"), ("v3", (16, 16), "no no"),
        ("v3", (16, 32), "no yes"),
        ("v3", (32, 32), "yes yes"), ("v4", (2, 2, 4), "no no no"), ("v4", (4, 4, 4), "yes yes yes"),
        ("v5p", (2, 4, 4), "no no no"), ("v5p", (2, 2, 1), "no no no"), ("v5p", (4, 4, 8), "yes yes yes"),
        ("v5p", (16, 20, 28), "yes yes yes"), ("7x", (2, 2, 4), "no no no"),
        ("7x", (16, 24, 24), "yes yes yes"),
        ("8t", (4, 8, 12), "yes yes yes"),
    ],
)  # fmt: skip
def test_wraps_are_facts_of_the_slice(chip: str, shape: tuple[int, ...], wraps: str) -> None:
    made = slices.slice_of(chip, shape)
    assert made.wraps == tuple(w == "yes" for w in wraps.split())
    closable = any(n > 2 and not w for n, w in zip(shape, made.wraps, strict=True))
    assert any("no wrap-around" in note for note in made.notes) == closable
    built = _grid.grid("it", made.shape, made.wraps, 1.0, 0.0)
    assert tuple(a.wraps for a in built.axes) == made.wraps


@pytest.mark.parametrize(
    ("chip", "shape", "hosts", "vms", "devices"),
    [
        ("v5e", (16, 16), 32, 64, 256), ("v5e", (4, 4), 2, 4, 16), ("v5e", (2, 4), 1, 1, 8),
        ("v5e", (2, 2), 1, 1, 4),
        ("v5e", (1, 1), 1, 1, 1), ("v6e", (16, 16), 32, 64, 256), ("v5p", (2, 2, 1), 1, 1, 4),
        ("v5p", (2, 2, 2), 2, 2, 8),
        ("v5p", (2, 4, 4), 8, 8, 32), ("v5p", (4, 4, 4), 16, 16, 64), ("v5p", (4, 4, 8), 32, 32, 128),
        ("v5p", (4, 8, 8), 64, 64, 256), ("v5p", (8, 8, 8), 128, 128, 512),
        ("v5p", (16, 16, 24), 1536, 1536, 6144),
        ("v5p", (16, 20, 28), 2240, 2240, 8960), ("7x", (2, 2, 1), 1, 1, 8), ("7x", (4, 4, 4), 16, 16, 128),
        ("v4", (16, 16, 16), 1024, 1024, 4096), ("v3", (2, 2), 1, 1, 8), ("v2", (16, 16), 64, 64, 512),
    ],
)  # fmt: skip
def test_hosts_machines_and_devices(
    chip: str, shape: tuple[int, ...], hosts: int, vms: int, devices: int
) -> None:
    made = slices.slice_of(chip, shape)
    assert (made.hosts, made.vms, made.devices) == (hosts, vms, devices)


def test_optical_cables_are_the_wraps_and_those_between_cubes() -> None:
    """4x8x8 has 64 optical cables that are no wrap-around (TPU topology visualizer), and 128 that are."""
    for shape in ((4, 4, 4), (4, 8, 8), (8, 8, 12)):
        made = slices.slice_of("v4", shape)
        at = list(itertools.product(*map(range, shape)))
        between = wraps = 0
        for a, n in enumerate(shape):
            between += sum(p[a] % 4 == 3 and p[a] < n - 1 for p in at)
            wraps += sum(p[a] == n - 1 for p in at)
        assert made.optical_cables == between + wraps
        assert made.cubes == math.prod(shape) // 64
        if shape == (4, 8, 8):
            assert (between, wraps) == (64, 128)
    assert (
        slices.slice_of("v4", (2, 2, 4)).optical_cables
        == slices.slice_of("v5e", (16, 16)).optical_cables
        == 0
    )


def test_a_slice_above_the_largest_job_exists_with_a_note() -> None:
    assert any("largest job" in n and "16x16x24" in n for n in slices.slice_of("v5p", (16, 20, 28)).notes)
    assert not any("largest job" in n for n in slices.slice_of("v5p", (16, 16, 24)).notes)
    assert any("from memory" in n for n in slices.slice_of("v2", (4, 4)).notes)
    assert any("assumed" in n for n in slices.slice_of("8t", (4, 4, 4)).notes)
    assert slices.slice_of("v5p", (4, 4, 8)).notes == ()


@pytest.mark.parametrize(
    ("chip", "shape", "says"),
    [
        ("v5e", (3, 5), r"no slice v5e:3x5; TPU v5e has 1x1, 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16"),
        ("v5e", (2, 8), "no slice v5e:2x8"),
        ("v5e", (32, 16), "no slice v5e:32x16"),
        ("v5e", (4, 4, 4), r"v5e:4x4x4 has 3 axes; TPU v5e has 2, as in v5e:4x4"),
        ("v5p", (4, 4), r"v5p:4x4 has 2 axes; TPU v5p has 3, as in v5p:4x4x8"),
        (
            "v5p",
            (3, 4, 4),
            r"no slice v5p:3x4x4; .*2x2x1, 2x2x2, 2x2x4, 2x4x4.*multiples of 4.*nearest is 4x4x4",
        ),
        ("v5p", (8, 8, 2), r"nearest is 8x8x4"),
        ("v5p", (20, 20, 28), r"it has 175 cubes of 4x4x4 and a pod of TPU v5p 140"),
        ("v4", (16, 16, 20), r"it has 80 cubes of 4x4x4 and a pod of TPU v4 64"),
        ("7x", (24, 24, 24), r"216 cubes .* 144"),
        ("8i", (4, 4, 4), r"TPU 8i has no torus, so no slices; what has is 7x, 8t, v2"),
    ],
)
def test_a_slice_that_cannot_exist_is_refused_with_what_can(
    chip: str, shape: tuple[int, ...], says: str
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        slices.slice_of(chip, shape)
    assert "\n" not in str(caught.value)
    near = re.search(r"nearest is (\S+)$", str(caught.value))
    if near:
        slices.slice_of(chip, chips.shape(near[1]))


def test_twisted_slices() -> None:
    for chip, shape in (
        ("v4", (4, 4, 8)),
        ("v5p", (4, 8, 8)),
        ("v5p", (8, 8, 16)),
        ("v5p", (8, 16, 16)),
        ("v4", (12, 12, 24)),
    ):
        made = slices.slice_of(chip, shape, twisted=True)
        assert made.twisted
        assert made.wraps == (True, True, True)
        assert twisted_torus.build("it", shape, 1.0, 0.0).chips == made.chips
    assert any("assumed" in n for n in slices.slice_of("7x", (4, 4, 8), twisted=True).notes)
    for shape in ((4, 4, 4), (8, 8, 8), (16, 16, 16), (16, 16, 24), (4, 4, 16), (2, 2, 4)):
        with pytest.raises(InputError, match="cannot be twisted; what can is n x n x 2n"):
            slices.slice_of("v5p", shape, twisted=True)
    with pytest.raises(InputError, match=r"slices of TPU v5e are not; those of 7x, 8t, v4, v5p can"):
        slices.slice_of("v5e", (4, 8), twisted=True)


@pytest.mark.parametrize("chip", TORI)
@pytest.mark.parametrize("count", [1, 3, 4, 8, 16, 32, 64, 128, 192, 256, 512, 768, 1024, 8960])
def test_shapes_are_all_that_exist_with_so_many_chips(chip: str, count: int) -> None:
    found = slices.shapes(chip, count)
    plain = [tuple(sorted(s.shape)) for s in found if not s.twisted]
    assert len(set(plain)) == len(plain)
    rule = chips.load(chip).slices
    assert rule is not None
    divisors = [d for d in range(1, count + 1) if count % d == 0]
    every = {s for s in itertools.combinations_with_replacement(divisors, rule.axes) if math.prod(s) == count}
    exist = set()
    for shape in every:
        try:
            slices.slice_of(chip, shape)
        except InputError:
            continue
        exist.add(shape)
    assert set(plain) == exist
    bent = {tuple(sorted(s.shape)) for s in found if s.twisted}
    assert bent == ({s for s in exist if twisted_torus.twistable(s)} if rule.twists else set())
