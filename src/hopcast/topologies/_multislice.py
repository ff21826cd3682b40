"""Slices whose chips also meet outside: chip - host over PCIe, host - data centre network over NICs.

Vertices are the chips of all slices, slice after slice, then their hosts in the same order, then the data
centre network as one switch that never blocks. Axis 0, ``dcn``, counts slices; its links are PCIe and NICs.
The other axes are those of a slice. Links between chips come first, slice after slice in one order, so that
link i of slice s is ``s * (links of a slice) + i``.

Source: Gordic 2026, Inside TPU and GPU clusters, part 1 (data between slices go HBM, PCIe, host, DCN, host,
PCIe, HBM; a v5e host has a block of 2 x 4 chips); jax-ml scaling-book, chapter TPUs (PCIe and DCN of a chip).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.ir.topology import Axis, Ints, Topology


@dataclass(frozen=True)
class Outside:
    """How the chips of a slice reach its hosts and other slices: bytes/s one way, and seconds.

    Attributes:
        pcie: Of each chip's own link to its host.
        nic: Of a host's link to the data centre network, for each chip that the host holds.
        pcie_latency: Of one crossing of PCIe.
        dcn_latency: From one host to another, half of it before the switch and half behind it.
    """

    pcie: float
    nic: float
    pcie_latency: float
    dcn_latency: float


def block_of(shape: Sequence[int], host: Sequence[int]) -> tuple[int, ...]:
    """The block of chips that one host holds, with its axes in the first order that tiles the slice.

    The shorter sides come first, so a v5e host has 2 chips along x and 4 along y where both orders fit. A
    slice that is smaller than a block along an axis cuts the block there.

    Args:
        shape: Lengths of the slice.
        host: Lengths of a full block, in any order.

    Raises:
        ValueError: if no order of the block tiles the slice.

    >>> block_of((16, 16), (4, 2)), block_of((4, 2), (4, 2)), block_of((2, 2), (4, 2))
    ((2, 4), (4, 2), (2, 2))
    >>> block_of((4, 4, 8), (2, 2, 1)), block_of((1, 2, 2), (2, 2, 1))
    ((2, 2, 1), (1, 2, 2))
    """
    orders = sorted(set(itertools.permutations([*host, *[1] * (len(shape) - len(host))])))
    # 2x2x1 blocks lie in the plane of the first axes, 2x4 ones along the last.
    orders.sort(key=lambda o: o[-1] == max(o) and 1 in o)
    cut = [tuple(min(b, n) for b, n in zip(order, shape, strict=True)) for order in orders]
    fits = [c for c in cut if all(n % b == 0 for n, b in zip(shape, c, strict=True))]
    if not fits:
        raise ValueError(
            f"blocks of {'x'.join(map(str, host))} chips do not tile {'x'.join(map(str, shape))}"
        )
    return max(fits, key=math.prod)


def build(name: str, one: Topology, slices: int, block: Sequence[int], outside: Outside) -> Topology:
    """So many equal slices with their hosts and the network between them.

    Args:
        name: For messages.
        one: A slice, a grid.
        slices: How many; 1 gives a slice with its hosts.
        block: Chips of one host along each axis of the slice.
        outside: Rates and latencies.

    >>> from hopcast.topologies import mesh
    >>> one = mesh.build("mesh:2x4", (2, 4), 45e9, 1e-6)
    >>> two = build("two", one, 2, (2, 2), Outside(16e9, 3e9, 1e-6, 1e-5))
    >>> two.chips, two.vertices, two.links, two.shape, two.place(8), two.place(17)
    (16, 21, 80, (2, 2, 4), '1/0,0', 'host 0/1')
    """
    n, host = one.chips, _hosts(one, block)
    each = int(host.max()) + 1
    chips, hosts = n * slices, each * slices
    dcn = chips + hosts
    at = np.arange(slices, dtype=np.int32)
    chip = np.arange(chips, dtype=np.int32)
    its_host = (chips + at[:, None] * each + host[None]).ravel().astype(np.int32)
    machines = np.arange(chips, dcn, dtype=np.int32)
    centre = np.full(hosts, dcn, np.int32)
    ends = [(chip, its_host), (its_host, chip), (machines, centre), (centre, machines)]
    held = np.tile(np.bincount(host, minlength=each), slices)
    rates = [np.full(chips, outside.pcie)] * 2 + [outside.nic * held] * 2
    delays = [np.full(chips, outside.pcie_latency)] * 2 + [np.full(hosts, outside.dcn_latency / 2)] * 2
    inner, outer = one.links * slices, 2 * (chips + hosts)
    port = np.full((chips, len(one.axes) + 1, 2), -1, np.int32)
    found = one.port[None] + (at * one.links)[:, None, None, None]
    port[:, 1:] = np.where(one.port[None] < 0, -1, found).reshape(chips, len(one.axes), 2)
    wire = (one.wire[None] + (at * one.links)[:, None]).ravel()
    coords = np.concatenate([np.repeat(at, n)[:, None], np.tile(one.coords, (slices, 1))], 1)
    label = [f"host {s}/{h}" if slices > 1 else f"host {h}" for s in range(slices) for h in range(each)]
    return Topology(
        name,
        chips,
        dcn + 1,
        np.concatenate([_repeat(one.src, n, slices), *(a for a, _ in ends)]),
        np.concatenate([_repeat(one.dst, n, slices), *(b for _, b in ends)]),
        np.concatenate([np.tile(one.axis + 1, slices), np.zeros(outer, np.int32)]).astype(np.int32),
        np.concatenate([np.tile(one.bandwidth, slices), *rates]).astype(np.float64),
        np.concatenate([np.tile(one.latency, slices), *delays]).astype(np.float64),
        np.concatenate([wire, inner + np.arange(outer)]).astype(np.int32),
        (Axis("dcn", slices, False, True), *one.axes),
        coords.astype(np.int32),
        port,
        (*label, "dcn"),
    )


def _hosts(one: Topology, block: Sequence[int]) -> Ints:
    """The host of each chip of a slice, numbered row-major over blocks."""
    blocks = [-(-length // b) for length, b in zip(one.shape, block, strict=True)]
    at = tuple((one.coords // np.array(block)).T)
    return np.asarray(np.ravel_multi_index(at, tuple(blocks)), np.int32)


def _repeat(ends: Ints, chips: int, slices: int) -> Ints:
    """Ends of the links of every slice."""
    return (ends[None] + (np.arange(slices) * chips)[:, None]).ravel().astype(np.int32)
