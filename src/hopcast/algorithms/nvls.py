"""The switch of a node reduces and multicasts: NVLink SHARP, as GPUs use it by loads and stores.

A rank that owns a shard loads the sum of all copies, its own among them, through the switch, and stores to
all copies, its own among them, through the switch. So in all_reduce every rank sends its copies of all
shards, and its sum of one shard, and receives the sum of one shard, and all sums: D (1 + 1 / n) each way,
where a ring moves 2 D (n - 1) / n. all_gather is the second half and reduce_scatter the first, D each way.
It is right because the switch adds each rank's copy once.

all_reduce runs in m pieces. In even steps ranks load the sums of one piece while they store those of the
piece before; in odd steps the copies of the next piece go up while the sums of an earlier one come down.
all_gather and reduce_scatter need little time to go up (to come down): pieces grow n-fold (shrink n-fold)
so that both ways are always equally busy, and few pieces are enough.

Cost: with alpha for a crossing, all_reduce T = (2 m + 1) alpha / 2 + (1 + 1 / n + (2 - 1 / n) / m) D / W
for m > 1 pieces; all_gather and reduce_scatter T = (m + 1) alpha / 2 + (1 + s / n) D / W, where s = (n - 1)
/ (n^m - 1) is the part of D of the smallest piece.
"""

from collections.abc import Hashable

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import COPY, REDUCE, Schedule, Sends, join, one_group, sends
from hopcast.ir.topology import Floats

from . import _chunks, option

SOURCE = (
    "Gordic 2026, Inside TPU and GPU clusters, part 6 (load-reduce of all copies, multicast to all of them); "
    "NVIDIA PTX ISA, multimem.ld_reduce and multimem.st; Klenk et al. 2020, doi:10.1109/ISCA45697.2020.00085"
)
SPARE = "a switch keeps its sums here, so that the way over their owner is of the machine, not of the sum"
OPTIONS: dict[str, tuple[str, ...]] = {"chunks": ()}
BY_PLACE: tuple[str, ...] = ()
_ENOUGH = 1e-9  # of D: a piece that is not worth cutting


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Load the sums, store them."""
    n, m = group.ranks, _pieces(group, hint)
    rank, hub = np.arange(n), group.ranks
    first = _starts(m)
    due: dict[int, list[tuple[int, int]]] = {}
    for kind, steps in enumerate(first.tolist()):
        for piece, step in enumerate(steps):
            due.setdefault(step, []).append((kind, piece))

    def rows(kind: int, k: int) -> Sends:
        if kind == 0:
            return sends(rank, hub, k * n, n, REDUCE)
        if kind == 1:
            return sends(hub, rank, k * n + rank)
        return sends(rank, hub, k * n + rank) if kind == 2 else sends(hub, rank, k * n, n)

    def make(i: int) -> Sends:
        return join([rows(*which) for which in due[i]])

    def pattern(i: int) -> Hashable:
        return tuple(kind for kind, _ in due[i])

    whole = of("all_reduce", n, parts=n * m)
    return Schedule(whole, "nvls", one_group(n), n + 1, len(due), make, None, 1, pattern)


def _starts(m: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Steps in which a piece goes up, comes to its owners, goes back, comes to all: ``int64[4, m]``."""
    k = np.arange(m)
    if m == 1:
        return np.arange(4)[:, None]
    up, load = np.where(k < 2, k, 2 * k - 1), np.where(k < 1, 1, 2 * k)
    back, down = 2 * k + 2, 2 * k + 3
    back[-1], down[-1] = 2 * m - 1, 2 * m
    return np.stack([up, load, back, down])


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Each rank stores its shard to all through the switch, piece after piece."""
    n, share = group.ranks, _growing(group, hint)
    m, rank, hub = len(share), np.arange(group.ranks), group.ranks

    def make(i: int) -> Sends:
        up = [sends(rank, hub, i * n + rank)] if i < m else []
        return join(up + ([sends(hub, rank, (i - 1) * n, n)] if i else []))

    whole = of("all_gather", n, owner=np.tile(rank, m))
    return Schedule(whole, "nvls", one_group(n), n + 1, m + 1, make, np.repeat(share / n, n))


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """Each rank loads the sum of its shard through the switch, piece after piece."""
    n, share = group.ranks, _growing(group, hint)[::-1]
    m, rank, hub = len(share), np.arange(group.ranks), group.ranks

    def make(i: int) -> Sends:
        up = [sends(rank, hub, i * n, n, REDUCE)] if i < m else []
        return join(up + ([sends(hub, rank, (i - 1) * n + rank, op=COPY)] if i else []))

    whole = of("reduce_scatter", n, owner=np.tile(rank, m))
    return Schedule(whole, "nvls", one_group(n), n + 1, m + 1, make, np.repeat(share / n, n))


def _pieces(group: Group, hint: Hint) -> int:
    """Of all_reduce: asked for, or those of least time; a chunk has at least one byte."""
    asked = option(OPTIONS, hint, "chunks")
    if asked:
        return int(asked)
    n, most = group.ranks, max(1, min(_chunks.MOST, int(hint.size) // group.ranks))
    filling = (2 - 1 / n) / (1 + 1 / n)
    found = _chunks.best(filling, group.latency[0], (1 + 1 / n) * hint.size / group.bandwidth[0], most)
    return min((1, found), key=lambda m: _all_reduce_cost(group, hint.size, m).total())


def _growing(group: Group, hint: Hint) -> Floats:
    """Parts of D of the pieces of all_gather: ``float64[m]``, each n times the one before."""
    asked = option(OPTIONS, hint, "chunks")
    if asked:
        return _powers(group.ranks, int(asked))
    best, m = _powers(group.ranks, 1), 1
    while best[0] > _ENOUGH:
        m += 1
        more = _powers(group.ranks, m)
        saved = (best[0] - more[0]) * hint.size / (group.ranks * group.bandwidth[0])
        if saved <= group.latency[0] / 2 or more[0] * hint.size < group.ranks:
            break
        best = more
    return best


def _powers(n: int, m: int) -> Floats:
    # From the largest down, which does not overflow however many are asked for.
    down = float(n) ** -np.arange(m)
    return np.asarray((down / down.sum())[::-1])


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs one switch that reduces and multicasts, for each group one of its own."""
    if group.levels:
        return "its ranks are on several switches; use sharp or hierarchical"
    if not group.switched:
        return "its ranks are not on a switch; use ring or multi_axis"
    if group.hubs.shape[1] != 1 or not group.uniform_rates:
        return "its ranks have no switch of their own; it needs one for each group"
    if not group.ability:
        return "its switch does not reduce (it has no NVLS or SHARP, or they are off)"
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch that serves one group: both ways of every port end each step together."""
    return group.uniform


def cost(collective: str, group: Group, hint: Hint) -> Cost:
    """As in the docstring of the file; one piece of all_reduce takes 2 alpha + 2 (1 + 1 / n) D / W."""
    if collective == "all_reduce":
        return _all_reduce_cost(group, hint.size, _pieces(group, hint))
    share = _growing(group, hint)
    whole = hint.size / group.bandwidth[0]
    return Cost((len(share) + 1) * group.latency[0] / 2, (1 + float(share[0]) / group.ranks) * whole)


def _all_reduce_cost(group: Group, size: float, m: int) -> Cost:
    n, whole = group.ranks, size / group.bandwidth[0]
    if m == 1:
        return Cost(2 * group.latency[0], 2 * (1 + 1 / n) * whole)
    return Cost((m + 0.5) * group.latency[0], (1 + 1 / n + (2 - 1 / n) / m) * whole)
