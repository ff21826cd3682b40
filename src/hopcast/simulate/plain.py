"""The event loop of flows on arrays, for small problems: ready before a compiled one has been loaded.

It is the reference's loop, with links that a flow may cross several times, as it does where one link stands
for many.
"""

import numpy as np

from hopcast.ir.topology import Floats

from .network import Longs, Problem
from .ran import Ran

_SAME = 1e-12  # events closer than this part of the clock are one, as in the reference


def run(problem: Problem, patience: int) -> Ran | None:
    """Simulate all sends; None if that takes more than about ``patience`` operations on 5,000 elements."""
    state = _Plain(problem)
    return state.result() if state.go(patience) else None


class _Plain:
    """The state of a run: pieces are flows; a send is one or more pieces; a node is a send or a gate."""

    def __init__(self, problem: Problem) -> None:
        paths, arcs, sends = problem.paths, problem.arcs, len(problem.volume)
        self.problem, self.arcs = problem, arcs
        self.first, self.send, self.route = problem.spread()
        self.volume = problem.volume[self.send] * paths.weight[self.route]
        self.lag = paths.lag[self.route]
        self.pieces = np.diff(self.first)
        self.pending = arcs.pending.astype(np.int64)
        self.ready, self.start, self.end = (np.zeros(sends) for _ in range(3))
        self.blame = np.full(sends, -1, np.int64)
        self.left = np.ones(sends, bool)
        self.opens = np.full(len(self.send), np.inf)
        self.events = 0

    def result(self) -> Ran:
        """What came of it."""
        return Ran(self.ready, self.start, self.end, self.blame, self.left, self.events)

    def go(self, patience: int) -> bool:
        """Advance until nothing moves. False if patience ends first."""
        sends, now, spent = len(self.left), 0.0, 0.0
        active, rest, due = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
        self._release(np.flatnonzero(self.pending[:sends] == 0), now)
        waiting = np.flatnonzero(np.isfinite(self.opens))
        while spent < patience:
            open_now = self.opens[waiting] <= now * (1 + _SAME)
            begin, waiting = waiting[open_now], waiting[~open_now]
            self.start[self.send[begin]] = now
            active, rest = np.concatenate([active, begin]), np.concatenate([rest, self.volume[begin]])
            rate, levels, crossings = self._rates(active)
            spent += (levels + 3) * (1 + max(len(active), crossings) / 5000)
            self.events += 1
            finish = now + rest / rate
            coming = min(
                finish.min(initial=np.inf),
                self.opens[waiting].min(initial=np.inf),
                self.end[due].min(initial=np.inf),
            )
            if not np.isfinite(coming):
                return True
            soon = coming * (1 + _SAME)
            done = finish <= soon
            over, active = active[done], active[~done]
            rest, now = rest[~done] - rate[~done] * (coming - now), coming  # what crosses no link is done
            due, freed = self._arrive(over, due, now, soon)
            waiting = np.concatenate([waiting, freed])
        return False

    def _arrive(self, over: Longs, due: Longs, now: float, soon: float) -> tuple[Longs, Longs]:
        """Last bytes. Sends still being reduced, and the pieces of those that are ready now."""
        np.subtract.at(self.pieces, self.send[over], 1)
        sends = np.unique(self.send[over])
        sends = sends[self.pieces[sends] == 0]
        self.end[sends] = now + self.problem.after[sends]
        due = np.concatenate([due, sends])
        late = self.end[due] > soon
        self.left[due[~late]] = False
        return due[late], self._release(self._received(due[~late]), now)

    def _received(self, front: Longs) -> Longs:
        """The sends that waited only for these, directly or through gates."""
        free: list[Longs] = []
        by = front
        while len(front):
            begin, many = self.arcs.start[front], self.arcs.start[front + 1] - self.arcs.start[front]
            nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
            target, cause = (
                self.arcs.target[np.repeat(begin, many) + nth].astype(np.int64),
                np.repeat(by, many),
            )
            np.subtract.at(self.pending, target, 1)
            zero = self.pending[target] == 0
            target, once = np.unique(target[zero], return_index=True)
            cause = cause[zero][once]
            is_send = target < len(self.left)
            self.blame[target[is_send]] = cause[is_send]
            free.append(target[is_send])
            front, by = target[~is_send], cause[~is_send]
        free.append(np.zeros(0, np.int64))
        freed: Longs = np.concatenate(free)
        return freed

    def _release(self, sends: Longs, now: float) -> Longs:
        self.ready[sends] = now
        many = self.first[sends + 1] - self.first[sends]
        nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        piece: Longs = np.repeat(self.first[sends], many) + nth
        self.opens[piece] = now + self.lag[piece]
        return piece

    def _rates(self, flows: Longs) -> tuple[Floats, int, int]:
        """``float64[flows]`` by progressive filling, how many levels there were, and links looked at."""
        paths, links = self.problem.paths, len(self.problem.capacity)
        route = self.route[flows]
        many = paths.hop[route + 1] - paths.hop[route]
        nth = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        at = np.repeat(paths.hop[route], many) + nth
        flow, link, times = (
            np.repeat(np.arange(len(flows)), many),
            paths.link[at],
            paths.times[at].astype(float),
        )
        rate, room, levels = np.full(len(flows), np.inf), self.problem.capacity.astype(float), 0
        while len(flow):
            users = np.bincount(link, times, links)
            share = np.full(links, np.inf)
            np.divide(room, users, out=share, where=users > 0)
            level = share.min()
            frozen = np.zeros(len(flows), bool)
            frozen[flow[(share <= level * (1 + _SAME))[link]]] = True
            rate[frozen] = level
            gone = frozen[flow]
            room = np.maximum(room - level * np.bincount(link[gone], times[gone], links), 0.0)
            flow, link, times = flow[~gone], link[~gone], times[~gone]
            levels += 1
        return rate, levels, len(at)
