"""Nodes of chips under leaf, spine and core switches: DGX pods, racks of NVL72, one's own fat tree.

A chip has two ways out: inside its node over the node's switch (or cables to its peers), and over its NIC to
a leaf. With rails the NICs of one number are on one leaf, so that equal chips of all nodes of a unit are one
crossing apart.

Two wirings of what is above the leaves. Cable by cable: cable k of leaf l goes to spine (l u + k) mod S of
its pod, which spreads the u uplinks of every leaf evenly. Or, where traffic is spread evenly over all spines
(ideal routing), all spines of a pod as one vertex, joined to each leaf by all of its cables together: no flow
can tell the difference.

Source: Leiserson 1985, Fat-trees: universal networks for hardware-efficient supercomputing,
doi:10.1109/TC.1985.6312192; counts of switches: NVIDIA DGX SuperPOD reference architectures (H100, B200,
B300, GB200).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Axis, Floats, Ints, Topology
from hopcast.names import InputError

EXAMPLES = ((1, 4), (4, 1), (2, 2), (3, 4), (8, 8))
Longs = npt.NDArray[np.int64]
Cable = tuple[int, int, float]


@dataclass(frozen=True)
class Node:
    """One machine, or one rack whose chips share a switch.

    Attributes:
        chips: g.
        switched: Whether its chips meet in a switch, which then has local number g.
        cables: (a, b, bytes/s one way) between local numbers.
        latency: From chip to chip, seconds.
        nic: The NIC that each chip uses.
        word: What people call it: node or rack.
    """

    chips: int
    switched: bool
    cables: tuple[Cable, ...]
    latency: float
    nic: tuple[int, ...]
    word: str = "node"

    @property
    def nics(self) -> int:
        """NICs of a node."""
        return max(self.nic) + 1


@dataclass(frozen=True, eq=False)
class Fabric:
    """What joins nodes.

    Shapes: N nodes of k NICs.

    Attributes:
        leaf: ``int64[N, k]``, the leaf of each NIC in one plane; others are alike.
        leaf_names: For people, by leaf.
        pod: The pod of each leaf; all 0 with two tiers.
        uplinks: Cables of a leaf to the spines of its pod.
        spines: Spines of each pod.
        cores: 0 with two tiers.
        planes: Equal networks side by side; every NIC has one cable to each.
        nic: Bytes/s one way of a NIC, over all planes together.
        attach: Bytes/s one way from a chip to a NIC that it shares with others (PCIe).
        cable: Bytes/s one way of a cable between switches.
        latency: Crossing one leaf, seconds.
        tier: Crossing one more switch above it.
        spread: Whether spines are one vertex for each pod, and planes one.
    """

    leaf: Longs
    leaf_names: Sequence[str]
    pod: Sequence[int]
    uplinks: int
    spines: Sequence[int]
    cores: int
    nic: float
    attach: float
    cable: float
    latency: float
    tier: float
    planes: int = 1
    spread: bool = True


def counts(leaves: int, uplinks: int, ports: int) -> tuple[int, int]:
    """Spines and cores over some leaves, without oversubscription above them.

    Two tiers as long as every leaf has a cable to every spine: the fewest spines that divide a leaf's uplinks
    evenly and have ports enough. Beyond that three tiers: spines with half of their ports down, and cores.

    Args:
        leaves: Leaf switches.
        uplinks: Cables of a leaf upward.
        ports: Of a spine or core.

    Returns:
        Spines, and cores or 0.

    Source: the rule reproduces NVIDIA's tables of 1 to 64 scalable units (H100, B200, B300, GB200).

    >>> [counts(8 * units, 32, 64) for units in (1, 2, 3, 4, 8, 16, 64)]
    [(4, 0), (8, 0), (16, 0), (16, 0), (32, 0), (128, 64), (512, 256)]
    """
    cables = leaves * uplinks
    least = -(-cables // ports)
    fits = [s for s in range(least, uplinks + 1) if uplinks % s == 0]
    return (fits[0], 0) if fits else (-(-cables // (ports // 2)), least)


class _Columns:
    """Links being collected: each cable is a link there and the link back."""

    def __init__(self) -> None:
        self._parts: list[tuple[Longs, Longs, int, Floats, float]] = []

    def join(self, a: Longs, b: Longs, axis: int, rate: Floats | float, latency: float) -> None:
        """A cable between each a and b; ``latency`` of one of its links."""
        self._parts.append((a, b, axis, np.broadcast_to(np.asarray(rate, float), a.shape), latency))

    def topology(
        self, name: str, vertices: int, axes: tuple[Axis, ...], coords: Ints, labels: tuple[str, ...]
    ) -> Topology:
        """All of them."""
        forth = np.concatenate([np.zeros((0, 2), int), *(np.stack([p[0], p[1]], 1) for p in self._parts)])
        many = [2 * len(p[0]) for p in self._parts]
        src, dst = forth.ravel().astype(np.int32), forth[:, ::-1].ravel().astype(np.int32)
        axis = np.repeat(np.array([p[2] for p in self._parts], int), many).astype(np.int32)
        rate = np.concatenate([np.zeros(0), *(np.repeat(p[3], 2) for p in self._parts)])
        latency = np.repeat(np.array([p[4] for p in self._parts], float), many)
        wire = np.arange(len(src), dtype=np.int32)
        port = np.zeros((0, len(axes), 2), np.int32)
        return Topology(
            name, len(coords), vertices, src, dst, axis, rate, latency, wire, axes, coords, port, labels
        )


def wire(name: str, node: Node, slots: Sequence[int], fabric: Fabric | None) -> Topology:
    """The network of some nodes.

    Vertices are the chips, node after node, then the switches of the nodes, NICs that chips share, leaves,
    spines and cores. Links inside nodes are on the last axis, all others on the first.

    Args:
        name: For messages.
        node: All nodes are alike.
        slots: Number of each node, for people.
        fabric: What joins them; None for a single node, which then has one axis only.

    Cost: O(links).
    """
    n, g = len(slots), node.chips
    columns = _Columns()
    at = np.arange(n)
    labels = [f"{node.word} {s} nvswitch" if n > 1 else "nvswitch" for s in slots] if node.switched else []
    last = int(fabric is not None)
    for a, b, rate in node.cables:
        ends = [at * g + v if v < g else n * g + at for v in (a, b)]
        columns.join(ends[0], ends[1], last, rate, node.latency / (2 if node.switched else 1))
    coords = np.stack(np.divmod(np.arange(n * g), g), 1)[:, 1 - last :].astype(np.int32)
    axes = tuple(Axis(w, k, False, True) for w, k in ((node.word, n), ("gpu", g))[1 - last :])
    vertices = n * g + len(labels)
    if fabric is not None:
        names = _above(columns, node, slots, fabric, vertices)
        labels, vertices = labels + names, vertices + len(names)
    return columns.topology(name, vertices, axes, coords, tuple(labels))


def _above(columns: _Columns, node: Node, slots: Sequence[int], fabric: Fabric, first: int) -> list[str]:
    """NICs, leaves and what joins them; names of the new vertices, which begin at ``first``."""
    n, g = fabric.leaf.shape[0], node.chips
    planes = 1 if fabric.spread else fabric.planes
    chip = np.arange(n * g).reshape(n, g)
    nic = np.asarray(node.nic)
    labels: list[str] = []
    if len(np.unique(nic)) < g:
        labels = [f"{node.word} {s} nic {k}" for s in slots for k in range(node.nics)]
        port = first + np.arange(n * node.nics).reshape(n, node.nics)
        columns.join(chip.ravel(), port[:, nic].ravel(), 0, fabric.attach, 0.0)
    else:
        port = np.empty((n, g), int)
        port[:, nic] = chip
    # Leaves without a node below do not carry anything and would stand above the spines.
    used, leaf = np.unique(fabric.leaf, return_inverse=True)
    leaf = leaf.reshape(fabric.leaf.shape)
    for plane in range(planes):
        begin = first + len(labels)
        labels += [_plane(fabric.leaf_names[k], plane, planes) for k in used]
        columns.join(port.ravel(), (begin + leaf).ravel(), 0, fabric.nic / planes, fabric.latency / 2)
        if len(used) > 1:
            labels += _spines(columns, fabric, used, begin, plane, planes)
    return labels


def _plane(name: str, plane: int, planes: int) -> str:
    return f"{name} plane {plane}" if planes > 1 else name


def _spines(columns: _Columns, fabric: Fabric, used: Longs, begin: int, plane: int, planes: int) -> list[str]:
    """Spines and cores over the leaves of one plane, which are the vertices from ``begin`` on."""
    pod = np.asarray(fabric.pod)[used]
    first, below = begin + len(used), np.bincount(np.asarray(fabric.pod))
    if fabric.spread:
        rate, pods = fabric.cable * fabric.planes * fabric.uplinks, np.unique(pod)
        columns.join(
            begin + np.arange(len(used)), first + np.searchsorted(pods, pod), 0, rate, fabric.tier / 2
        )
        labels = [f"{_of_pod(fabric, p)}{_many(fabric.spines[p] * fabric.planes, 'spine')}" for p in pods]
        if len(pods) > 1:
            top = np.full(len(pods), first + len(pods))
            columns.join(first + np.arange(len(pods)), top, 0, rate * below[pods], fabric.tier)
            labels.append(_many(fabric.cores * fabric.planes, "core"))
        return labels
    # Numbered over all leaves of a pod, also unused ones: what is not used stays free.
    number = used - np.concatenate([[0], np.cumsum(below)])[pod]
    many = np.asarray(fabric.spines)
    base = np.concatenate([[0], np.cumsum(many)])
    leaf, k = np.divmod(np.arange(len(used) * fabric.uplinks), fabric.uplinks)
    to = base[pod[leaf]] + (number[leaf] * fabric.uplinks + k) % many[pod[leaf]]
    columns.join(begin + leaf, first + to, 0, fabric.cable, fabric.tier / 2)
    labels = [_plane(f"spine {s}", plane, planes) for s in range(int(base[-1]))]
    if fabric.cores:
        up = np.repeat(below * fabric.uplinks // many, many)
        spine = np.repeat(np.arange(len(up)), up)
        core = first + len(labels) + np.arange(len(spine)) % fabric.cores
        columns.join(first + spine, core, 0, fabric.cable, fabric.tier)
        labels += [_plane(f"core {c}", plane, planes) for c in range(fabric.cores)]
    return labels


def _of_pod(fabric: Fabric, pod: int) -> str:
    return f"pod {pod}: " if len(fabric.spines) > 1 else ""


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def star(chips: int, bandwidth: float) -> tuple[Cable, ...]:
    """Each chip on the switch of its node."""
    return tuple((c, chips, bandwidth) for c in range(chips))


def mesh(chips: int, bandwidth: float) -> tuple[Cable, ...]:
    """Each chip on each other."""
    return tuple((a, b, bandwidth) for a, b in itertools.combinations(range(chips), 2))


def build(
    name: str, shape: Sequence[int], bandwidth: float, latency: float, half_duplex: bool = False
) -> Topology:
    """``shape[0]`` nodes of ``shape[1]`` chips with a switch, one leaf a rail, one spine; cables are alike.

    Args:
        name: For messages.
        shape: Nodes and chips of a node.
        bandwidth: Of a cable one way, bytes/s.
        latency: Of crossing a switch, seconds.
        half_duplex: Whether both ways share the bandwidth.

    Raises:
        InputError: if there are not two numbers.

    >>> build("fat_tree:4x2", (4, 2), 1.0, 0.0).shape
    (4, 2)
    """
    if len(shape) != 2:
        raise InputError(
            f"{name!r} has {len(shape)} axes; a fat tree has nodes and chips of a node, as in 32x8"
        )
    n, g = shape
    node = Node(g, True, star(g, bandwidth), latency, tuple(range(g)))
    leaf = np.tile(np.arange(g), (n, 1))
    rails = [f"rail {r} leaf" for r in range(g)]
    fabric = Fabric(leaf, rails, [0] * g, 1, [1], 0, bandwidth, bandwidth, bandwidth, latency, latency)
    made = wire(name, node, range(n), fabric)
    number = np.arange(made.links, dtype=np.int32)
    return replace(made, wire=number - number % 2 if half_duplex else number)


def diameter(shape: Sequence[int]) -> int:
    """Switches crossed between two chips: one in a node or on a leaf, else leaf, spine, leaf."""
    return 0 if max(shape) == 1 else 1 if min(shape) == 1 else 3


def cut(shape: Sequence[int]) -> int:
    """Cables one way between halves: NICs of half of the nodes, or the switches of all and the spine."""
    n, g = shape
    halves = [n // 2 * g] * (n > 1) + [(n + 1) * (g // 2)] * (g > 1)
    return min(halves, default=0)
