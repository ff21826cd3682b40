"""route: from one chip to another, over as many disjoint routes as there are."""

from collections.abc import Sequence

import numpy as np

from hopcast import clusters, units
from hopcast.graph.flow import disjoint_routes
from hopcast.ir.cluster import Cluster
from hopcast.names import InputError
from hopcast.result import Result, Row
from hopcast.units import show_rate, show_size

from . import ask


def route(
    cluster: str | Cluster,
    src: str | int,
    dst: str | int,
    *,
    size: str | float = "1MiB",
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
) -> Result:
    """How data gets from one chip to another, and how long a message takes over all disjoint routes at once.

    The message is cut so that all routes end together: over p routes of one rate W that all have h hops it takes
    h alpha + D / (p W).

    Args:
        cluster: A name or an object.
        src: A chip: ``3,3`` or ``rank 15``.
        dst: Another.
        size: Bytes of the message.
        slow: Slow cables.
        dead: Dead cables.

    Returns:
        One row: hops of the shortest route, number of link-disjoint routes, latency_us + bandwidth_us = time_us.

    >>> r = route("v5e:4x4", "3,3", "0,0", size="bf16[2048,2048]").rows[0]
    >>> r["hops"], r["disjoint_routes"], round(r["bandwidth_us"], 3), round(r["latency_us"], 3)
    (6, 2, 93.207, 6.0)
    """
    where = ask.cluster_of(cluster, slow, dead)
    topology = where.topology
    a, b = (clusters.vertex(topology, str(v)) for v in (src, dst))
    if a == b:
        raise InputError(f"{src!r} and {dst!r} are the same chip; a route joins two")
    nbytes = units.size(size)
    found = disjoint_routes(topology, a, b)
    if not found:
        raise InputError(f"dead links leave no route from {src} to {dst} on {where.name}")
    rate = np.array([topology.bandwidth[r].min() for r in found])
    latency = np.array([topology.latency[r].sum() for r in found])
    time, used = _fill(rate, latency, float(nbytes))
    row: Row = {
        "src": topology.place(a),
        "dst": topology.place(b),
        "hops": min(_hops(len(r), topology.is_grid) for r in found),
        "disjoint_routes": len(found),
        "size_bytes": nbytes,
        "latency_us": float(time - nbytes / rate[used].sum()) * 1e6,
        "bandwidth_us": float(nbytes / rate[used].sum()) * 1e6,
        "time_us": time * 1e6,
        "routes": [
            [topology.place(v) for v in (a, *topology.dst[r].tolist()) if v < topology.chips] for r in found
        ],
    }
    notes = [
        f"route {i + 1}: {' > '.join(r)} at {show_rate(rate[i])}"
        + ("" if i in used else " (too far to help at this size)")
        for i, r in enumerate(row["routes"])
    ]
    shown = [k for k in row if k != "routes"]
    return Result(
        [row],
        shown,
        f"{show_size(nbytes)} on {where.name}",
        notes,
        where.assumed,
        {"cluster": where.name, "size_bytes": nbytes},
        found,
    )


def _hops(links: int, grid: bool) -> int:
    """A switch crossing is one hop though it is two links."""
    return links if grid else links // 2


def _fill(
    rate: np.ndarray[tuple[int], np.dtype[np.float64]],
    latency: np.ndarray[tuple[int], np.dtype[np.float64]],
    nbytes: float,
) -> tuple[float, list[int]]:
    """When all bytes are there if each route carries from its latency on, and which routes are in time to help."""
    order = np.argsort(latency, kind="stable")
    for k in range(len(order), 0, -1):
        some = order[:k]
        time = (nbytes + float((rate[some] * latency[some]).sum())) / float(rate[some].sum())
        if time >= latency[some].max():
            break
    return time, sorted(int(i) for i in some)
