"""The price that is taken unasked: it answers everywhere, and says what it could not follow."""

from dataclasses import replace

import numpy as np
import pytest

import hopcast as hc
from hopcast import choose
from hopcast.clusters import cluster
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import group, physical
from hopcast.names import InputError
from hopcast.price.steps import steps
from hopcast.question import Question
from hopcast.race import laid_out, ranked
from hopcast.simulate import every_pair, flows, listing
from hopcast.verbs import ask

SIZE = 2.0**24
UNLIKE = "torus:4x4,latency=1us"  # with a dead cable no rank is like another
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "permute")
PAIRED = [
    ("torus:4x4", ""), ("torus:5x6", ""), ("torus:3x4x4", "y,z"), ("torus:4x4x4,antipodal=forward", ""),
    ("v4:4x4x4", "x"),
]  # fmt: skip


def asked(collective: str, where: str, over: str = "") -> Question:
    return ask.question(collective, where, size=SIZE, over=over or None)[0]


def worn(where: str, seed: int) -> Cluster:
    """A cluster of which some links are slow and some are dead."""
    found, rng = cluster(where), np.random.default_rng(seed)
    rates = found.topology.bandwidth.copy()
    some = rng.choice(len(rates), 4, replace=False)
    rates[some] *= [0.0, 0.0, 0.5, 0.25]
    return replace(found, topology=found.topology.with_links(rates))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("where", "over"), PAIRED)
def test_slow_and_dead_links_carry_what_listing_every_pair_gives(where: str, over: str, seed: int) -> None:
    found = worn(where, seed)
    over_axes = tuple(over.split(",")) if over else ()
    q = replace(asked("all_to_all", where, over), cluster=found)
    q = replace(q, group=group(found, physical(found.topology), over_axes))
    laid = laid_out(q, choose.choice(q, "direct"), q.hint)
    short, listed = every_pair.stepped(laid, found, SIZE), steps(laid, found, SIZE)
    assert short is not None
    np.testing.assert_allclose(short.load, listed.load, rtol=1e-9, atol=1e-3)
    assert short.latency == pytest.approx(listed.latency, rel=1e-12)
    assert short.bandwidth == pytest.approx(listed.bandwidth, rel=1e-9)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_where_there_are_too_many_sends_to_follow_steps_answer_and_say_so(
    collective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = ["0,0:0,1"]
    followed = {
        r["algorithm"]: r for r in hc.predict(collective, UNLIKE, algorithm="all", size=SIZE, dead=dead)
    }
    monkeypatch.setattr(listing, "MOST_SENDS", 2)
    for name in followed:
        r = hc.predict(collective, UNLIKE, algorithm=name, size=SIZE, dead=dead)
        row = r.rows[0]
        beyond = [w for w in r.warnings if "too many sends to follow" in w]
        assert (row["price"] == "steps") == bool(beyond), name
        assert row["time_us"] > 0
        if beyond:
            with pytest.raises(InputError, match="too many"):
                hc.predict(collective, UNLIKE, algorithm=name, price="flows", size=SIZE, dead=dead)
    assert hc.predict(collective, UNLIKE, size=SIZE, dead=dead).rows[0]["price"] in ("steps", "flows")
    swept = hc.sweep(collective, UNLIKE, first="1M", last="2M", dead=dead)
    assert len(swept.rows) == 2
    said = hc.predict(collective, UNLIKE, size="2M", dead=dead)
    assert (said.rows[0]["price"] == "steps") == any("too many sends" in w for w in swept.warnings)


def test_whole_pods_with_a_dead_cable_are_answered() -> None:
    for where in ("torus:16x16x16", "v5p:16x16x16"):  # best, and what the machine runs
        r = hc.predict("all_to_all", where, size="1GiB", dead=["0,0,0:0,0,1"])
        assert (r.rows[0]["price"], r.rows[0]["algorithm"]) == ("steps", "direct")
        healthy = hc.predict("all_to_all", where, size="1GiB", price="steps", algorithm="direct")
        assert r.rows[0]["time_us"] >= healthy.rows[0]["time_us"]


@pytest.mark.parametrize("where", ["torus:4x4", "mesh:3x4", "dgx-h100:2", "v5e:4x4,slices=2", "switch:7"])
@pytest.mark.parametrize("collective", COLLECTIVES[:5])
def test_a_lane_after_the_other_takes_no_longer_than_flows(collective: str, where: str) -> None:
    q = asked(collective, where)
    for choice in choose.candidates(q):
        laid = laid_out(q, choice, replace(q.hint, options=choice.options))
        found = steps(laid, q.cluster, SIZE, np.inf)
        ran = flows.simulate(laid, q.cluster, SIZE)
        assert 0 < found.chain <= ran.seconds * (1 + 1e-9), choice.name
        until = found.chain / 2  # what it leaves out is known to take longer than that
        cut = steps(laid, q.cluster, SIZE, until)
        assert cut.chain > until or np.any(cut.load > until * q.cluster.topology.bandwidth), choice.name


def test_options_that_make_no_difference_are_compared_once() -> None:
    q = asked("all_to_all", "dgx-h100:4")
    some = [c for c in choose.candidates(q) if c.algorithm.name in ("hierarchical", "direct")]
    rest = [(laid_out(q, c, replace(q.hint, options=c.options)), c) for c in some]
    kept = [c.name for _, _, c in ranked(q, rest, np.inf, [])]
    assert len(kept) == len(set(kept)) < len(some)
    assert {"direct", "hierarchical"} <= set(kept)
    assert any("stages=3" in name for name in kept)


@pytest.mark.parametrize(
    ("collective", "where", "algorithm"),
    [("all_to_all", "v5e:2x2", "auto"), ("all_gather", "v5e:4x4", "auto"), ("all_gather", "v5e:4x4", "best"),
     ("all_reduce", "ring:8", "ring"), ("all_gather", "v5e:4x4", "all"), ("all_gather", "ring:1", "all")],
)  # fmt: skip
def test_combine_max_asks_for_the_formula_and_says_so(collective: str, where: str, algorithm: str) -> None:
    r = hc.predict(collective, where, size=SIZE, combine="max", algorithm=algorithm)
    assert {row["price"] for row in r} == {"formula"}
    for row in r:
        assert row["time_us"] == pytest.approx(max(row["latency_us"], row["bandwidth_us"]))
    assert any("--combine max" in w for w in r.warnings)
    plainly = hc.predict(collective, where, size=SIZE, combine="max", algorithm=algorithm, price="formula")
    assert [row["time_us"] for row in plainly] == [row["time_us"] for row in r]
    if algorithm == "all" and where != "ring:1":
        rows = hc.predict(collective, where, size=SIZE, algorithm="all")
        every, kept = ({str(row["algorithm"]).split(",")[0] for row in x} for x in (rows, r))
        (left,) = (w for w in r.warnings if "no closed form" in w)
        assert every - kept
        assert every - kept <= set(left.removeprefix("left out: ").split("; ")[0].split(", "))
    with pytest.raises(InputError, match="combine max"):
        hc.predict("all_to_all", "v5e:2x2", size=SIZE, combine="max", price="flows")


@pytest.mark.parametrize("n", range(4, 21, 2))
def test_routes_that_go_one_way_are_kept_to(n: int) -> None:
    """Half way round all goes up, so those links carry (1 + 2 / n) times as much as with halves."""
    where = f"ring:{n},latency=0,bandwidth=45GB/s"
    whole = hc.predict("all_to_all", f"{where},antipodal=forward", size=SIZE).rows[0]
    halves = hc.predict("all_to_all", where, size=SIZE, algorithm="direct").rows[0]
    assert whole["algorithm"] == "direct"
    assert whole["time_us"] / halves["time_us"] == pytest.approx(1 + 2 / n, rel=1e-9)
