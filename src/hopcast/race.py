"""Who is fastest so far, and the schedules of which flows tell that quickly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .ir import algebra
from .ir.group import Hint
from .ir.schedule import Schedule
from .names import InputError
from .predict import Choice, Timed, timed
from .price.steps import Steps, steps
from .question import Question
from .simulate import relay
from .simulate.symmetry import stepped

_ROOM = 2.0  # times the least by steps: no schedule is known of which flows took as long as that
_SMALL = 3_000  # sends of a schedule that is always simulated
_ROUNDS = 6  # sends of a schedule that repeats itself are followed in the time of one of another, or more
_SIMULATED = 4  # schedules that `best` simulates send by send: those of least time by steps


@dataclass
class Race:
    """The algorithm of least time so far.

    Attributes:
        time: Its time, seconds.
        choice: None: none was tried yet.
        price: That gave the time.
        timed: How the time came about; None where a closed form or steps gave it.
    """

    time: float = math.inf
    choice: Choice | None = None
    price: str = ""
    timed: Timed | None = None

    def enter(self, choice: Choice, time: float, price: str, timed: Timed | None = None) -> None:
        """It leads from now on if it is faster by more than rounding."""
        if time < self.time * (1 - 1e-12):
            self.time, self.choice, self.price, self.timed = time, choice, price, timed


def never_meet(question: Question, choices: Sequence[Choice], race: Race) -> list[Choice]:
    """Those decided as their sends never meet, at any speed of links: all that may win are simulated.

    Args:
        question: What is asked.
        choices: Algorithms that fit.
        race: Entered by flows, from the one that may take least, until the others cannot be faster.
    """
    found, done = [], []
    for choice in choices:
        group, hint = question.group, replace(question.hint, options=choice.options)
        try:
            made = choice.algorithm.build(question.collective, group, hint)
            laid = algebra.lay(made, group.all_groups, question.cluster.topology.vertices, group.hubs)
            least = relay.least(laid, question.cluster, question.size)
        except InputError:  # it sends where no route leads
            continue
        if least is not None:
            found.append((least, choice))
    for least, choice in sorted(found, key=lambda f: f[0]):
        if least < race.time * (1 - 1e-12):
            try:
                tried = timed(question, choice, "flows", "add")
            except InputError:  # a send may wait for one of very long ago, and there are too many to follow
                continue
            race.enter(choice, tried.time, "flows", tried)
        done.append(choice)
    return done


def ranked(
    question: Question, rest: list[tuple[Schedule, Choice]], until: float, reasons: list[InputError]
) -> list[tuple[float, float, Choice]]:
    """Time by steps, the least time of flows, and the choice, for each that has a route for all sends.

    Those of few steps come first: they rule others out before all of their steps are looked at. Options that
    make no difference are left out.
    """
    found = []
    tried: list[tuple[Schedule, Choice]] = []
    for laid, choice in sorted(rest, key=lambda r: r[0].step_count):
        if any(c.algorithm is choice.algorithm and _is_same(laid, one) for one, c in tried):
            continue
        tried.append((laid, choice))
        try:
            by_steps, least = _by_steps(question, laid, until)
        except InputError as reason:  # it sends where no route leads; others may not
            reasons.append(reason)
            continue
        found.append((by_steps, least, choice))
        until = min(until, _ROOM * by_steps)
    return found


def _is_same(one: Schedule, other: Schedule) -> bool:
    """Whether two schedules have the same sends in the same steps and lanes."""
    if (one.step_count, one.chunks) != (other.step_count, other.chunks):
        return False
    first, second = (np.ones(s.chunks) if s.share is None else s.share * s.chunks for s in (one, other))
    if not np.array_equal(first, second):
        return False
    columns = ("src", "dst", "chunk", "count", "op", "lane")
    return all(
        all(np.array_equal(getattr(a, c), getattr(b, c)) for c in columns)
        for a, b in zip(one.steps(), other.steps(), strict=True)
    )


def simulate_first(
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
        if price != "steps" and simulated > _SIMULATED and not has_at_most(_SMALL, question, choice):
            continue
        many = not price and most is not None and not has_at_most(most, question, choice)
        if price == "steps" or many:
            race.enter(choice, by_steps, "steps")
            continue
        try:
            tried = timed(question, choice, price or "flows", combine)
        except InputError:  # too many sends after all
            continue
        race.enter(choice, tried.time, tried.price, tried)


def has_at_most(most: int, question: Question, choice: Choice, cell: float = 0.0) -> bool:
    """Whether it has no more sends; with few, simulating it costs next to nothing.

    ``cell`` is the part of a send that each chunk of a send counts for besides.
    """
    laid = laid_out(question, choice, replace(question.hint, options=choice.options))
    if laid.repeat is not None:
        return len(laid.repeat.step) * laid.repeat.times * len(laid.groups) <= most * _ROUNDS
    sends = 0.0
    for rows in laid.steps():
        sends += len(rows) + cell * float(rows.count.sum())
        if sends > most:
            return False
    return True


def laid_out(question: Question, choice: Choice, hint: Hint) -> Schedule:
    """The schedule on all groups."""
    made = choice.algorithm.build(question.collective, question.group, hint)
    return algebra.lay(
        made, question.group.all_groups, question.cluster.topology.vertices, question.group.hubs
    )


def _by_steps(question: Question, laid: Schedule, until: float) -> tuple[float, float]:
    """Time by steps, and the least that flows can take; less of both where that is longer than ``until``."""
    found = steps(laid, question.cluster, question.size, until)
    return found.latency + found.bandwidth, max(_busiest(question, found), found.chain)


def least(question: Question, laid: Schedule) -> float:
    """The least that flows can take where all ranks do alike; nothing is known elsewhere."""
    found = stepped(laid, question.cluster, question.size)
    return 0.0 if found is None else _busiest(question, found)


def _busiest(question: Question, found: Steps) -> float:
    """Seconds in which the busiest link carries all its bytes."""
    busy = found.load > 0
    return float((found.load[busy] / question.cluster.topology.bandwidth[busy]).max(initial=0.0))
