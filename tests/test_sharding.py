"""Sharded arrays: sizes, the collectives of a reshard and of a matmul, against numpy and published values.

Sources of the values: jax-ml scaling-book, chapters Rooflines, TPUs, Sharding (questions and pop quizzes).
"""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cli import row, rows, run
from hypothesis import given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast.ir import sharding
from hopcast.ir.resharding import TRANSPOSE, Move, moves, senders
from hopcast.ir.sharding import Sharding
from hopcast.units import itemsize
from hopcast.verbs import ask
from hopcast.verbs._moves import Prices, Step, cheapest

BIDIRECTIONAL = ["--algorithm", "bidirectional_ring"]
V4, RING = "v4:4x4x4,latency=0", "torus:8x4,bandwidth=45GB/s,latency=0"
TIMES = [
    ("all_gather", RING, "bf16[2048_y,8192]", "y", BIDIRECTIONAL, 33554432, 372.8),
    ("all_gather", "v5e:4x8,latency=0", "bf16[2048_x,8192]", "x", ["--algorithm", "chain"], 33554432, 559.2),
    ("all_gather", V4, "bf16[1024_x,4096_y]", "x", BIDIRECTIONAL, 2097152, 23.30),
    ("all_gather", V4, "bf16[1024_x,4096_y]", "x,y", [], 8388608, 46.60 * 15 / 16),
    ("all_reduce", V4, "bf16[1024_x,4096_y]{U_z}", "z", BIDIRECTIONAL, 524288, 11.65),
    ("all_gather", RING, "bf16[2048_x,8192]", "x", BIDIRECTIONAL, 33554432, 372.8),
    ("all_reduce", RING, "bf16[2048,8192]{U_x}", "x", BIDIRECTIONAL, 33554432, 745.7),
    ("all_to_all", RING, "bf16[2048_x,8192]", "x", [], 33554432, 93.2),
]


@pytest.mark.parametrize(("collective", "cluster", "size", "over", "more", "nbytes", "time_us"), TIMES)
def test_published_times_of_sharded_arrays(collective, cluster, size, over, more, nbytes, time_us) -> None:
    got = row("predict", collective, cluster, "--size", size, "--over", over, *more)
    assert got["size_bytes"] == nbytes
    assert got["time_us"] == pytest.approx(time_us, rel=1e-3)


def test_published_sizes() -> None:
    """1 MiB per device on 8 x 2; 16,384 bytes and 512 KiB in all on 2 x 8 x 2; 16 copies on 4 x 8 x 2."""
    mesh = {"x": 8, "y": 2}
    assert sharding.device_bytes(sharding.parse("fp32[1024_XY,4096]", mesh), mesh) == 2**20
    mesh = {"x": 2, "y": 8, "z": 2}
    s = sharding.parse("int8[128_XY,2048]", mesh)
    assert sharding.device_bytes(s, mesh) == 16384
    assert sharding.total_bytes(s, mesh) == 512 * 1024
    mesh = {"x": 4, "y": 8, "z": 2}
    s = sharding.parse("bf16[64_X,32,8]", mesh)
    assert sharding.total_bytes(s, mesh) / sharding.whole_bytes(s) == 16


ROOFLINES = [
    ("v5e", "bf16", "", "critical_batch", 240.2),
    ("v5e", "int8", "int8[16384,4096]", "critical_batch", 259.3),
    ("v5e", "int8", "int8[16384,4096]", "critical_batch_vmem", 10.96),
    ("v5p:4x4x4", "bf16", "", "critical_axis", 2550),
]


@pytest.mark.parametrize(("where", "dtype", "weights", "key", "value"), ROOFLINES)
def test_published_rooflines(where: str, dtype: str, weights: str, key: str, value: float) -> None:
    assert hc.roofline(where, dtype, weights=weights).rows[0][key] == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(("d", "binds"), [(8754, "communication"), (8758, "compute")])
def test_two_chips_with_half_the_contraction_each_are_compute_bound_above_8755(d: int, binds: str) -> None:
    """Each sends its partial product once: B F 2 bytes / W against B D F / C."""
    assert 2 * hc.roofline("v5e").rows[0]["critical_link"] == pytest.approx(8755.6, rel=1e-5)
    r = hc.matmul(f"bf16[16384,{d}_y] @ bf16[{d}_y,16384]", "v5e:2x2,latency=0", backward=False)
    assert [x["what"] for x in r.rows] == ["matmul", "all_reduce", "serial", "overlapped"]
    assert r.rows[0]["time_us"] * 1e-6 == pytest.approx(16384**2 * d / 1.97e14)
    assert r.rows[1]["time_us"] * 1e-6 == pytest.approx(2 * 16384**2 / 45e9)
    assert r.rows[-1]["binds"] == binds


BAD = [
    (
        ["predict", "all_gather", V4, "--size", "bf16[1024_x,4096]{U_y}", "--over", "x"],
        ["partial", "reduce it"],
    ),
    (["predict", "all_to_all", V4, "--size", "bf16[1024_x]{U_y}", "--over", "x"], ["partial", "reduce it"]),
    (
        ["predict", "all_gather", V4, "--size", "bf16[1024_x,4096]", "--over", "y"],
        ["y does not cut", "--over x"],
    ),
    (["predict", "all_gather", V4, "--size", "bf16[1024_x,4096_y]"], ["z does not cut", "--over x,y"]),
    (["predict", "all_reduce", V4, "--size", "bf16[1024_x]", "--over", "x"], ["x cuts", "bf16[1024]{U_x}"]),
    (["predict", "all_reduce", V4, "--size", "bf16[8]{U_x}", "--over", "y"], ["partial sum over x only"]),
    (["predict", "all_gather", V4, "--size", "bf16[1024_w]", "--over", "x"], ["'w'", "x, y, z"]),
    (["predict", "all_gather", V4, "--size", "bf16[1024_xw]", "--over", "x"], ["'w'", "x, y, z"]),
    (["predict", "all_gather", V4, "--size", "bf16[8_x,8_x]", "--over", "x"], ["x twice"]),
    (["predict", "all_gather", V4, "--size", "bf16[8_x]{U_x}", "--over", "x"], ["x twice"]),
    (
        ["predict", "all_gather", V4, "--size", "bf16[1023_x]", "--over", "x"],
        ["1023", "x=4", "multiple of 4"],
    ),
    (["predict", "all_gather", V4, "--size", "bf17[1024_x]", "--over", "x"], ["bf17", "bf16"]),
    (["predict", "all_gather", V4, "--size", "bf16[i_x]", "--over", "x"], ["i has no length"]),
    (["predict", "all_gather", V4, "--size", "bf16[8_]", "--over", "x"], ["''", "x, y, z"]),
    (["predict", "all_gather", V4, "--size", "bf16[8_x", "--over", "x"], ["bf16[8_x", "write"]),
    (["predict", "all_to_all", V4, "--size", "bf16[64_x]", "--over", "x", "--per-rank"], ["--per-rank"]),
    (["reshard", "f32[i_x,j]", V4], ["->"]),
    (["reshard", "f32[i_x,j] -> f32[i,j_x]", V4], ["i has no length", "--dims i=1024"]),
    (["reshard", "f32[i_x,j] -> f32[j_x,i]", V4, "--dims", "i=8,j=8"], ["same order"]),
    (["reshard", "f32[8_x,8] -> f32[8,4_x]", V4], ["same dims"]),
    (["reshard", "f32[8_x,8] -> bf16[8,8_x]", V4], ["only moves"]),
    (["reshard", "f32[8_x,8] -> f32[8,8]{U_y}", V4], ["partial sums over y"]),
    (["reshard", "f32[i_x] -> f32[i]", V4, "--dims", "i"], ["'i'", "i=1024"]),
    (["reshard", "f32[i_x] -> f32[i]", V4, "--dims", "i=4,i=8"], ["twice"]),
    (["matmul", "bf16[8,8_x] bf16[8_x,8]", V4], ["@"]),
    (["matmul", "bf16[8,8_x] @ bf16[16_x,8]", V4], ["must be the same"]),
    (["matmul", "bf16[8,8]{U_x} @ bf16[8,8]", V4], ["reduce it first"]),
    (["matmul", "bf16[i,j] @ bf16[j,i]", V4, "--dims", "i=8,j=8"], ["twice"]),
    (["matmul", "bf16[8] @ bf16[8]", V4], ["number as its result"]),
    (["matmul", "bf16[8,8] @ bf16[8,8] -> bf16[8,16]", V4], ["the result has the dims"]),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[" ".join(w) for w, _ in BAD])
def test_bad_shardings_are_one_line_and_exit_two(words: list[str], says: list[str]) -> None:
    ran = run(*words)
    assert ran.status == 2
    assert ran.out == ""
    assert len(ran.err.strip().splitlines()) == 1
    for part in says:
        assert part in ran.err


def test_axes_with_long_names_are_joined_by_a_plus() -> None:
    mesh = {"data": 4, "model": 8, "x": 2}
    s = sharding.parse("bf16[1024_data+x,i_model]", mesh, {"i": 64})
    assert s.axes == (("data", "x"), ("model",))
    assert str(s) == "bf16[1024_data+x,i_model]"
    assert sharding.parse(str(s), mesh, {"i": 64}) == s
    assert sharding.torch_placements(s, mesh) == ("S(0)", "S(1)", "S(0)")
    assert sharding.partition_spec(s) == "P(('data', 'x'), 'model')"


def test_torch_cuts_in_the_order_of_the_mesh() -> None:
    mesh = {"x": 2, "y": 2}
    assert sharding.torch_order(sharding.parse("f32[8_xy]", mesh), mesh)
    assert not sharding.torch_order(sharding.parse("f32[8_yx]", mesh), mesh)


# A mesh of devices in numpy. What a device holds is an array of the whole shape, nan where it holds nothing.

Devices = dict[tuple[int, ...], np.ndarray]


def coordinates(axes: dict[str, int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, axes.values())))


def block(s: Sharding, axes: dict[str, int], at: tuple[int, ...]) -> tuple[slice, ...]:
    """Where in the array a device's part is."""
    where = dict(zip(axes, at, strict=True))
    found = []
    for length, cut in zip(s.shape, s.axes, strict=True):
        low, high = 0, length
        for a in cut:
            part = (high - low) // axes[a]
            low, high = low + where[a] * part, low + (where[a] + 1) * part
        found.append(slice(low, high))
    return tuple(found)


def cut(whole: np.ndarray, s: Sharding, axes: dict[str, int], at: tuple[int, ...]) -> np.ndarray:
    held = np.full(whole.shape, np.nan)
    part = block(s, axes, at)
    held[part] = whole[part]
    return held


def scatter(whole: np.ndarray, s: Sharding, axes: dict[str, int], rng: np.random.Generator) -> Devices:
    """The array on all devices; summands where it is partial."""
    places = [i for i, a in enumerate(axes) if a in s.partial]
    keys = sorted({tuple(at[i] for i in places) for at in coordinates(axes)})
    summands = {k: rng.integers(-99, 99, whole.shape).astype(float) for k in keys}
    summands[keys[0]] = whole - sum(summands[k] for k in keys[1:])
    return {at: cut(summands[tuple(at[i] for i in places)], s, axes, at) for at in coordinates(axes)}


def groups(over: tuple[str, ...], axes: dict[str, int]) -> list[list[tuple[int, ...]]]:
    """Devices that differ along some axes only, row-major."""
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for at in coordinates(axes):
        key = tuple(k for k, a in zip(at, axes, strict=True) if a not in over)
        found.setdefault(key, []).append(at)
    return list(found.values())


def run_step(devices: Devices, step, axes: dict[str, int]) -> Devices:
    """One step as the word means it, and a check that D is what its ranks have, or exchange."""
    name, before, after = step.move.name, step.before, step.move.after
    size = itemsize(before.dtype)
    new: Devices = {}
    if name == "slice":
        return {at: cut(held, after, axes, at) for at, held in devices.items()}
    for members in groups(step.move.over, axes):
        held = np.stack([devices[at] for at in members])
        has = ~np.isnan(held)
        if name in ("all_gather", "all_to_all"):
            assert (has.sum(0) <= 1).all(), "an element is there twice"
            union = np.where(has.any(0), np.nansum(held, 0), np.nan)
            assert has.any(0).sum() * size == step.move.size
            new |= {at: cut(union, after, axes, at) for at in members}
            if name == "all_gather":
                assert all(np.array_equal(new[at], union, equal_nan=True) for at in members)
            else:
                sent = [np.sum(~np.isnan(new[at]) & h) * size for at in members for h in has]
                assert set(sent) == {step.move.size / len(members) ** 2}
        elif name in ("all_reduce", "reduce_scatter"):
            assert (has == has[0]).all(), "summands of different parts"
            assert has[0].sum() * size == step.move.size
            new |= {at: cut(held.sum(0), after, axes, at) for at in members}
        else:
            assert name == "permute"
            source = senders(before, after, axes)
            assert sorted(source) == list(range(len(members)))
            assert has.sum() * size == step.move.size
            new |= {at: held[k] for at, k in zip(members, source, strict=True)}
    return new


def is_placed(devices: Devices, whole: np.ndarray, s: Sharding, axes: dict[str, int]) -> bool:
    """Whether every device holds its part; of partial sums, whether they add up."""
    for members in groups(s.partial, axes):
        summed = np.stack([devices[at] for at in members]).sum(0)
        if not np.array_equal(summed, cut(whole, s, axes, members[0]), equal_nan=True):
            return False
    return True


@cache
def prices_of(cluster: str, *axes: tuple[str, int]) -> Prices:
    return Prices(ask.place(cluster), dict(axes))


CLUSTERS = ["torus:2x2", "torus:3x2", "torus:4x2", "mesh:2x3x2", "torus:2x2x2", "torus:4x2x2"]


@st.composite
def reshards(draw) -> tuple[str, Sharding, Sharding, dict[str, int]]:
    """Two shardings of an array of one to three dims that any axes divide."""
    cluster = draw(st.sampled_from(CLUSTERS))
    axes = dict(zip("xyz", map(int, cluster.split(":")[1].split("x")), strict=False))
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


@pytest.mark.parametrize(("size", "fits"), [("bf16[131072,131072]", False), ("bf16[65536,65536]", True)])
def test_34_gb_do_not_fit_in_16_gb(size: str, fits: bool) -> None:
    got = row("predict", "gather", "v5e:4x4,latency=0", "--root", "0,0", "--size", size)
    text = [f["text"] for f in got["findings"] if f["code"] == "memory"]
    assert text == (
        [] if fits else ["the root ends with 32 GiB, and a chip has 16 GB of HBM: stream it in parts"]
    )


def test_links_that_idle_could_help_are_said_only_where_they_do() -> None:
    assert (
        "idle links: y hold copies" in run("reshard", "f32[8192_x,8192] -> f32[8192,8192]", "v5e:16x16").out
    )
    assert "idle links" not in run("reshard", "f32[8192_xy,8192] -> f32[8192,8192]", "v5e:16x16").out


def test_sums_are_reduced_before_anything_is_gathered() -> None:
    mesh = {"x": 2, "y": 2}
    start, goal = (sharding.parse(t, mesh) for t in ("f32[8_x]{U_y}", "f32[8]"))
    assert "all_gather" not in {m.name for m in moves(start, goal, mesh)}


CASES = [
    ("bf16[4096_x,8192] @ bf16[8192,8192_y]", "case 1", []),
    ("bf16[4096,256_x] @ bf16[256,65536]", "case 2", ["all_gather"]),
    ("bf16[64,8192_x] @ bf16[8192,8192]", "case 2", ["all_reduce"]),
    ("bf16[64,8192_x] @ bf16[8192_x,8192]", "case 3", ["all_reduce"]),
    ("bf16[64,8192_x] @ bf16[8192_x,8192] -> bf16[64,8192_x]", "case 3", ["reduce_scatter"]),
    ("bf16[64,8192_x] @ bf16[8192_x,8192] -> bf16[64,8192]{U_x}", "case 3", []),
    ("bf16[64_x,8192] @ bf16[8192,8192_x]", "case 4", ["all_gather"]),
    ("bf16[65536_x,8192] @ bf16[8192_x,8192]", "case 2", ["all_gather"]),
]


@pytest.mark.parametrize(("product", "case", "collectives"), CASES)
def test_the_four_cases_of_a_contraction(product: str, case: str, collectives: list[str]) -> None:
    r = hc.matmul(product, "v5e:16x16", backward=False)
    assert r.notes[0].startswith(case)
    own = ("matmul", "serial", "overlapped", "slice")
    assert [x["what"] for x in r.rows if x["what"] not in own] == collectives


def test_backward_of_fsdp_gathers_again_and_scatters_the_gradient() -> None:
    r = hc.matmul("bf16[65536_x,8192] @ bf16[8192_x,8192]", "v5e:16x16")
    sent = [(x["stage"], x["what"]) for x in r.rows if x["what"] in TRANSPOSE]
    want = [("forward", "all_gather"), ("backward_left", "all_gather"), ("backward_right", "reduce_scatter")]
    assert sent == want


def test_the_times_of_a_matmul_are_those_of_a_roofline() -> None:
    product = "bf16[4096_x,8192] @ bf16[8192,16384_y]"
    r = hc.matmul(product, "v5e:4x4", backward=False)
    (mul,) = [x for x in r.rows if x["what"] == "matmul"]
    assert mul["flops"] == 2 * 4096 * 8192 * 16384 / 16
    assert mul["size_bytes"] == 2 * (1024 * 8192 + 8192 * 4096 + 1024 * 4096)
    assert mul["time_us"] * 1e-6 == pytest.approx(mul["flops"] / 1.97e14)
    small = hc.matmul("bf16[16,8192] @ bf16[8192,16384]", "v5e:4x4", backward=False).rows[0]
    assert small["binds"] == "HBM"
    assert small["time_us"] * 1e-6 == pytest.approx(small["size_bytes"] / 8.2e11)


def test_communication_and_computing_add_up_or_overlap() -> None:
    r = hc.matmul("bf16[1024,8192_x] @ bf16[8192_x,8192]", "v5e:16x16", backward=False)
    mul, sent, serial, overlapped = (x["time_us"] for x in r.rows)
    assert serial == pytest.approx(mul + sent)
    assert overlapped == max(mul, sent)
    assert r.rows[-1]["binds"] == "communication"


def test_a_generic_cluster_times_communication_only() -> None:
    r = hc.matmul("bf16[1024,8192_x] @ bf16[8192_x,8192]", "torus:4x4")
    assert r.rows[0]["time_us"] is None
    assert r.rows[1]["time_us"] == r.rows[3]["time_us"] > 0
    assert any("no FLOP/s of bf16 is known" in n for n in r.notes)


@st.composite
def matmuls(draw) -> tuple[str, list[str], dict[str, int]]:
    cluster = draw(st.sampled_from(["torus:2x2", "torus:3x2", "torus:2x2x2"]))
    axes = dict(zip("xyz", map(int, cluster.split(":")[1].split("x")), strict=False))

    def array(names: str) -> str:
        cuts: dict[str, str] = dict.fromkeys(names, "")
        for a in draw(st.permutations(list(axes))):
            where = draw(st.integers(-1, len(names) - 1))
            if where >= 0:
                cuts[names[where]] += a
        return "f32[" + ",".join(n + (f"_{c}" if c else "") for n, c in cuts.items()) + "]"

    asked = [array("bsf")] if draw(st.booleans()) else []
    return cluster, [array("bsd"), array("df"), *asked], axes


@pytest.mark.slow
@given(matmuls(), st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_the_plan_of_a_matmul_computes_it_and_its_gradients(case, seed: int) -> None:
    cluster, arrays, axes = case
    n = math.prod(axes.values())
    text = " @ ".join(arrays[:2]) + "".join(f" -> {a}" for a in arrays[2:])
    r = hc.matmul(text, f"{cluster},bandwidth=45GB/s", dims=",".join(f"{d}={n}" for d in "bsdf"))
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(-9, 9, (n,) * k).astype(float) for k in (3, 2, 3))
    wholes = {
        "forward": (a, b, np.einsum("bsd,df->bsf", a, b)),
        "backward_left": (c, b, np.einsum("bsf,df->bsd", c, b)),
        "backward_right": (a, c, np.einsum("bsd,bsf->df", a, c)),
    }
    for stage, plan in r.detail.items():
        left, right, result = wholes[stage]
        held = []
        for whole, steps, used in (
            (left, plan.left, plan.operands[0]),
            (right, plan.right, plan.operands[1]),
        ):
            devices = scatter(whole, steps[0].before if steps else used, axes, rng)
            for step in steps:
                devices = run_step(devices, step, axes)
            assert is_placed(devices, whole, used, axes)
            held.append(devices)
        spec = ",".join("".join(s.names) for s in plan.operands) + "->" + "".join(plan.product.names)
        made = {}
        for at in coordinates(axes):
            blocks = (devices[at][block(s, axes, at)] for devices, s in zip(held, plan.operands, strict=True))
            made[at] = np.full(result.shape, np.nan)
            made[at][block(plan.product, axes, at)] = np.einsum(spec, *blocks)
        for step in plan.after:
            made = run_step(made, step, axes)
        final = plan.after[-1].move.after if plan.after else plan.product
        assert is_placed(made, result, final, axes)
        assert not final.partial
