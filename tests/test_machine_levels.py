"""Levels, hops and bisections of GPU clusters: those of the book and of the articles."""

import re

import pytest
from refused import one_line_error

from hopcast.clusters import cluster
from hopcast.verbs._levels import levels
from hopcast.verbs.bisect import bisect
from hopcast.verbs.show import show


# Source: Scaling Book, GPUs: collective bandwidth of a level is W D / (D - 1).
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "dgx-h100:128",
            [("node", 8, 450, 514.286), ("leaf", 32, 400, 412.903), ("spine", 4, 12_800, 17_066.67)],
        ),
        (
            "dgx-h100:512",
            [
                ("node", 8, 450, 514.286),
                ("leaf", 32, 400, 412.903),
                ("spine", 4, 12_800, 17_066.67),
                ("core", 4, 51_200, 68_266.67),
            ],
        ),
        ("dgx-h100:2,nics=2", [("node", 8, 450, 514.286), ("leaf", 2, 100, 200)]),
        ("dgx-h100", [("node", 8, 450, 514.286)]),
        ("gb200-nvl72:8", [("rack", 72, 900, 912.676), ("spine", 8, 3600, 4114.286)]),
        ("mi300x:2", [("node", 8, 448, 512), ("leaf", 2, 400, 800)]),
        (
            "dgx-h100:128,routing=ecmp",
            [("node", 8, 450, 514.286), ("leaf", 32, 400, 412.903), ("spine", 4, 12_800, 17_066.67)],
        ),
    ],
)
def test_levels_are_the_books(text: str, expected: list[tuple[str, int, float, float]]) -> None:
    rows = [r for r in levels(cluster(text)) if r["collective_GBps"] is not None]
    assert [(r["name"], r["degree"], r["link_GBps"]) for r in rows] == [e[:3] for e in expected]
    assert [r["collective_GBps"] for r in rows] == pytest.approx([e[3] for e in expected], rel=1e-5)


def test_hops_are_switches_crossed() -> None:
    row = show("dgx-h100:64").rows[0]
    n = 512  # of a GPU's pairs 7 meet in the NVSwitch, 31 on its leaf, the others above it; itself is 0
    assert row["diameter"] == 3
    assert row["mean_hops"] == pytest.approx((7 + 31 + 3 * (n - 39)) / n)
    alone = show("mi300x").rows[0]
    assert (alone["diameter"], alone["mean_hops"]) == (1, 7 / 8)


@pytest.mark.parametrize(
    ("text", "split", "by", "one_way"),
    [
        ("dgx-h100", "4/4", "chips", 1800),
        ("dgx-h100", "2/6", "", 900),
        ("dgx-h100:32", "16/16", "", 6400),
        ("dgx-h100:128", "64/64", "", 25_600),
        ("dgx-h100:128", "88/40", "nodes", 16_000),
        ("dgx-h100:128", "2/2", "su", 25_600),
        ("dgx-h100:128", "512/512", "", 25_600),
        ("dgx-h100:127", "", "", 25_200),
        ("dgx-h100:128,oversubscription=2", "64/64", "", 12_800),
        ("dgx-h100:2,oversubscription=2", "1/1", "", 400),  # equal rails meet in their leaf
        ("dgx-h100:8,rails=off,oversubscription=4", "4/4", "", 400),  # two leaves of 32 cables with 8 up
        ("dgx-h100:4,nics=1", "2/2", "", 100),
        ("dgx-h100:4,nic=200Gb/s", "2/2", "", 400),
        ("gb200-nvl72:8", "4/4", "racks", 14_400),
        ("gb200-nvl72:8", "72/72", "nodes", 14_400),
        ("gb200-nvl72", "36/36", "", 32_400),
        ("mi300x", "4/4", "", 16 * 64),
        ("dgx1-v100", "4/4", "", 6 * 25),
    ],
)  # fmt: skip
def test_bisections_are_the_articles(text: str, split: str, by: str, one_way: float) -> None:
    row = bisect(text, split=split, by=by).rows[0]
    assert row["one_way_GBps"] == pytest.approx(one_way)
    assert row["both_ways_GBps"] == pytest.approx(2 * one_way)


def test_a_split_inside_a_node_counts_nvlink_only() -> None:
    inside = bisect("dgx-h100:32", split="4/4", by="chips")
    found = inside.rows[0]
    assert (found["one_way_GBps"], found["inside"], found["outside"]) == (1800, 4, 4)
    assert any("counts NVLink only, not the NICs" in n for n in inside.notes)
    through = bisect("dgx-h100:32", split="12/244")
    assert through.rows[0]["one_way_GBps"] == 4 * 450 + 12 * 50
    assert any("goes through node 1" in n for n in through.notes)
    assert not bisect("dgx-h100:32", split="128/128").notes


@pytest.mark.parametrize(
    ("text", "split", "by", "says"),
    [
        ("dgx-h100:32", "5/5", "", "the 32 nodes or the 1 su or the 256 chips of dgx-h100:32, as in 16/16"),
        ("dgx-h100:32", "5/5", "nodes", "the 32 nodes of dgx-h100:32, as in 16/16"),
        ("dgx-h100:32", "32/0", "", "two parts"),
        ("dgx-h100:32", "16/8/8", "", "two parts"),
        ("dgx-h100:32", "16/16", "rails", "a split of dgx-h100:32 has no unit 'rails'.* nodes, su, chips"),
        ("dgx-h100:32,nodes=0-3", "16/16", "su", "a split of dgx-h100:32,nodes=0-3 has no unit 'su'"),
        ("dgx-h100", "4/4", "nodes", "a split of dgx-h100 has no unit 'nodes'.* chips"),
    ],
)
def test_splits_that_do_not_add_up_are_refused(text: str, split: str, by: str, says: str) -> None:
    assert re.search(says, one_line_error(bisect, text, split=split, by=by))
