"""Every data sheet: each number has a source, a day and a reading; figures that hang together do."""

import datetime
import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from cli import rows, run

from hopcast import chips, units
from hopcast.ir.cluster import Figure
from hopcast.names import InputError
from hopcast.verbs.chip import chip

NAMES = chips.names()
every_chip = pytest.mark.parametrize("name", NAMES)
EVERY_FIGURE = [(n, key) for n in NAMES for key in chips.load(n).figures]
TPUS = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "7x", "8t", "8i")

SAID = {"source": "here", "seen": "2026-11-29", "trust": "A"}
GOOD: dict[str, Any] = {
    "title": "T",
    "library": "xla",
    "ici": {
        "bandwidth": {"value": "45GB/s", **SAID},
        "latency": {"value": "1us", **SAID},
        "links": {"value": 4, **SAID},
    },
    "cores": {"value": 1, **SAID},
    "devices": {"value": 1, **SAID},
    "host": {"chips": {"value": 4, **SAID}},
    "vm": {"chips": {"value": 4, **SAID}},
    "slice": {
        "axes": 2, "wraps_at": 16, "shapes": ["4x4"], "counts": "chips", **SAID,
    },
}  # fmt: skip


def figure(name: str, key: str) -> float:
    return chips.load(name).figure(key).value


def others(name: str, key: str) -> list[float]:
    return [chips.value(name, key, said.partition(" (")[0]) for said in chips.load(name).figure(key).other]


def test_all_generations_are_there() -> None:
    assert set(TPUS) <= set(NAMES)


@pytest.mark.parametrize(("name", "key"), EVERY_FIGURE, ids=lambda v: str(v))
def test_a_figure_has_a_source_a_day_and_a_value(name: str, key: str) -> None:
    f = chips.load(name).figure(key)
    assert isinstance(f, Figure)
    assert 0 < f.value < math.inf
    assert len(f.source) > 8
    assert datetime.date(2026, 1, 1) <= datetime.date.fromisoformat(f.seen) <= datetime.date(2030, 1, 1)
    assert f.trust in chips.TRUST
    assert ("from memory" in f.source) == (f.trust == "M") or key == "vmem.bandwidth"
    for said in f.other:
        quoted = chips.value(name, key, said.partition(" (")[0])
        # A disagreement, not another quantity.
        assert 1 / 3 < quoted / f.value < 3, said


@every_chip
def test_a_chip_has_what_a_slice_needs(name: str) -> None:
    chip = chips.load(name)
    assert chip.stack in ("xla", "nccl", "rccl")
    if chip.slices is None:
        assert chip.axes == 0
        return
    assert chip.axes == chip.slices.axes
    assert figure(name, "ici.links") == 2 * chip.axes
    for key in (
        "ici.bandwidth",
        "ici.latency",
        "hbm.capacity",
        "hbm.bandwidth",
        "cores",
        "devices",
        "host.chips",
        "vm.chips",
    ):
        assert key in chip.figures
    assert math.prod(chip.shapes["host.shape"]) == figure(name, "host.chips")
    assert figure(name, "devices") <= figure(name, "cores")


@every_chip
def test_memory_nearer_to_the_cores_is_faster(name: str) -> None:
    keys = ("vmem.bandwidth", "hbm.bandwidth", "ici.bandwidth", "pcie.bandwidth", "dcn.bandwidth")
    have = [figure(name, k) for k in keys if k in chips.load(name).figures]
    assert have == sorted(have, reverse=True)


@pytest.mark.parametrize("name", TPUS)
def test_vmem_is_22_times_hbm(name: str) -> None:
    assert figure(name, "vmem.bandwidth") == pytest.approx(22 * figure(name, "hbm.bandwidth"), rel=1e-12)


def test_names_and_aliases_find_the_same_chip() -> None:
    owner: dict[str, str] = {}
    for name in NAMES:
        for spelled in (name, *chips.load(name).aliases):
            flat = spelled.replace("-", "").lower()
            assert owner.setdefault(flat, name) == name, f"{spelled} is {owner[flat]} and {name}"
            assert chips.load(spelled) is chips.load(spelled)
            assert chips.load(spelled).name == name
    for spelled, name in [
        ("TPU v5 lite", "v5e"),
        ("v4p", "v4"),
        ("TPU7x", "7x"),
        ("Ironwood", "7x"),
        ("V5P", "v5p"),
    ]:
        assert chips.load(spelled).name == name


def test_an_unknown_chip_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no chip 'v5x'; did you mean v5\w\? there is: .*v5e.*v6e"):
        chips.load("v5x")
    with pytest.raises(InputError, match=r"8i has no figure 'ici.bandwidth'"):
        chips.load("8i").figure("ici.bandwidth")


# One way, of one link, as the vendor's totals give it; it stands beside the default, the book's figure.
@pytest.mark.parametrize(
    ("name", "cut_links", "vendor"),
    [("v5e", 2 * 16, 50e9), ("v6e", 2 * 16, 100e9), ("v3", 2 * 32, 100e9), ("v4", 2 * 16 * 16, 46.9e9)],
)
def test_the_bisection_of_a_pod_is_its_cut_links_at_the_vendors_rate(
    name: str, cut_links: int, vendor: float
) -> None:
    shape = chips.load(name).shapes["pod.shape"]
    assert cut_links == 2 * math.prod(shape) // max(shape)
    assert vendor in others(name, "ici.bandwidth")
    assert figure(name, "pod.bisection.bandwidth") == pytest.approx(cut_links * vendor, rel=2e-3)


@pytest.mark.parametrize(("name", "vendor"), [("v5e", 50e9), ("v6e", 100e9), ("v4", 44.8e9), ("v3", 83e9)])
def test_the_all_reduce_bandwidth_of_a_pod_is_all_its_links(name: str, vendor: float) -> None:
    chip = chips.load(name)
    links = chip.figure("pod.shape").value * chip.figure("ici.links").value
    assert vendor in others(name, "ici.bandwidth")
    assert figure(name, "pod.all_reduce.bandwidth") == pytest.approx(links * vendor, rel=5e-3)


def test_vendor_totals_per_chip_are_both_ways_over_all_ports() -> None:
    for name, total in (("v5e", 400e9), ("v5p", 1200e9), ("v6e", 800e9), ("7x", 1200e9)):
        quoted = next(o for o in chips.load(name).figure("ici.bandwidth").other if "both ways" in o)
        assert f"{total / 1e9:.0f} GB/s" in quoted
        one_way = units.rate(quoted.partition(" (")[0])
        assert total / 2 / figure(name, "ici.links") == one_way
        assert figure(name, "ici.bandwidth") == pytest.approx(0.9 * one_way)


def test_the_network_card_of_a_host_is_shared_by_its_chips() -> None:
    v5e = chips.load("v5e")
    egress = v5e.figure("host.nics").value * v5e.figure("nic.bandwidth").value
    assert egress / v5e.figure("host.chips").value == v5e.figure("dcn.bandwidth").value
    assert (
        v5e.figure("dcn.bandwidth").value * v5e.figure("pod.shape").value
        == v5e.figure("pod.dcn.bandwidth").value
    )


def test_pods_add_up_as_published() -> None:
    """Scaling Book, tpus: a v5e pod has 5.1e16 FLOP/s and 4 TB of HBM, a v5p pod 4.1e18 and 860 TB."""
    for name, flops, memory in (("v5e", 5.1e16, 4.1e12), ("v5p", 4.1e18, 860e12)):
        pod = figure(name, "pod.shape")
        assert pod * figure(name, "flops.bf16") == pytest.approx(flops, rel=0.02)
        assert pod * figure(name, "hbm.capacity") == pytest.approx(memory, rel=0.01)
    assert figure("v4", "pod.shape") == 4096
    assert figure("7x", "pod.shape") == 9216 == 4 * 4 * 576


def test_the_vector_unit_of_v5p_reaches_7_tflops() -> None:
    """Scaling Book, tpus: lanes x ALUs x clock of one core."""
    core = figure("v5p", "vpu.shape") * figure("v5p", "vpu.alus") * figure("v5p", "clock")
    assert core == pytest.approx(7.168e12)


def test_bf16_peak_of_v5e_fits_its_matrix_units() -> None:
    """197e12 = 4 units of 128 x 128 multiply-adds at 1.5 GHz (Google Cloud: four in a TensorCore)."""
    unit = figure("v5e", "mxu.shape") * 2 * figure("v5e", "clock")
    assert figure("v5e", "flops.bf16") / unit == pytest.approx(4, rel=0.01)


def changed(path: str, value: Any) -> Mapping[str, Any]:
    """GOOD with one entry replaced, or removed where value is None."""
    copy = deepcopy(GOOD)
    *way, last = path.split(".")
    table = copy
    for step in way:
        table = table[step]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return copy


def test_a_good_file_is_read() -> None:
    chip = chips.parse("chips/mine.toml", GOOD)
    assert chip.figure("ici.bandwidth") == Figure(45e9, "here", "2026-11-29", "A")
    assert chip.slices is not None
    assert chip.slices.shapes == ((4, 4),)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("title", None, "title: is missing"),
        ("ici.bandwidth.value", "45", r"ici\.bandwidth: '45' is not a bandwidth; write 50GB/s"),
        ("ici.bandwidth.source", None, r"ici\.bandwidth\.source: is missing"),
        ("ici.bandwidth.source", "", r"ici\.bandwidth\.source"),
        ("ici.bandwidth.seen", "yesterday", r"ici\.bandwidth\.seen: 'yesterday' is not a date"),
        ("ici.bandwidth.trust", "Z", r"ici\.bandwidth\.trust: 'Z' must be one of A, B, C, M"),
        ("ici.bandwidth.speed", 1, r"ici\.bandwidth: unknown speed; write value"),
        ("ici.bandwidth.other", ["50 apples (x)"], r"ici\.bandwidth\.other: '50 apples' is not a bandwidth"),

        ("ici.bandwidth.other", ["50GB/s"], r"ici\.bandwidth\.other: '50GB/s' must be a value and in"),
        ("ici.latency", "1us", r"ici\.latency: '1us' is no figure"),

        ("ici.links", {"value": -1, **SAID}, r"ici\.links: -1 must be above 0"),
        ("ici.links", {"value": [1], **SAID}, r"ici\.links: "),
        ("icl", {"latency": {"value": "1us", **SAID}}, "has no section 'icl'; .*there is: .*ici"),

        ("pod", {"shape": {"value": "4y4", **SAID}}, r"pod\.shape: '4y4' is not a shape"),
        ("slice.shapes", ["4by4"], r"slice\.shapes: '4by4' is not a shape"),
        ("slice.shapes", ["4x4x4"], r"slice\.shapes: every shape must have 2 axes"),
        ("slice.wraps_at", "16", r"slice\.wraps_at: '16' must be a whole number"),
        ("slice.wraps_at", 0, "needs either wraps_at or cube"),
        ("slice.wrap_at", 16, r"chips/mine\.toml: slice has no key 'wrap_at'; did you mean wraps_at"),
        ("slice.counts", "dies", r"slice\.counts: 'dies' must be chips or cores"),
        ("slice.axes", None, r"slice\.axes: is missing"),
        ("ici", {"bandwidth": {"value": "45GB/s", **SAID}}, r"ici\.latency, ici\.links: are missing; "),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_key(path: str, value: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        chips.parse("chips/mine.toml", changed(path, value))
    assert str(caught.value).startswith("chips/mine.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", chips.NEEDED)
def test_a_figure_that_slices_need_is_asked_for(key: str) -> None:
    with pytest.raises(InputError, match=rf"^chips/mine\.toml: {key}: is missing; \[slice\] needs it$"):
        chips.parse("chips/mine.toml", changed(key, None))


def test_a_chip_of_needed_figures_alone_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is needed: a slice of it is built, counted, priced and shown."""
    shapes = ["x".join(map(str, s)) for s in chips.load("v5e").slices.shapes]  # others remember them
    one = chips.parse("chips/v5e.toml", changed("slice.shapes", shapes))
    assert set(one.figures) == set(chips.NEEDED)
    monkeypatch.setattr(chips, "load", lambda _: one)
    for words in (
        "show v5e:4x4", "show v5e", "predict all_gather v5e:4x4 --size 1MiB", "bisect v5e:4x4",
        "advise all_gather --chips 16 --on v5e --size 1MiB", "matmul bf16[8,8_x]@bf16[8_x,8] v5e:4x4",
    ):  # fmt: skip
        ran = run(*words.split())
        assert ran.status == 0, ran.err
    assert rows("show", "v5e:4x4")[0]["hop_latency_us"] == 1.0


def test_shapes_are_shown_as_shapes() -> None:
    for name in NAMES:
        said = {row["figure"]: row["value"] for row in chip(name).rows}
        for key, lengths in chips.load(name).shapes.items():
            assert said[key] == "x".join(map(str, lengths))
    assert "mxu.shape                  128x128 " in run("show", "v5e:4x4").out


def test_a_chip_without_a_torus_is_shown_as_facts() -> None:
    facts = {row["figure"]: row["value"] for row in rows("show", "8i")}
    assert (facts["pod.groups"], facts["group.blocks"], facts["block.chips"]) == (36, 8, 4)
    assert facts["pod.diameter"] == 7


@pytest.mark.parametrize("name", ["a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "mi300x"])
def test_gpus_compute_fp16_as_fast_as_bf16_and_int8_as_fast_as_fp8(name: str) -> None:
    figures = chips.load(name).figures
    assert figures["flops.fp16"].value == figures["flops.bf16"].value
    if "flops.int8" in figures and "flops.fp8" in figures:
        assert (
            figures["flops.int8"].value
            == figures["flops.fp8"].value
            == pytest.approx(2 * figures["flops.bf16"].value, rel=0.01)
        )
