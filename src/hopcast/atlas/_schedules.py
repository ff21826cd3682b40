"""Schedules that figures compare with: what no library runs, or runs only inside a switch.

Each gives the schedule, on the ranks of a cluster, and its closed form.
"""

import numpy as np

from hopcast.ir.collective import ALL, Collective, of
from hopcast.ir.group import Cost
from hopcast.ir.schedule import COPY, REDUCE, Schedule, Sends, join, one_group, sends
from hopcast.question import Question


def one_way_exchange(q: Question) -> tuple[Schedule, Cost]:
    """all_to_all round a ring in one direction.

    In step s every chip passes on what is not yet where it belongs: N - 1 - s chunks, to its right. A chunk
    for the d-th chip to the right is there after d hops, so a link carries 1 + 2 + ... + N - 1 chunks.

    Cost: N - 1 steps, T = D (N - 1) / (2 N W).

    Source: jax-ml scaling-book, chapter Sharding, appendix (all_to_all costs on rings).
    """
    n = q.group.ranks
    rank = np.arange(n)

    def make(i: int) -> Sends:
        parts = []
        for far in range(i + 1, n):
            origin = (rank - i) % n
            parts.append(sends(rank, (rank + 1) % n, origin * n + (origin + far) % n))
        return join(parts)

    made = Schedule(of("all_to_all", n), "one_way_ring", one_group(n), n, n - 1, make)
    rate, alpha = q.group.bandwidth[0], q.group.latency[0]
    return made, Cost((n - 1) * alpha, q.size * (n - 1) / (2 * n * rate))


def in_the_switch(q: Question, pieces: int = 32) -> tuple[Schedule, Cost]:
    """all_reduce with the sum taken by the switch: every rank sends its array up, and the sum comes down once.

    Pieces of the array follow each other: while piece p comes down, piece p + 1 goes up.

    Cost: with many pieces D / W, whatever the number of ranks: a port carries D up and D down, both at once.

    Source: Graham et al. 2016, doi:10.1109/COMHPC.2016.006 (SHARP); jax-ml scaling-book, chapter GPUs.
    """
    n = q.group.ranks
    switch, rank = q.cluster.topology.chips, np.arange(n)
    everywhere = np.full(pieces, ALL, np.int32)
    claim = Collective("all_reduce", n, everywhere, everywhere)

    def make(i: int) -> Sends:
        parts = []
        if i < pieces:
            up = sends(rank, switch, i, op=REDUCE, lane=0)
            parts.append(up)
        if i > 0:
            parts.append(sends(np.full(n, switch), rank, i - 1, op=COPY, lane=1))
        return join(parts)

    made = Schedule(claim, "in_switch", one_group(n), switch + 1, pieces + 1, make, None, 2)
    rate, alpha = q.group.bandwidth[0], q.group.latency[0]
    return made, Cost(alpha, q.size / rate)
