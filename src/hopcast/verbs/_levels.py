"""The bandwidth hierarchy of a cluster: memory, what joins chips, what joins nodes, units and pods."""

import itertools
from collections.abc import Iterator

import numpy as np

from hopcast.graph.tiers import parts, tiers
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Ints, Topology
from hopcast.result import Row

_MEMORY = (("vmem", "VMEM"), ("hbm", "HBM"))
_LINKS = (("ici", "ICI link"), ("pcie", "PCIe"), ("dcn", "DCN"))
_WORDS = ("leaf", "spine", "core")


def levels(where: Cluster) -> list[Row]:
    """A row for each level: name, degree, link_GBps one way, collective_GBps.

    On networks with nodes a level joins ``degree`` parts, each of which ``link_GBps`` can leave; an
    all_gather over that level alone reaches ``link_GBps`` x degree / (degree - 1), the Scaling Book's figure
    of a level.

    Where a rank is a core, a core's part of what its chip has.

    >>> from hopcast.clusters import cluster
    >>> [(r["name"], r["degree"], r["link_GBps"]) for r in levels(cluster("dgx-h100:128"))][1:4]
    [('node', 8, 450.0), ('leaf', 32, 400.0), ('spine', 4, 12800.0)]
    """
    topology, figures, cores = where.topology, where.figures, where.topology.cores
    found = [_row(name, 1, figures[f"{k}.bandwidth"].value / cores) for k, name in _MEMORY if _has(where, k)]
    if where.facts.get("domains"):
        word = where.topology.axes[0].name if len(where.topology.axes) > 1 else _domain(where)
        for name, degree, rate in _joined(where.topology, word):
            found.append({**_row(name, degree, rate), "collective_GBps": rate * degree / (degree - 1) / 1e9})
    inner = np.array([a.inner for a in topology.axes])[topology.axis]
    if inner.any():
        found.append(_row("core link", 1, float(topology.bandwidth[inner].max())))
    direct = (np.maximum(topology.src, topology.dst) < topology.chips) & ~inner
    degree = int(np.bincount(topology.src[direct], minlength=1).max(initial=0))
    for key, name in _LINKS:
        if _has(where, key):
            rate = figures[f"{key}.bandwidth"].value / cores
            found.append(_row(name, degree if key == "ici" else 1, rate))
    return found


def _has(where: Cluster, key: str) -> bool:
    return f"{key}.bandwidth" in where.figures


def _row(name: str, degree: int, rate: float) -> Row:
    return {"name": name, "degree": degree, "link_GBps": rate / 1e9, "collective_GBps": None}


def _domain(where: Cluster) -> str:
    return "rack" if "domain.trays" in where.figures else "node"


def _joined(topology: Topology, word: str) -> Iterator[tuple[str, int, float]]:
    """Name, parts joined, and bytes/s that leave one of them, from chips to the whole."""
    alone = np.where(np.arange(topology.vertices) < topology.chips, np.arange(topology.vertices), -1)
    ways: list[Ints] = [alone.astype(np.int32), *parts(topology), np.zeros(topology.vertices, np.int32)]
    tier, inside = tiers(topology), topology.axis == len(topology.axes) - 1
    for level, (below, above) in enumerate(itertools.pairwise(ways)):
        pairs = np.unique(np.stack([above[: topology.chips], below[: topology.chips]]), axis=1)
        degree = int(np.bincount(pairs[0]).max())
        if degree < 2:
            continue
        begins = below[topology.src]
        leaves = (begins >= 0) & (begins != below[topology.dst])
        if level == 0:
            leaves &= inside
        rate = np.bincount(begins[leaves], topology.bandwidth[leaves]).max(initial=0.0)
        joins = np.flatnonzero((below < 0) & (above >= 0))
        yield word if level == 0 else _name(topology, int(joins[tier[joins].argmin()])), degree, float(rate)


def _name(topology: Topology, switch: int) -> str:
    """What kind of switch it is."""
    label = topology.place(switch)
    return next((w for w in _WORDS if w in label), "switch")
