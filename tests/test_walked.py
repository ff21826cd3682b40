"""Flows that start together: walked one by one without being listed, or alike by colour refinement.

Sources: [reference] the rules in plain numpy; [cells] cells of equal flows of one wave, counted by hand where
a grid is small and by another program for 8x8.
"""

from dataclasses import replace

import numpy as np
import pytest
from cli import run
from grids import build, cluster
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast.ir.collective import of
from hopcast.ir.schedule import from_columns
from hopcast.simulate import flows, general, listing, reference, refine, symmetry, walked
from hopcast.topologies import ring as ring_topology

W, HOP, MIB, GIB = 45e9, 1e-6, 2**20, 2**30
GRIDS = ["4w", "7w", "5", "3x4", "3wx4", "4wx4w", "2x4w", "3x2x4w", "3wx4wx2", "4wx3wx3wx2", "6wx4w"]


def rated(where, seed=0):
    """The same grid with another rate on each axis, and another each way."""
    t = where.topology
    pace = np.random.default_rng(seed).uniform(0.3, 1.0, (len(t.axes), 2))
    bandwidth = t.bandwidth.copy()
    for a in range(len(t.axes)):
        for way in (0, 1):
            port = t.port[:, a, way]
            bandwidth[port[port >= 0]] *= pace[a, way]
    return replace(where, topology=t.with_links(bandwidth))


def listed(made, where, size=1e6):
    return listing.problem(made, where, size, 0.0, *listing.listed(made))


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("collective", ["all_to_all", "all_gather"])
@pytest.mark.parametrize("grid", GRIDS)
def test_walked_flows_take_the_same_times_as_the_reference(grid, collective, uneven, alpha):
    where = cluster(grid, W, alpha)
    where = rated(where) if uneven else where
    made = build(collective, "direct", where)
    found, slow = walked.run(made, where, 1e6), reference.simulate(made, where, 1e6)
    assert found.seconds == pytest.approx(slow.seconds, rel=1e-12)
    assert found.flows == listed(made, where).pieces
    assert found.events == slow.events
    np.testing.assert_allclose(found.load, slow.load, rtol=1e-12)
    late = slow.end >= slow.seconds * (1 - 1e-12)
    assert np.isclose(slow.start[late], found.latency, rtol=1e-9).any()


@pytest.mark.parametrize("over", [("x",), ("y",), ("x", "z")])
def test_groups_side_by_side_are_walked_too(over):
    where = cluster("4wx3wx4", W, HOP)
    made = build("all_to_all", "direct", where, over)
    found, slow = walked.run(made, where, 1e6), reference.simulate(made, where, 1e6)
    assert found.seconds == pytest.approx(slow.seconds, rel=1e-12)
    np.testing.assert_allclose(found.load, slow.load, rtol=1e-12)


@pytest.mark.parametrize("grid", ["8w", "4wx6w"])
def test_what_is_half_way_round_may_go_forward(grid):
    where = replace(cluster(grid, W, HOP), routing="forward")
    made = build("all_to_all", "direct", where)
    slow = reference.simulate(made, where, 1e6)
    assert walked.run(made, where, 1e6).seconds == pytest.approx(slow.seconds, rel=1e-12)
    short = flows.simulate(made, where, 1e6, detail=False)
    assert short.how.startswith("one rank's sends")
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-12)


def test_an_axis_may_have_another_latency():
    t = cluster("4wx3w", W, HOP).topology
    where = replace(
        cluster("4wx3w"),
        topology=replace(t, latency=np.where(t.axis == 0, 3 * HOP, HOP), bandwidth=t.bandwidth),
    )
    made = build("all_to_all", "direct", where)
    slow = reference.simulate(made, where, 1e6)
    assert walked.run(made, where, 1e6).seconds == pytest.approx(slow.seconds, rel=1e-12)


def test_only_what_is_known_to_be_walked_is():
    torus = cluster("4wx4w", W, HOP)
    pace = torus.topology.bandwidth.copy()
    fits = build("all_to_all", "direct", torus)
    assert walked.fits(fits, torus) is not None
    for factor in (0.0, 0.5):  # a dead link is gone round, a slow one makes links of an axis differ
        pace[3] = W * factor
        assert walked.fits(fits, replace(torus, topology=torus.topology.with_links(pace))) is None
    half = replace(cluster("8w"), topology=ring_topology.build("ring:8", [8], W, HOP, True))
    assert walked.fits(build("all_to_all", "direct", half), half) is None
    assert walked.fits(build("permute", "direct", torus), torus) is None
    assert walked.fits(build("all_to_all", "rotation", torus), torus) is None
    assert walked.fits(fits, replace(torus, routing="shortest")) is None
    mesh = cluster("4x4wx2", W)
    over = walked.fits(build("all_to_all", "direct", mesh), mesh)
    assert not walked.is_quick(mesh, over)
    assert walked.is_quick(mesh, over & np.array([False, True, True]))


@pytest.mark.slow
def test_without_the_shortcut_every_flow_is_walked_and_the_answer_is_the_same():
    """Thousands of ranks: 1,024 of a ring and 8 x 8 x 16; the sends themselves would take minutes."""
    for grid in ("8wx8wx16w", "512w"):
        where = cluster(grid, W, HOP)
        made = build("all_to_all", "direct", where)
        short, full = (flows.simulate(made, where, GIB, shortcut=s, detail=False) for s in (True, False))
        assert short.how.startswith("one rank's sends")
        assert full.how.startswith("every send: ")
        assert "routes walked" in full.how
        assert full.solved == where.topology.chips * (where.topology.chips - 1)
        assert short.seconds == pytest.approx(full.seconds, rel=1e-12)
        assert short.latency == pytest.approx(full.latency, rel=1e-9)
        np.testing.assert_allclose(short.load, full.load, rtol=1e-12)


@pytest.mark.slow
def test_walking_can_be_watched():
    where, seen = cluster("16wx16wx8w", W, HOP), []
    made = build("all_to_all", "direct", where)
    walked.run(made, where, GIB, seen.append)
    assert len(seen) > 100
    assert np.all(np.diff(seen) >= 0)
    assert 0 <= seen[0] < seen[-1] < 1


@pytest.mark.slow
def test_predict_takes_no_shortcut_and_says_so():
    words = ("predict", "all_to_all", "torus:8x8x4,bandwidth=45GB/s", "--size", "1GiB", "--price", "flows")
    short, full = run(*words), run(*words, "--no-shortcut")
    assert "every send: 65,280, " in full.out
    assert full.out.startswith(short.out[:600])


@pytest.mark.parametrize(
    ("grid", "flows_", "colours", "links"),
    [("4wx4wx4w", 7936, 9, 1), ("8x8", 4032, 508, 28), ("4x4", 240, 32, 6), ("16", 240, 64, 8)],
)
def test_colours_of_a_wave(grid, flows_, colours, links):
    """By hand: on a 4x4x4 torus 9 sorts of hops, on a chain pairs (i, j) and their mirror. [cells]"""
    where = cluster(grid, W, HOP)
    whole = listed(build("all_to_all", "direct", where), where)
    found = refine.quotient(whole)
    assert (whole.pieces, len(found.problem.volume), found.links) == (flows_, colours, links)


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize("slow", [None, 0, 5])
@pytest.mark.parametrize("grid", ["3x4", "4x4", "6x6", "3wx4", "4wx8", "4wx4wx4w", "2x4x4", "16", "switch:9"])
def test_one_flow_of_each_colour_gives_the_times_of_all(grid, slow, alpha):
    where = cluster(grid, W, alpha)
    if slow is not None:
        pace = where.topology.bandwidth.copy()
        pace[slow] /= 2
        where = replace(where, topology=where.topology.with_links(pace))
    whole = listed(build("all_to_all", "direct", where), where)
    few = refine.quotient(whole)
    if few is None:
        assert whole.pieces < refine.FEWEST or slow is not None
        return
    assert 2 * len(few.problem.volume) <= whole.pieces
    full = general.run(whole)
    found = refine.expanded(few, general.run(few.problem), whole)
    for column in ("ready", "start", "end"):
        np.testing.assert_allclose(getattr(found, column), getattr(full, column), rtol=1e-12)
    short = flows.simulate(build("all_to_all", "direct", where), where, 1e6)
    assert short.how.startswith("alike by colour refinement")
    np.testing.assert_allclose(short.end, full.end, rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["4x4", "3wx4", "5w", "switch:6"]), st.integers(0, 2**32 - 1), st.booleans())
def test_any_wave_of_few_kinds_is_refined_rightly(grid, seed, late):
    """Random pairs, several times each, of one of two sizes: whatever is alike, times are those of all."""
    where, rng = cluster(grid, W, HOP), np.random.default_rng(seed)
    n = where.topology.chips
    src = rng.integers(0, n, 40)
    dst = (src + rng.integers(1, n, 40)) % n
    again = rng.integers(0, 40, 160)
    columns = {"step": 0 * again, "src": src[again], "dst": dst[again], "chunk": 0 * again}
    columns["count"] = 1 + (again % 2 if late else 0 * again)
    made = from_columns(of("all_reduce", n, parts=4), "random", np.arange(n)[None], columns)
    whole = listed(made, where)
    few, full = refine.quotient(whole), general.run(whole)
    if few is not None:
        found = refine.expanded(few, general.run(few.problem), whole)
        np.testing.assert_allclose(found.end, full.end, rtol=1e-12)
        np.testing.assert_allclose(found.start, full.start, rtol=1e-12)


def test_what_waits_or_differs_is_not_refined():
    where = cluster("4wx4w", W, HOP)
    assert refine.quotient(listed(build("all_gather", "multi_axis", where), where)) is None
    pace = where.topology.bandwidth * np.random.default_rng(0).uniform(0.5, 1, where.topology.links)
    uneven = replace(where, topology=where.topology.with_links(pace))
    assert refine.quotient(listed(build("all_to_all", "direct", uneven), uneven)) is None
    assert symmetry.problem(build("all_to_all", "direct", uneven), uneven, 1.0, 0.0) is None


def test_colours_do_not_depend_on_how_many_flows_are_looked_at_together(monkeypatch):
    where = cluster("4x4wx2", W, HOP)
    whole = listed(build("all_to_all", "direct", where), where)
    at_once = refine.quotient(whole)
    monkeypatch.setattr(refine, "_BLOCK", 7)
    in_parts = refine.quotient(whole)
    np.testing.assert_array_equal(in_parts.flow, at_once.flow)
    np.testing.assert_array_equal(in_parts.problem.paths.times, at_once.problem.paths.times)
