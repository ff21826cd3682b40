"""What holds for all schedules on all networks: drawn at random, and for everything that is registered.

1. Flows take no less than any bound, and no bound is below the limit.
2. A shortcut gives the time of the full solve, to 1e-12.
3. Other numbers for ranks and chips change nothing.
4. More bandwidth never costs time by steps.
5. Without latency, times and bounds are linear in size.
"""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flowing import GIB, HOP, MIB, compiled, uneven  # noqa: F401
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_schedules import Case, cases, lone_routes
from test_bounds_random import clusters

import hopcast as hc
from hopcast import algorithms
from hopcast.interpret import check
from hopcast.ir import algebra
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import NAMES, ROOTED
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import Schedule, join
from hopcast.ir.topology import Bools, Ints
from hopcast.price.bounds import bound, limit
from hopcast.price.steps import steps
from hopcast.read import cluster_toml
from hopcast.routing import routes
from hopcast.simulate import flows

CLOSE = 1 - 1e-9
FACTOR = 7 / 3  # of a size: no power of two, so it rounds


def drawn(examples: int) -> settings:
    """As many examples, the same ones each time."""
    quiet = [HealthCheck.filter_too_much, HealthCheck.too_slow]
    return settings(deadline=None, derandomize=True, max_examples=examples, suppress_health_check=quiet)


# Every family, and every kind of axis, level and option that changes routes or links; small, as some fifty
# schedules fit each.
SMALL = [
    "ring:5", "ring:8,antipodal=forward", "chain:4,duplex=half", "torus:3x3", "torus:3x4 over y",
    "torus:2x3x2", "mesh:2x3", "mesh:3x3", "mesh:3x4,wraps=y", "switch:5", "switch:4,sharp=on",
    "hypercube:3", "full_mesh:4", "v5e:2x4", "v5p:2x2x2", "v3:2x2,ranks=cores", "v5e:2x2,slices=2",
    "fat-tree:3x2", "dgx-h100:2,gpus=4", "dgx-h100:2,gpus=4 over node", "mi300x:1,gpus=4", "own",
]  # fmt: skip
LARGE = [
    "torus:4x8,twisted",
    "v5e:4x4",
    "v5p:2x2x4 over x,y",
    "dgx-h100:4,oversubscription=2",
    "gb200-nvl72:2,gpus=8",
]
ALL = [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]
MOVED = ["ring:6", "torus:3x4", "mesh:3x3", "torus:3x2x2", "switch:5", "dgx-h100:2,gpus=4", "v5e:2x4"]
# Two leaves and two spines of different rates, one uplink missing, one chip with a port to each leaf.
OWN = """
chips = 5
switches = 4
bandwidth = "40GB/s"
links = [
  {src = 0, dst = 5}, {src = 1, dst = 5}, {src = 2, dst = 6}, {src = 3, dst = 6}, {src = 4, dst = 5},
  {src = 4, dst = 6, bandwidth = "20GB/s"}, {src = 5, dst = 7, bandwidth = "60GB/s"}, {src = 6, dst = 7},
  {src = 6, dst = 8, bandwidth = "10GB/s"},
]
"""


def place(name: str, latency: str = "1us") -> Cluster:
    if name == "own":
        return cluster_toml.parse(f'latency = "{latency}"\n{OWN}', "own.toml")
    return hc.cluster(f"{name.split(' ')[0]},latency={latency}")


def without_latency(where: Cluster) -> Cluster:
    return replace(where, topology=replace(where.topology, latency=0 * where.topology.latency))


@functools.cache
def everything(name: str) -> list[tuple[str, Schedule]]:
    """The schedules of all algorithms on a cluster, over the axes behind ``over``."""
    where, found = place(name), []
    mine = group(where, physical(where.topology), [a for a in name.partition(" over ")[2].split(",") if a])
    for algorithm in map(algorithms.get, algorithms.names()):
        for collective in algorithm.collectives:
            hint = Hint(MIB, HOP)
            if algorithm.valid(collective, mine, hint) is None:
                made = algorithm.build(collective, mine, hint)
                laid = algebra.lay(made, mine.all_groups, where.topology.vertices, mine.hubs)
                found.append((f"{collective} {algorithm.name}", laid))
    return found


# 1. Flows take no less than any bound.


def crossed(made: Schedule, where: Cluster) -> Bools:
    """Links that the schedule uses."""
    used, rows = np.zeros(where.topology.links, bool), join(list(made.steps()))
    used[routes(where, rows.src, rows.dst).links] = True
    return used


def times(made: Schedule, where: Cluster, size: float) -> list[float]:
    """By flows with all details, by flows with what shortcuts there are, without any, and by steps."""
    stepped = steps(made, where, size)
    by_flows = (
        flows.simulate(made, where, size),
        flows.simulate(made, where, size, detail=False),
        flows.simulate(made, where, size, detail=False, shortcut=False),
    )
    return [*(ran.seconds for ran in by_flows), stepped.latency + stepped.bandwidth]


@drawn(250)
@given(cases())
def test_no_random_schedule_is_faster_than_its_bound_nor_that_than_the_limit(case: Case) -> None:
    check(case.made)
    about = (case.where, case.made.collective, case.made.groups, case.size)
    able, share = case.in_network, case.made.parts
    on_its_links = bound(*about, crossed(case.made, case.where), in_network=able, share=share)
    on_all = bound(*about, in_network=able, share=share)
    assert on_its_links.seconds >= on_all.seconds * CLOSE
    assert on_all.seconds >= limit(*about, share).seconds * CLOSE
    for taken in times(case.made, case.where, case.size):
        assert taken >= on_its_links.seconds * CLOSE, (case, on_its_links)


@pytest.mark.parametrize("name", SMALL)
def test_nothing_registered_is_faster_than_its_bound_nor_that_than_the_limit(name: str) -> None:
    where = place(name)
    for what, made in everything(name):
        rows = join(list(made.steps()))
        able = bool(max(rows.src.max(), rows.dst.max()) >= where.topology.chips)
        for spot in (without_latency(where), uneven(where, 1)):
            about = (spot, made.collective, made.groups, MIB)
            low = bound(*about, in_network=able, share=made.parts)
            assert low.seconds >= limit(*about, made.parts).seconds * CLOSE, what
            taken = flows.simulate(made, spot, MIB, detail=False).seconds
            assert taken >= low.seconds * CLOSE, (what, low)


# 2. A shortcut gives the time of the full solve.


@pytest.mark.parametrize("name", ALL)
def test_shortcuts_give_the_times_of_the_full_solve(name: str) -> None:
    where, tried, short = place(name), 0, 0
    slower = uneven(where, 3)
    asked = [
        (where, MIB),
        (where, GIB),
        (slower, MIB),
        (without_latency(where), 1.0),
        (without_latency(slower), MIB),
    ]
    for what, made in everything(name):
        for spot, size in asked:
            brief = flows.simulate(made, spot, size, detail=False)
            full = flows.simulate(made, spot, size, detail=False, shortcut=False)
            assert brief.seconds == pytest.approx(full.seconds, rel=1e-12, abs=0), (what, brief.how)
            np.testing.assert_allclose(brief.load, full.load, rtol=1e-12, atol=size * 1e-15)
            tried, short = tried + 1, short + (brief.how.split(":")[0] != full.how.split(":")[0])
    assert tried > 100
    assert short > tried / 8


# 3. Other numbers for ranks and chips change nothing.


def renumbered(where: Cluster, made: Schedule, rng: np.random.Generator) -> tuple[Cluster, Schedule, Ints]:
    """Chips, switches and links in another order, the schedule with them, and where each link now stands."""
    t = where.topology
    chips, switches = rng.permutation(t.chips), t.chips + rng.permutation(t.vertices - t.chips)
    to = np.concatenate([chips, switches]).astype(np.int32)
    was = rng.permutation(t.links)  # the link that now stands at each place
    now = np.argsort(was).astype(np.int32)
    other = replace(
        t, src=to[t.src][was], dst=to[t.dst][was], axis=t.axis[was], bandwidth=t.bandwidth[was],
        latency=t.latency[was], wire=now[t.wire][was], coords=t.coords[np.argsort(chips)], labels=(),
        port=np.zeros((0, len(t.axes), 2), np.int32),
    )  # fmt: skip
    return replace(where, topology=other), algebra.relabel(made, to), now


def same_by_other_numbers(made: Schedule, where: Cluster, size: float, seed: int, in_network: bool) -> None:
    other, moved, now = renumbered(where, made, np.random.default_rng(seed))
    check(moved)
    was, found = (flows.simulate(s, c, size, detail=False) for s, c in ((made, where), (moved, other)))
    assert found.seconds == pytest.approx(was.seconds, rel=1e-9, abs=0), (was.how, found.how)
    np.testing.assert_allclose(found.load[now], was.load, rtol=1e-9, atol=size * 1e-15)
    one, two = (steps(s, c, size) for s, c in ((made, where), (moved, other)))
    assert (two.latency, two.bandwidth) == pytest.approx((one.latency, one.bandwidth), rel=1e-12, abs=0)
    if len(made.groups) > 1:
        return  # of what several groups must send across cuts only some are tried, and which goes by numbers
    low, same = (
        bound(c, s.collective, s.groups, size, in_network=in_network, share=s.parts)
        for s, c in ((made, where), (moved, other))
    )
    assert same.seconds == pytest.approx(low.seconds, rel=1e-9, abs=0)


@drawn(200)
@given(cases(alone=True), st.integers(0, 2**32 - 1))
def test_a_random_schedule_takes_as_long_by_other_numbers(case: Case, seed: int) -> None:
    same_by_other_numbers(case.made, case.where, case.size, seed, case.in_network)


@pytest.mark.parametrize("name", SMALL)
def test_what_sends_over_lone_routes_takes_as_long_by_other_numbers(name: str) -> None:
    """Which of several shortest routes is taken may depend on numbers, so only sends with one are asked."""
    where, tried = place(name), 0
    bare = replace(where.topology, port=where.topology.port[:0])  # bounds know grids by heart, and no others
    where, lone = replace(where, topology=bare, routing="shortest"), lone_routes(bare)
    for seed, (_, made) in enumerate(everything(name)):
        rows = join(list(made.steps()))
        if len(rows) < 3000 and lone[rows.src, rows.dst].all():
            same_by_other_numbers(made, where, MIB, seed, True)
            tried += 1
    assert tried > 5


def moved_onto_itself(where: Cluster, rng: np.random.Generator) -> Ints:
    """The chip that takes each chip's place when a torus is turned, a mesh mirrored, nodes exchanged."""
    chips = np.arange(where.topology.chips, dtype=np.int32).reshape(where.topology.shape)
    for a, axis in enumerate(where.topology.axes):
        place = np.arange(axis.length)
        if axis.wraps:
            place = (place + rng.integers(axis.length)) % axis.length
        place = rng.permutation(place) if axis.switched else place[:: rng.choice([-1, 1])]
        chips = chips.take(place, a)
    return chips.ravel()


# These grow trees for one root from the numbers of the chips, where several are equally good.
GROWN = {("forest", c) for c in ROOTED} | {("multi_axis", c) for c in ROOTED}


@pytest.mark.parametrize("name", MOVED)
def test_an_order_that_moves_a_cluster_onto_itself_takes_as_long(name: str, tmp_path: Path) -> None:
    where, rng = place(name), np.random.default_rng(len(name))
    order = rng.permutation(where.topology.chips).astype(np.int32)
    files = [str(tmp_path / name) for name in ("this.txt", "that.txt")]
    for file, chips in zip(files, (order, moved_onto_itself(where, rng)[order]), strict=True):
        Path(file).write_text(" ".join(map(str, chips)))
    for collective in (c for c in NAMES if c != "all_to_all_v"):
        asked = functools.partial(hc.predict, collective, where, size="1MiB", algorithm="all", price="flows")
        one, two = (asked(order=file).rows for file in files)
        assert [row["algorithm"] for row in two] == [row["algorithm"] for row in one]
        for was, now in zip(one, two, strict=True):
            what = (collective, was["algorithm"])
            if (str(was["algorithm"]).split(",")[0], collective) not in GROWN:
                assert now["time_us"] == pytest.approx(was["time_us"], rel=1e-9), what
            assert now["bound_us"] == pytest.approx(was["bound_us"], rel=1e-9), what
            assert now["limit_us"] == pytest.approx(was["limit_us"], rel=1e-9), what


# 4. More bandwidth never costs time by steps.


def faster(where: Cluster, rng: np.random.Generator) -> Cluster:
    """Some of the cables at twice the rate, and some at a little more."""
    t = where.topology
    return replace(
        where, topology=t.with_links(t.bandwidth * rng.choice([1.0, 1.0, 1.1, 2.0], t.links)[t.wire])
    )


def not_slower(made: Schedule, where: Cluster, more: Cluster, size: float) -> None:
    was, now = (steps(made, c, size) for c in (where, more))
    assert np.all(now.step_seconds <= was.step_seconds * (1 + 1e-12))
    assert now.latency + now.bandwidth <= (was.latency + was.bandwidth) * (1 + 1e-12)


@drawn(150)
@given(cases(), st.integers(0, 1000))
def test_more_bandwidth_never_costs_a_random_schedule_time_by_steps(case: Case, seed: int) -> None:
    not_slower(case.made, case.where, faster(case.where, np.random.default_rng(seed)), case.size)


@pytest.mark.parametrize("name", ALL)
def test_more_bandwidth_never_costs_time_by_steps(name: str) -> None:
    where, tried = place(name), 0
    for seed, (_, made) in enumerate(everything(name)):
        not_slower(made, where, faster(where, np.random.default_rng(seed)), MIB)
        tried += 1
    assert tried > 15


@drawn(60)
@given(clusters(most=12), st.data())
def test_more_bandwidth_never_costs_time_by_steps_on_broken_clusters(
    where: Cluster, data: st.DataObject
) -> None:
    mine, hint = group(where, physical(where.topology)), Hint(2.0**20)
    fits = [
        (algorithm, collective)
        for algorithm in map(algorithms.get, algorithms.names())
        for collective in algorithm.collectives
        if algorithm.valid(collective, mine, hint) is None
    ]
    # Dead links are passed by other ways where there are any; what cuts a pair off is no question of rates.
    assume(fits and (where.topology.bandwidth > 0).all())
    algorithm, collective = data.draw(st.sampled_from(fits))
    made = algebra.lay(
        algorithm.build(collective, mine, hint), mine.all_groups, where.topology.vertices, mine.hubs
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    not_slower(made, where, faster(where, rng), hint.size)


# 5. Without latency, times and bounds are linear in size.


def linear(made: Schedule, where: Cluster, size: float, factor: float, in_network: bool) -> None:
    one, more = times(made, where, size), times(made, where, size * factor)
    assert more == pytest.approx([t * factor for t in one], rel=1e-9, abs=0)
    low, high = (
        bound(where, made.collective, made.groups, s, in_network=in_network, share=made.parts)
        for s in (size, size * factor)
    )
    assert high.seconds == pytest.approx(low.seconds * factor, rel=1e-12, abs=0)


@drawn(100)
@given(cases(), st.floats(1e-3, 1e3))
def test_a_random_schedule_without_latency_is_linear_in_size(case: Case, factor: float) -> None:
    linear(case.made, without_latency(case.where), case.size, factor, case.in_network)


@pytest.mark.parametrize("name", SMALL)
def test_without_latency_everything_is_linear_in_size(name: str) -> None:
    where = without_latency(uneven(place(name), 2))
    for what, made in everything(name):
        one, more = (flows.simulate(made, where, size, detail=False).seconds for size in (MIB, MIB * FACTOR))
        assert more == pytest.approx(one * FACTOR, rel=1e-9, abs=0), what
        one, more = (steps(made, where, size).bandwidth for size in (MIB, MIB * FACTOR))
        assert more == pytest.approx(one * FACTOR, rel=1e-12, abs=0), what
