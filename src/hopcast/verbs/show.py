"""show: what a cluster is: chips, links, axes and wraps, hosts, bandwidths, diameter, bisection."""

from dataclasses import replace

import numpy as np

from hopcast import chips, machines
from hopcast.chips.slices import spell as spell_shape
from hopcast.graph.distance import Searched
from hopcast.graph.distance import distances as from_each
from hopcast.graph.search import Neighbours
from hopcast.graph.usable import usable
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Axis, Floats, Ints, Topology
from hopcast.result import Result, Row
from hopcast.routing import hosts, routes
from hopcast.units import show_rate, show_seconds, show_size

from . import _levels, ask
from .bisect import worst_halving
from .chip import chip

_SCAN = 4096  # chips up to which every distance is searched when links are not alike
_SCAN_SWITCHED = 512  # of 1,024 chips with switches as many, evenly spaced; fewer of more
# What a pod has of each, in the order in which it is read.
_COUNTS = (
    "su", "nvswitches", "leaf_switches", "spine_switches", "core_switches", "node_leaf_cables",
    "leaf_spine_cables", "spine_core_cables",
)  # fmt: skip

_UNIT = {"bandwidth": show_rate, "capacity": show_size, "latency": show_seconds}


def show(cluster: str | Cluster) -> Result:
    """What a cluster is; a chip's name alone gives its figures, also of one that has no torus to simulate.

    Returns:
        One row: chips, ranks, devices as JAX counts them, hosts, nodes, domains, links (directed), axes,
        levels, diameter (hops), mean_hops (self included), injection_GBps of the weakest rank and
        strongest_injection_GBps, bisection_GBps (one way).

    >>> row = show("torus:4x4,bandwidth=45GB/s").rows[0]
    >>> row["links"], row["diameter"], row["mean_hops"], row["bisection_GBps"]
    (64, 4, 2.0, 360.0)
    """
    # A machine of the same name, mi300x, has a shape of its own: one node.
    if isinstance(cluster, str) and chips.known(cluster) and not machines.known(cluster):
        alone = chip(cluster)
        return replace(alone, notes=[*alone.notes, *chips.load(cluster).notes])
    where = ask.cluster_of(cluster)
    topology = where.topology
    injection = np.bincount(topology.src, topology.bandwidth, topology.vertices)[: topology.chips] / 1e9
    diameter, mean = _routed(where) if where.facts.get("domains") else distances(topology)
    cut = worst_halving(topology)
    facts = where.facts
    row: Row = {
        "cluster": where.name,
        "chips": facts.get("chips", topology.chips),
        "ranks": topology.chips,
        "devices": facts.get("devices"),
        "hosts": facts.get("hosts"),
        "vms": facts.get("vms"),
        "nodes": facts.get("nodes"),
        "domains": facts.get("domains"),
        **{k: facts[k] for k in _COUNTS if facts.get(k)},
        "links": topology.links,
        **_cables(topology),
        "axes": [{"name": a.name, "length": a.length, "wraps": a.wraps} for a in topology.axes],
        "levels": _levels.levels(where),
        "diameter": diameter,
        "mean_hops": mean,
        "link_GBps": _one(topology.bandwidth / 1e9),
        "injection_GBps": float(injection.min(initial=np.inf)) if topology.chips > 1 else 0.0,
        "strongest_injection_GBps": float(injection.max(initial=0.0)),
        "bisection_GBps": cut.one_way / 1e9,
        "hop_latency_us": _one(topology.latency * (1 if np.all(topology.dst < topology.chips) else 2) * 1e6),
    }
    counts = " x ".join(_counted(a) for a in topology.axes)
    counted = "core" if topology.cores > 1 else "chip"
    title = f"{where.name}: {counts} = {topology.chips} {counted}{'s' * (topology.chips != 1)}"
    same = "devices" if row["devices"] == row["chips"] else ""  # most chips are one device
    shown = [k for k, v in row.items() if v is not None and v != [] and k != same]
    listed = figures(where)
    sources = [
        "one-way bandwidths, with trust (A primary source, B relayed, C derived, M from memory) and source:\n"
        + listed
    ]
    notes = [*where.notes, *(sources if listed else [])]
    return Result([row], shown, title, notes, where.assumed, {"cluster": where.name}, where)


def _cables(topology: Topology) -> Row:
    """Cables, which carry both ways, and the links that have none back, where there are such.

    >>> from hopcast.topologies import ring
    >>> _cables(ring.build("ring:5", (5,), 45e9, 0.0))
    {'cables': 5}
    """
    src, dst = topology.src.astype(np.int64), topology.dst.astype(np.int64)
    _, pair = np.unique(np.minimum(src, dst) * topology.vertices + np.maximum(src, dst), return_inverse=True)
    up, down = (np.bincount(pair, way, topology.links) for way in (src < dst, src > dst))
    one_way = int(np.abs(up - down).sum())
    return {"cables": int(np.minimum(up, down).sum()), **({"one_way_links": one_way} if one_way else {})}


def _one(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float | None:
    return float(values[0]) if len(values) and np.all(values == values[0]) else None


def _counted(axis: Axis) -> str:
    """An axis with what it counts, where that has a name: ``8 racks``."""
    words = {"node": "nodes", "rack": "racks", "gpu": "GPUs", "core": "cores"}
    return f"{axis.length} {words[axis.name]}" if axis.name in words else str(axis.length)


def figures(where: Cluster) -> str:
    """The numbers of the hardware with source and trust, and what other sources say, a line each."""
    lines = []
    for key, figure in sorted(where.figures.items()):
        spell = _UNIT.get(key.rpartition(".")[2], lambda v: f"{v:g}")
        said = spell_shape(figure.shape) if figure.shape else spell(figure.value)
        lines.append(f"  {key:<26} {said:<10} {figure.trust}  {figure.source} ({figure.seen})")
        lines += [f"  {'':<26} but also   {o}" for o in figure.other]
    return "\n".join(lines)


def distances(topology: Topology) -> tuple[int, float]:
    """Hops between the two chips farthest apart, and the mean over all pairs, self included.

    Of several slices, within one. On grids without twists by the axes; else by breadth-first search from
    every chip, or from one of a symmetric network.
    """
    if topology.is_slices:
        return distances(hosts.one_slice(topology))
    axes = topology.axes
    if topology.is_grid and not _twisted(topology) and np.all(topology.bandwidth > 0):
        per_axis = [np.abs(np.subtract.outer(np.arange(a.length), np.arange(a.length))) for a in axes]
        per_axis = [
            np.minimum(d, a.length - d) if a.wraps else d for d, a in zip(per_axis, axes, strict=True)
        ]
        return sum(int(d.max()) for d in per_axis), float(sum(d.mean() for d in per_axis))
    if not topology.is_grid:
        return _crossings(topology)
    near = Neighbours(topology)
    sources = (
        range(topology.chips)
        if topology.chips <= _SCAN
        else range(0, topology.chips, topology.chips // _SCAN)
    )
    far = np.stack([near.hops(s)[: topology.chips] for s in sources])
    return int(far.max()), float(far.mean())


def _counted_links(topology: Topology) -> Floats:
    """``float64[m]``: 0 of links from a switch to a chip, else 1: crossing a switch is one hop."""
    return np.where((topology.src >= topology.chips) & (topology.dst < topology.chips), 0.0, 1.0)


def _sources(chips: int) -> Ints:
    """Chips from which distances are taken: all, or evenly spaced ones."""
    many = _SCAN_SWITCHED * 1024 // max(chips, 1024)
    return np.unique(np.linspace(0, chips - 1, min(chips, many)).astype(np.int32))


def _crossings(topology: Topology) -> tuple[int, float]:
    """The same with switches, by breadth-first search."""
    counted = replace(topology, latency=_counted_links(topology))
    found = from_each(usable(counted), _sources(topology.chips))
    assert isinstance(found, Searched)
    far = found.seconds[:, : topology.chips]
    return int(far.max()), float(far.mean())


def _routed(where: Cluster) -> tuple[int, float]:
    """The same of nodes, along the routes that data take: no GPU passes on what is for others."""
    sources, chips = _sources(where.topology.chips), where.topology.chips
    src, dst = np.repeat(sources, chips), np.tile(np.arange(chips, dtype=np.int32), len(sources))
    found = routes(where, src, dst)
    hops = np.bincount(
        np.repeat(found.pair, found.hops),
        np.repeat(found.weight, found.hops) * _counted_links(where.topology)[found.links],
        len(src),
    )
    return int(hops.max()), float(hops.mean())


def _twisted(topology: Topology) -> bool:
    """Whether a wrap-around shifts another axis."""
    a, b = topology.coords[topology.src], topology.coords[topology.dst]
    return bool(((a != b).sum(1) > 1).any())
