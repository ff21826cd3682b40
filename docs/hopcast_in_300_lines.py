"""The whole idea of hopcast in one file: numpy, nothing else, and no line of the package.

A **schedule** says who sends which chunk to whom in which step. All else is a reading of it: `check` runs it
on random numbers, `by_steps` and `by_flows` put it on links and a clock, `bound` says what no schedule can
beat. Run it: it prints a table that a test compares with the package, number by number.

Left out here, and in the package: switches, several groups at once, unequal chunks, chunks in runs, schedules
too large for memory, all other algorithms, anything fast.
"""

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

COPY, REDUCE = 0, 1
ALL = -1  # in a collective: every rank
Ints: TypeAlias = NDArray[np.int64]
Link: TypeAlias = tuple[int, int]


# A collective is data: where chunks are, and go.
@dataclass(frozen=True)
class Collective:
    """Chunk c is at rank origin[c] before and at goal[c] after; ALL at the origin: a sum of all ranks'."""

    name: str
    ranks: int
    origin: Ints
    goal: Ints


def collective(name: str, n: int) -> Collective:
    """One chunk for each rank; all_to_all has one for each pair."""
    shard, everyone = np.arange(n), np.full(n, ALL)
    src, dst = np.divmod(np.arange(n * n), n)
    origin, goal = {
        "all_gather": (shard, everyone),
        "reduce_scatter": (everyone, shard),
        "all_reduce": (everyone, everyone),
        "all_to_all": (src, dst),
    }[name]
    return Collective(name, n, origin, goal)


# A schedule is data: rows of src, dst, chunk, op, lane.
@dataclass(frozen=True)
class Schedule:
    """Steps of sends, which all read what was there before the step. A lane is a pipeline of its own."""

    task: Collective
    steps: list[Ints]  # each int[m, 5]


def sends(src: Any, dst: Any, chunk: Any, op: Any = COPY, lane: Any = 0) -> Ints:
    """Rows of one step."""
    return np.stack(np.broadcast_arrays(src, dst, chunk, op, lane), axis=1)


def ring(n: int) -> Schedule:
    """all_gather one way round: in step s rank r passes on chunk r - s."""
    r = np.arange(n)
    return Schedule(collective("all_gather", n), [sends(r, (r + 1) % n, (r - s) % n) for s in range(n - 1)])


def bidirectional_ring(n: int) -> Schedule:
    """all_gather both ways round; on an even ring the last shard comes from one side only."""
    r, steps = np.arange(n), []
    for s in range(n // 2):
        up, down = sends(r, (r + 1) % n, (r - s) % n), sends(r, (r - 1) % n, (r + s) % n, lane=1)
        steps.append(up if 2 * (s + 1) == n else np.concatenate([up, down]))
    return Schedule(collective("all_gather", n), steps)


def chain(n: int) -> Schedule:
    """all_gather on an open line: shards run to both ends, as far as there are neighbours."""
    r, steps = np.arange(n), []
    for s in range(n - 1):
        up, down = r[(r >= s) & (r < n - 1)], r[(r + s < n) & (r > 0)]
        steps.append(np.concatenate([sends(up, up + 1, up - s), sends(down, down - 1, down + s, lane=1)]))
    return Schedule(collective("all_gather", n), steps)


def direct(n: int) -> Schedule:
    """all_to_all in one step: every rank sends to every other, and the network finds the way."""
    src, dst = np.divmod(np.arange(n * n), n)
    other = src != dst
    return Schedule(collective("all_to_all", n), [sends(src[other], dst[other], (src * n + dst)[other])])


def reverse(s: Schedule) -> Schedule:
    """Backwards, and every send the other way: all_gather becomes reduce_scatter, copies become sums."""
    steps = [sends(a[:, 1], a[:, 0], a[:, 2], REDUCE, a[:, 4]) for a in reversed(s.steps)]
    return Schedule(collective("reduce_scatter", s.task.ranks), steps)


def all_reduce(gather: Schedule) -> Schedule:
    """First the sums, each at one rank, then the gathering of them."""
    return Schedule(collective("all_reduce", gather.task.ranks), reverse(gather).steps + gather.steps)


# Reading 1: does it compute what it claims?
def check(s: Schedule, seed: int = 0) -> str:
    """Empty, or what is wrong. Data are random 64-bit tokens, so a lost or doubled part shows in the sum."""
    n, origin, goal = s.task.ranks, s.task.origin, s.task.goal
    chunks = np.arange(len(origin))
    token = np.random.default_rng(seed).integers(1, 2**64, (n, len(chunks)), np.uint64)
    mine = (origin == ALL) | (origin == np.arange(n)[:, None])
    held = np.where(mine, token, np.uint64(0))
    want = np.where(origin == ALL, held.sum(0), held[origin, chunks])
    for step, rows in enumerate(s.steps):
        src, dst, chunk, op, _ = rows.T
        moved = held[src, chunk]  # everything is read before anything is written
        if (moved == 0).any():
            i = int(np.argmax(moved == 0))
            return f"step {step}: rank {src[i]} sends chunk {chunk[i]} before it holds it"
        add = op == REDUCE
        held[dst[~add], chunk[~add]] = moved[~add]
        np.add.at(held, (dst[add], chunk[add]), moved[add])
    needed = (goal == ALL) | (goal == np.arange(n)[:, None])
    wrong = np.argwhere(needed & (held != want))
    return f"at the end rank {wrong[0][0]} holds a wrong chunk {wrong[0][1]}" if len(wrong) else ""


# A network is data: links, one way each.
@dataclass(frozen=True)
class Grid:
    """Chips on axes that wrap or not, a link each way to each neighbour. Ranks: the last axis is fastest."""

    shape: tuple[int, ...]
    wraps: tuple[bool, ...]
    bandwidth: float  # of a link, one way
    latency: float  # of a link

    @property
    def chips(self) -> int:
        """How many."""
        return int(np.prod(self.shape))

    def links(self) -> list[Link]:
        """All of them: from, to."""
        found = set()
        for chip, axis, way in itertools.product(range(self.chips), range(len(self.shape)), (1, -1)):
            at = [int(i) for i in np.unravel_index(chip, self.shape)]
            at[axis] += way
            if self.wraps[axis] or 0 <= at[axis] < self.shape[axis]:
                at[axis] %= self.shape[axis]
                found.add((chip, int(np.ravel_multi_index(at, self.shape))))
        return sorted(found)

    def routes(self, src: int, dst: int) -> list[tuple[float, list[Link]]]:
        """Axis after axis the shorter way; half of the bytes each way where both are equal. (part, links)"""
        start, ways = [int(i) for i in np.unravel_index(src, self.shape)], []
        end = [int(i) for i in np.unravel_index(dst, self.shape)]
        for i, j, k, wraps in zip(start, end, self.shape, self.wraps, strict=True):
            near = (j - i + k // 2) % k - k // 2 if wraps else j - i
            ways.append([near, -near] if wraps and 2 * abs(near) == k else [near])
        pieces, found = list(itertools.product(*ways)), []
        for piece in pieces:
            at, path = list(start), [src]
            for axis, hops in enumerate(piece):
                for _ in range(abs(hops)):
                    at[axis] = (at[axis] + (1 if hops > 0 else -1)) % self.shape[axis]
                    path.append(int(np.ravel_multi_index(at, self.shape)))
            found.append((1 / len(pieces), list(itertools.pairwise(path))))
        return found


# Reading 2: how long, if all wait for all after each step.
def by_steps(s: Schedule, net: Grid, size: float) -> float:
    """Each step takes its longest route's latency, then what its busiest link takes for its bytes."""
    piece, total = size / len(s.task.origin), 0.0
    for rows in s.steps:
        load, hops = defaultdict[Link, float](float), 0
        for src, dst, *_ in rows.tolist():
            for part, links in net.routes(src, dst):
                hops = max(hops, len(links))
                for link in links:
                    load[link] += part * piece
        total += hops * net.latency + max(load.values(), default=0.0) / net.bandwidth
    return total


# Reading 3: how long, if every send starts when its own data are there.
def waits(s: Schedule) -> tuple[list[Link], list[set[int]]]:
    """The ends of all sends in a list, and for each those that must have arrived before it may start."""
    ends: list[Link] = []
    before: list[set[int]] = []
    wrote: dict[Link, list[int]] = defaultdict(list)  # (rank, chunk) -> sends of earlier steps
    read: dict[Link, list[int]] = defaultdict(list)
    last_turn: dict[Link, list[int]] = {}  # (rank, lane) -> its sends of the last step in which it had any
    for step in s.steps:
        now, first = defaultdict(list), len(ends)
        for i, (src, dst, chunk, _, lane) in enumerate(step.tolist(), first):
            ends.append((src, dst))
            before.append({*wrote[src, chunk], *read[dst, chunk], *last_turn.get((src, lane), ())})
            now[src, lane].append(i)
        for i, (src, dst, chunk, *_) in enumerate(step.tolist(), first):
            wrote[dst, chunk].append(i)
            read[src, chunk].append(i)
        last_turn.update(now)
    return ends, before


def fair_rates(paths: list[list[Link]], bandwidth: float) -> NDArray[np.float64]:
    """Max-min fair: give every flow as much as its fullest link allows, fix those, share out the rest."""
    rate, open_flows = np.zeros(len(paths)), set(range(len(paths)))
    room: dict[Link, float] = defaultdict(lambda: bandwidth)
    while open_flows:
        users: dict[Link, set[int]] = defaultdict(set)
        for f in open_flows:
            for link in paths[f]:
                users[link].add(f)
        level = min(room[link] / len(who) for link, who in users.items())
        full = {f for link, who in users.items() if room[link] / len(who) <= level * (1 + 1e-12) for f in who}
        for f in full:
            rate[f] = level
            for link in paths[f]:
                room[link] -= level
        open_flows -= full
    return rate


def by_flows(s: Schedule, net: Grid, size: float) -> float:
    """Event after event: the next to begin, or the next to have sent its last byte."""
    ends, before = waits(s)
    piece = size / len(s.task.origin)
    flows = [(i, part * piece, links) for i, (a, b) in enumerate(ends) for part, links in net.routes(a, b)]
    mine = [[f for f, (i, *_) in enumerate(flows) if i == j] for j in range(len(ends))]
    after = [[i for i, needed in enumerate(before) if j in needed] for j in range(len(ends))]
    pieces, missing = [len(m) for m in mine], [len(needed) for needed in before]
    ready, opens = [i for i, m in enumerate(missing) if m == 0], dict[int, float]()  # when a latency is over
    now, rest = 0.0, dict[int, float]()  # bytes still to come, of each active flow
    while True:
        for i in ready:
            opens |= {f: now + len(flows[f][2]) * net.latency for f in mine[i]}
        for f in [f for f, t in opens.items() if t <= now * (1 + 1e-12)]:
            rest[f] = flows[f][1]
            del opens[f]
        if not rest and not opens:
            return now
        rate = dict(zip(rest, fair_rates([flows[f][2] for f in rest], net.bandwidth), strict=True))
        over = {f: now + left / rate[f] for f, left in rest.items()}
        then = min([*over.values(), *opens.values()])
        done = [f for f, t in over.items() if t <= then * (1 + 1e-12)]
        rest = {f: left - rate[f] * (then - now) for f, left in rest.items() if f not in done}
        now, ready = then, []
        for f in done:
            pieces[flows[f][0]] -= 1
            for i in after[flows[f][0]] if pieces[flows[f][0]] == 0 else ():
                missing[i] -= 1
                ready += [i] if missing[i] == 0 else []


# What no schedule can beat on these links.
def bound(task: Collective, net: Grid, size: float) -> float:
    """The most that must enter some set of chips, over what its links carry; and the longest way."""
    links, chips = net.links(), np.arange(net.chips)
    at = np.stack(np.unravel_index(chips, net.shape))
    sets = [chips == c for c in chips]
    sets += [at[axis] < k for axis, length in enumerate(net.shape) for k in range(1, length)]
    least = [0.0]
    for inside in [*sets, *(~s for s in sets)]:
        comes = (task.origin == ALL) | ~inside[task.origin]
        needed = (task.goal == ALL) | inside[task.goal]
        enter = sum(not inside[a] and inside[b] for a, b in links) * net.bandwidth
        least.append(float((comes & needed).mean()) * size / enter)
    if task.name == "all_reduce":  # its n parts exchange 2 (n - 1) arrays at least, over all links together
        least.append(2 * (task.ranks - 1) * size / (len(links) * net.bandwidth))
    far = max(len(net.routes(a, b)[0][1]) for a in range(net.chips) for b in range(net.chips))
    return max(*least, far * net.latency)


if __name__ == "__main__":
    W, ALPHA, SIZE = 45e9, 1e-6, 2**23
    closed, line = Grid((8,), (True,), W, ALPHA), Grid((4,), (False,), W, ALPHA)
    mesh, both = Grid((4, 4), (False, False), W, ALPHA), bidirectional_ring(8)
    table = [
        ("ring:8", "ring", closed, ring(8)),
        ("ring:8", "bidirectional_ring", closed, both),
        ("ring:8", "bidirectional_ring", closed, reverse(both)),
        ("ring:8", "ring", closed, all_reduce(ring(8))),
        ("ring:8", "direct", closed, direct(8)),
        ("chain:4", "chain", line, chain(4)),
        ("mesh:4x4", "direct", mesh, direct(16)),
    ]
    print(
        f"{'collective':<15}{'cluster':<9}{'algorithm':<19}{'steps us':>13}{'flows us':>13}{'bound us':>13}"
    )
    for where, name, net, made in table:
        if wrong := check(made):
            raise SystemExit(f"{name}: {wrong}")
        times = (by_steps(made, net, SIZE), by_flows(made, net, SIZE), bound(made.task, net, SIZE))
        print(f"{made.task.name:<15}{where:<9}{name:<19}" + "".join(f"{1e6 * t:>13.6f}" for t in times))
    lost = Schedule(both.task, [both.steps[0][1:], *both.steps[1:]])
    print(f"without its first send: {check(lost)}")
