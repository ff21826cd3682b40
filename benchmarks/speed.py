"""Whole processes of the command line, and building and checking schedules: seconds, as medians."""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from process import measure

from hopcast import interpret
from hopcast.algorithms import get
from hopcast.ir.group import Group, Hint
from hopcast.ir.topology import Axis

CLI = "import sys; from hopcast.cli import main; sys.exit(main())"
COMMANDS = {
    "hopcast --help": "--help",
    "predict by formula": "predict all_gather v5e:4x4 --size 8MiB --over x --algorithm chain",
    "predict by flows": "predict all_gather v5e:4x4 --size 8MiB",
    "predict all_to_all, 256 ranks": "predict all_to_all torus:16x16,bandwidth=45GB/s --size 1MiB",
}
RINGS = (64, 512, 2048)


def rows(runs: int) -> Iterator[dict[str, Any]]:
    """One for each command, and for each ring that is built and checked."""
    for name, words in COMMANDS.items():
        used = [measure([sys.executable, "-c", CLI, *words.split()]) for _ in range(runs + 1)][1:]
        wall, cpu, mib = (statistics.median(getattr(u, k) for u in used) for k in ("wall_s", "cpu_s", "MiB"))
        yield {"section": "speed", "work": name, "wall_s": wall, "cpu_s": cpu, "MiB": mib}
    for n in RINGS:
        wall, cpu = _medians(_ring(n), runs)
        name = f"build + check ring all_reduce, {n} ranks"
        yield {"section": "speed", "work": name, "wall_s": wall, "cpu_s": cpu, "MiB": None}


def _ring(ranks: int) -> Callable[[], None]:
    """Build and check a flat ring all_reduce."""

    def work() -> None:
        axis = Axis("x", ranks, True)
        group = Group((axis,), False, (1.0,), (0.0,), np.arange(ranks, dtype=np.int32)[None])
        interpret.check(get("ring").build("all_reduce", group, Hint()))

    return work


def _medians(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Seconds by the clock and of CPU time, after one run that is not counted."""
    work()
    wall, cpu = [], []
    for _ in range(runs):
        start, used = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return statistics.median(wall), statistics.median(cpu)
