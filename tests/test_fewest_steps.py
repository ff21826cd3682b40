"""`synthesized` takes as few steps as the exact best rate allows, on every shape and with links dead.

The best rate x of each rank to all others comes from maximum flows, which the search knows nothing of: with
links of one rate W, shards in so many pieces take at least ceil(pieces W / x) steps. It is met everywhere but
where a part of the network has so few links left that lead into it that what comes last through them still
has far to go. Those cases are named, each with its part, and take what that part needs.
"""

import math
import random

import numpy as np
import pytest
from named_schedules import GIB, built, cluster, group, without
from scipy.sparse import csgraph, csr_array

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import _links, _regions, synthesized
from hopcast.graph.optimum import best_rate
from hopcast.interpret import check
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint

# fmt: off
THIN = [
    *(f"mesh:2x{n}" for n in (2, 3, 4, 5, 7, 8, 10, 11, 13, 16, 17, 24, 32)),
    *(f"torus:2x{n}" for n in (3, 4, 5, 7, 8, 11, 14, 20, 24, 32)),
    *(f"mesh:3x{n}" for n in (3, 5, 9, 11, 16, 20, 32)), *(f"torus:3x{n}" for n in (3, 4, 8, 11, 16, 24, 32)),
    "mesh:4x20", "torus:4x16", "mesh:5x9", "chain:2", "chain:16", "chain:33", "ring:3", "ring:16", "ring:33",
]
FLAT = [
    "mesh:4x4", "mesh:4x8", "mesh:5x7", "mesh:6x6", "mesh:8x8", "torus:4x4", "torus:4x8", "torus:5x7",
    "torus:6x6", "torus:8x8", "torus:4x8,twisted", "v5e:8x16", "full_mesh:7", "hypercube:5",
]
SOLID = [
    "mesh:2x2x2", "mesh:2x2x4", "mesh:2x2x8", "mesh:2x2x16", "mesh:2x3x4", "mesh:3x3x3", "mesh:4x4x4",
    "torus:2x2x5", "torus:2x3x5", "torus:3x3x3", "torus:4x4x4", "torus:4x4x8", "torus:4x4x8,twisted",
    "mesh:2x2x2x4",
]
WITH_AXES_OF_1 = ["mesh:1x5", "mesh:1x1x6", "mesh:2x1x7", "mesh:1x3x7", "torus:1x7", "torus:1x4x6"]
MIXED = [
    "mesh:4x4,wraps=x", "mesh:3x4,wraps=x", "mesh:3x5,wraps=y", "mesh:2x8,wraps=y", "mesh:2x16,wraps=y",
    "mesh:3x16,wraps=x", "mesh:3x16,wraps=y", "mesh:5x9,wraps=x", "mesh:2x2x8,wraps=z",
    "mesh:3x4x5,wraps=x+z", "mesh:4x4x4,wraps=x+y", "mesh:1x2x8,wraps=z",
]
WHOLE = THIN + FLAT + SOLID + WITH_AXES_OF_1 + MIXED
BROKEN = [
    "mesh:2x8", "mesh:2x10", "mesh:2x16", "mesh:3x4", "mesh:3x9", "mesh:3x20", "mesh:4x4", "mesh:4x8",
    "mesh:6x6", "mesh:8x8", "torus:2x7", "torus:2x16", "torus:3x3", "torus:3x9", "torus:4x4", "torus:4x8",
    "torus:5x9", "torus:8x8", "mesh:2x2x4", "mesh:2x2x5", "mesh:3x3x3", "mesh:1x3x7", "torus:2x4x5",
    "torus:4x4x4", "mesh:3x4,wraps=x", "mesh:4x8,wraps=y",
]
LARGE = [  # and how many cables are dead
    ("mesh:16x16", 0), ("mesh:16x16", 1), ("torus:16x16", 3), ("mesh:8x32", 2), ("mesh:4x64", 0),
    ("mesh:4x64", 3), ("mesh:2x128", 0), ("v5e:8x16", 3), ("torus:2x128", 0), ("torus:3x64", 0),
    ("mesh:3x64", 2), ("mesh:4x8x8", 3), ("ring:256", 0),
]
LARGEST = [
    ("mesh:2x256", 0), ("torus:2x256", 0), ("mesh:17x31", 1), ("torus:16x32", 3), ("mesh:20x20", 2),
    ("torus:3x128", 0), ("mesh:4x256", 0), ("mesh:32x32", 1), ("torus:32x32", 3), ("mesh:10x10x10", 2),
    ("torus:8x8x16", 3), ("mesh:2x2x256", 0),
]
# fmt: on


def broken(name: str, dead: int, seed: int = 0) -> Cluster:
    """A cluster without so many cables, chosen by a seed so that all ranks are still joined."""
    whole = cluster(name)
    topology, rng = whole.topology, random.Random(f"{name} {dead} {seed}")
    pairs = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    cables = sorted({(min(pair), max(pair)) for pair in pairs})
    while True:
        gone = rng.sample(cables, dead)
        left = without(whole, [i for i, (s, d) in enumerate(pairs) if (min(s, d), max(s, d)) in gone])
        if _links.joined(_links.of(group(left)), topology.chips):
            return left


def bound(where: Cluster, pieces: int) -> int:
    """ceil(pieces W / x) by maximum flows."""
    rate = best_rate(where.topology, np.arange(where.topology.chips)).rate
    return math.ceil(pieces * int(where.topology.bandwidth.max()) / rate)


def taken(where: Cluster, pieces: int) -> int:
    schedule = built("synthesized", "all_gather", where, GIB, pieces=str(pieces))
    check(schedule)
    return schedule.step_count


@pytest.mark.parametrize("name", WHOLE)
def test_no_schedule_takes_fewer_steps_on_whole_shapes(name):
    where = cluster(name)
    for pieces in (1, 2):
        assert taken(where, pieces) == bound(where, pieces)


# With a cable of one row dead the other row's leads to either side alone. The side named, ranks whose y is at
# least one number and below another, needs most: all that is outside comes one by one, and the last goes on.
LATE = {
    ("mesh:2x8", 1, 0): (0, 2), ("mesh:2x8", 2, 1): (6, 8), ("mesh:2x10", 1, 1): (0, 2),
    ("mesh:2x10", 2, 0): (7, 10), ("mesh:2x10", 2, 1): (0, 2), ("mesh:2x16", 2, 0): (14, 16),
    ("mesh:2x16", 2, 1): (9, 16), ("mesh:2x16", 3, 1): (0, 4),
}  # fmt: skip


@pytest.mark.parametrize("dead", [1, 2, 3])
@pytest.mark.parametrize("name", BROKEN)
def test_no_schedule_takes_fewer_steps_with_dead_cables(name, dead):
    for seed in range(2):
        where = broken(name, dead, seed)
        side = LATE.get((name, dead, seed))
        for pieces in (1, 2):
            least = bound(where, pieces)
            if side is not None:
                needed = of_part(where, pieces, *side)
                assert needed > least
                least = needed
            assert taken(where, pieces) == least


def of_part(where: Cluster, pieces: int, first: int, stop: int) -> int:
    """Steps that ranks with some places on y need: one for each chunk and gate, and on to the farthest."""
    links = _links.of(group(where))
    inside = np.isin(where.topology.coords[:, 1], range(first, stop))
    gates = links[inside[links[:, 1]] & ~inside[links[:, 0]]]
    table = csr_array((np.ones(len(links)), links.T), (len(inside), len(inside)))
    far = csgraph.shortest_path(table, unweighted=True)[np.unique(gates[:, 1])]
    return math.ceil(pieces * np.count_nonzero(~inside) / len(gates)) + int(far.min(0)[inside].max())


@pytest.mark.parametrize(
    ("name", "cables", "side", "steps"),
    [
        ("mesh:2x5", [(1, 2)], (0, 2), 8),
        ("mesh:2x10", [(4, 5)], (0, 5), 15),
        ("mesh:3x4,wraps=x", [(5, 6)], (2, 4), 5),
        ("mesh:3x4,wraps=x", [(0, 1), (8, 9)], (0, 1), 10),
    ],
)
def test_what_comes_last_through_few_links_still_has_far_to_go(name, cables, side, steps):
    whole = cluster(name)
    ends = zip(whole.topology.src.tolist(), whole.topology.dst.tolist(), strict=True)
    where = without(whole, [i for i, pair in enumerate(ends) if tuple(sorted(pair)) in cables])
    assert taken(where, 1) == steps == of_part(where, 1, *side) > bound(where, 1)


@pytest.mark.parametrize(("name", "dead"), LARGE)
def test_no_schedule_takes_fewer_steps_on_some_hundred_ranks(name, dead):
    where = broken(name, dead)
    assert taken(where, 1) == bound(where, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dead"), LARGEST)
def test_no_schedule_takes_fewer_steps_on_up_to_1024_ranks(name, dead):
    where = broken(name, dead)
    assert taken(where, 1) == bound(where, 1)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("name", ["mesh:2x16", "torus:2x11", "torus:3x24", "mesh:3x16,wraps=x", "torus:3x3"])
def test_every_seed_leads_to_as_few_steps(name, seed):
    where = cluster(name)
    mine = group(where)
    hint = Hint(GIB, max(mine.latency), seed=seed, options={"pieces": "1"})
    schedule = algorithms.get("synthesized").build("all_gather", mine, hint)
    assert schedule.step_count == bound(where, 1)


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("name", ["mesh:2x11", "torus:2x8", "mesh:2x2x8"])
def test_sums_take_as_many_steps_each_way(name, collective):
    where = cluster(name)
    schedule = built("synthesized", collective, where, GIB, pieces="1")
    check(schedule)
    assert schedule.step_count == bound(where, 1) * (2 if collective == "all_reduce" else 1)


@pytest.mark.parametrize(
    "name", ["mesh:2x32", "mesh:3x32", "mesh:4x32", "mesh:4x64", "torus:2x32", "torus:3x24"]
)
def test_the_number_of_pieces_found_wastes_little_on_thin_shapes(name):
    row = hc.predict("all_gather", name, size="1GiB", price="steps", algorithm="synthesized").rows[0]
    assert row["efficiency"] >= 0.985


def one_way(seed: int) -> tuple[int, np.ndarray]:
    """A ring and some chords, all of them one way."""
    rng = random.Random(seed)
    n = rng.randint(4, 12)
    ring = [(r, (r + 1) % n) for r in range(n)]
    chords = [(s, d) for s in range(n) for d in range(n) if s != d and (s, d) not in ring]
    return n, np.array(ring + rng.sample(chords, rng.randint(0, 2 * n)), np.int32)


@pytest.mark.parametrize("seed", range(60))
def test_no_region_asks_for_more_steps_than_some_schedule_takes(seed):
    """Ranks, regions, and the width of a network: bounds of any schedule, on links that lead one way too."""
    n, links = one_way(seed)
    regions = _regions.regions_of(n, links)
    far = csgraph.shortest_path(csr_array((np.ones(len(links)), links.T), (n, n)), unweighted=True)
    assert np.array_equal(_regions.distances(n, links), far)
    poorest = int(np.bincount(links[:, 1]).min())
    for pieces in (1, 3):
        steps = int(synthesized._search(n, links.tobytes(), pieces, 0)[0][-1]) + 1
        assert max(int(far.max()), math.ceil(pieces * (n - 1) / poorest)) <= regions.fewest(pieces) <= steps
