"""Forests: switches taken out at no loss, trees that fill what is left, schedules at the exact optimum."""

import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from foresting import FOREST, GIB, everyone, laid, slowed, wired
from grids import cluster as small
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import _ground, _packed_pipes, _relayed
from hopcast.clusters import cluster
from hopcast.graph import arborescences, split
from hopcast.graph.optimum import best_rate, rate_between
from hopcast.interpret import check
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.topology import Axis, Topology
from hopcast.price.steps import steps
from hopcast.simulate.flows import simulate

modest = settings(max_examples=80, deadline=None, derandomize=True)
# Where the routes allow the exact optimum: nodes under switches and joined by cables, units under spines,
# slices outside of which chips meet, and links that differ.
EXACT = (
    "dgx-h100:2", "dgx-h100:3", "dgx-h100:4", "dgx-h100:8", "hgx-b200:4", "mi300x:2", "mi300x:4", "switch:9",
    "fat-tree:4x2,leaf=4,spine=1,nics=2", "fat-tree:4x4,nics=2", "dgx-h100:4,oversubscription=2",
    "v5p:2x2x2,slices=2", "v5e:2x4,slices=3",
)  # fmt: skip
# Chips with fewer links inside a slice would need more of what the slice shares outside than others.
NEARLY = ("v5e:4x4,slices=2",)
# And here ways that routing does not take are too many to be looked at.
TOO_FAR = ("v5e:4x8,slices=2",)


@st.composite
def eulerian(draw: st.DrawFn) -> split.Network:
    """2 to 6 ranks and 0 to 2 switches, joined by cycles, so that as much enters each as leaves it."""
    ranks, switches = draw(st.integers(2, 6)), draw(st.integers(0, 2))
    vertices = ranks + switches
    capacity: Counter[tuple[int, int]] = Counter()
    for _ in range(draw(st.integers(1, 7))):
        ring = draw(st.lists(st.integers(0, vertices - 1), min_size=2, max_size=vertices, unique=True))
        amount = draw(st.integers(1, 6))
        for u, v in zip(ring, [*ring[1:], ring[0]], strict=True):
            capacity[u, v] += amount
    tail, head = np.array(list(capacity)).T
    found = split.Network(
        ranks, vertices, tail, head, np.array(list(capacity.values())), [], np.arange(ranks)[:, None]
    )
    return replace(found, routes=every_route(found))


def every_route(network: split.Network) -> list[split.Path]:
    """All ways from rank to rank that pass no vertex twice and no rank."""
    found = []
    grown = [(link,) for link in range(len(network.tail)) if network.tail[link] < network.ranks]
    while grown:
        path = grown.pop()
        if network.head[path[-1]] < network.ranks:
            found.append(path)
            continue
        passed = {int(network.tail[path[0]]), *(int(network.head[link]) for link in path)}
        onward = np.flatnonzero(network.tail == network.head[path[-1]])
        grown += [(*path, int(link)) for link in onward if int(network.head[link]) not in passed]
    return found


@pytest.mark.parametrize("way", ["near", "even", "safe"])
@modest
@given(network=eulerian())
def test_taking_out_switches_uses_no_link_beyond_its_capacity(way, network):
    most = rate_between(network.ranks, network.tail, network.head, network.capacity, network.vertices)
    finer = replace(network, capacity=network.capacity * most.denominator)
    carried = split._bypassed(finer, way, most.numerator)
    load = np.zeros(len(finer.capacity), int)
    for path, amount in carried.items():
        assert path in network.routes or len(path) == 1
        load[list(path)] += amount
    assert np.all(load <= finer.capacity)
    if way == "safe":
        assert split._rated(finer, carried).rate == most.numerator


@modest
@given(eulerian())
def test_trees_fill_any_eulerian_network_to_its_optimum(network):
    n = network.ranks
    most = rate_between(n, network.tail, network.head, network.capacity, network.vertices)
    assume(most > 0)
    finer = replace(network, capacity=network.capacity * most.denominator)
    found = split.direct(finer, Fraction(most.numerator))
    assert found.rate == most.numerator
    for seed in (0, 1):
        trees = arborescences.trees(n, found.tail, found.head, found.capacity, most.numerator, seed)
        holds(trees, n, most.numerator, found)


def holds(trees: list[arborescences.Tree], n: int, count: int, links: split.Direct) -> None:
    """Whether so many trees of every rank reach all others, within capacity."""
    used: Counter[tuple[int, int]] = Counter()
    copies: Counter[int] = Counter()
    for tree in trees:
        reached = {tree.root: 0}
        for u, v in tree.edges:
            assert v not in reached
            reached[v] = reached[u] + 1
            used[u, v] += tree.copies
        assert len(reached) == n
        assert reached == tree.depth
        copies[tree.root] += tree.copies
    assert copies == dict.fromkeys(range(n), count)
    room: Counter[tuple[int, int]] = Counter()
    for u, v, amount in zip(links.tail.tolist(), links.head.tolist(), links.capacity.tolist(), strict=True):
        room[u, v] += amount
    assert all(used[edge] <= room[edge] for edge in used)


def test_more_trees_than_there_are_is_an_error():
    ring = np.arange(5), (np.arange(5) + 1) % 5
    assert len(arborescences.trees(5, *ring, np.full(5, 4), 1)) == 5
    with pytest.raises(ValueError, match="not so many"):
        arborescences.trees(5, *ring, np.full(5, 3), 1)


@pytest.mark.parametrize("text", EXACT)
def test_a_full_step_loads_the_worst_link_as_the_optimum_does(text):
    where = cluster(text)
    mine = everyone(where)
    wiring = wired(mine)
    limit = best_rate(where.topology, mine.all_groups[0])
    assert _ground.of(wiring, False, 0).kept == 1.0
    assert _packed_pipes.plan(wiring, False, 0).full == pytest.approx(1 / limit.algbw, rel=1e-12)
    few = _ground.of(wiring, False, 1)
    assert few.kept >= 0.95
    assert _packed_pipes.plan(wiring, False, 1).full == pytest.approx(1 / limit.algbw / few.kept, rel=1e-12)


@pytest.mark.parametrize("trees", [1, 2, 3, 10, 20])
def test_so_many_trees_are_made_as_are_asked(trees):
    wiring = wired(everyone(cluster("dgx-h100:4")))
    ground, plan = _ground.of(wiring, False, trees), _packed_pipes.plan(wiring, False, trees)
    assert (ground.count, ground.parts) == (trees, 1)
    assert (ground.kept == 1.0) == (trees % 10 == 0)  # x is 10 / 31 of a NIC
    whole = plan.part * 32 * trees
    assert np.allclose(whole, np.round(whole))
    assert np.allclose(np.bincount(plan.root, whole), trees)


@pytest.mark.parametrize("text", NEARLY)
def test_where_routes_do_not_allow_the_optimum_sends_name_switches(text):
    mine = everyone(cluster(text))
    assert 0.9 <= _ground.of(wired(mine), False, 0).kept < 1
    wider, routed = _relayed.of(mine)
    assert (wider.direct is None, routed.direct) == (False, None)
    assert _ground.of(wider, False, 0).kept == 1
    assert FOREST.valid("all_gather", mine, Hint(GIB)) is None


@pytest.mark.parametrize("text", TOO_FAR)
def test_where_packed_trees_reach_too_little_they_are_refused_and_rounds_are_not(text):
    where = cluster(text)
    mine = everyone(where)
    assert 0.8 <= _ground.of(wired(mine), False, 0).kept < 0.9
    packed = Hint(GIB, options={"pieces": "8"})
    assert "% of the optimum" in str(FOREST.valid("all_gather", mine, packed))
    assert FOREST.valid("all_gather", mine, Hint(GIB)) is None
    schedule = laid("all_gather", where, mine)
    check(schedule)
    least = GIB / best_rate(where.topology, mine.all_groups[0]).algbw
    assert least <= simulate(schedule, where, GIB, detail=False).seconds <= least / 0.8


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("text", ["dgx-h100:2", "dgx-h100:3", "dgx-h100:4", "mi300x:2", "switch:9", *NEARLY])
def test_large_arrays_take_hardly_more_than_the_optimum(collective, text):
    where = cluster(f"{text},latency=0")
    mine = everyone(where)
    schedule = laid(collective, where, mine)
    check(schedule)
    times = 2 if collective == "all_reduce" else 1
    least = times * GIB / best_rate(where.topology, mine.all_groups[0]).algbw
    by_steps = steps(schedule, where, GIB)
    by_flows = simulate(schedule, where, GIB, detail=False).seconds
    slack = 0.96 if text in EXACT else 0.84
    assert least * (1 - 1e-9) <= by_steps.bandwidth <= least / slack
    assert least * (1 - 1e-9) <= by_flows <= least / (slack - 0.03)


@pytest.mark.parametrize(
    ("text", "over"), [("dgx-h100:4", ("gpu",)), ("dgx-h100:4", ("node",)), ("mesh:4x6", ("x",))]
)
def test_groups_that_share_no_link_run_beside_each_other(text, over):
    where = cluster(f"{text},latency=0")
    mine = group(where, physical(where.topology), over)
    schedule = laid("all_gather", where, mine, pieces=64)
    check(schedule)
    wiring = wired(mine)
    alone = _packed_pipes.best(wiring, False, GIB, 100_000)[0]
    assert steps(schedule, where, GIB).bandwidth == pytest.approx(
        GIB * alone.full * (1 + alone.filling / 64), rel=1e-9
    )
    assert len(schedule.groups) > 1


@pytest.mark.parametrize("name", ["4wx4", "8w", "3x4", "2x4", "5wx5w"])
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_on_grids_that_ask_for_it_every_step_is_as_claimed(name, collective):
    where = small(name, 1.0)
    mine = everyone(where)
    schedule = laid(collective, where, mine, pieces=20)
    check(schedule)
    wiring = wired(mine)
    plan = _packed_pipes.best(wiring, False, GIB, 100_000)[0]
    times = 2 if collective == "all_reduce" else 1
    assert schedule.step_count == times * (20 + int(plan.depth.max()))
    taken = steps(schedule, where, 1.0).bandwidth
    assert taken == pytest.approx(times * plan.full * (1 + plan.filling / 20), rel=1e-9)
    n = where.topology.chips
    assert plan.full == pytest.approx((n - 1) / n / np.bincount(where.topology.dst).min(), rel=1e-12)


def test_a_slow_link_is_used_for_what_it_carries():
    whole = cluster("mesh:4x4,bandwidth=45GB/s,latency=0")
    where = slowed(whole, [int(whole.topology.port[5, 0, 0])], 0.5)
    mine = everyone(where)
    for name in ("torus:4x4", "mesh:5x5"):  # as good as others, or too many for the little that it gains
        assert FOREST.unasked("all_gather", everyone(cluster(name)), Hint(GIB)) is not None
    for few in (everyone(whole), mine):
        assert FOREST.unasked("all_gather", few, Hint(GIB)) is None
    schedule = laid("all_gather", where, mine)
    check(schedule)
    least = GIB / best_rate(where.topology, np.arange(16)).algbw
    assert simulate(schedule, where, GIB, detail=False).seconds <= least / 0.97
    asked = {"size": "1GiB", "algorithm": "best", "slow": ["1,1:2,1=0.5"]}
    assert hc.predict("all_gather", "mesh:4x4,bandwidth=45GB/s", **asked).rows[0]["algorithm"] == "forest"


# GPUs of which one has no NIC: of the exact optimum, in steps and flows, at 1 GiB and with enough to send.
DEAD_NIC = {"dgx-h100:2": (0.98, 0.975), "dgx-h100:4": (0.95, 0.975), "mi300x:2": (0.97, 0.96)}


def lame(text: str, part: float) -> tuple[Cluster, np.ndarray]:
    """A cluster whose first GPU has so much of its NIC left, and the links of that."""
    whole = cluster(text)
    ends = whole.topology.src, whole.topology.dst
    nic = np.flatnonzero((whole.topology.axis == 0) & ((ends[0] == 0) | (ends[1] == 0)))
    return slowed(whole, nic.tolist(), part), nic


@pytest.mark.parametrize("text", DEAD_NIC)
def test_a_dead_nic_costs_what_it_must_and_not_what_it_costs_rings(text):
    where, nic = lame(text, 0.0)
    mine = everyone(where)
    schedule = laid("all_gather", where, mine)
    check(schedule)
    priced = steps(schedule, where, GIB)
    assert priced.load[nic].max() == 0
    least = GIB / best_rate(where.topology, mine.all_groups[0]).algbw
    took = simulate(schedule, where, GIB, detail=False).seconds
    assert least <= took <= least / DEAD_NIC[text][0]
    assert priced.latency + priced.bandwidth <= least / DEAD_NIC[text][0]
    other = algorithms.get("hierarchical").build("all_gather", mine, Hint(GIB, max(mine.latency)))
    by_levels = lay(other, mine.all_groups, where.topology.vertices, mine.hubs)
    assert took < 0.85 * simulate(by_levels, where, GIB, detail=False).seconds


@pytest.mark.parametrize("part", [0.0, 0.5])
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("text", DEAD_NIC)
def test_with_much_to_send_hardly_anything_is_lost_to_a_lame_nic(text, collective, part):
    where, _ = lame(f"{text},latency=0", part)
    mine = everyone(where)
    schedule = laid(collective, where, mine)
    check(schedule)
    times = 2 if collective == "all_reduce" else 1
    least = times * GIB / best_rate(where.topology, mine.all_groups[0]).algbw
    assert least * (1 - 1e-9) <= steps(schedule, where, GIB).bandwidth <= least / DEAD_NIC[text][1]
    # Without a barrier between them the halves of an all_reduce meet where some are done before others.
    loss = 0.05 if collective == "all_reduce" else 0.01
    took = simulate(schedule, where, GIB, detail=False).seconds
    assert least * (1 - 1e-9) <= took <= least / (DEAD_NIC[text][1] - loss)


def one_way_ring(chips: int) -> Cluster:
    """Chips of which each reaches only the next, every other link twice as fast."""
    at = np.arange(chips, dtype=np.int32)
    made = Topology(
        "one-way", chips, chips, at, (at + 1) % chips, np.zeros(chips, np.int32), 1.0 + at % 2,
        np.zeros(chips), at.copy(), (Axis("x", chips, True),), at[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip
    return Cluster("one-way", made, "own", "shortest")


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter"])
def test_links_without_their_like_the_other_way_are_turned_round(collective):
    where = one_way_ring(6)
    mine = everyone(where)
    wiring = wired(mine)
    assert not wiring.mirrored
    schedule = laid(collective, where, mine, pieces=8)
    check(schedule)
    assert steps(schedule, where, 6.0).load.max() == pytest.approx(5.0)
    for rows in schedule.steps():
        assert np.all(rows.dst == (rows.src + 1) % 6)
    assert "its like the other way" in str(FOREST.valid("all_reduce", mine, Hint(GIB)))


REFUSED = [
    ("torus:4x4,duplex=half", (), {"pieces": "4"}, "one way at a time"),
    ("v5e:4x4,slices=2", ("dcn",), {}, "share links"),
    ("dgx-h100:64", (), {"trees": "1"}, "beyond 256 ranks"),
    ("dgx-h100:65", (), {}, "beyond 512 ranks"),
    ("mesh:17x16", (), {}, "beyond 256 ranks"),
    ("dgx-h100:2", (), {"trees": "1025"}, "at most 1,024"),
    ("dgx-h100:2", (), {"pieces": "20834"}, "up to 20,833 are possible"),
]


@pytest.mark.parametrize(("text", "over", "options", "word"), REFUSED)
def test_what_it_cannot_do_it_refuses_with_the_reason(text, over, options, word):
    where = cluster(text)
    mine = group(where, physical(where.topology), over)
    reason = FOREST.valid("all_gather", mine, Hint(GIB, options=options))
    assert word in str(reason)
    assert "\n" not in str(reason)


def test_a_switch_that_gets_more_than_it_gives_is_refused():
    where = cluster("switch:4")
    lame = slowed(where, [0], 0.5)  # the way of chip 0 to the switch
    assert "not as much enters" in str(FOREST.valid("all_gather", everyone(lame), Hint(GIB)))
    both = np.flatnonzero((lame.topology.src == 0) | (lame.topology.dst == 0))
    even = slowed(where, both.tolist(), 0.5)
    assert FOREST.valid("all_gather", everyone(even), Hint(GIB)) is None
    unknown = replace(everyone(where), cluster=None)
    assert "which cluster" in str(FOREST.valid("all_gather", unknown, Hint(GIB)))


def test_ranks_that_are_cut_off_are_refused():
    where = cluster("dgx-h100:2")
    dead = np.flatnonzero(where.topology.axis == 0)
    reason = FOREST.valid("all_gather", everyone(slowed(where, dead.tolist(), 0.0)), Hint(GIB))
    assert "not all of its ranks reach each other" in str(reason)


def test_pieces_are_as_many_as_asked_and_else_as_many_as_pay():
    where = cluster("mesh:3x4")
    mine = everyone(where)
    depth = laid("all_gather", where, mine, pieces=1).step_count
    assert laid("all_gather", where, mine, pieces=10).step_count == depth + 9
    assert laid("all_gather", where, mine, size=2.0**10).step_count <= depth
    unlike, _ = lame("dgx-h100:2", 0.5)
    few, many = (laid("all_gather", unlike, everyone(unlike), size=size) for size in (2.0**10, 2.0**34))
    assert 16 <= few.chunks <= 64
    assert many.chunks > 3 * few.chunks
    assert many.step_count > few.step_count


def test_without_numba_the_trees_are_the_same(monkeypatch):
    where = cluster("mi300x:2")
    wiring = wired(everyone(where))
    ground = _ground.of(wiring, False, 0)
    links = ground.links
    about = wiring.network.ranks, links.tail, links.head, links.capacity, ground.count
    compiled = arborescences.trees(*about)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert arborescences.trees(*about) == compiled
