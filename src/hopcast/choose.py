"""Which algorithm: the one named, the machine's own, or the fastest of all that fit."""

import math
from collections.abc import Mapping
from dataclasses import replace

from . import algorithms, habits, interpret
from .algorithms import Algorithm
from .ir.collective import PAIRS
from .ir.group import Hint
from .ir.schedule import Schedule
from .names import InputError, unknown
from .predict import BY_STEPS, Answer, Choice, at_hand, beside_bounds, of_choice, time_of, timed
from .question import Question
from .race import Race, has_at_most, laid_out, least, never_meet, ranked, simulate_first
from .simulate.flows import is_alike

_MOST_CROSSINGS = 8_000_000  # of links, by one send for each pair; with more it is tried only by symmetry
_PATIENT = 1_024  # ranks of all groups up to which every algorithm that fits is priced
_FOLLOWED = 400_000  # sends that are followed one by one for a row of several, in half a second to three
_CELL = 1 / 16  # of a send: what each of its chunks takes to follow, about
_MAX = "--combine max is a way to read closed forms, so --price formula answers"
_FORWARD = (
    "antipodal=forward asks for routes that go one way, so all is sent on them; --algorithm best may not"
)
_CHOSEN_BY_STEPS = (
    "chosen by its time in steps, as there are many sends; predict follows them all and may choose another"
)
_NOT_FOLLOWED = "they have many sends and ranks are not alike; --algorithm with one name follows them all"


def answer(
    question: Question,
    algorithm: str = "auto",
    price: str = "",
    combine: str = "add",
    most: int | None = None,
) -> Answer:
    """One answer.

    Args:
        question: What is asked.
        algorithm: A name with options, auto or best.
        price: formula, steps or flows; else formula where it is exact, and flows elsewhere.
        combine: ``add`` or ``max``: how a closed form joins latency and bandwidth.
        most: Sends that are simulated one by one where ``price`` is left open; steps answer for schedules of
            more. None: however many the engine takes.

    Raises:
        InputError: for an algorithm that does not fit, or a price that it has not.
    """
    if combine not in ("add", "max"):
        raise unknown("way to combine", combine, ("add", "max"))
    if question.schedule is not None:
        return _own(question, algorithm, price, combine)
    if combine == "max" and not price:
        made = answer(question, algorithm, "formula", combine)
        return replace(made, notes=(*made.notes, _MAX))
    found = library(question) if algorithm == "auto" else None
    if algorithm == "best" or (algorithm == "auto" and found is None):
        return best(question, price, combine, most)
    if found is None:
        named, options = algorithms.parse(algorithm)
        found = Choice(named, options)
    if not price and most is not None and not _is_quick(question, found, most):
        price = "steps"
    made = of_choice(question, found, price, combine)
    return replace(made, notes=(*made.notes, found.why)) if found.why else made


def _own(question: Question, algorithm: str, price: str, combine: str) -> Answer:
    """The answer for the user's own schedule, if it computes what it claims."""
    own = question.schedule
    assert own is not None
    refuse_algorithm(algorithm)
    if combine == "max":
        raise InputError("--combine max is a way to read a closed form; a schedule has none")
    try:
        interpret.check(own)
    except interpret.CheckError as wrong:
        raise InputError(f"{own!r} does not compute its collective: {wrong}") from None
    about = question, None, own, own.algorithm, "schedule"
    return beside_bounds(time_of(*about, price, combine) if price else at_hand(*about))


def refuse_algorithm(algorithm: str) -> None:
    """A schedule is its own algorithm.

    Raises:
        InputError: if another is named beside it.
    """
    if algorithm != "auto":
        raise InputError(f"--algorithm {algorithm}: a schedule is its own algorithm; leave it off")


def choice(question: Question, algorithm: str, most: int | None = None) -> Choice:
    """The algorithm that a name, auto or best comes to, without pricing it where that can be avoided.

    ``most`` is that of `answer`.
    """
    if algorithm not in ("auto", "best"):
        named, options = algorithms.parse(algorithm)
        return Choice(named, options)
    found = library(question) if algorithm == "auto" else None
    if found is not None:
        return found
    fits = candidates(question)
    if not fits:
        raise _none_fits(question)
    try:
        fastest = best(question, most=most)
    except InputError:  # too large to be priced; it can still be built
        return _plainest(fits)
    named, options = algorithms.parse(fastest.algorithm)
    return Choice(named, options, "best", _CHOSEN_BY_STEPS if fastest.price == "steps" else "")


def library(question: Question) -> Choice | None:
    """What the machine's own software would run, where we know it (see `habits`); else None.

    Where the user chose how the network routes, every pair is served by a route.
    """
    group, name = question.group, question.collective
    if group.ranks == 1:
        return None
    if question.cluster.routing == "forward" and name in PAIRS:
        return Choice(algorithms.get("direct"), {}, "named", _FORWARD)
    known = {"xla": habits.xla, "nccl": habits.nccl}.get(question.cluster.stack)
    # NCCL finds out which ranks share a node, whatever their order.
    asked = _by_place(question) if known is habits.nccl else question
    found = None if known is None else known(asked)
    if found is None:
        return None
    choice = Choice(algorithms.get(found.algorithm), found.options, "library", found.why)
    hint = replace(question.hint, options=found.options)
    return choice if choice.algorithm.valid(name, group, hint) is None else None


def _by_place(question: Question) -> Question:
    """What is asked of the same ranks in order of place."""
    by_place = algorithms.by_place(question.collective, question.group)
    return replace(question, group=by_place.group, hint=by_place.hint(question.hint))


def candidates(question: Question) -> list[Choice]:
    """All algorithms, with each value of their options, that fit and are worth trying unasked.

    What the machine's own software would run is among them, with whatever options.
    """
    found = []
    for name in algorithms.names():
        one = algorithms.get(name)
        tries: list[dict[str, str]] = [{}]
        for key, values in one.options.items():
            tries = (
                [t | ({} if v in ("auto", values[0]) else {key: v}) for t in tries for v in values]
                if values
                else tries
            )
        unique: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        for t in tries:
            unique.setdefault(tuple(one.settled(t, question.group, question.collective).items()), t)
        found += [Choice(one, o, "best") for o in unique.values() if _is_tried(question, one, o)]
    own = library(question)
    if own is not None and own.name not in [c.name for c in found]:
        found.append(Choice(own.algorithm, own.options, "best"))
    return found


def _is_tried(question: Question, one: Algorithm, options: Mapping[str, str]) -> bool:
    """Whether an algorithm fits and need not be named; that it need not costs less to find out."""
    asked = question.collective, question.group, replace(question.hint, options=options)
    return one.unasked(*asked) is None and one.valid(*asked) is None


def every(question: Question, price: str = "", combine: str = "add") -> list[Answer]:
    """One answer for each algorithm that fits, fastest first; what is left out, a note says.

    Of more than 1,024 ranks those stand by their steps whose sends write very many cells.

    Raises:
        InputError: if none fits.
    """
    found: list[Answer] = []
    reasons: dict[str, InputError] = {}
    barred: list[str] = []
    asked = price or ("formula" if combine == "max" else "")
    for one in candidates(question):
        many = not asked and not _is_patient(question) and not _is_quick(question, one, _FOLLOWED, _CELL)
        try:
            made = of_choice(question, replace(one, source="named"), "steps" if many else asked, combine)
        except InputError as reason:  # too large to simulate, or no closed form where one was asked for
            reasons[one.name] = reason
            continue
        found.append(made)
        barred += [one.name] * many
    if not found:
        raise next(iter(reasons.values())) if reasons else _none_fits(question)
    found = _without_twins(sorted(found, key=lambda a: a.time))
    notes = [_MAX] if asked != price else []
    if barred:
        notes.append(f"{BY_STEPS}, for {', '.join(barred)}: {_NOT_FOLLOWED}")
    if reasons:
        why = "they have no closed form here" if asked == "formula" else str(next(iter(reasons.values())))
        notes.append(f"left out: {', '.join(reasons)}; {why}")
    return [replace(found[0], notes=(*found[0].notes, *notes)), *found[1:]]


def _without_twins(found: list[Answer]) -> list[Answer]:
    """One answer of those whose options make no difference."""
    kept: list[Answer] = []
    for a in found:
        base, steps_of_a = a.algorithm.partition(",")[0], a.schedule.step_count
        twins = (
            k for k in kept if k.algorithm.partition(",")[0] == base and k.schedule.step_count == steps_of_a
        )
        if not any(abs(k.time - a.time) <= 1e-12 * a.time for k in twins):
            kept.append(a)
    return kept


def best(question: Question, price: str = "", combine: str = "add", most: int | None = None) -> Answer:
    """The algorithm of least time.

    Closed forms that are exact decide at once, and where all ranks and links are alike, or sends never meet,
    simulation costs next to nothing. The others are ranked by their steps, and the first few of them that the
    load of their busiest link does not rule out are simulated; before them the one whose busiest link carries
    least. ``most`` is that of `answer`: what has more sends stands by its steps.

    Raises:
        InputError: if none fits.
    """
    fits = candidates(question)
    race = Race()
    open_ones: list[tuple[Choice, Hint]] = []
    for choice in fits:
        hint = replace(question.hint, options=choice.options)
        cost = choice.algorithm.cost(question.collective, question.group, hint)
        if cost is not None and (price == "formula" or _is_exact(question, choice, hint, price)):
            race.enter(choice, cost.total(combine), price)
        elif price != "formula":
            open_ones.append((choice, hint))
    rest: list[tuple[Schedule, Choice]] = []
    reasons: list[InputError] = []
    if price != "steps" and combine == "add":
        quick = never_meet(question, [choice for choice, _ in open_ones], race)
        open_ones = [o for o in open_ones if not any(o[0] is choice for choice in quick)]
    # On a pod, following every send is worth the time only if nothing else is known.
    patient = race.choice is None or _is_patient(question)
    # Last those with a send for every pair: their load may rule them out.
    for choice, hint in sorted(open_ones, key=lambda o: _every_pair(o[0])):
        laid = laid_out(question, choice, hint)
        try:
            if price != "steps" and is_alike(laid, question.cluster):
                if _every_pair(choice) and race.time < math.inf and least(question, laid) >= race.time:
                    continue
                tried = timed(question, choice, "flows", combine)
                race.enter(choice, tried.time, "flows", tried)
            elif patient and _listable(question, choice):
                rest.append((laid, choice))
        except InputError as reason:  # it sends where no route leads; others may not
            reasons.append(reason)
    others = ranked(question, rest, race.time, reasons)
    simulate_first(question, others, race, price, combine, most)
    if race.choice is None and reasons:
        raise reasons[0]
    if race.choice is None and fits and not price:
        race.choice = _plainest(fits)
    if race.choice is None and fits and price == "formula":
        raise InputError(
            f"no algorithm has a closed form for {question.collective} on {question.cluster.name}; "
            "use --price steps or flows"
        )
    if race.choice is None:
        raise _too_many(question) if fits else _none_fits(question)
    return beside_bounds(race.timed or timed(question, race.choice, race.price, combine))


def _plainest(fits: list[Choice]) -> Choice:
    """What is taken where there are too many sends to compare any."""
    return next((c for c in fits if c.algorithm.name == "direct"), fits[0])


def _is_patient(question: Question) -> bool:
    return question.group.all_groups.size <= _PATIENT


def _is_exact(question: Question, choice: Choice, hint: Hint, price: str) -> bool:
    return price in ("", "flows", "steps") and choice.algorithm.exact(
        question.collective, question.group, hint
    )


def _is_quick(question: Question, choice: Choice, most: int, cell: float = 0.0) -> bool:
    """Whether its time is known at once: by closed form, by one rank's sends, or from at most so many."""
    hint = replace(question.hint, options=choice.options)
    if choice.algorithm.valid(question.collective, question.group, hint) is not None:
        return True  # the refusal is
    if choice.algorithm.exact(question.collective, question.group, hint):
        return True
    if is_alike(laid_out(question, choice, hint), question.cluster):
        return True
    return _listable(question, choice) and has_at_most(most, question, choice, cell)


def _listable(question: Question, choice: Choice) -> bool:
    """Whether its sends are few enough to be simulated: one for every pair of ranks may not be."""
    n = question.group.ranks
    pairs = question.collective in PAIRS or _every_pair(choice)
    topology = question.cluster.topology
    hops = sum(a.length / 4 for a in topology.axes) if topology.is_grid else 6.0  # on average, about
    return not pairs or float(n) * n * len(question.group.all_groups) * max(hops, 1.0) <= _MOST_CROSSINGS


def _every_pair(choice: Choice) -> bool:
    return bool(getattr(choice.algorithm.module, "EVERY_PAIR", False))


def _too_many(question: Question) -> InputError:
    n = question.group.ranks
    return InputError(
        f"{question.collective} over {n:,} ranks takes up to {float(n) * n:,.0f} sends, too many to try; "
        "name an --algorithm, or use --price formula"
    )


def _none_fits(question: Question) -> InputError:
    have = ", ".join(n for n in algorithms.names() if question.collective in algorithms.get(n).collectives)
    return InputError(
        f"no algorithm gives {question.collective} on {question.cluster.name}; tried: {have or 'none'}"
    )
