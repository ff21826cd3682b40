"""A schedule on its cluster as the page needs it: steps, loads of links, a clock."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Floats
from hopcast.predict import Answer
from hopcast.price.steps import Router, link_load
from hopcast.simulate.reference import Flows, simulate

from .encode import Levels, pack
from .sends import Kept, keep, packed, times

_MOST_LOADS = 12_000_000  # loads of links in patterns of steps that a page holds
_MOST_OWNERS = 200_000  # chunks whose owners a page holds
_SIMULATED_SENDS, _SIMULATED_CELLS = 20_000, 300_000  # what is simulated in under about a second


def plan(a: Answer) -> dict[str, Any]:
    """Steps, loads, sends and times of an answer's schedule.

    Steps of one pattern have the same loads and are stored once.
    """
    schedule, task = a.schedule, a.schedule.collective
    kept = keep(schedule)
    flows: Flows | None = a.flows if a.flows is not None and a.flows.detailed else _simulated(a, kept)
    found: dict[str, Any] = {
        "collective": task.name,
        "algorithm": a.algorithm,
        "ranks": schedule.ranks,
        "groups": pack(schedule.groups),
        "group_count": len(schedule.groups),
        "chunks": schedule.chunks,
        "steps": schedule.step_count,
        "lanes": schedule.lanes,
        "size": a.question.size,
        "reduces": task.reduces,
        "origin": pack(task.origin) if task.chunks <= _MOST_OWNERS else None,
        "goal": pack(task.goal) if task.chunks <= _MOST_OWNERS else None,
        "notes": [],
    }
    loads = _loads(a)
    found |= loads
    ends, clock = _clock(a, flows)
    found["ends"], found["clock"] = pack(ends), clock
    if loads["load"] is None:
        found["notes"].append("One send for every pair of ranks is too much to list: loads are not shown.")
    if kept is not None:
        found["sends"] = packed(kept, schedule, a.question.cluster, a.question.size)
        if kept.note:
            found["notes"].append(kept.note)
        if flows is not None and len(kept.which) == len(kept.rows):
            found["flows"] = times(kept, flows)
    else:
        found["notes"].append("The sends are too many for a page: it shows loads and times.")
    return found


def _simulated(a: Answer, kept: Kept | None) -> Flows | None:
    """The flows of a schedule that is small, for the times of its sends.

    By the reference engine: what has an exact formula is regular, and takes it less time than loading numba.
    """
    if kept is None or kept.scope != "all" or a.steps is None:
        return None
    if len(kept.rows) > _SIMULATED_SENDS or kept.cells > _SIMULATED_CELLS:
        return None
    return simulate(a.schedule, a.question.cluster, a.question.size)


def _clock(a: Answer, flows: Flows | None) -> tuple[Floats, str]:
    """When each step is over, ``float64[steps]`` seconds, and how that was found."""
    if flows is not None:
        last = np.zeros(a.schedule.step_count)
        np.maximum.at(last, flows.step, flows.end)
        return np.maximum.accumulate(last), "flows"
    if a.steps is not None:
        return np.cumsum(a.steps.step_seconds), "steps"
    return np.linspace(0, a.time, a.schedule.step_count + 1)[1:], "formula"


def _loads(a: Answer) -> dict[str, Any]:
    """The pattern of each step, the bytes on each link and what each chip receives, by pattern.

    Where that is too much, all steps have the mean load.
    """
    schedule, topology = a.schedule, a.question.cluster.topology
    count = schedule.step_count
    if a.steps is None or not count:
        return {"key": pack(np.zeros(count, int)), "load": None, "received": None, "seconds": pack([])}
    seen: dict[Hashable, int] = {}
    key = np.array([seen.setdefault(schedule.key(i), len(seen)) for i in range(count)])
    seconds = pack(a.steps.step_seconds)
    if len(seen) * topology.links > _MOST_LOADS:
        mean = Levels()
        mean.add(a.steps.load / count)
        note = "Steps differ too much for a page: each shows the mean load of all."
        return {
            "key": pack(np.zeros(count, int)),
            "load": mean.packed(),
            "received": None,
            "seconds": seconds,
            "notes": [note],
        }
    load, received = Levels(), Levels()
    router = Router(a.question.cluster, schedule.vertices)
    for i in np.unique(key, return_index=True)[1]:
        on_links, at_chips = _of_step(schedule, int(i), a, router)
        load.add(on_links)
        received.add(at_chips)
    return {
        "key": pack(key),
        "load": load.packed(),
        "received": received.packed(),
        "seconds": seconds,
    }


def _of_step(schedule: Schedule, i: int, a: Answer, router: Router) -> tuple[Floats, Floats]:
    """Bytes on each link and bytes that each chip receives in one step."""
    topology, rows = a.question.cluster.topology, schedule.make(i)
    if not len(rows):
        return np.zeros(topology.links), np.zeros(topology.chips)
    volume = schedule.bytes(rows, a.question.size)
    load = link_load(router.of(rows.src, rows.dst), volume, topology.links, topology.wire)
    got = np.bincount(rows.dst, volume, max(schedule.vertices, topology.chips))[: topology.chips]
    return load, np.asarray(got, np.float64)
