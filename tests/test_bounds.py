"""The least time: known values, all cuts of small graphs, and that no simulated schedule is ever faster."""

import itertools
import time
from dataclasses import replace

import grids
import numpy as np
import pytest

from hopcast.graph.usable import usable
from hopcast.ir.cluster import Cluster, Figure
from hopcast.ir.collective import ALL, NAMES, ROOTED, Collective, of
from hopcast.ir.mesh import group as group_of
from hopcast.ir.mesh import physical
from hopcast.ir.topology import Topology
from hopcast.names import InputError
from hopcast.price import bounds_kinds as kinds
from hopcast.price.bounds import Bound, bound, bound_on_axes, limit
from hopcast.price.bounds_traffic import Traffic, standard, traffic
from hopcast.topologies import switch, twisted_torus
from hopcast.topologies._grid import grid


def everyone(where: Cluster) -> np.ndarray:
    return np.arange(where.topology.chips, dtype=np.int32)[None]


def least(name: str, text: str, size: float = 1.0, **more: int) -> Bound:
    """Over all chips and links of a small cluster of rate 1."""
    where = grids.cluster(text)
    return bound(where, standard(name, where.topology.chips, **more), everyone(where), size)


@pytest.mark.parametrize(
    ("name", "text", "seconds", "kind"),
    [
        # 1 / tau of packed spanning trees: links over chips - 1, both ways.
        ("all_reduce", "8w", 1 / (8 / 7), "partition"),
        ("all_reduce", "4x4", 1 / 1.6, "partition"),
        ("all_reduce", "8x8", 1 / (16 / 9), "partition"),
        ("all_reduce", "2x4", 1 / (10 / 7), "partition"),
        ("all_reduce", "4wx4w", 1 / (32 / 15), "partition"),
        ("all_reduce", "4wx4wx4w", 1 / (192 / 63), "partition"),
        ("all_reduce", "4x8w", 31 / 56, "partition"),
        ("all_reduce", "4", 1.0, "port"),
        ("all_to_all", "4wx4w", 1 / 32, "cut"),
        ("all_to_all", "4x4", 1 / 16, "cut"),
        ("all_to_all", "16wx16w", 1 / 128, "cut"),
        ("all_to_all", "4wx4wx8w", 1 / 128, "cut"),
        ("all_to_all", "8w", 1 / 8, "cut"),
        ("all_to_all", "4", 1 / 4, "cut"),
        ("all_gather", "4wx4w", 15 / 64, "port"),
        ("all_gather", "4x4", 15 / 32, "port"),
        ("all_gather", "4wx4wx4w", 63 / 384, "port"),
        ("all_gather", "5wx5w", 24 / 100, "port"),
        ("reduce_scatter", "4x4", 15 / 32, "port"),
        ("broadcast", "4x4", 1 / 2, "port"),
        ("all_reduce", "switch:8", 7 / 4, "partition"),
        ("all_gather", "switch:8", 7 / 8, "port"),
        ("all_to_all", "switch:8", 7 / 64, "port"),
    ],
)
def test_known_values(name: str, text: str, seconds: float, kind: str) -> None:
    found = least(name, text)
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    assert found.kind == kind
    assert least(name, text, 3e9).seconds == pytest.approx(3e9 * seconds, rel=1e-12)


def test_a_twisted_torus_is_bounded_by_distance() -> None:
    # 73.33 chunks on every link if all messages of 128 x 128 take shortest routes: 3.4375 hops on average.
    topology = twisted_torus.build("t", (4, 4, 8), 1.0, 0.0)
    where = Cluster("torus:4x4x8,twisted", topology, "torus", "twisted")
    found = bound(where, standard("all_to_all", 128), everyone(where), 128.0**2)
    assert found.kind == "distance"
    assert found.seconds == pytest.approx(128 * 128 * 3.4375 / (128 * 6), rel=1e-12)
    assert found.seconds == pytest.approx(220 / 3, rel=1e-12)


def test_half_duplex_counts_both_ways_on_a_wire() -> None:
    for name, text, full, half in [
        ("all_gather", [4], 3 / 4, 1.0),  # into each end 3/4 and out of it 1/4, on one cable
        ("all_to_all", [4], 1 / 4, 1 / 2),
        ("broadcast", [4], 1.0, 1.0),
        ("all_reduce", [4], 1.0, 2.0),
    ]:
        for half_duplex, seconds in ((False, full), (True, half)):
            where = Cluster(
                "chain:4", grid("chain:4", text, [False], 1.0, 0.0, half_duplex), "chain", "dimension_order"
            )
            found = bound(where, standard(name, 4), everyone(where), 1.0)
            assert found.seconds == pytest.approx(seconds, rel=1e-12), (name, half_duplex, found)
    ports = switch.build("switch:4", [4], 1.0, 0.0, True)
    where = Cluster("switch:4", ports, "switch", "shortest")
    assert bound(where, standard("all_reduce", 4), everyone(where), 1.0).seconds == pytest.approx(3.0)
    # No multicast: three of four shards are sent by somebody to each rank, out of one port and into another.
    assert bound(where, standard("all_gather", 4), everyone(where), 1.0).seconds == pytest.approx(6 / 4)
    found = bound(where, standard("all_gather", 4), everyone(where), 1.0, in_network=True)
    assert found.seconds == pytest.approx(1.0)


def test_latency_is_of_the_longest_route_the_data_must_travel() -> None:
    where = grids.cluster("4x6w", 1.0, 2.0)
    for name, root, hops in [
        ("all_gather", 0, 6), ("all_reduce", 0, 6), ("all_to_all", 0, 6), ("reduce_scatter", 0, 6),
        ("broadcast", 0, 6), ("broadcast", 6, 5), ("gather", 6, 5), ("scatter", 6, 5), ("reduce", 12, 5),
    ]:  # fmt: skip
        found = bound(where, standard(name, 24, root=root), everyone(where), 1e-9)
        assert (found.kind, found.seconds, len(found.links)) == ("latency", 2.0 * hops, hops), name
        assert "takes" in found.what
    moved = bound(where, standard("permute", 24, shift=6), everyone(where), 1e-9)
    assert moved.seconds == 2.0 * 3  # from the last row to the first, three rows away
    assert (
        bound(grids.cluster("switch:8", 1.0, 3.0), standard("all_reduce", 8), np.arange(8)[None], 0).seconds
        == 3.0
    )


def test_where_switches_reduce_only_ports_and_cuts_are_left() -> None:
    where = grids.cluster("switch:8")
    able = replace(where, figures={"nvls.bandwidth": Figure(1.0, "a test", "2026-11-29")})
    parts = standard("all_reduce", 8)
    assert bound(where, parts, everyone(where), 1.0, in_network=True).seconds == 1.0
    assert limit(able, parts, everyone(where), 1.0).seconds == 1.0
    assert limit(where, parts, everyone(where), 1.0).seconds == pytest.approx(1.75)
    # On cables chips sum, so nothing is gained.
    direct = grids.cluster("4x4")
    assert bound(direct, standard("all_reduce", 16), everyone(direct), 1.0, in_network=True).seconds == 0.625


def test_groups_share_links_and_components_are_bounded_one_by_one() -> None:
    where = grids.cluster("4wx4w")
    rows = group_of(where, physical(where.topology), ("y",)).all_groups
    parts = standard("all_gather", 4)
    assert bound_on_axes(where, parts, rows, 1.0, [1]).seconds == pytest.approx(3 / 8)
    # Idle links along x are no help where all rows do the same ...
    assert limit(where, parts, rows, 1.0).seconds == pytest.approx(3 / 8)
    # ... and double the ports of a row that is alone.
    assert bound_on_axes(where, parts, rows[:1], 1.0, [1]).seconds == pytest.approx(3 / 8)
    assert limit(where, parts, rows[:1], 1.0).seconds == pytest.approx(3 / 16)
    slow = where.topology.bandwidth.copy()
    slow[where.topology.port[5, 1]] = 0.5  # both links out of chip 1,1 along y: its neighbours get 1.5
    slow = replace(where, topology=where.topology.with_links(slow))
    found = bound_on_axes(slow, parts, rows, 1.0, [1])
    assert found.seconds == pytest.approx(3 / 4 / 1.5)
    assert set(slow.topology.coords[slow.topology.src[found.links], 0]) == {1}
    # Two groups on one switch each use their own ports; three rows on one cable share it.
    ports = grids.cluster("switch:4")
    pairs = np.array([[0, 1], [2, 3]], np.int32)
    assert bound(ports, standard("all_reduce", 2), pairs, 1.0).seconds == pytest.approx(1.0)
    line = grids.cluster("6")
    crossing = np.array([[0, 5], [1, 4], [2, 3]], np.int32)
    found = bound(line, standard("all_reduce", 2), crossing, 1.0)
    assert found.seconds == pytest.approx(3.0)
    assert line.topology.src[found.links].tolist() in ([2], [3])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_chunks_and_names_agree(name: str, ranks: int) -> None:
    more = {"root": ranks - 1, "shift": 2}
    some = of(name, ranks, parts=3, **more)
    uneven = np.random.default_rng(0).permutation(np.repeat(np.arange(1.0, some.chunks + 1), 1))
    by_name, by_chunk = standard(name, ranks, **more), traffic(some)
    sets = np.array(list(itertools.product([False, True], repeat=ranks)))
    assert by_chunk.leaving(sets) == pytest.approx(by_name.leaving(sets), abs=1e-12)
    assert by_chunk.between_all == by_name.between_all
    for parts, share in ((by_chunk, np.full(some.chunks, 1 / some.chunks)), (traffic(some, uneven), uneven)):
        wanted = [chunk_by_chunk(some, share, s) for s in sets]
        assert parts.leaving(sets) == pytest.approx(wanted, abs=1e-9)
        alone = np.eye(ranks, dtype=bool)
        if ranks > 1:
            assert parts.port()[0] == pytest.approx(parts.leaving(alone), abs=1e-9)
            assert parts.port()[1] == pytest.approx(parts.leaving(~alone), abs=1e-9)


def chunk_by_chunk(some: Collective, share: np.ndarray, inside: np.ndarray) -> float:
    """The definition: what must leave, one chunk after the other."""
    total = 0.0
    for origin, goal, part in zip(some.origin, some.goal, share, strict=True):
        holders = range(some.ranks) if origin == ALL else [origin]
        needs = range(some.ranks) if goal == ALL else [goal]
        if origin != ALL and goal != ALL and origin == goal:
            continue
        total += part * (any(inside[h] for h in holders) and not all(inside[t] for t in needs))
    return total


def test_many_pairs_leave_as_their_matrix_says() -> None:
    rng = np.random.default_rng(1)
    src, dst = (a.astype(np.int32) for a in np.nonzero(rng.random((9, 9)) < 0.8))
    share = rng.random(len(src))
    parts = traffic(Collective("mine", 9, src, dst), share)
    assert len(parts.pair_part) > 4 * 9
    sets = rng.random((50, 9)) < 0.5
    wanted = [(share * (s[src] & ~s[dst])).sum() for s in sets]
    assert parts.leaving(sets) == pytest.approx(wanted)
    stacked = sets[:48].reshape(8, 6, 9)
    assert parts.leaving(stacked).ravel() == pytest.approx(wanted[:48])


SMALL = ["2", "3", "5", "7", "3w", "4w", "6w", "7w", "2x2", "2x3", "3x2", "3wx2", "2x3w"]


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("name", NAMES)
def test_the_cuts_tried_are_the_worst_of_all_on_small_uniform_grids(text: str, name: str) -> None:
    where = grids.cluster(text)
    for root in range(where.topology.chips if name in ROOTED else 1):
        task = a_task(where, standard(name, where.topology.chips, root=root))
        tried = max(kinds.ports(task).seconds, kinds.cuts(task).seconds)
        assert tried == pytest.approx(kinds.worst_cut(task, all_cuts(where.topology)).seconds, rel=1e-9)


def a_task(where: Cluster, parts: Traffic) -> kinds.Task:
    return kinds.Task(usable(where.topology), parts, everyone(where))


def all_cuts(topology: Topology) -> np.ndarray:
    every = np.array(list(itertools.product([False, True], repeat=topology.vertices)))
    return every[1:-1]


def test_a_rank_that_is_cut_off_is_named() -> None:
    where = grids.cluster("4x4")
    dead = where.topology.bandwidth.copy()
    dead[where.topology.dst == 15] = 0.0
    broken = replace(where, topology=where.topology.with_links(dead))
    with pytest.raises(
        InputError, match=r"no route from rank \d+ \(\S+\) to rank 15 \(3,3\) over the 46 of 48"
    ):
        bound(broken, standard("all_gather", 16), everyone(where), 1.0)
    with pytest.raises(InputError, match="to rank 15"):
        bound(broken, standard("broadcast", 16), everyone(where), 1.0)
    # It can still send: reducing to another rank is possible.
    assert bound(broken, standard("gather", 16), everyone(where), 1.0).seconds == pytest.approx(15 / 16 / 2)
    with pytest.raises(InputError, match=r"no route from rank 0 \(0,0\) to rank 4 \(1,0\)"):
        bound_on_axes(where, standard("all_gather", 16), everyone(where), 1.0, [1])


def test_a_rank_of_a_large_pod_that_is_cut_off_is_named() -> None:
    where = grids.cluster("12wx12wx12w")
    dead = where.topology.bandwidth.copy()
    dead[where.topology.dst == 1000] = 0.0
    broken = replace(where, topology=where.topology.with_links(dead))
    with pytest.raises(InputError, match=r"to rank 1000 \(6,11,4\)"):
        bound(broken, standard("all_reduce", 1728), everyone(where), 1.0)
    dead[where.topology.port[1000, 2, 0]] = 0.0
    dead[where.topology.dst == 1000] = 1.0
    broken = replace(where, topology=where.topology.with_links(dead))
    found = bound(broken, standard("all_gather", 1728), everyone(where), 1.0)
    assert found.seconds == pytest.approx(1727 / 1728 / 5)  # a neighbour hears from one link less


def test_hot_ranks_anywhere_are_found() -> None:
    # On a ring of 8 ranks 3 and 4 send to 0 and 7: what leaves the two together binds, not what leaves one.
    src, dst = np.array([3, 3, 4, 4], np.int32), np.array([0, 7, 0, 7], np.int32)
    where = grids.cluster("8w")
    found = bound(where, Collective("mine", 8, src, dst), everyone(where), 4.0)
    assert (found.kind, found.seconds) == ("cut", 2.0)
    assert found.what.startswith("2 links from chips 3 and 4 to the rest carry 2 B/s together")


def test_nothing_to_move_takes_no_time() -> None:
    where = grids.cluster("4wx1", 1.0, 5.0)
    for parts in (standard("all_reduce", 1), standard("permute", 1)):
        found = bound(where, parts, np.array([[2]], np.int32), 8.0)
        assert (found.seconds, found.kind, found.what) == (0.0, "none", "nothing has to move")
    assert bound(where, standard("permute", 4, shift=4), everyone(where), 8.0).seconds == 0.0


def test_the_binding_place_is_named_with_its_links() -> None:
    found = least("all_to_all", "4x4", 2**30)
    assert (
        found.what == "4 links from x 0-1 to the rest carry 4 B/s together, and at least 256 MiB must cross"
    )
    assert len(found.links) == 4
    found = least("all_reduce", "4x4", 2**30)
    assert found.what.startswith(
        "48 links between 16 chips carry 48 B/s together, and where only ranks reduce"
    )
    assert len(found.links) == 48
    found = least("all_reduce", "switch:4", 2**30)
    assert found.what.startswith("4 links between 4 chips carry 4 B/s together")
    assert found.links.tolist() == [0, 1, 2, 3]
    found = least("broadcast", "4", 2**30, root=3)
    assert found.what == "chip 3 must send at least 1 GiB, and its 1 link carries 1 B/s"
    assert found.links.tolist() == [5]
    with pytest.raises(InputError, match="did you mean all_reduce"):
        standard("all_reduc", 4)


@pytest.mark.parametrize(
    ("text", "most"), [("16wx16w", 0.02), ("16wx20wx28w", 0.3)], ids=["256 chips", "8,960 chips"]
)
@pytest.mark.parametrize("name", ["all_gather", "all_reduce", "all_to_all", "broadcast"])
def test_it_is_quick(text: str, most: float, name: str) -> None:
    where = grids.cluster(text, 45e9, 1e-6)
    parts, best = standard(name, where.topology.chips), np.inf
    for _ in range(3):
        start = time.process_time()
        found = bound(where, parts, everyone(where), 1e9)
        best = min(best, time.process_time() - start)
    assert found.latency_seconds == pytest.approx(1e-6 * sum(a.length // 2 for a in where.topology.axes))
    assert best < 3 * most, f"{best * 1e3:.0f} ms"  # a loaded machine gets three times as long
