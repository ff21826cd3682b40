"""Switches of the network reduce and send the sum back: SHARP, alone or between nodes.

All ranks send the array to the switch above them, which adds; it passes the sum on to the switch above it,
until one has the sum of all; that sends it back down the same way. Every port carries D once each way,
however many ranks there are. Between nodes it is level by level: reduce_scatter inside, by `nvls` where the
node's switch reduces and else by `ring`; the sum of each rail in the network, on 1 / g of the array;
all_gather inside. It is right because every switch adds what comes from below once. The array goes in m
pieces, each a hop behind the one before.

Cost: on one switch T = (m + 1) (alpha / 2 + D / (m W)) for m pieces; between nodes near the slowest level,
D / (g W) of g NICs or (1 + 1 / g) D / W inside with nvls.
"""

import numpy as np

from hopcast.ir import algebra, hubs
from hopcast.ir.collective import Collective, of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import REDUCE, Schedule, Sends, one_group, sends
from hopcast.ir.topology import Ints

from . import _chunks, nvls, option, ring

SOURCE = (
    "Graham et al. 2016, Scalable Hierarchical Aggregation Protocol (SHARP), doi:10.1109/COMHPC.2016.006; "
    "Gordic 2026, Inside TPU and GPU clusters, part 6 and 7"
)
SPARE = nvls.SPARE  # inside nodes
OPTIONS: dict[str, tuple[str, ...]] = {"inside": ("auto", "nvls", "ring"), "chunks": ()}
BY_PLACE: tuple[str, ...] = ()
_MOST_SENDS = 400_000  # of a schedule that is to be simulated in seconds


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Up to one switch and back down, inside and between nodes."""
    phases = _between_nodes(group, hint) if group.levels else _hops(group)
    return algebra.pipeline(phases, _pieces(group, hint, phases))


def _hops(group: Group) -> list[Schedule]:
    """Every tier of switches up, and down again: one schedule each, of the array in one chunk."""
    n, above = group.ranks, group.above
    tiers: list[list[int]] = []
    waiting = {int(h) for h in above if h >= 0}
    done = set(range(n))
    while waiting:
        # A switch sends on when all that is below it has been added.
        ready = [i for i in sorted(done) if above[i] >= 0 and _full(above, int(above[i]), done)]
        tiers.append(ready)
        done = (done - set(ready)) | {int(above[i]) for i in ready}
        waiting -= done
    whole = of("all_reduce", n)
    up = [_hop(whole, n, i, above[i], REDUCE) for i in map(np.array, tiers)]
    down = [_hop(whole, n, above[i], i, 0) for i in map(np.array, reversed(tiers))]
    return [*up, *down]


def _full(above: Ints, hub: int, done: set[int]) -> bool:
    return all(int(i) in done for i in np.flatnonzero(above == hub))


def _hop(whole: Collective, n: int, src: Ints, dst: Ints, op: int) -> Schedule:
    def make(i: int) -> Sends:
        return sends(src, dst, 0, op=op)

    top = int(max(src.max(), dst.max())) + 1
    return Schedule(whole, "sharp", one_group(n), max(n, top), 1, make, None, 1, lambda i: "hop")


def _between_nodes(group: Group, hint: Hint) -> list[Schedule]:
    """reduce_scatter inside, the tiers of the network, all_gather inside; a chunk for each rank of a node."""
    outer, inner = group.levels
    g, m = inner.ranks, outer.ranks
    whole = of("all_reduce", g * m, parts=g)
    rails, nodes = (hubs.lines(group, level) for level in (0, 1))
    base = np.arange(g, dtype=np.int32)
    between = [algebra.over(hop, rails, base, 1, whole) for hop in _hops(outer)]
    before, after = _inside(inner, hint)
    start = np.zeros(m, np.int32)
    return [
        *(algebra.over(p, nodes, start, 1, whole) for p in before),
        *between,
        *(algebra.over(p, nodes, start, 1, whole) for p in after),
    ]


def _inside(inner: Group, hint: Hint) -> tuple[list[Schedule], list[Schedule]]:
    """reduce_scatter and all_gather of a node, step by step where each step is a phase of its own."""
    if inner.ranks == 1:
        return [], []
    if not _by_nvls(inner, hint):
        gathered = ring.all_gather(inner, Hint())
        return [algebra.reverse(gathered)], [gathered]
    one = Hint(options={"chunks": "1"})
    return _split(nvls.reduce_scatter(inner, one)), _split(nvls.all_gather(inner, one))


def _split(made: Schedule) -> list[Schedule]:
    """Each step a schedule, so that the pieces of a pipeline are one step apart."""

    def step(i: int) -> Schedule:
        return Schedule(
            made.collective, made.algorithm, made.groups, made.vertices, 1, lambda _: made.make(i), None, 1,
            lambda _: ("step", i),
        )  # fmt: skip

    return [step(i) for i in range(made.step_count)]


def _by_nvls(inner: Group, hint: Hint) -> bool:
    said = option(OPTIONS, hint, "inside")
    return said == "nvls" or (said == "auto" and nvls.valid("all_gather", inner, hint) is None)


def _pieces(group: Group, hint: Hint, phases: list[Schedule]) -> int:
    """Asked for, or the number of least time; a chunk has at least one byte."""
    asked = option(OPTIONS, hint, "chunks")
    if asked:
        return int(asked)
    sent = sum(len(p.make(0)) * p.step_count for p in phases) * len(group.all_groups)
    most = max(1, min(_chunks.MOST, int(hint.size) // phases[0].chunks, _MOST_SENDS // sent))
    levels = group.levels or (group,)
    rates = [v.bandwidth[0] for v in levels]
    if not all(rates):
        return min(most, _chunks.BLIND)
    steps = sum(p.step_count for p in phases)
    nodes = levels[-1].ranks if group.levels else 1
    whole = max(hint.size / (nodes * rates[0]), hint.size / rates[-1])
    alpha = max(v.latency[0] for v in levels) / 2
    return _chunks.best(steps - 1, alpha, whole, min(most, _chunks.FREE) if group.levels else most)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs a network whose switches reduce, and inside nodes a switch or a ring."""
    if group.levels:
        return _levels_fit(group, hint)
    if "inside" in hint.options:
        return "its ranks are on one network; inside= is of nodes"
    return _trunk_fits(group) or _shared(group)


def _trunk_fits(group: Group) -> str | None:
    if not group.switched:
        return "its ranks are not on switches; use ring or multi_axis"
    if group.ability != "sharp":
        have = "its switch reduces by loads and stores of the ranks; use nvls" if group.ability else ""
        return have or "its switches do not reduce: SHARP is not there, or off; try CLUSTER,sharp=on"
    if not group.hubs.shape[1]:
        return "its ranks do not meet in one switch"
    return None


def _shared(group: Group) -> str | None:
    """Rails of one group may share a switch, for their chunks differ; groups may not."""
    return None if group.own_hubs else "its groups share switches; here a switch holds the sums of one group"


def _levels_fit(group: Group, hint: Hint) -> str | None:
    if len(group.levels) != 2:
        return f"it knows nodes and a network, and the group has {len(group.levels)} levels"
    outer, inner = group.levels
    reason = _trunk_fits(outer) if outer.ranks > 1 else "there is one node; use nvls"
    reason = reason or _shared(group)
    if reason is None and inner.ranks > 1:
        if option(OPTIONS, hint, "inside") == "nvls":
            reason = nvls.valid("all_gather", inner, hint)
        elif not _by_nvls(inner, hint):
            reason = ring.valid("all_gather", inner, hint)
    return reason


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On one switch that serves one group."""
    return group.uniform and len(group.above) == group.ranks + 1


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """(m + 1) (alpha / 2 + D / (m W)) on one switch; only flows tell the time of more tiers."""
    if group.levels or len(group.above) != group.ranks + 1:
        return None
    m = _pieces(group, hint, _hops(group))
    return Cost((m + 1) * group.latency[0] / 2, (m + 1) / m * hint.size / group.bandwidth[0])
