"""Steps pulled when a lane needs them, and dropped when they are over: the same times as of a list of all."""

from dataclasses import replace

import numpy as np
import pytest
from flowing import GIB, HOP, W, compiled, every, uneven  # noqa: F401
from grids import build, cluster
from hypothesis import given, settings
from test_engine import shuffled
from test_flows import problems

from hopcast.ir.collective import of
from hopcast.ir.schedule import from_columns, one_group
from hopcast.names import InputError
from hopcast.simulate import (
    flows,
    general,
    listing,
    network,
    noise,
    one_link,
    one_link_engine,
    window,
    windowed,
)
from hopcast.simulate.noise import Noise

GRIDS = ["5w", "2x4", "3wx4w", "4x4", "2x3x2", "4wx1x3", "switch:6"]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """A few sends are pulled at a time, so that there are many windows."""
    monkeypatch.setattr(window, "ROOM", 5)


def whole(made, where, size=1e6, gamma=0.0, noisy=None):
    """All sends at once."""
    step, rows = listing.listed(made)
    problem = listing.problem(made, where, size, gamma, step, rows)
    timed = problem if noisy is None else noise.applied(problem, noisy, step, rows)
    return problem, one_link.run(timed) or general.run(timed)


def same(found, problem, ran, name=""):
    assert found.seconds == pytest.approx(ran.seconds, rel=1e-12), name
    np.testing.assert_allclose(found.load, problem.load(), rtol=1e-12, err_msg=name)
    assert found.sends == len(ran.end), name


@pytest.mark.parametrize("alpha", [0.0, HOP])
@pytest.mark.parametrize("grid", GRIDS)
def test_every_algorithm_takes_the_times_of_all_its_sends_listed(grid, alpha):
    narrower = 0
    for name, made, where in every(grid, alpha):
        for place in (where, uneven(where, 3)):
            found = windowed.run(made, place, 1e6, 1e-12)
            if found is None:
                assert made.step_count < 2, name
                continue
            same(found, *whole(made, place, gamma=1e-12), name)
            narrower += found.most < found.sends
    assert narrower > 20


@pytest.mark.parametrize("grid", ["5w", "2x4", "3wx4w", "4x4", "switch:6"])
def test_the_latency_of_the_critical_path_is_carried_along(grid):
    """No two sends end at the same time, so it is clear which of them was waited for."""
    for name, made, where in every(grid, HOP):
        place = uneven(where, 5)
        found = windowed.run(made, place, 1e6)
        if found is not None:
            assert found.latency == pytest.approx(whole(made, place)[1].latency(), rel=1e-9), name


@settings(deadline=None, max_examples=60)
@given(problems())
def test_any_schedule_on_any_network_takes_the_times_of_all_its_sends_listed(problem):
    made, where, gamma = problem
    found = windowed.run(made, where, 1e6, gamma)
    if found is not None:
        same(found, *whole(made, where, gamma=gamma))


def test_what_is_reduced_later_takes_its_time():
    """The first that is pulled only copies."""
    rows = {"step": [0, 1], "src": [0, 0], "dst": [1, 1], "chunk": [0, 0], "op": [0, 1]}
    made, where = from_columns(of("all_reduce", 2), "late", one_group(2), rows), cluster("2", W, 0.0)
    for gamma in (0.0, 1e-9):
        same(windowed.run(made, where, 1e6, gamma), *whole(made, where, gamma=gamma))
    assert windowed.run(made, where, 1e6, 1e-9).seconds > windowed.run(made, where, 1e6).seconds


@pytest.mark.parametrize("seed", range(3))
def test_rounding_does_not_grow_into_a_difference(seed):
    """Rings in random order share links: a difference in the last digit would be seen at the end."""
    made, where = shuffled("8wx8w", seed), cluster("8wx8w", W, HOP)
    assert windowed.run(made, where, GIB).seconds == whole(made, where, GIB)[1].seconds


@pytest.mark.parametrize("room", [1, 40, 10**6])
def test_it_does_not_matter_how_many_are_pulled(monkeypatch, room):
    made, where = build("all_gather", "multi_axis", cluster("4x5", W, HOP)), uneven(cluster("4x5", W, HOP), 1)
    monkeypatch.setattr(window, "ROOM", room)
    found = windowed.run(made, where, 1e6)
    same(found, *whole(made, where))
    assert (found.most < found.sends) == (room < 100)


def test_jitter_and_slow_ranks_are_those_of_the_listed_sends():
    where = cluster("4x4", W, HOP)
    made, noisy = build("all_reduce", "multi_axis", where), Noise(0.05, seed=3, slow={5: 2.0})
    same(windowed.run(made, where, GIB, uneven=noisy), *whole(made, where, GIB, noisy=noisy))
    assert windowed.run(made, where, GIB, uneven=Noise(late={1: 1e-3})) is None


def test_where_too_many_sends_meet_on_a_link_they_are_followed_by_the_other_engine():
    many = one_link_engine.CROWD + 1
    rows = {"step": np.repeat([0, 1], many), "src": np.repeat([0, 1], many), "dst": np.repeat([1, 0], many)}
    rows |= {"chunk": np.tile(np.arange(many), 2), "lane": np.tile(np.arange(many), 2)}
    made = from_columns(of("broadcast", 2, parts=many), "star", one_group(2), rows)
    where = cluster("2", W, HOP)
    same(windowed.run(made, where, 1e6), *whole(made, where))


def test_sends_that_are_stuck_are_named_with_what_they_wait_for():
    where = cluster("6", W, HOP)
    made = build("all_gather", "chain", where)
    book = window.look(made, 6, 1e6)
    paths = network.paths(where, *(c.astype(np.int32) for c in np.divmod(book.code, 6)))
    speed = where.topology.bandwidth.copy()
    speed[int(where.topology.port[3, 0, 0])] = 0.0
    stopped = replace(where, topology=where.topology.with_links(speed))
    for one in (True, False):
        view = window.Window(made, stopped, 1e6, 0.0, None, book, paths)
        if one:  # links of which each shares itself out are not asked whether they are dead
            assert windowed._followed(view, one, None) is None
            continue
        with pytest.raises(InputError, match=r"sends never arrive; .* whose link x 3>4 has no bandwidth"):
            windowed._followed(view, one, None)


def test_progress_goes_up_to_the_end(monkeypatch):
    monkeypatch.setattr(window, "ROOM", 1)
    seen, where = [], uneven(cluster("24", W, HOP), 0)
    windowed.run(build("all_gather", "chain", where), where, 1e6, progress=seen.append)
    assert len(seen) > 5
    assert np.all(np.diff(seen) >= 0)
    assert 0 <= seen[0] < 0.5 < seen[-1] <= 1


def test_what_is_not_asked_for_in_detail_is_pulled():
    where = uneven(cluster("5x5", W, HOP), 2)
    made = build("all_gather", "multi_axis", where)
    short, full = (flows.simulate(made, where, 1e6, detail=detail, kept=0) for detail in (False, True))
    assert short.seconds == full.seconds
    assert "at a time" in short.how
    assert short.pulled
    assert not full.pulled
    assert not short.detailed
    assert full.detailed
    assert short.critical_latency() == pytest.approx(full.critical_latency(), rel=1e-12)


def test_what_is_asked_for_in_detail_is_pulled_where_it_is_too_much(monkeypatch):
    where = uneven(cluster("5x5", W, HOP), 2)
    made = build("all_gather", "multi_axis", where)
    full = flows.simulate(made, where, 1e6)
    monkeypatch.setattr(listing, "MOST_SENDS", 300)
    brief = flows.simulate(made, where, 1e6, most=10**6, kept=0)
    assert len(full.rows) > 300
    assert not brief.detailed
    assert brief.seconds == full.seconds
    with pytest.raises(listing.TooManyError, match="more than 100 sends"):
        flows.simulate(made, where, 1e6, most=100, kept=0)


def test_cells_in_a_table_are_waited_for_as_cells_in_an_array(monkeypatch):
    """Sends touch few of the cells that there are: an all_to_all over many steps."""
    from hopcast.simulate import arcs_engine

    made = build("all_to_all", "pairwise", cluster("switch:40"))
    step, rows = listing.listed(made)
    plain = arcs_engine.compiled(step, rows, 40, made.chunks)
    monkeypatch.setattr(arcs_engine, "_FEW_CELLS", 0)
    monkeypatch.setattr(arcs_engine, "_SPARSE", 0)
    table = arcs_engine.compiled(step, rows, 40, made.chunks)
    for column in ("start", "target", "pending"):
        assert np.array_equal(getattr(plain, column), getattr(table, column))


def test_memory_is_that_of_the_window(monkeypatch):
    """Ten times as many steps keep no more sends."""
    monkeypatch.setattr(window, "ROOM", 100)
    most = []
    for times in (100, 1000):
        chunks = 8 * times
        step, lane = np.divmod(np.arange(chunks), 8)
        rows = {"step": np.repeat(step, 2), "src": np.tile([0, 1], chunks), "dst": np.tile([1, 2], chunks)}
        rows |= {"chunk": np.repeat(np.arange(chunks), 2), "lane": np.repeat(lane, 2)}
        rows["step"] = rows["step"] + rows["src"]
        made = from_columns(of("broadcast", 3, parts=chunks), "pipe", one_group(3), rows)
        most.append(windowed.run(made, cluster("3", W, HOP), 1e6).most)
    assert most[0] == most[1] < 260
