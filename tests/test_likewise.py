"""Sends made by moving those of rank 0: what is proved of its chunks is true of all, and of no others."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from by_sets import computes
from named_schedules import cluster, group

from hopcast import algorithms
from hopcast.interpret import CheckError, check
from hopcast.ir import likewise
from hopcast.ir.collective import EveryPair, of
from hopcast.ir.group import Hint
from hopcast.ir.schedule import one_group
from hopcast.names import InputError
from hopcast.price.steps import steps
from hopcast.simulate.flows import simulate

MADE = [
    (collective, name, place)
    for place in ("ring:7", "ring:8", "switch:6")
    for collective, name in (
        ("all_to_all", "bruck"),
        ("all_to_all", "direct"),
        ("all_to_all", "pairwise"),
        ("all_to_all", "ring"),
        ("all_gather", "direct"),
    )
]


def build(collective, name, place):
    return algorithms.get(name).build(collective, group(cluster(place)), Hint(2.0**20))


def listed(schedule):
    """The same sends, of which nobody knows how they are made."""
    return replace(schedule, make=lambda i: schedule.make(i), orbit=None)


def verdict(schedule):
    try:
        check(schedule)
    except CheckError as wrong:
        return wrong
    return None


@pytest.mark.parametrize(("collective", "name", "place"), MADE)
def test_what_is_made_for_rank_0_is_right_exactly_if_all_is(collective, name, place):
    """One number changed among those of rank 0: the short check, that of all sends and sets say the same."""
    schedule = build(collective, name, place)
    made, rng = schedule.make, np.random.default_rng(0)
    assert likewise.of_rank_0(schedule) is not None
    assert likewise.of_rank_0(listed(schedule)) is None
    caught = 0
    for column, k in itertools.product(("dst", "source", "chunk"), rng.integers(0, len(made.step), 4)):
        values = getattr(made, column).copy()
        values[k] = (values[k] + 1) % (made.each if column == "chunk" else schedule.ranks)
        wrong = replace(schedule, make=replace(made, **{column: values}), orbit=None)
        said = [verdict(one) for one in (wrong, listed(wrong))]
        assert (said[0] is None) == (said[1] is None) == computes(wrong)
        if said[0] is not None:
            caught += 1
            assert said[0].step == said[1].step
    assert caught >= (8 if made.each > 1 else 4)  # there is one shard, and its number changes to itself


@pytest.mark.parametrize(("collective", "name", "place"), MADE)
def test_the_chunks_of_rank_0_are_a_part_for_each_rank(collective, name, place):
    schedule = build(collective, name, place)
    short = likewise.of_rank_0(schedule)
    assert short.chunks * schedule.ranks == schedule.chunks
    assert sum(map(len, short.steps())) * schedule.ranks == sum(map(len, schedule.steps()))
    assert np.array_equal(np.sort(schedule.collective.goal[: short.chunks]), np.sort(short.collective.goal))


def refused():
    """Schedules that rank 0's chunks do not stand for."""
    pairs, own = build("all_to_all", "direct", "ring:6"), build("all_to_all", "ring", "ring:6")
    told = build("all_gather", "direct", "ring:6")
    task = of("all_to_all", 6)
    plain = replace(task, origin=task.origin, goal=task.goal)
    yield "pairs that may be in any order", replace(pairs, collective=plain)
    yield "messages by place in order of goals", replace(own, collective=EveryPair("all_to_all", 6))
    yield "messages in order of goals by place", replace(pairs, collective=own.collective)
    yield (
        "shards of other ranks",
        replace(told, collective=replace(told.collective, origin=np.roll(told.collective.origin, 1))),
    )
    yield "sums", replace(told, collective=of("reduce_scatter", 6))
    yield "other groups", replace(pairs, groups=one_group(6)[:, ::-1])
    yield "longer messages", replace(pairs, make=replace(pairs.make, count=pairs.make.count + 1))
    yield "over the end", replace(own, make=replace(own.make, count=own.make.count + 1))
    yield "before the first", replace(own, make=replace(own.make, chunk=own.make.chunk - 2))
    yield "more chunks than there are", replace(told, make=replace(told.make, each=2))


@pytest.mark.parametrize("schedule", [pytest.param(one, id=what) for what, one in refused()])
def test_what_is_otherwise_is_followed_as_it_is(schedule):
    assert likewise.of_rank_0(schedule) is None


@pytest.mark.parametrize("name", ["direct", "bruck"])
def test_more_messages_than_can_be_numbered_are_not_said_to_be_right(name):
    check(build("all_to_all", name, "switch:46340"))
    with pytest.raises(InputError, match="sends in one step and a check lists"):
        check(build("all_to_all", name, "switch:46341"))


@pytest.mark.parametrize("name", ["bruck", "pairwise"])
@pytest.mark.parametrize("place", ["ring:16", "ring:13", "switch:13", "torus:4x4", "dgx-h100:3"])
def test_it_takes_as_long_if_one_rank_stands_for_all(name, place):
    where = cluster(place)
    made = build("all_to_all", name, place)
    short, full = (simulate(made, where, 2.0**20, detail=False, shortcut=s) for s in (True, False))
    assert short.seconds == pytest.approx(full.seconds, rel=1e-12)
    if place.startswith("switch"):
        found = steps(made, where, 2.0**20)
        assert short.seconds == pytest.approx(found.latency + found.bandwidth, rel=1e-9)
