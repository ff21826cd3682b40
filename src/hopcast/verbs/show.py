"""show: what a cluster is: chips, links, axes and wraps, hosts, bandwidths, diameter, bisection."""

import numpy as np

from hopcast.graph.search import Neighbours
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology
from hopcast.result import Result, Row
from hopcast.units import show_rate, show_size

from . import ask
from .bisect import worst_halving

_SCAN = 4096  # chips up to which every distance is searched when links are not alike

_UNIT = {"bandwidth": show_rate, "capacity": show_size}


def show(cluster: str | Cluster) -> Result:
    """What a cluster is.

    Returns:
        One row: chips, ranks, hosts, nodes, domains, links (directed), axes, levels, diameter (hops),
        mean_hops (self included), injection_GBps of the weakest chip and strongest_injection_GBps,
        bisection_GBps (one way).

    >>> row = show("torus:4x4,bandwidth=45GB/s").rows[0]
    >>> row["links"], row["diameter"], row["mean_hops"], row["bisection_GBps"]
    (64, 4, 2.0, 360.0)
    """
    where = ask.cluster_of(cluster)
    topology = where.topology
    injection = np.bincount(topology.src, topology.bandwidth, topology.vertices)[: topology.chips] / 1e9
    diameter, mean = distances(topology)
    cut = worst_halving(topology)
    facts = where.facts
    row: Row = {
        "cluster": where.name,
        "chips": topology.chips,
        "ranks": facts.get("devices", topology.chips),
        "hosts": facts.get("hosts"),
        "vms": facts.get("vms"),
        "nodes": facts.get("nodes"),
        "domains": facts.get("domains"),
        "links": topology.links,
        "cables": topology.links // 2,
        "axes": [{"name": a.name, "length": a.length, "wraps": a.wraps} for a in topology.axes],
        "levels": _levels(where),
        "diameter": diameter,
        "mean_hops": mean,
        "link_GBps": _one(topology.bandwidth / 1e9),
        "injection_GBps": float(injection.min(initial=np.inf)) if topology.chips > 1 else 0.0,
        "strongest_injection_GBps": float(injection.max(initial=0.0)),
        "bisection_GBps": cut.one_way / 1e9,
        "hop_latency_us": _one(topology.latency * (1 if topology.is_grid else 2) * 1e6),
    }
    counts = " x ".join(str(n) for n in topology.shape)
    title = f"{where.name}: {counts} = {topology.chips} chips"
    shown = [k for k, v in row.items() if v is not None and v != []]
    listed = figures(where)
    sources = [
        "one-way bandwidths, with trust (A primary source, B relayed, C derived, M from memory) and source:\n"
        + listed
    ]
    notes = [*where.notes, *(sources if listed else [])]
    return Result([row], shown, title, notes, where.assumed, {"cluster": where.name}, where)


def _one(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float | None:
    return float(values[0]) if len(values) and np.all(values == values[0]) else None


def _levels(where: Cluster) -> list[Row]:
    """Bandwidth hierarchy: what one chip has at each level, widest first."""
    names = (("vmem", "VMEM"), ("hbm", "HBM"), ("ici", "ICI link"), ("pcie", "PCIe"), ("dcn", "DCN"))
    found = []
    for key, name in names:
        figure = where.figures.get(f"{key}.bandwidth")
        if figure is not None:
            degree = (
                where.topology.axes and int(np.bincount(where.topology.src, minlength=1).max(initial=0))
                if key == "ici"
                else 1
            )
            found.append(
                {"name": name, "degree": degree, "link_GBps": figure.value / 1e9, "collective_GBps": None}
            )
    return found


def figures(where: Cluster) -> str:
    """The numbers of the hardware with source and trust, and what other sources say, a line each."""
    lines = []
    for key, figure in sorted(where.figures.items()):
        spell = _UNIT.get(key.rpartition(".")[2], lambda v: f"{v:g}")
        lines.append(f"  {key:<26} {spell(figure.value):<10} {figure.trust}  {figure.source} ({figure.seen})")
        lines += [f"  {'':<26} but also   {o}" for o in figure.other]
    return "\n".join(lines)


def distances(topology: Topology) -> tuple[int, float]:
    """Hops between the two chips farthest apart, and the mean over all pairs, self included.

    On grids without twists by the axes; else by breadth-first search from every chip, or from one of a
    symmetric network.
    """
    axes = topology.axes
    if topology.is_grid and not _twisted(topology) and np.all(topology.bandwidth > 0):
        per_axis = [np.abs(np.subtract.outer(np.arange(a.length), np.arange(a.length))) for a in axes]
        per_axis = [
            np.minimum(d, a.length - d) if a.wraps else d for d, a in zip(per_axis, axes, strict=True)
        ]
        return sum(int(d.max()) for d in per_axis), float(sum(d.mean() for d in per_axis))
    near = Neighbours(topology)
    sources = (
        range(topology.chips)
        if topology.chips <= _SCAN
        else range(0, topology.chips, topology.chips // _SCAN)
    )
    far = np.stack([near.hops(s)[: topology.chips] for s in sources])
    crossing = 1 if topology.is_grid else 2  # a switch is a vertex, and crossing it one hop
    return int(far.max()) // crossing, float(far.mean()) / crossing


def _twisted(topology: Topology) -> bool:
    """Whether a wrap-around shifts another axis."""
    a, b = topology.coords[topology.src], topology.coords[topology.dst]
    return bool(((a != b).sum(1) > 1).any())
