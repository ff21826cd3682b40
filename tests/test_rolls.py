"""Moves of whole networks: every one leaves the network as it is, and breaks where the network is not alike.

Sources: [links] all links as a set, moved one by one; [tables] scalable units and pods of NVIDIA's reference
architectures, as `show` counts them.
"""

from dataclasses import replace

import numpy as np
import pytest
from grids import cluster as grid

from hopcast.clusters import cluster
from hopcast.graph import rolls
from hopcast.routing import routes, shortest, spread

NAMES = (
    "dgx-h100", "dgx-h100:5", "dgx-h100:64", "dgx-h100:64,rails=off", "dgx-h100:40", "dgx-a100:64",
    "mi300x:3", "hgx-b200:64,oversubscription=2", "gb200-nvl72:2", "gb200-nvl72:8", "dgx1-v100:2",
    "dgx-h100:8,routing=ecmp", "fat-tree:6x4,leaf=4,spine=1,nics=2", "torus:4x3", "mesh:4x3", "v5e:8x16",
    "switch:5", "v5e:4x4,slices=2",
)  # fmt: skip


def links(topology, move=None):
    """[links]"""
    at = np.arange(topology.vertices) if move is None else move
    ends = at[topology.src], at[topology.dst]
    return sorted(zip(*(c.tolist() for c in (*ends, topology.bandwidth, topology.latency)), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_move_puts_links_on_links(name):
    topology = cluster(name).topology
    known = links(topology)
    for move in [*rolls.periods(topology), *rolls.turns(topology)]:
        assert np.any(move != np.arange(topology.vertices))
        assert links(topology, move) == known


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("dgx-h100:64", (2, 32, 8)),
        ("dgx-h100:256", (8, 32, 8)),
        ("dgx-h100:1024", (8, 4, 32, 8)),
        ("dgx-h100:64,rails=off", (16, 4, 8)),
        ("gb200-nvl72:64", (8, 8, 72)),
        ("dgx-h100:40", ()),
        ("dgx1-v100:2", ()),
        ("dgx-h100:8,routing=ecmp", ()),
        ("torus:4x3", (4, 3)),
        ("mesh:4x3", ()),
    ],
)
def test_blocks_are_units_and_pods(name, shape):
    """[tables]; uneven units, cube meshes and cables wired one by one have no blocks that are alike."""
    topology = cluster(name).topology
    assert rolls.nested(topology) == shape
    reached = {0}
    while more := {int(m[v]) for m in rolls.turns(topology) for v in reached} - reached:
        reached |= more
    assert len(reached) == (topology.chips if shape else 1)


@pytest.mark.parametrize("name", ["dgx-h100:64", "gb200-nvl72:2", "torus:4x3"])
def test_one_slow_link_is_like_no_other(name):
    topology = cluster(name).topology
    slow = topology.bandwidth.copy()
    slow[0] /= 2
    worse = topology.with_links(slow)
    late = replace(topology, latency=np.where(np.arange(topology.links) == 0, 1.0, topology.latency))
    assert len(rolls.periods(topology))
    for changed in (worse, late, topology.with_links(np.where(slow < topology.bandwidth, 0, slow))):
        assert not len(rolls.periods(changed))
        assert rolls.nested(changed) == ()


@pytest.mark.parametrize("name", NAMES)
def test_switches_above_are_reached_straight(name):
    """[links] as the search does it, which takes the only shortest way."""
    where = cluster(name)
    if where.routing != "spread":
        return
    topology, tables = where.topology, spread.tables(where.topology)
    above = dict(zip(topology.src[tables.rises].tolist(), topology.dst[tables.rises].tolist(), strict=True))
    pairs = []
    for vertex in range(0, topology.vertices, max(1, topology.vertices // 50)):
        at = vertex
        while at in above:
            at = above[at]
            pairs += [(vertex, at), (at, vertex)]
    src, dst = np.array(pairs, np.int32).reshape(-1, 2).T
    straight, found = routes(where, src, dst), shortest.routes(topology, src, dst)
    assert straight.links.tolist() == found.links.tolist()
    assert straight.start.tolist() == found.start.tolist()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("dgx-h100", True),
        ("dgx-h100:64", True),
        ("mi300x:3", True),
        ("dgx1-v100:2", False),
        ("dgx1-v100", False),
    ],
)
def test_networks_without_a_search_are_known(name, plain):
    assert spread.is_plain(cluster(name).topology) is plain
    assert spread.is_plain(grid("fat:3x2").topology)
