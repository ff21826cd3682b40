"""The algorithm chosen on rings whose links differ: what is ruled out early would not have won."""

import json
import subprocess
import sys

import numpy as np
import pytest
from cli import run
from flowing import GIB, HOP, W, uneven
from grids import build, cluster

from hopcast import choose
from hopcast.price.steps import steps
from hopcast.verbs import ask
from hopcast.verbs.predict import predict
from hopcast.verbs.simulate import simulate

RATES = "bandwidth=45GB/s,latency=1us"


@pytest.mark.slow
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
@pytest.mark.parametrize(("ranks", "size"), [(3, "1KiB"), (6, "1GiB"), (7, "1MiB")])
def test_the_best_is_the_least_of_all_by_flows(ranks, collective, size):
    for slow in ([], ["0:1=0.5"], ["1>2=0.3", "0>1=0.7"]):
        q, _ = ask.question(collective, f"ring:{ranks},{RATES}", size=size, slow=slow)
        best = choose.best(q, "flows")
        all_of_them = choose.every(q, "flows")
        assert best.time == pytest.approx(min(a.time for a in all_of_them), rel=1e-12)
        assert best.time >= best.bound.seconds * (1 - 1e-9)


@pytest.mark.parametrize("collective", ["all_gather", "all_reduce"])
def test_on_a_long_ring_with_a_slow_cable_both_ways_win(collective):
    """Nobody waits for what loses: the pace is that of the slow cable, half of a ring's rate."""
    where, about = f"ring:2048,{RATES}", {"size": "1GiB", "price": "flows"}
    even = predict(collective, where, **about).rows[0]
    slow = predict(collective, where, **about, slow=["7:8=0.5"]).rows[0]
    one_way = predict(collective, where, **about, slow=["7:8=0.5"], algorithm="ring").rows[0]
    assert even["algorithm"] == slow["algorithm"] == "bidirectional_ring,split=on"
    assert even["time_us"] < slow["time_us"] < one_way["time_us"]
    count, chunk = even["steps"], GIB / 2048 / W * 1e6
    assert slow["time_us"] >= (count * HOP * 1e6 + 2 * (count - 1) * chunk) * (1 - 1e-9)


@pytest.mark.parametrize("algorithm", ["chain", "bidirectional_ring", "recursive_doubling"])
def test_steps_that_are_left_out_cost_no_less_than_asked(algorithm):
    where = uneven(cluster("8w", W, HOP), 1)
    made = build("all_reduce", algorithm, where)
    whole = steps(made, where, GIB)
    busiest = float((whole.load / where.topology.bandwidth).max())
    for part in (0.1, 0.5, 0.9, 1.1):
        some = steps(made, where, GIB, until=part * busiest)
        least = float((some.load / where.topology.bandwidth).max())
        assert part * busiest < least <= busiest if part < 1 else least == busiest
        assert np.all(some.load <= whole.load * (1 + 1e-12))


def test_jitter_on_the_default_of_a_ring_has_percentiles():
    """The same numbers as of every send, as they are drawn by who sends what to whom."""
    about = {"size": "64MiB", "jitter": "2%", "seed": 3}
    many = simulate("all_reduce", f"ring:1024,{RATES}", **about, samples=5).inputs
    assert many["algorithm"] == "bidirectional_ring,split=on"
    assert many["how"].startswith("sends never meet")
    assert many["rated_us"] < many["p5_us"] < many["p50_us"] < many["p95_us"] <= many["p99_us"]
    short = simulate("all_reduce", f"ring:32,{RATES}", **about).inputs
    full = simulate("all_reduce", f"ring:32,{RATES}", **about, shortcut=False).inputs
    assert full["how"].startswith("every send")
    assert short["time_us"] == pytest.approx(full["time_us"], rel=1e-9)


def test_compiled_passes_load_no_linear_algebra_and_leave_it_to_others():
    """A fifth of a second less; whoever multiplies matrices in functions of their own still can."""
    code = f"""
import sys
from hopcast.verbs.simulate import simulate
simulate("all_reduce", "ring:600,{RATES}", size="1MiB", algorithm="ring", jitter="1%")
assert "numba" in sys.modules and "scipy.linalg" not in sys.modules
import numba, numpy as np
import scipy.linalg.cython_blas
twice = numba.njit(lambda a: a @ a)(2.0 * np.eye(2))
assert twice[0, 0] == 4.0
assert numba.np.arraymath._HAVE_BLAS
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


def test_no_compiler_is_loaded_for_links_of_other_speeds():
    code = f"""
import sys
from hopcast.verbs.predict import predict
row = predict("all_reduce", "ring:1500,{RATES}", size="1MiB", price="flows", slow=["0:1=0.5"]).rows[0]
assert row["algorithm"].startswith("bidirectional_ring") and "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


def test_other_traffic_and_a_late_rank_are_told_apart_on_the_default_of_a_ring():
    words = ("simulate", "all_reduce", f"ring:64,{RATES}", "--size", "1MiB", "--format", "json")
    base, busy, late = (
        json.loads(run(*words, *more).out)["inputs"]
        for more in ((), ("--background", "3:4=50%"), ("--straggler", "5=1ms"))
    )
    assert base["time_us"] < busy["time_us"] < late["time_us"]
    assert late["rated_us"] == base["time_us"]
