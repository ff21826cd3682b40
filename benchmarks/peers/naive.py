"""What one writes with simpy in an afternoon: a process for each send, a resource of one place for each link.

A send waits the latency of its route; then its head goes from link to link, and each link is busy with it for
its bytes over the link's bandwidth. So messages queue where flows share: times are those of flows where no
two sends meet on a link, and near them elsewhere. Reads the file of export.py, prints a line of JSON.

    python naive.py FILE
"""

import json
import sys
import time
from collections.abc import Generator, Iterator
from typing import Any

import simpy

Pieces = list[list[int]]


class Plan:
    """The file of export.py."""

    def __init__(self, words: Iterator[str]) -> None:
        self.bandwidth = [float(next(words)) for _ in range(self._count(words, "links"))]
        self.latency: list[float] = []
        self.pieces: list[Pieces] = []
        for _ in range(self._count(words, "routes")):
            self.latency.append(float(next(words)))
            several = int(next(words))
            self.pieces.append([[int(next(words)) for _ in range(int(next(words)))] for _ in range(several)])
        self.steps: list[list[tuple[int, float, int, list[tuple[int, int]]]]] = []
        for _ in range(self._count(words, "blocks")):
            times = self._count(words, "block")
            self.steps += [[self._send(words) for _ in range(int(next(words)))]] * times

    @staticmethod
    def _count(words: Iterator[str], name: str) -> int:
        assert next(words) == name
        return int(next(words))

    @staticmethod
    def _send(words: Iterator[str]) -> tuple[int, float, int, list[tuple[int, int]]]:
        route, nbytes, waits = int(next(words)), float(next(words)), int(next(words))
        return route, nbytes, waits, [(int(next(words)), int(next(words))) for _ in range(int(next(words)))]


class Run:
    """One simulation."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.env = plan, simpy.Environment()
        self.links = [simpy.Resource(self.env) for _ in plan.bandwidth]
        self.waits: dict[int, list[int]] = {}  # of the steps that have begun
        self.left = [len(sends) for sends in plan.steps]
        self.sends, self.last = 0, 0.0

    def go(self) -> float:
        """Simulated seconds."""
        for step, sends in enumerate(self.plan.steps):
            for row, (_, _, waits, _) in enumerate(sends):
                if waits == 0:
                    self.env.process(self.send(step, row))
        self.env.run()
        assert not any(self.left), "sends never started"
        return self.last

    def send(self, step: int, row: int) -> Generator[Any, Any, None]:
        """Deliver one send, then start those that waited for it."""
        route, nbytes, _, opens = self.plan.steps[step][row]
        pieces = self.plan.pieces[route]
        yield self.env.timeout(self.plan.latency[route])
        if len(pieces) == 1:
            yield from self.piece(pieces[0], nbytes)
        else:
            yield self.env.all_of([self.env.process(self.piece(p, nbytes / len(pieces))) for p in pieces])
        self.last, self.sends = self.env.now, self.sends + 1
        for ahead, other in opens:
            later = step + ahead
            if later not in self.waits:
                self.waits[later] = [w for _, _, w, _ in self.plan.steps[later]]
            self.waits[later][other] -= 1
            if self.waits[later][other] == 0:
                self.env.process(self.send(later, other))
        self.left[step] -= 1
        if self.left[step] == 0:
            self.waits.pop(step, None)

    def piece(self, links: list[int], nbytes: float) -> Generator[Any, Any, None]:
        """The head goes from link to link as each is free; the bytes behind it keep each busy."""
        behind = []
        for link in links[:-1]:
            turn = self.links[link].request()
            yield turn
            behind.append(self.env.process(self.pass_over(link, turn, nbytes)))
        turn = self.links[links[-1]].request()
        yield turn
        yield from self.pass_over(links[-1], turn, nbytes)
        if behind:
            yield self.env.all_of(behind)

    def pass_over(self, link: int, turn: Any, nbytes: float) -> Generator[Any, Any, None]:
        """Bytes over one link, which is then the next one's."""
        yield self.env.timeout(nbytes / self.plan.bandwidth[link])
        self.links[link].release(turn)


def main() -> None:
    """Read, run, print."""
    start = time.process_time()
    with open(sys.argv[1], encoding="ascii") as file:
        run = Run(Plan(iter(file.read().split())))
    read = time.process_time()
    seconds = run.go()
    took = time.process_time() - read
    print(json.dumps({"seconds": seconds, "read_s": read - start, "run_s": took, "sends": run.sends}))


if __name__ == "__main__":
    main()
