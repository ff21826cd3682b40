"""all_to_all between nodes with every NIC on its own rail: NVLink to the right GPU first, then one leaf.

A message from rank i of node a for rank j of node b goes to rank j of node a inside the node, and from
there to rank j of node b over NICs of one rail, which meet in one leaf. In step 0 each rank passes its
messages on inside the node, and besides sends over its NIC those that are for its own rail; in step 1 its
NIC sends what came from the others, and what stays in the node goes over NVLink. So NICs are busy from the
beginning, and NVLink, which carries D / n (N - 1) / N (g - 1) / g more for each rank, takes no time of its
own where it is faster.

Cost: with N nodes of g ranks, n = N g, messages of D / n^2, W of NVLink and B of a NIC: 2 steps, T = the
slower of (g - 1) (N - 1) D / (n^2 W) and (N - 1) D / (n^2 B), and the slower of (g - 1) D / (n^2 W) and (g
- 1) (N - 1) D / (n^2 B), with a latency each.

Unequal messages (all_to_all_v) go the same way, in pieces that follow each other (see `_rails`). That keeps
every NIC on its rail, and yet one of a rank for which there is much has more to do than its neighbours. With
``rails=all`` what a node has for another is spread over all NICs of both, and goes over NVLink at both ends.
"""

import functools

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import Collective, EveryPair
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Orbit, Schedule, Sends, join, one_group, sends
from hopcast.ir.topology import Ints

from . import _rails, _turned, option

SOURCE = (
    "NVIDIA 2022, Doubling all2all performance with NCCL 2.12 (PXN); "
    "Gordic 2026, Inside TPU and GPU clusters, part 7"
)
OPTIONS: dict[str, tuple[str, ...]] = {"rails": ("goal", "all"), "pieces": ()}
BY_PLACE: tuple[str, ...] = ()
_MOST_UNASKED, _MOST_SPREAD = 32_768, 100_000  # messages of unequal size, by one rail and by all
EVERY_PAIR = True  # a send for every pair of ranks
Ranks = npt.NDArray[np.int64]
LEVELS = True  # its closed form is made of those of the levels


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Inside the nodes to the rail, then along it.

    Chunk ((a g + i) g + j) N + (b - a) mod N goes from rank i of node a to rank j of node b, so that what is
    passed on together stands together, and what stays in the node before it.
    """
    nodes, g = (level.ranks for level in group.levels)
    n = nodes * g
    src, to = (x.ravel() for x in np.indices((n, g), np.int32))
    src, to = (x[src % g != to] for x in (src, to))
    beside, first = src // g * g + to, (src * g + to) * nodes

    def inside() -> Sends:
        return sends(src, beside, first + 1, nodes - 1, lane=1) if nodes > 1 else join([])

    def stays() -> Sends:
        return sends(src, beside, first, lane=1)

    def along(holder: Ints, of: Ints) -> Sends:
        """What rank ``of`` of a node has for the rail of ``holder``, to all other nodes."""
        at, far = holder[:, None], np.arange(1, nodes, dtype=np.int32)
        dst = (at // g + far) % nodes * g + at % g
        chunk = ((at // g * g + of[:, None]) * g + at % g) * nodes + far
        return sends(np.repeat(holder, nodes - 1), dst.ravel(), chunk.ravel())

    def make(step: int) -> Sends:
        rank = np.arange(n, dtype=np.int32)
        if not step:
            return join([inside(), along(rank, rank % g)])
        return join([along(beside, src % g), stays()])

    @functools.cache
    def orbit() -> Orbit:
        return _orbit(nodes, g, _turned.shape(group))

    whole, many = _by_rail(nodes, g), 2 if g > 1 else 1
    return Schedule(whole, "pxn", one_group(n), n, many, make, None, 2, orbit=orbit)


def all_to_all_v(group: Group, hint: Hint) -> Schedule:
    """Inside the nodes to the rail of the goal or, with ``rails=all``, to all; along it, and to the goal."""
    asked = int(hint.options.get("pieces", 0)) or None
    return _rails.all_to_all_v(group, hint, option(OPTIONS, hint, "rails"), asked)


def _orbit(nodes: int, g: int, digits: tuple[int, ...]) -> Orbit:
    """What rank 0 does: both steps over its NIC, and inside its node messages for others and its own."""
    other, far = np.arange(1, g), np.arange(1, nodes)
    rail, of = (x.ravel() for x in np.meshgrid(far * g, other, indexing="ij"))
    parts: list[tuple[object, ...]] = [
        (0, other, 0, g + other, nodes - 1, 1) if nodes > 1 else (0, other[:0], 0, 0, 1, 1),
        (0, far * g, 0, far * g, 1, 0),
        (1, rail, of, rail, 1, 0),
        (1, other, 0, other, 1, 1),
    ]

    def chunk(origin: Ranks, goal: Ranks) -> Ranks:
        return (origin * g + goal % g) * nodes + (goal // g - origin // g) % nodes

    return _turned.orbit(_turned.join(parts), chunk, digits)


class _ByRail(EveryPair):
    """Chunks in order of source, the rail of their goal, and how many nodes ahead that is."""

    nodes: int = 1

    @functools.cached_property
    def origin(self) -> Ints:
        """Each rank n times."""
        return np.repeat(np.arange(self.ranks, dtype=np.int32), self.ranks)

    @functools.cached_property
    def goal(self) -> Ints:
        """Rail by rail the nodes ahead."""
        g = self.ranks // self.nodes
        node, j, ahead = np.indices((self.nodes, g, self.nodes), np.int32)
        return np.repeat(((node + ahead) % self.nodes * g + j).reshape(self.nodes, -1), g, 0).ravel()


def _by_rail(nodes: int, g: int) -> Collective:
    made = _ByRail("all_to_all", nodes * g)
    object.__setattr__(made, "nodes", nodes)
    return made


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs nodes of ranks that meet in a switch, joined by a network."""
    if len(group.levels) != 2:
        return "it goes over NVLink to the rail and along it; it needs nodes joined by a network"
    outer, inner = group.levels
    if not inner.switched or not outer.switched:
        return "it needs a switch in each node and rails between them; use hierarchical"
    if hint.options and collective == "all_to_all":
        given = ", ".join(f"{key}=" for key in hint.options)
        return f"{given} is of all_to_all_v; with equal messages all rails carry the same"
    return None


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """Of very many messages: simulating them may take seconds."""
    if collective == "all_to_all":
        return None
    return _rails.unasked(group, hint, _MOST_SPREAD if hint.options.get("rails") == "all" else _MOST_UNASKED)


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On levels that are exact, where nothing waits for NVLink: at zero latency, or if it is faster."""
    outer, inner = group.levels
    if collective == "all_to_all_v" or not (outer.uniform and inner.uniform):
        return False
    if not any(v.latency[0] for v in group.levels) or min(outer.ranks, inner.ranks) == 1:
        return True
    return outer.latency[0] >= inner.latency[0] and all(nic >= nvlink for nvlink, nic in _parts(group, hint))


def _parts(group: Group, hint: Hint) -> list[tuple[float, float]]:
    """Seconds of bytes of the two steps: inside, and over the NIC."""
    outer, inner = group.levels
    message = hint.size / group.ranks**2
    nvlink, nic = (message / v.bandwidth[0] for v in (inner, outer))
    away, beside = outer.ranks - 1, inner.ranks - 1
    return [(beside * away * nvlink, away * nic), (beside * nvlink, beside * away * nic)]


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """As in the docstring of the file."""
    outer, inner = group.levels
    if collective == "all_to_all_v" or not (outer.uniform_rates and inner.uniform_rates):
        return None
    between, inside = ((v.latency[0] if v.ranks > 1 else 0.0) for v in group.levels)
    first = max(between, inside) if outer.ranks > 1 else 0.0
    second = max(between, inside) if inner.ranks > 1 else 0.0
    return Cost(first + second, sum(max(both) for both in _parts(group, hint)))
