"""Shortest routes: pairs one or two links apart are found without a search, and go the same way."""

import numpy as np
import pytest

from hopcast.clusters import cluster
from hopcast.names import InputError
from hopcast.routing import shortest

PLACES = [
    "dgx1-v100:3",
    "dgx-h100:2",
    "mesh:4x4",
    "torus:4x3x3",
    "hypercube:4",
    "fat-tree:3x4",
    "full_mesh:6",
]


def routes(topology, src, dst):
    try:
        return shortest.routes(topology, src, dst)
    except InputError as reason:
        return str(reason)


@pytest.mark.parametrize("dead", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("where", PLACES)
def test_near_pairs_take_the_way_of_a_search(monkeypatch, where, dead):
    topology, rng = cluster(where).topology, np.random.default_rng(7)
    speed = np.where(rng.random(topology.links) < dead, 0.0, topology.bandwidth)
    topology = topology.with_links(speed)
    src, dst = rng.integers(0, topology.vertices, (2, 200)).astype(np.int32)
    found = routes(topology, src, dst)
    monkeypatch.setattr(shortest, "_fill", lambda found, rest, at, ways: rest)
    searched = routes(topology, src, dst)
    if isinstance(found, str) or isinstance(searched, str):
        assert found == searched
        return
    for column in ("pair", "links", "start", "latency", "weight"):
        assert np.array_equal(getattr(found, column), getattr(searched, column)), column
    assert (found.hops <= 2).any()
    assert (found.hops > 2).any() or where.startswith("full_mesh")
