"""Slices whose ranks are cores: what is there, and that they do what their chips do."""

import numpy as np
import pytest
from cli import run
from grids import group
from predicting import predicted_row
from refused import one_line_error
from small_slices import cluster

from hopcast import algorithms, chips, interpret
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import NAMES
from hopcast.ir.group import Hint
from hopcast.ir.mesh import from_order, logical
from hopcast.verbs.bisect import worst_halving
from hopcast.verbs.show import show

CORES = ",ranks=cores"
TPUS = tuple(n for n in chips.names() if chips.load(n).slices and "ici.bandwidth" in chips.load(n).figures)
PAIRED = tuple(n for n in TPUS if chips.load(n).figure("devices").value == 2)
FIRST = {n: f"{n}:{'x'.join(map(str, rule.shapes[0]))}" for n in TPUS if (rule := chips.load(n).slices)}
# Open and wrapped, two axes and three, short ones and long.
SLICES = ("v2:2x2", "v2:8x16", "v3:4x4", "7x:2x2x1", "7x:2x2x2", "7x:2x4x4", "7x:4x4x4", "7x:4x4x8")
OUTSIDE = "slices=2,pcie_bandwidth=50GB/s,dcn_bandwidth=10GB/s"
HALVES = ("all_gather", "reduce_scatter", "all_reduce")


def leaving(where: Cluster, axis: str) -> float:
    """Bytes/s over all links of an axis."""
    topology = where.topology
    own = [a.name for a in topology.axes].index(axis)
    return float(topology.bandwidth[topology.axis == own].sum())


def test_there_are_such_chips() -> None:
    assert {"v2", "v3", "7x"} <= set(PAIRED)


@pytest.mark.parametrize("text", SLICES)
def test_cores_have_what_their_chips_have(text: str) -> None:
    by_chip, by_core = cluster(text), cluster(text + CORES)
    one, two = by_chip.topology, by_core.topology
    assert (two.chips, two.shape, two.axes[-1].name) == (2 * one.chips, (*one.shape, 2), "core")
    assert [a.wraps for a in two.axes] == [*(a.wraps for a in one.axes), False]
    for axis in one.axes:
        assert leaving(by_core, axis.name) == pytest.approx(leaving(by_chip, axis.name))
    assert worst_halving(two).one_way == pytest.approx(worst_halving(one).one_way)
    joined = two.bandwidth[two.axis == len(one.axes)]
    assert len(joined) == two.chips
    assert joined.min() == joined.max() > one.bandwidth.max()
    assert by_core.facts == by_chip.facts
    assert by_core.facts["devices"] == two.chips


@pytest.mark.parametrize("name", TPUS)
def test_show_and_predict_count_the_same_ranks(name: str) -> None:
    options = ["", ",ranks=chips", *([CORES] if name in PAIRED else [])]
    for option in options:
        text = FIRST[name] + option
        row = show(text).rows[0]
        assert row["ranks"] == predicted_row("all_gather", text)["ranks"]
        assert row["chips"] == cluster(FIRST[name]).topology.chips
        assert row["devices"] == row["chips"] * chips.load(name).figure("devices").value
        assert row["ranks"] == row["devices" if option == CORES else "chips"]


@pytest.mark.parametrize("name", TPUS)
def test_who_leaves_it_open_is_told_of_cores_where_jax_shows_them(name: str) -> None:
    said = " ".join(cluster(FIRST[name]).assumed)
    assert ("ranks=cores" in said) == (name in PAIRED)
    assert cluster(f"{FIRST[name]},ranks=chips").assumed == ()


def test_what_nobody_gives_is_said_to_be_assumed() -> None:
    def said(text: str) -> str:
        return " ".join(cluster(text + CORES).assumed)

    assert "core_bandwidth=400GB/s is assumed" in said("v3:4x4")
    assert "core_bandwidth" not in said("7x:2x2x1")
    assert "core_latency=1us is assumed" in said("7x:2x2x1")
    quiet = "v3:4x4,core_bandwidth=300GB/s,core_latency=500ns"
    assert "assumed" not in said(quiet)
    given = cluster(quiet + CORES).topology
    inner = given.axis == 2
    assert set(given.bandwidth[inner]) == {300e9}
    assert set(given.latency[inner]) == {5e-7}
    assert not cluster("v3:4x4,latency=0" + CORES).topology.latency.any()


@pytest.mark.parametrize("collective", HALVES)
@pytest.mark.parametrize("text", SLICES)
def test_the_least_time_is_that_of_chips(text: str, collective: str) -> None:
    """D (1 - 1 / chips) enter a chip, whether for one rank or for two that pass it on to each other."""
    asked = [("", "multi_axis"), (CORES, "hierarchical,pipeline=off")]
    least = [
        predicted_row(collective, text + option, algorithm=algorithm, price="formula")["bound_us"]
        for option, algorithm in asked
    ]
    assert least[1] == pytest.approx(least[0], rel=1e-9)


@pytest.mark.parametrize("collective", HALVES)
@pytest.mark.parametrize("text", ["v2:2x2", "7x:2x2x2", "7x:4x4x4"])
def test_large_arrays_take_the_time_of_chips(text: str, collective: str) -> None:
    by_chip, by_core = (predicted_row(collective, text + o, "16GiB") for o in ("", CORES))
    assert by_chip["bound_us"] * (1 - 1e-9) <= by_core["time_us"] <= 1.05 * by_chip["time_us"]


@pytest.mark.parametrize("text", ["7x:4x4x4", "7x:4x4x8"])
@pytest.mark.parametrize("collective", HALVES)
@pytest.mark.parametrize("algorithm", ["hierarchical", "multi_axis"])
def test_one_core_stands_for_all_where_axes_wrap(text: str, collective: str, algorithm: str) -> None:
    asked = {"algorithm": algorithm, "price": "flows"}
    quick, full = (
        predicted_row(collective, text + CORES, "1GiB", **asked, shortcut=s)["time_us"] for s in (True, False)
    )
    assert quick == pytest.approx(full, rel=1e-9)


@pytest.mark.parametrize("name", algorithms.names())
@pytest.mark.parametrize("text", ["7x:2x2x1", "7x:4x4x4", f"v2:2x2,{OUTSIDE}"])
def test_what_an_algorithm_builds_on_cores_is_its_collective(text: str, name: str) -> None:
    where, one = cluster(text + CORES), algorithms.get(name)
    for over in (("core",), ("x", "core"), ("core", "y"), ()):
        if not over and where.topology.chips > 16:
            continue
        mine = group(where, over)
        hint = Hint(2.0**20, max(mine.latency))
        for collective in NAMES:
            if mine.ranks == 1 or one.valid(collective, mine, hint) is not None:
                continue
            made = one.build(collective, mine, hint)
            interpret.check(lay(made, mine.all_groups, where.topology.vertices, mine.hubs))


@pytest.mark.parametrize("name", algorithms.names())
@pytest.mark.parametrize("text", ["7x:4x4x4", "7x:2x2x1"])
def test_closed_forms_that_say_so_are_exact_on_cores(text: str, name: str) -> None:
    where, one = cluster(text + CORES), algorithms.get(name)
    for options in ({}, {"pipeline": "off"} if "pipeline" in one.options else {}):
        for over in ((), ("core",), ("x", "core")):
            mine = group(where, over)
            hint = Hint(2.0**28, max(mine.latency), options=options)
            for collective in HALVES:
                if one.valid(collective, mine, hint) or not one.exact(collective, mine, hint):
                    continue
                words = ",".join([name, *(f"{k}={v}" for k, v in options.items())])
                asked = {"algorithm": words, "over": over or None}
                times = [
                    predicted_row(collective, text + CORES, 2.0**28, price=price, **asked)["time_us"]
                    for price in ("formula", "steps", "flows")
                ]
                assert times == pytest.approx([times[0]] * 3, rel=1e-9), (words, over, collective)


@pytest.mark.parametrize("collective", sorted(set(NAMES) - {"all_to_all_v"}))
@pytest.mark.parametrize("over", ["core", "x", "x,core", "core,y"])
def test_every_collective_has_an_answer_over_cores(collective: str, over: str) -> None:
    row = predicted_row(collective, "7x:2x2x1" + CORES, "1GiB", over=over)
    assert row["ranks"] == (4 if "," in over else 2)
    assert row["groups"] == 8 // row["ranks"]
    assert row["time_us"] >= row["bound_us"] * (1 - 1e-9) >= row["limit_us"] * (1 - 2e-9)


@pytest.mark.parametrize(
    ("text", "mesh", "lies"),
    [
        # x, y, z and y, z, core are as long: that with the fast axis goes to the last, which talks most.
        ("7x:2x4x4", [("data", 2), ("fsdp", 32)], "data=2 on x, fsdp=32 on y x z x core"),
        ("7x:4x4x4", [("data", 8), ("model", 16)], "data=8 on z x core, model=16 on x x y"),
        ("7x:4x4x4", [("data", 64), ("model", 2)], "data=64 on x x y x z, model=2 on core"),
        ("7x:2x2x1", [("all", 8)], "all=8 on x x y x z x core"),
    ],
)
def test_meshes_lie_as_jax_lays_them(text: str, mesh: list[tuple[str, int]], lies: str) -> None:
    where = cluster(text + CORES)
    made = logical(where, mesh)
    assert made.describe(where.topology).startswith(lies)
    assert sorted(made.chips.ravel().tolist()) == list(range(where.topology.chips))
    last = made.chips.reshape(-1, made.shape[-1])
    if "core" in lies.rpartition(",")[2]:  # then cores count fastest
        assert np.all(last[:, 1] == last[:, 0] + 1)
        assert np.all(last[:, 0] % 2 == 0)


def test_a_mesh_of_all_devices_points_at_cores() -> None:
    said = one_line_error(logical, cluster("7x:4x4x4"), [("data", 8), ("model", 16)])
    assert "with ranks=cores it has 128" in said
    assert "ranks=cores" not in one_line_error(logical, cluster("7x:4x4x4"), [("data", 5)])
    assert "ranks=cores" not in one_line_error(logical, cluster("v5e:4x4"), [("data", 5)])


def test_cores_in_any_order_still_compute_it() -> None:
    where = cluster("v2:2x2" + CORES)
    order = np.random.default_rng(1).permutation(where.topology.chips).tolist()
    assert from_order(where, [("rank", 8)], order, "file").shape == (8,)


@pytest.mark.parametrize("text", [f"7x:2x2x1,{OUTSIDE}", f"v3:4x4,{OUTSIDE}"])
def test_cores_share_the_way_of_their_chip_to_other_slices(text: str) -> None:
    by_chip, by_core = cluster(text), cluster(text + CORES)
    assert leaving(by_core, "dcn") == pytest.approx(leaving(by_chip, "dcn"))
    one, two = by_chip.topology, by_core.topology
    assert two.vertices - two.chips == one.vertices - one.chips
    up = (two.src < two.chips) & (two.axis == 0)
    host = dict(zip(two.src[up].tolist(), two.dst[up].tolist(), strict=True))
    assert all(host[v] == host[v + 1] for v in range(0, two.chips, 2))
    rows = [predicted_row("all_reduce", t, "1GiB", algorithm="hierarchical") for t in (text, text + CORES)]
    assert rows[1]["bound_us"] == pytest.approx(rows[0]["bound_us"], rel=1e-9)


def test_a_broken_cable_is_broken_for_both_cores() -> None:
    plain, broken = (
        predicted_row("all_gather", text, "1GiB", dead=dead)
        for text, dead in (("7x:2x2x1", ["0,0,0:1,0,0"]), ("7x:2x2x1" + CORES, ["0,0,0,1:1,0,0,1"]))
    )
    assert broken["bound_us"] == pytest.approx(plain["bound_us"], rel=1e-9)
    alone = predicted_row("all_gather", "7x:2x2x1" + CORES, "1GiB", dead=["0,0,0,0:0,0,0,1"])
    assert alone["bound_us"] > predicted_row("all_gather", "7x:2x2x1" + CORES, "1GiB")["bound_us"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v5e:4x4,ranks=cores", "one device for each chip of TPU v5e"),
        ("v5p:2x2x1,ranks=cores", "one device for each chip of TPU v5p"),
        ("7x:2x2x1,ranks=core", "it is chips or cores"),
        ("7x:2x2x1,ranks", "write ranks=VALUE"),
        ("7x:4x4x8,twisted,ranks=cores", "leave out ranks=cores or twisted"),
        ("7x:2x2x1,core_bandwidth=1GB/s", "add ranks=cores"),
        ("7x:2x2x1,ranks=chips,core_latency=1us", "add ranks=cores"),
        ("7x:2x2x1,ranks=cores,core_bandwidth=1GiB/h", "core_bandwidth=1GiB/h"),
        ("torus:4x4,ranks=cores", "torus:4x4 has no option 'ranks'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(text: str, said: str) -> None:
    assert said in one_line_error(show, text)


def test_levels_are_those_of_a_core() -> None:
    by_chip, by_core = (
        {level["name"]: level for level in show(t).rows[0]["levels"]}
        for t in ("7x:4x4x4", "7x:4x4x4" + CORES)
    )
    assert by_core["ICI link"]["degree"] == by_chip["ICI link"]["degree"] == 6
    for name in by_chip:
        assert by_core[name]["link_GBps"] == by_chip[name]["link_GBps"] / 2
    assert by_core["core link"]["link_GBps"] == 540
    assert "4 x 4 x 4 x 2 cores = 128 cores" in show("7x:4x4x4" + CORES).title


def test_the_note_comes_with_every_answer() -> None:
    ran = run("predict", "all_gather", "7x:2x2x1", "--size", "1MiB")
    assert ran.status == 0
    assert "JAX shows its two cores as devices: ranks=cores" in ran.err
