"""Time by steps: what is found once for many sends is what each send by itself gives."""

from collections.abc import Iterator

import numpy as np
import pytest
from grids import build, cluster, group

from hopcast import algorithms
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.ir.hashes import mixed
from hopcast.ir.schedule import Schedule
from hopcast.price import steps as by_steps
from hopcast.simulate import refine

GRIDS = ("8w", "4wx4", "3x3", "switch:6", "slices:2:2x2", "switch:6+", "fat:2x4+")


def schedules(name: str) -> Iterator[tuple[Cluster, Schedule]]:
    """All that an algorithm gives on the grids above."""
    one = algorithms.get(name)
    for text in GRIDS:
        where = cluster(text, latency=0.5)
        mine = group(where)
        for collective in one.collectives:
            if collective != "all_to_all_v" and one.valid(collective, mine, Hint()) is None:
                yield where, build(collective, name, where)


@pytest.mark.parametrize("name", algorithms.names())
@pytest.mark.parametrize("until", [None, np.inf])
def test_routes_of_pairs_with_many_sends_price_them_as_routes_of_each_do(
    name: str, until: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    for where, made in schedules(name):
        monkeypatch.setattr(by_steps, "_CROWD", 2**40)
        whole = by_steps.steps(made, where, 2.0**20, until)
        monkeypatch.setattr(by_steps, "_CROWD", 0)
        monkeypatch.setattr(by_steps, "_EACH", 1)
        found = by_steps.steps(made, where, 2.0**20, until)
        assert found.step_seconds == pytest.approx(whole.step_seconds, rel=1e-12)
        assert found.load == pytest.approx(whole.load, rel=1e-12)
        assert found.chain == pytest.approx(whole.chain, rel=1e-12)
        assert (found.chain > 0) == (until is not None)
        assert found.load.any()
        tried += 1
    assert tried


def test_few_pairs_are_routed_once_for_all_their_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    where = cluster("8w")
    rows = build("all_to_all", "bruck", where).make(0)
    monkeypatch.setattr(by_steps, "_CROWD", 0)
    found = by_steps._routed(by_steps.Router(where, 8), rows, 8)
    assert found.of is not None
    assert len(rows) == 8 * 4
    assert found.found.pair.tolist() == list(range(8))
    ends = np.stack([rows.src, rows.dst], 1)
    assert all(len(np.unique(ends[found.of == i], axis=0)) == 1 for i in range(8))


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("many", [0, 1, 1000])
def test_numbers_are_counted_as_often_as_they_are_there(alike: bool, many: int) -> None:
    words = mixed(np.arange(many, dtype=np.uint64))
    code = (words % np.uint64(97)).astype(np.int64)
    times = (np.full(many, 3) if alike else (words >> np.uint64(60)) + np.uint64(1)).astype(np.int32)
    found, often = refine._counted(code, times)
    assert found.tolist() == sorted(set(code.tolist()))
    assert often.tolist() == [int(times[code == c].sum()) for c in found]
