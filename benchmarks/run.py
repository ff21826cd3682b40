"""One report: speed, targets at pod scale, and hopcast beside SimGrid and a naive simpy model.

    python benchmarks/run.py [--runs 3] [--limit 30] [--long] [--only SECTION] [--to FOLDER]

Nothing is asserted: machines are noisy. Ratios are of runs of one report; compare two checkouts on one
machine, run in turn. Results are written as JSON with the machine, the versions and the date.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import flows
import machine
import speed
from peers import cases, compare

from hopcast.draw.scaling import scaling_svg
from hopcast.table import Page, table

Row = dict[str, Any]
SECTIONS = ("speed", "targets", "table", "curves")
TITLES = {
    "speed": "Speed: whole processes, building and checking, medians",
    "targets": "Targets: whole processes of predict --price flows",
    "table": "Peers: the same schedules on the same links",
    "curves": "Peers: scaling",
}
COLUMNS = {
    "speed": ["work", "wall_s", "cpu_s", "MiB"],
    "targets": ["work", "wall_s", "target_s", "of_target", "cpu_s", "MiB", "target_MiB"],
}
PEERS = [
    "work", "sends", "tool", "time_us", "difference", "sensitivity", "cpu_s", "times_cpu_s", "inside_s",
    "times_inside_s", "MiB", "times_MiB", "note",
]  # fmt: skip
NOTES = [
    "times: a peer's over hopcast's. cpu: seconds of CPU time of the whole process; inside: of the answer in "
    "a process that is running. A peer reads the exported schedule; making it is not counted.",
    "Memory over 4 GiB and CPU time over the limit stop a run, and larger cases of its curve are not tried.",
    "difference: of the answer from hopcast's. sensitivity: how far hopcast's own moves when links change by "
    "1e-13; where sends share links for many steps, small differences grow.",
    "simpy: messages queue where flows would share, so times may differ where sends meet on links.",
]


def main() -> None:
    """Measure, print, and write."""
    asked = _asked()
    limits = compare.Limits(asked.runs, asked.limit)
    compare.on_path()
    head = machine.record({"runs": asked.runs, "limit_s": asked.limit})
    print(machine.words(head), flush=True)
    listed = cases.TABLE + (cases.LONG if asked.long else [])
    made: dict[str, Callable[[], Iterable[Row]]] = {
        "speed": lambda: speed.rows(asked.runs),
        "targets": lambda: flows.rows(asked.runs),
        "table": lambda: compare.rows(listed, "table", limits, _say),
        "curves": lambda: chain.from_iterable(
            compare.rows(curve, name, limits, _say) for name, curve in cases.CURVES.items()
        ),
    }
    asked.to.mkdir(parents=True, exist_ok=True)
    for section in asked.only or SECTIONS:
        results = head | {"rows": []}
        for row in made[section]():  # what is measured is kept if the rest is interrupted
            results["rows"].append(row)
            text = json.dumps(results, indent=1) + "\n"
            (asked.to / f"{section}.json").write_text(text, encoding="utf-8")
        notes = NOTES if section not in COLUMNS else []
        shown = table(results["rows"], COLUMNS.get(section, PEERS), TITLES[section], notes, Page())
        print("\n" + shown, flush=True)
    if "curves" in (asked.only or SECTIONS):
        (asked.to / "curves.svg").write_text(
            scaling_svg(results, title="Time to an answer"), encoding="utf-8"
        )
    print(f"\nwritten to {asked.to}/")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=3, help="of each measurement; the median counts")
    parser.add_argument("--limit", type=float, default=30, help="seconds of CPU time of one run of a peer")
    parser.add_argument("--long", action="store_true", help="rings of 4,096 ranks in the table")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be repeated")
    parser.add_argument("--to", type=Path, default=Path("out/bench"), help="folder of the JSON files")
    return parser.parse_args()


def _say(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
