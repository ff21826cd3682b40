"""CPU seconds of a question inside a process that is already running.

    python inside.py RUNS COLLECTIVE CLUSTER ...

The words are those of `hopcast predict`. The first answer, which loads what is compiled, is not counted; a
schedule from a file is read before.
"""

import json
import statistics
import sys
import time
from typing import Any

import hopcast as hc
from hopcast.ir import files


def main() -> None:
    """Ask again and again; print the seconds as JSON."""
    runs, (what, where, *options) = int(sys.argv[1]), sys.argv[2:]
    asked: Any = files.load(what) if what.endswith(".npz") else what
    given = dict(zip(options[::2], options[1::2], strict=True))
    algorithm, size = given.get("--algorithm", "auto"), float(given["--size"])
    times = []
    for _ in range(runs + 1):
        start = time.process_time()
        hc.predict(asked, where, size=size, price=given["--price"], algorithm=algorithm)
        times.append(time.process_time() - start)
    print(json.dumps({"run_s": statistics.median(times[1:])}))


if __name__ == "__main__":
    main()
