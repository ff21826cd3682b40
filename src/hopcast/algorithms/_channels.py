"""Rings through all ranks of all nodes, one for each NIC of a node: what `ring,channels=N` builds.

Ring a enters node m at its rank a - m, walks through all ranks of the node upwards and leaves from the rank
below the one it came in by; the next node is entered at the rank of the same number, so on its rail. Thus
each rank has one ring that comes in by its NIC and one that goes out. A ring carries its part of every shard.

Two sends of a ring are under way at a rank, as with two buffers: a send waits for its data, and for the send
of the step before the last. So latency is hidden wherever it is shorter than what a shard takes on a NIC.

Source: NVIDIA/nccl v2.30, src/graph (one channel and more for each NIC) and src/include/collectives.h (a ring
moves chunks of half its buffer), read 2026-11; Hu et al. 2025, Demystifying NCCL, arXiv:2507.04786.
"""

import numpy as np

from hopcast.ir import orbits
from hopcast.ir.collective import of
from hopcast.ir.composed import Copies
from hopcast.ir.group import Group
from hopcast.ir.schedule import Orbit, Schedule, Sends, one_group, sends
from hopcast.ir.topology import Bools, Ints

from . import _rates

_WINDOW = 2


def all_gather(once_round: Schedule, group: Group, channels: int, way: int = 1) -> Schedule:
    """Parts of shards go round the rings, as all go ``once_round``; ``way`` -1 is the other way round."""
    outer, inner = group.levels
    nodes, each = outer.ranks, inner.ranks
    n = nodes * each
    start = np.arange(channels) * each // channels  # where each ring enters node 0
    order = rings(nodes, each)
    place = order.reshape(nodes, each)
    ring = np.stack([np.roll(place, -s, 1).ravel() for s in start])[:, ::way]  # ranks in order
    # Sends of a rank in the order of how far within the node they are on their ring, alike on all ranks.
    far = np.tile(np.arange(n) % each, channels)
    turn = np.argsort(far, kind="stable")
    number = ring * channels + np.arange(channels, dtype=np.int32)[:, None]
    make = Copies(once_round, ring, number, turn, _WINDOW)
    src, dst = ring.ravel()[turn], np.roll(ring, -1, 1).ravel()[turn]
    channel = np.repeat(np.arange(channels), n)[turn]
    at = np.tile(np.arange(n), channels)[turn]

    def orbit() -> Orbit:
        step = np.repeat(np.arange(n - 1), channels)
        lane = np.arange(channels) * _WINDOW + step.reshape(-1, channels) % _WINDOW

        def rows_of(mine: Bools) -> Sends:
            own, of_ring = at[mine], channel[mine]
            shard = ring[of_ring, (own - np.arange(n - 1)[:, None]) % n]
            from_, to = (np.tile(v[mine], n - 1) for v in (src, dst))
            return sends(from_, to, (shard * channels + of_ring).ravel(), lane=lane[:, of_ring].ravel())

        return Orbit(step, rows_of(src == 0), rows_of(dst == 0), _moves(nodes, each, order))

    return Schedule(
        of("all_gather", n, parts=channels), f"ring,channels={channels}", one_group(n), n, n - 1, make, None,
        channels * _WINDOW, lambda i: i % _WINDOW, orbit if channels == each else None,
    )  # fmt: skip


def rings(nodes: int, each: int) -> Ints:
    """``int32[n]``: the ranks in the order of the ring that enters node 0 at rank 0."""
    node = np.arange(nodes)[:, None]
    return (node * each + (np.arange(each)[None] - node) % each).ravel().astype(np.int32)


def _moves(nodes: int, each: int, order: Ints) -> Ints:
    """One node on and one rank up, of ranks numbered as the rings pass them."""
    found = orbits.shifts((nodes, each))
    moves = np.empty_like(found)
    moves[:, order] = order[found]
    return moves


def why_not(
    group: Group, channels: int, what: str = "rings through nodes of several ranks, one"
) -> str | None:
    """Why there are no such rings, or what else is made for each NIC, or None."""
    levels = group.levels
    if len(levels) != 2 or not all(v.switched for v in levels) or min(v.ranks for v in levels) < 2:
        return f"channels= are {what} for each NIC of a node; there are none"
    if not 1 <= channels <= levels[1].ranks:
        return f"channels={channels}: a node of {levels[1].ranks} ranks has 1 to {levels[1].ranks}"
    return None


def seconds(group: Group, size: float) -> float | None:
    """About how long as many rings as a node has ranks take; None where nobody knows the links.

    What a NIC takes for all shards but one, two at a time; or the way of one shard all round.
    """
    rates = _rates.of_levels(group)
    if rates is None:
        return None
    (outer, inside), each = rates, group.levels[1].ranks
    n, shard = group.ranks, size / group.ranks
    on_nic, told = shard / each * outer.slowness, shard / each * inside.slowness
    hops = n - group.levels[0].ranks, group.levels[0].ranks - 1
    trip = hops[0] * (inside.latency + told) + hops[1] * (outer.latency + on_nic)
    busy = (n - 1) * max(on_nic, told)
    two_at_a_time = (n - 1) * (outer.latency + on_nic) / 2
    return max(trip, two_at_a_time, busy + outer.latency)
