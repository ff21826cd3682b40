"""hopcast beside its peers on the same schedules: seconds, memory, and whether the answers agree."""

import importlib.util
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from process import Used, measure

from hopcast.simulate import flows

from . import export, simgrid
from .cases import SIZE, Case

HERE = Path(__file__).parent
CLI = "import sys; from hopcast.cli import main; sys.exit(main())"
MOST_MIB = 4096  # address space of a run
_FEW = 200_000  # sends of a schedule that is simulated once more, for its sensitivity
_NUDGE = 1e-13
_TICK = 0.01  # seconds: some systems count CPU time no finer
Row = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """How often, and how long at most: seconds of CPU time of one run."""

    runs: int = 3
    cpu_s: float = 30.0


@dataclass(frozen=True)
class Tool:
    """A simulator.

    Attributes:
        name: For people.
        missing: What it lacks here; empty if nothing.
        run: Answers a case, with a folder for its files.
    """

    name: str
    missing: str
    run: Callable[[Case, Path, Limits], Row]


def tools() -> list[Tool]:
    """All of them, also those that are not installed; hopcast first."""
    no_simpy = "" if importlib.util.find_spec("simpy") else "no simpy; pip install simpy"
    return [
        Tool("hopcast", "", _hopcast),
        Tool("SimGrid", simgrid.missing(), partial(_peer, simgrid.command)),
        Tool("simpy", no_simpy, partial(_peer, lambda f: [sys.executable, str(HERE / "naive.py"), str(f)])),
    ]


def rows(cases: Sequence[Case], section: str, limits: Limits, say: Callable[[str], None]) -> Iterator[Row]:
    """One for each case and tool.

    Of a curve, cases in order of size: who was stopped is not asked for the larger ones.
    """
    gave_up: dict[str, str] = {}
    for case in cases:
        say(case.name)
        about = {"section": section, "work": case.name, "ranks": case.schedule.ranks, "sends": case.sends}
        ours: Row = {}
        for tool in tools():
            skipped = tool.missing or gave_up.get(tool.name, "")
            with tempfile.TemporaryDirectory() as folder:
                found: Row = {"note": skipped} if skipped else tool.run(case, Path(folder), limits)
            if section != "table" and "note" in found and not skipped:
                gave_up[tool.name] = f"not tried: {case.schedule.ranks:,} ranks took {found['note']}"
            ours = ours or found
            if tool.name != "hopcast" and "time_us" in found and "time_us" in ours:
                found["difference"] = abs(found["time_us"] / ours["time_us"] - 1)
                compared = [k for k in ("cpu_s", "inside_s", "MiB") if found[k] > _TICK]
                found |= {f"times_{k}": found[k] / ours[k] for k in compared}
            yield about | {"tool": tool.name} | found


def _hopcast(case: Case, folder: Path, limits: Limits) -> Row:
    """The whole command, and the same inside a process that is running."""
    words = case.words(folder)
    # The first run fills the cache of what is compiled.
    used, stopped = _runs([sys.executable, "-c", CLI, *words], limits, spare=1)
    if stopped:
        return {"note": stopped}
    answer = json.loads(used[0].out)["rows"][0]
    inside = measure([sys.executable, str(HERE / "inside.py"), str(limits.runs), *words[1:]])
    found = {"time_us": answer["time_us"], **_medians(used), "inside_s": json.loads(inside.out)["run_s"]}
    if case.shuffled and case.sends < _FEW:
        found["sensitivity"] = _sensitivity(case)
    return found


def _peer(command: Callable[[Path], list[str]], case: Case, folder: Path, limits: Limits) -> Row:
    """Its program on the exported file."""
    file = folder / "schedule.txt"
    file.write_text(export.text(case.schedule, case.cluster, SIZE), encoding="ascii")
    used, stopped = _runs(command(file), limits)
    if stopped:
        return {"note": stopped}
    said = [json.loads(one.out) for one in used]
    inside = statistics.median(one["run_s"] for one in said)
    return {"time_us": said[0]["seconds"] * 1e6, **_medians(used), "inside_s": inside}


def _runs(argv: Sequence[str], limits: Limits, spare: int = 0) -> tuple[list[Used], str]:
    """Several runs, or why one was stopped; the first ``spare`` are not counted."""
    used = []
    for _ in range(spare + limits.runs):
        used.append(measure(argv, limits.cpu_s, MOST_MIB))
        if used[-1].stopped:
            return [], used[-1].stopped
    return used[spare:], ""


def _medians(used: Sequence[Used]) -> Row:
    return {k: statistics.median(getattr(u, k) for u in used) for k in ("wall_s", "cpu_s", "MiB")}


def _sensitivity(case: Case) -> float:
    """How far the time moves, relative, when links change by 1e-13: where sends share links, it may grow."""
    topology = case.cluster.topology
    nudge = 1 + _NUDGE * np.random.default_rng(1).uniform(-1, 1, topology.links)
    other = replace(case.cluster, topology=topology.with_links(topology.bandwidth * nudge))
    first, second = (flows.simulate(case.schedule, c, SIZE).seconds for c in (case.cluster, other))
    return abs(second / first - 1)


def on_path() -> None:
    """Children import what this process imports."""
    os.environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
