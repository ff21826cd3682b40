"""Reshards: their steps leave what they say on every device, and none is dearer than it has to be."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cli import row, rows, run
from devices import Devices, axes_of, is_placed, run_step, scatter
from hypothesis import given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast.ir import sharding
from hopcast.ir.resharding import TRANSPOSE, Move, moves
from hopcast.ir.sharding import Sharding
from hopcast.verbs import ask
from hopcast.verbs._moves import Prices, Step, cheapest


@cache
def prices_of(cluster: str, *axes: tuple[str, int]) -> Prices:
    return Prices(ask.place(cluster), dict(axes))


CLUSTERS = ["torus:2x2", "torus:3x2", "torus:4x2", "mesh:2x3x2", "torus:2x2x2", "torus:4x2x2"]


@st.composite
def reshards(draw) -> tuple[str, Sharding, Sharding, dict[str, int]]:
    """Two shardings of an array of one to three dims that any axes divide."""
    cluster = draw(st.sampled_from(CLUSTERS))
    axes = axes_of(cluster)
    dims = draw(st.integers(1, 3))
    total = math.prod(axes.values())

    def random(most_partial: set[str]) -> Sharding:
        cuts: list[list[str]] = [[] for _ in range(dims)]
        partial = []
        for a in draw(st.permutations(list(axes))):
            where = draw(st.integers(-2 if a in most_partial else -1, dims - 1))
            if where >= 0:
                cuts[where].append(a)
            elif where == -2:
                partial.append(a)
        names = tuple("ijk"[:dims])
        return Sharding(
            "f32", names, (total,) * dims, tuple(map(tuple, cuts)), tuple(a for a in axes if a in partial)
        )

    start = random(set(axes))
    return f"{cluster},bandwidth=45GB/s,latency=1us", start, random(set(start.partial)), axes


@pytest.mark.slow
@given(reshards(), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_the_steps_of_a_reshard_give_the_goal_on_every_device(case, idle: bool, seed: int) -> None:
    cluster, start, goal, axes = case
    rng = np.random.default_rng(seed)
    prices = prices_of(cluster, *axes.items())
    whole = rng.integers(-99, 99, start.shape).astype(float)
    devices = scatter(whole, start, axes, rng)
    assert is_placed(devices, whole, start, axes)
    at = start
    for step in cheapest(prices, start, goal, idle):
        assert step.before == at
        assert prices.least(step.move) <= step.time * (1 + 1e-9)
        devices, at = run_step(devices, step, axes), step.move.after
        assert is_placed(devices, whole, at, axes)
    assert at == goal


@pytest.mark.slow
@given(reshards())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_reshard_is_never_slower_than_reducing_gathering_and_slicing(case) -> None:
    cluster, start, goal, axes = case
    prices = prices_of(cluster, *axes.items())
    bare = replace(start, axes=((),) * len(start.axes), partial=goal.partial)
    through = (*prices.path(start, bare), *prices.path(bare, goal))
    fast = sum(s.time for s in prices.path(start, goal))
    assert fast <= sum(s.time for s in through) * (1 + 1e-9) + 1e-9


WRONG = [
    ("all_gather", ("x",), "f32[8_xy,8]", "f32[8_y,8]"),
    ("all_to_all", ("x",), "f32[8_xy,8]", "f32[8_y,8_x]"),
    ("reduce_scatter", ("x",), "f32[8_y,8]{U_x}", "f32[8_xy,8]"),
    ("slice", ("x",), "f32[8_y,8]", "f32[8_xy,8]"),
]


@pytest.mark.parametrize(("name", "over", "before", "after"), WRONG)
def test_the_coarse_end_of_a_dim_cannot_move_first(
    name: str, over: tuple[str, ...], before: str, after: str
) -> None:
    """It would leave combs of rows: `moves` does not offer it, and the simulator above notices it."""
    axes = {"x": 2, "y": 2}
    start, goal = (sharding.parse(t, axes) for t in (before, after))
    assert (name, goal) not in {(m.name, m.after) for m in moves(start, goal, axes)}
    whole = np.arange(64.0).reshape(8, 8)
    devices = scatter(whole, start, axes, np.random.default_rng(0))
    wrong = Step(Move(name, over, sharding.logical_size(start, over, axes), goal), start, None)
    assert not works(devices, wrong, whole, axes)


def works(devices: Devices, step: Step, whole: np.ndarray, axes: dict[str, int]) -> bool:
    """Whether a step leaves what it says."""
    try:
        return is_placed(run_step(devices, step, axes), whole, step.move.after, axes)
    except AssertionError:
        return False


def test_dims_that_do_not_divide_are_never_cut_on_the_way() -> None:
    axes = {"x": 4, "y": 2}
    start, goal = (sharding.parse(t, axes) for t in ("f32[6_y,8_x]", "f32[6,8_y]"))
    found = cheapest(Prices(ask.place("torus:4x2"), axes), start, goal)
    assert found[-1].move.after == goal
    assert all(sharding.uneven(s.move.after, axes) is None for s in found)


RESHARDS = [
    ("f32[8_x,8] -> f32[8,8_x]", ["all_to_all"]),
    ("f32[8_x,8] -> f32[8,8]", ["all_gather"]),
    ("f32[8,8] -> f32[8,8_y]", ["slice"]),
    ("f32[8,8]{U_x} -> f32[8,8]", ["all_reduce"]),
    ("f32[8,8]{U_x} -> f32[8_x,8]", ["reduce_scatter"]),
    ("f32[16_x,16]{U_y} -> f32[16_x,16_y]", ["reduce_scatter"]),
    ("f32[16_x,16_y] -> f32[16_y,16_x]", ["permute"]),
    ("f32[8_x,8] -> f32[8_x,8]", ["none"]),
]


@pytest.mark.parametrize(("change", "collectives"), RESHARDS)
def test_the_collective_of_a_change(change: str, collectives: list[str]) -> None:
    got = rows("reshard", change, "v5e:4x4")
    assert [r["collective"] for r in got] == collectives
    assert [r["backward"] for r in got] == [TRANSPOSE.get(c, "none") for c in collectives]


@pytest.mark.parametrize("name", sorted(TRANSPOSE))
def test_a_transpose_is_its_own_inverse_and_as_long(name: str) -> None:
    back = TRANSPOSE[name]
    if name == "slice":
        assert back == "none"
        return
    assert TRANSPOSE[back] == name
    if name != "permute":
        words = ["v5e:16x16", "--size", "64MiB", "--over", "x"]
        there, here = (row("predict", c, *words)["time_us"] for c in (name, back))
        assert there == pytest.approx(here, rel=1e-9)


def test_a_reshard_takes_as_long_as_predict_says() -> None:
    got = row("reshard", "bf16[8192_x,8192] -> bf16[8192,8192_x]", "v5e:16x16")
    same = row("predict", "all_to_all", "v5e:16x16", "--size", "bf16[8192_x,8192]", "--over", "x")
    assert got["size_bytes"] == same["size_bytes"] == 2**27
    assert got["time_us"] == pytest.approx(same["time_us"], rel=1e-12)
    assert got["bound_us"] == pytest.approx(same["bound_us"], rel=1e-12)
    assert (got["placements"], got["partition_spec"]) == (["S(1)", "R"], "P(None, 'x')")


def test_what_does_not_fit_in_memory_is_said() -> None:
    out = run("reshard", "bf16[131072_xy,131072] -> bf16[131072,131072]", "v5e:4x4").out
    assert "memory: all_gather leaves 32 GiB on each device and HBM holds 16 GB" in out


def test_links_that_idle_could_help_are_said_only_where_they_do() -> None:
    assert (
        "idle links: y hold copies" in run("reshard", "f32[8192_x,8192] -> f32[8192,8192]", "v5e:16x16").out
    )
    assert "idle links" not in run("reshard", "f32[8192_xy,8192] -> f32[8192,8192]", "v5e:16x16").out


def test_sums_are_reduced_before_anything_is_gathered() -> None:
    mesh = {"x": 2, "y": 2}
    start, goal = (sharding.parse(t, mesh) for t in ("f32[8_x]{U_y}", "f32[8]"))
    assert "all_gather" not in {m.name for m in moves(start, goal, mesh)}


@pytest.mark.parametrize(
    ("change", "where"),
    [("bf16[32768_x,4096] -> bf16[32768_y,4096_x]", "v5e:8x16"),
     ("bf16[16384_x,16384_yz] -> bf16[16384_yz,16384]", "v5p:8x8x16"),
     ("bf16[16384_node,16384_gpu] -> bf16[16384_gpu,16384]", "dgx-h100:32"),
     ("bf16[64_x,64_y] -> bf16[64,64_x]", "torus:4x4"), ("f32[60_x,60]{U_y} -> f32[60,60_y]", "mesh:3x4")],
)  # fmt: skip
def test_every_step_is_priced_as_predict_prices_it(change: str, where: str) -> None:
    asked = [r for r in hc.reshard(change, where).rows if r["collective"] not in ("slice", "permute")]
    assert asked
    for step in asked:
        (alone,) = hc.predict(step["collective"], where, size=step["size_bytes"], over=step["over"]).rows
        same = ("time_us", "bound_us", "price", "algorithm")
        assert [step[key] for key in same] == [alone[key] for key in same]
