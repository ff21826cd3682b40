"""What links carry when every chip of a grid sends to every other and some links are slow or dead.

Routes do not ask how fast a link is. So the load of slow links is that of the whole grid, found from the
sends of one rank. A dead link changes the routes of those pairs only whose usual route goes over it: these
are listed, and move from their usual routes to their detours.
"""

import itertools
from dataclasses import replace

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.distinct import distinct
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Ints
from hopcast.price.steps import Steps, link_load
from hopcast.routing import routes

from . import symmetry, walked

_MOST = 1_000_000  # pairs that are routed anew, some seconds


def stepped(schedule: Schedule, cluster: Cluster, size: float) -> Steps | None:
    """What `price.steps` gives; None of other schedules and networks, or where too many pairs are cut off.

    Raises:
        InputError: if dead links leave a pair without a route.

    Cost: the routes of the pairs that a dead link cuts, twice.

    >>> from dataclasses import replace
    >>> from hopcast.algorithms import get
    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.group import Hint
    >>> from hopcast.ir.mesh import group, physical
    >>> from hopcast.price.steps import steps
    >>> c = cluster("torus:4x4,bandwidth=45GB/s,latency=1us")
    >>> made = get("direct").build("all_to_all", group(c, physical(c.topology), ()), Hint())
    >>> slow = np.where(np.arange(c.topology.links) == 5, 0.0, c.topology.bandwidth)
    >>> c = replace(c, topology=c.topology.with_links(slow))
    >>> found, whole = stepped(made, c, 2**20), steps(made, c, 2**20)
    >>> np.allclose(found.load, whole.load), found.latency == whole.latency
    (True, True)
    """
    topology = cluster.topology
    if schedule.orbit is None or schedule.step_count != 1 or not topology.is_grid:
        return None
    rated = np.zeros(len(topology.axes))
    np.maximum.at(rated, topology.axis, topology.bandwidth)
    healthy = replace(cluster, topology=topology.with_links(rated[topology.axis]))
    if walked.fits(schedule, healthy) is None:
        return None
    found = symmetry.stepped(schedule, healthy, size)
    if found is None:
        return None
    load, latency = found.load, found.latency
    dead = np.flatnonzero(topology.bandwidth == 0).astype(np.int32)
    if len(dead):
        cut = _cut(schedule, healthy, dead)
        if cut is None:
            return None
        each = np.full(len(cut[0]), size / schedule.chunks)
        usual, detour = (routes(c, *cut) for c in (healthy, cluster))
        load = load + link_load(detour, each, topology.links, topology.wire)
        load -= link_load(usual, each, topology.links, topology.wire)
        load[dead] = 0.0
        latency = max(latency, float(detour.latency.max(initial=0.0)))
    alive = topology.bandwidth > 0
    busiest = float((load[alive] / topology.bandwidth[alive]).max(initial=0.0))
    return Steps(latency, busiest, load, np.array([latency + busiest]))


def _cut(schedule: Schedule, healthy: Cluster, dead: Ints) -> tuple[Ints, Ints] | None:
    """Both ends of all pairs with a usual route over a dead link; None if they are too many.

    A route goes axis after axis. So over a link of axis a it goes with the coordinates of its end along the
    axes before a, and with those of its start along the axes behind it.
    """
    topology, groups = healthy.topology, schedule.groups
    group = np.zeros(topology.chips, np.int64)
    group[groups] = np.arange(len(groups))[:, None]
    number = np.arange(topology.chips, dtype=np.int32).reshape(topology.shape)
    codes, count = [np.zeros(0, np.int64)], 0
    for link in dead:
        at, a = topology.coords[topology.src[link]], int(topology.axis[link])
        line = number[tuple(slice(None) if b == a else at[b] for b in range(len(at)))]
        for start, end in itertools.permutations(range(len(line)), 2):
            way = routes(healthy, line[start : start + 1], line[end : end + 1])
            if link not in way.links:
                continue
            src = number[tuple(start if b == a else slice(None) if b < a else at[b] for b in range(len(at)))]
            dst = number[tuple(end if b == a else slice(None) if b > a else at[b] for b in range(len(at)))]
            many = src.size * dst.size
            if many > _MOST:
                return None
            src, dst = np.repeat(src.ravel(), dst.size), np.tile(dst.ravel(), src.size)
            same = group[src] == group[dst]
            codes.append(src[same].astype(np.int64) * topology.chips + dst[same])
            count += len(codes[-1])
        if count > _MOST:
            return None
    src, dst = np.divmod(distinct(np.concatenate(codes)), topology.chips)
    return src.astype(np.int32), dst.astype(np.int32)
