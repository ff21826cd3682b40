"""Rooted collectives over packed trees: as many as can flow, within capacity, at their bound."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import _packed_root, _root_ground
from hopcast.clusters import cluster
from hopcast.graph.branchings import branchings, most
from hopcast.interpret import check
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.price.bounds import bound
from hopcast.price.bounds_traffic import standard
from hopcast.price.steps import steps
from hopcast.simulate.flows import simulate

modest = settings(max_examples=150, deadline=None, derandomize=True)
GIB, MIB = 2.0**30, 2.0**20
FOREST = algorithms.get("forest")
FREE = "bandwidth=45GB/s,latency=0"


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, int]:
    """2 to 6 ranks, links of any whole capacity, some twice between two ranks, and a root."""
    n = draw(st.integers(2, 6))
    pairs = list(itertools.permutations(range(n), 2))
    links = draw(st.lists(st.sampled_from(pairs), min_size=n, max_size=3 * n))
    capacity = draw(st.lists(st.integers(0, 3), min_size=len(links), max_size=len(links)))
    tail, head = np.array(links).T
    return n, tail, head, np.array(capacity), draw(st.integers(0, n - 1))


def weakest(n: int, tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, root: int) -> int:
    """Of all sets with the root and without some rank, the least that leaves one."""
    found = []
    for bits in range(2**n - 1):
        inside = np.array([bits >> v & 1 for v in range(n)], bool)
        if inside[root]:
            found.append(int(capacity[inside[tail] & ~inside[head]].sum()))
    return min(found)


@modest
@given(networks(), st.integers(0, 3))
def test_as_many_trees_as_the_weakest_cut_carries(network, seed):
    n, tail, head, capacity, root = network
    count = most(n, n, tail, head, capacity, root)
    assert count == weakest(n, tail, head, capacity, root)
    used: Counter[tuple[int, int]] = Counter()
    trees = branchings(n, tail, head, capacity, root, count, seed) if count else []
    assert len(trees) == count
    for tree in trees:
        depth = {root: 0}
        for u, v in tree.edges:
            assert v not in depth
            depth[v] = depth[u] + 1
            used[u, v] += 1
        assert depth == tree.depth
        assert len(depth) == n
    room: Counter[tuple[int, int]] = Counter()
    for u, v, amount in zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True):
        room[u, v] += amount
    assert all(used[edge] <= room[edge] for edge in used)
    with pytest.raises(ValueError, match="not so many"):
        branchings(n, tail, head, capacity, root, count + 1, seed)


def made(collective: str, where: Cluster, size: float, root: int = 0, **options: str) -> Schedule:
    mine = group(where, physical(where.topology))
    hint = Hint(size, max(mine.latency), root=root, options=options)
    return FOREST.build(collective, mine, hint)


def times(collective: str, where: Cluster, size: float, root: int = 0, **options: str) -> tuple[float, ...]:
    """By flows, by steps, and the bound, of a schedule that is checked."""
    mine = group(where, physical(where.topology))
    one = made(collective, where, size, root, **options)
    check(one)
    laid = lay(one, mine.all_groups, where.topology.vertices, mine.hubs)
    listed = steps(laid, where, size)
    least = bound(where, standard(collective, mine.ranks, root=root), mine.all_groups, size).seconds
    return simulate(laid, where, size).seconds, listed.latency + listed.bandwidth, least


# Grids open, wrapped and mixed, twisted, joined by cables, under one switch, nodes over a network, slices.
# Where trees share links, sends that wait for nothing get ahead of others, and sums end some percent later.
NEAR = [
    ("mesh:2x4,bandwidth=45GB/s", 0, 0.98), ("mesh:4x4,bandwidth=45GB/s", 5, 0.98), ("v5e:4x4", 0, 0.98),
    ("v5e:4x8", 9, 0.98), ("torus:3x3,bandwidth=45GB/s", 4, 0.98), ("v5p:4x4x4", 0, 0.97),
    ("v5p:4x4x8,twisted", 1, 0.97), ("torus:4x5x2,bandwidth=45GB/s", 7, 0.97),
    ("ring:8,bandwidth=45GB/s", 3, 0.98), ("chain:5,bandwidth=45GB/s", 1, 0.97),
    ("hypercube:4,bandwidth=45GB/s", 0, 0.98), ("full_mesh:6,bandwidth=45GB/s", 2, 0.98),
    ("switch:9,bandwidth=45GB/s", 0, 0.98), ("dgx-h100", 3, 0.98), ("dgx-h100:2", 0, 0.98),
    ("dgx-h100:4", 9, 0.88), ("mi300x:2", 0, 0.98), ("v5e:4x4,slices=2", 0, 0.93),
    ("fat-tree:4x4,nics=2,bandwidth=450GB/s", 5, 0.97),
]  # fmt: skip


# Where each tree leaves the root by one link they are at the bound; between nodes some links carry more.
SCATTERED = [
    ("mesh:2x4,bandwidth=45GB/s", 0, 0.99), ("mesh:3x5,bandwidth=45GB/s", 14, 0.99), ("v5e:4x4", 3, 0.99),
    ("torus:4x4,bandwidth=45GB/s", 6, 0.97), ("chain:4,bandwidth=45GB/s", 0, 0.99), ("dgx-h100", 5, 0.99),
    ("switch:9,bandwidth=45GB/s", 2, 0.99), ("dgx-h100:2", 0, 0.92), ("dgx-h100:4", 9, 0.92),
    ("mi300x:2", 3, 0.75), ("fat-tree:4x4,nics=2,bandwidth=450GB/s", 1, 0.75),
]  # fmt: skip


@pytest.mark.parametrize(
    ("collective", "name", "root", "part"),
    [(c, *row) for c in ("broadcast", "reduce") for row in NEAR]
    + [(c, *row) for c in ("scatter", "gather") for row in SCATTERED],
)
def test_flows_come_near_the_bound(collective, name, root, part):
    flows, _, least = times(collective, cluster(name), GIB, root)
    assert least <= flows * (1 + 1e-9)
    assert flows <= least / part


@pytest.mark.parametrize("collective", ["scatter", "gather"])
@pytest.mark.parametrize("name", ["mesh:2x4", "mesh:3x5", "mesh:2x3x2"])
def test_best_scatters_over_trees(collective, name):
    row = hc.predict(collective, f"{name},bandwidth=45GB/s", size="1GiB", algorithm="best").rows[0]
    assert row["algorithm"] == "forest"
    assert 0.99 <= row["efficiency"] <= 1


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
@pytest.mark.parametrize("name", ["mesh:4x4", "torus:4x4", "mesh:3x5", "ring:7", "torus:2x3x4"])
def test_without_latency_one_lane_is_enough_and_steps_are_flows(collective, name):
    flows, listed, least = times(collective, cluster(f"{name},{FREE}"), GIB)
    assert flows == pytest.approx(listed, rel=1e-9)
    assert flows <= least * 1.01


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_a_pod_of_256_is_within_a_twentieth_of_its_bound(collective):
    row = hc.predict(collective, "v5e:16x16", size="1GiB", algorithm="best").rows[0]
    assert row["algorithm"] == "forest"
    assert 0.95 <= row["efficiency"] <= 1


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
@pytest.mark.parametrize("name", ["mesh:2x4", "v5e:4x4", "torus:3x3", "dgx-h100:2"])
@pytest.mark.parametrize(("size", "part"), [("1GiB", 0.97), ("1KiB", 0.3)])
def test_best_takes_trees_where_they_are_faster(collective, name, size, part):
    shape = name if name.startswith(("v5e", "dgx")) else name + ",bandwidth=45GB/s"
    asked = {"size": size, "price": "flows"}
    row = hc.predict(collective, shape, algorithm="best", **asked).rows[0]
    others = ["binomial", "forest", "double_tree" if "dgx" in name else "multi_axis"]
    assert part <= row["efficiency"] <= 1
    for other in others:
        named = hc.predict(collective, shape, algorithm=other, **asked).rows[0]
        assert row["time_us"] <= named["time_us"] * (1 + 1e-9)
    assert (row["algorithm"] == "forest") or size == "1KiB"


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
@pytest.mark.parametrize("name", ["mesh:4x4", "torus:4x4"])
def test_dead_and_slow_links_are_gone_round(collective, name):
    where = cluster(f"{name},bandwidth=45GB/s")
    topology = where.topology
    rate = topology.bandwidth.copy()
    for chip, factor in ((5, 0.0), (10, 0.5), (14, 0.37)):
        out = int(np.flatnonzero(topology.src == chip)[0])
        back = np.flatnonzero((topology.src == topology.dst[out]) & (topology.dst == chip))
        rate[[out, *back]] *= factor
    broken = replace(where, topology=topology.with_links(rate))
    flows, _, least = times(collective, broken, GIB, 3)
    assert least <= flows * (1 + 1e-9) <= least / 0.92


def test_one_way_links_take_other_trees_back():
    """A ring that goes one way only, and a few links back."""
    where = cluster("torus:3x4,bandwidth=45GB/s")
    rate = where.topology.bandwidth.copy()
    rate[::5] = 0.0
    broken = replace(where, topology=where.topology.with_links(rate))
    for collective in ("broadcast", "reduce"):
        flows, _, least = times(collective, broken, GIB, 1)
        assert least <= flows * (1 + 1e-9) <= least / 0.92


@pytest.mark.parametrize("over", ["x", "y"])
def test_all_rows_of_a_grid_at_once(over):
    row = hc.predict("broadcast", "v5e:4x8", over=over, size="1GiB", algorithm="forest").rows[0]
    assert row["groups"] > 1
    assert 0.95 <= row["efficiency"] <= 1


def test_trees_and_pieces_that_are_asked_for():
    where = cluster("mesh:4x4,bandwidth=45GB/s")
    one = made("broadcast", where, MIB, trees="2", pieces="3")
    assert one.chunks == 6
    assert made("reduce", where, GIB, pieces="50").chunks == 100
    finer = made("broadcast", where, GIB, trees="4", pieces="10")  # two on each link
    assert finer.chunks == 40
    check(finer)
    mine = group(where, physical(where.topology))
    for asked, said in [
        ({"trees": "1"}, "do not hold 1 equal tree"),
        ({"trees": "60000"}, "trees are too many; up to 1,333"),
        ({"pieces": "300000"}, "pieces take too many sends"),
    ]:
        with pytest.raises(InputError, match=said):
            FOREST.build("broadcast", mine, Hint(GIB, 1e-6, options=asked))
    assert made("scatter", where, MIB, trees="2").chunks == 32
    with pytest.raises(InputError, match="leave pieces= off"):
        made("gather", where, MIB, pieces="3")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ring:4,duplex=half", "one way at a time"),
        ("v5p:16x16x16", "up to 1,024 ranks"),
        ("dgx-h100:64", "up to 256 ranks"),
    ],
)
def test_what_it_does_not_fit_is_said(name, said):
    with pytest.raises(InputError, match=said):
        hc.predict("broadcast", name, size="1GiB", algorithm="forest")


@pytest.mark.parametrize("name", ["mesh:4x4,bandwidth=45GB/s", "v5e:8x8", "dgx-h100", "v5p:4x4x4"])
@pytest.mark.parametrize("size", [MIB, 64 * MIB, GIB])
def test_what_a_plan_promises_is_what_flows_take(name, size):
    where = cluster(name)
    mine = group(where, physical(where.topology))
    wiring = _root_ground.of_group(mine)
    assert not isinstance(wiring, str)
    plans = _packed_root.plans(wiring, 0, False, 0, 0)
    promised = min(plan.time(size, *plan.fastest(size, 0)) for plan in plans)
    assert times("broadcast", where, size)[0] == pytest.approx(promised, rel=0.05)
