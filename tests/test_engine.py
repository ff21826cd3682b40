"""The event loop that finds new rates only of what an event changes, against the definition of fair rates.

Long schedules over links that many share are chaotic: a small difference is multiplied each time that sends
meet, and hundreds of steps later it is felt everywhere (`benchmarks/digits.py`). In exact arithmetic a size
larger by 1e-15 changes the time of a ring of 64 in random order on an 8x8 torus by 5e-5 to 1.5e-3. So times
are compared up to where two runs of the reference, of sizes that differ by a rounding error, differ by more
than that; and rates at every event, however long.
"""

from dataclasses import replace

import numpy as np
import pytest
from flowing import compiled, every, same, uneven  # noqa: F401
from grids import build, cluster, group
from hypothesis import given, settings
from hypothesis import strategies as st
from test_flows import problems

from hopcast import algorithms
from hopcast.ir import algebra
from hopcast.ir.group import Hint
from hopcast.simulate import engine, flows, folded, general, listing, needed, reference
from hopcast.simulate.fair import Incidence, fair_rates
from hopcast.simulate.state import EVENTS, PATIENCE, SPARE

W, HOP, GIB = 45e9, 1e-6, 2**30


def shuffled(grid, seed, collective="all_reduce", algorithm="ring"):
    """A ring in random order over all chips of a grid: no link is like any other."""
    chips = cluster(grid).topology.chips
    small = build(collective, algorithm, cluster(f"{chips}w"))
    order = np.random.default_rng(seed).permutation(chips).astype(np.int32)
    return algebra.lay(small, order[None], chips)


def listed(made, where, size=GIB, gamma=0.0):
    return listing.problem(made, where, size, gamma, *listing.listed(made))


def events(problem):
    """The state after each event; lists are made longer when they are full, as in `general.run`."""
    state = general.state_of(problem)
    engine.begin(state, 0)
    while (ended := engine.run(state, 1, 0.0)) != engine.OVER:
        if ended == engine.FULL:
            state = general._larger(state)
        yield state


def active(state):
    return np.flatnonzero(state.flow["rate"] > 0)


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize(
    ("grid", "seed"), [("4wx4w", 0), ("4wx4w", 1), ("8wx8w", 2), ("5x5", 3), ("switch:9", 4)]
)
def test_rates_are_fair_after_every_event(grid, seed, alpha):
    where = uneven(cluster(grid, W, alpha), seed) if seed % 2 else cluster(grid, W, alpha)
    whole = listed(shuffled(grid, seed), where)
    every_link = Incidence(whole.paths.hop, whole.paths.link)
    checked = 0
    for state in events(whole):
        now = active(state)
        want = fair_rates(every_link, state.flow["route"][now].astype(np.int64), whole.capacity)
        np.testing.assert_allclose(state.flow["rate"][now], want, rtol=1e-10)
        checked += len(now)
    assert checked > 100


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize(
    ("grid", "seed"),
    [("4wx4w", 0), ("4wx4w", 1), ("4wx4w", 2), ("5wx5w", 0), ("6wx6w", 1), ("7wx7w", 0), ("8wx8w", 0)],
)
def test_a_ring_in_random_order_takes_the_same_times_as_the_reference(grid, seed, alpha):
    where, made = cluster(grid, W, alpha), shuffled(grid, seed)
    slow, nudged = (reference.simulate(made, where, size) for size in (GIB, GIB * (1 + 2**-50)))
    differs = np.abs(nudged.end / slow.end - 1) > 1e-12
    horizon = slow.end[differs].min(initial=np.inf)
    fast = flows.simulate(made, where, GIB)
    told = slow.end < horizon
    assert told.sum() > 500 or told.all()
    for column in ("ready", "start", "end"):
        np.testing.assert_allclose(
            getattr(fast, column)[told], getattr(slow, column)[told], rtol=1e-9, atol=1e-15
        )


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize("grid", ["5w", "4wx4w", "3wx4w", "switch:5"])
def test_sends_found_by_moving_those_of_one_rank_are_the_sends(grid, alpha):
    """In an order that is none of the chips', so nothing but the moves of the ranks is left of symmetry."""
    where, tried = uneven(cluster(grid, W, alpha), 7), 0
    chips = where.topology.chips
    order = np.random.default_rng(1).permutation(chips).astype(np.int32)
    for name in algorithms.names():
        one = algorithms.get(name)
        for collective in one.collectives:
            if one.valid(collective, group(where), Hint()) is not None:
                continue
            small = one.build(collective, group(where), Hint(alpha=alpha))
            made = algebra.lay(small, order[None], where.topology.vertices)
            few = None if small.step_count > 100 else folded.folded(made, where, 1e6, 1e-11)
            if few is None:
                continue
            tried += 1
            whole = listed(made, where, 1e6, 1e-11)
            short, full = general.run(few), general.run(whole)
            assert short.seconds == pytest.approx(full.seconds, rel=1e-9), (name, collective)
            assert short.latency() == pytest.approx(full.latency(), rel=1e-9), (name, collective)
            np.testing.assert_allclose(few.load(), whole.load(), rtol=1e-12)
            assert few.pieces == whole.pieces
            assert not short.left.any()
    assert tried > 2


def test_groups_side_by_side_are_moved_each_for_itself():
    where = uneven(cluster("3wx4w", W, HOP), 5)
    for collective in ("all_gather", "all_reduce"):
        made = build(collective, "ring", where, ("y",))
        few, whole = folded.folded(made, where, 1e6, 0.0), listed(made, where, 1e6)
        assert few.places == 12
        assert general.run(few).seconds == pytest.approx(general.run(whole).seconds, rel=1e-9)


def test_many_sends_are_moved_and_say_so():
    where, made = cluster("16wx16w", W, HOP), shuffled("16wx16w", 0, "all_gather")
    short = flows.simulate(made, where, GIB, detail=False)
    full = flows.simulate(made, where, GIB, detail=False, shortcut=False)
    assert short.how.startswith("every send: 65,280 by moving one rank's 255, ")
    assert short.solved == full.solved
    assert short.seconds == full.seconds
    np.testing.assert_allclose(short.load, full.load, rtol=1e-9)


@settings(deadline=None, max_examples=80)
@given(problems())
def test_links_that_cannot_be_full_first_change_no_rate(problem):
    made, where, _ = problem
    whole = listed(made, where, 1e6)
    fewer, links = needed.needed(whole.paths, whole.capacity)
    assert len(fewer.link) <= len(whole.paths.link)
    some = np.flatnonzero(np.diff(whole.paths.hop) > 0)
    for chosen in (some, some[::2], some[::3]):
        want = fair_rates(Incidence(whole.paths.hop, whole.paths.link), chosen, whole.capacity)
        got = fair_rates(Incidence(fewer.hop, fewer.link), chosen, whole.capacity[links])
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_row_of_links_is_looked_at_where_routes_part():
    """Half of the links of a torus, if each chip sends to one other."""
    where = cluster("16wx16w", W, HOP)
    whole = listed(shuffled("16wx16w", 0, "all_gather"), where)
    fewer, links = needed.needed(whole.paths, whole.capacity)
    assert len(links) < 0.6 * len(whole.capacity)
    assert len(fewer.link) < 0.7 * len(whole.paths.link)
    assert np.all(np.diff(fewer.hop) >= 1)


@settings(deadline=None, max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_chips_that_change_places_change_nothing(problem, seed):
    made, _, gamma = problem
    where = cluster(f"switch:{made.groups.size}", W, HOP)
    chips = where.topology.chips
    to = np.random.default_rng(seed).permutation(chips).astype(np.int32)[: made.groups.size]
    plain = algebra.lay(made, np.arange(made.groups.size, dtype=np.int32)[None], where.topology.vertices)
    moved = algebra.lay(made, to[None], where.topology.vertices)
    was, now = (flows.simulate(s, where, 1e6, gamma).seconds for s in (plain, moved))
    assert now == pytest.approx(was, rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(problems(), st.floats(1e-3, 1e3))
def test_time_is_linear_in_size_where_there_is_no_latency(problem, factor):
    made, where, gamma = problem
    where = replace(where, topology=replace(where.topology, latency=0 * where.topology.latency))
    one, more = (flows.simulate(made, where, size, gamma).seconds for size in (1e6, 1e6 * factor))
    assert more == pytest.approx(one * factor, rel=1e-9)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_search_that_is_given_up_leaves_the_whole_filling_the_same_rates(most):
    """It is given up when more flows over links have been looked at than are allowed."""
    where = cluster("5wx5w", W, HOP)
    whole = listed(shuffled("5wx5w", 1), where)
    state = general.state_of(whole)
    state.tally[PATIENCE] = most
    engine.begin(state, 0)
    assert engine.run(state, 10**12, 0.0) == engine.OVER
    usual = general.run(whole)
    np.testing.assert_allclose(state.sends["end"], usual.end, rtol=1e-9)


def test_lists_that_are_full_are_made_longer_without_a_trace():
    """A fan-out after one send: there is room for one flow at first."""
    where = cluster("switch:1200", W, HOP)
    made = build("broadcast", "binomial", where)
    whole = listed(made, where, 1e6)
    state, grown = general.state_of(whole), 0
    slots = len(state.flow)
    engine.begin(state, 0)
    while (ended := engine.run(state, 10**9, 0.0)) != engine.OVER:
        if ended == engine.FULL:
            state = general._larger(state)
            grown += 1
            assert state.tally[SPARE] > 0
            assert np.all(state.pipe["room"] > state.pipe["taken"])
    assert grown > 0
    assert len(state.flow) > slots or state.tally[EVENTS] > 0
    same(flows.simulate(made, where, 1e6), reference.simulate(made, where, 1e6))


@pytest.mark.parametrize("grid", ["4wx4w", "switch:6"])
def test_the_same_question_has_the_same_answer_to_the_last_bit(grid):
    for _, made, where in every(grid, HOP):
        first, second = (flows.simulate(made, where, 1e6) for _ in range(2))
        np.testing.assert_array_equal(first.end, second.end)
