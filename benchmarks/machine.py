"""What a benchmark ran on: without it a number of seconds means nothing."""

import datetime
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from peers import simgrid

ABOUT = {
    "section": "speed, targets, table, or the name of a curve",
    "work": "what is asked",
    "tool": "hopcast, SimGrid, simpy",
    "ranks": "of one group",
    "sends": "of the whole schedule",
    "time_us": "the answer: simulated microseconds",
    "wall_s": "seconds of the whole process by the clock, median",
    "cpu_s": "its seconds of CPU time, median; a peer's include reading the schedule, not exporting it",
    "inside_s": "CPU seconds of the answer in a process that is already running, median",
    "MiB": "most memory resident of the whole process, median",
    "times_cpu_s": "cpu_s over hopcast's of the same work",
    "times_inside_s": "the same of inside_s",
    "times_MiB": "the same of MiB",
    "target_s": "seconds by the clock that wall_s should not exceed on two idle cores",
    "target_MiB": "the same of MiB",
    "of_target": "wall_s over target_s",
    "difference": "of time_us from hopcast's, relative",
    "sensitivity": "how far hopcast's own time_us moves, relative, when links change by 1e-13",
    "note": "why there is no answer: what is missing, or what the run was stopped for",
}


def record(options: dict[str, Any]) -> dict[str, Any]:
    """Date, machine and versions, as the head of a file of results."""
    names = ("hopcast", "numpy", "numba", "scipy", "simpy")
    return {
        "schema": 1,
        "about": ABOUT,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "memory_GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": f"{platform.system()} {platform.machine()}",
            "load_at_start": round(os.getloadavg()[0], 2),
        },
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in names},
            "SimGrid": (simgrid.version() or None) if not simgrid.missing() else None,
            "g++": _compiler() if not simgrid.missing() else None,
        },
        "options": options,
    }


def words(record: dict[str, Any]) -> str:
    """The same in a sentence."""
    m, versions = record["machine"], record["versions"]
    known = ", ".join(f"{name} {v}" for name, v in versions.items() if v)
    computer = f"{m['cores']} cores of {m['cpu']}, {m['memory_GiB']:g} GiB"
    return f"{record['date']}; {computer}, load {m['load_at_start']:g} at the start; {known}"


def _cpu() -> str:
    listed = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", listed.read_text() if listed.exists() else "")
    return found[1] if found else platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    if name == "hopcast":
        import hopcast

        return hopcast.__version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _compiler() -> str:
    return subprocess.run(
        ["g++", "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout.strip()
