"""Slices with hosts, PCIe, NICs and the network between them: what is there, how data go, what it takes."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast import algorithms, chips, clusters
from hopcast.chips import slices
from hopcast.choose import answer, library
from hopcast.findings import dcn_bound, find
from hopcast.interpret import check
from hopcast.ir import algebra, mesh
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ROOTED
from hopcast.ir.group import Group, Hint
from hopcast.ir.topology import Topology
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.price import bounds
from hopcast.price.bounds_traffic import standard
from hopcast.price.steps import steps
from hopcast.question import Question
from hopcast.routing import routes
from hopcast.simulate.reference import simulate
from hopcast.topologies import _multislice, twisted_torus
from hopcast.topologies._grid import grid
from hopcast.verbs.bisect import worst_halving
from hopcast.verbs.predict import predict
from hopcast.verbs.show import show

SIZE = 2.0**20


def tiny(
    shape: tuple[int, ...],
    count: int,
    block: tuple[int, ...],
    *,
    ici: float = 40e6,
    pcie: float = 16e6,
    nic: float = 4e6,
    latency: float = 0.0,
    wraps: bool = False,
) -> Cluster:
    """A cluster of small slices that nobody sells, with round rates."""
    one = grid("tiny", shape, [wraps] * len(shape), ici, latency)
    outside = _multislice.Outside(pcie, nic, latency, 10 * latency)
    made = _multislice.build(f"tiny,slices={count}", one, count, block, outside)
    return Cluster("tiny", made, "tiny", "hosts", library="xla")


def group_over(where: Cluster, *over: str) -> Group:
    return mesh.group(where, mesh.physical(where.topology), over)


def ask(where: Cluster, collective: str, over: tuple[str, ...] = (), size: float = SIZE) -> Question:
    found = mesh.physical(where.topology)
    group = mesh.group(where, found, over)
    return Question(where, collective, found, over, group, size, Hint(size, max(group.latency)))


# cluster: chips, hosts, links between chips, PCIe and NICs
COUNTS = [
    ("v5e:16x16,slices=2", 512, 64, 2 * 1024, 2 * 512 + 2 * 64),
    ("v5e:4x4,slices=2", 32, 4, 2 * 48, 2 * 32 + 2 * 4),
    ("v5e:4x2,slices=3", 24, 3, 3 * 20, 2 * 24 + 2 * 3),
    ("v5e:1x1,slices=2", 2, 2, 0, 2 * 2 + 2 * 2),
    ("v5e:2x2,slices=2", 8, 2, 2 * 8, 2 * 8 + 2 * 2),
    ("v5p:4x4x4,slices=2", 128, 32, 2 * 384, 2 * 128 + 2 * 32),
    ("v5p:4x4x8,twisted,slices=2", 256, 64, 2 * 768, 2 * 256 + 2 * 64),
    ("v6e:8x16,slices=4", 512, 64, 4 * 480, 2 * 512 + 2 * 64),
    ("v4:1x2x2,slices=2", 8, 2, 2 * 8, 2 * 8 + 2 * 2),
    ("v5litepod-256,slices=2", 512, 64, 2 * 1024, 2 * 512 + 2 * 64),
]


@cache
def cluster(text: str) -> Cluster:
    return clusters.cluster(text)


@pytest.mark.parametrize(("text", "n", "hosts", "ici", "outside"), COUNTS, ids=[c[0] for c in COUNTS])
def test_chips_hosts_and_links_are_those_of_the_slices(
    text: str, n: int, hosts: int, ici: int, outside: int
) -> None:
    where = cluster(text)
    topology, figures = where.topology, where.figures
    assert (topology.chips, topology.vertices) == (n, n + hosts + 1)
    assert where.facts["hosts"] == hosts
    assert np.bincount(topology.axis > 0, minlength=2).tolist() == [outside, ici]
    ends = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert sorted(ends) == sorted((b, a) for a, b in ends)
    assert len(set(ends)) == len(ends)
    out = np.bincount(topology.src[topology.axis == 0], topology.bandwidth[topology.axis == 0])
    held = n // hosts
    assert np.allclose(out[:n], figures["pcie.bandwidth"].value)
    machine = held * (figures["pcie.bandwidth"].value + figures["dcn.bandwidth"].value)
    assert np.allclose(out[n : n + hosts], machine)


@pytest.mark.parametrize("text", [c[0] for c in COUNTS])
def test_a_host_holds_a_block_of_neighbours_of_one_slice(text: str) -> None:
    topology = cluster(text).topology
    up = (topology.src < topology.chips) & (topology.axis == 0)
    for host in np.unique(topology.dst[up]):
        mine = topology.coords[topology.src[up & (topology.dst == host)]]
        low, high = mine.min(0), mine.max(0)
        assert np.prod(high - low + 1) == len(mine)
        assert low[0] == high[0]
        assert topology.place(int(host)).startswith(f"host {low[0]}/")


@pytest.mark.parametrize("chip", [n for n in chips.names() if "host.shape" in chips.load(n).shapes])
def test_every_slice_that_exists_has_the_hosts_that_are_counted(chip: str) -> None:
    figure = chips.load(chip)
    if figure.slices is None:
        return
    for total in (1, 4, 8, 16, 32, 64, 128, 256):
        for made in slices.shapes(chip, total):
            block = _multislice.block_of(made.shape, figure.shapes["host.shape"])
            assert total // np.prod(block) == made.hosts, made.shape
            assert all(n % b == 0 for n, b in zip(made.shape, block, strict=True))


def test_hosts_of_v5e_are_2x4_blocks_and_a_slice_that_does_not_tile_is_refused() -> None:
    assert _multislice.block_of((16, 16), (4, 2)) == (2, 4)
    with pytest.raises(ValueError, match=r"4x2 chips do not tile 3x5"):
        _multislice.block_of((3, 5), (4, 2))


def test_one_slice_stays_a_grid_of_chips() -> None:
    one, same = clusters.cluster("v5e:4x4"), clusters.cluster("v5e:4x4,slices=1")
    assert one.topology.is_grid
    assert same.topology.is_grid
    assert (one.topology.links, one.facts, one.assumed) == (same.topology.links, same.facts, same.assumed)
    assert not clusters.with_hosts(one).topology.is_grid


def test_the_network_of_a_pod_carries_what_google_says_and_halves_the_slices() -> None:
    where = cluster("v5e:16x16,slices=2")
    assert worst_halving(where.topology).one_way == pytest.approx(where.figures["pod.dcn.bandwidth"].value)


def test_show_counts_hops_inside_a_slice() -> None:
    row, one = show("v5e:4x8,slices=3").rows[0], show("v5e:4x8").rows[0]
    assert (row["chips"], row["hosts"]) == (96, 12)
    assert (row["diameter"], row["mean_hops"]) == (one["diameter"], one["mean_hops"])
    twisted, straight = (show(f"v5p:4x4x8{t},slices=2").rows[0]["diameter"] for t in (",twisted", ""))
    assert (twisted, straight) == (6, 8)


LATENCIES = [
    ("", 1e-6, 1e-6, 10e-6, ["pcie_latency=1us", "dcn_latency=10us"]),
    (",latency=0", 0, 0, 0, []),
    (",latency=2us", 2e-6, 2e-6, 2e-6, []),
    (",dcn_latency=4us", 1e-6, 1e-6, 4e-6, ["pcie_latency=1us"]),
    (",latency=0,pcie_latency=3us,ici_latency=5us", 5e-6, 3e-6, 0, []),
]


@pytest.mark.parametrize(("options", "ici", "pcie", "dcn", "says"), LATENCIES, ids=[o[0] for o in LATENCIES])
def test_latencies_and_what_is_assumed_of_them(
    options: str, ici: float, pcie: float, dcn: float, says: list[str]
) -> None:
    where = clusters.cluster(f"v5e:4x4,slices=2{options}")
    topology = where.topology
    pairs = np.array([[0, 1], [0, 16]], np.int32)
    assert routes(where, pairs[:, 0], pairs[:, 1]).latency == pytest.approx([ici, 2 * pcie + dcn])
    assert topology.latency[topology.axis > 0] == pytest.approx(ici)
    assumed = " ".join(where.assumed)
    assert "never blocks" in assumed
    assert [w in assumed for w in ("pcie_latency=1us", "dcn_latency=10us")] == [
        w in says for w in ("pcie_latency=1us", "dcn_latency=10us")
    ]


def test_bandwidths_can_be_given_and_must_be_where_nobody_says_them() -> None:
    topology = clusters.cluster("7x:4x4x4,slices=2,pcie_bandwidth=50GB/s,dcn_bandwidth=10GB/s").topology
    outside = topology.bandwidth[topology.axis == 0]
    assert sorted(set(outside.tolist())) == [40e9, 50e9]
    assert set(topology.bandwidth[topology.axis > 0].tolist()) == {90e9}


BAD = [
    ("v5e:4x4,slices=0", ["slices=0", "slices=2"]),
    ("v5e:4x4,slices=1.5", ["slices=1.5", "whole number"]),
    ("v5e:16x16,slices=9999", ["9999", "3906"]),
    ("v5e:4x4,slices", ["slices=VALUE"]),
    ("v5e:4x4,slices=2,slice=3", ["slice", "slices"]),
    ("7x:4x4x4,slices=2", ["pcie_bandwidth="]),
    ("v3:4x4,slices=2,pcie_bandwidth=16GB/s", ["dcn_bandwidth="]),
    ("v5e:4x4,slices=2,dcn_latency=3", ["dcn_latency", "5us"]),
    ("torus:4x4,slices=2", ["slices", "bandwidth"]),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=[b[0] for b in BAD])
def test_a_bad_cluster_is_refused_in_one_line(text: str, says: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        clusters.cluster(text)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in says), str(caught.value)


PLACES = ["v5e:4x4,slices=2", "v5e:2x4,slices=3", "v4:2x2x1,slices=2", "v5p:4x4x8,twisted,slices=2"]


@pytest.mark.parametrize("text", PLACES)
def test_every_vertex_is_found_by_its_own_name(text: str) -> None:
    topology = cluster(text).topology
    for v in range(topology.vertices):
        assert clusters.vertex(topology, topology.place(v)) == v
        assert clusters.vertex(topology, topology.place(v).replace("host ", "host:")) == v
    assert clusters.vertex(topology, f"rank {topology.chips - 1}") == topology.chips - 1


def every_pair(topology: Topology, most: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of vertices, or some that are spread evenly."""
    src, dst = np.divmod(np.arange(topology.vertices**2), topology.vertices)
    some = np.unique(np.linspace(0, len(src) - 1, most).astype(int))
    return src[some].astype(np.int32), dst[some].astype(np.int32)


@pytest.mark.parametrize("text", PLACES)
def test_routes_lead_from_one_end_to_the_other(text: str) -> None:
    where = cluster(text)
    topology = where.topology
    src, dst = every_pair(topology)
    found = routes(where, src, dst)
    assert np.allclose(np.bincount(found.pair, found.weight, len(src)), 1)
    assert np.all(np.diff(found.pair) >= 0)
    for i, pair in enumerate(found.pair):
        way = found.links[found.start[i] : found.start[i + 1]]
        at = src[pair]
        for link in way:
            assert topology.src[link] == at
            at = topology.dst[link]
        assert at == dst[pair]
        assert found.latency[i] == pytest.approx(topology.latency[way].sum())
        inside = max(src[pair], dst[pair]) < topology.chips and np.all(
            topology.coords[src[pair], 0] == topology.coords[dst[pair], 0]
        )
        assert inside == bool(np.all(topology.axis[way] > 0)) or not len(way)


def test_routes_of_chips_are_as_short_as_inside_one_slice() -> None:
    for one, many in (("v5e:4x4", "v5e:4x4,slices=2"), ("v5p:4x4x8,twisted", "v5p:4x4x8,twisted,slices=2")):
        alone, where = cluster(one), cluster(many)
        src, dst = every_pair(alone.topology)
        n = alone.topology.chips
        first, second = routes(alone, src, dst), routes(where, src + n, dst + n)
        assert np.array_equal(first.hops, second.hops)
        assert np.array_equal(first.weight, second.weight)
        assert np.array_equal(first.links + alone.topology.links, second.links)


# src, dst of v5e:4x4,slices=2 (hosts hold 2x4): what is passed
WAYS = [
    ("0/0,0", "0/1,2", "0/0,0 0/1,0 0/1,1 0/1,2"),
    ("0/3,3", "1/0,0", "0/3,3 host 0/1 dcn host 1/0 1/0,0"),
    ("host 0/0", "0/0,2", "host 0/0 0/0,2"),
    ("host 0/1", "0/0,2", "host 0/1 0/2,2 0/1,2 0/0,2"),
    ("0/3,1", "host 0/0", "0/3,1 0/2,1 0/1,1 host 0/0"),
    ("host 0/0", "1/0,2", "host 0/0 dcn host 1/0 1/0,2"),
    ("host 0/0", "host 0/1", "host 0/0 dcn host 0/1"),
    ("0/0,0", "dcn", "0/0,0 host 0/0 dcn"),
    ("dcn", "host 1/1", "dcn host 1/1"),
]


@pytest.mark.parametrize(("src", "dst", "way"), WAYS, ids=[f"{a} to {b}" for a, b, _ in WAYS])
def test_which_way_data_go(src: str, dst: str, way: str) -> None:
    where = cluster("v5e:4x4,slices=2")
    topology = where.topology
    a, b = (clusters.vertex(topology, v) for v in (src, dst))
    found = routes(where, np.array([a]), np.array([b]))
    passed = [a, *topology.dst[found.links].tolist()]
    assert " ".join(topology.place(int(v)) for v in passed) == way


def hops_between(where: Cluster, src: str, dst: str) -> tuple[int, set[str]]:
    topology = where.topology
    a, b = (clusters.vertex(topology, v) for v in (src, dst))
    found = routes(where, np.array([a]), np.array([b]))
    return int(found.hops[0]), {topology.axes[i].name for i in topology.axis[found.links]}


def test_dead_cables_are_gone_round_inside_the_slice_and_a_dead_nic_over_another_host() -> None:
    where = clusters.cluster("v5e:16x16,slices=2")
    assert hops_between(where, "1/15,3", "1/0,3") == (1, {"x"})
    broken = clusters.degrade(where, dead=["1/15,3:1/0,3", "host 0/0:dcn"])
    hops, axes = hops_between(broken, "1/15,3", "1/0,3")
    assert (hops, "dcn" in axes) == (3, False)
    assert hops_between(broken, "0/15,3", "0/0,3") == (1, {"x"})
    assert hops_between(broken, "0/0,0", "1/0,0")[0] == 5
    assert hops_between(broken, "0/4,4", "1/0,0")[0] == 4


def test_a_chip_whose_cables_are_all_dead_cannot_be_reached_in_its_slice() -> None:
    dead = ["0/0,0:0/0,1", "0/0,0:0/1,0"]
    where = clusters.degrade(clusters.cluster("v5e:2x2,slices=2"), dead=dead)
    with pytest.raises(InputError, match="no route from 0/0,0 to 0/1,1"):
        routes(where, np.array([0]), np.array([3]))


def test_groups_over_the_network_over_the_slice_and_over_both() -> None:
    where = cluster("v5e:16x16,slices=2")
    inside, outside, both = group_over(where, "x", "y"), group_over(where, "dcn"), group_over(where)
    assert (len(inside.all_groups), inside.shape, inside.switched, inside.uniform) == (
        2,
        (16, 16),
        False,
        True,
    )
    assert [a.wraps for a in inside.axes] == [True, True]
    assert (len(outside.all_groups), outside.ranks, outside.switched) == (256, 2, True)
    assert (outside.bandwidth, outside.latency) == ((3.125e9,), (pytest.approx(12e-6),))
    assert [level.ranks for level in both.levels] == [2, 256]
    assert [level.switched for level in both.levels] == [True, False]
    assert np.array_equal(both.all_groups[0], np.arange(512))
    assert not both.uniform_rates
    alone = group_over(where, "x")
    assert (len(alone.all_groups), alone.ranks, alone.axes[0].wraps) == (32, 16, True)


def test_a_port_has_its_part_of_the_nic_or_all_of_pcie() -> None:
    assert group_over(tiny((2, 4), 3, (2, 2)), "dcn").bandwidth == (4e6,)
    assert group_over(tiny((2, 4), 3, (2, 2), nic=50e6), "dcn").bandwidth == (16e6,)
    slow = clusters.degrade(tiny((2, 4), 3, (2, 2)), slow=["host 1/0:dcn=0.5"])
    assert group_over(slow, "dcn").bandwidth == (0.0,)


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
    group = mesh.group(where, found)
    assert group.levels[0].ranks == 2
    assert sorted(group.all_groups.ravel().tolist()) == list(range(32))
    # Ranks are row-major over levels: the first half of them is one slice.
    assert len(set(where.topology.coords[group.all_groups[0, :16], 0].tolist())) == 1


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
        group = group_over(where, "dcn")
        for root in (0, 1) if collective in ROOTED else (0,):
            hint = Hint(SIZE, group.latency[0], root)
            if one.valid(collective, group, hint) is not None:
                continue
            laid = algebra.lay(one.build(collective, group, hint), group.all_groups, where.topology.vertices)
            check(laid)
            cost = one.cost(collective, group, hint)
            tried += 1
            if cost is None:
                continue
            stepped = steps(laid, where, SIZE)
            assert stepped.latency == pytest.approx(cost.latency, rel=1e-9)
            assert stepped.bandwidth == pytest.approx(cost.bandwidth, rel=1e-9)
            if one.exact(collective, group, hint):
                assert simulate(laid, where, SIZE).seconds == pytest.approx(cost.total(), rel=1e-9)
    if one.valid(collective, group_over(ON_DCN[1], "dcn"), Hint(SIZE)) is None:
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
    group = group_over(where)
    found = bounds.bound(where, standard("all_reduce", 32), group.all_groups, SIZE)
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
    group = group_over(where, "x", "y")
    assert not group.uniform_rates  # no closed form of a ring holds there
    direct = algorithms.get("direct").build("all_to_all", group, Hint(SIZE))
    laid = algebra.lay(direct, group.all_groups, made.vertices)
    one_slice = Cluster("one", one, "torus", "twisted")
    alone = algebra.lay(direct, np.arange(32, dtype=np.int32)[None], 32)
    assert simulate(laid, where, SIZE).seconds == pytest.approx(simulate(alone, one_slice, SIZE).seconds)
