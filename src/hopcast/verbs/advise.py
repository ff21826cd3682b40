"""advise: every slice of so many chips, ranked by how long a collective takes on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hopcast import chips as sheets
from hopcast.chips import Chip, slices
from hopcast.choose import answer
from hopcast.findings import memory
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.result import Result, Row
from hopcast.units import show_seconds, show_size

from . import ask
from .predict import IDEAL

SHOWN = ("cluster", "type", "wraps", "algorithm", "price", "time_us", "bound_us", "efficiency")
# Pairs of ranks up to which schedules are simulated; a slice of more is priced step by step.
_MOST_PAIRS = 100_000
_SEARCH = 20_000  # chips up to which a number with slices is looked for


@dataclass(frozen=True)
class Candidate:
    """A slice that can be had.

    Attributes:
        cluster: As on the command line, with the options given for all.
        kind: Its accelerator type; empty where none is known, as of twisted ones.
        wraps: Names of the axes that are closed, or ``none``.
        notes: What else there is to know, as that it is above the largest job.
    """

    cluster: str
    kind: str
    wraps: str
    notes: tuple[str, ...] = ()


def advise(
    collective: str,
    *,
    chips: int,
    size: str | float,
    on: Sequence[str] = (),
    algorithm: str = "best",
    price: str = "",
    combine: str = "add",
    per_rank: bool = False,
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
) -> Result:
    """On which slice of so many chips a collective over all of them takes least time.

    Args:
        collective: A name.
        chips: Of one slice.
        size: D, bytes of the whole array.
        on: Generations, ``v5e``, with options of clusters behind them, ``v5p,latency=0``; empty: all that
            have links to simulate.
        algorithm: ``best``, ``auto`` (what the machine's software would run) or a name.
        price: ``formula``, ``steps`` or ``flows``; default the formula where it is exact, else flows, and
            steps where the slice is too large to simulate.
        combine: ``add`` or ``max``.
        per_rank: The size of all_to_all is per rank.
        root: Of rooted collectives.
        shift: Of permute.
        seed: Of random choices.

    Returns:
        One row for each shape, twisted ones apart, the fastest first: cluster, type (the accelerator type,
        where it has one), wraps (axes that are closed), algorithm, price, time_us, bound_us, efficiency.

    Raises:
        InputError: for anything that cannot be read, and if no such slice exists: it names the nearest ones.

    Cost: one prediction for each shape.

    >>> both = ["v5e,latency=0", "v4,latency=0"]
    >>> r = advise("all_gather", chips=16, on=both, size="1GiB", algorithm="auto")
    >>> [(row["cluster"], row["wraps"], row["price"], round(row["time_us"])) for row in r]
    [('v4:2x2x4,latency=0', 'none', 'flows', 9507), ('v5e:4x4,latency=0', 'none', 'flows', 11930)]
    """
    if chips < 1:
        raise InputError(f"--chips {chips}: a slice has 1 chip or more, as in --chips 16")
    found, without = _candidates(chips, on)
    answers: list[tuple[Candidate, Answer]] = []
    refused: list[str] = []
    first: InputError | None = None
    for one in found:
        try:
            asked, _ = ask.question(
                collective, one.cluster, size=size, root=root, shift=shift, seed=seed, per_rank=per_rank
            )
            many = len(asked.group.all_groups) * asked.group.ranks**2 > _MOST_PAIRS
            answers.append((one, answer(asked, algorithm, price or ("steps" if many else ""), combine)))
        except InputError as error:
            first = first or error
            refused.append(f"{one.cluster}: {error}")
    if not answers:
        raise first or _no_slice(chips, without)
    answers.sort(key=lambda pair: (pair[1].time, pair[0].cluster))
    name, nbytes = answers[0][1].question.collective, answers[0][1].question.size
    return Result(
        [_row(one, a) for one, a in answers],
        SHOWN,
        f"{name} of {show_size(nbytes)} over {chips} chips: {IDEAL}",
        [*_notes(answers), *refused, *(_none_of(chip, chips) for chip in without if on)],
        (),
        {"collective": name, "chips": chips, "size_bytes": nbytes, "on": list(on), "algorithm": algorithm},
        [a for _, a in answers],
    )


def _candidates(chips: int, on: Sequence[str]) -> tuple[list[Candidate], list[Chip]]:
    """Slices of that many chips, and the generations that have none."""
    found: dict[str, Candidate] = {}
    without: list[Chip] = []
    for said in on or _generations():
        name, *options = said.split(",")
        chip = sheets.load(name.strip())
        had = slices.shapes(chip, chips)
        if not had:
            without.append(chip)
        found |= {c.cluster: c for c in _spelled(chip, had, options)}
    return list(found.values()), without


def _spelled(chip: Chip, had: Sequence[slices.Slice], options: Sequence[str]) -> Iterator[Candidate]:
    for one in had:
        words = [f"{chip.name}:{slices.spell(one.shape)}", *["twisted"] * one.twisted, *options]
        closed = [axis for axis, wraps in zip("xyz", one.wraps, strict=False) if wraps]
        types = chip.slices is not None and chip.slices.prefixes and not one.twisted
        kind = slices.slice_to_type(chip, one.shape) if types else ""
        notes = tuple(n for n in one.notes if not n.startswith("no wrap-around"))  # a column says that
        yield Candidate(",".join(words), kind, ",".join(closed) or "none", notes)


def _generations() -> list[str]:
    """Chips whose slices can be simulated."""
    loaded = [sheets.load(name) for name in sheets.names()]
    return [c.name for c in loaded if c.slices is not None and "ici.bandwidth" in c.figures]


def _row(one: Candidate, a: Answer) -> Row:
    return {
        "cluster": one.cluster,
        "type": one.kind or None,
        "wraps": one.wraps,
        "algorithm": a.algorithm,
        "price": a.price,
        "time_us": a.time * 1e6,
        "bound_us": a.bound.seconds * 1e6,
        "efficiency": a.efficiency,
    }


def _notes(answers: Sequence[tuple[Candidate, Answer]]) -> list[str]:
    """What the ranking does not show: the spread, how it was priced, and arrays that do not fit."""
    notes = []
    (best, quick), (last, slow) = answers[0], answers[-1]
    if slow.time > quick.time > 0:
        notes.append(
            f"{best.cluster} takes {show_seconds(quick.time)}, "
            f"{last.cluster} {slow.time / quick.time:.3g} times as long"
        )
    if any(a.price == "steps" for _, a in answers):
        notes.append(
            f"price steps: a barrier after each step, for slices of more than {int(_MOST_PAIRS**0.5)} chips; "
            "--price flows simulates them"
        )
    about: dict[str, list[str]] = {}
    for one, a in answers:
        full = memory.when(a)
        for note in (*one.notes, *([f"memory: {full}"] if full else [])):
            about.setdefault(note, []).append(one.cluster)
    return notes + [f"{', '.join(some)}: {note}" for note, some in about.items()]


def _no_slice(chips: int, without: Sequence[Chip]) -> InputError:
    return InputError("; ".join(_none_of(chip, chips) for chip in without))


def _none_of(chip: Chip, chips: int) -> str:
    """That a generation has no slice of so many chips, with the numbers next to it that it has."""
    numbers = ((range(min(chips, _SEARCH) - 1, 0, -1)), range(chips + 1, _SEARCH))
    near = [next((n for n in some if slices.shapes(chip, n)), None) for some in numbers]
    words = [f"{n} ({slices.spell(slices.shapes(chip, n)[0].shape)})" for n in near if n is not None]
    return f"no slice of {chips} chips on {chip.name}; nearest is {' or '.join(words)}"
