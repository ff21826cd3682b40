"""GPU machines: sourced figures, published pods, options that change what they name, and what cannot be."""

import datetime
import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
from cli import row, run
from refused import one_line_error, one_line_refusal

from hopcast import chips, machines
from hopcast.clusters import cluster
from hopcast.graph.flow import max_flow
from hopcast.verbs.bisect import bisect
from hopcast.verbs.listing import listing
from hopcast.verbs.show import show

REAL = [n for n in machines.names() if n != "fat-tree"]
every_machine = pytest.mark.parametrize("name", REAL)


@every_machine
def test_a_machine_has_sourced_figures_of_a_known_chip(name: str) -> None:
    machine = machines.load(name)
    for key, figure in machine.figures.items():
        assert 0 < figure.value < math.inf
        assert len(figure.source) > 8, key
        datetime.date.fromisoformat(figure.seen)
        assert ("from memory" in figure.source) == (figure.trust == "M"), key
    assert machine.count("domain.chips") % machine.count("domain.nics") == 0
    assert machine.count("leaf.units") * machine.count("domain.nics") % machine.count("leaf.rails") == 0
    assert machine.value("nvlink.bandwidth") == machine.value("nvlink.links") * machine.value(
        "nvlink.link.bandwidth"
    )
    assert machine.unit in ("node", "rack")
    assert machine.stack in ("nccl", "rccl")


def test_a_chip_of_every_generation_is_in_a_machine() -> None:
    sheets = {p.name: p.read_text() for p in Path(machines.__file__).parent.glob("[!_]*.toml")}
    used = {m[1] for text in sheets.values() if (m := re.search(r'^chip = "(\w+)"', text, re.MULTILINE))}
    assert used == {n for n in chips.names() if "nvlink.bandwidth" in chips.load(n).figures}
    assert used == {"v100", "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "mi300x"}


@every_machine
def test_the_bisection_of_a_node_is_the_one_of_the_data_sheet(name: str) -> None:
    where = cluster(name)
    if "domain.bisection.bandwidth" in where.figures:
        found = bisect(where, by="chips", split="/".join([str(where.topology.chips // 2)] * 2)).rows[0]
        assert found["one_way_GBps"] * 1e9 == where.figures["domain.bisection.bandwidth"].value
        assert found["both_ways_GBps"] == 2 * found["one_way_GBps"]
    injection = np.bincount(where.topology.src, where.topology.bandwidth)[: where.topology.chips]
    assert set(injection) == {where.figures["nvlink.bandwidth"].value}


# Source: NVIDIA reference architectures, DGX H100 (table 4; one node less there) and B200.
@pytest.mark.parametrize(
    ("units", "leaves", "spines", "cores"),
    [
        (1, 8, 4, 0),
        (2, 16, 8, 0),
        (3, 24, 16, 0),
        (4, 32, 16, 0),
        (8, 64, 32, 0),
        (16, 128, 128, 64),
        (32, 256, 256, 128),
        (64, 512, 512, 256),
    ],
)
@pytest.mark.parametrize("name", ["dgx-h100", "hgx-b200"])
def test_pods_have_the_switches_of_nvidias_tables(
    name: str, units: int, leaves: int, spines: int, cores: int
) -> None:
    facts = cluster(f"{name}:{32 * units}").facts
    assert (facts["su"], facts["leaf_switches"], facts["spine_switches"]) == (units, leaves, spines)
    assert facts["core_switches"] == cores
    gpus = 256 * units
    assert facts["node_leaf_cables"] == facts["leaf_spine_cables"] == gpus
    assert facts["spine_core_cables"] == (gpus if cores else 0)


@every_machine
def test_the_rule_gives_every_published_row(name: str) -> None:
    machine = machines.load(name)
    for published in machine.pods.rows:
        where = cluster(f"{name}:{published[1]}")
        facts = where.facts
        counted = ("su", "domains", "leaf_switches", "spine_switches", "core_switches")
        assert tuple(facts[k] for k in counted) == published
        assert any("counts as published" in note for note in where.notes)
    assert bool(machine.pods.rows) == (name in ("dgx-h100", "hgx-b200", "dgx-b300", "gb200-nvl72"))


def test_the_idealised_pod_and_nvidias_table_are_told_apart() -> None:
    ideal, table = cluster("dgx-h100:128"), cluster("dgx-h100:127")
    assert any("128 nodes are the idealised pod; the table's has 127 (1016 GPUs)" in n for n in ideal.notes)
    assert not any("idealised" in n for n in table.notes)
    assert any("UFM" in n for n in table.notes)
    assert table.topology.chips == 1016
    assert {k: table.facts[k] for k in ("leaf_switches", "spine_switches")} == {
        "leaf_switches": 32,
        "spine_switches": 16,
    }
    # 560 switches in all: Scaling Book.
    facts = ideal.facts
    assert facts["nvswitches"] + facts["leaf_switches"] + facts["spine_switches"] == 560
    derived = cluster("dgx-h100:160")
    assert any("derived, by the rule" in n for n in derived.notes)


def test_show_opens_with_what_the_shape_counts() -> None:
    assert str(show("gb200-nvl72:8")).startswith("gb200-nvl72:8: 8 racks x 72 GPUs = 576 chips")
    assert str(show("dgx-h100:32")).startswith("dgx-h100:32: 32 nodes x 8 GPUs = 256 chips")
    row = show("gb200-nvl72:8").rows[0]
    assert (row["domains"], row["nodes"], row["leaf_switches"], row["spine_switches"]) == (8, 144, 32, 9)
    assert row["nvswitches"] == 8 * 18


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dgx-h100:32,nics=9", "nics=9; NICs: a GPU uses one.* from 1 to 8"),
        ("dgx-h100:32,gpus=4,nics=8", "nics=8.* from 1 to 4"),
        ("dgx-h100:32,nics=3", "8 GPUs cannot share 3 NICs evenly; write a divisor of 8, as in nics=2"),
        ("dgx2-v100:2,gpus=12", "12 GPUs cannot share 8 NICs evenly; write a divisor of 12, as in nics=6"),
        ("dgx-h100:32,gpus=16", "gpus=16; GPUs of dgx-h100: a whole number from 1 to 8"),
        ("dgx-h100:32,oversubscription=0", "oversubscription=0; it is downlink over uplink capacity"),
        ("dgx-h100:32,oversubscription=nan", "oversubscription=nan; it is"),
        ("dgx-h100:32,oversubscription=-2", "oversubscription=-2; it is"),
        ("dgx-h100:0", "has 0 GPUs; it takes 1 to 1,000,000"),
        ("dgx-h100:4x8", "'4x8' is not a shape of dgx-h100; write a number, as in dgx-h100:4"),
        ("gb200-nvl72:99999", "has 7,199,928 GPUs"),
        ("fat-tree:32", "'32' is not a shape of fat-tree; write nodes x GPUs of a node"),
        ("fat-tree", "is not a shape of fat-tree"),
        ("fat-tree:32x8,leaf=3", "leaf=3: with rails each of the 8 NICs"),
        ("fat-tree:32x8,leaf=8,spine=64", "32 uplinks, too few for 64 spines; write uplinks=64"),
        ("dgx-h100:32,leaf=8", "leaf= is of a fat-tree of your own"),
        ("dgx-h100:32,seed=3", "seed= is of routing=ecmp"),
        ("dgx-h100:32,routing=ecmp,seed=-1", "seed=-1"),
        ("dgx-h100:32,routing=adaptive", "routing in .* has no value 'adaptive'.* spread, ecmp"),
        ("dgx-h100:32,rails=some", "rails in .* has no value 'some'.* on, off"),
        ("dgx-a100:4,nvls=on", "dgx-a100 has no NVLS"),
        ("mi300x:4,sharp=on", "mi300x has no SHARP"),
        ("dgx-h100:4,nodes=0-7", "nodes=0-7: there is no node 7; they are 0 to 3"),
        ("dgx-h100:4,nodes=1+1", "names a node twice"),
        ("dgx-h100:4,nodes=all", "nodes=all: write numbers and ranges, as in nodes=0-127"),
        ("dgx-h100:4,nic=400", "nic=400: '400' is not a bandwidth"),
        ("dgx-h100:4,nic_latency=2", "nic_latency=2: '2' is not a time"),
        ("dgx-h100:4,speed=2", "dgx-h100:4 has no option 'speed'"),
        ("dgx-h101:4", "no cluster family 'dgx-h101'; did you mean dgx-h100"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(text: str, says: str) -> None:
    said = one_line_error(cluster, text)
    assert re.search(says, said)
    assert text.partition(":")[0] in said


def test_options_change_what_they_name_and_nothing_else() -> None:
    usual = cluster("dgx-h100:4")
    inside, above = usual.topology.axis == 1, usual.topology.axis == 0
    assert set(usual.topology.bandwidth[inside]) == {450e9}
    slow = cluster("dgx-h100:4,bandwidth=100GB/s").topology
    assert set(slow.bandwidth[inside]) == {100e9}
    assert np.array_equal(slow.bandwidth[above], usual.topology.bandwidth[above])
    assert (cluster("dgx-h100:4,latency=0").topology.latency == 0).all()
    late = cluster("dgx-h100:4,latency=0,nic_latency=4us").topology
    assert set(late.latency) == {0.0, 2e-6}
    some = cluster("dgx-h100:4,gpus=2")
    assert (some.topology.chips, some.topology.shape, some.facts["leaf_switches"]) == (8, (4, 2), 2)


def test_a_nic_is_no_faster_than_the_pcie_behind_it() -> None:
    where = cluster("dgx-a100:2,nic=400Gb/s")
    at_chips = (where.topology.axis == 0) & (where.topology.src < where.topology.chips)
    assert set(where.topology.bandwidth[at_chips]) == {31e9}
    assert any("behind PCIe of 31 GB/s" in n for n in where.notes)


def test_gpus_that_share_a_nic_share_its_rate() -> None:
    topology = cluster("dgx-h100:2,nics=2").topology
    names = [topology.place(v) for v in range(topology.vertices)]
    card = names.index("node 1 nic 1")
    assert sorted(topology.src[topology.dst == card].tolist()) == [12, 13, 14, 15, names.index("rail 1 leaf")]
    assert (
        max_flow(topology, [8, 9, 10, 11], [0, 1, 2, 3]).value == 100e9
    )  # NVLink leads to the other NIC too
    assert max_flow(topology, [12], [4], topology.axis == 0).value == 50e9


def test_what_is_not_known_is_said() -> None:
    assert cluster("dgx-h100").assumed == ("nvlink_latency=1us assumed: no vendor figure is known",)
    assert cluster("dgx-h100:2").assumed == (
        "nvlink_latency=1us, nic_latency=2us, tier_latency=500ns assumed: no vendor figure is known",
    )
    assert (
        cluster("dgx-h100:2,nic_latency=3us").assumed[0].startswith("nvlink_latency=1us, tier_latency=500ns")
    )
    assert cluster("dgx-h100:2,latency=0").assumed == ()
    assert "bandwidth=450GB/s, nic=50GB/s assumed" in cluster("fat-tree:2x2,latency=0").assumed[0]
    assert cluster("fat-tree:2x2,latency=0,nic=1GB/s,bandwidth=2GB/s").assumed == ()
    idle = cluster("dgx-h100,oversubscription=2")
    assert any("oversubscription of the network between nodes changes nothing" in n for n in idle.notes)


def test_abilities_can_be_switched_off() -> None:
    def able(text: str) -> set[str]:
        return {k.partition(".")[0] for k in cluster(text).figures} & {"nvls", "sharp"}

    assert able("dgx-h100:2") == {"nvls", "sharp"}
    assert able("dgx-h100:2,sharp=off") == {"nvls"}
    assert able("dgx-h100:2,nvls=off") == {"sharp"}
    assert able("dgx-h100") == {"nvls"}
    assert able("dgx-a100:2") == {"sharp"}
    assert able("dgx-b300:2") == {"nvls"}
    assert able("mi300x:2") == able("dgx2-v100:2") == able("fat-tree:2x2") == set()


def test_any_nodes_in_any_order() -> None:
    where = cluster("dgx-h100:64,nodes=40-41+3,latency=0")
    topology = where.topology
    assert (topology.chips, where.facts["su"]) == (24, 2)
    leaf = {
        int(s): topology.place(int(d))
        for s, d in zip(topology.src, topology.dst, strict=True)
        if s < 24 and "leaf" in topology.place(int(d))
    }
    assert (leaf[0], leaf[8], leaf[17]) == ("unit 1 rail 0 leaf", "unit 1 rail 0 leaf", "unit 0 rail 1 leaf")
    assert topology.place(26) == "node 3 nvswitch"
    whole = cluster("dgx-h100:256,nodes=0-127+160-255")
    assert whole.topology.chips == 8 * 224
    assert cluster("dgx-h100:4,nodes=2-0").topology.place(24) == "node 2 nvswitch"


def test_a_pod_is_built_at_once() -> None:
    cluster("dgx-h100:2")  # reads the data sheets
    begin = time.perf_counter()
    topology = cluster("dgx-h100:128").topology
    assert time.perf_counter() - begin < 0.3
    assert (topology.chips, topology.vertices) == (1024, 1024 + 128 + 32 + 1)


def test_every_machine_is_listed_and_spelled_either_way() -> None:
    names = [row["name"] for row in listing("clusters").rows]
    assert {f"{n}:NODES" for n in REAL if "nvl72" not in n} <= set(names)
    assert "gb200-nvl72:RACKS" in names
    assert "fat-tree:NODESxGPUS" in names
    assert not any(n.startswith("fat_tree") for n in names)
    assert cluster("DGX_H100:2").topology.chips == 16
    assert cluster("fat_tree:2x4").topology.chips == 8


@pytest.mark.parametrize(
    "text", [*REAL, "dgx-h100:2", "gb200-nvl72:2", "mi300x:2", "dgx1-v100:2", "fat-tree:4x2,leaf=2,spine=2"]
)
def test_every_machine_is_shown(text: str) -> None:
    ran = run("show", text)
    assert ran.status == 0, ran.err
    assert text.split(",")[0] in ran.out
    assert "bisection" in ran.out


def test_nodes_of_a_file_are_taken_in_its_order(tmp_path: Path) -> None:
    listed = tmp_path / "nodes.txt"
    listed.write_text("3, 1  # two of four\n")
    words = ["predict", "all_reduce", "dgx-h100:4", "--size", "1MiB"]
    asked = row(*words, "--nodes", str(listed))
    assert asked["cluster"] == "dgx-h100:4,nodes=3+1"
    assert asked["ranks"] == 16
    (tmp_path / "empty.txt").write_text("# none\n")
    assert "lists no nodes" in one_line_refusal(*words, "--nodes", str(tmp_path / "empty.txt"))


@every_machine
def test_one_node_of_any_number_of_gpus_needs_no_nics(name: str) -> None:
    for gpus in range(1, machines.load(name).count("domain.chips") + 1):
        alone = cluster(f"{name},gpus={gpus}").topology
        assert alone.chips == gpus
        assert alone.axes[-1].name == "gpu"
    whole = machines.load(name).count("domain.chips")
    assert cluster(f"{name}:4,nodes=2,gpus={whole - 1}").topology.chips == whole - 1
