"""Chunks of grids that stand for others, sends done run by run, chunks followed some after others."""

from dataclasses import replace

import numpy as np
import pytest
from by_sets import computes
from grids import build, cluster, group
from wrong_sends import damaged, verdict

from hopcast import algorithms, interpret
from hopcast.interpret import _alike, _moves, _tokens, check
from hopcast.ir.group import Hint

HOW = ("dropped", "doubled", "elsewhere", "op")
# Of chunks: one of how many is followed at least. A root leaves fewer moves, and on an open axis none.
GRIDS = [
    ("all_gather", "multi_axis", "6x6", 4),
    ("reduce_scatter", "multi_axis", "4x4x4", 8),
    ("all_reduce", "multi_axis", "3x5", 2),
    ("all_reduce", "multi_axis", "4x6w", 8),
    ("all_reduce", "chain", "12", 2),
    ("broadcast", "multi_axis", "6x6", 2),
    ("reduce", "multi_axis", "5wx5w", 2),
]
EVERY = [
    (name, collective, grid)
    for grid in ("2x3", "6w", "switch:5")
    for name in algorithms.names()
    for collective in algorithms.get(name).collectives
    if algorithms.get(name).valid(collective, group(cluster(grid)), Hint()) is None
]


@pytest.fixture
def eager(monkeypatch):
    """Moves of grids are tried on whatever is small, too."""
    monkeypatch.setattr(_alike, "_MANY", 0)
    monkeypatch.setattr(_alike, "_LONG", 1)
    monkeypatch.setattr(_alike, "_OFTEN", 0)


@pytest.mark.parametrize(("collective", "algorithm", "grid", "fewer"), GRIDS)
def test_moves_of_a_grid_leave_few_chunks_to_follow(eager, collective, algorithm, grid, fewer):
    made = replace(build(collective, algorithm, cluster(grid)), orbit=None)
    few = _alike.one_of_each(made, 0)
    assert few is not None
    assert fewer * few.chunks <= made.chunks
    check(made)


@pytest.mark.parametrize(("collective", "algorithm", "grid", "fewer"), GRIDS)
@pytest.mark.parametrize("how", HOW)
def test_a_wrong_send_is_found_though_moves_seemed_to_fit(eager, collective, algorithm, grid, fewer, how):
    made = replace(build(collective, algorithm, cluster(grid)), orbit=None)
    rng = np.random.default_rng(0)
    for step in rng.integers(0, made.step_count, 3).tolist():
        wrong = damaged(made, step, int(rng.integers(len(made.make(step)))), how)
        said = verdict(check, wrong)
        assert said == verdict(_tokens.check, wrong)
        assert (said is None) == computes(wrong)
        assert said is not None or how in (
            "doubled",
            "op",
        )  # a step that does nothing new, a sum with nothing


@pytest.mark.parametrize(("algorithm", "collective", "grid"), EVERY)
def test_piece_by_piece_says_what_chunk_by_chunk_does(eager, monkeypatch, algorithm, collective, grid):
    made = build(collective, algorithm, cluster(grid, 1e9, 1e-6), size=1e3)  # in few chunks
    rng = np.random.default_rng(1)
    wrong = [
        damaged(made, step, int(rng.integers(len(made.make(step)))), how)
        for how in HOW
        for step in rng.integers(0, made.step_count, 2).tolist()
        if len(made.make(step))
    ]
    monkeypatch.setattr(_tokens, "_LENGTHS", 0)
    plain = [verdict(_tokens.check, one) for one in (made, *wrong)]
    monkeypatch.setattr(_tokens, "_LENGTHS", 99)
    monkeypatch.setattr(_tokens, "_LONG", 1)
    monkeypatch.setattr(interpret, "_AT_ONCE", made.vertices * made.chunks // 3 + 1)
    assert [verdict(_tokens.check, one) for one in (made, *wrong)] == plain
    assert [verdict(check, one) for one in (made, *wrong)] == plain
    assert plain[0] is None
    assert not wrong or any(plain)


@pytest.mark.parametrize(
    ("grid", "shape", "kept"),
    [
        ("6x6", (6, 6), 2 + 1),  # each axis end for end, and both exchanged
        ("5x8", (5, 8), 2),
        ("4x6w", (4, 6), 1 + 3),  # and once round the closed one, about rank 0 too
        ("3x4x5", (3, 4, 5), 3),
    ],
)
def test_moves_are_permutations_that_a_grid_has(grid, shape, kept):
    made = build("all_gather", "multi_axis", cluster(grid))
    found = _moves.guessed(made, _moves.some_steps(made))
    assert len(found) == kept
    assert all(np.array_equal(np.sort(move), np.arange(made.ranks)) for move in found)
    at = np.arange(made.ranks).reshape(shape)
    assert any(np.array_equal(move, np.flip(at, 0).ravel()) for move in found)


def test_ranks_in_no_order_have_no_moves():
    made = build("all_gather", "multi_axis", cluster("6x6"))
    order = np.random.default_rng(0).permutation(36).astype(np.int32)
    strewn = replace(made, make=lambda i: _renamed(made.make(i), order))
    assert not len(_moves.guessed(strewn, _moves.some_steps(strewn)))


def _renamed(rows, order):
    return replace(rows, src=order[rows.src], dst=order[rows.dst])


def test_what_is_sent_twice_in_different_pieces_of_a_step_is_found(monkeypatch):
    """Of messages that go from holder to holder, cells are looked at in pieces: no piece sees another's."""
    from hopcast.interpret import _cells, _copies

    monkeypatch.setattr(_cells, "_PIECE", 2)
    made = build("all_to_all", "pairwise", cluster("switch:7"))
    assert _copies.prove(made)
    for at in range(len(made.make(0))):
        assert not _copies.prove(damaged(made, 0, at, "doubled"))
        assert not _copies.prove(damaged(made, 0, at, "dropped"))
    shared = build("all_gather", "multi_axis", cluster("4x4"))
    assert _copies.prove(shared)
    assert not any(_copies.prove(damaged(shared, s, 0, "doubled")) for s in range(shared.step_count))
