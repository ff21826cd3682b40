"""bisect: capacity across a cut of the ranks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.graph.flow import max_flow
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Topology
from hopcast.names import InputError, unknown
from hopcast.result import Result

from . import ask


@dataclass(frozen=True, eq=False)
class Cut:
    """Some of the chips, and what can cross from them to the others.

    Attributes:
        what: In words.
        inside: ``bool[chips]``.
        one_way: Bytes/s from inside to outside.
        other_way: Bytes/s from outside to inside.
        left_out: Chips outside that the cut is not about.
    """

    what: str
    inside: npt.NDArray[np.bool_]
    one_way: float
    other_way: float
    left_out: int = 0


def capacity(topology: Topology, inside: npt.NDArray[np.bool_]) -> float:
    """Bytes/s that can cross from the chips inside to the others; switches are where least gets through."""
    if topology.vertices == topology.chips:
        crosses = inside[topology.src] & ~inside[topology.dst]
        wires = np.unique(topology.wire[crosses])
        return float(topology.bandwidth[wires].sum())
    inner, outer = (np.flatnonzero(side).tolist() for side in (inside, ~inside))
    return max_flow(topology, inner, outer).value


def _cut(topology: Topology, what: str, inside: npt.NDArray[np.bool_]) -> Cut:
    return Cut(what, inside, capacity(topology, inside), capacity(topology, ~inside))


def worst_halving(topology: Topology) -> Cut:
    """The balanced cut of least capacity: of a grid the halves of each axis, of a switch those in rank order.

    An axis of odd length is cut beside its middle. Of nodes under switches whole nodes are cut: an odd one
    out is in the second half.

    >>> from hopcast.clusters import cluster
    >>> worst_halving(cluster("mesh:2x15").topology).what
    'y < 7'
    """
    if topology.chips < 2:
        return Cut("one chip", np.ones(topology.chips, bool), 0.0, 0.0)
    if not topology.is_grid:
        if len(topology.axes) > 1 and topology.axes[-1].switched:
            half, word = topology.axes[0].length // 2, topology.axes[0].name
            return _cut(topology, f"first {half} {word}{'s' * (half > 1)}", topology.coords[:, 0] < half)
        return _cut(topology, "first half of the ranks", np.arange(topology.chips) < topology.chips // 2)
    halves = [
        _cut(topology, f"{axis.name} < {axis.length // 2}", topology.coords[:, a] < axis.length // 2)
        for a, axis in enumerate(topology.axes)
        if axis.length > 1
    ]
    return min(halves, key=lambda c: c.one_way)


def bisect(cluster: str | Cluster, *, split: str = "", by: str = "") -> Result:
    """Capacity across a cut.

    Args:
        cluster: A name or an object.
        split: ``88/40``: so many first in rank order against the rest; empty: the worst balanced cut.
        by: What the split counts: chips; on nodes also nodes, racks or su. Empty: the first of nodes or
            racks, su and chips that the parts add up to. Chips that add up to one node are cut inside the
            first node, over its NVLink alone.

    Returns:
        One row: one_way_GBps and both_ways_GBps.

    Raises:
        InputError: if the parts do not add up.

    Source: max-flow min-cut; for fat trees it gives the smaller side's nodes x egress of a node (Scaling
    Book, GPUs).

    >>> bisect("torus:4x4,bandwidth=45GB/s").rows[0]["one_way_GBps"]
    360.0
    >>> bisect("dgx-h100:128", split="88/40").rows[0]["one_way_GBps"]
    16000.0
    """
    where = ask.cluster_of(cluster)
    topology, notes = where.topology, list[str]()
    if split:
        cut, notes = _split(where, split, by)
    elif by and by not in _units(where):
        raise unknown("unit", by, _units(where), of=f"a split of {where.name}")
    else:
        cut = worst_halving(topology)
    row = {
        "cluster": where.name,
        "cut": cut.what,
        "inside": int(cut.inside.sum()),
        "outside": int((~cut.inside).sum()) - cut.left_out,
        "one_way_GBps": cut.one_way / 1e9,
        "both_ways_GBps": (cut.one_way if topology.half_duplex else cut.one_way + cut.other_way) / 1e9,
    }
    return Result([row], (), None, notes, where.assumed, {"cluster": where.name, "split": split}, cut)


def _units(where: Cluster) -> dict[str, int]:
    """What a split can count, and the chips of each, the default first."""
    chips, facts = where.topology.chips, where.facts
    found = {}
    axes = where.topology.axes
    if facts.get("domains") and len(axes) > 1:
        found[f"{axes[0].name}s"] = axes[1].length
        if not chips % facts["nodes"]:
            found["nodes"] = chips // facts["nodes"]
        # Of chosen nodes only some of a unit are there, and in any order.
        if "su" in facts and "nodes" not in where.options:
            found["su"] = facts["nodes_per_su"] * axes[1].length
    return {**found, "chips": 1}


def _split(where: Cluster, split: str, by: str) -> tuple[Cut, list[str]]:
    """The cut that was asked for, and what to say of it."""
    units, chips = _units(where), where.topology.chips
    if by and by not in units:
        raise unknown("unit", by, units, of=f"a split of {where.name}")
    said = split.split("/")
    parts = [int(p) for p in said if p.strip().isdecimal()]
    counts = {word: -(-chips // size) for word, size in units.items() if not by or by == word}
    per_node = where.topology.axes[-1].length
    inside_node = "nodes" in units and by in ("", "chips") and sum(parts) == per_node
    found = next(
        (word for word, count in counts.items() if sum(parts) == count), "chips" if inside_node else ""
    )
    if max(counts.values()) < 2:
        one = next(iter(counts)).removesuffix("s") or "su"
        raise InputError(f"--split {split}: {where.name} has 1 {one}, which is no two parts")
    if len(said) != 2 or len(parts) != 2 or not found or 0 in parts:
        choices = " or ".join(f"the {count} {word}" for word, count in counts.items())
        some = next(iter(counts.values()))
        raise InputError(
            f"--split {split}: write two parts that add up to {choices} of {where.name}, as in "
            f"{some // 2}/{some - some // 2}"
        )
    first = parts[0] * units[found]
    if sum(parts) * units[found] < chips and inside_node:
        return _inside(where, parts)
    what = f"first {parts[0]} {found} in rank order"
    return _cut(where.topology, what, np.arange(chips) < first), _through(where, first, per_node)


def _inside(where: Cluster, parts: list[int]) -> tuple[Cut, list[str]]:
    """A cut inside the first node, over what joins its chips and nothing else."""
    topology = where.topology
    only = topology.with_links(np.where(topology.axis == len(topology.axes) - 1, topology.bandwidth, 0.0))
    first, rest = list(range(parts[0])), list(range(parts[0], sum(parts)))
    one_way, other_way = (max_flow(only, a, b).value for a, b in ((first, rest), (rest, first)))
    word = topology.axes[0].name
    left_out, inside = topology.chips - sum(parts), np.arange(topology.chips) < parts[0]
    cut = Cut(f"first {parts[0]} chips of a {word}", inside, one_way, other_way, left_out)
    note = f"the split is inside one {word}: it counts {_inner(where)} only, not the NICs"
    return cut, [f"{note}; other {word}s are left out"]


def _inner(where: Cluster) -> str:
    """What joins the chips of a node."""
    return "xGMI" if where.stack == "rccl" else "NVLink"


def _through(where: Cluster, first: int, per_node: int) -> list[str]:
    """What to say of a split that goes through a node."""
    if "domains" not in where.facts or len(where.topology.axes) < 2 or not first % per_node:
        return []
    word = where.topology.axes[0].name
    return [
        f"the split goes through {word} {first // per_node}: its {_inner(where)} counts besides the NICs; "
        f"for the network alone split by {word}s"
    ]
