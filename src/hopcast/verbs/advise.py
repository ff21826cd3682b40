"""advise: every slice of so many chips and orders to lay a mesh on it, ranked by a collective's time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hopcast import chips as sheets
from hopcast.chips import Chip, slices
from hopcast.clusters import cluster as cluster_named
from hopcast.findings import memory
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.read.schedule import is_schedule
from hopcast.result import Result, Row
from hopcast.units import show_both, show_seconds

from . import _layouts, ask
from ._advice import answer
from .predict import IDEAL

SHOWN = ("cluster", "type", "wraps", "algorithm", "price", "time_us", "bound_us", "efficiency", "limit_us")
# Sends that are simulated one by one, in half a second to three; where chips are alike any number is.
_MOST_SENDS = 400_000
_SEARCH = 20_000  # chips up to which a number with slices is looked for


@dataclass(frozen=True)
class Candidate:
    """A slice that can be had, and a way to lay the mesh on it.

    Attributes:
        cluster: As on the command line, with the options given for all.
        kind: Its accelerator type; empty where none is known, as of twisted ones.
        wraps: Names of the axes that are closed, or ``none``.
        notes: What else there is to know, as that it is above the largest job.
        order: As ``--order`` takes it; empty without a mesh.
        mesh: Which physical axes each logical axis lies on.
    """

    cluster: str
    kind: str
    wraps: str
    notes: tuple[str, ...] = ()
    order: str = ""
    mesh: str = ""

    @property
    def name(self) -> str:
        """The cluster, and the order where there is one."""
        return f"{self.cluster} --order {self.order}" if self.order else self.cluster


def advise(
    collective: str,
    *,
    chips: int,
    size: str | float,
    on: Sequence[str] = (),
    mesh: str | None = None,
    over: str | Sequence[str] | None = None,
    algorithm: str = "best",
    price: str = "",
    combine: str = "add",
    per_rank: bool = False,
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    doing: Callable[[str], None] | None = None,
) -> Result:
    """On which slice of so many chips, and along which of its axes, a collective takes least time.

    Args:
        collective: A name, or a schedule's file.
        chips: Of one slice.
        size: D, bytes of the whole array of one group.
        on: Generations, ``v5e``, with options of clusters behind them, ``v5p,latency=0``; empty: all that
            have links to simulate.
        mesh: Logical axes, ``data=16,model=4``: each of jax's order and row-major orders over the physical
            axes that makes a difference is a row. None: the collective is over all chips.
        over: Those of the collective; None: all.
        algorithm: ``best``, ``auto`` (what the machine's software would run) or a name.
        price: ``formula``, ``steps`` or ``flows``; default the formula where it is exact, else flows, and
            steps for schedules of more than 400,000 sends on a slice where chips are not alike.
        combine: ``add`` or ``max``.
        per_rank: The size of all_to_all is per rank.
        root: Of rooted collectives.
        shift: Of permute.
        seed: Of random choices.
        doing: Told which slice is looked at.

    Returns:
        One row for each shape, twisted ones apart, and order, the fastest first: cluster, type (the
        accelerator type, where it has one), wraps (axes that are closed), order (as ``--order`` takes it) and
        mesh (in words), algorithm, price, time_us, bound_us, efficiency, limit_us.

    Raises:
        InputError: for anything that cannot be read, and if no such slice exists: it names the nearest ones.

    Cost: one prediction for each row.

    >>> both = ["v5e,latency=0", "v4,latency=0"]
    >>> r = advise("all_gather", chips=16, on=both, size="1GiB", algorithm="auto")
    >>> [(row["cluster"], row["wraps"], row["price"], round(row["time_us"])) for row in r]
    [('v4:2x2x4,latency=0', 'none', 'flows', 9507), ('v5e:4x4,latency=0', 'none', 'flows', 11930)]
    >>> r = advise("all_reduce", chips=128, on=["v5p"], size="1GiB", mesh="data=16,model=8", over="model")
    >>> first, *_, last = r.rows
    >>> first["mesh"], last["mesh"], round(last["time_us"] / first["time_us"], 1)
    ('data=16 on x x z[4 of 8, every 2], model=8 on z[2 of 8] x y', 'data=16 on x x y, model=8 on z', 1.5)
    """
    if chips < 1:
        raise InputError(f"--chips {chips}: a slice has 1 chip or more, as in --chips 16")
    if over and mesh is None:
        raise InputError(f"--over {over}: it names axes of a mesh; write --mesh data=16,model=4 as well")
    # A schedule is its own algorithm, also beside the default.
    own = is_schedule(collective) and algorithm in ("best", "auto")
    by = "auto" if own else algorithm
    found, without = _candidates(chips, on)
    refused: list[str] = []
    first: InputError | None = None
    answers: list[tuple[Candidate, Answer]] = []
    for nth, slice_ in enumerate(found, 1):
        if doing is not None:
            doing(f"looking at {slice_.cluster}, {nth} of {len(found)} slices")
        try:
            for one in _laid(slice_, mesh, over):
                asked, _ = ask.question(
                    collective, one.cluster, size=size, root=root, shift=shift, seed=seed,
                    per_rank=per_rank, mesh=mesh, over=over, order=one.order,
                )  # fmt: skip
                answers.append((one, answer(asked, by, price, combine, _MOST_SENDS)))
        except InputError as error:
            first = first or error
            refused.append(f"{slice_.cluster}: {error}")
    if not answers:
        raise first or _no_slice(chips, without)
    answers.sort(key=lambda pair: (pair[1].time, pair[0].order not in ("", "jax"), pair[0].name))
    asked = answers[0][1].question
    where = f"over {','.join(asked.over or asked.mesh.names)} of {mesh} on" if mesh else "over"
    ranked, plural = _ranked("" if own else algorithm), "s" * (chips != 1)
    return Result(
        [_row(one, a) for one, a in answers],
        (*SHOWN, "order", "mesh") if mesh else SHOWN,
        f"{asked.collective} of {show_both(asked.size)} {where} {chips} chip{plural}, {ranked}: {IDEAL}",
        [*_notes(answers), *refused, *(_none_of(chip, chips) for chip in without if on)],
        (),
        {
            "collective": asked.collective, "chips": chips, "size_bytes": asked.size, "on": list(on),
            "mesh": mesh, "over": list(asked.over), "algorithm": algorithm,
        },
        [a for _, a in answers],
    )  # fmt: skip


def _ranked(algorithm: str) -> str:
    """What the order of the rows goes by, in words; of a schedule no algorithm."""
    if not algorithm:
        return "ranked by its time"
    if algorithm == "best":
        return "ranked by the fastest schedule known (--algorithm auto: by what XLA runs)"
    return f"ranked by {'what XLA runs' if algorithm == 'auto' else algorithm}"


def _laid(one: Candidate, mesh: str | None, over: str | Sequence[str] | None) -> Iterator[Candidate]:
    """The slice with the orders of the mesh on it that make a difference."""
    if mesh is None:
        yield one
        return
    where = cluster_named(one.cluster)
    axes = ask.lengths(mesh)
    names = over.replace(" ", "").split(",") if isinstance(over, str) else list(over or ())
    for way in _layouts.layouts(where, axes, names):
        yield replace(one, order=way.order, mesh=way.words)


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
        "limit_us": a.limit.seconds * 1e6,
        "order": one.order or None,
        "mesh": one.mesh or None,
    }


def _notes(answers: Sequence[tuple[Candidate, Answer]]) -> list[str]:
    """What the ranking does not show: the spread, how it was priced, and arrays that do not fit."""
    notes = []
    (best, quick), (last, slow) = answers[0], answers[-1]
    if slow.time > quick.time > 0:
        notes.append(
            f"{best.name} takes {show_seconds(quick.time)}, "
            f"{last.name} {slow.time / quick.time:.3g} times as long"
        )
    barred = dict.fromkeys(one.name for one, a in answers if a.price == "steps")
    if barred:
        notes.append(
            f"price steps, a barrier after each step: {', '.join(barred)}, for more than {_MOST_SENDS:,} "
            "sends where chips are not alike; --price flows simulates them"
        )
    about: dict[str, list[str]] = {}
    for one, a in answers:
        full = memory.when(a)
        for note in (*one.notes, *([f"memory: {full}"] if full else [])):
            about.setdefault(note, []).append(one.cluster)
    return notes + [f"{', '.join(dict.fromkeys(some))}: {note}" for note, some in about.items()]


def _no_slice(chips: int, without: Sequence[Chip]) -> InputError:
    return InputError("; ".join(_none_of(chip, chips) for chip in without))


def _none_of(chip: Chip, chips: int) -> str:
    """That a generation has no slice of so many chips, with the numbers next to it that it has."""
    numbers = ((range(min(chips, _SEARCH) - 1, 0, -1)), range(chips + 1, _SEARCH))
    near = [next((n for n in some if slices.shapes(chip, n)), None) for some in numbers]
    words = [f"{n} ({slices.spell(slices.shapes(chip, n)[0].shape)})" for n in near if n is not None]
    return f"no slice of {chips} chip{'s' * (chips != 1)} on {chip.name}; nearest is {' or '.join(words)}"
