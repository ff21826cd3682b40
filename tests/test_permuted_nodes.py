"""Ranks of GPU nodes in another order: what is laid on nodes finds them, whoever is called what."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refused import one_line_error

import hopcast as hc
from hopcast import algorithms
from hopcast.choose import candidates
from hopcast.clusters import cluster
from hopcast.interpret import check
from hopcast.ir.algebra import lay
from hopcast.ir.collective import NAMES, ROOTED
from hopcast.ir.mesh import group, physical
from hopcast.simulate.flows import simulate
from hopcast.verbs import ask

EQUAL = [c for c in NAMES if c not in ("all_to_all_v", "permute")]
POOLS = ["dgx-h100:3,gpus=4", "fat-tree:5x3", "dgx1-v100:3,gpus=1", "fat-tree:1x7"]  # nodes under one leaf
PODS = ["fat-tree:8x2,leaf=4,spine=2", "dgx-h100:3,gpus=4", "gb200-nvl72:1,gpus=6", "v5e:2x4,slices=3"]
# Names and options of all that is laid on nodes.
ON_NODES = ["hierarchical", "hierarchical,pipeline=off", "pxn", "sharp", "nvls", "ring,channels=2",
            "double_tree,channels=2", "double_tree,channels=2,inside=nvls"]  # fmt: skip


def nodes_moved(where: str, seed: int) -> list[int]:
    """Nodes in another order, and the GPUs of all of them in another one: what nobody notices on one leaf."""
    rng, (nodes, gpus) = np.random.default_rng(seed), _shape(where)
    node, gpu = rng.permutation(nodes), rng.permutation(gpus)
    return [int(a * gpus + i) for a in node for i in gpu]


def each_mixed(where: str, seed: int) -> list[int]:
    """Every node whole, its GPUs in an order of their own."""
    rng, (nodes, gpus) = np.random.default_rng(seed), _shape(where)
    return [int(a * gpus + i) for a in rng.permutation(nodes) for i in rng.permutation(gpus)]


def all_mixed(where: str, seed: int) -> list[int]:
    """GPUs of all nodes in any order."""
    found: list[int] = np.random.default_rng(seed).permutation(cluster(where).topology.chips).tolist()
    return found


def _shape(where: str) -> tuple[int, int]:
    topology = cluster(where).topology
    return topology.shape[0], topology.chips // topology.shape[0]


def written(order: list[int], folder: Path) -> str:
    """The file of an order."""
    path = folder / "order.txt"
    path.write_text(" ".join(map(str, order)), "utf-8")
    return str(path)


def times(collective: str, where: str, order: str = "", root: int = 0, **more: str) -> dict[str, float]:
    """Microseconds of each algorithm that is tried unasked."""
    more = {"algorithm": "all"} | more
    rows = hc.predict(collective, where, size="64MiB", order=order, root=root, **more).rows
    return {str(row["algorithm"]): float(row["time_us"]) for row in rows}


@pytest.mark.parametrize("collective", EQUAL)
@pytest.mark.parametrize("where", POOLS)
def test_moving_nodes_and_rails_changes_no_time(where, collective, tmp_path):
    order = nodes_moved(where, 5)
    moved = times(collective, where, written(order, tmp_path))
    assert moved == pytest.approx(times(collective, where), rel=1e-9)


@pytest.mark.parametrize("collective", EQUAL)
@pytest.mark.parametrize("mixed", [each_mixed, all_mixed])
@pytest.mark.parametrize("where", PODS)
def test_what_is_laid_on_nodes_takes_as_long_in_any_order(where, mixed, collective, tmp_path):
    order = mixed(where, 7)
    root = order.index(0) if collective in ROOTED else 0
    path = written(order, tmp_path)
    plain, moved = times(collective, where), times(collective, where, path, root)
    laid = [name for name in plain if name in ON_NODES]
    assert {name: moved[name] for name in laid} == pytest.approx(
        {name: plain[name] for name in laid}, rel=1e-9
    )


@pytest.mark.parametrize("algorithm", ON_NODES)
@pytest.mark.parametrize("where", PODS)
def test_it_fits_as_in_order_and_computes_its_collective(where, algorithm, tmp_path):
    """Of every collective it gives, with the ranks called as the file says."""
    named, options = algorithms.parse(algorithm)
    path, seen = written(all_mixed(where, 3), tmp_path), 0
    for collective in set(named.collectives) & set(EQUAL):
        root = 1 if collective in ROOTED else 0
        plain, moved = (
            ask.question(collective, where, size=2**20, order=o, root=root)[0] for o in ("", path)
        )
        reasons = [named.valid(collective, q.group, replace(q.hint, options=options)) for q in (plain, moved)]
        assert reasons[0] == reasons[1]
        if reasons[0] is None:
            made = named.build(collective, moved.group, replace(moved.hint, options=options))
            check(made)
            assert made.collective.root == moved.hint.root
            seen += 1
    assert (
        seen or algorithm in ("nvls", "sharp") or "slices" in where or "gb200" in where or "nvls" in algorithm
    )


@pytest.mark.parametrize("where", ["dgx-h100:3,gpus=4", "dgx-h100:64", "fat-tree:8x2,leaf=4,spine=2"])
@pytest.mark.parametrize("collective", ["all_gather", "all_reduce", "all_to_all"])
def test_one_rank_stands_for_all_whatever_they_are_called(where, collective, tmp_path):
    """What is claimed of the ranks by place is still so, and gives the same answer as following all sends."""
    q, _ = ask.question(collective, where, size=2**24, order=written(all_mixed(where, 11), tmp_path))
    named, _ = algorithms.parse("hierarchical")
    made = named.build(collective, q.group, q.hint)
    laid = lay(made, q.group.all_groups, q.cluster.topology.vertices, q.group.hubs)
    assert made.orbit is not None
    short = simulate(laid, q.cluster, q.size, detail=False)
    plain = named.build(collective, group(q.cluster, physical(q.cluster.topology)), q.hint)
    assert short.solved == simulate(plain, q.cluster, q.size, detail=False).solved
    if q.group.ranks < 64:
        full = simulate(laid, q.cluster, q.size, shortcut=False, detail=False)
        assert short.seconds == pytest.approx(full.seconds, rel=1e-9)
        assert short.load == pytest.approx(full.load, rel=1e-9)


@pytest.mark.parametrize("collective", ["all_gather", "all_reduce", "all_to_all", "broadcast"])
@pytest.mark.parametrize("mixed", [nodes_moved, each_mixed, all_mixed])
def test_the_library_knows_the_nodes_in_any_order(collective, mixed, tmp_path):
    where = "dgx-h100:4"
    order = mixed(where, 2)
    root = order.index(0) if collective in ROOTED else 0
    plain = hc.predict(collective, where, size="256MiB").rows[0]
    moved = hc.predict(collective, where, size="256MiB", order=written(order, tmp_path), root=root).rows[0]
    assert (moved["algorithm"], moved["algorithm_source"]) == (plain["algorithm"], "library")
    assert moved["time_us"] == pytest.approx(plain["time_us"], rel=1e-9)
    assert moved["bound_us"] == pytest.approx(plain["bound_us"], rel=1e-9)


def test_the_root_is_the_rank_of_that_name(tmp_path):
    """Rank 5 of the file stands on chip 9: that is where the array comes from."""
    order = [i for i in range(16) if i != 9]
    order.insert(5, 9)
    path = written(order, tmp_path)
    made = hc.build("broadcast", "dgx-h100:2", order=path, root=5, algorithm="hierarchical")
    check(made)
    assert (made.groups[0, made.collective.root], made.collective.root) == (9, 5)
    assert set(next(made.steps()).src.tolist()) == {9}


def test_shards_are_those_of_the_ranks_by_name(tmp_path):
    order = all_mixed("dgx-h100:2", 13)
    made = hc.build("all_gather", "dgx-h100:2", order=written(order, tmp_path), algorithm="hierarchical")
    assert made.groups[0].tolist() == order
    first = next(made.steps())
    assert (made.groups[0, made.collective.origin[first.chunk]] == first.src).all()


@pytest.mark.parametrize("algorithm", ["hierarchical", "pxn"])
def test_unequal_messages_are_those_between_the_ranks_by_name(algorithm, tmp_path):
    where = "dgx-h100:2,gpus=4"
    order = all_mixed(where, 19)
    sizes = np.random.default_rng(4).integers(1, 2**20, (8, 8)).astype(float)
    on_chips = np.empty_like(sizes)
    on_chips[np.ix_(order, order)] = sizes
    plain, moved = (
        hc.predict("all_to_all_v", where, matrix=m, order=o, algorithm=algorithm).rows[0]
        for m, o in ((on_chips, ""), (sizes, written(order, tmp_path)))
    )
    for key in ("time_us", "bound_us", "max_link_bytes"):
        assert moved[key] == pytest.approx(plain[key], rel=1e-9)


def test_levels_are_found_in_axes_that_keep_nodes(tmp_path):
    """The mesh is laid on nodes in another order, so its axes are what they were."""
    where, words = "dgx-h100:4", {"mesh": "data=4,model=8", "size": "64MiB", "algorithm": "all"}
    path = written(nodes_moved(where, 1), tmp_path)
    for over in ("data", "model"):
        plain, moved = (hc.predict("all_reduce", where, over=over, order=o, **words).rows for o in ("", path))
        assert [r["algorithm"] for r in moved] == [r["algorithm"] for r in plain]
        assert [r["time_us"] for r in moved] == pytest.approx([r["time_us"] for r in plain], rel=1e-9)


def test_groups_that_mix_gpus_of_nodes_are_refused_with_the_reason(tmp_path):
    path = written(all_mixed("dgx-h100:2", 17), tmp_path)
    asked = {"size": "1MiB", "mesh": "data=4,model=4", "over": "model", "order": path}
    said = one_line_error(hc.predict, "all_reduce", "dgx-h100:2", algorithm="hierarchical", **asked)
    assert "mixes groups over nodes" in said
    assert "--mesh" in said
    q, _ = ask.question("all_reduce", "dgx-h100:2", **asked)
    assert "hierarchical" not in {c.algorithm.name for c in candidates(q)}
