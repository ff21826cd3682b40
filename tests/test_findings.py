"""Every finding: a command that shows it, one that does not, and a better command that runs and is better."""

import importlib
import shlex
from types import ModuleType

import pytest
from cli import row, rows, run

from hopcast import registry
from hopcast.units import show_seconds

NAMES = registry.found("findings")


def module(name: str) -> ModuleType:
    return importlib.import_module(f"hopcast.findings.{name}")


def shown(command: str) -> dict[str, dict[str, str]]:
    """The findings of a command, by code."""
    return {f["code"]: f for f in row(*shlex.split(command))["findings"]}


def test_there_are_findings() -> None:
    assert len(NAMES) >= 10
    assert all(module(name).SOURCE for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_finding_appears_with_evidence_in_numbers(name: str) -> None:
    found = shown(module(name).APPEARS)
    assert name in found
    assert any(c.isdigit() for c in found[name]["text"])


@pytest.mark.parametrize("name", NAMES)
def test_a_finding_is_absent_where_it_does_not_apply(name: str) -> None:
    assert name not in shown(module(name).ABSENT)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_says_to_try_runs(name: str) -> None:
    better = shown(module(name).APPEARS)[name]["try"]
    if better:
        assert run(*shlex.split(better)[1:]).status == 0


FASTER = ["chain_pipelining", "half_width", "idle_axis", "other_axis", "sharp_off", "slow_link", "twist"]


@pytest.mark.parametrize("name", FASTER)
def test_what_it_says_to_try_is_faster(name: str) -> None:
    command = module(name).APPEARS
    better = shown(command)[name]["try"].removeprefix("hopcast ")
    assert row(*shlex.split(better))["time_us"] < row(*shlex.split(command))["time_us"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("v5e:4x4 --over x", "next slice that has more wraps is 8x16 (y), and 16x16 has all"),
        ("v5e:8x16 --over x", "next slice that has more wraps is 16x16 (all axes)"),
        ("v5p:2x2x4 --over z", "next slice that has more wraps is 4x4x4 (all axes)"),
    ],
)
def test_no_wrap_names_the_shapes_that_wrap(command: str, says: str) -> None:
    assert says in shown(f"predict all_gather {command} --size 1MiB")["no_wrap"]["text"]


def test_no_wrap_asks_for_the_chips_of_the_next_slice_that_wraps() -> None:
    found = shown("predict all_gather v5p:2x2x4 --size 64MiB")["no_wrap"]
    assert found["try"] == "hopcast advise all_gather --chips 64 --on v5p --size 64MiB"


@pytest.mark.parametrize(
    ("command", "better"),
    [
        ("all_gather v5p:2x2x4 --size 64MiB --over z", "predict all_gather v5p:4x4x4 --size 64MiB --over x"),
        ("all_gather v5e:4x4 --size 64MiB --over x", "predict all_gather v5e:8x16 --size 64MiB --over y"),
        (
            "broadcast v5e:4x4 --size 64MiB --over x --algorithm pipelined_chain --root 2",
            "",
        ),
    ],
)
def test_no_wrap_asks_for_the_same_over_an_axis_that_wraps(command: str, better: str) -> None:
    """Or for nothing, where a longer ring is not faster."""
    found = shown(f"predict {command}")["no_wrap"]["try"]
    assert found == (f"hopcast {better}" if better else "")


@pytest.mark.parametrize("size", ["1KiB", "16KiB"])
def test_no_wrap_is_silent_where_latency_is_what_takes_time(size: str) -> None:
    assert "no_wrap" not in shown(f"predict all_reduce v5e:4x4 --size {size}")


@pytest.mark.parametrize(
    "collective", ["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast"]
)
@pytest.mark.parametrize("where", ["v5e:4x4", "v5e:4x8 --over y", "v5p:2x2x4", "v5e:4x4,slices=2"])
def test_a_larger_or_a_whole_slice_is_said_only_where_it_is_faster(collective: str, where: str) -> None:
    words = ["predict", collective, *shlex.split(where), "--size", "256MiB"]
    here = row(*words)
    for found in here["findings"]:
        if found["code"] in ("no_wrap", "dcn_bound") and found["try"]:
            there = rows(*shlex.split(found["try"])[1:])
            assert min(r["time_us"] for r in there) < here["time_us"], found["try"]


def test_as_many_chips_in_one_slice_need_other_trees() -> None:
    """Two slices of 4x4 beat what the library runs on one of 4x8, but not trees packed over it."""
    found = shown("predict all_reduce v5e:4x4,slices=2 --size 1GiB")["dcn_bound"]
    assert found["try"] == "hopcast predict all_reduce v5e:4x8 --size 1GiB --algorithm best"


def test_the_way_round_a_slow_cable_is_said_with_its_time() -> None:
    words = "predict all_to_all hypercube:3,bandwidth=45GB/s,latency=0 --size 1GiB --slow 0:2=0.25"
    found = shown(f"{words} --algorithm best")["slow_link"]
    there = row(*shlex.split(found["try"])[1:])
    assert f"nothing sent over 0:2 it takes {show_seconds(there['time_us'] / 1e6)}" in found["text"]


@pytest.mark.parametrize("factor", ["0.25", "0.95"])
def test_only_a_cable_slow_enough_is_gone_round(factor: str) -> None:
    words = f"predict all_to_all hypercube:3,latency=0 --size 1GiB --slow 0:2={factor} --algorithm best"
    assert bool(shown(words)["slow_link"]["try"]) == (factor == "0.25")


@pytest.mark.parametrize(("generation", "kilobytes"), [("v5e:16x16", 45), ("v5p:4x4x4", 90)])
def test_a_link_carries_45_or_90_kilobytes_in_the_latency_of_a_hop(generation: str, kilobytes: int) -> None:
    found = shown(f"predict all_gather {generation} --size 16KiB --over x --algorithm ring")["latency_bound"]
    assert f"and {kilobytes} kB would go over it in the 1 us" in found["text"]


def test_the_crossover_size_is_where_latency_and_bytes_take_as_long() -> None:
    """A ring of 4 over 45 GB/s: 4 x 45 kB, the Scaling Book's rule for each shard."""
    text = shown("predict all_gather v5e:4x4 --size 16KiB --over x --algorithm chain")["latency_bound"][
        "text"
    ]
    assert "from about 180 kB on" in text
    there = row(*shlex.split("predict all_gather v5e:4x4 --size 180000 --over x --algorithm chain"))
    assert there["latency_us"] == pytest.approx(there["bandwidth_us"])


def test_the_bound_of_the_twisted_torus_is_that_of_its_mean_distance() -> None:
    """128 chips, 3.4375 links on average, 768 links of 90 GB/s."""
    text = shown("predict all_to_all v5p:4x4x8,latency=0 --size 1GiB")["twist"]["text"]
    least = 2**30 * 3.4375 / 768 / 90e9
    assert f"bound is {least * 1e6:.4g} us" in text


def test_a_twisted_torus_is_no_help_to_rings() -> None:
    words = "predict all_gather v5p:4x4x8,twisted --size 1GiB"
    found = shown(f"{words} --algorithm multi_axis")["twist"]
    better = shlex.split(found["try"])[1:]
    assert better[-1] == "translated_tree"
    assert row(*better)["time_us"] < 0.5 * row(*shlex.split(words), "--algorithm", "multi_axis")["time_us"]
    assert "twist" not in shown(words)


def test_half_the_bytes_take_half_the_bandwidth_time() -> None:
    command = "predict all_reduce v5e:16x16 --over x --size"
    wide = row(*shlex.split(f"{command} f32[2048,2048]"))
    half = row(*shlex.split(f"{command} bf16[2048,2048]"))
    text = next(f["text"] for f in wide["findings"] if f["code"] == "half_width")
    assert f"about {half['time_us']:.4g} us instead of {wide['time_us']:.4g} us" in text
    assert "look at the loss" in text


@pytest.mark.parametrize("size", ["64MiB", "67108864", "s32[2048,8192]"])
def test_other_sizes_are_not_called_too_wide(size: str) -> None:
    assert "half_width" not in shown(f"predict all_gather v5e:4x4 --size {size}")


@pytest.mark.parametrize(
    "command",
    [
        "all_reduce dgx-h100:8 --mesh data=8,model=8 --over data --size 128MiB",
        "all_reduce v5e:16x16 --size bf16[8192,8192_y] --over x",
        "all_gather v4:4x4x4 --size bf16[1024_x,4096_yz] --over x",
    ],
)
def test_an_axis_that_holds_other_data_is_not_idle(command: str) -> None:
    assert "idle_axis" not in shown(f"predict {command}")


def test_copies_can_share_out_a_sum() -> None:
    """On a 4 x 4 torus: 2 (3 / 4) D / 4 over x, then 3 / 4 D over y, each over 2 links of 45 GB/s."""
    text = shown("predict all_reduce torus:4x4,bandwidth=45GB/s,latency=0 --size 1GiB --over x")["idle_axis"]
    least = [2**30 * part / 90e9 * 1e3 for part in (1.5 / 4, 0.75, 1.5)]
    assert all(f"{ms:.4g} ms" in text["text"] for ms in least)


@pytest.mark.parametrize("machine", ["dgx1-v100", "dgx-h100:4,nics=4", "mi300x:2", "gb200-nvl72:2"])
def test_unlike_cables_are_not_slow_ones(machine: str) -> None:
    assert "slow_link" not in shown(f"predict all_reduce {machine} --size 1GiB --algorithm direct")


def test_what_sums_between_nodes_give_in_practice_stands_beside_what_they_could() -> None:
    """546.3 GB/s of busbw were measured on 8 nodes of 8 B200, and 389.2 by rings."""
    asked = "predict all_reduce hgx-b200:8,latency=0 --size 32GiB --format json --algorithm"
    sums, rings = (run(*shlex.split(f"{asked} {name}")).row for name in ("sharp", "ring,channels=8"))
    text = next(f["text"] for f in sums["findings"] if f["code"] == "sharp_practice")
    assert 389.2 / rings["busbw_GBps"] == pytest.approx(0.97, abs=0.01)
    assert 546.3 / sums["busbw_GBps"] == pytest.approx(0.69, abs=0.02)  # flows take a little above the bound
    assert "reach 69% of the ideal and rings 97%" in text
    assert "1.4 times as fast as rings and not 1.97 times" in text
    assert not any(f["code"] == "sharp_practice" for f in rings["findings"])
