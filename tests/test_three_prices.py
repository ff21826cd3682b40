"""Formula, steps and flows against published figures, and against each other where they must agree.

Sources: [book] jax-ml, How To Scale Your Model, chapter Sharded Matrices and How to Multiply Them, and the
one on GPUs (read 2026-11); [article] Gordic 2026, Inside TPU and GPU clusters; [loads] link loads counted by
hand or by brute force over all pairs. D is the size of the whole array, W one direction of a cable.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from grids import build, cluster, group

from hopcast import algorithms
from hopcast.interpret import check, interpret
from hopcast.ir.group import Group, Hint
from hopcast.ir.topology import Axis
from hopcast.price.steps import steps
from hopcast.simulate.reference import simulate
from hopcast.topologies import ring as ring_topology
from hopcast.topologies import twisted_torus

EXACT = 1e-9
ICI, HOP = 45e9, 1e-6  # v5e: one direction of one link [book]; the latency of a hop that the book takes
MIB, GIB = 2**20, 2**30


def prices(collective, algorithm, grid, size=1.0, rate=1.0, alpha=0.0, over=(), **hint):
    """Formula (None where there is none), steps and flows, seconds."""
    where = cluster(grid, rate, alpha)
    found, options = algorithms.parse(algorithm)
    made = build(collective, algorithm, where, over, size=size, **hint)
    check(made)
    asked = Hint(**({"size": size, "alpha": alpha, "options": options} | hint))
    formula = found.cost(collective, group(where, over), asked)
    stepped = steps(made, where, size)
    return (
        formula and formula.total(),
        stepped.latency + stepped.bandwidth,
        simulate(made, where, size).seconds,
    )


def all_three(value, rel=EXACT):
    return pytest.approx((value,) * 3, rel=rel)


# On a ring of 8 whole shards take 4 steps both ways, split ones 3.5, one direction 7. [article, book]
@pytest.mark.parametrize(
    ("algorithm", "value"),
    [("bidirectional_ring", 4 / 8), ("bidirectional_ring,split=on", 7 / 16), ("ring", 7 / 8)],
)
def test_all_gather_on_a_ring_of_eight(algorithm, value):
    assert prices("all_gather", algorithm, "8w") == all_three(value)


def test_shards_held_after_each_step_on_a_ring_of_eight():
    """1, 3, 5, 7, 8 of 8: two more in each step, the one half way round last. [article]"""
    made = build("all_gather", "bidirectional_ring", cluster("8w"))
    held = [interpret(replace(made, step_count=s), np.eye(8)).astype(bool).sum(1) for s in range(5)]
    assert [set(h) for h in held] == [{1}, {3}, {5}, {7}, {8}]


# Multi-axis: D (1 - 1/N) / (2 k W) on k equal wrapped axes, the port bound. [loads]
@pytest.mark.parametrize(("grid", "value"), [("4wx4w", 15 / 64), ("4wx4wx4w", 63 / 384), ("5wx5w", 24 / 100)])
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter"])
def test_all_axes_reach_the_port_bound_on_tori(grid, value, collective):
    assert prices(collective, "multi_axis", grid) == all_three(value)
    assert value == pytest.approx((1 - 1 / math.prod(cluster(grid).topology.shape)) / (2 * grid.count("w")))


def test_open_axes_gather_by_flows_no_faster_than_half_and_scatter_at_the_bound():
    """On 4x4 without wraps the two parts of all_gather overlap: 1/2 without barriers, 15/32 with. [loads]"""
    formula, stepped, flows = prices("all_gather", "multi_axis", "4x4")
    assert (formula, stepped) == pytest.approx((15 / 32, 15 / 32), rel=EXACT)
    assert flows == pytest.approx(1 / 2, rel=EXACT)
    assert prices("reduce_scatter", "multi_axis", "4x4") == all_three(15 / 32)


# v5e 16x16 and a cube of 8: 2 sum(n - 1) hops and 2 (1 - 1/N) D / W. [loads]
@pytest.mark.parametrize(
    ("grid", "algorithm", "us"),
    [
        ("16wx16w", "sequential_rings", 47_595.445),
        ("8wx8wx8w", "sequential_rings", 47_670.652),
        ("16w", "ring", 44_769.243),
    ],
)
def test_all_reduce_of_one_gibibyte_by_rings(grid, algorithm, us):
    where, found = cluster(grid, ICI, HOP), algorithms.get(algorithm)
    hint = Hint(GIB, HOP)
    formula = found.cost("all_reduce", group(where), hint).total()
    made = build("all_reduce", algorithm, where, size=GIB)
    stepped = steps(made, where, GIB)
    assert formula * 1e6 == pytest.approx(us, abs=5e-4)
    assert stepped.latency + stepped.bandwidth == pytest.approx(formula, rel=EXACT)
    assert found.exact("all_reduce", group(where), hint)
    if len(where.topology.shape) == 1:
        assert simulate(made, where, GIB).seconds == pytest.approx(formula, rel=EXACT)


def test_a_chain_of_four_gathers_a_sharded_matrix():
    """bf16[2048,8192] over an open axis of a v5e 4x4: 3 x 8.39 MB / 45 GB/s = 559 us. [book: 560]"""
    size = 2048 * 8192 * 2
    found = prices("all_gather", "chain", "4x4", size, ICI, over=("x",))
    assert found == all_three(559.241e-6, 1e-6)
    assert found == all_three(560e-6, 2e-3)


# all_to_all: load of the busiest link for all pairs at once, T W / D. [loads; book for rings: D / (8 W)]
ALL_TO_ALL = [
    ("4wx4w", 1 / 32), ("4x4", 1 / 16), ("16wx16w", 1 / 128), ("4wx4wx8w", 1 / 128), ("4wx4wx4w", 1 / 128),
    ("8w", 1 / 8), ("4", 1 / 4), ("8x16w", 1 / 64),
]  # fmt: skip


@pytest.mark.parametrize(("grid", "value"), ALL_TO_ALL)
def test_all_to_all_takes_what_the_busiest_link_carries(grid, value):
    formula, stepped, flows = prices("all_to_all", "direct", grid) if grid != "16wx16w" else quick(grid)
    assert (formula, stepped, flows) == all_three(value)


def quick(grid):
    """Without check, whose table for 256 ranks takes a quarter of a gigabyte."""
    where = cluster(grid)
    made = build("all_to_all", "direct", where)
    formula = algorithms.get("direct").cost("all_to_all", group(where), Hint())
    return formula.total(), steps(made, where, 1.0).bandwidth, simulate(made, where, 1.0).seconds


@pytest.mark.parametrize(
    ("grid", "value"), [*ALL_TO_ALL, ("4x8", 1 / 16), ("2x4w", 1 / 16), ("3wx5w", 1 / 25)]
)
def test_hop_by_hop_all_to_all_loads_links_no_more_than_direct(grid, value):
    """Also on unequal and mixed axes, where steps of different weight could leave the busiest axis idle."""
    where = cluster(grid)
    stepped = steps(build("all_to_all", "dimension_ordered", where), where, 1.0)
    direct = steps(build("all_to_all", "direct", where), where, 1.0)
    assert stepped.bandwidth == pytest.approx(direct.bandwidth, rel=EXACT)
    assert stepped.bandwidth == pytest.approx(value, rel=EXACT)


def test_direct_all_to_all_with_latency_is_faster_than_its_parts_added():
    """A ring of 16: near messages begin while far ones travel, so flows add 1 us to the bytes, not 8."""
    formula, stepped, flows = prices("all_to_all", "direct", "16w", 16 * MIB, ICI, HOP)
    assert formula == pytest.approx(stepped, rel=EXACT)
    assert formula == pytest.approx(16 * MIB / 8 / ICI + 8 * HOP, rel=EXACT)
    assert flows * 1e6 == pytest.approx(47.603, abs=5e-4)


def test_an_open_chain_reduces_at_one_pass_of_the_array():
    """Both directions of every cable carry D once, so it takes D / W and some filling. [loads]"""
    found = prices("all_reduce", "pipelined_chain", "4", GIB, ICI, HOP)
    assert found == all_three(found[0])
    assert GIB / ICI < found[0] < 1.1 * GIB / ICI
    chain = prices("all_reduce", "chain", "4", GIB, ICI, HOP)[0]
    assert found[0] < 0.7 * chain


@pytest.mark.parametrize("chunks", [1, 2, 7, 50])
@pytest.mark.parametrize("n", [2, 5, 8])
def test_a_pipeline_takes_its_filling_and_one_step_for_each_chunk(n, chunks):
    each, alpha = 1 / chunks, 0.1
    assert prices("all_reduce", f"pipelined_chain,chunks={chunks}", str(n), alpha=alpha) == all_three(
        (2 * (n // 2) + chunks - 1) * (alpha + each)
    )
    for root in (0, n // 2, n - 1):
        longest = max(root, n - 1 - root)
        expected = all_three((longest + chunks - 1) * (alpha + each))
        assert (
            prices("broadcast", f"pipelined_chain,chunks={chunks}", str(n), alpha=alpha, root=root)
            == expected
        )


@pytest.mark.parametrize("size", [1.0, 1000.0, 1e6, 1e9])
def test_the_number_of_chunks_chosen_is_the_best(size):
    mine = group(cluster("8", ICI, HOP))
    cost = algorithms.get("pipelined_chain").cost
    best = cost("all_reduce", mine, Hint(size, HOP)).total()
    others = [
        cost("all_reduce", mine, Hint(size, HOP, options={"chunks": str(m)})).total() for m in range(1, 4097)
    ]
    possible = others[: max(1, int(size))]  # a chunk has at least a byte
    assert best == pytest.approx(min(possible), rel=1e-12)


# Eight ranks on a switch, D / W = 1: [book, chapter GPUs: D (n - 1) / (n W); all_to_all D (n - 1) / (n^2 W)]
@pytest.mark.parametrize(
    ("collective", "algorithm", "crossings", "bandwidth"),
    [
        ("all_gather", "ring", 7, 7 / 8), ("all_gather", "direct", 1, 7 / 8),
        ("all_gather", "bruck", 3, 7 / 8),
        ("all_gather", "recursive_doubling", 3, 7 / 8), ("reduce_scatter", "recursive_halving", 3, 7 / 8),
        ("all_reduce", "rabenseifner", 6, 14 / 8), ("all_reduce", "ring", 14, 14 / 8),
        ("all_reduce", "direct", 2, 14 / 8), ("all_reduce", "recursive_doubling", 3, 3),
        ("all_to_all", "direct", 1, 7 / 64), ("all_to_all", "pairwise", 7, 7 / 64),
        ("all_to_all", "bruck", 3, 12 / 64), ("broadcast", "binomial", 3, 3),
        ("gather", "binomial", 3, 7 / 8),
        ("gather", "direct", 1, 7 / 8), ("permute", "direct", 1, 1 / 8),
    ],
)  # fmt: skip
def test_closed_forms_on_a_switch_of_eight(collective, algorithm, crossings, bandwidth):
    alpha = 0.01
    assert prices(collective, algorithm, "switch:8", alpha=alpha) == all_three(crossings * alpha + bandwidth)


def test_one_direction_is_exact_at_half_duplex_and_two_are_not():
    where = replace(cluster("6w"), topology=ring_topology.build("ring:6", [6], 1.0, 0.0, True))
    mine = group(where)
    for name, exact in (("ring", True), ("bidirectional_ring", False), ("pipelined_chain", False)):
        assert algorithms.get(name).exact("all_reduce", mine, Hint()) is exact
    assert simulate(build("all_reduce", "ring", where), where, 1.0).seconds == pytest.approx(
        10 / 6, rel=EXACT
    )
    assert algorithms.get("ring").cost("all_reduce", mine, Hint()).total() == pytest.approx(10 / 6, rel=EXACT)
    both, full = algorithms.get("bidirectional_ring"), replace(mine, duplex=True)
    taken = simulate(build("all_reduce", "bidirectional_ring", where), where, 1.0).seconds
    assert taken > both.cost("all_reduce", full, Hint()).total()
    assert both.cost("all_reduce", mine, Hint()) is None


@pytest.mark.parametrize(("grid", "late"), [("2x4wx4w", 1.0625), ("3x6wx6w", 1.0185), ("8wx4x8w", 1.0469)])
def test_direct_all_to_all_promises_nothing_where_halves_of_messages_hold_up_whole_ones(grid, late):
    """Two wrapped even axes cut messages in four; an open axis nearly as busy is then idle before the end."""
    where = cluster(grid)
    direct, mine = algorithms.get("direct"), group(where)
    assert not direct.exact("all_to_all", mine, Hint())
    flows = simulate(build("all_to_all", "direct", where), where, 1.0).seconds
    assert flows == pytest.approx(late * direct.cost("all_to_all", mine, Hint()).total(), rel=1e-4)


def test_hop_by_hop_says_when_it_is_too_large():
    axes = (Axis("x", 17, True), Axis("y", 17, True))
    large = Group(
        axes, False, (1.0, 1.0), (0.0, 0.0), np.arange(289, dtype=np.int32)[None], name="torus:17x17"
    )
    reason = algorithms.get("dimension_ordered").valid("all_to_all", large, Hint())
    assert reason is not None
    assert "256" in reason


def test_a_twisted_torus_has_no_closed_forms_of_the_plain_one():
    """On 4x4x8 all_to_all takes 73.33 units of D / (N^2 W), not 128 [loads], and no formula says 128."""
    topology = twisted_torus.build("torus:4x4x8", (4, 4, 8), 1.0, 0.0)
    where = replace(cluster("4wx4wx8w"), topology=topology, routing="twisted")
    mine = group(where)
    for algorithm in (algorithms.get(name) for name in algorithms.names()):
        for collective in algorithm.collectives:
            assert not algorithm.exact(collective, mine, Hint())
            assert algorithm.cost(collective, mine, Hint()) is None
    flows = simulate(build("all_to_all", "direct", where), where, 1.0).seconds
    assert flows == pytest.approx(220 / 3 / 128**2, rel=EXACT)
