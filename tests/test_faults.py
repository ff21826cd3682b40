"""Slow and dead cables: each is named as it is printed, and what is no cable is refused with what is."""

import numpy as np
import pytest
from cli import run
from refused import one_line_error, one_line_refusal

from hopcast.clusters import cluster
from hopcast.faults import degrade, fault

# Every kind of name: chips, cores, hosts, slices, nodes, racks, planes, pods, NICs, spines one by one.
CLUSTERS = [
    "ring:5", "mesh:3x4", "torus:2x3x4", "hypercube:3", "switch:6", "full_mesh:4", "fat_tree:2x4", "7x:2x2x1",
    "v5e:2x4,slices=2", "v5e:4x4", "dgx-h100", "dgx-h100:2", "dgx-h100:64", "dgx-h100:4,routing=ecmp",
    "dgx-h100:4,nics=2", "dgx-a100:4,oversubscription=2", "dgx-h100:4,nodes=0+3", "dgx1-v100:2", "mi300x:2",
    "gb200-nvl72:16", "gb200-nvl72:2,gpus=8,routing=ecmp", "dgx-h100:512,nodes=0+200+400",
    "dgx-b300:40,gpus=1",
]  # fmt: skip


@pytest.mark.parametrize("text", CLUSTERS)
def test_every_link_is_named_as_it_is_printed(text: str) -> None:
    where = cluster(text)
    topology = where.topology
    some = np.unique(np.linspace(0, topology.links - 1, 200).astype(int))
    for link in some.tolist():
        src, dst = int(topology.src[link]), int(topology.dst[link])
        printed, ends = topology.link_name(link), (topology.place(src), topology.place(dst))
        for said in (printed, ":".join(ends), "  :  ".join(ends).upper()):
            one_way = said == printed
            for found in (fault(topology, said, False), fault(topology, f"{said}=0.5", True)):
                assert (found.src, found.dst, found.one_way) == (src, dst, one_way), said


@pytest.mark.parametrize("text", ["dgx-h100:64", "dgx-h100:512,nodes=0+200+400", "v5e:2x4,slices=2"])
def test_a_slow_link_named_as_printed_is_the_only_one_that_is_slow(text: str) -> None:
    where = cluster(text)
    for link in np.unique(np.linspace(0, where.topology.links - 1, 50).astype(int)).tolist():
        slow = degrade(where, slow=[f"{where.topology.link_name(link)}=0.25"]).topology
        assert np.flatnonzero(slow.bandwidth != where.topology.bandwidth).tolist() == [link]
        assert slow.bandwidth[link] == where.topology.bandwidth[link] / 4


def test_one_direction_of_a_cable_at_half_duplex_is_refused() -> None:
    where = cluster("ring:5,duplex=half").topology
    assert "write 0:1 for both" in one_line_error(fault, where, "0>1", False)


WRONG = [
    ("dgx-h100:64", "unit 0 rail 0 leaf:9 spines", "no switch of dgx-h100:64; did you mean 8 spines?"),
    ("dgx-h100:64", "unt 0 rail 0 leaf:8 spines", "did you mean unit 0 rail 0 leaf?"),
    ("dgx-h100:64", "unit 0 rail 0 leaf:node 0 nvswitch", "no cable joins unit 0 rail 0 leaf and node 0"),
    ("dgx-h100:64", "unit 0 rail 0 leaf:node 0 nvswitch", " and 26 more"),
    ("dgx-h100:4", "node 3:rail 0 leaf", "'node 3' is not a chip of dgx-h100:4; write coordinates"),
    ("mesh:4x4", "x 0,0", "write two neighbours, as in 3,3:3,4"),
    ("mesh:4x4", "0,0:0,1:0,2", "write two neighbours"),
    ("mesh:4x4", "0,0:4,0", "'4,0' is outside mesh:4x4: x goes from 0 to 3"),
    ("mesh:4x4", "0,0:0,0", "no cable joins 0,0 and 0,0"),
    ("mesh:4x4", "", "write two neighbours"),
    ("mesh:4x4", ":", "'' is not a chip"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said", "says"), WRONG)
def test_what_is_no_cable_is_refused_in_one_line(text: str, said: str, says: str) -> None:
    assert says in one_line_error(fault, cluster(text).topology, said, False)


PARTS = [("0.5", "runs at 50%"), ("0.001", "runs at 0.1%"), ("0.0625", "runs at 6.25%")]


@pytest.mark.parametrize(("part", "says"), PARTS)
def test_how_slow_a_link_is_is_said_however_slow(part: str, says: str) -> None:
    ran = run(
        "predict", "all_reduce", "ring:8", "--size", "1M", "--algorithm", "ring", "--slow", f"0>1={part}"
    )
    assert ran.status == 0
    assert f"slow_link: 1 link is below its rate: x 0>1 {says}" in ran.out


@pytest.mark.parametrize("part", ["0", "1.1", "-1", "1e-300", "nan", "x", "", "1e-7"])
def test_a_part_of_a_bandwidth_that_cannot_be_is_refused(part: str) -> None:
    said = one_line_refusal("predict", "all_reduce", "ring:8", "--size", "1M", "--slow", f"0:1={part}")
    assert "write the part of the bandwidth that is left, as in 3,3:3,4=0.5" in said
