"""Sends that are never received: what they wait for, down to the one that cannot move."""

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends

from .network import Longs, Problem
from .ran import Ran

_SHOWN = 6


def explain(
    schedule: Schedule, cluster: Cluster, rows: Sends, step: Longs, problem: Problem, ran: Ran
) -> str:
    """One line: how many are stuck, and the waits from the last of them to a link without bandwidth."""
    stuck = np.flatnonzero(ran.left)
    chain = _chain(int(stuck[np.argmax(step[stuck])]), problem, ran)
    names = [_name(cluster, rows, step, i) for i in chain]
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN // 2], f"{len(names) - _SHOWN} more", *names[-_SHOWN // 2 :]]
    return (
        f"{schedule!r}: {len(stuck):,} sends never arrive; "
        + ", which waits for ".join(names)
        + _why(cluster, problem, chain[-1])
    )


def _chain(send: int, problem: Problem, ran: Ran) -> list[int]:
    """Sends of which each waits for the next; the last has begun."""
    arcs = problem.arcs
    tail = np.repeat(np.arange(len(arcs.start) - 1), np.diff(arcs.start))
    order = np.argsort(arcs.target, kind="stable")
    head, tail = arcs.target[order], tail[order]
    sends, chain, node = len(problem.volume), [send], send
    missing = np.ones(len(arcs.pending), bool)
    missing[:sends] = ran.left
    while True:
        low, high = np.searchsorted(head, [node, node + 1])
        waits = tail[low:high][_open(tail[low:high], missing, arcs.start, sends, head, tail)]
        if not len(waits):
            return chain
        node = int(waits.max() if np.all(waits >= sends) else waits[waits < sends].max())
        if node < sends:
            chain.append(node)


def _open(
    nodes: Longs, missing: np.ndarray, start: Longs, sends: int, head: np.ndarray, tail: Longs
) -> np.ndarray:
    """Which nodes are not over: sends not received, and gates that one of those still keeps shut."""
    return np.array([_shut(int(n), missing, sends, head, tail) for n in nodes], bool)


def _shut(node: int, missing: np.ndarray, sends: int, head: np.ndarray, tail: Longs) -> bool:
    front = [node]
    while front:
        at = front.pop()
        if at < sends:
            if missing[at]:
                return True
            continue
        low, high = np.searchsorted(head, [at, at + 1])
        front += tail[low:high].tolist()
    return False


def _name(cluster: Cluster, rows: Sends, step: Longs, i: int) -> str:
    place = cluster.topology.place
    return f"step {step[i]} {place(int(rows.src[i]))} -> {place(int(rows.dst[i]))}"


def _why(cluster: Cluster, problem: Problem, send: int) -> str:
    paths, pair = problem.paths, problem.pair[send]
    links = paths.link[paths.hop[paths.first[pair]] : paths.hop[paths.first[pair + 1]]]
    dead = links[problem.capacity[links] <= 0]
    return f", whose link {cluster.topology.link_name(int(dead[0]))} has no bandwidth" if len(dead) else ""
