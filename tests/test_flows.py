"""The fast engine of flows against the reference: every send, every link, and every shortcut it takes.

Sources: [loads] link loads counted by hand; [SimGrid] SimGrid's CM02 model with factors off gives the same
figures.
"""

import sys
from dataclasses import replace

import numpy as np
import pytest
from cli import row
from flowing import GIB, HOP, MIB, W, compiled, every, same, uneven  # noqa: F401
from grids import build, cluster
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast.ir.collective import of
from hopcast.ir.schedule import from_columns, sends
from hopcast.names import InputError
from hopcast.simulate import engine, flows, general, listing, plain, reference
from hopcast.simulate.state import EVENTS
from hopcast.topologies import ring as ring_topology

GRIDS = ["4", "5w", "8w", "3x4", "3wx4", "4wx4w", "2x4", "3wx3wx4w", "switch:3", "switch:8"]


@st.composite
def problems(draw):
    """Any sends at all on any small cluster: nothing has to make sense to be simulated."""
    grid = draw(st.sampled_from(GRIDS))
    where = cluster(grid, W, draw(st.sampled_from([0.0, HOP])))
    if grid == "8w" and draw(st.booleans()):
        where = replace(where, topology=ring_topology.build("ring:8", [8], W, HOP, True))  # half duplex
    if draw(st.booleans()):
        where = uneven(where, draw(st.integers(0, 9)))
    n, chunks = where.topology.chips, draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 40))
    src = rng.integers(0, n, size)
    columns = {
        "step": rng.integers(0, draw(st.integers(1, 6)), size),
        "src": src,
        "dst": (src + rng.integers(1, n, size)) % n,
        "chunk": rng.integers(0, chunks, size),
        "count": rng.integers(1, chunks + 1, size),
        "op": rng.integers(0, 2, size),
        "lane": rng.integers(0, draw(st.integers(1, 3)), size),
    }
    share = None
    if draw(st.booleans()):
        share = rng.dirichlet(np.ones(chunks))
    made = from_columns(of("all_reduce", n, parts=chunks), "random", np.arange(n)[None], columns, share)
    return made, where, draw(st.sampled_from([0.0, 1e-11]))


@settings(deadline=None, max_examples=150)
@given(problems())
def test_random_schedules_take_the_same_times_as_the_reference(problem):
    made, where, gamma = problem
    same(flows.simulate(made, where, 1e6, gamma), reference.simulate(made, where, 1e6, gamma))


@settings(deadline=None, max_examples=50)
@given(problems())
def test_the_array_loop_and_the_compiled_loop_agree(problem):
    made, where, gamma = problem
    step, rows = listing.listed(made)
    whole = listing.problem(made, where, 1e6, gamma, step, rows)
    fast, slow = general.run(whole), plain.run(whole, 10**9)
    for column in ("ready", "start", "end"):
        np.testing.assert_allclose(getattr(fast, column), getattr(slow, column), rtol=1e-10, atol=1e-18)
    assert plain.run(whole, 1) is None or fast.events < 2


@settings(deadline=None, max_examples=50)
@given(problems())
def test_half_the_size_and_half_the_latency_take_half_the_time(problem):
    made, where, gamma = problem
    half = replace(where, topology=replace(where.topology, latency=where.topology.latency / 2))
    whole = flows.simulate(made, where, 1e6, gamma)
    assert flows.simulate(made, half, 5e5, gamma).seconds == pytest.approx(whole.seconds / 2, rel=1e-9)


@settings(deadline=None, max_examples=50)
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_the_sends_of_a_step_changes_nothing(problem, seed):
    made, where, _ = problem
    mixed = np.random.default_rng(seed)

    def make(i):
        rows = made.make(i)
        at = mixed.permutation(len(rows))
        return sends(*(getattr(rows, c)[at] for c in ("src", "dst", "chunk", "count", "op", "lane")))

    other = flows.simulate(replace(made, make=make), where, 1e6).seconds
    assert other == pytest.approx(flows.simulate(made, where, 1e6).seconds, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize("grid", GRIDS)
def test_every_algorithm_takes_the_same_times_as_the_reference(grid, alpha):
    tried = 0
    for name, made, where in every(grid, alpha):
        slow = reference.simulate(made, where, 1e6)
        same(flows.simulate(made, where, 1e6), slow)
        short = flows.simulate(made, where, 1e6, detail=False)
        assert short.seconds == pytest.approx(slow.seconds, rel=1e-11), (name, short.how)
        np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)
        tried += 1
    assert tried > 10


@pytest.mark.parametrize("over", [("x",), ("y",)])
@pytest.mark.parametrize("grid", ["3wx4w", "4wx2"])
def test_groups_side_by_side_take_the_same_times_as_the_reference(grid, over):
    for name, made, where in every(grid, HOP, over):
        slow = reference.simulate(made, where, 1e6)
        short = flows.simulate(made, where, 1e6, detail=False)
        assert short.seconds == pytest.approx(slow.seconds, rel=1e-11), (name, short.how)
        np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)


def test_known_figures():
    """A ring of 16 with 1 us, and an open 4x4 whose phases overlap. [loads, SimGrid]"""
    where = cluster("16w", W, HOP)
    short = flows.simulate(build("all_to_all", "direct", where), where, 16 * MIB, detail=False)
    assert short.seconds * 1e6 == pytest.approx(47.603, abs=5e-4)
    where = cluster("4x4")
    assert flows.simulate(build("all_gather", "multi_axis", where), where, 1.0).seconds == pytest.approx(
        1 / 2
    )
    where = cluster("16wx16wx16w", W)
    found = flows.simulate(build("all_to_all", "direct", where), where, GIB, detail=False)
    assert found.seconds == pytest.approx(16 / 8 / 4096 * GIB / W, rel=1e-12)
    assert found.how == "one rank's sends stand for all: 4,095 for 16,773,120 sends, 6 classes of links"
    where = cluster("9216w", W, HOP)
    found = flows.simulate(build("all_reduce", "ring", where), where, GIB, detail=False)
    assert found.seconds == pytest.approx(2 * 9215 * (HOP + GIB / 9216 / W), rel=1e-9)


def test_a_link_without_bandwidth_is_named_with_all_that_waits_for_it():
    where = cluster("4", W, HOP)
    pace = where.topology.bandwidth.copy()
    link = int(where.topology.port[1, 0, 0])
    pace[link] = 0
    stopped = replace(
        where, topology=where.topology.with_links(pace), routing="dimension_order_without_detours"
    )
    made = from_columns(
        of("broadcast", 4),
        "mine",
        np.arange(4)[None],
        {"step": [0, 1, 2, 2], "src": [0, 1, 2, 1], "dst": [1, 2, 3, 0], "chunk": [0, 0, 0, 0]},
    )
    whole = listing.problem(made, where, 1e6, 0.0, *listing.listed(made))
    whole = replace(whole, capacity=stopped.topology.bandwidth)
    with pytest.raises(
        InputError, match=r"3 sends never arrive; step 2 .* waits for step 1 1 -> 2, whose link x 1>2"
    ):
        flows.finished(made, stopped, *reversed(listing.listed(made)), whole, general.run(whole))


def test_it_can_be_watched():
    where = cluster("5wx5", W, HOP)
    made = build("all_to_all", "direct", where)
    seen = []
    step, rows = listing.listed(made)
    general.run(listing.problem(made, where, 1e6, 0.0, step, rows), seen.append, 100)
    assert len(seen) > 2
    assert np.all(np.diff(seen) >= 0)
    assert 0 <= seen[0] < 0.5 < seen[-1] <= 1


@pytest.mark.parametrize("seed", range(3))
def test_ends_taken_together_never_make_flows_faster_than_their_links(seed):
    """A wave on links of all speeds: nearly every flow ends at a time of its own. [loads]"""
    where = uneven(cluster("8x8", W, HOP), seed)
    made = build("all_to_all", "direct", where)
    whole = listing.problem(made, where, GIB, 0.0, *listing.listed(made))
    exact = general.run(whole)
    state = general.state_of(whole)
    engine.begin(state, 0)
    assert engine.run(state, 10**12, 0.03) == engine.OVER
    assert exact.events > 2 * state.tally[EVENTS]
    assert state.sends["end"].max() == pytest.approx(exact.seconds, rel=0.01)
    assert state.sends["end"].max() >= (whole.load() / whole.capacity).max()
    assert np.all(state.sends["pieces"] == 0)


def test_flows_that_cross_too_many_links_are_refused():
    """Before their routes are listed: 269 million crossings would take tens of gigabytes."""
    where = uneven(cluster("1024w", W, HOP), 0)
    with pytest.raises(InputError, match="use --price steps"):
        flows.simulate(build("all_to_all", "direct", where), where, GIB)


def test_too_many_sends_are_refused_at_once():
    where = cluster("64x64", W)
    with pytest.raises(InputError, match="use --price steps"):
        flows.simulate(build("all_to_all", "pairwise", where), where, 1.0)


def test_without_numba_the_reference_answers(monkeypatch):
    where = cluster("4x4", W, HOP)
    made = build("all_gather", "multi_axis", where)
    fast = flows.simulate(made, where, 1e6)
    monkeypatch.setitem(sys.modules, "numba", None)
    slow = flows.simulate(made, where, 1e6)
    assert "numba" in slow.note
    same(fast, slow)
    torus = cluster("4wx4w", W, HOP)
    short = flows.simulate(build("all_to_all", "direct", torus), torus, 1e6, detail=False)
    assert short.how.startswith("one rank's sends")


def test_predict_answers_for_the_largest_pods():
    for words in (
        ["all_to_all", "v5p:16x20x28"],
        ["all_reduce", "v5p:16x16x16", "--algorithm", "multi_axis"],
    ):
        got = row("predict", *words, "--size", "1GiB", "--price", "flows")
        assert got["time_us"] >= got["bound_us"] * (1 - 1e-9)
        assert got["efficiency"] > 0.95


@pytest.mark.parametrize("grid", ["4x4", "3wx4", "switch:5"])
def test_few_sends_are_followed_without_compiling(grid, monkeypatch):
    monkeypatch.setattr(listing, "FEW_SENDS", 500)
    monkeypatch.setattr(flows, "_compiled", None)
    tried = 0
    for _, made, where in every(grid, HOP):
        if sum(len(part) for part in made.steps()) <= 500:
            tried += 1
            same(flows.simulate(made, where, 1e6), reference.simulate(made, where, 1e6))
    assert tried > 5
