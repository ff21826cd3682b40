"""Small clusters of several slices with hosts, and questions about them."""

from functools import cache

from grids import group

from hopcast import clusters
from hopcast.ir import mesh
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Hint
from hopcast.question import Question
from hopcast.topologies import _multislice
from hopcast.topologies._grid import grid

SIZE = 2.0**20


def tiny(
    shape: tuple[int, ...],
    count: int,
    block: tuple[int, ...],
    *,
    ici: float = 40e6,
    pcie: float = 16e6,
    nic: float = 4e6,
    latency: float = 0.0,
    wraps: bool = False,
) -> Cluster:
    """A cluster of small slices that nobody sells, with round rates."""
    one = grid("tiny", shape, [wraps] * len(shape), ici, latency)
    outside = _multislice.Outside(pcie, nic, latency, 10 * latency)
    made = _multislice.build(f"tiny,slices={count}", one, count, block, outside)
    return Cluster("tiny", made, "tiny", "hosts", stack="xla")


def ask(where: Cluster, collective: str, over: tuple[str, ...] = (), size: float = SIZE) -> Question:
    mine = group(where, over)
    hint = Hint(size, max(mine.latency))
    return Question(where, collective, mesh.physical(where.topology), over, mine, size, hint)


@cache
def cluster(text: str) -> Cluster:
    return clusters.cluster(text)
