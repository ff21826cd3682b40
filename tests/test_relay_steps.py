"""Sends that never meet, of ranks that do not do alike: the same times as of every send, or no answer."""

from dataclasses import replace

import numpy as np
import pytest
from flowing import compiled, every, uneven  # noqa: F401
from grids import build, cluster

from hopcast.ir.collective import of
from hopcast.ir.schedule import from_columns, one_group
from hopcast.price.steps import Router
from hopcast.routing import routes
from hopcast.simulate import flows, reference, relay_steps
from hopcast.simulate.noise import Noise

W, HOP, MIB, GAMMA = 45e9, 1e-6, 2**20, 1e-11
NOISE = Noise(0.05, seed=1, late={2: 1e-5}, slow={1: 3.0})
ALWAYS = {  # grids, and what takes this way there whatever the speeds of links
    "5": ("all_gather chain", "broadcast pipelined_chain", "reduce pipelined_chain"),
    "6w": ("all_reduce ring", "all_reduce bidirectional_ring", "broadcast pipelined_chain"),
    "switch:5": ("all_gather ring",),
    "3x4": ("all_gather synthesized",),
    "3wx4w": ("all_reduce sequential_rings",),
    "fat:3x2": (),
}


@pytest.mark.parametrize("noise", [None, NOISE], ids=str)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("grid", list(ALWAYS))
def test_every_algorithm_takes_the_times_of_every_send(grid, seed, noise):
    taken = set()
    for name, made, where in every(grid, HOP):
        where = where if seed is None else uneven(where, seed)
        short = relay_steps.passed(made, where, 1e6, GAMMA, None, noise)
        if short is None:
            continue
        taken.add(name)
        full = flows.simulate(made, where, 1e6, GAMMA, uneven=noise)
        assert short.seconds == pytest.approx(full.seconds, rel=1e-11), name
        np.testing.assert_allclose(short.load, full.load, rtol=1e-9, err_msg=name)
        assert short.sends == len(full.rows)
        if noise is None:
            assert short.latency == pytest.approx(full.latency, rel=1e-9), name
    assert taken >= set(ALWAYS[grid])
    assert taken or grid == "fat:3x2"


@pytest.mark.parametrize(
    ("collective", "algorithm"), [("all_reduce", "chain"), ("broadcast", "pipelined_chain")]
)
def test_a_chain_of_64_takes_the_times_of_the_reference(collective, algorithm):
    where = cluster("64", W, HOP)
    made = build(collective, algorithm, where, size=MIB)
    short, slow = flows.simulate(made, where, MIB, detail=False), reference.simulate(made, where, MIB)
    assert short.how.startswith("sends never meet: all ")
    assert short.seconds == pytest.approx(slow.seconds, rel=1e-9)
    assert short.latency == pytest.approx(slow.critical_latency(), rel=1e-9)
    np.testing.assert_allclose(short.load, slow.load, rtol=1e-9)


def two(second_lane, steps=(0, 1), blocks=1):
    """Rank 0 sends two chunks to rank 1, each ``blocks`` long."""
    columns = {"step": list(steps), "src": [0, 0], "dst": [1, 1], "chunk": [0, blocks], "count": blocks,
               "lane": [0, second_lane]}  # fmt: skip
    return from_columns(of("broadcast", 3, np.zeros(2 * blocks)), "two", one_group(3), columns)


def test_lanes_that_meet_on_a_link_are_left_to_others():
    """In one lane the second waits for the first; in two they share the link. By hand."""
    where = cluster("3w", 1.0, 0.0)
    assert relay_steps.passed(two(0), where, 2.0, 0.0).seconds == 2.0
    assert relay_steps.passed(two(1), where, 2.0, 0.0) is None
    assert relay_steps.passed(two(0, (0, 0)), where, 2.0, 0.0) is None
    assert flows.simulate(two(1), where, 2.0, detail=False).seconds == pytest.approx(2.0)


def test_sends_of_several_chunks_wait_for_the_latest_of_them():
    """Rank 1 passes on two chunks, of which the second came later; the bytes of both. By hand."""
    columns = {"step": [0, 1, 2], "src": [0, 0, 1], "dst": [1, 1, 2], "chunk": [0, 1, 0], "count": [1, 1, 2]}
    made = from_columns(of("broadcast", 3, np.zeros(2)), "relay", one_group(3), columns)
    where = cluster("3", 1.0, 0.25)
    found = relay_steps.passed(made, where, 2.0, 0.0)
    assert (found.seconds, found.latency, found.sends) == (4.75, 0.75, 3)


def test_dead_links_and_ties_are_left_to_others():
    where = cluster("4w", W, HOP)
    gone = where.topology.bandwidth.copy()
    gone[0] = 0.0
    made = build("all_gather", "chain", where)
    assert relay_steps.passed(made, where, MIB, 0.0) is not None
    detour = replace(where, topology=where.topology.with_links(gone))
    found = relay_steps.passed(made, detour, MIB, 0.0)
    whole = flows.simulate(made, detour, MIB)
    assert found is None or found.seconds == pytest.approx(whole.seconds, rel=1e-11)
    halves = build("all_to_all", "pairwise", where)  # two hops: half of the bytes each way
    assert relay_steps.passed(halves, where, MIB, 0.0) is None


@pytest.mark.parametrize("grid", ["5w", "4wx3", "4wx4w", "switch:4", "fat:3x2"])
def test_routes_learned_bit_by_bit_are_the_routes(grid):
    where, rng = cluster(grid, W, HOP), np.random.default_rng(0)
    chips, router = where.topology.chips, Router(where, 0)
    for many in (1, 3, 20, 7):
        src = rng.integers(0, chips, many).astype(np.int32)
        dst = (src + rng.integers(1, chips, many).astype(np.int32)) % chips
        some, whole = router.of(src, dst), routes(where, src, dst)
        for column in ("pair", "weight", "start", "links", "latency"):
            np.testing.assert_array_equal(getattr(some, column), getattr(whole, column))
        router.learn(dst, src)


def test_a_long_chain_can_be_watched_and_crowded_steps_are_left_at_once():
    where, seen = cluster("300", W, HOP), []
    made = build("all_gather", "chain", where)
    flows.simulate(made, where, MIB, detail=False, progress=seen.append)
    assert seen == sorted(seen)
    assert 0 <= seen[0] < seen[-1] < 1
    far = build("all_gather", "recursive_doubling", cluster("128w", W, HOP))
    assert relay_steps.passed(far, cluster("128w", W, HOP), MIB, 0.0) is None
    large = build("all_gather", "ring", cluster("2100w", W, HOP))
    assert relay_steps.passed(large, cluster("2100w", W, HOP), MIB, 0.0) is None
