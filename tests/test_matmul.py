"""Sharded matrix products: which collectives they need, forward and backward, in numpy and in time."""

import math

import numpy as np
import pytest
from devices import axes_of, block, coordinates, is_placed, run_step, scatter
from hypothesis import given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast.ir.resharding import TRANSPOSE

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


@pytest.mark.parametrize(("product", "case", "collectives"), CASES)
def test_a_stage_has_totals_exactly_if_it_sends_something(
    product: str, case: str, collectives: list[str]
) -> None:
    r = hc.matmul(product, "v5e:16x16")
    for stage, plan in r.detail.items():
        totals = [x["what"] for x in r.rows if x["stage"] == stage and x["what"] in ("serial", "overlapped")]
        assert totals == (["serial", "overlapped"] if plan.communication else [])
    assert any(n.startswith("overlapped is an ideal") for n in r.notes) == any(
        p.communication for p in r.detail.values()
    )
    quiet = hc.matmul("bf16[64_x,8192] @ bf16[8192,8192_y]", "v5e:16x16", backward=False)
    assert [x["what"] for x in quiet.rows] == ["matmul"]
    assert "overlapped" not in " ".join(quiet.notes)


def test_a_generic_cluster_times_communication_only() -> None:
    r = hc.matmul("bf16[1024,8192_x] @ bf16[8192_x,8192]", "torus:4x4")
    assert r.rows[0]["time_us"] is None
    assert r.rows[1]["time_us"] == r.rows[3]["time_us"] > 0
    assert any("no FLOP/s of bf16 is known" in n for n in r.notes)


@st.composite
def matmuls(draw) -> tuple[str, list[str], dict[str, int]]:
    cluster = draw(st.sampled_from(["torus:2x2", "torus:3x2", "torus:2x2x2"]))
    axes = axes_of(cluster)

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
