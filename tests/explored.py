"""Pages of the explorer for tests, what their data say, and the loads that they should say."""

import json
import re
from typing import Any

import numpy as np
import pytest

from hopcast.price.steps import Router, link_load
from hopcast.verbs.explore import Page, explore

SMALL = {
    "ring": ("all_gather", "ring:8", {"size": "8MiB", "algorithm": "ring"}),
    "both ways": ("all_gather", "ring:8", {"size": "8MiB", "algorithm": "bidirectional_ring,split=on"}),
    "sums": ("all_reduce", "ring:6", {"size": "6MiB", "algorithm": "ring"}),
    "chain": ("reduce_scatter", "chain:5", {"size": "5MiB", "algorithm": "chain"}),
    "grid": ("all_reduce", "torus:4x4", {"size": "8MiB", "algorithm": "multi_axis"}),
    "rows": ("all_gather", "v5e:4x8", {"size": "8MiB", "over": "x"}),
    "space": ("all_gather", "torus:2x3x4", {"size": "8MiB", "algorithm": "multi_axis"}),
    "switch": ("all_to_all", "switch:6", {"size": "6MiB", "algorithm": "direct"}),
    "tree": ("broadcast", "switch:8", {"size": "8MiB", "algorithm": "binomial", "root": 3}),
    "nodes": ("all_reduce", "dgx-h100:2", {"size": "8MiB", "algorithm": "hierarchical"}),
    "slices": ("all_reduce", "v5e:2x4,slices=2", {"size": "8MiB", "algorithm": "hierarchical"}),
}
each_small = pytest.mark.parametrize("name", SMALL)


def made(name: str) -> Page:
    collective, cluster, how = SMALL[name]
    return explore(collective, cluster, **how)


def data_in(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def data_of(page: Page) -> dict[str, Any]:
    return data_in(page.html)


def loads_of(page: Page) -> np.ndarray:
    """Bytes on each link in each step, from the schedule and the routes alone."""
    a = page.answers[0]
    where, size = a.question.cluster, a.question.size
    router, links, wire = Router(where, a.schedule.vertices), where.topology.links, where.topology.wire
    return np.array(
        [
            link_load(router.of(rows.src, rows.dst), a.schedule.bytes(rows, size), links, wire)
            for rows in a.schedule.steps()
        ]
    )
