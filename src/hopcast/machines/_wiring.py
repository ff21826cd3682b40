"""From what is asked to nodes, leaves, spines and cores, and what there is of each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hopcast.ir.cluster import Figure
from hopcast.names import InputError
from hopcast.topologies.fat_tree import Cable, Fabric, Node, counts, mesh, star
from hopcast.units import show_rate, show_seconds

from ._asked import Asked

# Links between GPUs of DGX-1: one or two, six for each GPU. Source: nvidia-smi topo -m of V100 SXM2 servers.
_CUBE = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2,
    (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be wired.

    Attributes:
        node: Every node.
        fabric: What joins them; None for one node.
        facts: Counts of what there is.
        notes: For a reader of `show`.
        assumed: What was not given.
    """

    node: Node
    fabric: Fabric | None
    facts: Mapping[str, int]
    notes: tuple[str, ...]
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class _Leaves:
    """Leaf switches of one plane.

    Attributes:
        units: Nodes or racks that share a set of leaves.
        each: Leaves of a set.
        sets: Sets.
        down: Cables of a full leaf to NICs.
    """

    units: int
    each: int
    sets: int
    down: int


def plan(text: str, inside: str, unit: str, asked: Asked, figures: Mapping[str, Figure]) -> Plan:
    """The plan of a cluster.

    Args:
        text: For messages.
        inside: How GPUs of a node are joined: switch, mesh or cube.
        unit: node or rack.
        asked: Options.
        figures: Of the machine.

    Raises:
        InputError: for counts of switches or cables that cannot be wired.
    """
    node = _node(inside, unit, asked)
    whole = len(asked.slots)
    trays = int(figures["domain.trays"].value) if "domain.trays" in figures else 1
    facts = {"nodes": whole * trays, "domains": whole}
    switches = int(figures["domain.nvswitches"].value) if "domain.nvswitches" in figures else 0
    if switches:
        facts["nvswitches"] = whole * switches
    if whole == 1:
        idle = sorted(
            asked.given & {"nics", "nic", "oversubscription", "rails", "routing", "leaf", "spine", "uplinks"}
        )
        idle_note = (
            [f"one {unit}: {', '.join(idle)} of the network between {unit}s changes nothing"] if idle else []
        )
        return Plan(node, None, facts, tuple(idle_note), _assumed(asked, ["nvlink"], figures))
    fabric, above, notes, rounded = _fabric(text, unit, asked, figures)
    assumed = _assumed(asked, ["nvlink", "nic", "tier"], figures)
    return Plan(node, fabric, facts | above, tuple(notes), (*assumed, *rounded))


def _node(inside: str, unit: str, asked: Asked) -> Node:
    cables: tuple[Cable, ...]
    if inside == "switch":
        cables = star(asked.gpus, asked.nvlink)
    elif inside == "mesh":
        cables = mesh(asked.gpus, asked.nvlink)
    else:
        cables = tuple((a, b, k * asked.nvlink) for (a, b), k in _CUBE.items() if b < asked.gpus)
    nic = tuple(g * asked.nics // asked.gpus for g in range(asked.gpus))
    return Node(asked.gpus, inside == "switch", cables, asked.nvlink_latency, nic, unit)


def _fabric(
    text: str, unit: str, asked: Asked, figures: Mapping[str, Figure]
) -> tuple[Fabric, dict[str, int], list[str], list[str]]:
    """Leaves, spines and cores; how many there are; what to say of them; what is not as it was asked for."""
    planes = int(figures["leaf.planes"].value) if "leaf.planes" in figures else 1
    leaves = _leaves(text, asked, figures)
    leaf = _leaf_of(asked, leaves)
    many = leaves.sets * leaves.each
    uplinks, rounded = _uplinks(text, asked, leaves, leaf)
    notes = list[str]()
    ports = max(int(figures["leaf.ports"].value), 2 * leaves.down if asked.leaf else 0)
    spines, cores = (asked.spine, 0) if asked.spine else counts(many, uplinks, ports)
    if not cores and spines > uplinks:
        raise InputError(
            f"{text!r}: a leaf has {uplinks} uplinks, too few for {spines} spines; "
            f"write uplinks={spines} or fewer spines"
        )
    pod = np.zeros(many, int)
    if cores:
        pod = np.arange(many) // leaves.each // max(ports // 2 // leaves.each, 1)
    spines_of = [-(-int(k) * uplinks // (ports // 2)) for k in np.bincount(pod)] if cores else [spines]
    pcie = figures["pcie.bandwidth"].value if "pcie.bandwidth" in figures else asked.nic
    if asked.nic > pcie:
        notes.append(
            f"a NIC of {show_rate(asked.nic)} is behind PCIe of {show_rate(pcie)}, which is what counts"
        )
    names = _leaf_names(unit, asked, leaves)
    fabric = Fabric(
        leaf, names, pod.tolist(), uplinks, spines_of, cores, min(asked.nic, pcie), pcie, asked.nic / planes,
        asked.nic_latency, asked.tier_latency, planes, not asked.ecmp,
    )  # fmt: skip
    if not asked.ecmp:
        notes.append(
            "routing: traffic is spread evenly over all spines, so those of a pod are one vertex of their "
            "summed cables; routing=ecmp wires each cable and hashes"
        )
    per_unit = int(figures["su.units"].value) if not asked.leaf else leaves.units
    facts = {
        "su": -(-asked.total // per_unit),
        "nodes_per_su": per_unit,
        "leaf_switches": many * planes,
        "spine_switches": sum(spines_of) * planes,
        "core_switches": cores * planes,
        "node_leaf_cables": asked.total * asked.nics * planes,
        "leaf_spine_cables": many * uplinks * planes,
        "spine_core_cables": many * uplinks * planes if cores else 0,
    }
    return fabric, facts, notes, rounded


def _leaves(text: str, asked: Asked, figures: Mapping[str, Figure]) -> _Leaves:
    if asked.leaf:
        each = asked.nics if asked.rails else asked.leaf
        if asked.leaf % each:
            raise InputError(
                f"{text!r}: leaf={asked.leaf}: with rails each of the {each} NICs of a node has a leaf of "
                f"its own; write a multiple of {each}, or rails=off"
            )
        sets = asked.leaf // each
        units = -(-asked.total // sets)
    else:
        each = min(int(figures["leaf.rails"].value), asked.nics)
        units = int(figures["leaf.units"].value)
        sets = -(-asked.total // units)
    return _Leaves(units, each, sets, -(-units * asked.nics // each))


def _leaf_of(asked: Asked, leaves: _Leaves) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """``int64[nodes, nics]``: by rail, or filled node after node."""
    slot, nic = np.array(asked.slots, np.int64)[:, None], np.arange(asked.nics)[None]
    inside = (slot % leaves.units) * asked.nics + nic
    own = nic % leaves.each if asked.rails else inside * leaves.each // (leaves.units * asked.nics)
    return np.asarray(slot // leaves.units * leaves.each + own)


def _leaf_names(unit: str, asked: Asked, leaves: _Leaves) -> list[str]:
    word = "rail" if asked.rails else "leaf"
    where = unit if leaves.units == 1 else "unit"
    many = leaves.sets > 1
    return [
        (f"{where} {s} " if many else "") + f"{word} {r}" + (" leaf" if asked.rails else "")
        for s in range(leaves.sets)
        for r in range(leaves.each)
    ]


def _uplinks(
    text: str, asked: Asked, leaves: _Leaves, leaf: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> tuple[int, list[str]]:
    """Cables of a leaf upward, and the ratio where cables, which are whole, do not give the one asked for.

    Oversubscription of a single set is of the cables in use: a few nodes under wide uplinks would not feel
    any.
    """
    if asked.oversubscription is None:
        return asked.uplinks or leaves.down, []
    if asked.oversubscription > leaves.down:
        raise InputError(
            f"{text!r}: oversubscription={asked.oversubscription:g}: a leaf has {leaves.down} cables down "
            f"and at least one up, so the most is {leaves.down}"
        )
    down = leaves.down if leaves.sets > 1 else min(leaves.down, int(np.bincount(leaf.ravel()).max()))
    up = max(round(down / asked.oversubscription), 1)
    ratio = down / up
    exact = abs(ratio - asked.oversubscription) < 1e-9
    said = (
        f"oversubscription={asked.oversubscription:g}: a leaf has {down} cables down and {up} up, {ratio:.3g}"
    )
    return up, [] if exact else [said]


def _assumed(asked: Asked, classes: list[str], figures: Mapping[str, Figure]) -> tuple[str, ...]:
    """The latencies that nobody gave, and on a generic family the rates."""
    found = []
    if "latency" not in asked.given:
        missing = [k for k in classes if f"{k}_latency" not in asked.given]
        said = ", ".join(
            f"{k}_latency={show_seconds(figures[f'{k}.latency'].value).replace(' ', '')}" for k in missing
        )
        found += [f"{said} assumed: no vendor figure is known"] if missing else []
    generic = [k for k in ("bandwidth", "nic") if k not in asked.given and "domain.chips" not in figures]
    if generic:
        rates = {"bandwidth": asked.nvlink, "nic": asked.nic}
        said = ", ".join(f"{k}={show_rate(rates[k]).replace(' ', '')}" for k in generic)
        found.append(f"fat-tree is a generic family: {said} assumed")
    return tuple(found)
