"""Networks that nobody draws: one-way links, bridges, unequal rates, cables of both kinds of duplex."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import one_line_error
from wirings import everyone, network, networks, where_of

import hopcast as hc
from hopcast.graph.attack import attack
from hopcast.ir.collective import NAMES
from hopcast.ir.topology import Topology
from hopcast.price.bounds import bound
from hopcast.price.bounds_traffic import standard
from hopcast.units import show_rate

modest = settings(max_examples=60, deadline=None, derandomize=True)
CLOSE = 1 - 1e-9
HEAD = 'latency = "1us"\nbandwidth = "1GB/s"\n'
# Chips, switches, and links: src, dst, whether both ways, what else.
OWN = {
    "one-way ring": (5, 0, [(i, (i + 1) % 5, False, "") for i in range(5)]),
    "ring with a way back": (4, 0, [*((i, (i + 1) % 4, False, "") for i in range(4)), (2, 0, False, "")]),
    "thin bridge": (6, 0, [(0, 1, True, ""), (1, 2, True, ""), (2, 0, True, ""), (3, 4, True, ""),
                           (4, 5, True, ""), (5, 3, True, ""), (2, 3, True, 'bandwidth = "100MB/s"')]),
    "cables beside switches": (4, 2, [(0, 1, True, ""), (0, 2, True, ""), (0, 3, True, 'bandwidth = "2GB/s"'),
                                      (4, 1, True, 'bandwidth = "4GB/s"'), (5, 2, True, "latency = 0"),
                                      (0, 2, True, 'bandwidth = "4GB/s"'), (1, 3, False, "")]),
    "two hubs": (5, 2, [(i, 5 + i % 2, True, "") for i in range(5)] + [(5, 6, True, 'bandwidth = "2GB/s"')]),
    "both kinds of duplex": (4, 0, [(0, 1, True, 'duplex = "half"'), (1, 2, True, ""), (2, 3, True, ""),
                                    (3, 0, True, 'duplex = "half"'), (0, 2, False, 'bandwidth = "3GB/s"')]),
    "one third": (3, 0, [(0, 1, True, 'bandwidth = "0.333333333333GB/s"'), (1, 2, True, ""),
                         (2, 0, True, 'bandwidth = "0.1GB/s"')]),
}  # fmt: skip
BROKEN = [
    ("chain:8", ["5>6=0.25"], []),
    ("ring:7", [], ["6>0"]),
    ("torus:3x3", ["0,0>0,1=0.3"], ["1,1:1,2"]),
    ("mesh:2x3", ["0,0:1,0=0.5"], ["0,1>0,2"]),
    ("v5e:2x4", ["0,0:0,1=0.5"], []),
    ("torus:3x4,duplex=half", ["0,0:0,1=0.5"], ["1,1:2,1"]),
]


def written(folder: Path, chips: int, switches: int, links: list[tuple[int, int, bool, str]]) -> str:
    """The file of a network of one's own."""
    text = f"chips = {chips}\nswitches = {switches}\n{HEAD}"
    for src, dst, both, more in links:
        text += f"[[links]]\nsrc = {src}\ndst = {dst}\nboth = {str(both).lower()}\n{more}\n"
    path = folder / "own.toml"
    path.write_text(text)
    return str(path)


def is_within_bounds(collective: str, cluster: str, **faults: list[str]) -> None:
    """Every algorithm takes at least the bound, the bound is at least the limit, and best is the best."""
    rows = hc.predict(collective, cluster, size="64MiB", algorithm="all", price="flows", **faults).rows
    for row in rows:
        assert row["time_us"] >= row["bound_us"] * CLOSE, row["algorithm"]
    best = hc.predict(collective, cluster, size="64MiB", algorithm="best", price="flows", **faults).rows[0]
    assert best["time_us"] * CLOSE <= min(row["time_us"] for row in rows)
    assert best["bound_us"] >= best["limit_us"] * CLOSE


@pytest.mark.parametrize(
    "collective", [name for name in NAMES if name != "all_to_all_v"]
)  # it needs a matrix
@pytest.mark.parametrize("name", OWN)
def test_no_time_on_a_network_of_ones_own_is_below_the_bound(
    name: str, collective: str, tmp_path: Path
) -> None:
    is_within_bounds(collective, written(tmp_path, *OWN[name]))


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce", "broadcast"])
@pytest.mark.parametrize(("cluster", "slow", "dead"), BROKEN)
def test_no_time_on_a_broken_grid_is_below_the_bound(
    cluster: str, slow: list[str], dead: list[str], collective: str
) -> None:
    is_within_bounds(collective, cluster, slow=slow, dead=dead)


def test_what_sends_where_no_route_leads_does_not_stop_the_others(tmp_path: Path) -> None:
    """From chip 0 to all others and nowhere else: a broadcast from there needs no more."""
    path = written(tmp_path, 3, 0, [(0, 1, True, ""), (0, 2, True, "")])
    asked = {"size": "1MiB", "algorithm": "best", "dead": ["1>0", "2>0"]}
    row = hc.predict("broadcast", path, price="flows", **asked).rows[0]
    assert row["time_us"] == pytest.approx(2**20 / 1e9 * 1e6 + 1)
    assert "no route" in one_line_error(hc.predict, "all_reduce", path, **asked)


@modest
@given(networks(), st.data())
def test_words_of_a_bound_agree_with_its_links(topology: Topology, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    if data.draw(st.booleans()):  # the tree's cables at half duplex, the other links not
        wire = np.arange(topology.links, dtype=np.int32)
        wire[1 : 2 * (topology.vertices - 1) : 2] -= 1
        topology = replace(topology, wire=wire)
    found = bound(where_of(topology), standard(name, topology.chips), everyone(topology), 1e9)
    said = re.search(r"([\d,]+) links? .*?carr(?:y|ies) ([\d.,]+ ?\w*B/s)", found.what)
    assert said, found.what
    assert said[1] == str(len(found.links))
    rate = float(topology.bandwidth[np.unique(topology.wire[found.links])].sum())
    assert said[2] == show_rate(rate) or "from part to part counted twice" in found.what, found.what


def test_a_switch_that_reduces_in_ones_own_schedule_counts_for_the_limit_too(tmp_path: Path) -> None:
    path = tmp_path / "up_and_down.csv"
    rows = [f"0,{r},4,0,1,reduce,0" for r in range(4)] + [f"1,4,{r},0,1,copy,0" for r in range(4)]
    head = "# collective=all_reduce ranks=4 chunks=1 vertices=5\nstep,src,dst,chunk,count,op,lane\n"
    path.write_text(head + "\n".join(rows) + "\n")
    row = hc.predict(str(path), "switch:4,bandwidth=1GB/s,latency=0", size="1GB").rows[0]
    assert (row["time_us"], row["bound_us"], row["limit_us"]) == pytest.approx((2e6, 1e6, 1e6))


def test_groups_that_share_a_ring_are_not_taken_for_its_only_one() -> None:
    """Two pairs of neighbours on a ring of 4: the long way round takes from the other pair what it gives.

    Alone a pair could use both ways round.
    """
    cables = [(i, (i + 1) % 4, 1.0) for i in range(4)]
    topology = network(4, 4, [*cables, *((b, a, rate) for a, b, rate in cables)])
    ring = hc.cluster("ring:4,bandwidth=1B/s,latency=0")
    pairs = np.array([[0, 1], [2, 3]], np.int32)
    parts = standard("all_to_all", 2)
    for where in (where_of(topology), ring):
        found = bound(where, parts, pairs, 4.0)
        assert (found.seconds, found.tight) == (pytest.approx(1.0), True)
    assert not bound(ring, standard("all_gather", 2), pairs, 4.0).tight


def test_parts_without_ranks_are_no_parts() -> None:
    """Three chips on a switch: a partition that counts the switch as a part would look cheaper than it is."""
    a, b = np.array([0, 1, 2]), np.array([3, 3, 3])
    with_switch = np.array([0, 0, 1, 2])
    found = attack(4, np.arange(3), a, b, np.ones(3), with_switch)
    assert (found.strength, found.label[:3].tolist()) == (0.75, [0, 1, 2])


@pytest.mark.parametrize("option", ["slow", "dead"])
@pytest.mark.parametrize("ends", ["0>1", "1>0"])
def test_one_way_of_a_cable_that_carries_one_at_a_time_is_refused(option: str, ends: str) -> None:
    text = ends + ("=0.5" if option == "slow" else "")
    asked = {"size": "1MiB", option: [text]}
    said = one_line_error(hc.predict, "all_gather", "ring:3,duplex=half", **asked)
    assert f"write {text.replace('>', ':')} for both" in said
    assert hc.predict("all_gather", "ring:3", **asked).rows[0]["time_us"] > 0


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [("all_gather", "forest,pieces="), ("all_gather", "forest,trees="), ("all_gather", "synthesized,pieces="),
     ("all_reduce", "tree_packing,chunks="), ("all_reduce", "double_tree,chunks=")],
)  # fmt: skip
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "65537", "1" + "0" * 5000])
def test_options_that_count_have_an_end(collective: str, algorithm: str, value: str) -> None:
    said = one_line_error(hc.predict, collective, "mesh:4x4", size="1MiB", algorithm=algorithm + value)
    assert "a whole number from 1 to 65,536" in said


def test_flows_of_deep_trees_over_thin_spines_come_to_an_end() -> None:
    """Rates of hundreds of flows on one link, which rounding made go to and fro for ever."""
    asked = {"size": "1GiB", "algorithm": "forest,pieces=6", "price": "flows"}
    row = hc.predict("all_gather", "fat-tree:16x4,leaf=4,spine=2,nics=2", **asked).rows[0]
    assert row["time_us"] >= row["bound_us"] >= row["limit_us"] > 0
