"""Pictures of schedules say what the schedule does, step by step, in words that are apart."""

import re
from dataclasses import replace

import numpy as np
import pytest
from pictures import (
    check_picture,
    cluster,
    elements,
    exchange,
    of_class,
    schedule,
    words,
)

from hopcast.draw import schedule_svg, schedule_text
from hopcast.draw.history import history
from hopcast.interpret import interpret
from hopcast.ir.collective import ALL, of
from hopcast.ir.schedule import REDUCE, Schedule, from_columns, one_group
from hopcast.names import InputError

SCHEDULES = [
    tuple(line.split())
    for line in """
        ring:8      all_gather      bidirectional_ring
        ring:8      all_gather      bidirectional_ring,split=on
        ring:8      all_gather      ring
        ring:4      all_gather      ring
        ring:1      all_gather      ring
        switch:8    all_gather      ring
        ring:40     all_gather      ring
        chain:4     all_gather      chain
        torus:4x4   all_gather      multi_axis
        torus:4x8   all_gather      multi_axis
        torus:4x4x4 all_gather      multi_axis
        torus:10x10 all_gather      multi_axis
        ring:4      reduce_scatter  ring
        ring:40     reduce_scatter  bidirectional_ring
        chain:9     reduce_scatter  chain
        torus:4x4   reduce_scatter  multi_axis
        ring:2      all_reduce      ring
        ring:3      all_reduce      ring
        ring:8      all_reduce      ring
        ring:16     all_reduce      ring
        torus:4x4   all_reduce      multi_axis
        mesh:4x4    broadcast       multi_axis
        mesh:3x5    reduce          multi_axis
        mesh:4x4    gather          multi_axis
        mesh:4x4    scatter         multi_axis
        ring:4      all_to_all      exchange
        ring:8      all_to_all      exchange
        switch:16   all_to_all      exchange
        switch:24   all_to_all      exchange
        torus:4x4   all_to_all      exchange
    """.strip().split("\n")
]
SMALL_SCHEDULES = [s for s in SCHEDULES if s[0] in ("ring:4", "ring:8", "mesh:4x4", "chain:4")]

each_schedule = pytest.mark.parametrize(("name", "collective", "algorithm"), SCHEDULES)

# Names of at most 40 ranks.
each_small_schedule = pytest.mark.parametrize(
    ("name", "collective", "algorithm"), [s for s in SCHEDULES if s[0] not in ("torus:10x10", "torus:4x4x4")]
)


@each_schedule
def test_words_of_a_schedule_are_apart_and_on_the_page(name: str, collective: str, algorithm: str) -> None:
    made = schedule(name, collective, algorithm)
    check_picture(schedule_svg(made, cluster(name), caption="How it goes."))
    check_picture(schedule_svg(made))


def one_hot(made: Schedule) -> np.ndarray:
    """Each rank's own contribution: int64[vertices, chunks, ranks]."""
    n = made.ranks
    state = np.zeros((made.vertices, made.chunks, n), np.int64)
    for local, vertex in enumerate(made.groups[0].tolist()):
        mine = (made.collective.origin == ALL) | (made.collective.origin == local)
        state[vertex, mine, local] = 1
    return state


@each_small_schedule
def test_frames_are_what_the_interpreter_gives(name: str, collective: str, algorithm: str) -> None:
    made = schedule(name, collective, algorithm)
    state = one_hot(made)
    for frame in history(made, range(-1, made.step_count)).frames:
        if frame.step >= 0:
            state = interpret(replace(made, step_count=1, make=lambda _, s=frame.step: made.make(s)), state)
        mine = state[made.groups[0]]
        assert np.array_equal(frame.count[: made.ranks], mine.sum(2))
        bits = (frame.who[: made.ranks, :, None] >> np.arange(made.ranks, dtype=np.uint64)) & np.uint64(1)
        assert np.array_equal(bits.astype(bool), mine > 0)


@pytest.mark.parametrize(("name", "collective", "algorithm"), SMALL_SCHEDULES)
def test_a_cell_is_dotted_exactly_when_nothing_depends_on_it_and_it_is_no_finished_result(
    name: str, collective: str, algorithm: str
) -> None:
    made = schedule(name, collective, algorithm)
    story = history(made, range(-1, made.step_count))
    for frame in story.frames:
        rest = replace(
            made,
            step_count=made.step_count - frame.step - 1,
            make=lambda i, s=frame.step: made.make(i + s + 1),
        )
        # at the end a cell's value is how often each cell of now has gone into it
        size = frame.count.size
        if size > 600:
            continue
        flow = interpret(rest, np.eye(size, dtype=np.int64).reshape(*frame.count.shape, size))
        used = flow[story.goal].any(0).reshape(frame.count.shape)
        assert np.array_equal(used | story.done(frame), frame.live)


def test_a_bidirectional_ring_shows_that_each_rank_holds_1_3_5_7_8_shards() -> None:
    picture = schedule_svg(schedule("ring:8", "all_gather", "bidirectional_ring"), cluster("ring:8"))
    said = [w for w in words(picture) if w.startswith("each rank holds")]
    assert said == [f"each rank holds {k} of 8 chunks" for k in (1, 3, 5, 7, 8)]
    filled = sum(
        r.get("class", "").startswith("c") and r.get("class") != "chip" for r in elements(picture, "rect")
    )
    assert filled == 8 * (1 + 3 + 5 + 7 + 8)
    outlined = len(of_class(picture, "rect", "new"))
    assert outlined == 8 * (2 + 2 + 2 + 1) + 1  # and one in the key


def test_partial_sums_are_drawn_contribution_by_contribution() -> None:
    picture = schedule_svg(schedule("ring:4", "reduce_scatter", "ring"), cluster("ring:4"))
    said = [w for w in words(picture) if re.fullmatch(r"\d/4", w)]
    # live sums: 16 of one; then 8 of one and 4 of two; 4 of one and 4 of three; 4 of four
    assert {k: said.count(k) for k in ("1/4", "2/4", "3/4", "4/4")} == {
        "1/4": 28,
        "2/4": 4,
        "3/4": 4,
        "4/4": 4,
    }
    bars = sum(bool(re.fullmatch(r"c\d", r.get("class", ""))) for r in elements(picture, "rect"))
    assert bars == 28 + 2 * 4 + 3 * 4 + 4 * 4 + 2  # and two in the key


def test_a_contribution_that_is_added_twice_is_marked() -> None:
    columns = {"step": [0, 1], "src": [0, 0], "dst": [1, 1], "chunk": [0, 0], "op": [REDUCE, REDUCE]}
    wrong = from_columns(of("reduce", 2, root=1), "wrong", one_group(2), columns)
    assert "2/2!" in words(schedule_svg(wrong))


def test_every_send_between_neighbours_has_its_arrow() -> None:
    picture = schedule_svg(schedule("ring:4", "all_gather", "ring"), cluster("ring:4"), steps=[1])
    tips = of_class(picture, "path", "h1")
    assert len(tips) == 3 + 2 + 1  # the send round the end is two, and one in the key
    far = schedule_svg(exchange(8), cluster("switch:8"), steps=[0])
    tips = of_class(far, "path", "h1")
    assert len(tips) == 14 + 2 * 2 + (56 - 14 - 2) + 1


def test_a_switch_that_holds_partial_sums_is_a_column_of_its_own() -> None:
    columns = {
        "step": [0, 0, 1, 1],
        "src": [0, 1, 2, 2],
        "dst": [2, 2, 0, 1],
        "chunk": [0] * 4,
        "op": [REDUCE, REDUCE, 0, 0],
    }
    made = replace(from_columns(of("all_reduce", 2), "in_switch", one_group(2), columns), vertices=3)
    said = words(schedule_svg(made, cluster("switch:2")))
    assert "switch 0" in said
    assert said.count("2/2") == 1 + 2  # in the switch, then in both ranks
    assert "vertex 2" in schedule_text(made)


def test_only_the_first_of_several_groups_is_drawn_with_its_own_names() -> None:
    picture = schedule_svg(schedule("torus:4x4", "all_gather", "ring", ("y",)), cluster("torus:4x4"))
    said = words(picture)
    assert said.count("0,3") == 4
    assert "1,0" not in said
    assert any(w.startswith("The first of 4 groups") for w in said)


def test_chosen_steps_are_drawn_and_others_refused() -> None:
    made = schedule("ring:8", "all_gather", "ring")
    said = words(schedule_svg(made, steps=[5, 2, 2]))
    assert [w for w in said if re.fullmatch(r"step \d|start", w)] == ["step 2", "step 5"]
    assert "step 5" in schedule_text(made, steps=(5,))
    for bad in (7, -2):
        with pytest.raises(InputError, match=rf"step {bad}: .*steps 0 to 6"):
            schedule_svg(made, steps=[bad])


def test_a_long_schedule_is_thinned_and_says_so() -> None:
    said = words(schedule_svg(schedule("ring:40", "all_gather", "ring")))
    drawn = [w for w in said if re.fullmatch(r"step \d+|start", w)]
    assert drawn[:3] == ["start", "step 0", "step 1"]
    assert drawn[-1] == "step 38"
    assert f"{len(drawn)} of 40 states are drawn, the start counted." in said
    assert any(w.startswith("Ranks 0 to 15 of 40") for w in said)


@each_schedule
def test_text_of_a_schedule_says_at_the_end_that_all_is_done(
    name: str, collective: str, algorithm: str
) -> None:
    made = schedule(name, collective, algorithm)
    text = schedule_text(made)
    assert text.isascii()
    assert not [line for line in text.split("\n") if line != line.rstrip()]
    said = re.findall(r"(?:each rank holds|complete|;|  |: )\s*([\d,]+) of ([\d,]+) (?:chunks|results)", text)
    assert said
    assert said[-1][0] == said[-1][1]
