"""Everything in one step: every rank sends each other rank what is meant for it, on the network's own routes.

In all_gather rank r sends chunk r to all, in all_to_all (and with unequal messages in all_to_all_v) chunk (r,
q) to rank q, in permute its chunk to r +
shift; the root of a broadcast sends the array to all and that of a gather receives from all. Nothing is
passed on, so it is right as soon as every pair is served; the network decides which links that takes.

Cost: 1 step. On a switch T = alpha + V / W, where V is what the busiest port carries: D (n - 1) / n in
all_gather and gather, D (n - 1) / n^2 in all_to_all, D (n - 1) in broadcast, D / n in permute. On a grid
all_to_all takes the latency of the diameter and (D / N) max over axes of load / W with the load of an axis of
n: n / 8 wrapped, n / 4 open.
"""

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hopcast.ir import traffic
from hopcast.ir.collective import Collective, of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.likewise import singly
from hopcast.ir.schedule import Orbit, Schedule, Sends, one_group, sends

from . import _turned
from ._axis_load import axis_hops, axis_load
from ._rounds import on_switch
from .ring import long_axis

EVERY_PAIR = True  # its one step has a send for every pair of ranks
SOURCE = (
    "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521 (all sends posted at once); "
    "Dally and Towles 2004, section 3.3 (load of all_to_all on grids)"
)
Ranks = npt.NDArray[np.int64]


def all_gather(group: Group, hint: Hint) -> Schedule:
    """Every rank sends its shard to all others."""
    n = group.ranks

    @functools.cache
    def orbit() -> Orbit:
        passed = _turned.join([(0, np.arange(1, n), 0, 0, 1, 0)])
        return _turned.orbit(passed, lambda origin, goal: origin, _turned.shape(group))

    return _to_all(of("all_gather", n), 1, orbit)


def all_to_all(group: Group, hint: Hint) -> Schedule:
    """Every rank sends each other rank its message."""
    n = group.ranks

    def orbit() -> Orbit:
        """Any ranks may change places."""
        others = np.arange(1, n)
        out, into = sends(0, others, others), sends(others, 0, others * n)
        return Orbit(0 * others, out, into, np.zeros((0, n), np.int32))

    return _to_all(of("all_to_all", n), n, orbit)


def all_to_all_v(group: Group, hint: Hint) -> Schedule:
    """Every rank sends each other rank its message, if it has one for it."""
    task, share = traffic.sparse(hint, group.ranks)
    chunk = np.flatnonzero(task.origin != task.goal)
    src, dst = (c[chunk].astype(np.int64) for c in (task.origin, task.goal))
    made = _one_step(task, src, dst, chunk)
    return replace(made, share=share)


def gather(group: Group, hint: Hint) -> Schedule:
    """Every rank sends its shard to the root."""
    others = np.delete(np.arange(group.ranks), hint.root)
    return _one_step(
        of("gather", group.ranks, root=hint.root), others, np.full_like(others, hint.root), others
    )


def broadcast(group: Group, hint: Hint) -> Schedule:
    """The root sends the array to every rank."""
    others = np.delete(np.arange(group.ranks), hint.root)
    whole = of("broadcast", group.ranks, root=hint.root)
    return _one_step(whole, np.full_like(others, hint.root), others, np.zeros_like(others))


def permute(group: Group, hint: Hint) -> Schedule:
    """Every rank sends its shard to rank + shift."""
    n, rank = group.ranks, np.arange(group.ranks)
    src = rank if hint.shift % n else rank[:0]
    return _one_step(of("permute", n, shift=hint.shift), src, (src + hint.shift) % n, src)


def _to_all(collective: Collective, each: int, orbit: Callable[[], Orbit]) -> Schedule:
    """One step in which every rank sends to all others, of its one chunk or of one for each."""
    n, others = collective.ranks, np.arange(1, collective.ranks)
    pairs = each > 1
    make = singly(n, each, 0 * others, others, 0, others * pairs, by_goal=pairs, by_sender=True)
    return Schedule(collective, "direct", one_group(n), n, 1, make, orbit=orbit)


def _one_step(collective: Collective, src: Ranks, dst: Ranks, chunk: Ranks) -> Schedule:
    n = collective.ranks

    def make(i: int) -> Sends:
        return sends(src, dst, chunk)

    return Schedule(collective, "direct", one_group(n), n, int(len(src) > 0), make)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It fits everywhere: the network routes each pair."""
    return None


def exact(collective: str, group: Group, hint: Hint, asked: str) -> bool:
    """On a switch; on a grid at zero latency, and a shift round a ring at any.

    Flows of one size that start together end when the busiest link has carried its load. Messages half way
    round an even axis are cut in two; beside an open axis nearly as busy these halves may hold whole ones up
    (measured: 6 % on 2x4x4 with two wraps, 2 % on 3x6x6), so there nothing is promised.
    """
    if not group.uniform:
        return False
    if group.switched:
        return True
    if collective == "permute":
        k = hint.shift % group.ranks
        return group.axes[long_axis(group)].wraps or 2 * k in (0, group.ranks) or not any(group.latency)
    load = [(a, axis_load(a) / w) for a, w in zip(group.axes, group.bandwidth, strict=True)]
    most = max(x for _, x in load)
    halves = any(a.wraps and a.length % 2 == 0 and x == most for a, x in load)
    beside = any(not a.wraps and x >= most / 2 for a, x in load)
    return not any(group.latency) and not (halves and beside)


def cost(collective: str, group: Group, hint: Hint) -> Cost | None:
    """On a switch all; on a grid all_to_all, and permute along one axis."""
    n, moves = group.ranks, collective != "permute" or hint.shift % group.ranks > 0
    if collective == "all_to_all_v":
        return None  # unequal flows that share ports end one after the other
    if group.switched:
        volume = {
            "all_gather": (n - 1) / n, "gather": (n - 1) / n, "all_to_all": (n - 1) / n**2,
            "broadcast": n - 1, "permute": 1 / n,
        }[collective]  # fmt: skip
        return on_switch(group, int(moves), volume * hint.size * moves)
    if collective == "all_to_all":
        load = max(axis_load(a) / w for a, w in zip(group.axes, group.bandwidth, strict=True))
        alpha = sum(axis_hops(a) * t for a, t in zip(group.axes, group.latency, strict=True))
        return Cost(alpha, load * hint.size / n)
    if collective == "permute" and sum(a.length > 1 for a in group.axes) == 1:
        return _shift(group, hint)
    return None


def _shift(group: Group, hint: Hint) -> Cost:
    """A shift by k along one axis: k hops, or n - k the other way; k = n / 2 round a ring goes half each way.

    On an open axis those that would run over the end go back n - k; min(k, n - k) of them share a link.
    """
    n, a = group.ranks, long_axis(group)
    k = hint.shift % n
    near, far = min(k, n - k), max(k, n - k) if k else 0
    hops, load = (near, near / 2 if 2 * k == n else near) if group.axes[a].wraps else (far, near)
    return Cost(hops * group.latency[a], load * hint.size / (n * group.bandwidth[a]))
