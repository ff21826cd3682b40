"""Schedules made of others are proved by what these are, and what is wrong in them is found all the same."""

from dataclasses import replace

import numpy as np
import pytest
from by_sets import computes
from grids import build, cluster, group
from wrong_sends import damaged, verdict

from hopcast import algorithms, interpret
from hopcast.interpret import CheckError, _copies, _tokens, check
from hopcast.ir.algebra import lay
from hopcast.ir.collective import of
from hopcast.ir.group import Hint
from hopcast.ir.schedule import COPY, REDUCE, Schedule, from_columns, one_group

PLACES = [("5w", ()), ("switch:5", ()), ("fat:3x2", ()), ("3x4w", ("y",))]
OPTIONS = {"fat:3x2": ("ring,channels=2", "ring,channels=1", "double_tree,channels=2")}
EVERY = [
    (collective, name, grid, over)
    for grid, over in PLACES
    for name in (*algorithms.names(), *OPTIONS.get(grid, ()))
    for collective in algorithms.parse(name)[0].collectives
    if algorithms.parse(name)[0].valid(
        collective, group(cluster(grid), over), Hint(options=algorithms.parse(name)[1])
    )
    is None
]


def inside(made):
    """Each schedule that is made of no other, and how to put another in its place."""
    parts = [
        name for name in ("of", "first", "second") if isinstance(getattr(made.make, name, None), Schedule)
    ]
    if not parts:
        yield made, lambda other: other
    for name in parts:
        for leaf, back in inside(getattr(made.make, name)):
            yield leaf, lambda other, n=name, b=back: replace(made, make=replace(made.make, **{n: b(other)}))


def kinds(made):
    """What a schedule is made by, from outside in."""
    below = [getattr(made.make, name, None) for name in ("of", "first")]
    return [
        type(made.make).__name__,
        *(k for part in below if isinstance(part, Schedule) for k in kinds(part)),
    ]


@pytest.mark.parametrize(("collective", "name", "grid", "over"), EVERY)
def test_a_wrong_send_inside_is_found_and_named_as_without_that(collective, name, grid, over):
    made = build(collective, name, cluster(grid, 1e9, 1e-6), over, size=1e3)
    check(made)
    rng = np.random.default_rng(0)
    # What is copied row by row has as many rows everywhere.
    ways = ("elsewhere",) if "Copies" in kinds(made) else ("dropped", "doubled", "elsewhere", "op")
    for leaf, back in inside(made):
        for step in {0, leaf.step_count - 1, int(rng.integers(max(leaf.step_count, 1)))}:
            for how in ways if 0 <= step < leaf.step_count and len(leaf.make(step)) else ():
                wrong = back(damaged(leaf, step, int(rng.integers(len(leaf.make(step)))), how))
                said = verdict(check, wrong)
                assert said == verdict(_tokens.check, wrong)
                assert (said is None) == computes(wrong)


PROVED = [
    ("reduce_scatter", "chain", "9", (), "Mirrored", 1),
    ("reduce", "binomial", "switch:6", (), "Mirrored", 1),
    ("all_reduce", "chain", "9", (), "Joined", 2),
    ("all_reduce", "direct", "switch:6", (), "Joined", 2),
    ("all_gather", "ring", "3x4w", ("y",), "Laid", 3),
    ("all_to_all", "ring", "fat:3x2", (), "Laid", 6),
    ("all_reduce", "ring,channels=2", "fat:3x2", (), "Copies", 2),
    ("all_reduce", "ring,channels=1", "fat:3x2", (), "Copies", 1),
]


@pytest.mark.parametrize(("collective", "name", "grid", "over", "kind", "fewer"), PROVED)
def test_what_it_is_made_of_is_enough(monkeypatch, collective, name, grid, over, kind, fewer):
    """No sum is followed, and of groups and copies none but one."""
    made = build(collective, name, cluster(grid), over)
    assert kind in kinds(made)
    monkeypatch.setattr(_tokens, "check", None)
    followed = []
    prove = _copies.prove
    monkeypatch.setattr(_copies, "prove", lambda part, once: followed.append(part) or prove(part, once))
    check(made)
    assert all(len(part.groups) == 1 for part in followed)
    rows = sum(len(rows) for part in followed for rows in part.steps())
    assert fewer * rows <= sum(map(len, made.steps()))


def test_ranks_in_another_order_are_called_so(monkeypatch):
    """Nodes whose ranks stand in another order: it is laid on places, and those are called as they are."""
    where = cluster("fat:3x2")
    mine = group(where)
    turned = replace(mine, all_groups=np.array([[4, 2, 0, 1, 3, 5]], np.int32))
    hint = Hint(options={"channels": "2"})
    small = algorithms.get("ring").build("all_gather", turned, hint)
    assert kinds(small)[:2] == ["Called", "Copies"]
    made = lay(small, turned.all_groups, where.topology.vertices, turned.hubs)
    wrong = [
        replace(small, make=replace(small.make, name=np.roll(small.make.name, 1))),
        replace(small, make=replace(small.make, name=small.make.name * 0)),
        replace(small, collective=replace(small.collective, origin=np.roll(small.collective.origin, 2))),
    ]
    for one in wrong:
        assert verdict(check, one) == verdict(_tokens.check, one) is not None
    monkeypatch.setattr(_tokens, "check", None)
    check(small)
    check(made)


# --- made otherwise than it says ---


def again(made, **changes):
    """The schedule with something else about how its steps are made."""
    return replace(made, make=replace(made.make, **changes))


def swapped(column, one, other):
    """The array with two entries in each other's place."""
    found = column.copy()
    found[one], found[other] = column[other], column[one]
    return found


def one_on(rows, chunks):
    """The sends with the next chunk in the place of each."""
    return replace(rows, chunk=((rows.chunk + 1) % chunks).astype(np.int32))


def lies():
    """Schedules that are not what they are made of, and one that is though it is made so."""
    laid = build("all_gather", "ring", cluster("3x4w"), ("y",))
    met = laid.make.where.copy()
    met[1, 0] = met[0, 0]
    yield "groups meet", replace(again(laid, where=met), groups=met)
    yield "elsewhere than its groups", again(laid, where=laid.make.where[:, ::-1].copy())
    yield "on one group twice", again(laid, where=laid.make.where[[0, 0, 2]])
    yield "laid in fewer steps", replace(laid, step_count=laid.step_count - 1)
    other = replace(laid.collective, origin=np.roll(laid.collective.origin, 1))
    yield "laid for another goal", replace(laid, collective=other)

    back = build("reduce_scatter", "chain", cluster("5"))
    yield "copied back", again(back, op=COPY)
    yield "mirrored in fewer steps", replace(back, step_count=back.step_count - 1)
    task = back.collective
    yield "sums elsewhere", replace(back, collective=replace(task, goal=np.roll(task.goal, 1)))
    gathered = build("all_gather", "direct", cluster("switch:4"))
    twice = replace(gathered, step_count=2, make=lambda i: gathered.make(0))
    summed = again(build("reduce_scatter", "direct", cluster("switch:4")), of=twice)
    yield "contributions twice", replace(summed, step_count=2)

    both = build("all_reduce", "chain", cluster("5"))
    there = both.make.second
    summed = replace(there, make=lambda i: replace(there.make(i), op=there.make(i).op + np.uint8(REDUCE)))
    yield "copies that add", again(both, second=summed)
    yield "the second half first", again(both, first=both.make.second, second=both.make.first)
    yield "the first half alone", replace(both, step_count=both.make.first.step_count)
    task = replace(there.collective, origin=np.roll(there.collective.origin, 1))
    turned = replace(there, collective=task, make=lambda i: one_on(there.make(i), there.chunks))
    yield "halves that do not meet", again(both, second=turned)

    rings = build("all_gather", "ring,channels=2", cluster("fat:3x2")).make.of
    number, name = rings.make.number, rings.make.name
    yield "chunks of two copies exchanged", again(rings, number=swapped(number, (0, 0), (1, 0)))
    yield "a chunk in both copies", again(rings, number=np.stack([number[0], number[0]]))
    yield "two ranks of a copy exchanged", again(rings, name=swapped(name, (0, 1), (0, 2)))
    yield "a rank twice in a copy", again(rings, name=np.where(name == 1, 0, name))
    order = rings.make.order
    yield "a send of a copy twice", again(rings, order=np.where(np.arange(len(order)) == 0, order[1], order))
    yield "copies of one send", again(rings, order=0 * order)
    yield "copies in fewer steps", replace(rings, step_count=rings.step_count - 1)
    yield (
        "copies for another goal",
        replace(rings, collective=replace(rings.collective, origin=np.roll(rings.collective.origin, 1))),
    )


@pytest.mark.parametrize(("what", "wrong"), [pytest.param(*lie, id=lie[0]) for lie in lies()])
def test_nothing_that_it_says_of_itself_is_taken_for_granted(what, wrong):
    said = verdict(check, wrong)
    assert said == verdict(_tokens.check, wrong)
    assert (said is None) == computes(wrong)
    assert said is not None


def test_the_way_back_needs_every_chunk_once_and_by_ranks_alone():
    made = build("all_gather", "chain", cluster("5"))
    assert _copies.prove(made, once=True)
    last = made.step_count - 1
    twice = replace(made, step_count=made.step_count + 1, make=lambda i: made.make(min(i, last)))
    assert _copies.prove(twice)
    assert not _copies.prove(twice, once=True)
    columns = {"step": [0, 1], "src": [0, 2], "dst": [2, 1], "chunk": [0, 0]}
    by_switch = from_columns(of("broadcast", 2), "written here", one_group(2), columns)
    assert _copies.prove(by_switch)
    assert not _copies.prove(by_switch, once=True)


def test_a_chunk_of_another_group_is_another_chunk():
    """The smallest that showed it: a rank passes on the chunk of that number of the group beside its own."""
    made = build("all_gather", "ring", cluster("3x4w"), ("y",))

    def strays(i):
        rows = made.make(i)
        return replace(rows, src=np.where(np.arange(len(rows)) == i, (rows.src + 4) % 12, rows.src))

    wrong = replace(made, make=strays, step_count=made.step_count)
    assert not computes(wrong)
    with pytest.raises(CheckError, match="holds a wrong value"):
        interpret.check(wrong)
