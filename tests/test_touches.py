"""Parts of a buffer that sends touch as one give the waits that its chunks give one by one."""

import numpy as np
import pytest
from grids import build, cluster, group

from hopcast import algorithms
from hopcast.interpret import cells
from hopcast.ir.group import Hint
from hopcast.ir.schedule import Orbit, sends
from hopcast.simulate import symmetry
from hopcast.simulate.arcs import Touches, earlier

GRIDS = ("8w", "5w", "4wx4w", "4wx8w", "3wx5w", "switch:8", "switch:5", "2wx4wx4w")


def same_waits(orbit: Orbit, chunks: int) -> int:
    """Compare; how many touches fewer there are."""
    found = symmetry.touches(orbit, chunks)
    each = [Touches(*cells(rows, chunks)) for rows in (orbit.out, orbit.into)]
    for a, b in ((1, 0), (0, 1)):
        few, all_of_them = (earlier(t[a], t[b], orbit.step) for t in (found, each))
        assert np.array_equal(few[0], all_of_them[0])
        assert np.array_equal(few[1], all_of_them[1])
    return sum(len(t.row) for t in each) - sum(len(t.row) for t in found)


@pytest.mark.parametrize("name", algorithms.names())
def test_sends_of_every_algorithm_wait_as_chunk_by_chunk(name: str) -> None:
    one, fewer = algorithms.get(name), 0
    for text in GRIDS:
        where = cluster(text)
        for collective in one.collectives:
            if collective == "all_to_all_v" or one.valid(collective, group(where), Hint()) is not None:
                continue
            made = build(collective, name, where)
            orbit = None if made.orbit is None else made.orbit()
            if orbit is not None and len(orbit.step):
                fewer += same_waits(orbit, made.chunks)
    assert fewer >= 0
    assert name != "multi_axis" or fewer > 1000


@pytest.mark.parametrize("seed", range(30))
def test_sends_that_go_round_the_end_of_the_buffer_wait_as_chunk_by_chunk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chunks, rows = int(rng.integers(1, 12)), int(rng.integers(1, 20))
    both = (
        sends(np.zeros(rows), np.ones(rows), rng.integers(0, chunks, rows), rng.integers(1, chunks + 1, rows))
        for _ in range(2)
    )
    step = np.sort(rng.integers(0, 5, rows))
    same_waits(Orbit(step, *both, np.zeros((0, 2), np.int32)), chunks)
