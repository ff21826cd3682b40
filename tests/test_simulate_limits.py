"""What is told of schedules with more sends than can be followed, and how it is said which were."""

import json

import numpy as np
import pytest
from grids import build, cluster

from hopcast.names import InputError
from hopcast.price import steps as by_steps
from hopcast.simulate import listing
from hopcast.verbs import ask, check
from hopcast.verbs.predict import predict
from hopcast.verbs.simulate import simulate, trace

MANY = [("all_to_all", "chain:24"), ("all_gather", "chain:24"), ("all_to_all", "mesh:5x6")]


@pytest.fixture
def few_links(monkeypatch):
    """Sends may cross but few links, and that is found out by looking at any number of them."""

    def fits(schedule, where, src, dst, sends):
        raise listing.TooManyError(f"flows of {sends:,} sends are too many; use --price steps")

    monkeypatch.setattr(listing, "crossings_fit", fits)


@pytest.mark.parametrize(("collective", "where"), MANY)
def test_with_too_many_sends_the_loads_of_links_are_told(monkeypatch, few_links, collective, where):
    asked = {"size": "1MiB", "algorithm": "direct", "shortcut": False}
    loads = simulate(collective, where, **asked)
    monkeypatch.undo()
    full = simulate(collective, where, **asked)
    assert loads.inputs["how"].startswith("too many sends to follow one by one")
    assert "critical path" not in str(loads)
    assert "critical path" in str(full)
    carried = [{row["link"]: row["bytes"] for row in r.rows} for r in (loads, full)]
    assert carried[0] == pytest.approx(carried[1], rel=1e-12)
    stepped = predict(collective, where, size="1MiB", algorithm="direct", price="steps")
    assert loads.inputs["time_us"] == pytest.approx(stepped.rows[0]["time_us"], rel=1e-12)
    assert all(0 < row["utilization"] <= 1 for row in loads.rows)


@pytest.mark.parametrize("more", [{"jitter": "1%"}, {"every": True}, {"straggler": ["2=2x"]}])
def test_what_takes_the_times_of_all_sends_is_still_refused(few_links, more):
    with pytest.raises(InputError, match="too many"):
        simulate("all_to_all", "chain:24", size="1MiB", algorithm="direct", shortcut=False, **more)


@pytest.mark.parametrize(
    ("collective", "algorithm", "grid"),
    [("all_to_all", "direct", "7x3"), ("all_to_all", "direct", "5wx4"), ("all_gather", "direct", "9")],
)
def test_a_step_of_many_sends_is_routed_part_by_part_to_the_same_loads(
    monkeypatch, collective, algorithm, grid
):
    where = cluster(grid, 1e9, 1e-6)
    made = build(collective, algorithm, where)
    whole = by_steps.steps(made, where, 1e6)
    monkeypatch.setattr(by_steps, "_MANY", 10)
    monkeypatch.setattr(by_steps, "_PART", 7)
    parts = by_steps.steps(made, where, 1e6)
    assert np.allclose(parts.load, whole.load, rtol=1e-12, atol=0)
    assert parts.latency == whole.latency
    assert parts.bandwidth == pytest.approx(whole.bandwidth, rel=1e-12)


def test_one_rank_stands_for_all_only_where_all_take_the_same_times():
    asked = {"size": "1MiB", "algorithm": "ring"}
    even = simulate("all_reduce", "ring:128", **asked)
    assert even.inputs["how"] == "sends never meet: one rank's 254 stand for 32,512"
    for uneven in ({"jitter": "1%"}, {"slow": ["0:1=0.5"]}, {"straggler": ["3=2x"]}):
        found = simulate("all_reduce", "ring:128", **asked, **uneven)
        assert found.inputs["how"] == "sends never meet: all 32,512, at all ranks at a time"
        assert found.inputs["solved"] == 32_512


def test_no_events_are_counted_where_there_are_none():
    assert "events" not in str(simulate("all_reduce", "ring:128", size="1MiB", algorithm="ring"))
    assert " events" in str(simulate("all_to_all", "ring:8", size="1MiB", algorithm="direct"))


def test_a_trace_has_a_row_for_each_send():
    a = simulate("all_reduce", "mesh:2x3", size="1MiB", algorithm="multi_axis", every=True).detail
    events = json.loads(trace(a))["traceEvents"]
    named = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert named == {v: f"rank {v} ({v // 3},{v % 3})" for v in range(6)}
    sent = [e for e in events if e["ph"] == "X"]
    rows = a.flows.rows
    assert [e["pid"] for e in sent] == rows.src.tolist()
    assert [e["args"]["op"] == "reduce" for e in sent] == (rows.op == 1).tolist()
    assert [e["name"].split(" to ")[1] for e in sent] == [f"{v // 3},{v % 3}" for v in rows.dst.tolist()]
    assert [e["ts"] + e["dur"] for e in sent] == pytest.approx((a.flows.end * 1e6).tolist())


def test_check_says_when_steps_chose_the_algorithm(monkeypatch):
    q, _ = ask.question("all_reduce", "mesh:3x4", size="1MiB")
    assert not check.check_rows(q).warnings
    monkeypatch.setattr(check, "_FOLLOWED", 1)
    monkeypatch.setattr("hopcast.race._SMALL", 1)
    found = check.check_rows(q)
    assert found.rows[0]["valid"]
    assert any("chosen by its time in steps" in w and found.rows[0]["algorithm"] in w for w in found.warnings)
    assert not check.check_rows(q, "multi_axis").warnings
