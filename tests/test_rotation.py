"""all_to_all by rotation: as many rounds as the diameter, at the load of the busiest link, on every torus."""

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from named_schedules import GIB, built, cluster, group, without

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import _cayley, _hop_orders
from hopcast.interpret import CheckError, _tokens, check
from hopcast.ir import likewise
from hopcast.ir.group import Hint
from hopcast.ir.lattice import Lattice
from hopcast.ir.schedule import sends
from hopcast.price.steps import steps
from hopcast.simulate import reference
from hopcast.simulate.flows import simulate
from hopcast.simulate.symmetry import stepped

# Diameter, and messages over the busiest link: n^2 / 8 on a ring of n, even, times the ranks beside it; on
# twisted tori a third or half of the mean number of hops.
KNOWN = {
    "ring:2": (1, 1), "ring:3": (1, 1), "ring:7": (3, 6), "ring:8": (4, 8), "ring:16": (8, 32),
    "torus:4x4": (4, 8), "torus:5x6": (5, 22.5), "torus:4x4x4": (6, 32), "torus:4x8x8": (10, 256),
    "torus:3x4x5": (5, 36), "torus:3x3x4x5": (6, 108), "torus:2x4": (3, 4), "torus:3x2": (2, 3),
    "torus:2x8x8": (9, 128), "torus:2x4x4": (5, 16), "hypercube:4": (4, 8), "hypercube:5": (5, 16),
    "torus:4x8,twisted": (4, 21), "torus:8x16,twisted": (8, 170), "torus:4x4x8,twisted": (6, 220 / 3),
    "torus:8x4x8,twisted": (6, 184),
}  # fmt: skip
PODS = {
    "torus:16x16x16": (24, 8_192), "v5p:16x20x28": (32, 31_360), "torus:48x48": (48, 13_824),
    "ring:4096": (2_048, 2_097_152), "torus:8x8x16,twisted": (12, 3_568 / 3),
    "torus:16x16x32,twisted": (24, 57_280 / 3), "torus:2x32x32": (33, 8_192), "hypercube:12": (12, 2_048),
}  # fmt: skip


def where(name):
    return cluster(name if name.startswith("v5p") else f"{name},bandwidth=1GB/s,latency=1us")


def listed(schedule):
    """The same sends, of which nobody knows how they are made."""
    return replace(schedule, make=lambda i: schedule.make(i), orbit=None)


def rate(place):
    return float(place.topology.bandwidth[0])


@pytest.mark.parametrize("name", KNOWN)
def test_the_bounds_of_latency_and_of_load_are_met_at_once(name):
    (diameter, load), place = KNOWN[name], where(name)
    schedule = built("rotation", "all_to_all", place, GIB)
    check(schedule)
    found = steps(schedule, place, GIB)
    assert schedule.step_count == diameter
    assert found.latency == pytest.approx(diameter * 1e-6)
    assert found.bandwidth == pytest.approx(load * GIB / place.topology.chips**2 / 1e9, rel=1e-9)
    # Nothing is late without a barrier, and nothing can be early: the time is that of steps.
    for shortcut in (True, False) if place.topology.chips <= 150 else (True,):
        free = simulate(schedule, place, GIB, detail=False, shortcut=shortcut)
        assert free.seconds == pytest.approx(found.latency + found.bandwidth, rel=1e-9)


@pytest.mark.parametrize(
    "name", [n for n in KNOWN if n.startswith("ring") or n in ("torus:4x4", "torus:3x2")]
)
def test_the_reference_takes_as_long(name):
    place = where(name)
    schedule = built("rotation", "all_to_all", place, GIB)
    found, free = steps(schedule, place, GIB), reference.simulate(schedule, place, GIB)
    assert free.seconds == pytest.approx(found.latency + found.bandwidth, rel=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(2, 7), min_size=1, max_size=3).filter(lambda shape: math.prod(shape) <= 150))
def test_on_any_torus_rounds_are_the_diameter_and_bytes_those_of_the_busiest_link(shape):
    place = where("torus:" + "x".join(map(str, shape)) if len(shape) > 1 else f"ring:{shape[0]}")
    schedule = built("rotation", "all_to_all", place, GIB)
    check(listed(schedule))
    check(schedule)
    routed = steps(built("direct", "all_to_all", place, GIB), place, GIB)
    found = steps(schedule, place, GIB)
    assert schedule.step_count == sum(n // 2 for n in shape)
    assert found.latency == pytest.approx(schedule.step_count * 1e-6)
    assert found.bandwidth == pytest.approx(routed.bandwidth, rel=1e-9)
    assert found.load.max() == pytest.approx(routed.load.max(), rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(3, 9), min_size=1, max_size=4).filter(lambda shape: math.prod(shape) <= 1_000))
def test_in_every_round_the_same_axis_is_the_busiest(shape):
    """All orders of axes are even wherever axes have links both ways, and of those used it shows in bytes."""
    torus = _cayley.Torus(tuple(shape), False)
    assert _hop_orders._is_even(torus, list(itertools.permutations(range(len(shape)))))
    plan = _hop_orders.by_axes(torus)
    ends = np.concatenate([[0.0], np.cumsum(plan.part)])
    busy = np.zeros((torus.diameter, len(torus.ways)))
    np.add.at(busy, (plan.round, plan.way), ends[plan.chunk + plan.count] - ends[plan.chunk])
    assert np.allclose(busy[:, busy.sum(0).argmax()], busy.max(1), rtol=1e-9, atol=0)
    assert busy.sum(0).max() == pytest.approx(_hop_orders.load(torus).max() / torus.ranks, rel=1e-9)
    assert plan.part.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", PODS)
def test_pods_are_priced_and_checked_in_seconds(name):
    (diameter, load), place = PODS[name], where(name)
    begin = time.process_time()
    schedule = built("rotation", "all_to_all", place, GIB)
    check(schedule)
    found = stepped(schedule, place, GIB)
    free = simulate(schedule, place, GIB, detail=False)
    assert time.process_time() - begin < 8
    assert schedule.step_count == diameter
    expected = diameter * 1e-6 + load * GIB / place.topology.chips**2 / rate(place)
    assert found.latency + found.bandwidth == pytest.approx(expected, rel=1e-9)
    assert free.seconds == pytest.approx(expected, rel=1e-9)
    form = algorithms.get("rotation").cost("all_to_all", group(place), Hint(GIB))
    assert (form is None) == name.endswith("twisted")
    assert form is None or form.total() == pytest.approx(expected, rel=1e-9)


# --- sends made by moving those of rank 0 ---

MOVED = ("ring:6", "torus:3x4", "torus:2x3", "torus:4x8,twisted")


@pytest.mark.parametrize("name", MOVED)
def test_what_is_made_for_rank_0_is_right_exactly_if_all_is(name):
    """One number changed among those of rank 0: the short check and that of all sends say the same."""
    schedule = built("rotation", "all_to_all", where(name), GIB)
    made, rng = schedule.make, np.random.default_rng(0)
    assert isinstance(made, likewise.Likewise)
    caught = 0
    for column, k in itertools.product(
        ("dst", "source", "chunk", "count"), rng.integers(0, len(made.step), 8)
    ):
        values = getattr(made, column).copy()
        most = made.each - made.count[k] if column == "chunk" else made.each - made.chunk[k] + 1
        top = most if column in ("chunk", "count") else schedule.ranks
        values[k] = (values[k] + 1) % max(int(top), 1)
        wrong = replace(schedule, make=replace(made, **{column: values}), orbit=None)
        said = [_verdict(one) for one in (wrong, listed(wrong))]
        assert (said[0] is None) == (said[1] is None)
        if said[0] is not None:
            caught += 1
            assert said[0].step == said[1].step
            assert said[0].rank in range(schedule.ranks)
    assert caught > 20


def _verdict(schedule):
    try:
        check(schedule)
    except CheckError as wrong:
        return wrong
    return None


def test_only_what_is_made_so_is_followed_for_rank_0_alone():
    schedule = built("rotation", "all_to_all", where("torus:3x4"), GIB)
    short = likewise.of_rank_0(schedule)
    assert short.chunks * schedule.ranks == schedule.chunks
    assert sum(map(len, short.steps())) * schedule.ranks == sum(map(len, schedule.steps()))
    assert likewise.of_rank_0(listed(schedule)) is None
    task = schedule.collective
    same = replace(task, origin=task.origin, goal=task.goal)
    assert (same.chunks, same.reduces) == (task.chunks, False)
    assert likewise.of_rank_0(replace(schedule, collective=same)) is None
    other = likewise.Messages(Lattice((4, 3), False), task.to)
    assert likewise.of_rank_0(replace(schedule, collective=other)) is None
    _tokens.check(replace(schedule, collective=same), 0)


@pytest.mark.parametrize("name", ["ring:8", "torus:4x4", "torus:4x8,twisted"])
def test_parts_that_repeat_from_rank_to_rank_are_those_of_all_chunks(name):
    schedule = built("rotation", "all_to_all", where(name), GIB)
    assert len(schedule.share) * schedule.ranks == schedule.chunks
    assert schedule.parts.sum() == pytest.approx(1)
    whole = replace(schedule, share=schedule.parts, _ends=[])
    rng, n = np.random.default_rng(1), schedule.chunks
    for rows in [*schedule.steps(), sends(0, 1, rng.integers(0, n, 50), rng.integers(1, n + 1, 50))]:
        assert schedule.bytes(rows, 1.0) == pytest.approx(whole.bytes(rows, 1.0), rel=1e-9)


@pytest.mark.parametrize(
    "lattice", [Lattice((3, 4, 2), False), Lattice((4, 4, 8), True), Lattice((6, 3), True)]
)
def test_displacements_form_a_group_and_one_hop_is_one_of_its_moves(lattice):
    n = lattice.ranks
    table = lattice.around(np.arange(n))
    assert np.array_equal(table, table.T)
    assert np.array_equal(np.sort(table, axis=1), np.broadcast_to(np.arange(n), (n, n)))
    some = np.random.default_rng(0).integers(0, n, (3, 200))
    assert np.array_equal(table[table[some[0], some[1]], some[2]], table[some[0], table[some[1], some[2]]])
    assert np.array_equal(table[some[0], lattice.minus(some[0])], np.zeros(200))
    hops = lattice.number(np.eye(len(lattice.shape), dtype=np.int64))
    assert np.array_equal(lattice.moves, table[hops])


# --- what it refuses, and what it leaves as it was ---

REFUSED = {
    "mesh:4x4": "does not wrap; use dimension_ordered",
    "switch:8": "ranks on a switch are no torus",
    "torus:2x1024": "stops at 1,024 ranks",
    "ring:50000": "stops at 46,340 ranks",
    "torus:32x32x32": "parts of messages and stops at",
    "torus:4x4,duplex=half": None,
}


@pytest.mark.parametrize(("name", "said"), REFUSED.items())
def test_what_it_refuses_it_refuses_in_one_line(name, said):
    reason = algorithms.get("rotation").valid("all_to_all", group(cluster(name)), Hint())
    assert (reason is None) == (said is None)
    if said is not None:
        assert said in reason
        assert "\n" not in reason


def test_a_dead_link_and_a_slow_one_are_no_torus():
    place = where("torus:4x4")
    rates = place.topology.bandwidth * np.where(np.arange(place.topology.links) == 3, 0.5, 1)
    slow = replace(place, topology=place.topology.with_links(rates))
    for broken, said in ((without(place, [3]), "a link is dead"), (slow, "its links differ in speed")):
        assert said in algorithms.get("rotation").valid("all_to_all", group(broken), Hint())


@pytest.mark.parametrize("name", ["ring:8", "ring:7", "torus:4x4", "torus:3x4x2"])
def test_it_goes_link_by_link_so_routes_do_not_matter(name):
    either, forward = cluster(name), cluster(f"{name},antipodal=forward")
    one_way = steps(built("rotation", "all_to_all", forward, GIB), forward, GIB)
    usual = steps(built("rotation", "all_to_all", either, GIB), either, GIB)
    assert one_way.step_seconds == pytest.approx(usual.step_seconds, rel=1e-12)


@pytest.mark.parametrize("name", ["torus:16x16x16", "v5p:16x20x28"])
def test_on_pods_it_stands_beside_the_others_by_its_closed_form(name):
    begin = time.process_time()
    every, best = (hc.predict("all_to_all", name, size="1TiB", algorithm=a).rows for a in ("all", "best"))
    assert time.process_time() - begin < 3
    mine = next(row for row in every if row["algorithm"] == "rotation")
    assert mine["price"] == "formula"
    assert mine["time_us"] >= max(mine["bound_us"], best[0]["time_us"])
