"""What the tests of flows share: cases, comparisons, and the compiled engine for few sends too."""

from dataclasses import replace

import numpy as np
import pytest
from grids import build, cluster, group

from hopcast import algorithms
from hopcast.ir.group import Hint
from hopcast.simulate import listing

W, HOP, MIB, GIB = 45e9, 1e-6, 2**20, 2**30
COLUMNS = ("load", "ready", "start", "end")


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """Few sends are followed by the compiled engine too, which else would be tested on large cases only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "FEW_SENDS", 0)
        yield


def same(fast, slow, rel=1e-9):
    """Times and loads of everything; which of several sends that arrive together is blamed may differ."""
    assert fast.seconds == pytest.approx(slow.seconds, rel=rel)
    for column in COLUMNS:
        np.testing.assert_allclose(getattr(fast, column), getattr(slow, column), rtol=rel, atol=1e-18)


def uneven(where, seed, low=0.2):
    """The same cluster with links of different speeds."""
    t = where.topology
    rng = np.random.default_rng(seed)
    cables = rng.uniform(low, 1.0, t.links)
    return replace(where, topology=t.with_links(t.bandwidth * cables[t.wire]))


def every(grid, alpha, over=()):
    """All schedules that fit a grid."""
    where = cluster(grid, W, alpha)
    mine = group(where, over)
    for name in algorithms.names():
        one = algorithms.get(name)
        for collective in one.collectives:
            if one.valid(collective, mine, Hint()) is not None:
                continue
            made = build(collective, name, where, over)
            if made.step_count < 2000:  # longer ones take the reference seconds
                yield f"{collective} {name}", made, where
