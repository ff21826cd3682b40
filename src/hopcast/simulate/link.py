"""A link that shares itself among the sends on it, where no send crosses more than one: for compiled code.

All sends on a link then go at the same rate. So of each it is known when it began how much the link will have
given to each of them by the time its last byte arrives, and that stays so, whoever comes and goes.
"""

from typing import NamedTuple

import numpy as np

from . import heap
from .compiled import inlined, inner
from .state import Floats, Items, Longs

SAME = 1e-12  # events closer than this part of the clock are one, as in the reference


class Links(NamedTuple):
    """Links, and the rows that are on them or soon will be. A row is something to send.

    Shapes: k rows, l links.

    Attributes:
        capacity: ``float64[l]``, bytes/s.
        volume: ``float64[k]``, bytes.
        moment: ``float64[k]``: when the first byte of a row that waits leaves, or the ``work`` of its link
            at which one that flows has arrived.
        work, since: ``float64[l]``: bytes that each flow of a link would have got by now; as of when.
        seat: ``int64[l + 1]``: rows that flow are ``flow[seat[i]:seat[i] + many[i]]``, those that wait, the
            first to leave first, ``wait[seat[i]:seat[i] + held[i]]``.
        next: ``float64[l]``: when something happens on a link.
        queued, where, heaped: Heap of the links by that; ``heaped[0]`` are in it.
    """

    capacity: Floats
    volume: Floats
    moment: Floats
    work: Floats
    since: Floats
    seat: Longs
    many: Items
    flow: Items
    held: Items
    wait: Items
    next: Floats
    queued: Items
    where: Items
    heaped: Longs


def empty(capacity: Floats, volume: Floats, seats: Longs) -> Links:
    """Links on which nothing is yet.

    Args:
        capacity: ``float64[l]``, bytes/s, above 0.
        volume: ``float64[k]``, bytes.
        seats: ``int64[l]``: rows that are on a link at once at most.
    """
    links, rows, room = len(capacity), len(volume), int(seats.sum())
    seat = np.concatenate([[0], np.cumsum(seats)]).astype(np.int64)
    many, held, queued = (np.zeros(links, np.int32) for _ in range(3))
    work, since, next = (np.zeros(links) for _ in range(3))
    return Links(
        capacity, volume, np.zeros(rows), work, since, seat, many, np.zeros(room, np.int32),
        held, np.zeros(room, np.int32), next, queued, np.full(links, -1, np.int32), np.zeros(1, np.int64),
    )  # fmt: skip


def moved(old: Links, new: Links, number: Items) -> Links:
    """The rows of ``old`` that remain, in ``new``, under other numbers.

    Args:
        old: Links at some time.
        new: The same links with nothing on them, and rows of which the first are those that remain.
        number: ``int32[k]`` of the old rows; none that is on a link or waits for one is without.
    """
    kept = np.flatnonzero(number >= 0)
    new.moment[number[kept]] = old.moment[kept]
    for many, rows in (("many", "flow"), ("held", "wait")):
        count = getattr(old, many).astype(np.int64)
        nth = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        was, now = (np.repeat(links.seat[:-1], count) + nth for links in (old, new))
        getattr(new, rows)[now] = number[getattr(old, rows)[was]]
    same = ("work", "since", "many", "held", "next", "queued", "where", "heaped")
    return new._replace(**{name: getattr(old, name) for name in same})


@inlined
def happen(s: Links, link: int, now: float) -> int:
    """The last bytes of a row arrive: the row. Or the first bytes of one leave: -1 less the row.

    What arrives at the same time as something leaves is first, whatever else happens then, so the numbers
    do not depend on which of several links has its turn first.
    """
    seat, many = s.seat[link], s.many[link]
    if many > 0:
        first = _first(s, link)
        if _end(s, link, first) <= now * (1.0 + SAME):
            row: int = s.flow[first]
            s.work[link], s.since[link] = s.moment[row], now
            s.many[link] -= 1
            for i in range(first, seat + many - 1):
                s.flow[i] = s.flow[i + 1]
            _schedule(s, link)
            return row
        s.work[link] += (now - s.since[link]) * s.capacity[link] / many
    else:
        s.work[link] = 0.0
    s.since[link] = now
    row = s.wait[seat]
    s.held[link] -= 1
    for i in range(seat, seat + s.held[link]):
        s.wait[i] = s.wait[i + 1]
    s.moment[row] = s.work[link] + s.volume[row]
    s.flow[seat + many] = row
    s.many[link] += 1
    _schedule(s, link)
    return -1 - row


@inner
def hold(s: Links, link: int, row: int, until: float) -> None:
    """A row that is ready: its first byte leaves at a time."""
    seat = s.seat[link]
    at = seat + s.held[link]
    while at > seat and s.moment[s.wait[at - 1]] > until:
        s.wait[at] = s.wait[at - 1]
        at -= 1
    s.moment[row], s.wait[at] = until, row
    s.held[link] += 1
    if at == seat:
        _schedule(s, link)


@inner
def _first(s: Links, link: int) -> int:
    """The place in ``flow`` of the row that arrives first."""
    seat = s.seat[link]
    best: int = seat
    for i in range(seat + 1, seat + s.many[link]):
        if s.moment[s.flow[i]] < s.moment[s.flow[best]]:
            best = i
    return best


@inner
def _end(s: Links, link: int, first: int) -> float:
    """When the row at a place in ``flow`` has arrived, if nothing else leaves before."""
    left = max(s.moment[s.flow[first]] - s.work[link], 0.0)
    end: float = s.since[link] + left * s.many[link] / s.capacity[link]
    return end


@inner
def _schedule(s: Links, link: int) -> None:
    """When something happens on a link next."""
    when = np.inf
    if s.many[link] > 0:
        when = _end(s, link, _first(s, link))
    if s.held[link] > 0:
        when = min(when, s.moment[s.wait[s.seat[link]]])
    count = s.heaped[0]
    if when < np.inf:
        s.next[link] = when
        s.heaped[0] = heap.push(s.queued, s.where, s.next, count, link)
    elif s.where[link] >= 0:
        s.next[link] = -1.0
        heap.up(s.queued, s.where, s.next, s.where[link])
        heap.pop(s.queued, s.where, s.next, count)
        s.heaped[0] = count - 1
