"""Trees of nodes, two for each NIC: what NCCL's trees are."""

import numpy as np
import pytest
from cli import row

from hopcast import algorithms, interpret
from hopcast.algorithms import double_tree
from hopcast.clusters import cluster
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import Schedule

TREE = algorithms.get("double_tree")
INSIDE = ["chain", "nvls"]
MACHINES = ["dgx-h100:2", "dgx-h100:3", "dgx-h100:7", "dgx-h100:4,gpus=4", "hgx-b200:5,nics=4"]


def of(machine: str, channels: int, inside: str, chunks: int = 0, size: float = 2.0**20) -> Schedule:
    where = cluster(machine)
    options = {"channels": str(channels), "inside": inside} | ({"chunks": str(chunks)} if chunks else {})
    made = group(where, physical(where.topology), ())
    return TREE.build("all_reduce", made, Hint(size, options=options))


@pytest.mark.parametrize("chunks", [1, 2, 5])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("machine", MACHINES)
def test_it_computes_the_sum(machine: str, inside: str, channels: int, chunks: int) -> None:
    interpret.check(of(machine, channels, inside, chunks))


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_channel_is_the_one_before_it_moved(machine: str, inside: str) -> None:
    made = of(machine, cluster(machine).topology.shape[-1], inside, 5)
    assert made.alike is not None
    move = np.concatenate([made.alike.move, np.arange(made.ranks, made.vertices)])  # a node's switch stays
    each = made.chunks // made.alike.parts
    lanes = []
    for rows in made.steps():
        part = rows.chunk // each
        columns = np.stack([rows.src, rows.dst, rows.chunk % each, rows.op])
        for k in range(made.alike.parts):
            now, then = (columns[:, part == p] for p in (k, (k + 1) % made.alike.parts))
            now = np.stack([move[now[0]], move[now[1]], *now[2:]])
            assert {tuple(c) for c in now.T.tolist()} == {tuple(c) for c in then.T.tolist()}
        lanes += [set(zip(part.tolist(), rows.lane.tolist(), strict=True))]
    used = set().union(*lanes)
    assert len({lane for _, lane in used}) == len(used)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize(
    "machine", ["dgx-h100:2", "dgx-h100:48", "hgx-b200:5,nics=4", "dgx-h100:6,oversubscription=2"]
)
def test_one_channel_stands_for_all(machine: str, inside: str) -> None:
    algorithm = f"double_tree,channels=8,inside={inside},chunks=6"
    words = ["predict", "all_reduce", machine, "--size", "64MiB", "--algorithm", algorithm]
    short, full = row(*words), row(*words, "--no-shortcut")
    assert short["time_us"] == pytest.approx(full["time_us"], rel=1e-9)
    assert short["max_link_bytes"] == pytest.approx(full["max_link_bytes"], rel=1e-9)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("nodes", [2, 4, 7, 16])
def test_all_nics_carry_the_same_and_no_more_than_rings_give_them(nodes: int, inside: str) -> None:
    made = of(f"dgx-h100:{nodes}", 8, inside, 4)
    out = np.zeros(nodes * 8)
    for rows in made.steps():
        across = (rows.src // 8 != rows.dst // 8) & (rows.src < made.ranks) & (rows.dst < made.ranks)
        np.add.at(out, rows.src[across], rows.count[across] / made.chunks)
    by_node = out.reshape(nodes, 8)
    assert np.allclose(by_node, by_node[:, :1])
    assert by_node.max() == pytest.approx((1 if nodes == 2 else 2) / 8)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("machine", ["dgx-h100:2", "dgx-h100:4", "dgx-h100:16", "hgx-b200:8", "dgx-h100:128"])
@pytest.mark.parametrize("size", ["8", "64KiB", "1MiB", "16MiB", "256MiB", "4GiB"])
def test_it_is_cut_well_and_its_estimate_is_near_flows(machine: str, inside: str, size: str) -> None:
    where = cluster(machine)
    made = group(where, physical(where.topology), ())
    name = f"double_tree,channels=8,inside={inside}"
    found = row("predict", "all_reduce", machine, "--size", size, "--algorithm", name)
    hint = Hint(found["size_bytes"], options=algorithms.parse(name)[1])
    about = double_tree.seconds(made, hint)
    assert about is not None
    assert about * 1e6 == pytest.approx(found["time_us"], rel=0.25)
    many = double_tree._pieces(made, hint)
    for other in {max(1, many // 2), min(2 * many, int(hint.size) // 8 or 1)} - {many}:
        if where.topology.chips * other < 200_000:
            else_ = row(
                "predict", "all_reduce", machine, "--size", size, "--algorithm", f"{name},chunks={other}"
            )
            assert found["time_us"] <= 1.12 * else_["time_us"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("all_reduce dgx-h100:2 --algorithm double_tree,channels=9", "1 to 8"),
        ("all_reduce dgx-h100 --algorithm double_tree,channels=2", "nodes of several ranks"),
        ("all_reduce v5e:4x4 --algorithm double_tree,channels=2", "nodes of several ranks"),
        ("all_reduce dgx-h100:2 --algorithm double_tree,inside=nvls", "inside= is of channels="),
        ("all_reduce dgx-a100:2 --algorithm double_tree,channels=8,inside=nvls", "does not reduce"),
        ("broadcast dgx-h100:2 --algorithm double_tree,channels=8", "channels= is of all_reduce"),
    ],
)
def test_what_has_no_such_trees_says_why(words: str, says: str) -> None:
    from cli import run

    ran = run("predict", *words.split(), "--size", "1MiB")
    assert ran.status == 2
    assert says in ran.err


@pytest.mark.parametrize("nodes", ["2", "32", "33", "40", "64,nodes=0-3+40"])
def test_what_crosses_between_nodes_bounds_sums_made_in_them(nodes: str) -> None:
    """Also where one node is alone in its unit, whose leaf switches only pass on."""
    found = row(
        "predict",
        "all_reduce",
        f"dgx-h100:{nodes}",
        "--size",
        "1GiB",
        "--algorithm",
        "double_tree,channels=8,inside=nvls",
    )
    many = cluster(f"dgx-h100:{nodes}").topology.chips // 8
    assert found["bound_us"] == pytest.approx(2 * (many - 1) / many * 2**30 / (8 * 50e9) * 1e6)
