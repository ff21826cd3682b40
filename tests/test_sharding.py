"""Sharded arrays: their sizes, times and rooflines as published, how they are written, and what cannot be.

Sources of the values: jax-ml scaling-book, chapters Rooflines, TPUs, Sharding (questions and pop quizzes).
"""

import pytest
from cli import row
from refused import one_line_refusal

import hopcast as hc
from hopcast.ir import sharding

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
    said = one_line_refusal(*words)
    assert [part for part in says if part not in said] == []


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


@pytest.mark.parametrize(("size", "fits"), [("bf16[131072,131072]", False), ("bf16[65536,65536]", True)])
def test_34_gb_do_not_fit_in_16_gb(size: str, fits: bool) -> None:
    got = row("predict", "gather", "v5e:4x4,latency=0", "--root", "0,0", "--size", size)
    text = [f["text"] for f in got["findings"] if f["code"] == "memory"]
    assert text == (
        [] if fits else ["the root ends with 32 GiB, and a chip has 16 GB of HBM: stream it in parts"]
    )
