"""route: from one chip or host to another, over as many disjoint routes as there are."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from hopcast import clusters, units
from hopcast.graph.flow import disjoint_routes
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Floats, Topology
from hopcast.ir.vertices import is_host
from hopcast.names import InputError
from hopcast.result import Result, Row
from hopcast.routing import hosts, routes
from hopcast.units import show_both, show_rate, show_seconds

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
    """How data gets from one chip or host to another, and how long a message takes.

    Between chips of one network the message is cut over all disjoint routes at once, so that all end
    together: over p routes of one rate W that all have h hops it takes h alpha + D / (p W). Between slices,
    or to and from a host, it takes the one route by PCIe, hosts and the data centre network; its stages
    stream, so it takes the latencies of the links and D over the rate of the slowest stage.

    Args:
        cluster: A name or an object.
        src: A chip or host: ``3,3``, ``rank 15``, ``host:0``; of several slices ``1/3,3``, ``host:1/0``.
        dst: Another.
        size: Bytes of the message.
        slow: Slow cables.
        dead: Dead cables.

    Returns:
        One row: hops of the shortest route (links, or switches crossed where all meet in switches), number of
        link-disjoint routes, latency_us + bandwidth_us = time_us, and the stages of the first route with
        their rates.

    >>> r = route("v5e:4x4", "3,3", "0,0", size="bf16[2048,2048]").rows[0]
    >>> r["hops"], r["disjoint_routes"], round(r["bandwidth_us"], 3), round(r["latency_us"], 3)
    (6, 2, 93.207, 6.0)
    >>> r = route("v5e:16x16,slices=2", "0/3,3", "1/0,0", size="16MB").rows[0]
    >>> [stage["name"] for stage in r["stages"]], r["bandwidth_us"], r["latency_us"]
    (['HBM read', 'PCIe', 'NIC', 'DCN', 'NIC', 'PCIe', 'HBM write'], 1000.0, 12.0)
    """
    where = ask.cluster_of(cluster, slow, dead)
    if where.topology.is_grid and (is_host(str(src)) or is_host(str(dst))):
        where = clusters.with_hosts(where)
    topology = where.topology
    a, b = (clusters.vertex(topology, str(v)) for v in (src, dst))
    if a == b:
        kind = "chip" if a < topology.chips else "host"
        raise InputError(f"{src!r} and {dst!r} are the same {kind}; a route joins two")
    nbytes = units.size(size)
    make = _through_hosts if topology.is_slices and _leaves(topology, a, b) else _at_once
    row, notes, found = make(where, a, b, nbytes)
    shown = [k for k in row if k not in ("routes", "stages")]
    title = f"{show_both(nbytes)} on {where.name}"
    inputs = {"cluster": where.name, "size_bytes": nbytes}
    return Result([row], shown, title, notes, where.assumed, inputs, found)


def _leaves(topology: Topology, a: int, b: int) -> bool:
    """Whether a route ends at a host or leads to another slice."""
    return max(a, b) >= topology.chips or bool(topology.coords[a, 0] != topology.coords[b, 0])


def _at_once(where: Cluster, a: int, b: int, nbytes: int) -> tuple[Row, list[str], list[list[int]]]:
    """Over all disjoint routes; inside a slice without its hosts."""
    topology = where.topology
    found = disjoint_routes(topology, a, b, hosts.inside(topology) if topology.is_slices else None)
    if not found:
        raise _no_route(where, a, b)
    rate = np.array([topology.bandwidth[r].min() for r in found])
    latency = np.array([topology.latency[r].sum() for r in found])
    late, carried, used = _fill(rate, latency, float(nbytes))
    row = _row(where, a, b, nbytes, late, carried, found)
    row["hops"] = min(_hops(topology, r) for r in found)
    notes = [
        f"route {i + 1}: {' > '.join(r)} at {show_rate(rate[i])}"
        + ("" if i in used else " (too far to help at this size)")
        for i, r in enumerate(row["routes"])
    ]
    if any(len(row["routes"][i]) > 2 for i in used) and not (topology.is_grid or topology.is_slices):
        said = "a route by way of other chips needs software there that passes data on"
        alone = [float(t) for t, r in zip(nbytes / rate + latency, row["routes"], strict=True) if len(r) == 2]
        notes.append(said + (f"; without it the message takes {show_seconds(min(alone))}" if alone else ""))
    return row, notes, found


def _hops(topology: Topology, links: list[int]) -> int:
    """A cable between two chips is a hop; so is crossing a switch, which takes two links."""
    if topology.is_grid or topology.is_slices:
        return len(links)
    cables = np.maximum(topology.src[links], topology.dst[links]) < topology.chips
    return int(cables.sum() + (~cables).sum() // 2)


def _through_hosts(where: Cluster, a: int, b: int, nbytes: int) -> tuple[Row, list[str], list[list[int]]]:
    """Over PCIe and hosts by the routing rule, which takes one way, or some that begin and end alike."""
    topology = where.topology
    ways = routes(where, np.array([a], np.int32), np.array([b], np.int32))
    part = np.bincount(ways.links, np.repeat(ways.weight, ways.hops), topology.links)
    rate = float((topology.bandwidth[part > 0] / part[part > 0]).min())
    found = [ways.links[i:j].tolist() for i, j in zip(ways.start, ways.start[1:], strict=False)]
    row = _row(where, a, b, nbytes, float(ways.latency.max()), nbytes / rate, found)
    row["hops"] = min(map(len, found))
    apart = disjoint_routes(topology, a, b)
    row["disjoint_routes"] = len(apart)
    stages = row["stages"]
    slowest = min(stages, key=lambda s: s["GBps"])
    notes = [
        "route: " + " > ".join(row["routes"][0]),
        "stages: " + ", ".join(f"{s['name']} {show_rate(s['GBps'] * 1e9)}" for s in stages),
        f"they stream: time = latency + size / the slowest rate, {slowest['name']}",
        *(_shared(where, found[0]) if min(a, b) < topology.chips else []),
    ]
    if len(apart) > 1:
        notes.append(
            f"{len(apart)} link-disjoint routes exist, over other chips and hosts; it takes this one"
        )
    if max(a, b) >= topology.chips:
        notes.append("the memory of a host is not counted: there is no figure for its bandwidth")
    return row, notes, found


def _row(
    where: Cluster, a: int, b: int, nbytes: int, latency: float, bandwidth: float, found: list[list[int]]
) -> Row:
    topology = where.topology
    switches = not (topology.is_grid or topology.is_slices)
    late = float(f"{latency * 1e6:.12g}")  # hops times latency, without what rounding adds to the sum
    way = [[v for v in (a, *topology.dst[r].tolist()) if v < topology.chips or not switches] for r in found]
    return {
        "src": topology.place(a),
        "dst": topology.place(b),
        "hops": 0,
        "disjoint_routes": len(found),
        "size_bytes": nbytes,
        "latency_us": late,
        "bandwidth_us": float(bandwidth * 1e6),
        "time_us": late + float(bandwidth * 1e6),
        "routes": [[topology.place(v) for v in vertices] for vertices in way],
        "stages": _stages(where, a, b, found[0]),
    }


def _stages(where: Cluster, a: int, b: int, way: list[int]) -> list[Row]:
    """What the data pass on a route, each with its rate in GB/s; links of one kind in a row are one stage."""
    topology = where.topology
    hbm = where.figures.get("hbm.bandwidth")
    found = [("HBM read", hbm.value)] if hbm and a < topology.chips else []
    for name, links in groupby(way, lambda link: _kind(where, link)):
        crossed = list(links)
        if name == "NIC":  # up and down follow each other, with the network between them
            ends = [("NIC", float(topology.bandwidth[link])) for link in crossed]
            found += ends[:1] + (
                [("DCN", _out_of_slice(topology, crossed[0])), *ends[1:]] if len(ends) > 1 else []
            )
        else:
            found.append((name, float(topology.bandwidth[crossed].min())))
    found += [("HBM write", hbm.value)] if hbm and b < topology.chips else []
    return [{"name": name, "GBps": rate / 1e9} for name, rate in found]


def _kind(where: Cluster, link: int) -> str:
    """PCIe, NIC, ICI; of other networks just link."""
    topology = where.topology
    if not topology.is_slices:
        return "ICI" if "ici.bandwidth" in where.figures else "link"
    ends = sorted((int(topology.src[link]), int(topology.dst[link])))
    return "ICI" if ends[1] < topology.chips else "PCIe" if ends[0] < topology.chips else "NIC"


def _out_of_slice(topology: Topology, nic: int) -> float:
    """What all NICs of the slice of one carry into the network together, bytes/s."""
    outside = hosts.outside_of(topology)
    machines = np.arange(topology.chips, topology.vertices - 1, dtype=np.int32)
    of = hosts.slice_at(topology, outside, machines)
    mine = hosts.slice_at(topology, outside, topology.src[[nic]])
    return float(topology.bandwidth[outside.up[machines[of == mine]]].sum())


def _shared(where: Cluster, way: list[int]) -> list[str]:
    """What is left of a host's NIC when all chips of the host use it."""
    topology = where.topology
    nics = [link for link in way if _kind(where, link) == "NIC"]
    if not nics:
        return []
    host = min(int(topology.src[nics[0]]), int(topology.dst[nics[0]]))
    held = int((topology.dst[topology.src < topology.chips] == host).sum())
    each = float(topology.bandwidth[nics].min()) / held
    return (
        [f"if all {held} chips of a host send at once, each has {show_rate(each)} of its NIC"]
        if held > 1
        else []
    )


def _no_route(where: Cluster, a: int, b: int) -> InputError:
    ends = f"from {where.topology.place(a)} to {where.topology.place(b)}"
    return InputError(f"dead links leave no route {ends} on {where.name}")


def _fill(rate: Floats, latency: Floats, nbytes: float) -> tuple[float, float, npt.NDArray[np.int64]]:
    """Latency and bandwidth time if each route carries from its latency on, and which routes help."""
    order = np.argsort(latency, kind="stable")
    for k in range(len(order), 0, -1):
        some = order[:k]
        least, whole = float(latency[some[0]]), float(rate[some].sum())
        late = least + float((rate[some] * (latency[some] - least)).sum()) / whole
        carried = nbytes / whole
        if late + carried >= latency[some[-1]]:
            break
    return late, carried, np.sort(some)
