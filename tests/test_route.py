"""route: which way a message takes between chips, hosts and slices, at what rates, and how long it takes."""

import pytest
from cli import run
from hypothesis import given, settings
from hypothesis import strategies as st

from hopcast import clusters
from hopcast.names import InputError
from hopcast.verbs.route import route
from hopcast.verbs.show import show

MIB = 2**20
HBM, PCIE, NIC, ICI = 820, 16, 25, 45  # GB/s one way of v5e


def stages(row: dict[str, object]) -> list[tuple[str, float]]:
    return [(s["name"], s["GBps"]) for s in row["stages"]]


def test_the_published_move_takes_two_routes() -> None:
    row = route("v5e:4x4", "3,3", "0,0", size="bf16[2048,2048]").rows[0]
    assert (row["hops"], row["disjoint_routes"]) == (6, 2)
    assert row["bandwidth_us"] == pytest.approx(2 * 2048 * 2048 / 90e9 * 1e6)
    assert row["latency_us"] == pytest.approx(6)
    assert row["time_us"] == pytest.approx(99.207, abs=1e-3)


def test_the_wrap_around_of_a_pod_makes_it_three_hops() -> None:
    assert route("v5e:16x16", "15,15", "2,15").rows[0]["hops"] == 3


UP, DOWN = [("HBM read", HBM), ("PCIe", PCIE)], [("PCIe", PCIE), ("HBM write", HBM)]
OVER = [("NIC", NIC), ("DCN", 800), ("NIC", NIC)]
# cluster, from, to: hops, stages, latency in us
STAGED = [
    ("v5e:4x4", "host:0", "0,0", 1, DOWN, 1),
    ("v5e:4x4", "0,0", "host 0", 1, UP, 1),
    ("v5e:4x4", "host:1", "0,0", 3, [("PCIe", PCIE), ("ICI", ICI), ("HBM write", HBM)], 3),
    ("v5e:4x4", "host:0", "host:1", 2, [("NIC", NIC), ("DCN", 2 * NIC), ("NIC", NIC)], 10),
    ("v5e:16x16,slices=2", "0/3,3", "1/0,0", 4, UP + OVER + DOWN, 12),
    ("v5e:16x16,slices=2", "host:0/3", "1/0,0", 3, OVER + DOWN, 11),
    ("v5e:4x4,slices=2,dcn_bandwidth=1GB/s", "0/0,0", "1/0,0", 4, None, 12),
]


@pytest.mark.parametrize(("cluster", "src", "dst", "hops", "passed", "latency"), STAGED)
def test_stages_stream_at_the_rate_of_the_slowest(
    cluster: str, src: str, dst: str, hops: int, passed: list[tuple[str, float]] | None, latency: float
) -> None:
    found = route(cluster, src, dst, size="1MiB")
    row = found.rows[0]
    assert row["hops"] == hops
    assert passed is None or stages(row) == passed
    assert row["latency_us"] == pytest.approx(latency)
    slowest = min(rate for _, rate in stages(row))
    assert row["bandwidth_us"] == pytest.approx(MIB / slowest / 1e3)
    assert row["time_us"] == pytest.approx(row["latency_us"] + row["bandwidth_us"])
    said = "\n".join(found.notes)
    assert all(name in said for name, _ in stages(row))


def test_one_chip_is_held_up_by_pcie_and_all_of_a_host_by_the_nic() -> None:
    said = "\n".join(route("v5e:16x16,slices=2", "0/3,3", "1/0,0").notes)
    assert "slowest rate, PCIe" in said
    assert "if all 8 chips of a host send at once, each has 3.125 GB/s" in said
    slow = route("v5e:16x16,slices=2,dcn_bandwidth=1GB/s", "0/3,3", "1/0,0").rows[0]
    assert dict(stages(slow))["NIC"] == 8


def test_inside_one_of_several_slices_it_is_as_in_one_alone() -> None:
    alone, among = route("v5e:4x4", "3,3", "0,0").rows[0], route("v5e:4x4,slices=2", "1/3,3", "1/0,0").rows[0]
    for key in ("hops", "disjoint_routes", "latency_us", "time_us", "stages"):
        assert alone[key] == among[key]


def test_across_slices_other_hosts_offer_more_disjoint_routes() -> None:
    row = route("v5e:16x16,slices=2", "0/3,3", "1/0,0").rows[0]
    assert row["disjoint_routes"] == 5  # four ICI links and one PCIe link at each end
    assert row["routes"] == [["0/3,3", "host 0/4", "dcn", "host 1/0", "1/0,0"]]
    assert route("v5e:1x1,slices=2", "0/0,0", "1/0,0").rows[0]["disjoint_routes"] == 1


def test_a_dead_cable_is_gone_round_and_a_slow_one_is_the_slowest_stage() -> None:
    dead = route("v5e:4x4", "0,0", "0,1", dead=["0,0:0,1"]).rows[0]
    assert (dead["hops"], dead["disjoint_routes"]) == (3, 1)
    nic = route("v5e:4x4,slices=2", "0/0,0", "1/0,0", dead=["host 0/0:dcn"]).rows[0]
    assert nic["hops"] == 6
    assert [name for name, _ in stages(nic)][:4] == ["HBM read", "ICI", "PCIe", "NIC"]
    slow = route("v5e:4x4,slices=2", "0/0,0", "1/0,0", slow=["host 1/0:dcn=0.1"]).rows[0]
    assert slow["bandwidth_us"] == pytest.approx(MIB / 2.5e3)


def test_across_a_switch_it_is_one_hop() -> None:
    row = route("switch:8", "0", "3").rows[0]
    assert (row["hops"], row["disjoint_routes"], row["routes"]) == (1, 1, [["0", "3"]])
    assert row["latency_us"] == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_more_bytes_take_longer_and_no_stage_is_outrun(data: st.DataObject) -> None:
    where = clusters.cluster(data.draw(st.sampled_from(["v5e:4x4,slices=2", "v5p:2x2x2,slices=3"])))
    topology = where.topology
    ends = st.integers(0, topology.vertices - 2)
    a, b = data.draw(ends), data.draw(ends)
    if a == b:
        return
    small, large = (
        route(where, topology.place(a), topology.place(b), size=n).rows[0] for n in (MIB, 4 * MIB)
    )
    assert small["time_us"] < large["time_us"]
    assert large["bandwidth_us"] == pytest.approx(4 * small["bandwidth_us"]) or small["disjoint_routes"] > 1
    widest = min(rate for _, rate in stages(small)) * small["disjoint_routes"]
    assert small["bandwidth_us"] >= MIB / widest / 1e3 * (1 - 1e-9)


BAD = [
    ("v5e:16x16,slices=2", "0/3,3", "2/0,0", ["slice 2", "0 to 1"]),
    ("v5e:16x16,slices=2", "0/3,3", "1/16,0", ["1/16,0", "x goes from 0 to 15"]),
    ("v5e:16x16,slices=2", "0/3,3", "1/0", ["1/0", "2, as in 1/15,15"]),
    ("v5e:16x16,slices=2", "0/3,3", "1/0,0,0", ["3 coordinates", "2"]),
    ("v5e:16x16,slices=2", "3,3", "1/0,0", ["which of the 2 slices", "1/15,15"]),
    ("v5e:16x16,slices=2", "host:3", "1/0,0", ["which of the 2 slices", "host:1/31"]),
    ("v5e:16x16,slices=2", "host:0/99", "1/0,0", ["host:0/99", "0 to 31"]),
    ("v5e:16x16,slices=2", "rank 512", "1/0,0", ["512", "511"]),
    ("v5e:16x16,slices=2", "nowhere", "1/0,0", ["nowhere", "rank 5"]),
    ("v5e:16x16,slices=2", "1/0,0", "1/0,0", ["same chip"]),
    ("v5e:4x4", "host:99", "0,0", ["host:99", "0 to 1", "host:1"]),
    ("v5e:4x4", "host:0", "host:0", ["same host"]),
    ("v5e:4x4", "host:", "0,0", ["host:", "host:1"]),
    ("v5e:4x4", "host:0", "1/0,0", ["slice 1", "0 to 0"]),
    ("v5e:4x4", "1/3,3", "0,0", ["1/3,3", "3,3"]),
    ("torus:4x4", "host:0", "0,0", ["no hosts", "v5e:4x4"]),
    ("switch:8", "host:0", "1", ["no hosts"]),
    ("7x:4x4x4", "host:0", "0,0,0", ["pcie_bandwidth="]),
]


@pytest.mark.parametrize(("cluster", "src", "dst", "says"), BAD, ids=[" ".join(b[:3]) for b in BAD])
def test_bad_ends_are_refused_in_one_line(cluster: str, src: str, dst: str, says: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        route(cluster, src, dst)
    said = str(caught.value)
    assert "\n" not in said
    assert all(word in said for word in says), said


def test_dead_cables_that_leave_no_way_are_an_error() -> None:
    with pytest.raises(InputError, match="no route from 0/0,0 to 0/0,1 on"):
        route("v5e:2x4,slices=2", "0/0,0", "0/0,1", dead=["0/0,0:0/0,1", "0/0,0:0/1,0"])
    with pytest.raises(InputError, match="no cable joins 1/3,3 and 1/0,3"):
        route("v5e:4x4,slices=2", "1/3,3", "1/0,3", dead=["1/3,3:1/0,3"])


def test_the_command_prints_stages_and_what_is_assumed() -> None:
    ran = run("route", "v5e:16x16,slices=2", "0/3,3", "1/0,0")
    assert ran.status == 0
    assert "HBM read 820 GB/s, PCIe 16 GB/s, NIC 25 GB/s, DCN 800 GB/s" in ran.out
    assert "dcn_latency=10us" in ran.err


# Where chips are joined by cables a cable is a hop; where they meet in switches, two links are.
DIRECT = [
    ("full_mesh:8", "0", "1", 1, 7),
    ("mi300x", "0", "1", 1, 7),
    ("dgx1-v100", "0", "7", 2, 4),
    ("dgx-h100", "0", "1", 1, 1),
    ("dgx-h100:64", "0,0", "40,0", 2, 2),
]


@pytest.mark.parametrize(("cluster", "src", "dst", "hops", "ways"), DIRECT)
def test_the_plainest_of_all_disjoint_routes_comes_first(
    cluster: str, src: str, dst: str, hops: int, ways: int
) -> None:
    row = route(cluster, src, dst).rows[0]
    assert (row["hops"], row["disjoint_routes"]) == (hops, ways)
    assert len(row["routes"][0]) == min(map(len, row["routes"]))


def test_a_hop_takes_the_latency_that_show_says() -> None:
    for cluster in ("full_mesh:8,latency=3us", "switch:8,latency=3us", "torus:4x4,latency=3us"):
        assert show(cluster).rows[0]["hop_latency_us"] == pytest.approx(3)
        assert route(cluster, "rank 0", "rank 1", size=1).rows[0]["latency_us"] == pytest.approx(3)


@pytest.mark.parametrize(
    ("where", "src", "dst", "late"), [("torus:8x8", "0,0", "4,0", 5.0), ("mesh:4x4", "0,0", "2,2", 4.0)]
)
def test_latency_is_not_blurred_by_a_large_message(where: str, src: str, dst: str, late: float) -> None:
    """At terabytes the difference of two times would leave few of its digits."""
    small, large = (
        route(f"{where},latency=1us", src, dst, size=s).rows[0]["latency_us"] for s in ("1GiB", "64TiB")
    )
    assert small == late
    assert large == late


@pytest.mark.parametrize(
    "where", ["v5e:4x4", "v5p:4x4x4", "hypercube:4,latency=300ns", "torus:5x6,latency=100ns"]
)
def test_latency_is_hops_times_that_of_a_link_without_rounding(where: str) -> None:
    """At sizes that only routes of one length help with."""
    cluster = clusters.cluster(where)
    hop = round(float(cluster.topology.latency[0]) * 1e7)  # in tenths of microseconds
    for to in range(1, cluster.topology.chips):
        row = route(cluster, "rank 0", f"rank {to}", size=1).rows[0]
        assert row["latency_us"] == row["hops"] * hop / 10
        assert row["time_us"] == row["latency_us"] + row["bandwidth_us"]
