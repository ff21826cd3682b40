"""Whole-process and in-process times, as medians of several runs; `make bench` prints the table.

Nothing here is asserted: machines are noisy. Compare two checkouts on one machine, run in turn.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from hopcast import interpret
from hopcast.algorithms import get
from hopcast.ir.group import Group, Hint
from hopcast.ir.topology import Axis
from hopcast.table import Page, table

RUNS = 5
COMMANDS = {
    "hopcast --help": ["--help"],
    "predict by formula": [
        "predict",
        "all_gather",
        "v5e:4x4",
        "--size",
        "8MiB",
        "--over",
        "x",
        "--algorithm",
        "chain",
    ],
    "predict by flows": ["predict", "all_gather", "v5e:4x4", "--size", "8MiB"],
    "predict all_to_all, 256 ranks": [
        "predict",
        "all_to_all",
        "torus:16x16,bandwidth=45GB/s",
        "--size",
        "1MiB",
    ],
}


def process(words: list[str]) -> float:
    """Seconds of a whole process."""
    start = time.perf_counter()
    code = "import sys; from hopcast.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)
    return time.perf_counter() - start


def ring(ranks: int) -> Callable[[], None]:
    """Build and check a flat ring all_reduce."""

    def work() -> None:
        axis = Axis("x", ranks, True)
        group = Group((axis,), False, (1.0,), (0.0,), np.arange(ranks, dtype=np.int32)[None])
        interpret.check(get("ring").build("all_reduce", group, Hint()))

    return work


def median(work: Callable[[], object], runs: int = RUNS) -> float:
    """Median seconds, after one run that is not counted."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Measure, print, and write bench.json."""
    rows = [
        {"work": name, "median_s": statistics.median([process(words) for _ in range(RUNS + 1)][1:])}
        for name, words in COMMANDS.items()
    ]
    rows += [
        {"work": f"build + check ring all_reduce, {n} ranks", "median_s": median(ring(n), 3)}
        for n in (64, 512, 2048)
    ]
    print(table(rows, ["work", "median_s"], "whole processes and checks, medians", [], Page()))
    with open("bench.json", "w", encoding="utf-8") as out:
        json.dump(rows, out, indent=2)


if __name__ == "__main__":
    main()
