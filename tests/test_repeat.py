"""Schedules that repeat themselves: the claim holds, and to follow rounds gives what all sends do."""

from dataclasses import replace

import numpy as np
import pytest
from named_schedules import built, cluster, group

from hopcast import algorithms
from hopcast.interpret import check
from hopcast.ir import algebra
from hopcast.ir.group import Hint
from hopcast.ir.schedule import Repeat, Schedule, Sends, sends
from hopcast.simulate import flows, listing, reference, relay_steps, repeat
from hopcast.simulate.noise import Noise

MESHES = ["mesh:2x4", "mesh:3x3", "mesh:4x4", "v5e:4x8", "mesh:2x2x4", "chain:5"]


@pytest.fixture(autouse=True)
def few_sends_too(monkeypatch):
    """Rounds are followed however few they are."""
    monkeypatch.setattr(repeat, "FEW", 0)
    monkeypatch.setattr(listing, "FEW_SENDS", 0)


def trees(name: str, chunks: int, size: float, laned: bool) -> Schedule:
    """Packed trees with so many chunks each, a lane for each link, or one for each tree on it."""
    made = built("tree_packing", "all_reduce", cluster(name), size, chunks=str(chunks))
    claim = made.repeat
    assert claim is not None
    count = made.chunks // chunks if laned else 1

    def on_lanes(rows: Sends) -> Sends:
        tree = rows.chunk // chunks if laned else 0
        return replace(rows, lane=(rows.dst * count + tree).astype(np.uint16))

    return replace(
        made,
        make=lambda i: on_lanes(made.make(i)),
        lanes=made.vertices * count,
        repeat=replace(claim, rows=on_lanes(claim.rows)),
    )


def unrolled(claim: Repeat) -> np.ndarray:
    """All sends that the claim says there are, sorted."""
    parts = []
    for k in range(claim.times):
        rows = claim.rows
        columns = (rows.src, rows.dst, rows.chunk + k * claim.chunks, rows.count, rows.op, rows.lane)
        parts.append(np.stack([claim.step + k * claim.period, *columns], 1).astype(np.int64))
    whole = np.concatenate(parts)
    return whole[np.lexsort(whole.T)]


@pytest.mark.parametrize("name", algorithms.names())
@pytest.mark.parametrize("where", ["mesh:2x4", "mesh:3x3", "torus:4x4", "ring:6", "switch:6", "v5e:4x8"])
def test_every_round_is_as_the_schedule_claims(name, where):
    one, mine = algorithms.get(name), group(cluster(where))
    for collective in one.collectives:
        hint = Hint(2.0**26, max(mine.latency))
        if one.valid(collective, mine, hint) is not None:
            continue
        made = one.build(collective, mine, hint)
        if made.repeat is None:
            continue
        columns = made.columns()
        rows = np.stack([columns[c] for c in ("step", "src", "dst", "chunk", "count", "op", "lane")], 1)
        assert np.array_equal(rows[np.lexsort(rows.T)], unrolled(made.repeat))


def test_packed_trees_claim_to_repeat_themselves():
    assert built("tree_packing", "all_reduce", cluster("mesh:2x4"), 2.0**30).repeat is not None


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("laned", [False, True])
@pytest.mark.parametrize("size", [1e4, 1e7, 1e9])
def test_following_rounds_gives_the_time_of_all_sends(name, laned, size):
    where, made = cluster(name), trees(name, 12, size, laned)
    check(made)
    found = repeat.passed(made, where, size)
    full = flows.simulate(replace(made, repeat=None), where, size, shortcut=False)
    assert found is not None
    assert found.seconds == pytest.approx(full.seconds, rel=1e-12)
    assert np.allclose(found.load, full.load, rtol=1e-12)


@pytest.mark.parametrize("name", ["mesh:2x4", "mesh:3x3"])
@pytest.mark.parametrize("laned", [False, True])
def test_following_rounds_agrees_with_the_definition(name, laned):
    where, made = cluster(f"{name},bandwidth=45GB/s,latency=1us"), trees(name, 6, 1e6, laned)
    found, slow = repeat.passed(made, where, 1e6), reference.simulate(made, where, 1e6)
    assert found is not None
    assert found.seconds == pytest.approx(slow.seconds, rel=1e-9)


@pytest.mark.parametrize("name", [*MESHES, "v5e:8x16"])
@pytest.mark.parametrize("latency", ["0", "1us"])
def test_rounds_that_are_alike_are_passed_over(name, latency):
    where, made = cluster(f"{name},latency={latency}"), trees(name, 400, 1e9, laned=False)
    found, full = repeat.passed(made, where, 1e9), relay_steps.passed(made, where, 1e9, 0.0)
    assert found is not None
    assert full is not None
    assert found.seconds == pytest.approx(full.seconds, rel=1e-9)
    assert found.latency == pytest.approx(full.latency, rel=1e-6, abs=1e-12)
    assert np.allclose(found.load, full.load, rtol=1e-12)
    assert found.sends < full.sends / 4


def test_links_of_different_speed_are_followed_too():
    slow = cluster("mesh:3x3,bandwidth=10GB/s")
    rates = slow.topology.bandwidth * np.linspace(1.0, 2.0, slow.topology.links)
    where = replace(slow, topology=slow.topology.with_links(rates))
    made = trees("mesh:3x3", 200, 1e8, laned=False)
    found, full = repeat.passed(made, where, 1e8), relay_steps.passed(made, where, 1e8, 0.0)
    assert found is not None
    assert full is not None
    assert found.seconds == pytest.approx(full.seconds, rel=1e-9)


def test_several_groups_are_followed_at_once():
    where = cluster("mesh:3x3x2")
    mine, made = group(where, ("x", "y")), trees("mesh:3x3", 30, 1e8, laned=False)
    laid = algebra.lay(made, mine.all_groups, where.topology.vertices, mine.hubs)
    found, full = repeat.passed(laid, where, 1e8), relay_steps.passed(laid, where, 1e8, 0.0)
    assert found is not None
    assert full is not None
    assert found.seconds == pytest.approx(full.seconds, rel=1e-9)
    assert np.allclose(found.load, full.load)


def test_what_takes_other_times_is_left_to_others():
    where, made = cluster("mesh:2x4"), trees("mesh:2x4", 12, 1e8, laned=False)
    assert repeat.passed(made, where, 1e8, gamma=1e-12) is None
    assert repeat.passed(made, where, 1e8, noise=Noise(jitter=0.1)) is None
    assert repeat.passed(made, cluster("switch:8"), 1e8) is None  # a switch crossing has two links
    assert repeat.passed(replace(made, share=np.full(made.chunks, 1 / made.chunks)), where, 1e8) is None


def test_rounds_that_touch_the_same_chunk_are_left_to_others():
    made = trees("mesh:2x4", 12, 1e8, laned=False)
    claim = made.repeat
    assert claim is not None
    assert repeat.passed(replace(made, repeat=replace(claim, times=13)), cluster("mesh:2x4"), 1e8) is None


def test_a_schedule_with_other_names_for_its_ranks_claims_no_rounds():
    made = trees("mesh:2x4", 12, 1e8, laned=False)
    other = algebra.relabel(made, np.arange(made.vertices, dtype=np.int32)[::-1].copy())
    assert other.repeat is None  # its first round is in the old names


def test_progress_is_told():
    told: list[float] = []
    made = trees("v5e:8x16", 1200, 1e9, laned=True)
    assert repeat.passed(made, cluster("v5e:8x16"), 1e9, progress=told.append) is not None
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] < 1


def test_a_send_alone_takes_its_latency_and_bytes_each_round():
    where = cluster("chain:2,bandwidth=1GB/s,latency=1us")
    made = built("tree_packing", "all_reduce", where, 1e9, chunks="10")
    alone = replace(made, repeat=Repeat(np.zeros(1, np.int64), sends([0], [1], [0]), 1, made.chunks))
    found = repeat.passed(alone, where, 1e9)
    assert found is not None
    assert found.seconds == pytest.approx(1.0 + made.chunks * 1e-6, rel=1e-9)
