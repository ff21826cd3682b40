"""A schedule that figures compare with and no library runs, with its closed form."""

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Cost
from hopcast.ir.schedule import Schedule, Sends, join, one_group, sends
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
