"""What NCCL itself reckons that all_reduce takes by each of its algorithms: how it chooses.

For every algorithm and protocol NCCL has a latency and a bandwidth, from the tables below and the channels
that it found, and takes the pair with the least latency + size / bandwidth. Its figures are those of real
machines, launch included: 8 bytes on 2 and 4 nodes of H100 take 25 and 35 us by the model, and 24.7 and 34.7
were measured (https://github.com/NVIDIA/nccl-tests/issues/309). Of the network above NICs it knows nothing.

Not modelled: plugins that change the figures, CollNet, groups of calls, fewer channels for small sizes.

Source: NVIDIA/nccl v2.30, src/graph/tuning.cc, topo.h, search.cc, read 2026-11; the bandwidth of NVLS as in
v2.19 to v2.27, whose thresholds are measured (stas00/ml-engineering, network/benchmarks: 5 GPUs of H200, 6 of
B200).
"""

import math
from dataclasses import dataclass

PROTOCOLS = ("LL", "LL128", "Simple")
_MICRO, _GIGA = 1e-6, 1e9


@dataclass(frozen=True)
class _Generation:
    """Figures of GPUs of one generation, GB/s; of those in threes the first is of 1 node, 2 nodes, more.

    Attributes:
        speeds: Of one channel between nodes, as they are tried.
        inside: Rings in a node: how many, and the speed of each.
        nvls: Of one channel of NVLS in a node; 0 where there is none.
        links: What all NVLinks of a GPU carry.
        most: LL at most, between nodes by the processor that such nodes mostly have.
        ring128: LL128 of a ring's channel at most.
        tree128, tree, nvls_tree: Of a channel at most: LL128 of trees, trees, trees over NVLS.
        plateau: Latency of Simple rings over nodes that have much to do, in times.
    """

    speeds: tuple[float, ...]
    inside: tuple[int, float]
    nvls: float
    links: float
    most: tuple[float, float, float]
    ring128: float
    tree128: tuple[float, float, float]
    tree: tuple[float, float, float]
    nvls_tree: tuple[float, float, float]
    plateau: float = 1.4


_OLD = (48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12)
_SM90 = (48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12)
_SM100 = (96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12)
# By NVLinks of a GPU, and what one of them carries one way in bytes/s.
_GENERATIONS = {
    (6, 25e9): _Generation(
        _OLD, (6, 20), 0, 120, (39, 39, 20.4), 20, (20, 20, 20), (26.5, 18.5, 10), (0, 0, 0), 1.9
    ),
    (12, 25e9): _Generation(
        _OLD, (12, 20), 0, 240, (87.7, 22.5, 19), 20, (20, 20, 20), (24, 23.6, 17.8), (0, 0, 0)
    ),
    (18, 25e9): _Generation(
        _SM90, (12, 30), 60, 370.8, (141, 39, 20.4), 36.7, (36.7, 36.7, 29), (38.7, 41.4, 36), (0, 57.7, 45.5)
    ),
    (18, 50e9): _Generation(
        _SM100, (8, 90), 90, 721.8, (282, 39, 20.4), 40, (55.6, 31.67, 20), (70, 42.8, 24), (0, 96, 80)
    ),
}
# Microseconds, by protocol.
_TREE_BASE, _RING_BASE = (6.8, 14.0, 8.4), (6.6, 14.0, 8.4)
_TREE_INSIDE, _TREE_BETWEEN = (0.6, 1.25, 4.0), (5.0, 8.5, 14.0)
_RING_INSIDE, _RING_BETWEEN = (0.6, 1.9, 3.4), (2.7, 4.0, 14.0)
_OVERHEAD = (1.0, 1.0, 3.0)  # least of a hop inside, of rings over nodes
_NVLS, _NVLS_TREE = 25.0, 20.9
NVLS_KEPT = 5 / 6  # of a channel's bandwidth; and of n channels one goes for nothing
_PLATEAU = 64  # bytes for each rank and channel: more are much
# Of the bandwidth of trees, by protocol, at 64, 128, 256, ... bytes; all of it beyond.
_CORRECTION = (
    (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1),
    (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9),
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """What NCCL finds.

    Attributes:
        nodes: How many.
        each: GPUs of a node that take part.
        links: NVLinks of a GPU.
        link: What one of them carries one way, bytes/s.
        nics: NICs of a node that they use.
        nic: What one carries one way, bytes/s.
        nvls: Whether the switch of a node reduces.
    """

    nodes: int
    each: int
    links: int
    link: float
    nics: int
    nic: float
    nvls: bool

    @property
    def ranks(self) -> int:
        """In all."""
        return self.nodes * self.each

    @property
    def channels(self) -> tuple[int, float]:
        """Rings through all GPUs, trees, or heads of NVLS: how many, and the speed of one in GB/s."""
        of = _GENERATIONS[self.links, self.link]
        if self.nodes == 1:
            return of.inside
        most = min(self.nic / _GIGA, of.links / self.nics)
        return self.nics, next((s for s in of.speeds if s <= most), of.speeds[-1])

    @property
    def tree_speed(self) -> float:
        """Of one channel of trees, GB/s: between two nodes a NIC carries half of what the chain inside does.

        So the speed inside is raised, step by step, until it is twice that of the NIC or NVLink is full.
        """
        of, (_, speed) = _GENERATIONS[self.links, self.link], self.channels
        raised = speed
        if self.nodes == 2:
            for faster in (s for s in reversed(of.speeds) if s > speed):
                if raised >= 2 * speed or faster > of.links / self.nics:
                    break
                raised = faster
        return raised


def is_known(links: int, link: float) -> bool:
    """Whether there are figures for GPUs with so many NVLinks, of so many bytes/s one way each."""
    return (links, link) in _GENERATIONS


def all_reduce(machine: Machine, size: float) -> dict[str, float]:
    """Seconds by each algorithm that there is, with its best protocol: ``"tree LL128"``.

    Args:
        machine: Of a known generation.
        size: D, bytes.

    >>> pod = Machine(nodes=4, each=8, links=18, link=25e9, nics=8, nic=50e9, nvls=True)
    >>> {name: round(t * 1e6, 1) for name, t in all_reduce(pod, 8).items()}
    {'ring LL': 78.8, 'tree LL': 35.2, 'nvls_tree Simple': 108.6}
    >>> [min(t, key=t.get) for t in (all_reduce(pod, s) for s in (1 << 20, 1 << 26, 1 << 33))]
    ['tree LL128', 'nvls_tree Simple', 'nvls_tree Simple']
    """
    least = [_best("ring", [_ring(machine, size, p) for p in range(3)])]
    if machine.nodes > 1:
        least.append(_best("tree", [_tree(machine, size, p) for p in range(3)]))
    elif machine.nvls:
        least.append(("nvls Simple", _NVLS * _MICRO + size / (nvls_busbw(machine) * _alg(machine))))
    if machine.nodes > 1 and machine.nvls and machine.nics > 1:
        least.append(("nvls_tree Simple", _nvls_tree(machine, size)))
    return dict(least)


def _best(name: str, times: list[float]) -> tuple[str, float]:
    protocol = min(range(3), key=times.__getitem__)
    return f"{name} {PROTOCOLS[protocol]}", times[protocol]


def _alg(machine: Machine) -> float:
    """Part of the busbw that is the algbw."""
    return machine.ranks / (2 * (machine.ranks - 1))


def _column(machine: Machine) -> int:
    return min(machine.nodes, 3) - 1


def _ring(machine: Machine, size: float, p: int) -> float:
    of, (channels, speed) = _GENERATIONS[machine.links, machine.link], machine.channels
    whole = channels * speed
    busbw = (
        min(of.most[_column(machine)], whole / 2),
        min(0.92 * whole, channels * of.ring128),
        whole,
    )[p]
    between = 2 * (machine.nodes - 1)
    inside = _RING_INSIDE[p] if machine.nodes == 1 else max(_RING_INSIDE[p], _OVERHEAD[p])
    latency = _RING_BASE[p] + (2 * (machine.ranks - 1) - between) * inside + between * _RING_BETWEEN[p]
    if p == 2 and machine.nodes > 1 and size >= _PLATEAU * channels * machine.ranks:
        latency *= of.plateau
    return latency * _MICRO + size / (busbw * _GIGA * _alg(machine))


def _tree(machine: Machine, size: float, p: int) -> float:
    of, (channels, _), k = _GENERATIONS[machine.links, machine.link], machine.channels, _column(machine)
    whole = min(0.92 * channels * machine.tree_speed, channels * of.tree[k])
    busbw = (
        min(of.most[k], whole / 3.8),
        min(whole * 120 / 128, channels * of.tree128[k]),
        whole,
    )[p]
    nth = int(math.log2(size / 64)) if size >= 64 else -1
    kept = _CORRECTION[p][nth] if 0 <= nth < len(_CORRECTION[p]) else 1.0
    far = (machine.each - 1) * _TREE_INSIDE[p] + (machine.nodes.bit_length() - 1) * _TREE_BETWEEN[p]
    return (_TREE_BASE[p] + 2 * far) * _MICRO + size / (busbw * kept * _GIGA / 2)


def nvls_busbw(machine: Machine) -> float:
    """Of NVLS in a node, bytes/s: it has a channel for each GPU."""
    return 2 * NVLS_KEPT * (machine.each - 1) * _GENERATIONS[machine.links, machine.link].nvls * _GIGA


def ring_busbw(machine: Machine) -> float:
    """Of all rings together, bytes/s."""
    channels, speed = machine.channels
    return channels * speed * _GIGA


def _nvls_tree(machine: Machine, size: float) -> float:
    of, (channels, speed) = _GENERATIONS[machine.links, machine.link], machine.channels
    inside = 2 * NVLS_KEPT * speed * (channels - 1) / channels
    between = speed * (2 if machine.nodes == 2 else 1)
    busbw = channels * min(inside, between, of.nvls_tree[_column(machine)])
    latency = _NVLS + 2 * (machine.nodes.bit_length() - 1) * _NVLS_TREE
    return latency * _MICRO + size / (busbw * _GIGA * _alg(machine))
