"""No closed form is below the bound: at half duplex, on logical axes in any order, beside faults."""

from collections.abc import Iterator
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from grids import cluster as small
from grids import group as group_on
from hypothesis import HealthCheck, assume, given, settings
from refused import one_line_error

import hopcast as hc
from hopcast import algorithms
from hopcast.ir.collective import NAMES, PAIRS
from hopcast.ir.group import Cost, Hint
from hopcast.names import InputError
from hopcast.predict import Answer, Choice, of_choice
from hopcast.question import Question
from hopcast.verbs import ask

CLOSE = 1 - 1e-9
SIZE = 1e8
LENGTHS = {
    "ring": [(2,), (3,), (6,), (8,), (16,)], "chain": [(2,), (5,), (8,)],
    "torus": [(2, 8), (4, 4), (3, 5), (2, 3, 4)], "mesh": [(2, 4), (4, 4), (3, 2, 2)],
    "switch": [(2,), (6,), (8,)], "full_mesh": [(5,), (8,)], "hypercube": [(3,), (4,)],
}  # fmt: skip
MACHINES = ("dgx-h100", "dgx-h100:2", "dgx-h100:4,oversubscription=2", "v5e:4x4,slices=2", "v5e:2x4",
            "v5p:4x4x4", "7x:2x2x4")  # fmt: skip
MESHES = {4: ("a=2,b=2",), 8: ("a=2,b=4", "a=4,b=2"), 12: ("a=3,b=4", "a=6,b=2"), 15: ("a=3,b=5",),
          16: ("a=4,b=4", "a=2,b=8", "a=8,b=2"), 24: ("a=4,b=6", "a=8,b=3", "a=2,b=3,c=4")}  # fmt: skip


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A collective on one of the generic families or machines, over axes of its own or of a logical mesh."""
    words: dict[str, object] = {}
    if draw(st.integers(0, 3)):
        family = draw(st.sampled_from(sorted(LENGTHS)))
        shape = "x".join(map(str, draw(st.sampled_from(LENGTHS[family]))))
        half = ",duplex=half" * draw(st.booleans())
        where = f"{family}:{shape},bandwidth=45GB/s,latency={draw(st.sampled_from(['0', '1us']))}{half}"
    else:
        where = draw(st.sampled_from(MACHINES))
    topology = hc.cluster(where).topology
    meshes = MESHES.get(topology.chips, ())
    if meshes and draw(st.booleans()):
        words = {"mesh": draw(st.sampled_from(meshes)), "order": draw(st.sampled_from(["row", "jax"]))}
        names = [axis.split("=")[0] for axis in str(words["mesh"]).split(",")]
    else:
        names = [axis.name for axis in topology.axes]
    words["over"] = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    fault = draw(st.sampled_from(["", "", "slow", "dead"]))
    if fault:
        link = draw(st.integers(0, topology.links - 1))
        ends = ":".join(topology.place(int(v)) for v in (topology.src[link], topology.dst[link]))
        words[fault] = [ends + "=0.5" * (fault == "slow")]
    name = draw(st.sampled_from([n for n in NAMES if n != "all_to_all_v"]))
    try:
        return ask.question(name, where, size=SIZE, **words)[0]
    except InputError:  # a mesh that does not fit these axes, or a cable that the cluster has not
        assume(False)
        raise


def forms(question: Question) -> Iterator[tuple[Choice, Cost]]:
    """Every algorithm that fits and has a closed form, and it."""
    asked = question.collective, question.group, question.hint
    for one in map(algorithms.get, algorithms.names()):
        cost = one.cost(*asked) if one.valid(*asked) is None else None
        if cost is not None:
            yield Choice(one), cost


@settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)  # fmt: skip
@given(questions())
def test_no_closed_form_is_below_its_bound_nor_by_max_below_that_of_bandwidth(
    question: Question,
) -> None:
    assume(question.group.ranks > 1)
    for choice, cost in forms(question):
        added = of_choice(question, choice, "formula", "add")
        assert added.time >= added.bound.seconds * CLOSE, (question.cluster.name, choice.name)
        assert added.bound.seconds >= added.limit.seconds * CLOSE
        assert cost.total("max") >= added.bound.bandwidth_seconds * CLOSE, (
            question.cluster.name,
            choice.name,
        )


SHARED = [  # cluster, mesh, over, links that both ways or several groups use
    ("ring:6,duplex=half", None, None), ("chain:2,duplex=half", None, None),
    ("torus:4x4,duplex=half", None, "x"), ("mesh:3x4,duplex=half", None, None),
    ("switch:8,duplex=half", None, None), ("hypercube:3,duplex=half", None, None),
    ("torus:2x8", "a=4,b=4", "a"), ("ring:16", "a=4,b=4", "a"), ("mesh:4x4", "a=2,b=8", "a"),
    ("torus:4x4x4", "a=8,b=8", "a"), ("torus:4x8", "a=8,b=4", "a"),
]  # fmt: skip


@pytest.mark.parametrize("latency", ["0", "1us"])
@pytest.mark.parametrize(("where", "mesh", "over"), SHARED)
def test_on_shared_links_only_exact_forms_are_had(where: str, mesh: str, over: str, latency: str) -> None:
    place = f"{where},bandwidth=45GB/s,latency={latency}"
    order = "row" if mesh else ""
    for name in (n for n in NAMES if n != "all_to_all_v"):
        question, _ = ask.question(name, place, size=SIZE, mesh=mesh, order=order, over=over)
        assert not question.group.uniform
        for choice, _ in forms(question):
            found = {
                price: of_choice(question, choice, price, "add") for price in ("formula", "steps", "flows")
            }
            assert same(*found.values()), (place, name, choice.name)


def same(first: Answer, *others: Answer) -> bool:
    return all(other.time == pytest.approx(first.time, rel=1e-9) for other in others)


def test_the_whole_and_its_part_alone_keep_their_forms() -> None:
    """What refuses on shared links must not refuse elsewhere: the same groups, each link theirs alone."""
    for name in ("4wx4w", "6w", "5", "4x4", "switch:8"):
        mine = group_on(small(name, 1e9, 1e-6))
        shared = [replace(mine, apart=False), replace(mine, duplex=False)]
        for collective in (n for n in NAMES if n not in PAIRS):
            for one in map(algorithms.get, algorithms.names()):
                if one.valid(collective, mine, Hint(SIZE)) is None and one.exact(
                    collective, mine, Hint(SIZE)
                ):
                    assert one.cost(collective, mine, Hint(SIZE)) is not None
                    assert one.cost(collective, shared[0], Hint(SIZE)) is None
                    assert (one.cost(collective, shared[1], Hint(SIZE)) is None) or one.name == "ring"


NO_FORM = [  # collective, cluster, mesh, algorithms of which none has a form there
    ("all_to_all", "mesh:6,duplex=half,latency=0", {}, ("best", "all", "direct")),
    ("broadcast", "torus:4x4,duplex=half", {}, ("best", "all", "binomial")),
    ("all_gather", "torus:2x8,bandwidth=45GB/s,latency=0", {"mesh": "a=4,b=4", "order": "row", "over": "a"},
     ("best", "all", "multi_axis")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "advice"),
    [({"combine": "max"}, "leave --combine max off"), ({"price": "formula"}, "--price steps or flows")],
)
@pytest.mark.parametrize(("collective", "where", "more", "tried"), NO_FORM)
def test_where_no_algorithm_has_a_form_one_line_says_so(
    collective, where, more, tried, words, advice
) -> None:
    for algorithm in tried:
        said = one_line_error(hc.predict, collective, where, size=SIZE, algorithm=algorithm, **more, **words)
        assert "closed form" in said
        assert advice in said
    (row,) = hc.predict(collective, where, size=SIZE, algorithm="best", **more).rows
    assert row["price"] != "formula"
    assert row["time_us"] >= row["bound_us"] * CLOSE > 0


@pytest.mark.parametrize("rows", [[[0, 5], [7, 0]], [[1, 0], [0, 1]]])
def test_a_matrix_says_its_bytes_itself(rows: list[list[float]]) -> None:
    said = one_line_error(hc.predict, "all_to_all_v", "ring:2", matrix=rows, per_rank=True)
    assert "--per-rank" in said
    assert hc.predict("all_to_all_v", "ring:2", matrix=rows).rows[0]["size_bytes"] == sum(map(sum, rows))
