"""Sends that never meet: by arrays where one line of sends goes round, else compiled; both give the same."""

from dataclasses import replace

import numpy as np
import pytest
from flowing import uneven
from grids import build, cluster

from hopcast.simulate import flows, reference, relay, relay_line
from hopcast.simulate.noise import Noise

W, HOP, MIB = 45e9, 1e-6, 2**20
LINES = [("all_gather", "ring"), ("reduce_scatter", "ring"), ("all_reduce", "ring")]


def both(monkeypatch, made, where, *more):
    """What the arrays and what the compiled pass give; None of what does not fit the arrays."""
    found = []

    def watched(plan, progress):
        found.append(passed(plan, progress))
        return None

    passed = relay_line.go
    monkeypatch.setattr(relay_line, "go", watched)
    compiled = relay.relay(made, where, *more)
    monkeypatch.setattr(relay_line, "go", passed)
    return found[0], compiled


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("collective", "algorithm"), LINES)
@pytest.mark.parametrize("grid", ["3w", "7w", "16w"])
def test_a_line_of_sends_takes_the_same_times_by_arrays(grid, collective, algorithm, seed, monkeypatch):
    where = uneven(cluster(grid, W, HOP), seed)
    made = build(collective, algorithm, where)
    line, compiled = both(monkeypatch, made, where, 1e6, 1e-11)
    slow = reference.simulate(made, where, 1e6, 1e-11)
    assert line[0] == pytest.approx(compiled.seconds, rel=1e-12)
    assert line[0] == pytest.approx(slow.seconds, rel=1e-11)
    for latency in (compiled.latency, slow.critical_latency()):
        assert line[1] == pytest.approx(latency, rel=1e-9)


@pytest.mark.parametrize(("collective", "algorithm"), LINES)
def test_a_long_ring_with_one_slow_cable(collective, algorithm, monkeypatch):
    where = cluster("700w", W, HOP)
    pace = where.topology.bandwidth.copy()
    pace[[200, 201]] /= 2
    where = replace(where, topology=where.topology.with_links(pace))
    made = build(collective, algorithm, where)
    line, compiled = both(monkeypatch, made, where, MIB, 0.0, None, Noise(slow={5: 1.7}))
    assert line == pytest.approx((compiled.seconds, compiled.latency), rel=1e-9)


@pytest.mark.parametrize(
    ("grid", "collective", "algorithm", "noise"),
    [
        ("7w", "all_gather", "bidirectional_ring", None),
        ("4wx4w", "all_reduce", "sequential_rings", None),
        ("7w", "all_reduce", "ring", Noise(0.01)),
        ("7w", "all_reduce", "ring", Noise(late={1: 1e-5})),
    ],
)
def test_what_is_no_line_or_is_drawn_for_each_send_is_compiled(
    grid, collective, algorithm, noise, monkeypatch
):
    where = uneven(cluster(grid, W, HOP), 1)
    made = build(collective, algorithm, where)
    line, compiled = both(monkeypatch, made, where, 1e6, 0.0, None, noise)
    slow = reference.simulate(made, where, 1e6, 0.0, noise)
    assert compiled.seconds == pytest.approx(slow.seconds, rel=1e-9)
    assert line is None or (algorithm == "sequential_rings" and line[0] == pytest.approx(slow.seconds))


def test_links_of_other_latencies_are_not_a_line(monkeypatch):
    where = cluster("5w", W, HOP)
    lag = where.topology.latency * np.linspace(1, 2, where.topology.links)
    where = replace(where, topology=replace(where.topology, latency=lag))
    made = build("all_gather", "ring", where)
    line, compiled = both(monkeypatch, made, where, 1e6, 0.0)
    slow = reference.simulate(made, where, 1e6)
    assert line is None
    assert compiled.seconds == pytest.approx(slow.seconds, rel=1e-11)
    assert compiled.latency == pytest.approx(slow.critical_latency(), rel=1e-9)


def test_a_long_line_can_be_watched():
    where, seen = uneven(cluster("1100w", W, HOP), 0), []
    flows.simulate(build("all_reduce", "ring", where), where, MIB, detail=False, progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert 0 <= seen[0] < seen[-1] < 1
