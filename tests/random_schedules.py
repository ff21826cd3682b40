"""Networks and schedules at random, for tests: any links, and copies and sums in any order over anybody."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from wirings import both_ways, network

from hopcast.ir import algebra
from hopcast.ir.cluster import Cluster, Figure
from hopcast.ir.collective import ALL, Collective, of
from hopcast.ir.schedule import Schedule, from_columns, one_group
from hopcast.ir.topology import Bools, Floats, Topology

MOVED = ("all_gather", "broadcast", "scatter", "all_to_all")  # the others are made of these
OTHERS = {"reduce_scatter": "all_gather", "reduce": "broadcast", "gather": "scatter"}
COLLECTIVES = (*MOVED, *OTHERS, "all_reduce")


@dataclass(frozen=True, eq=False)
class Case:
    """A schedule on all groups of a network, and whether its switches hold data."""

    where: Cluster
    made: Schedule
    in_network: bool
    size: float


@st.composite
def networks(draw: st.DrawFn, chips: int = 7, switches: int = 3, even: bool = False) -> Topology:
    """Chips and switches that all reach each other: over one-way links, cables, half-duplex and dead ones.

    No pair is joined twice. With ``even`` no link is dead and no cable carries one way at a time.
    """
    n = draw(st.integers(2, chips))
    v = n + draw(st.integers(0, switches))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    way = draw(st.sampled_from(["one way", "cables", "half duplex"] if not even else ["one way", "cables"]))
    order = rng.permutation(v).tolist()
    more = [(int(a), int(b)) for a, b in rng.integers(0, v, (int(rng.integers(0, 2 * v)), 2)) if a != b]
    if way == "one way":  # a closed line through all of them joins them
        pairs = [*zip(order, order[1:] + order[:1], strict=True), *more]
    else:
        pairs = [(order[i], order[int(rng.integers(0, i))]) for i in range(1, v)] + more
        pairs = [(min(a, b), max(a, b)) for a, b in pairs]
    once = list(dict.fromkeys(pairs))
    links = [(a, b, float(rng.integers(1, 6))) for a, b in once]
    latency = draw(st.sampled_from([0.0, 0.25, 8.0]))
    made = network(n, v, links if way == "one way" else both_ways(links), latency)
    if way == "half duplex":
        made = replace(made, wire=(np.arange(made.links, dtype=np.int32) // 2) * 2)
    needed = v if way == "one way" else 2 * (v - 1)
    if not even and draw(st.booleans()):
        rate = made.bandwidth.copy()
        rate[needed:][(rng.random(made.links - needed) < 0.3)[made.wire[needed:] - needed]] = 0
        made = made.with_links(rate)
    return made


def lone_routes(topology: Topology) -> Bools:
    """``bool[v, v]``: pairs with one shortest route, which is the same by whatever numbers vertices go."""
    v = topology.vertices
    step = np.zeros((v, v))
    np.add.at(step, (topology.src, topology.dst), (topology.bandwidth > 0).astype(float))
    ways, front, far = np.eye(v), np.eye(v), np.eye(v, dtype=bool)
    for _ in range(v):
        front = (front @ step) * ~far
        far |= front > 0
        ways += front
    np.fill_diagonal(ways, 0)
    return np.asarray(ways == 1)


def joined(may: Bools, holders: int) -> bool:
    """Whether data can go from every holder to every other by sends that are allowed."""
    reach = np.linalg.matrix_power(
        (may[:holders, :holders] | np.eye(holders, dtype=bool)).astype(float), holders
    )
    return bool((reach > 0).all())


def moved(
    goal: Collective, may: Bools, rng: np.random.Generator, lanes: int, share: Floats | None
) -> Schedule:
    """Copies in any order, over anybody, until all have what they must have; nobody gets anything twice.

    Shapes: ``may`` is ``bool[h, h]``: who may send to whom of those that hold data, the ranks first.
    """
    n, holders, chunks = goal.ranks, len(may), goal.chunks
    wanted = np.zeros((holders, chunks), bool)
    wanted[:n] = (goal.goal == ALL) | (goal.goal == np.arange(n)[:, None])
    has = np.zeros((holders, chunks), bool)
    has[goal.origin, np.arange(chunks)] = True
    rows: list[tuple[int, int, int, int, int]] = []
    step = 0
    while (wanted & ~has).any():
        before = has.copy()
        for chunk in rng.permutation(chunks)[: rng.integers(1, chunks + 1)].tolist():
            for _ in range(int(rng.integers(1, 4))):
                near = ~has[:, chunk] & may[before[:, chunk]].any(0)
                first = near & wanted[:, chunk]
                if not (wanted[:, chunk] & ~has[:, chunk]).any() or not near.any():
                    break
                dst = int(rng.choice(np.flatnonzero(first if first.any() and rng.random() < 0.7 else near)))
                src = int(rng.choice(np.flatnonzero(before[:, chunk] & may[:, dst])))
                rows.append((step, src, dst, chunk, int(rng.integers(0, lanes))))
                has[dst, chunk] = True
        step += 1
    kept = _used(rows, wanted)
    names = ("step", "src", "dst", "chunk", "lane")
    columns: dict[str, npt.ArrayLike] = {
        c: np.array([r[i] for r in kept], np.int64) for i, c in enumerate(names)
    }
    return replace(from_columns(goal, "random", one_group(n), columns, share), vertices=holders)


def _used(
    rows: Sequence[tuple[int, int, int, int, int]], wanted: Bools
) -> list[tuple[int, int, int, int, int]]:
    """Without sends to those that neither need a chunk nor send it on."""
    needed, kept = wanted.copy(), []
    for row in reversed(rows):
        _, src, dst, chunk, _ = row
        if needed[dst, chunk]:
            needed[src, chunk] = True
            kept.append(row)
    return kept[::-1]


def collective(name: str, may: Bools, n: int, rng: np.random.Generator, lanes: int, uneven: bool) -> Schedule:
    """Any schedule of a collective among n ranks: copies, their mirror image, or sums and then copies."""
    base = "all_gather" if name == "all_reduce" else OTHERS.get(name, name)
    root = int(rng.integers(0, n))
    # Of a sum for all it does not matter where it is made; nor has every rank to hold as much as any other.
    owner = rng.integers(0, n, int(rng.integers(1, 3 * n))) if uneven and base == "all_gather" else None
    parts = 1 if base == "all_to_all" else int(rng.integers(1, 4))
    goal = of(base, n, owner, root=root, parts=parts)
    share = rng.dirichlet(np.ones(goal.chunks)) if uneven else None
    if name == base:
        return moved(goal, may, rng, lanes, share)
    mirror = algebra.reverse(moved(goal, may.T, rng, lanes, share))
    if name != "all_reduce":
        return mirror
    return algebra.then(mirror, moved(goal, may, rng, lanes, share), "all_reduce")


@st.composite
def cases(draw: st.DrawFn, alone: bool = False, names: Sequence[str] = COLLECTIVES) -> Case:
    """A schedule on a network; ``alone`` keeps to pairs that have one shortest route."""
    topology = draw(networks())
    n, v = topology.chips, topology.vertices
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    may = lone_routes(topology) if alone else ~np.eye(v, dtype=bool)
    in_network = draw(st.booleans()) or not joined(may, n)
    holders = v if in_network else n
    able = {"sharp.supported": Figure(1.0, "a test", "2026-11-30")} if in_network else {}
    where = Cluster("random", topology, "random", "shortest", figures=able)
    name, lanes, uneven = draw(st.sampled_from(names)), draw(st.integers(1, 4)), draw(st.booleans())
    two = not alone and not in_network and n >= 4 and draw(st.booleans())
    ranks = n // 2 if two else n
    inside = may[:ranks, :ranks] if two else may[:holders, :holders]
    made = collective(name, inside, ranks, rng, lanes, uneven)
    groups: npt.NDArray[np.int32] = np.arange(n, dtype=np.int32)[None]
    if two:
        groups = rng.permutation(n)[: 2 * ranks].reshape(2, ranks).astype(np.int32)
    hubs = np.arange(n, holders, dtype=np.int32)[None]
    laid = algebra.lay(made, groups, v, hubs if in_network and v > n else None)
    return Case(where, laid, in_network, draw(st.sampled_from([1.0, 60.0, 1e6])))
