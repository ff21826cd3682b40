"""Whole processes of `predict --price flows` at pod scale: seconds and memory, beside their targets and SimGrid.

SimGrid is used where `pip install simgrid` has worked (it builds from source), with plain fluid flows
(network/model CM02, TCP-gamma 0, crosstraffic 0); its column is the ratio of its seconds to ours on the same sends.
Nothing is asserted: machines are noisy. `python benchmarks/flows.py [RUNS]`.
"""

import importlib.util
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from hopcast.algorithms import get
from hopcast.clusters import cluster
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import join
from hopcast.simulate.flows import simulate
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


def against_simgrid(ranks: int) -> dict[str, object]:
    """A ring all_reduce by both in this process: seconds, and the largest difference of the times."""
    where = cluster(f"ring:{ranks},{GENERIC}")
    mine = group(where, physical(where.topology), ())
    made = get("ring").build("all_reduce", mine, Hint())
    simulate(made, where, 2.0**20, shortcut=False)  # what is compiled is loaded now
    start = time.perf_counter()
    ours = simulate(made, where, 2.0**30, shortcut=False).seconds
    middle = time.perf_counter()
    theirs = _simgrid(where.topology, join(list(made.steps())), 2.0**30 / ranks, made.step_count)
    end = time.perf_counter()
    return {
        "work": f"ring all_reduce, {ranks} ranks, every send",
        "hopcast_s": middle - start,
        "simgrid_s": end - middle,
        "ratio": (end - middle) / (middle - start),
        "difference": abs(theirs / ours - 1),
    }


def _simgrid(topology, rows, volume: float, steps: int) -> float:
    """Seconds by SimGrid: an actor for each rank sends its row of each step and waits for what comes in."""
    import simgrid as sg

    engine = sg.Engine(["bench", "--log=root.thres:critical", "--cfg=network/model:CM02",
                        "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0"])  # fmt: skip
    zone = engine.netzone_root.add_netzone_full("net") if hasattr(engine, "netzone_root") else None
    zone = zone or sg.NetZone.create_full_zone("net")
    hosts = [zone.create_host(f"r{v}", 1e9) for v in range(topology.chips)]
    for s, d, w, lag in zip(topology.src, topology.dst, topology.bandwidth, topology.latency, strict=True):
        link = zone.create_link(f"l{s}-{d}", float(w)).set_latency(float(lag))
        zone.add_route(hosts[s], hosts[d], [link], False)
    zone.seal()
    per = len(rows) // steps
    dst = rows.dst.reshape(steps, per)[:, np.argsort(rows.src[:per])]

    def rank(me: int) -> None:
        for step in range(steps):
            source = int(np.flatnonzero(dst[step] == me)[0])
            out = sg.Mailbox.by_name(f"{step}:{me}").put_async("x", int(volume))
            sg.Mailbox.by_name(f"{step}:{source}").get()
            out.wait()

    for r in range(topology.chips):
        hosts[r].add_actor(f"a{r}", rank, r)
    engine.run()
    return float(engine.clock)


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
    peers = []
    if importlib.util.find_spec("simgrid") is None:
        print("SimGrid is not installed (pip install simgrid builds it from source): no comparison")
    else:
        peers = [against_simgrid(n) for n in (64, 256)]
        print(table(peers, list(peers[0]), "beside SimGrid, the same sends", [], Page()))
    Path("bench-flows.json").write_text(json.dumps({"processes": rows, "simgrid": peers}, indent=2))


if __name__ == "__main__":
    main()
