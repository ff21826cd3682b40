"""Schedules out of schedules, and what no change of names or sizes may change."""

from dataclasses import replace

import numpy as np
import pytest
from by_sets import computes
from grids import build, cluster, group
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast import algorithms
from hopcast.interpret import check, interpret
from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Hint
from hopcast.ir.schedule import COPY, REDUCE, one_group, sends
from hopcast.price.steps import steps


def same(a, b) -> bool:
    """Whether two schedules have the same sends in the same order."""
    one, two = a.columns(), b.columns()
    return all(np.array_equal(one[k], two[k]) for k in one)


def test_a_mirror_image_twice_is_the_schedule():
    for collective, algorithm, grid in (
        ("all_gather", "multi_axis", "4wx4w"), ("broadcast", "binomial", "5"), ("gather", "direct", "4"),
    ):  # fmt: skip
        made = build(collective, algorithm, cluster(grid))
        twice = algebra.reverse(algebra.reverse(made))
        assert same(made, twice)
        assert twice.collective.name == collective


def test_the_mirror_image_of_copies_to_all_is_sums_and_of_gather_copies():
    sums = algebra.reverse(build("all_gather", "ring", cluster("4w")))
    assert set(sums.columns()["op"]) == {REDUCE}
    check(sums)
    copies = algebra.reverse(build("gather", "binomial", cluster("5")))
    assert set(copies.columns()["op"]) == {COPY}
    check(copies)


def test_a_mirrored_shift_goes_back():
    back = algebra.reverse(build("permute", "direct", cluster("5w"), shift=2))
    assert back.collective.shift == -2
    check(back)


def test_then_refuses_halves_that_do_not_meet():
    gathered, ring = build("all_gather", "ring", cluster("4w")), build("all_gather", "ring", cluster("5w"))
    with pytest.raises(ValueError, match="does not start where"):
        algebra.then(gathered, gathered, "all_reduce")
    with pytest.raises(ValueError, match="does not start where"):
        algebra.then(algebra.reverse(gathered), ring, "all_reduce")


def test_all_reduce_from_a_reduce_scatter_starts_with_it():
    """Made of recursive_halving, which builds reduce_scatter and not its mirror image."""
    made = build("all_reduce", "recursive_halving", cluster("switch:8"))
    assert [set(rows.op) for rows in made.steps()] == [{REDUCE}] * 3 + [{COPY}] * 3
    check(made)
    assert computes(made)


@given(
    st.lists(st.sampled_from(["ring", "bidirectional_ring", "chain", "direct"]), min_size=1, max_size=4),
    st.data(),
)
def test_beside_cuts_the_array_by_shares(names, data):
    weights = data.draw(st.lists(st.floats(0.1, 10), min_size=len(names), max_size=len(names)))
    parts = [algorithms.get(n).build("all_gather", group(cluster("5w")), Hint()) for n in names]
    made = algebra.beside(parts, weights)
    check(made)
    cells = np.full(made.chunks, 1 / made.chunks) if made.share is None else made.share
    assert cells.sum() == pytest.approx(1)
    moved = sum(made.bytes(rows, 1.0).sum() for rows in made.steps())
    alone = [sum(p.bytes(rows, 1.0).sum() for rows in p.steps()) for p in parts]
    assert moved == pytest.approx(np.dot(alone, weights) / sum(weights))
    assert made.step_count == max(p.step_count for p in parts)
    assert made.lanes == sum(p.lanes for p in parts)


def test_beside_of_equal_parts_has_equal_chunks():
    part = build("all_gather", "ring", cluster("4w"))
    assert algebra.beside([part, part]).share is None
    assert algebra.beside([part, part], one_lane=True).lanes == 1


@given(st.integers(1, 5), st.sampled_from(["ring", "bidirectional_ring", "bruck"]))
def test_a_stretched_schedule_moves_the_same_bytes_in_more_steps(pieces, name):
    made = algorithms.get(name).build("all_gather", group(cluster("5w")), Hint())
    longer = algebra.stretch(made, pieces)
    check(longer)
    assert longer.step_count == made.step_count * pieces
    whole = [made.bytes(rows, 1.0).sum() for rows in made.steps()]
    cut = np.array([longer.bytes(rows, 1.0).sum() for rows in longer.steps()]).reshape(-1, pieces)
    assert cut == pytest.approx(np.repeat(np.array(whole)[:, None] / pieces, pieces, 1))


def test_over_puts_a_line_on_every_line():
    """A row of four gathers blocks of two chunks; the other row does the same on its own part."""
    line = algorithms.get("bruck").build("all_gather", group(cluster("4w")), Hint())
    lines = np.array([[0, 2, 4, 6], [1, 3, 5, 7]], np.int32)
    made = algebra.over(
        line, lines, np.array([0, 8], np.int32), 2, of("all_gather", 8, np.repeat(np.arange(8), 2))
    )
    held = np.zeros((8, 16))
    for r in range(4):
        held[lines[0, r], 2 * r : 2 * r + 2] = held[lines[1, r], 8 + 2 * r : 10 + 2 * r] = 1
    after = interpret(made, held)
    assert np.array_equal(after[::2, :8], np.ones((4, 8)))
    assert np.array_equal(after[1::2, 8:], np.ones((4, 8)))
    assert after.sum() == 64


def test_laid_on_all_groups_it_is_checked_and_priced_with_their_contention():
    apart = build("all_to_all", "direct", cluster("4x4w"), ("y",))
    check(apart)
    assert apart.groups.shape == (4, 4)
    one = build("all_to_all", "direct", cluster("4w"))
    assert steps(apart, cluster("4x4w"), 1.0).bandwidth == steps(one, cluster("4w"), 1.0).bandwidth


def test_phases_keep_their_own_repeats():
    made = build("all_reduce", "sequential_rings", cluster("4wx3w"))
    keys = [made.key(i) for i in range(made.step_count)]
    assert len(set(keys)) == 4  # x and y, sums and copies
    assert made.step_count == 10


CASES = [
    ("all_gather", "ring", "5w"), ("all_reduce", "bidirectional_ring", "6w"), ("all_gather", "chain", "5"),
    ("all_reduce", "pipelined_chain", "5"), ("broadcast", "pipelined_chain", "7w"),
    ("all_gather", "multi_axis", "4x6w"), ("all_reduce", "sequential_rings", "3wx4w"),
    ("all_to_all", "direct", "4wx3"), ("scatter", "binomial", "6"),
    ("all_to_all", "dimension_ordered", "3x4w"),
    ("all_to_all", "bruck", "switch:6"), ("reduce", "binomial", "switch:7"),
    ("all_reduce", "rabenseifner", "switch:6"), ("all_gather", "recursive_doubling", "4x2"),
    ("permute", "direct", "5"),
]  # fmt: skip
each_case = st.sampled_from(CASES)
sizes = st.floats(1.0, 1e12)


@settings(deadline=None)
@given(each_case, sizes, sizes)
def test_formula_and_steps_grow_with_size(case, one, two):
    collective, algorithm, grid = case
    small, large = sorted((one, two))
    where = cluster(grid, 45e9, 1e-6)
    mine, found = group(where), algorithms.get(algorithm)
    costs = [found.cost(collective, mine, Hint(size, 1e-6)) for size in (small, large)]
    if costs[0] is not None:
        assert costs[0].total() <= costs[1].total() * (1 + 1e-12)
    times = [steps(build(collective, algorithm, where, size=s), where, s) for s in (small, large)]
    assert times[0].latency + times[0].bandwidth <= (times[1].latency + times[1].bandwidth) * (1 + 1e-12)


@given(st.integers(2, 40), st.data())
def test_one_chunk_numbering_runs_round_the_end(n, data):
    first, count = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n))
    weight = np.random.default_rng(n).random(n)
    made = replace(
        build("all_gather", "direct", cluster("switch:2")),
        collective=of("all_gather", n),
        groups=one_group(n),
    )
    made = replace(made, share=weight / weight.sum())
    rows = sends([0], [1], [first], [count])
    expected = made.share[(first + np.arange(count)) % n].sum()
    assert made.bytes(rows, 10.0)[0] == pytest.approx(10 * expected)
