"""The sends of a schedule that a page can hold, with their routes and, where simulated, their times."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends, join
from hopcast.routing import routes
from hopcast.simulate.reference import Flows

from .encode import pack

MOST_SENDS = 70_000  # that a page holds: about 0.3 MB of it
_MOST_COUNTED = 8_000_000  # sends that are still made one by one to be counted or searched
_MOST_HOPS = 600_000
_SAMPLES = 6  # chunks whose journeys are kept where all sends are too many
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Kept:
    """The sends that go into the page.

    Attributes:
        scope: ``all`` groups, the ``first`` group, or of some ``chunks`` of the first group.
        chunks: Those chunks, in that case.
        step: ``int64[r]``, ascending.
        rows: The sends, between vertices.
        which: ``int64[r]``, their places among all sends of the schedule; empty where those are too many.
        cells: Chunks moved by all of them.
        note: What the reader should know of what is left out; empty if nothing is.
    """

    scope: str
    chunks: tuple[int, ...]
    step: Longs
    rows: Sends
    which: Longs
    cells: int
    note: str


def keep(schedule: Schedule) -> Kept | None:
    """The sends of all groups if they are few, else of the first group, else of a few chunks of it.

    None where even these are too many to be looked for.

    Cost: makes every step at most twice.
    """
    if not schedule.step_count:
        return _joined("all", (), [], [], schedule, "")
    if len(schedule.make(0)) * schedule.step_count > _MOST_COUNTED:
        return None
    total = sum(len(rows) for rows in schedule.steps())
    if total <= MOST_SENDS:
        return _joined("all", (), list(schedule.steps()), [np.arange(total)], schedule, "")
    groups = len(schedule.groups)
    if groups > 1:
        found = _searched(schedule, "first", ())
        if len(found.rows) <= MOST_SENDS:
            return found
    last = schedule.chunks - 1
    chunks = sorted({round(i * last / (_SAMPLES - 1)) for i in range(_SAMPLES)})
    while chunks:
        found = _searched(schedule, "chunks", tuple(chunks))
        if len(found.rows) <= MOST_SENDS:
            return found
        chunks = chunks[: len(chunks) // 2]
    return None


def _searched(schedule: Schedule, scope: str, chunks: tuple[int, ...]) -> Kept:
    """The first group's sends, or those of them that move some chunks."""
    groups = len(schedule.groups)
    mine = np.zeros(schedule.vertices, bool)
    mine[schedule.groups[0]] = True
    switch = np.ones(schedule.vertices, bool)
    switch[schedule.groups.ravel()] = False
    parts, which, before = [], [], 0
    for rows in schedule.steps():
        fits = (mine[rows.src] | switch[rows.src]) & (mine[rows.dst] | switch[rows.dst])
        if chunks:
            behind = (np.array(chunks)[:, None] - rows.chunk[None]) % schedule.chunks
            fits &= (behind < rows.count[None]).any(0)
        at = np.flatnonzero(fits)
        parts.append(Sends(*(getattr(rows, c)[at] for c in ("src", "dst", "chunk", "count", "op", "lane"))))
        which.append(at + before)
        before += len(rows)
    others = f"; the other {groups - 1:,} groups do the same among their own" if groups > 1 else ""
    if scope == "first":
        note = f"Sends are shown for the first group{others}."
    else:
        named = ", ".join(str(c) for c in chunks)
        note = f"{before:,} sends are too many for a page: it holds those of chunks {named}{others}."
    return _joined(scope, chunks, parts, which, schedule, note)


def _joined(
    scope: str, chunks: tuple[int, ...], parts: list[Sends], which: list[Longs], schedule: Schedule, note: str
) -> Kept:
    rows = join(parts)
    step = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    places = np.concatenate(which) if which else np.zeros(0, np.int64)
    return Kept(scope, chunks, step, rows, places, int(rows.count.sum()), note)


def packed(kept: Kept, schedule: Schedule, cluster: Cluster, size: float) -> dict[str, Any]:
    """The columns, the bytes of each send, and the routes of the pairs that occur.

    ``route`` is each send's pair; links of piece i of a pair are ``links[start[i]:start[i + 1]]``, and pieces
    of pair k are ``first[k]`` to ``first[k + 1] - 1``, each with its part of the bytes in ``weight``.
    """
    rows = kept.rows
    found = {
        "scope": kept.scope,
        "chunks": list(kept.chunks),
        "note": kept.note,
        "start": pack(np.searchsorted(kept.step, np.arange(schedule.step_count + 1))),
        "bytes": pack(schedule.bytes(rows, size)),
    }
    found |= {c: pack(getattr(rows, c)) for c in ("src", "dst", "chunk", "count", "op", "lane")}
    pair, route = np.unique(rows.src.astype(np.int64) * schedule.vertices + rows.dst, return_inverse=True)
    if not len(pair):
        return found
    src, dst = (v.astype(np.int32) for v in np.divmod(pair, schedule.vertices))
    way = routes(cluster, src, dst)
    if len(way.links) <= _MOST_HOPS:
        found["routes"] = {
            "of": pack(route),
            "first": pack(np.searchsorted(way.pair, np.arange(len(pair) + 1))),
            "start": pack(way.start),
            "links": pack(way.links),
            "weight": pack(way.weight),
        }
    return found


def times(kept: Kept, flows: Flows) -> dict[str, Any]:
    """When each send kept was ready, when its bytes began and when it was received, and what it waited for.

    ``path`` lists those of the critical path that are kept, in order.
    """
    place = np.full(len(flows.end), -1)
    place[kept.which] = np.arange(len(kept.which))
    blame = flows.blame[kept.which]
    blame[blame >= 0] = place[blame[blame >= 0]]
    path = place[np.array(flows.critical_path(), np.int64)]
    return {
        "ready": pack(flows.ready[kept.which]),
        "begin": pack(flows.start[kept.which]),
        "end": pack(flows.end[kept.which]),
        "blame": pack(blame),
        "path": pack(path[path >= 0]),
    }
