"""Forests over every way there is: switches beside cables, at the exact optimum of any even network."""

import functools

import numpy as np
import pytest
from foresting import FOREST, GIB, everyone, laid

import hopcast as hc
from hopcast.algorithms import _network, _relayed
from hopcast.clusters import cluster
from hopcast.graph.optimum import best_rate
from hopcast.interpret import check
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.ir.topology import Axis, Topology
from hopcast.price.steps import steps
from hopcast.simulate.flows import simulate

SEEDS = range(24)
COLLECTIVES = "all_gather", "reduce_scatter", "all_reduce"


@functools.cache
def even(seed: int) -> Cluster:
    """4 to 10 chips and 1 to 3 switches, as much into each as out of it, cables of six rates.

    Every other network is made of cables, the rest of circles that go one way.
    """
    rng = np.random.default_rng(seed)
    chips, switches = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    vertices = chips + switches
    rate: dict[tuple[int, int], float] = {}

    def ring(ends: np.ndarray) -> None:
        amount = float(rng.choice([10e9, 20e9, 40e9, 80e9, 100e9, 160e9]))
        for u, v in zip(ends.tolist(), np.roll(ends, -1).tolist(), strict=True):
            rate[u, v] = rate.get((u, v), 0.0) + amount

    order = rng.permutation(vertices)
    for some in [order[i : i + 2] for i in range(vertices - 1)] if seed % 2 else [order]:
        ring(some)  # together these join all
    for _ in range(2 * vertices):
        length = 2 if seed % 2 else int(rng.integers(2, vertices + 1))
        ring(rng.choice(vertices, length, replace=False))
    src, dst = np.array(sorted(rate), np.int32).T
    speed = np.array([rate[pair] for pair in sorted(rate)])
    links = len(src)
    made = Topology(
        f"even-{seed}", chips, vertices, src, dst, np.zeros(links, np.int32), speed, np.zeros(links),
        np.arange(links, dtype=np.int32), (Axis("x", chips, False, True),),
        np.arange(chips, dtype=np.int32)[:, None], np.zeros((0, 1, 2), np.int32),
    )  # fmt: skip
    return Cluster(f"even-{seed}", made, "own", "shortest")


@pytest.mark.parametrize("seed", SEEDS)
def test_any_even_network_is_filled_to_its_exact_optimum(seed):
    where = even(seed)
    mine = everyone(where)
    for collective in COLLECTIVES:
        reason = FOREST.valid(collective, mine, Hint(64 * GIB))
        if reason:
            assert collective == "all_reduce", reason
            assert "its like the other way" in reason
            continue
        schedule = laid(collective, where, mine, size=64 * GIB)
        check(schedule)
        rates = {
            back: best_rate(where.topology, mine.all_groups[0], backwards=back).algbw
            for back in (False, True)
        }
        sides = (False, True) if collective == "all_reduce" else (collective == "reduce_scatter",)
        least = sum(64 * GIB / rates[back] for back in sides)
        by_steps = steps(schedule, where, 64 * GIB)
        assert least * (1 - 1e-9) <= by_steps.bandwidth <= least / 0.97
        by_flows = simulate(schedule, where, 64 * GIB, detail=False).seconds
        assert least * (1 - 1e-9) <= by_flows <= least / 0.95


def test_many_of_these_need_ways_that_routing_does_not_take():
    wirings = [_relayed.of(everyone(even(seed))) for seed in SEEDS]
    named = [not isinstance(w, str) and w[0].direct is not None for w in wirings]
    assert sum(named) >= len(SEEDS) / 4
    assert sum(named) < len(SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_switch_passes_on_what_it_gets_once_and_to_one(seed):
    """So it does nothing but forward: what comes in for a chunk leaves before more of that chunk comes."""
    where = even(seed)
    mine = everyone(where)
    n = where.topology.chips
    held: set[tuple[int, int]] = set()
    passed = 0
    for rows in laid("all_gather", where, mine, pieces=3).steps():
        out = rows.src >= n
        into = rows.dst >= n
        leaving = list(zip(rows.src[out].tolist(), rows.chunk[out].tolist(), strict=True))
        coming = list(zip(rows.dst[into].tolist(), rows.chunk[into].tolist(), strict=True))
        assert len(set(leaving)) == len(leaving)
        assert len(set(coming)) == len(coming)
        assert held.issuperset(leaving)
        assert held.isdisjoint(coming)
        held -= set(leaving)
        held |= set(coming)
        passed += len(leaving)
    assert not held
    wirings = _relayed.of(mine)
    if not isinstance(wirings, str) and wirings[0].direct is None:
        assert not passed


@pytest.mark.parametrize(
    "text",
    [
        "hypercube:4",
        "full_mesh:6",
        "dgx1-v100",
        "dgx1-v100:2",
        "mi300x",
        "gb200-nvl72:1",
        "dgx-h100:2",
        "switch:5",
    ],
)
def test_machines_whose_routes_are_enough_name_no_switch(text):
    mine = everyone(cluster(text))
    if text.startswith("gb200"):
        assert mine.ranks > _relayed._MOST_RANKS
    found = _relayed.of(mine)
    assert not isinstance(found, str), found
    assert [w.direct for w in found] == [None]
    assert isinstance(_network.of(mine), _network.Wiring)


@pytest.mark.parametrize("seed", [9, 11])
def test_the_bound_does_not_count_switches_that_only_pass_on(seed):
    asked = {"size": "1GiB", "price": "steps"}
    names = "forest", "forest,trees=2", "forest,pieces=8"
    found = {
        hc.predict("all_reduce", even(seed), algorithm=name, **asked).rows[0]["bound_us"] for name in names
    }
    assert len(found) == 1


@pytest.mark.parametrize("text", ["dgx-h100:2,nics=4,bandwidth=45GB/s", "hgx-b200:2,nics=4,bandwidth=45GB/s",
                                  "dgx-h100:2,nics=2,gpus=4,bandwidth=30GB/s"])  # fmt: skip
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_nics_that_gpus_share_are_no_switches_that_sends_can_name(text, collective):
    got = hc.predict(collective, text, size="1GB", algorithm="best").rows[0]
    assert got["bound_us"] <= got["time_us"] <= 2.5 * got["bound_us"]
