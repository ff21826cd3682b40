"""A schedule on a cluster as plain text that another simulator can run without knowing what a schedule is.

Written from the columns of the schedule and its routes alone: which send waits for which is worked out here
once more, cell by cell, so that equal times also say that the engine read the rules of flows as they are
written. The words of the file, numbers separated by blanks::

    links <count>      bandwidth of each, bytes/s
    routes <count>     latency in seconds, pieces; of each piece the number of its links, and the links
    blocks <count>
    block <times> <sends>      so many steps that are alike; then each send:
        route, bytes, sends it waits for, sends that wait for it; of each of those how many steps later, and
        which send of that step

The pieces of a route carry equal parts of the bytes at the same time.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends
from hopcast.names import InputError
from hopcast.routing import Routes, routes

MOST_CELLS = 1_000_000  # cells that sends read; above that, steps that repeat are written once
Arc = tuple[int, int]  # steps later, and the send of that step
Lines = list[str]


@dataclass(frozen=True)
class Block:
    """Steps that are alike.

    Attributes:
        times: How many.
        rows: Their sends.
        waits: For each send, how many others it waits for.
        opens: For each send, those that wait for it.
    """

    times: int
    rows: Sends
    waits: Sequence[int]
    opens: Sequence[Sequence[Arc]]


def text(schedule: Schedule, cluster: Cluster, size: float, rounds: bool | None = None) -> str:
    """The whole file.

    Args:
        schedule: Laid over the cluster's ranks.
        cluster: Gives links and routes.
        size: D of one group, bytes.
        rounds: Whether each rank goes from step to step; None: where the sends are too many to follow their
            cells. The same where a rank sends in every step what came in the step before, as in rings.

    Raises:
        InputError: for pieces that are not alike or, by rounds, a rank that rests.
    """
    if rounds is None:
        rounds = _cells(schedule) > MOST_CELLS
    blocks = list(_by_rounds(schedule) if rounds else _by_cells(schedule))
    pairs = sorted({p for b in blocks for p in zip(b.rows.src.tolist(), b.rows.dst.tolist(), strict=True)})
    number = {pair: i for i, pair in enumerate(pairs)}
    ends = np.array(pairs, np.int32).reshape(-1, 2)
    lines = [f"links {cluster.topology.links}", *map(repr, cluster.topology.bandwidth.tolist())]
    lines += _routes(routes(cluster, ends[:, 0], ends[:, 1]), len(pairs), cluster)
    lines.append(f"blocks {len(blocks)}")
    for block in blocks:
        volume = schedule.bytes(block.rows, size).tolist()
        lines.append(f"block {block.times} {len(block.rows)}")
        ends_of = zip(block.rows.src.tolist(), block.rows.dst.tolist(), strict=True)
        for pair, nbytes, waits, opens in zip(ends_of, volume, block.waits, block.opens, strict=True):
            arcs = "".join(f" {ahead} {row}" for ahead, row in opens)
            lines.append(f"{number[pair]} {nbytes!r} {waits} {len(opens)}{arcs}")
    return "\n".join([*lines, ""])


def _cells(schedule: Schedule) -> int:
    """Cells that all sends read, or more than ``MOST_CELLS``."""
    count = 0
    for rows in schedule.steps():
        count += int(rows.count.sum())
        if count > MOST_CELLS:
            break
    return count


def _routes(found: Routes, pairs: int, cluster: Cluster) -> Lines:
    first = np.searchsorted(found.pair, np.arange(pairs + 1)).tolist()
    wire, lines = cluster.topology.wire, [f"routes {pairs}"]
    for low, high in pairwise(first):
        if np.ptp(found.weight[low:high]) > 0 or np.ptp(found.latency[low:high]) > 0:
            raise InputError(
                f"{cluster.name}: the routes of a pair are not alike, and are exported as if equal"
            )
        line = f"{float(found.latency[low])!r} {high - low}"
        for piece in range(low, high):
            links = wire[found.links[found.start[piece] : found.start[piece + 1]]].tolist()
            line += " ".join(["", str(len(links)), *map(str, links)])
        lines.append(line)
    return lines


def _by_cells(schedule: Schedule) -> Iterator[Block]:
    """The rules of flows as they are written, a send at a time.

    A send waits for all of earlier steps (a) that write what it reads, (b) that read what it overwrites,
    (c) of the last step before it on its lane, which waited for those before.
    """
    chunks, steps = schedule.chunks, list(schedule.steps())
    wrote: dict[tuple[int, int], list[Arc]] = defaultdict(list)
    read: dict[tuple[int, int], list[Arc]] = defaultdict(list)
    lane_of: dict[tuple[int, int], list[Arc]] = {}
    waits: list[list[int]] = []
    opens: list[list[list[Arc]]] = [[[] for _ in range(len(rows))] for rows in steps]
    for step, rows in enumerate(steps):
        sends = list(zip(*(getattr(rows, c).tolist() for c in _COLUMNS), strict=True))
        mine = []
        for row, (src, dst, chunk, count, lane) in enumerate(sends):
            before = set(lane_of.get((src, lane), ()))
            for c in range(chunk, chunk + count):
                before.update(wrote[src, c % chunks], read[dst, c % chunks])
            for earlier, other in before:
                opens[earlier][other].append((step - earlier, row))
            mine.append(len(before))
        waits.append(mine)
        turn: dict[tuple[int, int], list[Arc]] = defaultdict(list)
        for row, (src, dst, chunk, count, lane) in enumerate(sends):
            turn[src, lane].append((step, row))
            for c in range(chunk, chunk + count):
                read[src, c % chunks].append((step, row))
                wrote[dst, c % chunks].append((step, row))
        lane_of.update(turn)
    for rows, mine, theirs in zip(steps, waits, opens, strict=True):
        yield Block(1, rows, mine, theirs)


_COLUMNS = ("src", "dst", "chunk", "count", "lane")


def _by_rounds(schedule: Schedule) -> Iterator[Block]:
    """A rank sends when its sends of the step before have arrived and what was sent to it then is there."""
    keys: list[Hashable] = [None, *(schedule.key(i) for i in range(schedule.step_count)), None]
    arcs: dict[tuple[Hashable, Hashable], tuple[list[int], list[list[Arc]]]] = {}
    kept: dict[Hashable, Sends] = {}

    def between(step: int) -> tuple[list[int], list[list[Arc]]]:
        """Arcs from a step to the next."""
        name = (keys[step + 1], keys[step + 2])
        if name not in arcs:
            arcs[name] = _arcs(kept[name[0]], kept[name[1]])
        return arcs[name]

    for i in range(schedule.step_count):
        kept.setdefault(keys[i + 1], schedule.make(i))
    i = 0
    while i < schedule.step_count:
        around, times = keys[i : i + 3], 1
        while i + times < schedule.step_count and keys[i + times : i + times + 3] == around:
            times += 1
        rows = kept[keys[i + 1]]
        waits = between(i - 1)[0] if i else [0] * len(rows)
        opens = between(i)[1] if i + 1 < schedule.step_count else [[] for _ in range(len(rows))]
        yield Block(times, rows, waits, opens)
        i += times


def _arcs(first: Sends, then: Sends) -> tuple[list[int], list[list[Arc]]]:
    """How many sends of ``first`` each of ``then`` waits for, and for each of ``first`` who waits."""
    at: dict[int, set[int]] = defaultdict(set)
    for row, (src, dst) in enumerate(zip(first.src.tolist(), first.dst.tolist(), strict=True)):
        at[src].add(row)
        at[dst].add(row)
    waits: list[int] = []
    opens: list[list[Arc]] = [[] for _ in range(len(first))]
    busy = set(first.src.tolist())
    for row, src in enumerate(then.src.tolist()):
        if src not in busy:
            raise InputError(f"rank {src} rests for a step; export this schedule cell by cell")
        waits.append(len(at[src]))
        for other in at[src]:
            opens[other].append((1, row))
    return waits, opens
