"""Groups, prices and bounds on GPU machines, where the articles give the answer."""

import numpy as np
import pytest
from predicting import GIB, predicted_row

import hopcast as hc
from hopcast.clusters import cluster
from hopcast.ir.group import Group
from hopcast.ir.mesh import group, logical, physical
from hopcast.price import bounds, bounds_traffic


def over(text: str, *axes: str, mesh: str = "") -> Group:
    where = cluster(text)
    lengths = [(k, int(v)) for k, _, v in (item.partition("=") for item in mesh.split(","))] if mesh else []
    return group(where, logical(where, lengths) if mesh else physical(where.topology), axes)


def test_groups_know_when_a_closed_form_holds() -> None:
    one = over("dgx-h100", "gpu")
    assert (one.switched, one.bandwidth, one.apart, one.ranks) == (True, (450e9,), True, 8)
    inner, outer = over("dgx-h100:32", "gpu"), over("dgx-h100:32", "node")
    assert (inner.bandwidth, inner.latency, inner.apart) == ((450e9,), (1e-6,), True)
    assert (outer.bandwidth, outer.latency, outer.apart) == ((50e9,), (2e-6,), True)
    assert outer.all_groups.shape == (8, 32)
    assert over("dgx-h100:64", "node").bandwidth == (0.0,), "two units: routes share uplinks"
    assert over("dgx-h100:9,rails=off", "node").bandwidth == (0.0,)
    assert over("mi300x", "gpu").bandwidth == (0.0,), "each peer has its own cable"
    whole = over("dgx-h100:32")
    assert [g.ranks for g in whole.levels] == [32, 8]
    assert [g.bandwidth for g in whole.levels] == [(50e9,), (450e9,)]
    wide = over("dgx-h100:4", "model", mesh="data=2,model=16")
    assert [g.ranks for g in wide.levels] == [2, 8]


# Ring: (n - 1) D / (n W) within a node; hierarchical: node RS, rail-wise AR of D / 8, node AG.
def test_prices_agree_where_the_article_gives_the_answer() -> None:
    row = predicted_row("all_gather", "dgx-h100,latency=0", "bf16[4096,65536]", algorithm="ring")
    assert row["time_us"] == pytest.approx(1043.916, rel=1e-6)
    text = "dgx-h100:32,sharp=off,nvlink_latency=1us,nic_latency=2us"
    size, n, m = GIB, 8, 32
    expected = 2 * ((n - 1) * (1e-6 + size / n / 450e9) + (m - 1) * (2e-6 + size / n / m / 50e9))
    for price in ("formula", "steps", "flows"):
        row = predicted_row("all_reduce", text, size, algorithm="hierarchical,pipeline=off", price=price)
        assert row["time_us"] == pytest.approx(expected * 1e6, rel=1e-9), price
        assert row["time_us"] == pytest.approx(9514.60, abs=0.005)
    assert row["bound_us"] == pytest.approx(2 * size * 31 / 32 / 400e9 * 1e6)


@pytest.mark.slow
def test_a_pipeline_overlaps_node_and_network() -> None:
    text = "dgx-h100:32,sharp=off,nvlink_latency=1us,nic_latency=2us"
    row = predicted_row("all_reduce", text, algorithm="hierarchical,pipeline=on")
    assert 5200.936 <= row["time_us"] < 9514.6


def test_rings_and_all_at_once_on_a_mesh_of_cables() -> None:
    """One direction of a ring uses one of seven cables of each GPU; direct uses all."""
    for algorithm, seconds in (("ring", 7 / 8 / 64e9), ("direct", 1 / 8 / 64e9)):
        row = predicted_row("all_gather", "mi300x,latency=0", algorithm=algorithm, price="flows")
        assert row["time_us"] == pytest.approx(GIB * seconds * 1e6, rel=1e-9)
    assert row["bound_us"] == pytest.approx(GIB * 7 / 8 / 448e9 * 1e6)
    assert row["efficiency"] == pytest.approx(1.0)


def least(name: str, text: str, *, limit: bool = False) -> bounds.Bound:
    where = cluster(text)
    n = where.topology.chips
    about = (where, bounds_traffic.standard(name, n), np.arange(n, dtype=np.int32)[None], float(GIB))
    return bounds.limit(*about) if limit else bounds.bound(*about)


@pytest.mark.parametrize(
    ("name", "text", "seconds", "kind"),
    [
        ("all_gather", "dgx-h100:32,latency=0", 31 / 32 / 400e9, "cut"),
        ("all_gather", "dgx-h100:128,latency=0", 127 / 128 / 400e9, "cut"),
        ("all_reduce", "dgx-h100:32,latency=0", 2 * 31 / 32 / 400e9, "partition"),
        ("all_gather", "dgx-h100,latency=0", 7 / 8 / 450e9, "port"),
        ("all_gather", "gb200-nvl72:4,latency=0", 287 / 288 / 950e9, "port"),  # 72 NICs outrun it
        ("all_gather", "dgx-h100:8,nics=1,latency=0", 7 / 8 / 50e9, "cut"),
        # Two leaves with 4 cables up for half of the data; a unit of two nodes with 8.
        ("reduce_scatter", "dgx-h100:8,rails=off,oversubscription=8,latency=0", 1 / 2 / 200e9, "cut"),
        ("all_to_all", "dgx-h100:34,oversubscription=32,latency=0", 32 * 2 / 34**2 / 400e9, "cut"),
    ],
)  # fmt: skip
def test_bounds_know_nodes_and_units(name: str, text: str, seconds: float, kind: str) -> None:
    found = least(name, text)
    assert found.seconds == pytest.approx(GIB * seconds, rel=1e-9)
    assert found.kind == kind


def test_the_limit_knows_switches_that_reduce() -> None:
    ring = predicted_row("all_reduce", "dgx-h100,latency=0", algorithm="ring")
    assert ring["time_us"] / ring["limit_us"] == pytest.approx(1.75)
    plain = least("all_reduce", "dgx-h100,latency=0,nvls=off", limit=True)
    assert plain.seconds == pytest.approx(2 * 7 / 8 * GIB / 450e9)
    assert least("all_reduce", "dgx-a100,latency=0", limit=True).seconds == pytest.approx(
        2 * 7 / 8 * GIB / 300e9
    )


@pytest.mark.parametrize(
    ("name", "text", "size"),
    [
        ("all_gather", "dgx-h100:8", "1GiB"),  # latency is hidden behind the other send under way
        ("all_reduce", "dgx-h100:4", "64MiB"),
        ("broadcast", "ring:8", "8MiB"),
        ("all_to_all", "mesh:4x4", "1MiB"),
        ("all_reduce", "mesh:4x4", "64MiB"),
    ],
)
def test_the_part_that_bytes_take_is_never_below_the_bound(name: str, text: str, size: str) -> None:
    """[bound] Of flows: what of the latency on the critical path is hidden is not counted as latency."""
    row = hc.predict(name, text, size=size, algorithm="best", price="flows").rows[0]
    free = hc.predict(name, f"{text},latency=0", size=size, algorithm="best", price="flows").rows[0]
    assert row["bandwidth_us"] >= free["bound_us"] * (1 - 1e-9)
    assert row["latency_us"] + row["bandwidth_us"] == pytest.approx(row["time_us"])
