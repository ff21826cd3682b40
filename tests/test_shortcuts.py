"""Every shortcut that the fast engine of flows takes, against the reference and the full solve."""

from dataclasses import replace

import numpy as np
import pytest
from flowing import GIB, HOP, MIB, W, compiled, every, same, uneven  # noqa: F401
from grids import build, cluster, group

from hopcast import algorithms
from hopcast.ir import algebra
from hopcast.ir.group import Hint
from hopcast.names import InputError
from hopcast.simulate import flows, listing, network, reference, relay, symmetry
from hopcast.topologies import twisted_torus


@pytest.mark.parametrize(
    ("grid", "collective", "algorithm", "how"),
    [
        ("8w", "all_reduce", "ring", "sends never meet"),
        ("4wx4w", "all_reduce", "sequential_rings", "sends never meet"),
        ("3wx4w", "all_reduce", "multi_axis", "one rank's sends"),
        ("4wx4wx3w", "all_to_all", "direct", "one rank's sends"),
        ("switch:8", "all_to_all", "direct", "one rank's sends"),
        ("switch:8", "all_gather", "bruck", "one rank's sends"),
        ("switch:8", "all_gather", "recursive_doubling", "every send"),
        ("fat:4x4", "all_reduce", "hierarchical", "one rank's sends"),
        ("fat:4x4", "all_reduce", "ring", "moved places"),
        ("4x4", "all_reduce", "multi_axis", "every send"),
    ],
)
def test_the_shortcut_taken_is_named_and_without_it_the_answer_is_the_same(grid, collective, algorithm, how):
    where = cluster(grid, W, HOP)
    made = build(collective, algorithm, where)
    short = flows.simulate(made, where, GIB, detail=False)
    full = flows.simulate(made, where, GIB, detail=False, shortcut=False)
    assert short.how.startswith(how)
    assert full.how.startswith("every send")
    assert short.seconds == pytest.approx(full.seconds, rel=1e-12)
    assert short.latency == pytest.approx(full.latency, rel=1e-9)
    assert short.solved <= full.solved


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("all_gather", "ring"),
        ("all_reduce", "ring"),
        ("all_gather", "bidirectional_ring"),
        ("reduce_scatter", "bidirectional_ring,split=on"),
    ],
)
def test_sends_that_never_meet_on_links_of_any_speed(collective, algorithm, seed):
    where = uneven(cluster("7w", W, HOP), seed)
    made = build(collective, algorithm, where)
    short, slow = relay.relay(made, where, 1e6, 1e-11), reference.simulate(made, where, 1e6, 1e-11)
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-11)
    assert short.latency == pytest.approx(slow.critical_latency(), rel=1e-9)
    np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)


def test_a_ring_longer_than_the_times_that_are_kept():
    """What is overwritten was read n steps before; of that long ago only the latest time is known."""
    where = uneven(cluster("600w", W, HOP), 3, 0.98)
    made = build("all_reduce", "ring", where)
    short = flows.simulate(made, where, MIB, detail=False)
    full = flows.simulate(made, where, MIB)
    assert short.how.startswith("sends never meet")
    assert short.seconds == pytest.approx(full.seconds, rel=1e-11)
    assert short.latency == pytest.approx(full.latency, rel=1e-9)


def test_where_links_differ_no_link_stands_for_others():
    made = build("all_to_all", "direct", cluster("4wx4w", W, HOP))
    slow = uneven(cluster("4wx4w", W, HOP), 1)
    assert symmetry.problem(made, slow, 1.0, 0.0) is None
    assert symmetry.problem(made, cluster("4wx4", W, HOP), 1.0, 0.0) is None
    dead = cluster("4wx4w", W, HOP)
    gone = dead.topology.bandwidth.copy()
    gone[0] = 0
    dead = replace(dead, topology=dead.topology.with_links(gone))
    assert symmetry.problem(made, dead, 1.0, 0.0) is None
    same(flows.simulate(made, dead, 1e6), reference.simulate(made, dead, 1e6))


def test_moved_ranks_of_other_groups_are_not_moved_chips():
    """A ring in an order that is not the torus's: its moves are not those of the chips."""
    where = cluster("4wx4w", W, HOP)
    snake = np.array([0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12], np.int32)
    made = algebra.lay(
        algorithms.get("ring").build("all_gather", group(cluster("16w")), Hint()), snake[None], 16
    )
    assert symmetry.problem(made, where, 1.0, 0.0) is None
    short, slow = flows.simulate(made, where, 1e6, detail=False), reference.simulate(made, where, 1e6)
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-11)


def test_a_twisted_torus_moves_over_its_seam():
    topology = twisted_torus.build("torus:4x8", (4, 8), W, HOP)
    where = replace(cluster("4wx8w"), topology=topology, routing="twisted")
    made = build("all_to_all", "direct", where)
    short = flows.simulate(made, where, 1e6, detail=False)
    assert short.seconds == pytest.approx(reference.simulate(made, where, 1e6).seconds, rel=1e-11)


def test_steps_by_symmetry_are_the_steps():
    from hopcast.price.steps import steps

    for grid in ("8w", "3wx4w", "switch:5"):
        for name, made, where in every(grid, HOP):
            short = symmetry.stepped(made, where, 1e6)
            if short is None:
                continue
            whole = steps(made, where, 1e6)
            assert short.latency == pytest.approx(whole.latency, rel=1e-9), name
            assert short.bandwidth == pytest.approx(whole.bandwidth, rel=1e-9), name
            np.testing.assert_allclose(short.load, whole.load, rtol=1e-9)
            np.testing.assert_allclose(short.step_seconds, whole.step_seconds, rtol=1e-9)


@pytest.mark.parametrize("routing", ["dimension_order", "forward"])
@pytest.mark.parametrize("grid", ["2", "5w", "8w", "2x4w", "4wx3w", "6wx1", "2x2x2", "4wx4wx3w"])
def test_links_counted_axis_by_axis_are_those_of_the_routes(grid, routing):
    where = replace(cluster(grid, W, HOP), routing=routing)
    lag = where.topology.latency * (1 + where.topology.axis)
    for place in (where, replace(where, topology=replace(where.topology, latency=lag))):
        found = symmetry.classes(place.topology, routing)
        src, dst = np.random.default_rng(0).integers(0, place.topology.chips, (2, 60)).astype(np.int32)
        short, whole = symmetry._crossed(place, found, src, dst), network.paths(place, src, dst)
        whole = network.merged(replace(whole, link=found.of[whole.link]), len(found.size))
        for column in ("first", "weight", "hop", "link", "times"):
            np.testing.assert_array_equal(getattr(short, column), getattr(whole, column))
        np.testing.assert_allclose(short.lag, whole.lag, rtol=1e-14)


@pytest.mark.parametrize(
    "grid", ["5w", "8w", "3wx4w", "3wx3wx4w", "switch:5", "switch:8", "fat:3x2", "fat:4x4"]
)
def test_what_one_rank_is_said_to_do_is_what_every_rank_does(grid):
    """Rank 0's sends and arrivals are rows of the schedule, and every rank has as many of each size."""
    tried = 0
    for name, made, _ in every(grid, 0.0):
        orbit = made.orbit and made.orbit()
        if orbit is None:
            continue
        tried += 1
        rows = [(i, r) for i, part in enumerate(made.steps()) for r in zip(*columns(part), strict=True)]
        assert sorted((i, r) for i, r in rows if r[0] == 0) == sorted(said(orbit, orbit.out)), name
        assert sorted((i, r) for i, r in rows if r[1] == 0) == sorted(said(orbit, orbit.into)), name
        moved = {tuple(m) for m in orbit.moves.tolist()}
        assert len(moved) == len(orbit.moves)
        if not moved:
            continue
        for k in range(len(orbit.step)):
            there, back = place(orbit, int(orbit.out.dst[k])), int(orbit.into.src[k])
            assert there[back] == 0, (name, "row of into is not the row of out moved")
    assert tried > 3


def columns(rows):
    return tuple(getattr(rows, c).tolist() for c in ("src", "dst", "chunk", "count", "op", "lane"))


def said(orbit, rows):
    return [(int(i), r) for i, r in zip(orbit.step, zip(*columns(rows), strict=True), strict=True)]


def place(orbit, to):
    """The move that brings rank 0 to a rank."""
    found = {0: tuple(range(orbit.moves.shape[1]))}
    front = [0]
    while to not in found:
        front = [
            m[found[r][0]]
            for r in front
            for m in orbit.moves
            if found.setdefault(int(m[r]), tuple(m[list(found[r])]))
        ]
    return found[to]


def test_equal_sends_that_start_together_end_with_the_busiest_link():
    where = uneven(cluster("switch:6", W, HOP), 2)
    made = build("all_to_all", "direct", where)
    short, slow = flows.simulate(made, where, 1e6, detail=False), reference.simulate(made, where, 1e6)
    assert short.how.startswith("one wave")
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-11)
    assert short.latency == pytest.approx(slow.critical_latency(), rel=1e-9)


def test_a_slow_cable_of_a_long_ring_sets_the_pace():
    """Both ways at half speed; times of long ago are not kept, and waits for them follow from data."""
    where = cluster("1024w", W, HOP)
    t = where.topology
    pace = (
        np.where(np.minimum(t.src, t.dst) == 100, np.where(np.maximum(t.src, t.dst) == 101, 0.5, 1.0), 1.0)
        * W
    )
    where = replace(where, topology=t.with_links(pace))
    found = flows.simulate(build("all_reduce", "ring", where), where, GIB, detail=False)
    assert found.how.startswith("sends never meet")
    assert found.seconds == pytest.approx(2 * 1023 * (HOP + 2 * GIB / 1024 / W), rel=1e-9)


@pytest.mark.parametrize(("link", "slowed"), [((100, 101), 2), ((101, 100), 1)])
def test_a_slow_link_of_a_long_ring_sets_the_pace(link, slowed):
    """Sums and copies go round one way: half speed that way slows both, the other way neither. [loads]"""
    where = cluster("1024w", W, HOP)
    pace = where.topology.bandwidth.copy()
    pace[(where.topology.src == link[0]) & (where.topology.dst == link[1])] /= 2
    where = replace(where, topology=where.topology.with_links(pace))
    found = flows.simulate(build("all_reduce", "ring", where), where, GIB, detail=False)
    chunk = GIB / 1024 / W
    assert found.seconds == pytest.approx(2 * 1023 * (HOP + slowed * chunk), rel=1e-9)


def test_sends_that_are_too_many_are_refused_before_any_is_made():
    where = uneven(cluster("16wx16w", W, HOP), 0)
    made = build("all_to_all", "direct", where)

    def make(step):
        raise AssertionError(step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "MOST_SENDS", 30_000)
        with pytest.raises(InputError, match="more than 60,000 sends"):
            flows.simulate(replace(made, make=make), where, GIB, detail=False)
