"""One to all and all to one: the order of ranks says who is the root and who holds what, not the time."""

import numpy as np
import pytest

from hopcast import algorithms
from hopcast.choose import answer
from hopcast.clusters import cluster
from hopcast.interpret import check
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ROOTED
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import from_order, group, logical, physical
from hopcast.simulate import flows
from hopcast.topologies._grid import grid
from hopcast.verbs import ask

MIB, W, HOP = 2.0**20, 45e9, 1e-6
# These go from rank to rank by number, wherever these stand.
BY_NUMBER = {"binomial", "double_tree", "pipelined_chain"}
LAID = {name: algorithms.get(name).collectives for name in algorithms.names() if name not in BY_NUMBER}
GRIDS = ("torus:4x4", "mesh:4x4", "torus:2x3x4", "mesh:2x3x4", "torus:8x8", "mesh:8x8", "v5p:4x4x8,twisted")
MIXED = ((4, 4), (True, False)), ((2, 3, 4), (False, False, True)), ((3, 2, 5), (True, False, False))


def _grids() -> list[Cluster]:
    """Wrapped, open, and both."""
    mixed = [
        Cluster(f"{shape}", grid(f"{shape}", shape, wraps, W, HOP), "grid", "dimension_order")
        for shape, wraps in MIXED
    ]
    return [*(cluster(name if "v5" in name else f"{name},bandwidth=45GB/s") for name in GRIDS), *mixed]


def _shuffled(where: Cluster, seed: int) -> Group:
    chips = np.random.default_rng(seed).permutation(where.topology.chips).tolist()
    return group(where, from_order(where, [("rank", len(chips))], chips, "order.txt"))


def _time(where: Cluster, mine: Group, algorithm: str, collective: str, chip: int) -> float | None:
    """Seconds by flows from or to a chip; None where it does not fit."""
    named, options = algorithms.parse(algorithm)
    root = int(np.flatnonzero(mine.all_groups[0] == chip)[0])
    hint = Hint(4 * MIB, HOP, root=root, options=options)
    if named.valid(collective, mine, hint) is not None:
        return None
    made = named.build(collective, mine, hint)
    check(made)
    laid = lay(made, mine.all_groups, where.topology.vertices, mine.hubs)
    return flows.simulate(laid, where, 4 * MIB).seconds


def _are_equal(times: list[float | None]) -> bool:
    """Whether both fit and take as long, or neither fits."""
    one, other = times
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 1e-9 * one


@pytest.mark.parametrize("where", _grids(), ids=lambda c: c.name)
@pytest.mark.parametrize("collective", ROOTED)
def test_no_order_of_ranks_changes_the_time_of_what_is_laid_on_links(where, collective):
    plain = group(where, physical(where.topology))
    shuffled = _shuffled(where, 3)
    seen = 0
    for name, gives in LAID.items():
        if collective not in gives:
            continue
        chip = where.topology.chips // 3
        times = [_time(where, mine, name, collective, chip) for mine in (plain, shuffled)]
        assert _are_equal(times), name
        seen += None not in times
    assert seen >= 3  # forest, multi_axis, direct


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("order", ["z,y,x", "y,z,x"])
def test_no_order_of_axes_does(collective, order):
    where = cluster("mesh:2x3x4,bandwidth=45GB/s")
    turned = group(where, logical(where, [("all", 24)], order))
    plain = group(where, physical(where.topology))
    for name, gives in LAID.items():
        if collective in gives:
            times = [_time(where, mine, name, collective, 7) for mine in (plain, turned)]
            assert _are_equal(times), name


@pytest.mark.parametrize("collective", ROOTED)
def test_blocks_of_a_grid_are_found_in_a_listed_order(collective):
    """Four blocks of 2 by 4 chips, each listed in the same odd order."""
    where = cluster("torus:4x8,bandwidth=45GB/s")
    blocks = np.arange(32).reshape(2, 2, 2, 4).transpose(0, 2, 1, 3).reshape(4, 8)
    plain, listed = (
        group(where, from_order(where, [("block", 4), ("in", 8)], chips.ravel().tolist(), "file"), ["in"])
        for chips in (blocks, blocks[:, [5, 0, 7, 2, 1, 6, 3, 4]])
    )
    for name in ("forest", "multi_axis"):
        times = [_time(where, mine, name, collective, 0) for mine in (plain, listed)]
        assert None not in times
        assert _are_equal(times), name


@pytest.mark.parametrize("collective", ROOTED)
@pytest.mark.parametrize("name", ["torus:8x8", "mesh:2x3x4"])
def test_best_takes_no_longer_in_any_order(collective, name, tmp_path):
    where = f"{name},bandwidth=45GB/s"
    chips = np.random.default_rng(1).permutation(cluster(where).topology.chips)
    path = tmp_path / "order.txt"
    path.write_text(" ".join(map(str, chips)), encoding="utf-8")
    root = str(int(np.flatnonzero(chips == 0)[0]))
    plain, listed = (
        answer(ask.question(collective, where, size=16 * MIB, **more)[0], "best")
        for more in ({}, {"order": str(path), "root": root})
    )
    assert listed.time <= plain.time * (1 + 1e-9)
