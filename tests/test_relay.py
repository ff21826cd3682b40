"""Sends that never meet: on arrays, or compiled where every time is drawn; the reference gives the same."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from flowing import uneven
from grids import build, cluster

from hopcast.simulate import flows, reference, relay, relay_engine, relay_plain, relay_waits
from hopcast.simulate.noise import Noise

W, HOP, MIB = 45e9, 1e-6, 2**20
RINGS = [
    (collective, algorithm)
    for collective in ("all_gather", "reduce_scatter", "all_reduce")
    for algorithm in ("ring", "bidirectional_ring", "bidirectional_ring,split=on")
]
NOISES = [None, Noise(late={1: 1e-5}), Noise(slow={2: 1.7}), Noise(late={0: 3e-5, 2: 1e-6}, slow={1: 3.0})]


def both(monkeypatch, made, where, *more):
    """What the arrays and what the compiled pass give of the same plan, and the plan."""
    plans = []

    def watched(plan, progress):
        plans.append(plan)
        return passed(plan, progress)

    passed = relay_plain.go
    monkeypatch.setattr(relay_plain, "go", watched)
    plain = relay.relay(made, where, *more)
    monkeypatch.setattr(relay_plain, "go", passed)
    return plain, relay_engine.go(plans[0], None), plans[0]


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize(("collective", "algorithm"), RINGS)
@pytest.mark.parametrize("grid", ["3w", "4w", "7w", "10w"])
def test_rings_take_the_same_times_by_arrays_compiled_and_by_the_reference(
    grid, collective, algorithm, noise, monkeypatch
):
    for seed in range(2 if noise is None else 1):
        where = uneven(cluster(grid, W, HOP), seed)
        made = build(collective, algorithm, where)
        plain, compiled, _ = both(monkeypatch, made, where, 1e6, 1e-11, None, noise)
        slow = reference.simulate(made, where, 1e6, 1e-11, noise)
        assert plain.seconds == pytest.approx(compiled[0], rel=1e-12)
        assert plain.seconds == pytest.approx(slow.seconds, rel=1e-11)
        np.testing.assert_allclose(plain.load, slow.load, rtol=1e-9)
        if noise is None or not noise.late:  # what is late is no latency, but the reference's path ends there
            for latency in (compiled[1], slow.critical_latency()):
                assert plain.latency == pytest.approx(latency, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [None, Noise(late={5: 1e-4}, slow={5: 1.7}), Noise(0.01)], ids=str)
@pytest.mark.parametrize(("collective", "algorithm"), [r for r in RINGS if r[0] == "all_reduce"])
def test_a_ring_of_64_with_slow_cables_takes_the_times_of_every_send(collective, algorithm, noise):
    where = cluster("64w", W, HOP)
    pace = where.topology.bandwidth.copy()
    pace[[20, 21, 77]] /= 2
    where = replace(where, topology=where.topology.with_links(pace))
    made = build(collective, algorithm, where)
    short = flows.simulate(made, where, MIB, detail=False, uneven=noise)
    slow = reference.simulate(made, where, MIB, 0.0, noise)
    assert short.how.startswith("sends never meet")
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-9)
    np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)


@pytest.mark.parametrize(("collective", "algorithm"), RINGS)
def test_a_long_ring_with_one_slow_cable(collective, algorithm, monkeypatch):
    """Times of long ago are not kept, and waits for them follow from others."""
    where = cluster("700w", W, HOP)
    pace = where.topology.bandwidth.copy()
    pace[[200, 201]] /= 2
    where = replace(where, topology=where.topology.with_links(pace))
    made = build(collective, algorithm, where)
    plain, compiled, _ = both(monkeypatch, made, where, MIB, 0.0, None, Noise(slow={5: 1.7}))
    assert (plain.seconds, plain.latency) == pytest.approx(compiled, rel=1e-9)


@pytest.mark.parametrize(
    ("grid", "collective", "algorithm"),
    [
        ("4wx4w", "all_reduce", "sequential_rings"),
        ("3wx5w", "reduce_scatter", "sequential_rings"),
        ("7w", "all_gather", "bidirectional_ring"),
    ],
)
def test_links_of_any_latency_have_paths_of_their_own(grid, collective, algorithm, monkeypatch):
    where = uneven(cluster(grid, W, HOP), 1)
    lag = where.topology.latency * np.linspace(1, 2, where.topology.links)
    where = replace(where, topology=replace(where.topology, latency=lag))
    made = build(collective, algorithm, where)
    plain, compiled, _ = both(monkeypatch, made, where, 1e6, 0.0)
    slow = reference.simulate(made, where, 1e6)
    assert plain.seconds == pytest.approx(compiled[0], rel=1e-12)
    assert plain.seconds == pytest.approx(slow.seconds, rel=1e-11)
    assert plain.latency == pytest.approx(compiled[1], rel=1e-9)
    assert plain.latency == pytest.approx(slow.critical_latency(), rel=1e-9)


@pytest.mark.parametrize(("collective", "algorithm"), RINGS)
def test_waits_that_follow_from_others_change_nothing(collective, algorithm, monkeypatch):
    """A plan that keeps all waits takes the same time; of the rest, none is of long ago."""
    where = uneven(cluster("16w", W, HOP), 2)
    made = build(collective, algorithm, where)
    few, _, plan = both(monkeypatch, made, where, 1e6, 1e-11)
    send = np.repeat(np.arange(len(plan.step)), np.diff(plan.start))
    assert (plan.step[send] - plan.step[plan.other]).max() <= 2
    monkeypatch.setattr(relay, "needed", lambda step, to, data, clobber: (data, clobber))
    every, _, whole = both(monkeypatch, made, where, 1e6, 1e-11)
    assert few.seconds == every.seconds
    assert len(whole.other) > len(plan.other) or collective != "all_reduce"


@pytest.mark.parametrize("seed", range(5))
def test_waits_left_lead_to_all_that_are_needed(seed):
    """Random sends round a ring, by brute force: every wait dropped is a path of waits kept."""
    rng, n, count = np.random.default_rng(seed), 5, 14
    step = np.sort(rng.integers(0, 7, count))
    to = [np.roll(np.arange(n), -int(w)) for w in rng.choice([1, -1], count)]
    pairs = np.array([(a, b) for a, b in itertools.combinations(range(count), 2) if step[a] < step[b]]).T
    some = [pairs[:, np.sort(rng.choice(pairs.shape[1], 20, replace=False))] for _ in range(2)]
    data, clobber = ((a[np.argsort(b, kind="stable")], np.sort(b)) for a, b in some)
    kept = relay_waits.needed(step, to, data, clobber)

    def arcs(data, clobber):
        for a, b in zip(*data, strict=True):
            yield from (((a, int(np.argsort(to[a])[r])), (b, r)) for r in range(n))
        for a, b in zip(*clobber, strict=True):
            yield from (((a, int(to[b][r])), (b, r)) for r in range(n))

    before: dict = {}
    for a, b in sorted(arcs(*kept), key=lambda arc: arc[1]):
        before.setdefault(b, set()).update({a} | before.get(a, set()))
    for a, b in arcs(data, clobber):
        assert a in before.get(b, set())
    assert len(kept[0][0]) + len(kept[1][0]) <= 40


@pytest.mark.parametrize("noise", [None, Noise(0.02, seed=3)], ids=str)
@pytest.mark.parametrize("over", [("x",), ("y",)])
@pytest.mark.parametrize(("collective", "algorithm"), [r for r in RINGS if r[0] != "reduce_scatter"])
def test_rings_of_an_axis_run_on_all_lines_at_once(collective, algorithm, over, noise):
    """Six or three groups whose links differ: the latest of them."""
    where = uneven(cluster("3wx6w", W, HOP), 4)
    made = build(collective, algorithm, where, over)
    short, slow = (
        relay.relay(made, where, MIB, 0.0, None, noise),
        reference.simulate(made, where, MIB, 0.0, noise),
    )
    assert len(made.groups) in (3, 6)
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-9)
    np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)


@pytest.mark.parametrize("grid", ["3w", "8w", "9w"])
@pytest.mark.parametrize("split", ["off", "on"])
def test_each_link_of_a_ring_both_ways_serves_one_lane(grid, split):
    """Lane 0 goes up and lane 1 down, also where sums go one way and copies come back."""
    made = build("all_reduce", f"bidirectional_ring,split={split}", cluster(grid, W, HOP))
    n = made.ranks
    for rows in made.steps():
        np.testing.assert_array_equal((rows.dst - rows.src) % n, np.where(rows.lane == 0, 1, n - 1))


@pytest.mark.parametrize(("collective", "algorithm"), RINGS)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_what_a_lane_sends_one_after_another_is_a_lower_bound(collective, algorithm, seed):
    where = cluster("9w", W, HOP) if seed is None else uneven(cluster("9w", W, HOP), seed)
    made = build(collective, algorithm, where)
    least, found = relay.least(made, where, MIB), relay.relay(made, where, MIB, 0.0)
    assert 0.5 * found.seconds < least <= found.seconds * (1 + 1e-12)
    if seed is None and collective != "all_reduce":
        assert least == pytest.approx(found.seconds, rel=1e-12)


def test_nothing_is_known_to_be_least_where_sends_meet():
    where = cluster("3wx4w", W, HOP)
    for collective, algorithm in (("all_reduce", "multi_axis"), ("all_to_all", "direct")):
        assert relay.least(build(collective, algorithm, where), where, MIB) is None


@pytest.mark.parametrize("algorithm", ["ring", "bidirectional_ring"])
def test_a_long_line_can_be_watched(algorithm):
    where, seen = uneven(cluster("1100w", W, HOP), 0), []
    flows.simulate(build("all_reduce", algorithm, where), where, MIB, detail=False, progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert 0 <= seen[0] < seen[-1] < 1
