"""Whole processes of `predict --price flows` at pod scale: seconds and memory, beside their targets.

Nothing is asserted: machines are noisy, and targets are for two idle cores. Run: benchmarks/flows.py [RUNS]
"""

import json
import os
import statistics
import sys
import time
from pathlib import Path

from hopcast.table import Page, table

GENERIC = "bandwidth=45GB/s,latency=1us"
# Words of the command line, most seconds, most MiB.
TARGETS = [
    (f"all_reduce ring:1024,{GENERIC} --algorithm ring", 1.2, 250),
    (f"all_gather ring:4096,{GENERIC} --algorithm ring", 1.5, 300),
    (f"all_reduce ring:9216,{GENERIC} --algorithm ring", 1.5, 300),
    (f"all_reduce ring:9216,{GENERIC} --algorithm ring --slow 100:101=0.5", 1.5, 300),
    (f"all_to_all ring:1024,{GENERIC}", 1.5, 300),
    (f"all_to_all torus:16x16x16,{GENERIC}", 1.5, 300),
    ("all_to_all v5p:16x20x28", 1.5, 300),
    ("all_reduce v5p:16x16x16 --algorithm best", 1.5, 300),
    ("all_reduce v5p:16x20x28 --algorithm best", 1.5, 300),
    ("all_gather v5e:8x16 --over x,y --algorithm best", 1.5, 300),
    ("all_to_all dgx-h100:128,routing=ecmp --algorithm direct", 8.0, 1024),
    ("all_reduce dgx-h100:128 --algorithm hierarchical", 3.0, 1024),
]
CODE = "import sys; from hopcast.cli import main; sys.exit(main())"


def process(words: list[str]) -> tuple[float, float]:
    """Seconds and MiB of a whole process."""
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", CODE, *words],
        {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"hopcast {' '.join(words)} failed")
    return time.perf_counter() - start, used.ru_maxrss / 1024


def main() -> None:
    """Measure, print, and write bench-flows.json."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    rows = []
    for words, most_s, most_mib in TARGETS:
        command = ["predict", *words.split(), "--size", "1GiB", "--price", "flows"]
        process(command)  # fills the cache of what is compiled
        seen = [process(command) for _ in range(runs)]
        seconds, mib = (statistics.median(c) for c in zip(*seen, strict=True))
        rows.append(
            {"work": words, "median_s": seconds, "target_s": most_s, "of_target": seconds / most_s,
             "MiB": mib, "target_MiB": most_mib}
        )  # fmt: skip
    print(table(rows, list(rows[0]), "whole processes, predict --price flows", [], Page()))
    Path("bench-flows.json").write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
