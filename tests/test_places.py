"""GPU clusters by symmetry: whatever stands for others, the answer is that of all sends.

Sources: [full] every send followed by the engine; [reference] the rules in plain numpy.
"""

from dataclasses import replace

import numpy as np
import pytest
from flowing import MIB, compiled  # noqa: F401

from hopcast import algorithms
from hopcast.clusters import cluster
from hopcast.ir import algebra
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.simulate import flows, listing, reference, wave

MOST = 60_000  # sends of the full solve
NAMES = (
    "dgx-h100", "dgx-h100:4", "dgx-h100:3", "dgx-h100:64", "dgx-h100:40,rails=off,oversubscription=2",
    "gb200-nvl72:2", "mi300x:2", "dgx1-v100:2", "dgx-h100:4,routing=ecmp", "v5e:4x4,slices=2", "v5e:8x16",
)  # fmt: skip


def laid(where, collective, algorithm, size, over=()):
    named, options = algorithms.parse(algorithm)
    mine = group(where, physical(where.topology), over)
    made = named.build(collective, mine, Hint(size, options=options))
    return algebra.lay(made, mine.all_groups, where.topology.vertices, mine.hubs)


def alike(where, size, over=()):
    """All schedules in which ranks do alike, and that are few enough sends."""
    mine = group(where, physical(where.topology), over)
    for name in algorithms.names():
        one = algorithms.get(name)
        for collective in one.collectives:
            if one.valid(collective, mine, Hint(size)) is not None:
                continue
            made = laid(where, collective, name, size, over)
            if made.orbit is None or made.orbit() is None:
                continue
            if len(made.orbit().step) * made.groups.size <= MOST:
                yield f"{collective} {name}", made


def agree(short, full):
    assert short.seconds == pytest.approx(full.seconds, rel=1e-12)
    np.testing.assert_allclose(short.load, full.load, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("over", [(), ("node",)])
@pytest.mark.parametrize("name", NAMES)
def test_what_stands_for_others_takes_the_same_time(name, over):
    """[full]"""
    where, tried, fewer = cluster(name), 0, 0
    if over and over[0] not in [a.name for a in where.topology.axes]:
        return
    for what, made in alike(where, 16 * MIB, over):
        short = flows.simulate(made, where, 16 * MIB, gamma=1e-12, detail=False)
        full = flows.simulate(made, where, 16 * MIB, gamma=1e-12, shortcut=False)
        agree(short, full)
        tried, fewer = tried + 1, fewer + (0 < short.solved < full.solved)
        assert short.latency <= short.seconds, what
    assert tried > 2
    assert fewer > 2 or "ecmp" in name


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
@pytest.mark.parametrize("pieces", [1, 3])
def test_levels_go_on_as_the_reference_says(collective, pieces):
    """[reference]"""
    where = cluster("dgx-h100:3")
    made = laid(where, collective, f"hierarchical,pieces={pieces}", MIB)
    short, slow = flows.simulate(made, where, MIB, detail=False), reference.simulate(made, where, MIB)
    assert short.solved < len(slow.rows)
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-9)
    np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)


@pytest.mark.parametrize(("collective", "algorithm"), [("all_reduce", "hierarchical"), ("all_to_all", "pxn")])
def test_a_slow_link_stands_for_no_other(collective, algorithm):
    """[full] no class has a link that differs."""
    where = cluster("dgx-h100:4")
    slow = where.topology.bandwidth.copy()
    slow[0] /= 3
    where = replace(where, topology=where.topology.with_links(slow))
    made = laid(where, collective, algorithm, 16 * MIB)
    short = flows.simulate(made, where, 16 * MIB, detail=False)
    full = flows.simulate(made, where, 16 * MIB, shortcut=False)
    agree(short, full)
    assert short.how.startswith("every send")


@pytest.mark.parametrize(
    ("name", "collective", "algorithm", "solved"),
    [
        ("dgx-h100:1024", "all_reduce", "hierarchical,pipeline=off", 128 * 2060),  # nodes of a pod
        ("dgx-h100:1024", "all_to_all", "direct", 8191),
        ("dgx-h100:1024", "all_to_all", "pxn", 1023 * 8 + 7 + 7),
        ("dgx-h100:1024", "all_to_all", "hierarchical,pieces=1", 1023 * 8 + 7),
        ("dgx-h100:200", "all_reduce", "hierarchical,pipeline=off", 200 * 412),  # only rails are alike
        ("gb200-nvl72:64", "all_reduce", "bruck", 26 * 8 * 72),  # a rank each of the racks of a unit
    ],
)
def test_thousands_of_gpus_are_answered_by_few_sends(name, collective, algorithm, solved):
    where, size = cluster(name), 2**30
    made = laid(where, collective, algorithm, size)
    found = flows.simulate(made, where, size, detail=False)
    busy = found.load / where.topology.bandwidth
    assert found.seconds >= busy.max()
    assert found.solved == solved


@pytest.mark.parametrize("seed", range(30))
def test_where_two_bounds_of_a_wave_meet_they_are_its_end(seed):
    """[full] and that they meet where the busiest link has the longest latency, but not everywhere."""
    rng = np.random.default_rng(seed)
    name = (
        "dgx-h100:4,oversubscription=4",
        "dgx-h100:6,routing=ecmp",
        "mesh:4x4",
        "torus:3x5",
        "gb200-nvl72:2",
    )[seed % 5]
    where = cluster(name)
    made = laid(where, "permute" if seed % 2 else "all_to_all", "direct", 2**20)
    if seed % 3 == 0:
        speed = where.topology.bandwidth * rng.uniform(0.3, 1, where.topology.links)
        where = replace(where, topology=where.topology.with_links(speed))
    step, rows = listing.listed(made)
    found = wave.ended(listing.problem(made, where, 2**20, 0.0, step, rows))
    full = flows.simulate(made, where, 2**20, shortcut=False)
    if found is not None:
        assert found[0] == pytest.approx(full.seconds, rel=1e-12)
    met = name.endswith("=4") and seed % 3
    assert found is not None or not met
