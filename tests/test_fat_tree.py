"""Fat trees: what is wired, and that routes over them are walks of the right length, evenly or by a hash."""

import numpy as np
import pytest

from hopcast import clusters
from hopcast.graph import tiers
from hopcast.graph.flow import max_flow
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology
from hopcast.routing import Routes, ecmp, routes, spread
from hopcast.topologies import fat_tree

# One unit, two, three tiers, shared NICs, cables instead of a switch, racks, no rails, two planes.
WIRED = [
    "dgx-h100:3", "dgx-h100:34", "dgx-h100:288,nodes=0-2+140+287", "dgx-a100:140,nodes=139+60+0",
    "dgx2-v100:3", "dgx-h100:3,nics=2", "mi300x:3", "dgx1-v100:2", "gb200-nvl72:2", "dgx-h100:9,rails=off",
    "dgx-b300:65,gpus=2", "fat-tree:6x2,leaf=4,spine=3", "dgx-h100:256,gpus=1,nodes=0-2+40+255",
]  # fmt: skip
every_wiring = pytest.mark.parametrize("text", WIRED)


def cluster(text: str, *more: str) -> Cluster:
    return clusters.cluster(",".join([text, *more]))


def pairs(topology: Topology, most: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of chips, or a fixed choice of them."""
    n = topology.chips
    chosen = np.arange(n * n)
    if n * n > most:
        chosen = np.random.default_rng(1).choice(n * n, most, replace=False)
    return (chosen // n).astype(np.int32), (chosen % n).astype(np.int32)


def walk(topology: Topology, found: Routes, piece: int) -> list[int]:
    links = found.links[found.start[piece] : found.start[piece + 1]]
    assert np.array_equal(topology.src[links[1:]], topology.dst[links[:-1]])
    return [int(topology.src[links[0]]), *topology.dst[links].tolist()] if len(links) else []


def least_links(topology: Topology, a: int, b: int) -> int:
    """Links of a route that passes no third chip, except inside a node without a switch."""
    leaves = [set(topology.dst[topology.src == v]) for v in (a, b)]
    same_node = np.array_equal(topology.coords[a, :-1], topology.coords[b, :-1])
    if a == b:
        return 0
    if b in leaves[0]:
        return 1
    if same_node:
        return 2
    switches = [{v for v in s if v >= topology.chips} for s in leaves]
    # Up level by level until a switch is above both.
    for up in range(1, 6):
        if switches[0] & switches[1]:
            return 2 * up
        for i in range(2):
            switches[i] = switches[i] | {
                int(w) for v in switches[i] for w in topology.dst[topology.src == v] if w >= topology.chips
            }
    raise AssertionError("no switch above both")


@every_wiring
@pytest.mark.parametrize("rule", ["routing=spread", "routing=ecmp,seed=3"])
def test_routes_are_walks_over_as_few_switches_as_can_be(text: str, rule: str) -> None:
    where = cluster(text, rule)
    topology = where.topology
    src, dst = pairs(topology)
    found = routes(where, src, dst)
    assert found.pair.tolist() == list(range(len(src)))
    assert (found.weight == 1).all()
    for piece in range(len(src)):
        at = walk(topology, found, piece)
        if src[piece] == dst[piece]:
            assert at == []
            continue
        assert (at[0], at[-1]) == (src[piece], dst[piece])
        assert len(set(at)) == len(at)
    for piece in range(0, len(src), 37):
        assert found.hops[piece] == least_links(topology, int(src[piece]), int(dst[piece]))


@every_wiring
def test_latency_is_of_the_route_and_not_of_each_link(text: str) -> None:
    """One crossing of NVLink or of a leaf, and a tier more for each switch above the leaf."""
    where = cluster(text, "nvlink_latency=1us", "nic_latency=20us", "tier_latency=300us")
    topology = where.topology
    src, dst = pairs(topology)
    found = routes(where, src, dst)
    node = topology.coords[:, 0]
    relay = text.startswith("dgx1")  # pairs without a cable go through a third GPU, a crossing more
    allowed = {0.0, 1.0, 20.0, 320.0, 920.0} | ({2.0} if relay else set())
    seen = set(np.round(found.latency * 1e6, 6).tolist())
    assert seen <= allowed
    same = (node[src] == node[dst]) & (src != dst)
    assert set(np.round(found.latency[same] * 1e6, 6).tolist()) <= ({1.0, 2.0} if relay else {1.0})
    assert (found.latency[node[src] != node[dst]] >= 20e-6 * (1 - 1e-12)).all()


def test_same_rails_meet_in_a_leaf_and_others_above_it() -> None:
    where = cluster("dgx-h100:64")
    names = {}
    for a, b in ((0, 8), (0, 9), (0, 33 * 8), (3, 7)):
        found = routes(where, np.array([a]), np.array([b]))
        names[a, b] = [where.topology.place(v) for v in walk(where.topology, found, 0)]
    assert names[0, 8] == ["0,0", "unit 0 rail 0 leaf", "1,0"]
    assert names[0, 9] == ["0,0", "unit 0 rail 0 leaf", "8 spines", "unit 0 rail 1 leaf", "1,1"]
    assert names[0, 264] == ["0,0", "unit 0 rail 0 leaf", "8 spines", "unit 1 rail 0 leaf", "33,0"]
    assert names[3, 7] == ["0,3", "node 0 nvswitch", "0,7"]


@pytest.mark.parametrize(
    "text", ["dgx-h100:32", "dgx-h100:96", "dgx-h100:288", "dgx-a100:140", "dgx-b300:64"]
)
def test_cable_by_cable_no_switch_has_more_cables_than_ports(text: str) -> None:
    where = cluster(text, "routing=ecmp")
    topology, facts = where.topology, where.facts
    up = (topology.axis == 0) & (topology.dst >= topology.chips) & (topology.src >= topology.chips)
    between = np.bincount(topology.src[up], minlength=topology.vertices)
    kinds = {
        w: [v for v in range(topology.chips, topology.vertices) if w in topology.place(v)]
        for w in ("leaf", "spine", "core")
    }
    ports = where.figures["leaf.ports"].value
    assert [len(kinds[w]) for w in kinds] == [facts[f"{w}_switches"] for w in kinds]
    assert set(between[kinds["leaf"]]) == {facts["leaf_spine_cables"] // facts["leaf_switches"]}
    assert max(between[kinds["spine"] + kinds["core"]]) <= ports
    cables = facts["leaf_spine_cables"] + facts["spine_core_cables"]
    assert up.sum() == 2 * cables  # both ways
    rate = (
        where.figures["nic.bandwidth"].value / where.figures["leaf.planes"].value
        if "leaf.planes" in where.figures
        else where.figures["nic.bandwidth"].value
    )
    assert set(topology.bandwidth[up]) == {rate}


@pytest.mark.parametrize("spines", [1, 2, 4, 8])
def test_every_leaf_has_as_many_cables_to_each_spine(spines: int) -> None:
    topology = cluster(f"fat-tree:8x4,leaf=8,spine={spines},uplinks=8,routing=ecmp").topology
    counts: dict[tuple[str, str], int] = {}
    for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        ends = topology.place(a), topology.place(b)
        if "leaf" in ends[0] and "spine" in ends[1]:
            counts[ends] = counts.get(ends, 0) + 1
    assert len(counts) == 8 * spines
    assert set(counts.values()) == {8 // spines}


@pytest.mark.parametrize(
    "text",
    [
        "dgx-h100:40",
        "dgx-h100:34,oversubscription=2",
        "dgx-a100:140,nodes=0+1+60+139",
        "gb200-nvl72:3",
        "fat-tree:6x4,leaf=8,spine=3",
    ],
)
def test_spines_as_one_vertex_carry_what_all_cables_carry(text: str) -> None:
    """The least cut between any two sets of nodes is the same in both wirings."""
    one, all_cables = cluster(text).topology, cluster(text, "routing=ecmp").topology
    rng = np.random.default_rng(2)
    nodes = one.axes[0].length
    for part in (nodes // 2, 1, nodes - 1):
        side = np.isin(one.coords[:, 0], rng.permutation(nodes)[:part])
        ends = np.flatnonzero(side).tolist(), np.flatnonzero(~side).tolist()
        assert max_flow(one, *ends).value == pytest.approx(max_flow(all_cables, *ends).value, rel=1e-6)


def load(topology: Topology, found: Routes) -> np.ndarray:
    return np.bincount(found.links, np.repeat(found.weight, found.hops), topology.links)


def test_hashing_is_repeatable_and_another_seed_chooses_other_cables() -> None:
    where = cluster("dgx-h100:40", "routing=ecmp", "seed=1")
    src, dst = pairs(where.topology, 20_000)
    first, again = (ecmp.routes(where.topology, src, dst, 1) for _ in range(2))
    other = ecmp.routes(where.topology, src, dst, 2)
    assert np.array_equal(first.links, again.links)
    assert np.array_equal(first.links, routes(where, src, dst).links)
    assert np.array_equal(first.hops, other.hops)
    # Of the hops that have a choice of 32 or 2 cables most fall elsewhere.
    crossing = first.hops == 4
    differ = np.array(
        [
            not np.array_equal(a, b)
            for a, b in zip(*(np.split(f.links, f.start[1:-1]) for f in (first, other)), strict=True)
        ]
    )
    assert 0.9 < differ[crossing].mean() <= 1
    assert not differ[~crossing].any()


def test_hashing_spreads_many_pairs_over_all_cables() -> None:
    """Uplinks get what a binomial gives: within six standard deviations of the mean."""
    topology = cluster("dgx-h100:64", "routing=ecmp").topology
    src, dst = pairs(topology, 120_000)
    loads = load(topology, ecmp.routes(topology, src, dst, 5))
    level = tiers.tiers(topology)
    up = (level[topology.src] == 1) & (level[topology.dst] == 2)
    mean = loads[up].mean()
    assert mean > 50
    assert np.abs(loads[up] - mean).max() < 6 * np.sqrt(mean)
    assert loads[up].max() > 1.05 * mean, "a hash does not spread evenly"


@pytest.mark.parametrize("text", ["dgx-h100:34", "dgx-h100:34,oversubscription=2"])
def test_no_hash_beats_even_spreading(text: str) -> None:
    """Time of the busiest link when all GPUs send to all, over a handful of seeds."""
    ideal = cluster(text).topology
    src, dst = pairs(ideal, 80_000)
    least = (load(ideal, spread.routes(ideal, src, dst)) / ideal.bandwidth).max()
    hashed = cluster(text, "routing=ecmp").topology
    worst = [
        (load(hashed, ecmp.routes(hashed, src, dst, seed)) / hashed.bandwidth).max() for seed in range(5)
    ]
    assert min(worst) >= least * (1 - 1e-9)
    assert len({round(w / least, 9) for w in worst}) > 1 or min(worst) == pytest.approx(least)


@pytest.mark.parametrize("rule", ["spread", "ecmp"])
def test_switches_are_reached_over_their_links(rule: str) -> None:
    """In-network reduction sends to switches."""
    where = cluster("dgx-h100:34", f"routing={rule}")
    topology = where.topology
    level = tiers.tiers(topology)
    rising = np.flatnonzero(level[topology.dst] == level[topology.src] + 1)[::17]
    for ends in ((topology.src, topology.dst), (topology.dst, topology.src)):
        found = routes(where, ends[0][rising], ends[1][rising])
        assert (found.hops == 1).all()
        assert np.array_equal(topology.src[found.links], ends[0][rising])
        assert np.array_equal(topology.dst[found.links], ends[1][rising])
    spine = int(np.flatnonzero(level == 2)[0])
    far = routes(where, np.array([0]), np.array([spine]))
    assert walk(topology, far, 0)[-1] == spine
    assert far.hops.tolist() == [2]


@pytest.mark.parametrize("rule", ["spread", "ecmp"])
def test_a_dead_link_is_gone_round(rule: str) -> None:
    where = cluster("dgx-h100:4", f"routing={rule}")
    topology = where.topology
    src, dst = pairs(topology)
    before = routes(where, src, dst)
    (dead,) = np.flatnonzero((topology.src == 0) & (topology.axis == 0))
    bandwidth = topology.bandwidth.copy()
    bandwidth[dead] = 0
    hurt = Cluster("hurt", topology.with_links(bandwidth), "dgx-h100", where.routing)
    after = routes(hurt, src, dst)
    assert dead in before.links
    assert dead not in after.links
    assert np.bincount(after.pair, after.weight) == pytest.approx(1.0)
    for piece in np.flatnonzero(after.pair >= 0):
        at = walk(topology, after, int(piece))
        assert not at or (at[0], at[-1]) == (src[after.pair[piece]], dst[after.pair[piece]])


def test_a_network_falls_into_nodes_units_and_pods() -> None:
    topology = cluster("dgx-h100:384").topology
    found = list(tiers.parts(topology))
    assert [len(np.unique(p[: topology.chips])) for p in found] == [384, 12, 3]
    node, unit, pod = found
    names = [topology.place(v) for v in range(topology.vertices)]
    for v in range(topology.chips, topology.vertices):
        assert (node[v] >= 0) == ("nvswitch" in names[v])
        assert (unit[v] >= 0) == ("spines" not in names[v] and "cores" not in names[v])
        assert (pod[v] >= 0) == ("cores" not in names[v])
    assert np.array_equal(unit[: topology.chips], topology.coords[:, 0] // 32)
    assert np.array_equal(
        pod[: topology.chips], topology.coords[:, 0] // 32 // 4
    )  # 32 leaves fill a spine's ports


@pytest.mark.parametrize(
    ("leaves", "uplinks", "ports"),
    [(8, 32, 64), (24, 32, 64), (72, 32, 64), (3, 5, 8), (7, 18, 64), (100, 6, 12)],
)
def test_counted_spines_and_cores_suffice_and_no_fewer_would(leaves: int, uplinks: int, ports: int) -> None:
    spines, cores = fat_tree.counts(leaves, uplinks, ports)
    cables = leaves * uplinks
    if not cores:
        assert spines * ports >= cables
        assert uplinks % spines == 0
        assert not any(uplinks % s == 0 and s * ports >= cables for s in range(1, spines))
    else:
        assert not any(uplinks % s == 0 and s * ports >= cables for s in range(1, uplinks + 1))
        assert spines * (ports // 2) >= cables > (spines - 1) * (ports // 2)
        assert cores * ports >= cables > (cores - 1) * ports
