"""What a schedule means: run on real data, and refused where it is wrong, with a witness."""

import time
from dataclasses import replace

import numpy as np
import pytest
from by_sets import computes
from grids import build, cluster
from hypothesis import given
from hypothesis import strategies as st
from wrong_sends import damaged, verdict

from hopcast import interpret
from hopcast.interpret import CheckError, _alike, _copies, _tokens, check
from hopcast.ir.collective import Collective, of
from hopcast.ir.schedule import COPY, REDUCE, from_columns, one_group


def schedule(collective: Collective, *rows: tuple[int, ...]):
    """Rows of step, src, dst, chunk, count, op."""
    names = ("step", "src", "dst", "chunk", "count", "op")
    columns = dict(zip(names, np.array(rows).T, strict=True))
    return from_columns(collective, "written here", one_group(collective.ranks), columns)


def result(collective: str, algorithm: str, grid: str, **hint: float):
    """A schedule, random data where each rank starts, and what came of it; NaN where nothing is."""
    made = build(collective, algorithm, cluster(grid), **hint)
    start = np.full((made.ranks, made.chunks), np.nan)
    data = np.random.default_rng(1).integers(1, 100, start.shape).astype(float)
    origin, rank = made.collective.origin, np.arange(made.ranks)[:, None]
    held = (origin == rank) | (origin == -1)
    start[held] = data[held]
    return made, start, interpret.interpret(made, start)


def test_all_reduce_sums_and_every_rank_has_it():
    for algorithm, grid in (
        ("pipelined_chain", "5"),
        ("rabenseifner", "switch:6"),
        ("sequential_rings", "3wx4w"),
    ):
        _, start, end = result("all_reduce", algorithm, grid, size=12.0)
        assert np.array_equal(end, np.broadcast_to(start.sum(0), end.shape))


def test_all_gather_gives_everyone_the_same_and_keeps_the_shards():
    _, start, end = result("all_gather", "bruck", "switch:7")
    assert np.array_equal(end, np.broadcast_to(np.diag(start), end.shape))


def test_all_to_all_is_a_transpose():
    made, start, end = result("all_to_all", "pairwise", "switch:5")
    sent = np.array([[start[s, s * 5 + d] for d in range(5)] for s in range(5)])
    got = np.array([[end[d, s * 5 + d] for s in range(5)] for d in range(5)])
    assert np.array_equal(got, sent.T)
    assert made.chunks == 25


def test_permute_shifts():
    _, start, end = result("permute", "direct", "5w", shift=2)
    assert [end[(r + 2) % 5, r] for r in range(5)] == np.diag(start).tolist()


def test_the_given_buffer_is_left_alone():
    made = build("all_reduce", "ring", cluster("4w"))
    start = np.ones((4, 4))
    interpret.interpret(made, start)
    assert np.array_equal(start, np.ones((4, 4)))


def test_all_sends_of_a_step_read_the_state_before_it():
    swap = schedule(of("permute", 2), (0, 0, 1, 0, 1, COPY), (0, 1, 0, 1, 1, COPY))
    check(swap)
    both = schedule(of("all_reduce", 2), (0, 0, 1, 0, 1, REDUCE), (0, 1, 0, 0, 1, REDUCE))
    check(both)
    assert interpret.interpret(both, np.array([[3.0], [4.0]])).tolist() == [[7.0], [7.0]]


def test_counts_run_over_the_last_chunk_to_the_first():
    wrapped = schedule(of("gather", 3, root=0), (0, 2, 1, 2, 1, COPY), (1, 1, 0, 1, 2, COPY))
    check(wrapped)
    round_the_end = schedule(of("broadcast", 2, parts=3), (0, 0, 1, 2, 2, COPY), (1, 0, 1, 1, 1, COPY))
    check(round_the_end)


def test_sums_and_copies_of_one_step_do_not_mix():
    """The smallest pipeline that showed it: two sums for rank 1 while chunk 0 is copied back."""
    rows = [
        (0, 0, 1, 0, 1, REDUCE), (0, 2, 1, 0, 1, REDUCE),
        (1, 0, 1, 1, 1, REDUCE), (1, 2, 1, 1, 1, REDUCE), (1, 1, 0, 0, 1, COPY), (1, 1, 2, 0, 1, COPY),
        (2, 1, 0, 1, 1, COPY), (2, 1, 2, 1, 1, COPY),
    ]  # fmt: skip
    check(schedule(of("all_reduce", 3, parts=2), *rows))


def error(made) -> CheckError:
    with pytest.raises(CheckError) as caught:
        check(made)
    assert not computes(made)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_send_of_what_is_not_there_is_named():
    wrong = error(schedule(of("broadcast", 3), (0, 0, 1, 0, 1, COPY), (0, 1, 2, 0, 1, COPY)))
    assert (wrong.rank, wrong.chunk, wrong.step) == (1, 0, 0)
    assert "before it holds it" in str(wrong)


def test_two_copies_into_one_cell_are_named():
    wrong = error(schedule(of("all_gather", 2), *[(0, 0, 1, 0, 1, COPY)] * 2, (0, 1, 0, 1, 1, COPY)))
    assert (wrong.rank, wrong.chunk, wrong.step) == (1, 0, 0)


def test_a_copy_beside_a_sum_into_one_cell_is_named():
    rows = [(0, 1, 0, 0, 1, REDUCE), (0, 2, 0, 0, 1, COPY)]
    for order in (rows, rows[::-1]):
        wrong = error(schedule(of("reduce", 3), *order))
        assert (wrong.rank, wrong.chunk, wrong.step) == (0, 0, 0)


def test_what_is_missing_at_the_end_is_named():
    wrong = error(schedule(of("all_gather", 3), *((0, r, (r + 1) % 3, r, 1, COPY) for r in range(3))))
    assert (wrong.rank, wrong.chunk, wrong.step) == (0, 1, None)
    assert "does not hold" in str(wrong)


def test_a_wrong_sum_at_the_end_is_named():
    wrong = error(schedule(of("reduce", 3), (0, 1, 0, 0, 1, REDUCE)))
    assert (wrong.rank, wrong.chunk, wrong.step) == (0, 0, None)
    assert "wrong value" in str(wrong)


def test_a_sum_that_counts_one_rank_twice_is_wrong_even_if_another_is_left_out():
    rows = [(0, 1, 0, 0, 1, REDUCE), (1, 1, 0, 0, 1, REDUCE)]
    assert "wrong value" in str(error(schedule(of("reduce", 3), *rows)))


def test_every_group_is_checked():
    where = cluster("3x4w")
    made = build("all_gather", "ring", where, ("y",))
    assert made.groups.shape == (3, 4)
    check(made)
    rows = made.columns()
    keep = np.arange(len(rows["step"])) != len(rows["step"]) - 1
    with pytest.raises(CheckError) as caught:
        check(from_columns(made.collective, "cut", made.groups, {k: v[keep] for k, v in rows.items()}))
    assert caught.value.rank == 8  # the last send, 11 to 8, of the last group


@pytest.mark.parametrize(
    ("collective", "algorithm", "grid"),
    [
        ("all_reduce", "sequential_rings", "3wx4w"),
        ("all_to_all", "dimension_ordered", "3x3"),
        ("gather", "binomial", "5"),
    ],
)
def test_a_table_of_touched_cells_alone_gives_the_same_answers(monkeypatch, collective, algorithm, grid):
    made = build(collective, algorithm, cluster(grid))
    rows = made.columns()
    short = from_columns(made.collective, "cut", made.groups, {k: v[1:] for k, v in rows.items()}, made.share)
    dense = error(short)
    monkeypatch.setattr(_tokens, "_DENSE", 0)
    check(made)
    sparse = error(short)
    assert str(sparse) == str(dense)


@given(
    st.integers(2, 6), st.sampled_from(["all_gather", "reduce_scatter", "all_reduce", "gather"]), st.data()
)
def test_check_agrees_with_sets_on_random_schedules(n, name, data):
    collective = of(name, n) if name != "all_reduce" else of(name, n, parts=2)
    rank, op = st.integers(0, n - 1), st.sampled_from([COPY, REDUCE])
    row = st.tuples(
        st.integers(0, 2), rank, rank, st.integers(0, collective.chunks - 1), st.integers(1, 2), op
    )
    made = schedule(collective, *data.draw(st.lists(row, min_size=1, max_size=8)))
    try:
        check(made)
    except CheckError:
        assert not computes(made)
    else:
        assert computes(made)


# --- chunks that stand for others ---

ALIKE = [
    ("all_reduce", "ring", "24w"),
    ("all_gather", "ring", "24w"),
    ("all_reduce", "multi_axis", "5wx4w"),
    ("reduce_scatter", "multi_axis", "4wx3wx4w"),
    ("all_reduce", "translated_tree", "5wx5w"),
    ("all_reduce", "bidirectional_ring", "24w"),
]


@pytest.mark.parametrize(("collective", "algorithm", "grid"), ALIKE)
def test_one_chunk_of_each_kind_is_followed(collective, algorithm, grid):
    made = build(collective, algorithm, cluster(grid))
    few = _alike.one_of_each(made, 0)
    assert few is not None
    assert few.chunks <= made.chunks / 2
    check(made)


@pytest.mark.parametrize(("collective", "algorithm", "grid"), ALIKE)
@pytest.mark.parametrize("how", ["dropped", "doubled", "elsewhere", "op"])
def test_a_wrong_send_among_many_alike_is_found_and_named_as_without_that(collective, algorithm, grid, how):
    made = build(collective, algorithm, cluster(grid))
    rng = np.random.default_rng(0)
    for step in rng.integers(0, made.step_count, 3).tolist():
        wrong = damaged(made, step, int(rng.integers(len(made.make(step)))), how)
        said = verdict(check, wrong)
        assert said == verdict(_tokens.check, wrong)
        assert (said is None) == computes(wrong)
        assert said is not None or how == "op"  # to add to nothing is to copy


@pytest.mark.parametrize(
    ("collective", "algorithm", "grid"),
    [
        ("all_gather", "chain", "9"),
        ("all_to_all", "pairwise", "switch:7"),
        ("all_to_all", "rotation", "6w"),
        ("all_to_all", "bruck", "switch:6"),
        ("scatter", "binomial", "switch:9"),
        ("broadcast", "pipelined_chain", "6"),
        ("permute", "direct", "7w"),
    ],
)
def test_copies_are_proved_right_without_values_and_never_wrong(collective, algorithm, grid):
    made = replace(build(collective, algorithm, cluster(grid)), orbit=None)
    assert _copies.prove(made)
    for step in range(made.step_count):
        for at in range(len(made.make(step))):
            for how in ("dropped", "doubled", "elsewhere"):
                wrong = damaged(made, step, at, how)
                assert not _copies.prove(wrong) or computes(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collective", "algorithm", "grid"),
    [
        ("all_gather", "ring", "4096w"),
        ("all_reduce", "multi_axis", "16wx16wx16w"),
        ("all_gather", "translated_tree", "16wx16wx16w"),
    ],
)
def test_schedules_of_4096_ranks_are_followed_in_seconds(collective, algorithm, grid):
    made = build(collective, algorithm, cluster(grid))
    before = time.process_time()
    check(made)
    assert time.process_time() - before < 10
