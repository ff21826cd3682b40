"""When the sends of one chunk of each of several trees go, so that all chunks after it can follow them.

With a step of its own, modulo the period, for each send over a link, no two sends of different chunks meet. A
slow link takes several steps for a send: its period is cut into as many parts as have so many steps.

Source: Rau and Glaeser 1981 (modulo schedules).
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ._cayley import Longs

Slots = Mapping[tuple[int, int], int]
_EFFORT, _FEWEST_TRIES = 60_000, 12  # sends placed in all tries, and tries at least
_NOISE = (0.5, 1.0, 2.0, 4.0)  # steps by which urgency is taken to be more than it is


def placed(streams: list[list[tuple[int, int, int]]], copies: int, slots: Slots, rng: random.Random) -> Longs:
    """Steps of all sends: of several tries that take the most urgent first, more or less, the shortest.

    Args:
        streams: Of each tree, in an order in which they can go.
        copies: The period.
        slots: Steps that a send over each link takes. No more of a link's sends than fit into the period.
        rng: Of random choices.
    """
    waits = Waits.of(streams, slots)
    best: list[int] | None = None
    for k in range(max(_FEWEST_TRIES, _EFFORT // len(waits.link))):
        noise = _NOISE[k % len(_NOISE)]
        urgent = [u + noise * rng.random() for u in waits.left]
        found = _listed(waits, copies, urgent)
        if best is None or max(found) < max(best):
            best = found
    return np.array(best, np.int64)


@dataclass(frozen=True)
class Waits:
    """What the sends of all streams wait for.

    Attributes:
        link: Of each send, src and dst.
        needs: How many it waits for.
        next: The sends that wait for it.
        left: Steps until its stream ends, if nothing else is in the way.
        slots: Steps that it takes.
    """

    link: list[tuple[int, int]]
    needs: list[int]
    next: list[list[int]]
    left: list[int]
    slots: list[int]

    @classmethod
    def of(cls, streams: list[list[tuple[int, int, int]]], slots: Slots) -> "Waits":
        """Of all sends of all streams."""
        made = cls([], [], [], [], [])
        for stream in streams:
            first = len(made.link)
            into: dict[int, list[int]] = {}
            for i, (src, dst, _) in enumerate(stream, first):
                made.link.append((src, dst))
                made.slots.append(slots[src, dst])
                made.needs.append(len(into.get(src, ())))
                made.next.append([])
                for j in into.get(src, ()):
                    made.next[j].append(i)
                into.setdefault(dst, []).append(i)
            left = [0] * len(stream)
            for i in range(len(stream) - 1, -1, -1):
                left[i] = max((left[j - first] for j in made.next[first + i]), default=0)
                left[i] += made.slots[first + i]
            made.left.extend(left)
        return made


def _listed(waits: Waits, copies: int, urgent: list[float]) -> list[int]:
    """Step by step every link sends the most urgent of what is ready, if the step's residue is free on it.

    A link has at most as many sends as residues, so each finds one; of a slow one, as parts of the period.
    """
    needs = waits.needs.copy()
    ready = {0: [i for i, k in enumerate(needs) if not k]}  # by the step before which it may not go
    start, soonest = [0] * len(needs), [0] * len(needs)
    taken: dict[tuple[int, int], int] = {}
    waiting: dict[tuple[int, int], list[int]] = {}
    left, step = len(needs), 0
    while left:
        for i in ready.pop(step, ()):
            waiting.setdefault(waits.link[i], []).append(i)
        residue = step % copies
        for link in list(waiting):
            mine = waiting[link]
            slots = waits.slots[mine[0]]
            if residue % slots or residue + slots > copies or taken.get(link, 0) >> residue & 1:
                continue
            now = max(mine, key=urgent.__getitem__)
            mine.remove(now)
            if not mine:
                del waiting[link]
            taken[link] = taken.get(link, 0) | 1 << residue
            start[now] = step
            left -= 1
            for i in waits.next[now]:
                needs[i] -= 1
                soonest[i] = max(soonest[i], step + slots)
                if not needs[i]:
                    ready.setdefault(soonest[i], []).append(i)
        step += 1
    return start
