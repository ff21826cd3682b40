"""broadcast, reduce, gather and scatter over nodes: right, over all NICs of the root's node, and by any root.

Sources: [bound] price.bounds; [others] algorithms that know nothing of nodes.
"""

import functools

import numpy as np
import pytest

import hopcast as hc
from hopcast import algorithms
from hopcast.algorithms import hierarchical
from hopcast.clusters import cluster
from hopcast.interpret import check
from hopcast.ir import algebra
from hopcast.ir.collective import ROOTED
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.names import InputError
from hopcast.price import bounds, bounds_traffic
from hopcast.simulate import flows

KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
MACHINES = (
    "dgx-h100:2",
    "hgx-b200:3",
    "dgx-a100:4",
    "mi300x:4",
    "dgx1-v100:3",
    "gb200-nvl72:2",
    "dgx-h100:16",
)
ALIKE = tuple(m for m in MACHINES if "v100" not in m)  # whose ranks all reach each other as fast
ODD = ("dgx-h100:4,gpus=3", "dgx-h100:6,nics=2", "fat-tree:5x4", "dgx-h100:9,gpus=2", "dgx-h100:40")


@functools.cache
def place(text, over=()):
    where = cluster(text)
    return where, group(where, physical(where.topology), over)


def laid(text, collective, size, root=0, algorithm="hierarchical", **options):
    where, mine = place(text)
    hint = Hint(size, max(mine.latency), root=root, options=options)
    made = algorithms.get(algorithm).build(collective, mine, hint)
    return algebra.lay(made, mine.all_groups, where.topology.vertices, mine.hubs)


def seconds(text, *asked, **options):
    made = laid(text, *asked, **options)
    return flows.simulate(made, place(text)[0], asked[1], detail=False).seconds


def bound(text, collective, size, root=0):
    where, mine = place(text)
    traffic = bounds_traffic.standard(collective, mine.ranks, root=root)
    return bounds.bound(where, traffic, mine.all_groups, size).seconds


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("text", [*MACHINES, *ODD])
def test_they_compute_from_any_root(text, collective):
    n = place(text)[1].ranks
    for root in {0, 1, n // 2, n - 1}:
        for size in (8.0, MIB, GIB):
            check(laid(text, collective, size, root))


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize(
    "text", ["dgx-h100:2,gpus=2", "dgx-h100:3", "dgx-h100:5,gpus=3", "dgx-h100:17,gpus=2"]
)
def test_they_compute_in_any_number_of_pieces(text, collective):
    for pieces in (1, 2, 3, 7, 8, 33, 1_025):
        made = laid(text, collective, GIB, 3, pieces=str(pieces))
        check(made)
        assert made.chunks % pieces == 0
    assert (
        laid(text, collective, GIB, pipeline="off").chunks == laid(text, collective, 8.0, pieces="1").chunks
    )


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize(
    "text", [f"dgx-h100:{n}" for n in (2, 3, 4, 8, 16, 32, 64)] + ["dgx-a100:8", "mi300x:4"]
)
def test_large_arrays_reach_90_percent_of_the_bound(text, collective):
    """[bound] So no NIC of the root's node is idle."""
    for root in (0, place(text)[1].ranks - 3):
        least, time = bound(text, collective, 8 * GIB, root), seconds(text, collective, 8 * GIB, root)
        assert least * (1 - 1e-9) <= time <= least / 0.9


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("text", [*MACHINES, *ODD])
def test_never_below_the_bound(text, collective):
    for size in (8.0, 16 * MIB, GIB):
        assert seconds(text, collective, size, 1) >= bound(text, collective, size, 1) * (1 - 1e-9)


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("text", ["dgx-h100:2", "dgx-h100:4", "dgx-h100:16", "hgx-b200:8", "gb200-nvl72:2"])
def test_no_way_that_knows_nothing_of_nodes_is_faster(text, collective):
    """[others] One message between nodes, the smallest of gather, is faster straight by a hop of NVLink."""
    names = ("binomial", "double_tree") if collective in ("broadcast", "reduce") else ("binomial", "direct")
    inside = place(text)[1].levels[1].latency[0]
    for size in (8.0, 64 * KIB, MIB, 64 * MIB, GIB):
        others = [seconds(text, collective, size, algorithm=name) for name in names]
        assert seconds(text, collective, size) <= min(others) + inside, size


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("text", [*ALIKE, *ODD, "dgx-h100:64", "dgx-h100:128,oversubscription=4"])
def test_the_estimate_is_near_flows(text, collective):
    """It chooses how many pieces there are, and how many are told at a time."""
    for size in (MIB, 64 * MIB, GIB):
        about = hierarchical.seconds(collective, place(text)[1], Hint(size))
        assert about == pytest.approx(seconds(text, collective, size), rel=0.2), size


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("text", ["dgx-h100:2", "dgx-h100:16", "mi300x:4", "dgx-h100:6,nics=2"])
def test_other_numbers_of_pieces_gain_little(text, collective):
    for size in (MIB, 64 * MIB, GIB):
        tried = [seconds(text, collective, size, pieces=str(1 << k)) for k in range(8)]
        assert seconds(text, collective, size) <= 1.1 * min(tried), size


def test_every_root_of_alike_nodes_takes_as_long():
    text = "dgx-h100:4,gpus=3"
    for collective in ROOTED:
        times = [seconds(text, collective, 64 * MIB, root) for root in range(place(text)[1].ranks)]
        assert max(times) <= 1.02 * min(times), collective


@pytest.mark.parametrize("collective", ROOTED)
def test_bytes_leave_by_all_nics_of_the_node_of_the_root(collective):
    """Each carries its g-th of what leaves: the array, or what other nodes get."""
    mine = place("dgx-h100:4")[1]
    made = laid("dgx-h100:4", collective, GIB, 13)
    sent = np.zeros((mine.ranks, mine.ranks))
    for rows in made.steps():
        np.add.at(sent, (rows.src, rows.dst), made.bytes(rows, GIB))
    away = sent if collective in ("broadcast", "scatter") else sent.T
    home, others = np.arange(8, 16), np.delete(np.arange(32), np.arange(8, 16))
    leaves = GIB if collective in ("broadcast", "reduce") else GIB * 3 / 4
    every = away[np.ix_(home, others)].sum(1)
    # Down two trees the node of the root has one child in each, so its NICs carry the array once.
    np.testing.assert_allclose(every, leaves / 8)


def test_sends_stay_few_enough_to_be_followed_in_a_second():
    for text in ("dgx-h100:128", "dgx-h100:512", "gb200-nvl72:16"):
        for collective in ROOTED:
            rows = sum(map(len, laid(text, collective, 8 * GIB).steps()))
            one = sum(map(len, laid(text, collective, 8.0).steps()))
            assert rows <= max(550_000, one), (text, collective)


def test_groups_share_the_network():
    """Two groups of half the ranks of every node, at once."""
    mesh = "dp=4,half=2,tp=4"
    for collective in ROOTED:
        row = hc.predict(
            collective, "dgx-h100:4", mesh=mesh, over="dp,tp", size=GIB, algorithm="hierarchical"
        ).rows[0]
        assert row["groups"] == 2
        assert row["bound_us"] <= row["time_us"] * (1 + 1e-9)
        assert row["efficiency"] >= 0.85, collective


@pytest.mark.parametrize("text", ["v5e:4x4,slices=2", "dgx-h100", "torus:4x4", "dgx-h100:4,gpus=1"])
def test_others_are_told_why_not(text):
    for collective in ROOTED:
        with pytest.raises(InputError, match="hierarchical does not fit"):
            laid(text, collective, MIB)


def test_too_many_pieces_are_refused_with_the_number_that_is_possible():
    with pytest.raises(InputError, match=r"65,536 pieces take too many sends; up to [\d,]+ are possible"):
        laid("dgx-h100:16", "broadcast", GIB, pieces="65536")


@pytest.mark.parametrize("collective", ROOTED)
def test_nccl_takes_them_over_nodes(collective):
    row = hc.predict(collective, "dgx-h100:4", size=8 * GIB).rows[0]
    assert (row["algorithm"], row["algorithm_source"]) == ("hierarchical", "library")
    assert row["efficiency"] >= 0.9
