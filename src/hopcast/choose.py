"""Which algorithm: the one named, the machine's own, or the fastest of all that fit."""

import math
from collections.abc import Mapping
from dataclasses import replace

from . import algorithms, habits, interpret
from .algorithms import Algorithm
from .ir import algebra
from .ir.collective import PAIRS
from .ir.group import Hint
from .ir.schedule import Schedule
from .names import InputError, unknown
from .predict import Answer, Choice, at_hand, beside_bounds, of_choice, time_of, timed
from .price.steps import Steps, steps
from .question import Question
from .race import Race, never_meet
from .simulate.flows import is_alike
from .simulate.symmetry import stepped

_MOST_CROSSINGS = 8_000_000  # of links, by one send for each pair; with more it is tried only by symmetry
_PATIENT = 1_024  # ranks of all groups up to which every algorithm that fits is priced
_FOLLOWED = 400_000  # sends that are followed one by one for a row of several, in half a second to three
_CELLS = 16  # that sends read and write take as long to follow as one send more
_SMALL = 3_000  # sends of a schedule that is always simulated
_MAX = "--combine max is a way to read closed forms, so --price formula answers"
_FORWARD = (
    "antipodal=forward asks for routes that go one way, so all is sent on them; --algorithm best may not"
)
_ROOM = 2.0  # times the least by steps: no schedule is known of which flows took as long as that
_SIMULATED = 4  # schedules that `best` simulates send by send: those of least time by steps


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


def choice(question: Question, algorithm: str) -> Choice:
    """The algorithm that a name, auto or best comes to, without pricing it where that can be avoided."""
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
        named, options = algorithms.parse(best(question).algorithm)
    except InputError:  # too large to be priced; it can still be built
        return _plainest(fits)
    return Choice(named, options, "best")


def library(question: Question) -> Choice | None:
    """What the machine's own software would run, where we know it (see `habits`); else None.

    Where the user chose how the network routes, every pair is served by a route.
    """
    group, name = question.group, question.collective
    if group.ranks == 1:
        return None
    if question.cluster.routing == "forward" and name in PAIRS:
        return Choice(algorithms.get("direct"), {}, "named", _FORWARD)
    known = {"xla": habits.xla, "nccl": habits.nccl}.get(question.cluster.library)
    found = None if known is None else known(question)
    if found is None:
        return None
    choice = Choice(algorithms.get(found.algorithm), found.options, "library", found.why)
    return choice if choice.algorithm.valid(name, group, question.hint) is None else None


def candidates(question: Question) -> list[Choice]:
    """All algorithms, with each value of their options, that fit and are worth trying unasked."""
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
            unique.setdefault(tuple(one.settled(t, question.group).items()), t)
        found += [Choice(one, o, "best") for o in unique.values() if _is_tried(question, one, o)]
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
    asked = price or ("formula" if combine == "max" else "")
    for one in candidates(question):
        many = not asked and not _is_patient(question) and not _is_quick(question, one, _FOLLOWED)
        try:
            made = of_choice(question, replace(one, source="named"), "steps" if many else asked, combine)
        except InputError as reason:  # too large to simulate, or no closed form where one was asked for
            reasons[one.name] = reason
            continue
        note = f"price steps, a barrier after each step: {one.name} has many sends and ranks are not alike; "
        note += f"--algorithm {one.name} follows them"
        found.append(replace(made, notes=(*made.notes, note)) if many else made)
    if not found:
        raise next(iter(reasons.values())) if reasons else _none_fits(question)
    found = _without_twins(sorted(found, key=lambda a: a.time))
    notes = [_MAX] if asked != price else []
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
        laid = _laid(question, choice, hint)
        try:
            if price != "steps" and is_alike(laid, question.cluster):
                if _every_pair(choice) and race.time < math.inf and _least(question, laid) >= race.time:
                    continue
                tried = timed(question, choice, "flows", combine)
                race.enter(choice, tried.time, "flows", tried)
            elif patient and _listable(question, choice):
                rest.append((laid, choice))
        except InputError as reason:  # it sends where no route leads; others may not
            reasons.append(reason)
    others = _ranked(question, rest, race.time, reasons)
    _simulated(question, others, race, price, combine, most)
    if race.choice is None and reasons:
        raise reasons[0]
    if race.choice is None and fits and not price:
        race.choice = _plainest(fits)
    if race.choice is None:
        raise _too_many(question) if fits else _none_fits(question)
    return beside_bounds(race.timed or timed(question, race.choice, race.price, combine))


def _ranked(
    question: Question, rest: list[tuple[Schedule, Choice]], until: float, reasons: list[InputError]
) -> list[tuple[float, float, Choice]]:
    """Time by steps, the least time of flows, and the choice, for each that has a route for all sends.

    Those of few steps come first: they rule others out before all of their steps are looked at.
    """
    found = []
    for laid, choice in sorted(rest, key=lambda r: r[0].step_count):
        try:
            by_steps, least = _by_steps(question, laid, until)
        except InputError as reason:  # it sends where no route leads; others may not
            reasons.append(reason)
            continue
        found.append((by_steps, least, choice))
        until = min(until, _ROOM * by_steps)
    return found


def _simulated(
    question: Question,
    others: list[tuple[float, float, Choice]],
    race: Race,
    price: str,
    combine: str,
    most: int | None,
) -> None:
    """Simulate those of least time by steps; ``others`` are that, the least time of flows, and the choice."""
    simulated = 0
    others.sort(key=lambda o: o[:2])
    # First the one whose busiest link carries least: lanes that overlap may make much less of their steps.
    lightest = min((o[1] for o in others), default=0.0) * (1 + 1e-9)
    first = next((i for i, o in enumerate(others) if o[1] <= lightest), 0)
    for by_steps, least, choice in [*others[first : first + 1], *others[:first], *others[first + 1 :]]:
        if least >= race.time:
            continue
        simulated += 1
        if price != "steps" and simulated > _SIMULATED and not _has_at_most(_SMALL, question, choice):
            continue
        many = not price and most is not None and not _has_at_most(most, question, choice)
        if price == "steps" or many:
            race.enter(choice, by_steps, "steps")
            continue
        try:
            tried = timed(question, choice, price or "flows", combine)
        except InputError:  # too many sends after all
            continue
        race.enter(choice, tried.time, tried.price, tried)


def _plainest(fits: list[Choice]) -> Choice:
    """What is taken where there are too many sends to compare any."""
    return next((c for c in fits if c.algorithm.name == "direct"), fits[0])


def _is_patient(question: Question) -> bool:
    return question.group.all_groups.size <= _PATIENT


def _is_exact(question: Question, choice: Choice, hint: Hint, price: str) -> bool:
    return price in ("", "flows", "steps") and choice.algorithm.exact(
        question.collective, question.group, hint
    )


def _is_quick(question: Question, choice: Choice, most: int) -> bool:
    """Whether its time is known at once: by closed form, by one rank's sends, or from at most so many."""
    hint = replace(question.hint, options=choice.options)
    if choice.algorithm.valid(question.collective, question.group, hint) is not None:
        return True  # the refusal is
    if choice.algorithm.exact(question.collective, question.group, hint):
        return True
    if is_alike(_laid(question, choice, hint), question.cluster):
        return True
    return _listable(question, choice) and _has_at_most(most, question, choice)


def _has_at_most(most: int, question: Question, choice: Choice) -> bool:
    """Whether it has no more sends; with few, simulating it costs next to nothing."""
    laid = _laid(question, choice, replace(question.hint, options=choice.options))
    sends = 0
    for rows in laid.steps():
        sends += len(rows) + int(rows.count.sum()) // _CELLS
        if sends > most:
            return False
    return True


def _listable(question: Question, choice: Choice) -> bool:
    """Whether its sends are few enough to be simulated: one for every pair of ranks may not be."""
    n = question.group.ranks
    pairs = question.collective in PAIRS or _every_pair(choice)
    topology = question.cluster.topology
    hops = sum(a.length / 4 for a in topology.axes) if topology.is_grid else 6.0  # on average, about
    return not pairs or float(n) * n * len(question.group.all_groups) * max(hops, 1.0) <= _MOST_CROSSINGS


def _every_pair(choice: Choice) -> bool:
    return bool(getattr(choice.algorithm.module, "EVERY_PAIR", False))


def _laid(question: Question, choice: Choice, hint: Hint) -> Schedule:
    """The schedule on all groups."""
    made = choice.algorithm.build(question.collective, question.group, hint)
    return algebra.lay(
        made, question.group.all_groups, question.cluster.topology.vertices, question.group.hubs
    )


def _by_steps(question: Question, laid: Schedule, until: float) -> tuple[float, float]:
    """Time by steps, and the least that flows can take; less of both where that is longer than ``until``."""
    found = steps(laid, question.cluster, question.size, until)
    return found.latency + found.bandwidth, max(_busiest(question, found), found.chain)


def _least(question: Question, laid: Schedule) -> float:
    """The least that flows can take where all ranks do alike; nothing is known elsewhere."""
    found = stepped(laid, question.cluster, question.size)
    return 0.0 if found is None else _busiest(question, found)


def _busiest(question: Question, found: Steps) -> float:
    """Seconds in which the busiest link carries all its bytes."""
    busy = found.load > 0
    return float((found.load[busy] / question.cluster.topology.bandwidth[busy]).max(initial=0.0))


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
