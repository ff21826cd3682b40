"""Who is fastest so far, and the schedules of which flows tell that quickly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .ir import algebra
from .names import InputError
from .predict import Choice, Timed, timed
from .question import Question
from .simulate import relay


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
