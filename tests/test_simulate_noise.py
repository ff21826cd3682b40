"""Jitter, stragglers and other traffic: every engine draws the same, and what is drawn is what is said.

Source: [moments] of the sum of four numbers that are uniform on 0 .. 65535.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from cli import run
from flowing import compiled, every, uneven  # noqa: F401
from grids import build, cluster

from hopcast.ir.schedule import sends
from hopcast.simulate import flows, listing, reference, relay
from hopcast.simulate.noise import Noise, deviations, pair_keys, turn_keys
from hopcast.verbs.simulate import simulate

W, HOP, MIB = 45e9, 1e-6, 2**20
RING = "ring:8,bandwidth=45GB/s,latency=1us"
NOISES = [
    Noise(0.01),
    Noise(0.3, seed=7, sample=2),
    Noise(late={1: 2e-6, 3: 5e-5}),
    Noise(slow={0: 2.0, 2: 1.5}),
    Noise(0.05, seed=1, late={2: 1e-5}, slow={2: 3.0}),
]


def same(fast, slow, rel=1e-9):
    assert fast.seconds == pytest.approx(slow.seconds, rel=rel)
    for column in ("load", "ready", "start", "end"):
        np.testing.assert_allclose(getattr(fast, column), getattr(slow, column), rtol=rel, atol=1e-18)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grid", "noise"), [*(("5w", n) for n in NOISES), ("3wx4", NOISES[4]), ("switch:4", NOISES[4])], ids=str
)
def test_every_algorithm_takes_the_same_times_as_the_reference(grid, noise):
    tried = 0
    for _, made, where in every(grid, HOP):
        if made.step_count > 30:
            continue  # the reference takes seconds
        slow = reference.simulate(made, where, 1e6, 1e-11, noise)
        same(flows.simulate(made, where, 1e6, 1e-11, uneven=noise), slow)
        short = flows.simulate(made, where, 1e6, 1e-11, detail=False, uneven=noise)
        assert short.seconds == pytest.approx(slow.seconds, rel=1e-9), short.how
        np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)
        tried += 1
    assert tried > 10


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(
    ("grid", "collective", "algorithm"),
    [
        ("64w", "all_reduce", "ring"),
        ("63w", "all_gather", "bidirectional_ring"),
        ("5wx4w", "all_reduce", "sequential_rings"),
    ],
)
def test_sends_that_never_meet_take_the_times_of_every_send(grid, collective, algorithm, noise, seed):
    where = cluster(grid, W, HOP)
    where = where if seed is None else uneven(where, seed)
    made = build(collective, algorithm, where)
    short, full = (
        relay.relay(made, where, MIB, 0.0, None, noise),
        flows.simulate(made, where, MIB, uneven=noise),
    )
    assert short.seconds == pytest.approx(full.seconds, rel=1e-9)
    np.testing.assert_allclose(short.load, full.load, rtol=1e-9)
    if not noise.late:
        assert short.latency == pytest.approx(full.latency, rel=1e-9)


def test_a_ring_of_64_takes_the_same_times_as_the_reference():
    where, noise = cluster("64w", W, HOP), Noise(0.01)
    made = build("all_gather", "ring", where)
    short = flows.simulate(made, where, MIB, detail=False, uneven=noise)
    slow = reference.simulate(made, where, MIB, 0.0, noise)
    assert short.how.startswith("sends never meet")
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-9)
    assert short.latency == pytest.approx(slow.critical_latency(), rel=1e-9)


@pytest.mark.slow
def test_a_ring_longer_than_the_times_that_are_kept():
    where, noise = cluster("600w", W, HOP), Noise(0.02, late={7: 1e-4})
    made = build("all_reduce", "ring", where)
    short = flows.simulate(made, where, MIB, detail=False, uneven=noise)
    full = flows.simulate(made, where, MIB, uneven=noise)
    assert short.how.startswith("sends never meet")
    assert short.seconds == pytest.approx(full.seconds, rel=1e-9)


def test_deviations_are_close_to_normal_and_do_not_hang_together():
    rank = np.arange(1000)
    keys = turn_keys(5, 0, np.arange(1000), 0 * rank)[:, None] + pair_keys(rank, (rank + 1) % 1000)
    z = deviations(keys)
    assert z.min() >= 0
    assert z.max() < 3.47
    assert np.mean(z**2) == pytest.approx(1, abs=0.005)  # [moments]
    assert np.mean(z**4) == pytest.approx(2.7, abs=0.02)
    for a, b in ((z[1:], z[:-1]), (z[:, 1:], z[:, :-1]), (z, z.T)):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.005
    for other in (
        turn_keys(6, 0, rank, 0 * rank),
        turn_keys(5, 1, rank, 0 * rank),
        turn_keys(5, 0, rank, rank * 0 + 1),
    ):
        again = deviations(other[:, None] + pair_keys(rank, (rank + 1) % 1000))
        assert abs(np.corrcoef(z.ravel(), again.ravel())[0, 1]) < 0.005


def test_the_draw_of_a_send_does_not_depend_on_the_sends_beside_it():
    noise = Noise(0.1, slow={1: 2.0})
    rows = sends([0, 1, 2, 0], [1, 2, 0, 2], [0, 1, 2, 3], lane=[0, 0, 1, 1])
    step = np.array([0, 0, 3, 3])
    whole = noise.factors(step, rows)
    for order in ([3, 1, 0, 2], [2], [1, 3]):
        some = sends(*(getattr(rows, c)[order] for c in ("src", "dst", "chunk", "count", "op", "lane")))
        np.testing.assert_array_equal(noise.factors(step[order], some), whole[order])
    assert len(set(whole.tolist())) == 4
    assert np.all(whole >= 1)


@pytest.mark.parametrize("noise", NOISES[:2], ids=str)
def test_no_link_is_ever_faster_than_rated(noise):
    for name, made, where in every("3wx4", HOP):
        found = flows.simulate(made, where, 1e6, uneven=noise)
        assert found.seconds >= (found.load / where.topology.bandwidth).max(), name
        assert np.all(found.end - found.start >= 0)


def test_jitter_grows_with_its_part():
    times = [simulate("all_reduce", RING, size="1MiB", algorithm="ring", jitter=j).inputs["time_us"]
             for j in (0, "1%", "5%", 0.2)]  # fmt: skip
    assert times == sorted(times)
    assert len(set(times)) == 4
    assert times[1] < times[0] * 1.035


def test_the_same_seed_gives_the_same_and_another_another():
    def times(seed, **more):
        found = simulate("all_reduce", RING, size="1MiB", algorithm="ring", jitter="2%", seed=seed, **more)
        return found.inputs

    assert times(3)["time_us"] == times(3)["time_us"] != times(4)["time_us"]
    many = times(3, samples=40)
    assert many["time_us"] == times(3)["time_us"]
    assert many["rated_us"] < many["p5_us"] < many["p50_us"] < many["p95_us"] < many["p99_us"]
    assert many["samples"] == 40


def test_a_late_rank_holds_up_those_that_need_it():
    """A ring of 8: rank 5's first send waits 40 us, and all that follows from it. By hand."""
    base = simulate("all_gather", RING, size="1MiB", algorithm="ring")
    late = simulate("all_gather", RING, size="1MiB", algorithm="ring", straggler=["5=40us"])
    assert late.inputs["time_us"] == pytest.approx(base.inputs["time_us"] + 40)
    flows_ = late.detail.flows
    first = (flows_.rows.src == 5) & (flows_.step == 0)
    np.testing.assert_allclose(flows_.ready[first], 40e-6)
    assert flows_.ready[(flows_.rows.src == 4) & (flows_.step == 0)].max() == 0


def test_a_slow_rank_sends_at_its_factor():
    """A ring at zero latency: the pace is that of the slow sender. By hand."""
    where = "ring:8,bandwidth=45GB/s,latency=0"
    base = simulate("all_gather", where, size="1MiB", algorithm="ring").inputs["time_us"]
    for text, factor in (("5=2x", 2), ("rank 5=1.5x", 1.5)):
        slow = simulate("all_gather", where, size="1MiB", algorithm="ring", straggler=text).inputs
        assert slow["time_us"] == pytest.approx(base * factor)
        assert slow["rated_us"] == pytest.approx(base)


def test_other_traffic_takes_its_part_of_links():
    """Of every link, of a route, one way and both, added up; the bound is of what is left. By hand."""
    where = "ring:8,bandwidth=40GB/s,latency=0"
    about = {"size": "8MiB", "algorithm": "ring"}
    base = simulate("all_gather", where, **about)
    part = simulate("all_gather", where, **about, background="20%")
    assert part.inputs["time_us"] == pytest.approx(base.inputs["time_us"] / 0.8)
    assert part.inputs["bound_us"] == pytest.approx(base.inputs["bound_us"] / 0.8)
    for words, gone in ((["1>3=10GB/s"], 10), (["1:3=25%"], 10), (["10%", "3:1=6GB/s"], 10)):
        slow = simulate("all_gather", where, **about, background=words)
        assert slow.inputs["time_us"] == pytest.approx(base.inputs["time_us"] / (1 - gone / 40)), words
        assert not any(n.startswith("slow_link") for n in slow.notes)
    back = simulate("all_gather", where, **about, background=["3>1=10GB/s"])
    assert back.inputs["time_us"] == pytest.approx(base.inputs["time_us"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--jitter", "much"], "as in 1%"),
        (["--jitter", "-1%"], "as in 1%"),
        (["--jitter", "1001%"], "0 to 1000%"),
        (["--samples", "5"], "without --jitter"),
        (["--jitter", "1%", "--samples", "0"], "write 1 to"),
        (["--straggler", "3"], "3,3=10us"),
        (["--straggler", "3=fast"], "3,3=10us"),
        (["--straggler", "3=0.5x"], "at most as fast as rated"),
        (["--straggler", "9"], "3,3=10us"),
        (["--background", "20"], "20%"),
        (["--background", "100%"], "leave some of it"),
        (["--background", "1:3"], "10GB/s"),
        (["--background", "1:1=1GB/s"], "crosses no link"),
        (["--background", "1:3:4=1GB/s"], "10GB/s"),
        (["--background", "1:3=99GB/s"], "takes 99 GB/s of the 45 GB/s of link x 1>2"),
        (["--background", "1:3=fast"], "10GB/s"),
    ],
)
def test_bad_words_are_refused_in_one_line(words, says):
    ran = run("simulate", "all_reduce", RING, "--size", "1MiB", *words)
    assert ran.status == 2
    assert ran.err.count("\n") == 1
    assert says in ran.err
    assert words[-1] in ran.err


def test_what_was_asked_is_in_the_output():
    words = ("simulate", "all_reduce", RING, "--size", "1MiB", "--algorithm", "ring", "--jitter", "2%")
    one, many = run(*words), run(*words, "--samples", "9", "--background", "10%")
    assert "jitter 2.00% with seed 0" in one.out
    assert "p5 " in many.out
    assert "of 9 samples" in many.out
    assert "other traffic takes 10%" in many.out
    inputs = json.loads(run(*words, "--samples", "9", "--format", "json").out)["inputs"]
    assert inputs["jitter"] == 0.02
    assert {"time_us", "rated_us", "samples", "p5_us", "p50_us", "p95_us", "p99_us"} <= set(inputs)


def test_stages_last_ranks_and_the_busiest_link_are_told():
    """all_reduce on a chain: sums go one way and copies back; a ring's ranks all end together."""
    out = run(
        "simulate", "all_reduce", "chain:4,bandwidth=45GB/s", "--size", "1MiB", "--algorithm", "chain"
    ).out
    assert "stages:\n  reduce along x: 0 s to " in out
    assert "copy along x: " in out
    assert "in 10 equal parts of the time: " in out
    late = run(
        "simulate", "all_gather", RING, "--size", "1MiB", "--algorithm", "ring", "--straggler", "5=1ms"
    ).out
    assert "last byte: at " in late
    even = run("simulate", "all_gather", RING, "--size", "1MiB", "--algorithm", "ring").out
    assert "all 8 ranks have their last byte at " in even
    ring = simulate("all_gather", "ring:8,bandwidth=45GB/s,latency=0", size="1MiB", algorithm="ring")
    (over,) = [n for n in ring.notes if "equal parts" in n]
    assert over.count("100%") == 10


def test_a_trace_has_the_times_of_the_run_with_noise(tmp_path):
    path = tmp_path / "t.json"
    words = ("simulate", "all_gather", RING, "--size", "1MiB", "--algorithm", "ring", "--straggler", "5=1ms")
    assert run(*words, "-o", str(path)).status == 0
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    assert min(e["ts"] for e in events if e["pid"] == 5) == pytest.approx(1000)
    assert len(events) == 56


def test_a_trace_of_sends_that_cannot_be_listed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "MOST_SENDS", 1000)
    path = tmp_path / "t.json"
    ran = run(
        "simulate",
        "all_to_all",
        "torus:8x8,bandwidth=45GB/s",
        "--size",
        "1MiB",
        "--no-shortcut",
        "-o",
        str(path),
    )
    assert ran.status == 2
    assert "a trace lists every send" in ran.err
    assert not path.exists()


def test_without_numba_jitter_is_that_of_the_reference(monkeypatch):
    """Where sends meet; where they never do, jitter is drawn for all of a step at once."""
    where = uneven(cluster("6w", W, HOP), 1)
    noise = replace(NOISES[4], late={})
    monkeypatch.setattr(flows, "_has_numba", lambda: False)
    monkeypatch.setitem(__import__("sys").modules, "hopcast.simulate.relay_engine", None)
    for collective, algorithm, how in (
        ("all_to_all", "direct", "the reference engine"),
        ("all_reduce", "ring", "sends never meet: all 60"),
    ):
        made = build(collective, algorithm, where)
        found = flows.simulate(made, where, 1e6, detail=False, uneven=noise)
        assert found.how.startswith(how)
        slow = reference.simulate(made, where, 1e6, 0.0, noise).seconds
        assert found.seconds == pytest.approx(slow, rel=0 if how.startswith("the") else 1e-11)
