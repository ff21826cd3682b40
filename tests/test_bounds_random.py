"""No simulated schedule is faster than its bound, no bound below the limit: random clusters and schedules."""

import itertools

import grids
import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from wirings import networks

from hopcast import algorithms
from hopcast.graph.usable import usable
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import NAMES, of
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import group as group_of
from hopcast.ir.mesh import physical
from hopcast.ir.schedule import Schedule, join
from hopcast.ir.topology import Topology
from hopcast.names import InputError
from hopcast.price import bounds_kinds as kinds
from hopcast.price.bounds import bound, bound_on_axes, limit
from hopcast.price.bounds_traffic import Traffic, standard, traffic
from hopcast.price.bounds_travel import travel
from hopcast.price.steps import steps
from hopcast.routing import routes
from hopcast.simulate.reference import simulate
from hopcast.topologies import switch, twisted_torus
from hopcast.topologies._grid import grid

modest = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
CLOSE = 1 - 1e-9
MOST = 200  # steps that the plain simulator follows


def everyone(where: Cluster) -> np.ndarray:
    return np.arange(where.topology.chips, dtype=np.int32)[None]


def a_task(where: Cluster, parts: Traffic) -> kinds.Task:
    return kinds.Task(usable(where.topology), parts, everyone(where))


def all_cuts(topology: Topology) -> np.ndarray:
    every = np.array(list(itertools.product([False, True], repeat=topology.vertices)))
    return every[1:-1]


@st.composite
def clusters(draw: st.DrawFn, most: int = 20) -> Cluster:
    """Tori, meshes, mixes, switches, a twisted torus; slow and dead links, half duplex, latency."""
    latency, half = draw(st.sampled_from([0.0, 1e-6, 3e-5])), draw(st.booleans())
    kind = draw(st.sampled_from(["grid"] * 8 + ["switch", "twisted", "fat", "slices"]))
    if kind == "switch":
        made = switch.build("switch", [draw(st.integers(2, 9))], 1e9, latency, half)
    elif kind in ("fat", "slices") and most >= 16:
        text = draw(st.sampled_from({"fat": ["2x4", "4x2", "3x3"], "slices": ["2:2x4", "3:2x2"]}[kind]))
        made = grids.cluster(f"{kind}:{text}", 1e9, latency).topology
    elif kind == "twisted" and most >= 32:
        made = twisted_torus.build("twisted", (4, 8), 1e9, latency, half)
    else:
        shape = [draw(st.integers(1, long)) for long in (6, 5, 4)[: draw(st.integers(1, 3))]]
        assume(1 < np.prod(shape) <= most)
        made = grid("grid", shape, [draw(st.booleans()) for _ in shape], 1e9, latency, half)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    bad = (rng.random(made.links) < 0.15)[made.wire]
    how = draw(st.sampled_from(["alike", "alike", "slow", "dead"]))
    if how != "alike":
        rate = np.where(bad, 0.0 if how == "dead" else 1e9 / rng.integers(2, 9, made.links)[made.wire], 1e9)
        made = made.with_links(rate)
    routing = {"switch": "shortest", "twisted": "twisted", "fat": "spread", "slices": "hosts"}.get(kind, "")
    return Cluster(made.name, made, kind, "dimension_order" if made.name == "grid" else routing)


def groups_of(draw: st.DrawFn, where: Cluster) -> tuple[Group, list[int]]:
    names = [a.name for a in where.topology.axes]
    over = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    mine = group_of(where, physical(where.topology), tuple(sorted(over)))
    return mine, [names.index(o) for o in over]


@modest
@given(st.data())
def test_no_schedule_is_faster_than_its_bound_and_no_bound_is_below_the_limit(data: st.DataObject) -> None:
    where = data.draw(clusters())
    mine, axes = groups_of(data.draw, where)
    assume(mine.ranks > 1)
    name, size = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from([1e3, 1e6, 1e9]))
    root, shift = data.draw(st.integers(0, mine.ranks - 1)), data.draw(st.integers(1, 3))
    hint = Hint(size, size / 1e9 / 8, root, shift)  # few pieces, so that the plain simulator can follow them
    for algorithm in algorithms.names():
        found = algorithms.get(algorithm)
        if found.valid(name, mine, hint) is None:
            laid = lay(found.build(name, mine, hint), mine.all_groups, where.topology.vertices)
            faster_than_nothing(where, mine, axes, laid, hint, size)


def faster_than_nothing(
    where: Cluster, mine: Group, axes: list[int], laid: Schedule, hint: Hint, size: float
) -> None:
    if laid.step_count > MOST:
        return
    sends = join(list(laid.steps()))
    try:
        used = routes(where, sends.src, sends.dst).links
    except InputError:
        return  # dead links cut a pair of this schedule
    goal = of(laid.collective.name, mine.ranks, root=hint.root, shift=hint.shift)
    mask = np.isin(where.topology.axis, axes)
    mask[used] = True  # detours round dead links leave the axes
    low = bound(where, goal, mine.all_groups, size, mask)
    lowest = limit(where, goal, mine.all_groups, size)
    assert low.seconds >= lowest.seconds * CLOSE
    own = bound(where, laid.collective, mine.all_groups, size, mask, share=laid.share)
    taken = simulate(laid, where, size).seconds
    stepped = steps(laid, where, size)
    for least_ in (low, own):
        assert taken >= least_.seconds * CLOSE, (laid, least_)
        assert stepped.latency + stepped.bandwidth >= least_.seconds * CLOSE, (laid, least_)
    assert low.seconds == max(low.bandwidth_seconds, low.latency_seconds)
    if low.seconds > 0:
        assert len(low.links)
        assert mask[low.links].all()
        assert (where.topology.bandwidth[low.links] > 0).all()


@modest
@given(networks(), st.data())
def test_no_schedule_on_any_network_is_faster_than_its_bound(topology: Topology, data: st.DataObject) -> None:
    where = Cluster("random", topology, "random", "shortest")
    mine = group_of(where, physical(topology))
    name, size = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from([1e1, 1e9]))
    hint = Hint(size, size / 8, data.draw(st.integers(0, mine.ranks - 1)))
    fit = [a for a in map(algorithms.get, algorithms.names()) if a.valid(name, mine, hint) is None]
    assert fit or name not in ("all_gather", "all_reduce", "all_to_all", "broadcast")
    for algorithm in fit:
        made = lay(algorithm.build(name, mine, hint), mine.all_groups, topology.vertices, mine.hubs)
        faster_than_nothing(where, mine, [0], made, hint, size)


@modest
@given(st.data())
def test_more_links_never_give_a_higher_bound(data: st.DataObject) -> None:
    where = data.draw(clusters(most=120))
    mine, axes = groups_of(data.draw, where)
    name, size = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from([1e3, 1e9]))
    root = data.draw(st.integers(0, mine.ranks - 1))
    parts = standard(name, mine.ranks, root=root)
    try:
        some = bound_on_axes(where, parts, mine.all_groups, size, axes)
    except InputError:
        assert (where.topology.bandwidth == 0).any()
        return
    every = limit(where, parts, mine.all_groups, size)
    assert some.seconds >= every.seconds * CLOSE
    assert bound(where, parts, mine.all_groups, 2 * size).seconds >= every.seconds * CLOSE
    assert bound(where, parts, mine.all_groups, size, in_network=True).seconds <= every.seconds / CLOSE


@modest
@given(st.data())
def test_no_cut_tried_is_worse_than_the_worst_of_all(data: st.DataObject) -> None:
    where = data.draw(clusters(most=7))
    assume(where.topology.vertices <= 7)
    n = where.topology.chips
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    some = of(data.draw(st.sampled_from(NAMES)), n)
    task = a_task(where, traffic(some, rng.dirichlet(np.ones(some.chunks))))
    try:
        travel(task)
    except InputError:
        return
    worst = kinds.worst_cut(task, all_cuts(where.topology)).seconds
    assert max(kinds.ports(task).seconds, kinds.cuts(task).seconds) <= worst / CLOSE
    # Where there are no switches, partitions bound copies and sums for one rank no better than cuts do.
    if where.topology.vertices == n and not task.parts.summed_everywhere:
        assert all(p <= worst / CLOSE for p in every_partition(task))


def every_partition(task: kinds.Task) -> list[float]:
    """The partition bound of all two-part partitions by hand."""
    network, found = task.network, []
    for inside in all_cuts(network.topology):
        sends = float(task.parts.transfers(np.array([2]))[0])
        crosses = inside[network.src] ^ inside[network.dst]
        rate = float(network.capacity(crosses[None]).sum())
        found.append(sends / rate if rate else 0.0)
    return found
