"""Pieces spread round by round over the ways of any network."""

import sys
from collections import Counter

import numpy as np
import pytest
from foresting import GIB, everyone, laid, slowed, wired
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast.algorithms import _ground, _spread, _trials
from hopcast.clusters import cluster
from hopcast.graph import lateness, spreading
from hopcast.graph.optimum import best_rate
from hopcast.interpret import check
from hopcast.price.steps import steps
from hopcast.simulate.flows import simulate

modest = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def joined(draw: st.DrawFn) -> spreading.Ways:
    """2 to 7 ranks on a ring with more links of four rates, and ways of two links that share some."""
    n = draw(st.integers(2, 7))
    pairs = [(r, (r + 1) % n) for r in range(n)]
    some = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8))
    pairs += [pair for pair in dict.fromkeys(some) if pair[0] != pair[1] and pair not in pairs]
    rate = draw(st.lists(st.sampled_from([1.0, 2.0, 3.0, 9.0]), min_size=n, max_size=n))
    cross = [draw(st.booleans()) for _ in pairs]  # past the port of the rank that sends
    first = np.concatenate([[0], np.cumsum([1 + c for c in cross])])
    link = [i for k, (u, _) in enumerate(pairs) for i in ([k, len(pairs) + u] if cross[k] else [k])]
    second = [1 / rate[u] for u, _ in pairs] + [1 / r for r in rate]
    src, dst = np.array(pairs).T
    return spreading.Ways(n, src, dst, first, np.array(link), np.array(second))


@modest
@given(joined(), st.integers(1, 4), st.lists(st.integers(1, 6), max_size=4), st.integers(0, 3))
def test_all_pieces_reach_all_ranks_within_the_time_of_rounds(ways, pieces, rounds, seed):
    n, unit = ways.ranks, float(ways.slowest.max())
    found = spreading.spread(ways, pieces, tuple(unit * k for k in rounds), unit, seed)
    have = {(r, r * pieces + k) for r in range(n) for k in range(pieces)}
    assert np.all(np.diff(found.round) >= 0)
    assert set(found.round.tolist()) == set(range(len(found.busy)))
    for at, busy in enumerate(found.busy):
        now = np.flatnonzero(found.round == at)
        load: Counter[int] = Counter()
        came = set()
        for way, chunk in zip(found.way[now].tolist(), found.chunk[now].tolist(), strict=True):
            assert (int(ways.src[way]), chunk) in have
            came.add((int(ways.dst[way]), chunk))
            load.update(ways.link[ways.first[way] : ways.first[way + 1]].tolist())
        assert len(came) == len(now)
        assert not came & have
        have |= came
        seconds = [count * ways.second[link] for link, count in load.items()]
        assert max(seconds) == pytest.approx(busy)
        length = unit * (rounds[at] if at < len(rounds) else 1)
        assert all(s <= length * (1 + 1e-6) or load[link] == 1 for s, link in zip(seconds, load, strict=True))
    assert len(have) == n * n * pieces


@modest
@given(joined(), st.integers(1, 3))
def test_it_is_the_same_without_numba(ways, pieces):
    unit = float(ways.slowest.max())
    compiled, plain = (_rows(ways, pieces, unit, spreading._kernel(worth)) for worth in (True, False))
    assert compiled == plain


def _rows(ways: spreading.Ways, pieces: int, unit: float, kernel: object) -> list[list[int]]:
    growth = spreading._Growth(ways, pieces, (2 * unit, unit), 0)
    growth.run = kernel
    while growth.missing:
        growth.step()
    return np.concatenate(growth.rows, 1).tolist()


@modest
@given(joined(), st.integers(1, 4), st.lists(st.integers(1, 6), max_size=4), st.integers(0, 3))
def test_put_off_sends_are_the_same_ones_and_no_later_than_they_may_be(ways, pieces, rounds, seed):
    unit = float(ways.slowest.max())
    soon = spreading.spread(ways, pieces, tuple(unit * k for k in rounds), unit, seed)
    late = lateness.late(ways, soon)
    was, now = (
        dict(zip(zip(s.way.tolist(), s.chunk.tolist(), strict=True), s.round.tolist(), strict=True))
        for s in (soon, late)
    )
    assert was.keys() == now.keys()
    assert len(late.busy) <= len(soon.busy)
    assert late.busy.sum() <= soon.busy.sum() * (1 + 1e-6)
    if len(late.busy) == len(soon.busy):
        assert all(was[send] <= now[send] for send in was)
    came = {(int(ways.dst[way]), chunk): at for (way, chunk), at in now.items()}
    for (way, chunk), at in now.items():
        owner = chunk // pieces
        assert int(ways.src[way]) == owner or came[int(ways.src[way]), chunk] < at


def test_sums_come_together_sooner_but_for_the_last_ones_over_slow_ways():
    """A fast cable and a slow one in line: what is for the middle comes early over the fast one alone."""
    src, dst = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    line = spreading.Ways(3, src, dst, np.arange(5), np.arange(4), np.array([1.0, 1.0, 4.0, 4.0]))
    soon = spreading.spread(line, 3, (), 4.0)
    late = lateness.late(line, soon)
    own, slow = line.src[late.way] == late.chunk // 3, line.slowest[late.way] > 1
    before = {(w, c): r for w, c, r in zip(soon.way, soon.chunk, soon.round, strict=True)}
    moved = late.round - [before[w, c] for w, c in zip(late.way, late.chunk, strict=True)]
    assert not moved[own & slow].any()
    assert moved[own & ~slow].max() > 0


@modest
@given(joined(), st.integers(1, 3))
def test_sends_are_put_off_alike_without_numba(ways, pieces):
    soon = spreading.spread(ways, pieces, (), float(ways.slowest.max()))
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for worth in (True, False):
            patch.setattr(lateness.dinic, "worth_compiling", lambda work, worth=worth: worth)
            late = lateness.late(ways, soon)
            found.append((late.round.tolist(), late.way.tolist(), late.chunk.tolist(), late.busy.tolist()))
    assert found[0] == found[1]


def test_without_numba_nothing_is_compiled(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    ends = np.array([0, 1])
    ways = spreading.Ways(2, ends, ends[::-1], np.arange(3), ends, np.ones(2))
    assert spreading._Growth(ways, 1, (1.0,), 0).run is spreading._round


def test_ranks_that_cannot_be_reached_are_an_error():
    ends = np.array([0, 1]), np.array([1, 2])
    line = spreading.Ways(3, *ends, np.arange(3), np.arange(2), np.ones(2))
    with pytest.raises(ValueError, match="not every rank"):
        spreading.spread(line, 1, (), 1.0)


def test_what_is_not_near_comes_over_slow_ways_once():
    """Two nodes of four that reach each other over one slow cable for each rank: each piece crosses once."""
    n, half = 8, 4
    src, dst = np.array([(u, v) for u in range(n) for v in range(n) if u != v
                         and (u // half == v // half or u % half == v % half)]).T  # fmt: skip
    slow = src // half != dst // half
    ways = spreading.Ways(n, src, dst, np.arange(len(src) + 1), np.arange(len(src)), np.where(slow, 9.0, 1.0))
    found = spreading.spread(ways, 4, (), 9.0)
    crossed = found.chunk[slow[found.way]]
    assert sorted(crossed.tolist()) == list(range(4 * n))
    assert found.busy.sum() <= 9.0 * (half + 1)


# Of the exact optimum of 8 GiB, in steps and flows: open meshes, slow cables, chips on a grid and a switch.
REACHED = {
    "mesh:4x4": 0.99,
    "mesh:3x5": 0.99,
    "v5p:2x2x4": 0.98,
    "mesh:9x8": 0.98,
    "v5p:2x2x2,slices=2": 0.97,
}


@pytest.mark.parametrize("text", REACHED)
@pytest.mark.parametrize("slow", [False, True])
def test_rounds_come_near_the_exact_optimum_of_networks_of_ranks_that_differ(text, slow):
    where = cluster(text)
    where = slowed(where, [0], 0.5) if slow and "slices" not in text else where
    mine, size = everyone(where), 8 * GIB
    wiring = wired(mine)
    optimum = _ground.optimum(wiring, False)
    made = _spread.fastest(wiring, False, float(optimum * wiring.unit), size / mine.ranks)
    schedule = _spread.schedule(wiring, False, made)
    check(schedule)
    least = size / best_rate(where.topology, mine.all_groups[0]).algbw
    priced = steps(schedule, where, size)
    assert priced.latency + priced.bandwidth <= made.time(wiring.latency, size / mine.ranks) * (1 + 1e-9)
    for seconds in (priced.latency + priced.bandwidth, simulate(schedule, where, size, detail=False).seconds):
        assert least * (1 - 1e-9) <= seconds <= least / REACHED[text]


def test_a_large_mesh_comes_near_its_bound():
    where = cluster("mesh:16x16")
    schedule = laid("all_gather", where, everyone(where))
    check(schedule)
    least = GIB / best_rate(where.topology, np.arange(256)).algbw
    assert least <= simulate(schedule, where, GIB, detail=False).seconds <= least / 0.98


@pytest.mark.parametrize("whole", [1.0, 7.3, 55.0])
@pytest.mark.parametrize("shortest", [1, 3])
@pytest.mark.parametrize("part", [1, 2, 6])
def test_rounds_make_up_the_whole(whole, shortest, part):
    found = _trials.rounds(whole, shortest, 16, part)
    assert sum(found) == int(whole * (1 + 1e-9))
    assert all(shortest <= k <= 16 for k in found[:-1])
    assert list(found[:-1]) == sorted(found[:-1], reverse=True)
