"""Schedules that meet the physical limit: searched, translated, rotated."""

import numpy as np
import pytest
from grids import cluster as grid
from named_schedules import GIB, built, cluster, fewest, group, ports, without
from scipy import optimize

import hopcast as hc
from hopcast import algorithms, choose
from hopcast.algorithms import _cayley, _links, _shares
from hopcast.interpret import check
from hopcast.ir.group import Group, Hint
from hopcast.price.steps import steps
from hopcast.routing import twisted as lattice
from hopcast.simulate import reference
from hopcast.simulate.flows import simulate
from hopcast.simulate.symmetry import stepped
from hopcast.verbs import ask

# --- the links of a group ---


def test_a_group_has_the_links_between_its_ranks_that_live_in_all_its_groups():
    where = cluster("torus:4x4,bandwidth=1GB/s")
    whole, rows = group(where), group(where, ("y",))
    assert len(whole.links) == 64
    assert len(rows.links) == 8
    assert len(np.unique(rows.links, axis=0)) == 8
    one = int(np.flatnonzero((where.topology.src == 0) & (where.topology.dst == 1))[0])
    broken = without(where, [one])
    assert len(group(broken).links) == 63
    left = {tuple(r) for r in group(broken, ("y",)).links.tolist()}
    assert left == {tuple(r) for r in rows.links.tolist()} - {(0, 1)}


@pytest.mark.parametrize("name", ["mesh:3x4", "torus:3x4", "ring:5", "chain:4", "hypercube:3", "v5e:8x16"])
def test_links_that_nobody_states_are_those_of_the_axes(name):
    mine = group(cluster(name))
    bare = Group(mine.axes, False, mine.bandwidth, mine.latency, mine.all_groups)
    key = [np.sort(g[:, 0] * mine.ranks + g[:, 1]) for g in (_links.of(mine), _links.of(bare))]
    assert np.array_equal(*key)


@pytest.mark.parametrize("name", ["mesh:4x4", "torus:3x5", "full_mesh:6"])
def test_no_two_links_of_a_colour_leave_or_enter_one_rank(name):
    links = _links.of(group(cluster(name)))
    colour = _links.colours(links)
    for end in (links[:, 0], links[:, 1]):
        assert len(np.unique(end * 1_000 + colour)) == len(links)


# --- synthesized ---

# The least number of steps that the poorest chip needs is also enough.
FOUND = {
    "mesh:2x4": (1, 2), "mesh:4x4": (1, 2), "mesh:4x8": (1, 2), "mesh:8x8": (1, 2), "mesh:2x2x4": (1,),
    "torus:4x4": (1, 4), "torus:8x8": (1,), "torus:4x4x8": (1, 2), "v5e:8x16": (1,), "hypercube:4": (1,),
    "chain:8": (1,), "full_mesh:8": (1,),
}  # fmt: skip


@pytest.mark.parametrize(("name", "pieces"), [(n, p) for n, ps in FOUND.items() for p in ps])
def test_the_search_takes_the_fewest_steps_that_there_can_be(name, pieces):
    where = cluster(name)
    schedule = built("synthesized", "all_gather", where, GIB, pieces=str(pieces))
    check(schedule)
    assert schedule.step_count == fewest(where, pieces)
    for rows in schedule.steps():
        pairs = rows.src * schedule.vertices + rows.dst
        assert len(np.unique(pairs)) == len(pairs)


@pytest.mark.parametrize("name", ["mesh:2x3", "mesh:2x4", "mesh:3x3", "torus:3x4"])
def test_the_search_goes_round_any_dead_link(name):
    whole = cluster(name)
    for dead in range(whole.topology.links):
        check(built("synthesized", "all_gather", without(whole, [dead]), GIB))


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("name", ["mesh:2x3", "torus:3x4"])
def test_sums_take_no_link_that_is_dead_their_way(name, collective):
    """Dead one way only: the mirror image of what was searched for on the links as they are would take it."""
    whole = cluster(name)
    for dead in range(whole.topology.links):
        where = without(whole, [dead])
        schedule = built("synthesized", collective, where, GIB)
        check(schedule)
        live = set(map(tuple, _links.of(group(where)).tolist()))
        assert {(s, d) for rows in schedule.steps() for s, d in zip(rows.src, rows.dst, strict=True)} <= live


@pytest.mark.slow
def test_the_search_goes_round_three_dead_links_of_256_chips():
    where = without(cluster("torus:16x16,latency=1us"), [5, 77, 300])
    schedule = built("synthesized", "all_gather", where, GIB)
    check(schedule)
    assert schedule.step_count == fewest(where, 1) == 85
    load = steps(schedule, where, GIB)
    assert load.load[[5, 77, 300]].max() == 0
    bound = GIB * 255 / 256 / (3 * where.topology.bandwidth.max())
    assert bound / (load.latency + load.bandwidth) >= 0.97


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("name", ["mesh:3x4", "torus:3x4", "v5e:4x8"])
def test_sends_that_share_no_link_need_no_barrier(collective, name):
    where = cluster(name)
    schedule = built("synthesized", collective, where, 1e6)
    barrier = steps(schedule, where, 1e6)
    free = reference.simulate(schedule, where, 1e6)
    assert free.seconds <= (barrier.latency + barrier.bandwidth) * (1 + 1e-12)


def test_a_seed_gives_another_schedule_of_as_many_steps():
    where = cluster("mesh:4x4")
    mine, one = group(where), algorithms.get("synthesized")
    first, again, other = (one.build("all_gather", mine, Hint(GIB, seed=s)) for s in (0, 0, 1))
    same = [np.array_equal(first.columns()["chunk"], s.columns()["chunk"]) for s in (again, other)]
    assert same == [True, False]
    assert first.step_count == other.step_count


@pytest.mark.parametrize("n", [6, 600])
def test_ranks_are_joined_if_each_reaches_all(n):
    """Few are looked at link by link, many by a library."""
    ring = np.stack([np.arange(n), np.roll(np.arange(n), -1)], 1)
    line = ring[:-1]
    assert _links.joined(ring, n)
    assert not _links.joined(line, n)
    assert _links.joined(np.concatenate([line, line[:, ::-1]]), n)


def test_a_network_that_is_cut_in_two_is_refused():
    where = cluster("chain:4")
    topology = where.topology
    middle = [i for i in range(topology.links) if {topology.src[i], topology.dst[i]} == {1, 2}]
    reason = algorithms.get("synthesized").valid("all_gather", group(without(where, middle)), Hint())
    assert "do not join all" in str(reason)


def test_a_search_that_takes_seconds_is_made_when_it_is_named():
    mine, one = group(cluster("mesh:20x20")), algorithms.get("synthesized")
    assert "seconds" in str(one.unasked("all_gather", mine, Hint()))
    assert one.valid("all_gather", mine, Hint()) is None
    asked = {"size": "1GiB", "price": "steps", "algorithm": "synthesized"}
    assert hc.predict("all_gather", "mesh:20x20", **asked).rows[0]["steps"] == 200  # ceil(399 / 2)
    assert one.valid("all_gather", group(cluster("torus:33x32")), Hint())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torus:32x32", "mesh:32x32", "16wx16x4", "torus:8x8x8", "v5e:16x16"])
def test_the_search_takes_the_fewest_steps_on_up_to_1024_chips(name):
    where = grid(name) if name[0].isdigit() else cluster(name)
    if name == "torus:8x8x8":
        where = without(where, [5, 77, 300])
    schedule = built("synthesized", "all_gather", where, GIB)
    check(schedule)
    assert schedule.step_count == fewest(where, 1)


# --- translated trees ---


@pytest.mark.parametrize("name", ["torus:4x4x8,twisted", "torus:4x8,twisted", "torus:8x8x4,twisted"])
def test_displacements_add_up_as_links_do(name):
    where = cluster(name)
    torus = _cayley.of(group(where))
    assert isinstance(torus, _cayley.Torus)
    assert torus.twisted
    ends = sorted(zip(where.topology.src.tolist(), where.topology.dst.tolist(), strict=True))
    rank = np.repeat(np.arange(torus.ranks)[None], len(torus.to), 0)
    assert sorted(zip(rank.ravel().tolist(), torus.to.ravel().tolist(), strict=True)) == ends
    assert torus.diameter == int(lattice.vectors(torus.shape).hops.max())
    some = np.arange(0, torus.ranks, 3)
    assert np.array_equal(torus.add(some, torus.minus(some)), np.zeros(len(some)))


@pytest.mark.parametrize("name", ["ring:8", "torus:4x4", "torus:5x6", "torus:4x4x8", "torus:4x4x8,twisted"])
@pytest.mark.parametrize("collective", ["all_gather", "all_reduce"])
def test_a_translated_tree_meets_the_port_bound(name, collective):
    where = cluster(f"{name},latency=0")
    schedule = built("translated_tree", collective, where, GIB)
    check(schedule)
    times = 2 if collective == "all_reduce" else 1
    chips = where.topology.chips
    bound = times * GIB * (chips - 1) / chips / (ports(where) * where.topology.bandwidth.max())
    assert steps(schedule, where, GIB).bandwidth == pytest.approx(bound, rel=1e-12)
    assert simulate(schedule, where, GIB, detail=False).seconds == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("name", ["torus:4x4", "torus:4x8,twisted", "torus:3x4x5"])
def test_one_ranks_sends_of_a_tree_stand_for_all(name):
    where = cluster(name)
    schedule = built("translated_tree", "all_reduce", where, 1e6)
    one, all_ranks = (simulate(schedule, where, 1e6, shortcut=s, detail=False) for s in (True, False))
    assert one.solved < all_ranks.solved
    assert one.seconds == pytest.approx(all_ranks.seconds, rel=1e-9)
    both = stepped(schedule, where, 1e6), steps(schedule, where, 1e6)
    assert both[0].bandwidth == pytest.approx(both[1].bandwidth, rel=1e-9)


def test_small_arrays_get_few_rounds_and_large_ones_full_links():
    where = cluster("torus:8x8x8")
    few, full = (built("translated_tree", "all_gather", where, size) for size in (1e3, 1e10))
    assert few.step_count == 12  # the diameter: no schedule has fewer
    assert full.step_count > few.step_count
    assert steps(full, where, 1.0).bandwidth < steps(few, where, 1.0).bandwidth


@pytest.mark.slow
def test_the_largest_pod_takes_diameter_many_rounds_at_99_percent():
    where = cluster("v5p:16x20x28")
    schedule = built("translated_tree", "all_gather", where, GIB)
    assert schedule.step_count == 8 + 10 + 14
    bound = GIB * 8959 / 8960 / (6 * where.topology.bandwidth.max())
    assert bound / stepped(schedule, where, GIB).bandwidth >= 0.99


# --- best all_gather ---


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mesh:8x8", "mesh:4x8", "mesh:2x4", "v5e:8x16", "torus:4x4x8"])
@pytest.mark.parametrize("price", ["steps", "flows"])
def test_the_best_all_gather_is_within_3_percent_of_the_limit(name, price):
    row = hc.predict("all_gather", name, size="1GiB", algorithm="best", price=price).rows[0]
    assert row["efficiency"] >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("price", ["steps", "flows"])
def test_the_best_all_gather_goes_round_three_dead_cables_of_256_chips(price):
    dead = ["0,0:0,1", "3,4:3,5", "7,7:8,7"]
    asked = {"size": "1GiB", "price": price, "dead": dead}
    row = hc.predict("all_gather", "torus:16x16", algorithm="best", **asked).rows[0]
    assert row["efficiency"] >= 0.97
    same = hc.predict("all_gather", "torus:16x16", algorithm="synthesized", **asked).rows[0]
    assert same["time_us"] == row["time_us"]


@pytest.mark.parametrize("name", ["v5p:16x16x16", "v5p:16x20x28", "v5p:8x16x16"])
def test_the_best_all_reduce_of_a_pod_is_within_3_percent_of_the_limit(name):
    row = hc.predict("all_reduce", name, size="1GiB", algorithm="best", price="flows").rows[0]
    assert row["price"] == "flows"
    assert row["efficiency"] >= 0.97


# --- shares of parts that keep step ---


def test_shares_are_those_of_a_linear_program():
    rng = np.random.default_rng(0)
    for trial in range(200):
        parts, slots = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        load = rng.random((parts, slots)) * 10.0 ** rng.integers(-1, 2, (parts, slots))
        if trial % 3 == 0:
            load[rng.random((parts, slots)) < 0.3] = 0.0  # ties, and parts that cost nothing
        load[0, 0] += 1.0
        share = np.array(_shares.least_sum(load.tolist()))
        assert share.min() >= 0
        assert share.sum() == pytest.approx(1.0)
        goal = np.concatenate([np.zeros(parts), np.ones(slots)])
        busy = np.zeros((parts * slots, parts + slots))
        for p, t in np.ndindex(parts, slots):
            busy[p * slots + t, [p, parts + t]] = load[p, t], -1.0
        whole = np.concatenate([np.ones(parts), np.zeros(slots)])[None]
        least = optimize.linprog(goal, busy, np.zeros(len(busy)), whole, [1.0]).fun
        assert (share[:, None] * load).max(0).sum() == pytest.approx(least, rel=1e-6, abs=1e-7 * load.max())


def test_no_two_choices_build_the_same():
    for name in ("torus:4x4", "torus:4x4x8", "mesh:4x4", "mesh:2x4", "ring:8", "switch:8"):
        q, _ = ask.question("all_reduce", name, size=GIB)
        seen = [
            (c.algorithm.name, *sorted(c.algorithm.settled(dict(c.options), q.group, q.collective).items()))
            for c in choose.candidates(q)
        ]
        assert len(seen) == len(set(seen))
