"""How many digits an answer of flows needs: the same rules in decimal arithmetic of any precision.

    python benchmarks/digits.py [--collective NAME ...] [--seeds 0 1 ...] [--digits 16 30 50 80] [--side 8]

A ring in random order is laid on a square torus: every send crosses several links that others use too, and
thousands of sends wait for each other. The answer with the most digits is exact for the given floats. All
else is a distance from it: what fewer digits say, what three engines say in floats, and what is exact if
sizes are a little larger. A row of 8x8 takes a minute.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from pathlib import Path

import numpy as np
from peers import cases, export, simgrid
from peers.exact import Plan, read, seconds

import hopcast as hc
from hopcast.clusters import cluster
from hopcast.ir.algebra import relabel
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule
from hopcast.simulate import flows, reference
from hopcast.table import Page, table

PART = 2**24  # bytes of a send; whole ones, as SimGrid counts them
NUDGES = (1e-15, 1e-13)  # sizes that are larger by this: a few units in the last place of a float, and more
STAYS = 1e-9  # an answer that is no further from the exact one has digits enough
FEWEST = 8  # digits, of which exact.py leaves four to rounding
NOTES = [
    "Distances are from the answer with the most digits, relative. Floats have 16 digits.",
    "growth: by how much a change of links, a random one of each and too small for a float, is multiplied.",
    f"needed: digits from which on the answer is the exact one to {STAYS:g}, by bisection.",
]


def distance(answer: Decimal, exact: Decimal) -> float:
    """Relative; to three digits, whatever the two have in common."""
    with localcontext(Context(prec=1000)):
        return float(abs(answer / exact - 1))


def growth(plan: Plan, digits: int, exact: Decimal) -> float:
    """How many times larger a change of links is in the answer: the condition number, in one direction."""
    nudge = 10.0 ** -(digits // 2)
    return distance(seconds(plan, digits, links=nudge), exact) / nudge


def needed(plan: Plan, answers: dict[int, Decimal]) -> int:
    """Digits from which on the answer stays, between the most of ``answers`` that is off and the next."""
    exact = answers[max(answers)]
    low = max((d for d, answer in answers.items() if distance(answer, exact) > STAYS), default=0)
    high = min(d for d in answers if d > low)
    while low and high - low > 1:
        middle = (low + high) // 2
        if distance(seconds(plan, middle), exact) > STAYS:
            low = middle
        else:
            high = middle
    return high


def in_random_order(collective: str, side: int, seed: int) -> tuple[Schedule, Cluster]:
    """A ring whose ranks are spread over a torus, and the torus."""
    ring = hc.build(collective, f"ring:{side**2},{cases.LINKS}", algorithm="ring", size=PART * side**2)
    order = np.random.default_rng(seed).permutation(side**2).astype(np.int32)
    return relabel(ring, order), cluster(f"torus:{side}x{side},{cases.LINKS}")


def row(collective: str, side: int, seed: int, digits: Sequence[int]) -> dict[str, object]:
    """All answers to one question."""
    made, where = in_random_order(collective, side, seed)
    size = float(PART * side**2)
    text = export.text(made, where, size, rounds=False)
    plan = read(text)
    answers = {d: seconds(plan, d) for d in sorted(digits)}
    *fewer, most = answers
    exact = answers[most]
    floats = {
        "compiled": flows.simulate(made, where, size, shortcut=False).seconds,
        "reference": reference.simulate(made, where, size).seconds,
    }
    if not simgrid.missing():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "schedule.txt"
            file.write_text(text, encoding="ascii")
            floats["SimGrid"] = simgrid.seconds(file)
    found = {f"{d}_digits": distance(answers[d], exact) for d in fewer}
    found |= {name: distance(Decimal(answer), exact) for name, answer in floats.items()}
    found |= {f"size+{n:g}": distance(seconds(plan, most, size=n), exact) for n in NUDGES}
    found |= {"growth": growth(plan, most, exact)}
    about = {"collective": collective, "seed": seed, "exact_us": f"{exact * 10**6:.9f}"}
    return about | {name: f"{x:.1e}" for name, x in found.items()} | {"needed": needed(plan, answers)}


def main(words: Sequence[str] | None = None) -> None:
    """Ask all questions and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    some = ["all_gather", "reduce_scatter", "all_reduce"]
    parser.add_argument("--collective", nargs="+", choices=some, default=some)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3], help="of the order of ranks")
    parser.add_argument("--digits", nargs="+", type=int, default=[16, 30, 50, 80], help="the most are exact")
    parser.add_argument("--side", type=int, default=8, help="of the torus")
    asked = parser.parse_args(words)
    if min(asked.digits) < FEWEST:
        parser.error(f"--digits {min(asked.digits)}: at least {FEWEST}, of which four are left to rounding")
    rows = []
    for collective in asked.collective:
        for seed in asked.seeds:
            print(f"  {collective}, seed {seed}", file=sys.stderr, flush=True)
            rows.append(row(collective, asked.side, seed, asked.digits))
    title = f"A ring in random order on torus:{asked.side}x{asked.side}, {cases.LINKS}"
    print(table(rows, list(rows[0]), title, NOTES, Page()))


if __name__ == "__main__":
    main()
