"""Whole processes of `predict --price flows` at pod scale: seconds and memory, beside their targets.

Nothing is asserted: machines are noisy, and targets are seconds by the clock on two idle cores.
"""

import statistics
import sys
from collections.abc import Iterator
from typing import Any

from process import measure

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
CLI = "import sys; from hopcast.cli import main; sys.exit(main())"


def rows(runs: int) -> Iterator[dict[str, Any]]:
    """One for each target."""
    for words, most_s, most_mib in TARGETS:
        command = [sys.executable, "-c", CLI, "predict", *words.split(), "--size", "1GiB", "--price", "flows"]
        measure(command)  # fills the cache of what is compiled
        used = [measure(command) for _ in range(runs)]
        wall, cpu, mib = (statistics.median(getattr(u, k) for u in used) for k in ("wall_s", "cpu_s", "MiB"))
        yield {
            "section": "targets", "work": words, "wall_s": wall, "cpu_s": cpu, "target_s": most_s,
            "of_target": wall / most_s, "MiB": mib, "target_MiB": most_mib,
        }  # fmt: skip
