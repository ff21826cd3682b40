"""How long a collective takes: choose an algorithm, price it, name what limits it, set it beside the bound."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from . import algorithms, names
from .algorithms import Algorithm
from .ir import algebra
from .ir.cluster import Cluster
from .ir.collective import ALIASES, NAMES, busbw_factor, of, per_rank_size
from .ir.group import Cost, Group, Hint
from .ir.mesh import Mesh
from .ir.schedule import Schedule
from .ir.topology import Floats
from .names import InputError
from .price import bounds
from .price.steps import Steps, steps
from .simulate.reference import Flows, simulate

PRICES = ("formula", "steps", "flows")
_MANY = 4_000_000  # sends of one step that are still listed
_TRY = 300_000  # sends that `best` simulates for one candidate


def collective_name(given: str) -> str:
    """The collective that a word spells: AllGather, all-gather, sendrecv.

    Raises:
        InputError: naming the nearest and all of them.
    """
    flat = names.snake(given)
    return names.pick("collective", ALIASES.get(flat, ALIASES.get(flat.replace("_", ""), given)), NAMES)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked.

    Attributes:
        cluster: Where.
        collective: One of the nine names, or the name that a schedule claims.
        mesh: Logical or physical axes.
        over: Axes that it runs over; empty: all.
        group: The groups that come of that.
        size: D of one group, bytes.
        hint: Root, shift, seed, alpha.
        schedule: The user's own; else an algorithm is chosen.
    """

    cluster: Cluster
    collective: str
    mesh: Mesh
    over: tuple[str, ...]
    group: Group
    size: float
    hint: Hint
    schedule: Schedule | None = None

    @property
    def physical_axes(self) -> list[int] | None:
        """Physical axes that the collective runs over; None where that says nothing about links."""
        inside = [
            f
            for n, f in zip(self.mesh.names, self.mesh.factors, strict=True)
            if not self.over or n in self.over
        ]
        if not self.cluster.topology.is_grid or any(f is None for f in inside):
            return None
        return sorted({part.axis for f in inside if f is not None for part in f})


@dataclass(frozen=True, eq=False)
class Answer:
    """What comes of it. Times in seconds.

    Attributes:
        question: What was asked.
        algorithm: Name with options.
        source: Who chose it: named, library, best, schedule.
        price: Which price answered.
        latency, bandwidth: Parts of the time: along the critical path by flows.
        time: In all.
        schedule: Laid over all groups.
        steps: The step price; None where its sends are too many to list.
        flows: The simulation, where one was run.
        bound, limit: The least time on the links asked for, and on all.
    """

    question: Question
    algorithm: str
    source: str
    price: str
    latency: float
    bandwidth: float
    time: float
    schedule: Schedule
    steps: Steps | None
    flows: Flows | None
    bound: bounds.Bound
    limit: bounds.Bound
    notes: tuple[str, ...] = ()

    @property
    def load(self) -> Floats | None:
        """``float64[m]``: bytes over each link."""
        return self.flows.load if self.flows else self.steps.load if self.steps else None

    @property
    def efficiency(self) -> float:
        """Bound / time; 1 where nothing has to be done."""
        return self.bound.seconds / self.time if self.time > 0 else 1.0

    @property
    def bottleneck(self) -> str:
        """What the time goes to, in words."""
        if self.time == 0:
            return "none"
        if self.latency > self.bandwidth:
            return f"latency: {self.latency / self.time:.0%} of the time"
        load, topology = self.load, self.question.cluster.topology
        if load is None or not load.any():
            return "bandwidth"
        busy = np.zeros(len(load))
        np.divide(load, topology.bandwidth, out=busy, where=load > 0)
        hottest = np.flatnonzero(busy >= busy.max() * (1 - 1e-9))
        more = f" and {len(hottest) - 1} more links" if len(hottest) > 1 else ""
        return (
            f"link {topology.link_name(int(hottest[0]))}{more}: busy {busy.max() / self.time:.0%} of the time"
        )

    def row(self) -> dict[str, object]:
        """The row of `hopcast predict`, without findings."""
        q = self.question
        name, n = q.collective, q.group.ranks
        per_rank = per_rank_size(name, n, q.size)
        algbw = per_rank / self.time / 1e9 if self.time > 0 else None
        factor = busbw_factor(name, n) if name in NAMES else None
        return {
            "cluster": q.cluster.name,
            "collective": name,
            "algorithm": self.algorithm,
            "algorithm_source": self.source,
            "price": self.price,
            "over": ",".join(q.over or q.mesh.names),
            "ranks": n,
            "groups": len(q.group.all_groups),
            "size_bytes": _whole(q.size),
            "per_rank_bytes": _whole(per_rank),
            "steps": self.schedule.step_count,
            "time_us": self.time * 1e6,
            "latency_us": self.latency * 1e6,
            "bandwidth_us": self.bandwidth * 1e6,
            "algbw_GBps": algbw,
            "busbw_GBps": algbw * factor if algbw is not None and factor is not None else None,
            "bound_us": self.bound.seconds * 1e6,
            "bound_kind": self.bound.kind,
            "limit_us": self.limit.seconds * 1e6,
            "efficiency": self.efficiency,
            "bottleneck": self.bottleneck,
            "max_link_bytes": None if self.load is None else float(self.load.max(initial=0.0)),
        }


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


@dataclass(frozen=True)
class Choice:
    """An algorithm with options, and who chose it."""

    algorithm: Algorithm
    options: Mapping[str, str] = field(default_factory=dict)
    source: str = "named"

    @property
    def name(self) -> str:
        """As on the command line."""
        return ",".join([self.algorithm.name, *(f"{k}={v}" for k, v in self.options.items())])


def answer(question: Question, algorithm: str = "auto", price: str = "", combine: str = "add") -> Answer:
    """One answer.

    Args:
        question: What is asked.
        algorithm: A name with options, auto or best.
        price: formula, steps or flows; else formula where it is exact, and flows elsewhere.
        combine: ``add`` or ``max``: how a closed form joins latency and bandwidth.

    Raises:
        InputError: for an algorithm that does not fit, or a price that it has not.
    """
    if question.schedule is not None:
        return _price(
            question,
            None,
            question.schedule,
            question.schedule.algorithm,
            "schedule",
            price or "flows",
            combine,
        )
    if algorithm == "best":
        return best(question, price, combine)
    if algorithm == "auto":
        found = library(question)
        return (
            best(question, price, combine) if found is None else _of_choice(question, found, price, combine)
        )
    named, options = algorithms.parse(algorithm)
    return _of_choice(question, Choice(named, options), price, combine)


def library(question: Question) -> Choice | None:
    """What the machine's own software would run, where we know it; else None.

    On TPUs XLA runs rings on wrapped axes, chains on open ones, one colour per rotated axis order on several axes, and
    routes all_to_all and permute directly.
    Source: collective_algorithm_config of the TPU compiler, libtpu of jax 0.10.2, read 2026-11.
    """
    group, name = question.group, question.collective
    if question.cluster.library != "xla" or group.switched or group.ranks == 1:
        return None
    if name in ("all_to_all", "permute"):
        chosen, options = "direct", {}
    elif name not in ("all_gather", "reduce_scatter", "all_reduce"):
        return None
    elif len(group.axes) > 1:
        chosen, options = "multi_axis", {}
    else:
        chosen, options = ("bidirectional_ring", {"split": "on"}) if group.axes[0].wraps else ("chain", {})
    choice = Choice(algorithms.get(chosen), options, "library")
    return choice if choice.algorithm.valid(name, group, question.hint) is None else None


def candidates(question: Question) -> list[Choice]:
    """All algorithms, with each value of their options, that fit."""
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
        unique = {tuple(t.items()): t for t in tries}
        found += [
            Choice(one, options, "best")
            for options in unique.values()
            if one.valid(question.collective, question.group, replace(question.hint, options=options)) is None
        ]
    return found


def every(question: Question, price: str = "", combine: str = "add") -> list[Answer]:
    """One answer for each algorithm that fits, fastest first.

    Raises:
        InputError: if none fits.
    """
    found = []
    for choice in candidates(question):
        try:
            found.append(_of_choice(question, replace(choice, source="named"), price, combine))
        except InputError:  # too large to simulate, or no closed form where one was asked for
            continue
    if not found:
        raise _none_fits(question)
    return sorted(found, key=lambda a: a.time)


def best(question: Question, price: str = "", combine: str = "add") -> Answer:
    """The algorithm of least time; those of many sends are only tried if nothing smaller is found.

    Raises:
        InputError: if none fits.
    """
    leading: Answer | None = None
    late: list[Choice] = []
    for choice in candidates(question):
        hint = replace(question.hint, options=choice.options)
        exact = choice.algorithm.exact(question.collective, question.group, hint)
        if not exact and _sends(question, choice, hint) > _TRY:
            late.append(choice)
            continue
        leading = _better(leading, _of_choice(question, choice, price, combine))
        if leading and leading.time <= leading.bound.seconds * (1 + 1e-9):
            return leading
    for choice in late if leading is None else []:
        leading = _better(leading, _of_choice(question, choice, price, combine))
    if leading is None:
        raise _none_fits(question)
    return leading


def _better(old: Answer | None, new: Answer) -> Answer:
    return new if old is None or new.time < old.time * (1 - 1e-12) else old


def _none_fits(question: Question) -> InputError:
    have = ", ".join(n for n in algorithms.names() if question.collective in algorithms.get(n).collectives)
    return InputError(
        f"no algorithm gives {question.collective} on {question.cluster.name}; tried: {have or 'none'}"
    )


def _sends(question: Question, choice: Choice, hint: Hint) -> float:
    """About how many sends a schedule has: those of its first, middle and last step, for all steps and groups."""
    n = question.group.ranks
    if question.collective == "all_to_all":
        return float(n) * n * len(question.group.all_groups)
    made = choice.algorithm.build(question.collective, question.group, hint)
    some = sorted({0, made.step_count // 2, made.step_count - 1} & set(range(made.step_count)))
    return (
        float(np.mean([len(made.make(i)) for i in some])) * made.step_count * len(question.group.all_groups)
        if some
        else 0.0
    )


def _of_choice(question: Question, choice: Choice, price: str, combine: str) -> Answer:
    hint = replace(question.hint, options=choice.options)
    one = choice.algorithm
    reason = one.valid(question.collective, question.group, hint)
    if reason:
        raise InputError(reason)
    exact = one.exact(question.collective, question.group, hint)
    made = one.build(question.collective, question.group, hint)
    cost = one.cost(question.collective, question.group, hint)
    chosen = price or ("formula" if exact else "flows")
    if chosen == "formula" and cost is None:
        raise InputError(
            f"{choice.name} has no closed form for {question.collective} on {question.cluster.name}; use --price steps or flows"
        )
    if combine == "max" and chosen != "formula":
        raise InputError(
            f"--combine max is a way to read a closed form; {choice.name} is priced by {chosen} here"
        )
    return _price(question, cost, made, choice.name, choice.source, chosen, combine)


def _price(
    question: Question, cost: Cost | None, made: Schedule, name: str, source: str, price: str, combine: str
) -> Answer:
    if price not in PRICES:
        raise names.unknown("price", price, PRICES)
    cluster, group = question.cluster, question.group
    laid = (
        made
        if question.schedule is not None
        else algebra.lay(made, group.all_groups, cluster.topology.vertices)
    )
    huge = question.collective == "all_to_all" and float(group.ranks) ** 2 * len(group.all_groups) > _MANY
    stepped = None if huge else steps(laid, cluster, question.size)
    flowed: Flows | None = None
    if price == "formula":
        if cost is None:
            raise InputError(f"{name} has no closed form; use --price steps or flows")
        latency, bandwidth, time = cost.latency, cost.bandwidth, cost.total(combine)
    elif price == "steps":
        if stepped is None:
            raise InputError(
                f"{name} on {group.ranks} ranks is {group.ranks**2:,} sends in one step: too many to list; use --price formula"
            )
        latency, bandwidth, time = stepped.latency, stepped.bandwidth, stepped.latency + stepped.bandwidth
    else:
        flowed = simulate(laid, cluster, question.size)
        time, latency = flowed.seconds, flowed.critical_latency()
        bandwidth = time - latency
    standard = question.collective in NAMES
    goal = (
        of(question.collective, group.ranks, root=question.hint.root, shift=question.hint.shift)
        if standard
        else made.collective
    )
    share = made.share if not standard else None
    args = (cluster, goal, group.all_groups, question.size)
    lower = bounds.bound_on_axes(*args, question.physical_axes, share=share)
    return Answer(
        question,
        name,
        source,
        price,
        latency,
        bandwidth,
        time,
        laid,
        stepped,
        flowed,
        lower,
        bounds.limit(*args, share=share),
    )
