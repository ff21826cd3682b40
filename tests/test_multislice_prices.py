"""Collectives over slices: their groups, closed forms, bounds and stages, and what findings say of them."""

import numpy as np
import pytest
from grids import group
from hypothesis import given, settings
from hypothesis import strategies as st
from small_slices import SIZE, ask, cluster, tiny

from hopcast import algorithms, faults
from hopcast.choose import answer, library
from hopcast.findings import dcn_bound, find
from hopcast.interpret import check
from hopcast.ir import algebra, mesh
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ROOTED
from hopcast.ir.group import Hint
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.price import bounds
from hopcast.price.bounds_traffic import standard
from hopcast.price.steps import steps
from hopcast.simulate.reference import simulate
from hopcast.topologies import _multislice, twisted_torus
from hopcast.verbs.predict import predict


def test_groups_over_the_network_over_the_slice_and_over_both() -> None:
    where = cluster("v5e:16x16,slices=2")
    inside, outside, both = group(where, ("x", "y")), group(where, ("dcn",)), group(where)
    assert (len(inside.all_groups), inside.shape) == (2, (16, 16))
    assert (inside.switched, inside.uniform) == (False, True)
    assert [a.wraps for a in inside.axes] == [True, True]
    assert (len(outside.all_groups), outside.ranks, outside.switched) == (256, 2, True)
    assert (outside.bandwidth, outside.latency) == ((3.125e9,), (pytest.approx(12e-6),))
    assert [level.ranks for level in both.levels] == [2, 256]
    assert [level.switched for level in both.levels] == [True, False]
    assert np.array_equal(both.all_groups[0], np.arange(512))
    assert not both.uniform_rates
    alone = group(where, ("x",))
    assert (len(alone.all_groups), alone.ranks, alone.axes[0].wraps) == (32, 16, True)


def test_a_port_has_its_part_of_the_nic_or_all_of_pcie() -> None:
    assert group(tiny((2, 4), 3, (2, 2)), ("dcn",)).bandwidth == (4e6,)
    assert group(tiny((2, 4), 3, (2, 2), nic=50e6), ("dcn",)).bandwidth == (16e6,)
    slow = faults.degrade(tiny((2, 4), 3, (2, 2)), slow=["host 1/0:dcn=0.5"])
    assert group(slow, ("dcn",)).bandwidth == (0.0,)


MESHES = [
    ("data=2,model=16", "jax", ["dcn"], ["x", "y"]),
    ("model=16,data=2", "jax", ["x", "y"], ["dcn"]),
    ("all=32", "row", ["dcn", "x", "y"], []),
]


@pytest.mark.parametrize(("axes", "order", "first", "second"), MESHES, ids=[m[0] for m in MESHES])
def test_logical_axes_keep_slices_apart(axes: str, order: str, first: list[str], second: list[str]) -> None:
    where = cluster("v5e:4x4,slices=2")
    pairs = [(n, int(k)) for n, k in (a.split("=") for a in axes.split(","))]
    found = mesh.logical(where, pairs, order)
    named = [[where.topology.axes[f.axis].name for f in parts or ()] for parts in found.factors]
    assert named == [first, second][: len(named)]
    mine = mesh.group(where, found)
    assert mine.levels[0].ranks == 2
    assert sorted(mine.all_groups.ravel().tolist()) == list(range(32))
    # Ranks are row-major over levels: the first half of them is one slice.
    assert len(set(where.topology.coords[mine.all_groups[0, :16], 0].tolist())) == 1


def test_four_slices_of_four_by_four_do_not_put_a_model_over_the_network() -> None:
    found = mesh.logical(cluster("v5e:4x4,slices=4"), [("data", 4), ("model", 16)], "jax")
    assert [f.axis for f in found.factors[1] or ()] == [1, 2]


ONES = [algorithms.get(n) for n in algorithms.names()]
GIVEN = [(a, c) for a in ONES for c in a.collectives]
ON_DCN = [tiny((2, 4), 3, (2, 2), latency=1e-6), tiny((2, 4), 4, (2, 4), nic=3e6), tiny((1, 2), 5, (1, 1))]


@pytest.mark.parametrize(("one", "collective"), GIVEN, ids=lambda x: getattr(x, "name", x))
def test_closed_forms_over_the_network_are_steps_and_flows(
    one: algorithms.Algorithm, collective: str
) -> None:
    tried = 0
    for where in ON_DCN:
        mine = group(where, ("dcn",))
        for root in (0, 1) if collective in ROOTED else (0,):
            hint = Hint(SIZE, mine.latency[0], root)
            if one.valid(collective, mine, hint) is not None:
                continue
            laid = algebra.lay(one.build(collective, mine, hint), mine.all_groups, where.topology.vertices)
            check(laid)
            cost = one.cost(collective, mine, hint)
            tried += 1
            if cost is None:
                continue
            stepped = steps(laid, where, SIZE)
            assert stepped.latency == pytest.approx(cost.latency, rel=1e-9)
            assert stepped.bandwidth == pytest.approx(cost.bandwidth, rel=1e-9)
            if one.exact(collective, mine, hint):
                assert simulate(laid, where, SIZE).seconds == pytest.approx(cost.total(), rel=1e-9)
    if one.valid(collective, group(ON_DCN[1], ("dcn",)), Hint(SIZE)) is None:
        assert tried


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_answer_is_below_the_bound_and_no_bound_below_the_limit(data: st.DataObject) -> None:
    shape, block = data.draw(
        st.sampled_from([((2, 4), (2, 2)), ((2, 4), (2, 4)), ((4,), (2,)), ((2, 2, 2), (2, 2, 1))])
    )
    rate = st.sampled_from([1e6, 3e6, 10e6, 40e6])
    where = tiny(
        shape,
        data.draw(st.integers(2, 3)),
        block,
        ici=data.draw(rate),
        pcie=data.draw(rate),
        nic=data.draw(rate),
        latency=data.draw(st.sampled_from([0.0, 1e-3])),
        wraps=data.draw(st.booleans()),
    )
    names = [a.name for a in where.topology.axes]
    over = data.draw(st.sampled_from([(), ("dcn",), tuple(names[1:]), (names[1],), ("dcn", names[1])]))
    collective = data.draw(st.sampled_from(["all_gather", "reduce_scatter", "all_reduce", "all_to_all"]))
    q = ask(where, collective, over, data.draw(st.sampled_from([64.0, 2.0**20])))
    choice = data.draw(st.sampled_from(["auto", "direct", "hierarchical", "ring"]))
    try:
        found = answer(q, choice, "flows")
    except InputError:
        found = answer(q, "auto", "flows")
    assert found.time >= found.bound.seconds * (1 - 1e-9)
    assert found.bound.seconds >= found.limit.seconds * (1 - 1e-9)
    check(found.schedule)


def test_slices_are_a_partition_and_their_nics_bind_it() -> None:
    where = tiny((2, 4), 4, (2, 4), ici=1e9, pcie=1e9)
    mine = group(where)
    found = bounds.bound(where, standard("all_reduce", 32), mine.all_groups, SIZE)
    nics = 4 * 8 * 4e6
    assert found.seconds == pytest.approx(2 * 3 * SIZE / nics)
    assert "4 parts of 8 chips" in found.what


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_the_machines_own_way_is_level_by_level(collective: str) -> None:
    q = ask(cluster("v5e:4x4,slices=2,latency=0"), collective, size=2.0**26)
    chosen = library(q)
    assert chosen is not None
    assert (chosen.algorithm.name, chosen.source) == ("hierarchical", "library")
    found = answer(q)
    check(found.schedule)
    assert found.bound.seconds <= found.time <= 1.35 * found.bound.seconds
    # Without overlap it is the sum of the levels; with it the shorter one is hidden.
    slow = answer(q, "hierarchical,pipeline=off")
    assert found.time < 0.7 * slow.time
    assert found.schedule.step_count > slow.schedule.step_count


def test_more_pieces_than_are_taken_gain_little() -> None:
    q = ask(cluster("v5e:4x4,slices=2"), "all_reduce", size=2.0**28)
    times = [answer(q, f"hierarchical,pieces={k}").time for k in (1, 2, 8, 64)]
    assert answer(q, "hierarchical").time <= 1.05 * min(times)
    assert times[0] > 1.5 * min(times)


def predicted(text: str, **more: str) -> tuple[Answer, list[str]]:
    found = predict("all_reduce", text, **more)
    return found.detail, list(found.notes)


def test_stages_are_printed_and_add_up_without_overlap() -> None:
    found, notes = predicted("v5e:2x4,slices=2,latency=0", size="1MiB", algorithm="hierarchical,pipeline=off")
    stages = next(n for n in notes if n.startswith("stages"))
    assert "not overlapped" in stages
    for kind in ("reduce_scatter", "all_gather"):
        assert f"{kind} over x,y" in stages
        assert f"{kind} over dcn" in stages
    # 1 MiB over a 2x4 mesh, then 128 KiB of it over a port of 3.125 GB/s to one other slice, and back.
    over_dcn = 2**20 / 8 / 2 / 3.125e9
    assert f"reduce_scatter over dcn {over_dcn * 1e6:.2f} us" in stages
    assert found.time > 2 * over_dcn


def test_a_slow_network_is_found_out_and_fewer_slices_are_offered() -> None:
    found, notes = predicted("v5e:2x4,slices=4,latency=0", size="64MiB")
    outside, inside = dcn_bound.busiest(found)
    assert outside > inside
    remark = next(f for f in find(found) if f.code == "dcn_bound")
    assert remark.better == "hopcast predict all_reduce v5e:4x8,latency=0 --size 64MiB"
    assert any("data centre network binds" in n for n in notes)
    assert predicted("v5e:4x8,latency=0", size="64MiB")[0].time < 0.5 * found.time


def test_a_fast_network_is_no_finding() -> None:
    where = tiny((2, 4), 2, (2, 2), nic=100e6, pcie=100e6)
    found = answer(ask(where, "all_reduce"))
    outside, inside = dcn_bound.busiest(found)
    assert 0 < outside < inside
    assert "dcn_bound" not in [f.code for f in find(found)]


def test_other_findings_do_not_mistake_slices_for_an_axis() -> None:
    found, _ = predicted("v5e:16x16,slices=3", size="1MiB", over="dcn")
    assert [f.code for f in find(found) if f.code in ("no_wrap", "idle_axis", "slow_link")] == []
    slow, _ = predicted("v5e:4x4,slices=2", size="64MiB", over="dcn", slow=["host 1/0:dcn=0.5"])
    remark = next(f for f in find(slow) if f.code == "slow_link")
    assert "host 1/0" in remark.text
    assert "50%" in remark.text


@pytest.mark.slow
def test_two_pods_are_answered_and_their_own_links_bind() -> None:
    """1 GiB: the slices' links are busy all the time; a pod has 800 GB/s of DCN and each chip 180 of ICI."""
    found, notes = predicted("v5e:16x16,slices=2,latency=0", size="1GiB")
    outside, inside = dcn_bound.busiest(found)
    gib = 2.0**30
    assert outside == pytest.approx(gib / 800e9)
    assert inside == pytest.approx(2 * gib * 255 / 256 / 180e9)
    assert found.time == pytest.approx(inside, rel=1e-6)
    assert found.time >= found.bound.seconds
    assert any(n.startswith("stages") for n in notes)


def test_a_twisted_slice_keeps_its_twist_among_others() -> None:
    one = twisted_torus.build("t", (4, 8), 1e9, 0.0)
    made = _multislice.build("two", one, 2, (2, 2), _multislice.Outside(1e9, 1e9, 0.0, 0.0))
    where = Cluster("two", made, "tiny", "hosts")
    mine = group(where, ("x", "y"))
    assert not mine.uniform_rates  # no closed form of a ring holds there
    direct = algorithms.get("direct").build("all_to_all", mine, Hint(SIZE))
    laid = algebra.lay(direct, mine.all_groups, made.vertices)
    one_slice = Cluster("one", one, "torus", "twisted")
    alone = algebra.lay(direct, np.arange(32, dtype=np.int32)[None], 32)
    assert simulate(laid, where, SIZE).seconds == pytest.approx(simulate(alone, one_slice, SIZE).seconds)
