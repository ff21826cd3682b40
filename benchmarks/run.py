"""One report: speed, targets at pod scale, and hopcast beside SimGrid and a naive simpy model.

    python benchmarks/run.py [--runs 3] [--limit 30] [--long] [--only SECTION] [--to FOLDER] [--record]

Nothing is asserted: machines are noisy. Ratios are of runs of one report; compare two checkouts on one
machine, run in turn. Results are written as JSON with the machine, the versions and the date; with --record
to where README and the atlas have them from.
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

from hopcast.atlas.figures.scaling import chart
from hopcast.table import Page, table

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
# What is kept of a report, and where: README shows both, the atlas has the curves in the package.
KEPT = {
    "table": ROOT / "benchmarks" / "results" / "table.json",
    "curves": ROOT / "src" / "hopcast" / "atlas" / "measured" / "curves.json",
}
CHART = ROOT / "benchmarks" / "results" / "curves.svg"
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
    asked = parser().parse_args()
    limits = compare.Limits(asked.runs, asked.limit)
    compare.on_path()
    work = {"size_bytes": int(cases.SIZE), "links": cases.LINKS}
    head = machine.record({"runs": asked.runs, "limit_s": asked.limit, **work})
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
            _write(asked.to / f"{section}.json", _text(results))
        if section == "curves":
            _write(asked.to / "curves.svg", chart(results))
        if asked.record and section in KEPT:
            _write(KEPT[section], _text(results))
            if section == "curves":
                _write(CHART, chart(results))
        notes = NOTES if section not in COLUMNS else []
        shown = table(results["rows"], COLUMNS.get(section, PEERS), TITLES[section], notes, Page())
        print("\n" + shown, flush=True)
    print(f"\nwritten to {asked.to}/")


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    found = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    found.add_argument("--runs", type=int, default=3, help="of each measurement; the median counts")
    found.add_argument("--limit", type=float, default=30, help="seconds of CPU time of one run of a peer")
    found.add_argument("--long", action="store_true", help="rings of 4,096 ranks in the table")
    found.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be repeated")
    found.add_argument("--to", type=Path, default=Path("out/bench"), help="folder of the JSON files")
    found.add_argument("--record", action="store_true", help="keep table and curves in the repository, too")
    return found


def _text(results: dict[str, Any]) -> str:
    return json.dumps(results, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _say(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
