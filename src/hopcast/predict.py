"""How long a collective takes by one algorithm: price it, name what limits it, set it beside the bound."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from . import names
from .algorithms import Algorithm
from .ir import algebra, hubs
from .ir.collective import NAMES, PAIRS, Collective, busbw_factor, per_rank_size
from .ir.group import Cost
from .ir.schedule import Schedule
from .ir.topology import Floats, Topology
from .names import InputError
from .price import bounds, bounds_traffic
from .price.bounds_traffic import Traffic
from .price.steps import Steps, steps
from .question import Question
from .simulate import every_pair, listing, window
from .simulate.flows import Flows, simulate
from .simulate.symmetry import stepped as stepped_of

PRICES = ("formula", "steps", "flows")
_MANY = 4_000_000  # sends of one step that are still listed
_FEWER = 500_000  # the same, where only findings look at the steps
_FOLLOWED = 200_000  # the same, where ranks do not do alike and every send is likely to be followed anyway
BY_STEPS = "price steps, a barrier after each step"
_BEYOND = {"steps": BY_STEPS, "formula": "price formula, though it is not exact here"}
_ROUGH = "trees share links, and rounding decides which of two sends ends first: times vary within 1%"
_READ = 1_000_000  # sends read to find the switches among those that send and receive: 0.2 s
_DETAILED = 20_000  # sends whose times are kept on request though a shortcut would do without: under 0.1 s


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
        made: The schedule on local ranks of one group.
        schedule: Laid over all groups.
        stepped: The step price, where it answered.
        flows: The simulation, where one was run.
        notes: What to say of how the answer was found: a slower engine, a time that is not exact.
    """

    question: Question
    algorithm: str
    source: str
    price: str
    latency: float
    bandwidth: float
    time: float
    made: Schedule
    schedule: Schedule
    stepped: Steps | None
    flows: Flows | None
    notes: tuple[str, ...] = ()

    @functools.cached_property
    def steps(self) -> Steps | None:
        """The step price, found when somebody asks; None where its sends are too many to list."""
        many = _FEWER if self.price == "flows" else _MANY
        return self.stepped or _stepped(self.question, self.schedule, many)

    @functools.cached_property
    def _bounds(self) -> tuple[bounds.Bound, bounds.Bound]:
        """Found when somebody asks: who compares many answers looks at few of them."""
        return _bounds(self.question, self.made, self.schedule, self.load)

    @property
    def bound(self) -> bounds.Bound:
        """The least time on the links asked for."""
        return self._bounds[0]

    @property
    def limit(self) -> bounds.Bound:
        """The least time on all links."""
        return self._bounds[1]

    @property
    def load(self) -> Floats | None:
        """``float64[m]``: bytes over each link."""
        return self.flows.load if self.flows else self.steps.load if self.steps else None

    @property
    def efficiency(self) -> float:
        """Bound / time; 1 where nothing has to be done."""
        return self.bound.seconds / self.time if self.time > 0 else 1.0

    @property
    def waits(self) -> float:
        """Latency on the critical path, seconds, also where the busiest link works meanwhile."""
        return self.latency if self.flows is None else self.flows.critical_latency()

    @property
    def is_latency_bound(self) -> bool:
        """Whether it takes longer than the bytes."""
        return self.waits > self.bandwidth

    @property
    def bottleneck(self) -> str:
        """What the time goes to, in words."""
        if self.time == 0:
            return "none"
        if self.is_latency_bound:
            return f"latency: {self.waits / self.time:.0%} of the time"
        load, topology = self.load, self.question.cluster.topology
        if load is None or not load.any():
            return "bandwidth"
        busy = _busy(load, topology)
        hottest = np.flatnonzero(busy >= busy.max() * (1 - 1e-9))
        others = len(hottest) - 1
        more = f" and {others} more link{'s' * (others > 1)}" if others else ""
        name, part = topology.link_name(int(hottest[0])), busy.max() / self.time
        return f"link {name}{more}: busy {part:.0%} of the time"

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
    """An algorithm with options, who chose it, and why where there was a choice."""

    algorithm: Algorithm
    options: Mapping[str, str] = field(default_factory=dict)
    source: str = "named"
    why: str = ""

    @property
    def name(self) -> str:
        """As on the command line."""
        return ",".join([self.algorithm.name, *(f"{k}={v}" for k, v in self.options.items())])


@dataclass(frozen=True, eq=False)
class Timed:
    """One schedule and its time, not yet beside any bound. Times in seconds.

    Attributes:
        question, algorithm, source, price, latency, bandwidth, time: As of the `Answer`.
        made: On local ranks of one group.
        schedule: Laid over all groups.
        steps: Where they gave the time.
        flows: Where they did.
        notes: Why they did not, where they should have.
    """

    question: Question
    algorithm: str
    source: str
    price: str
    latency: float
    bandwidth: float
    time: float
    made: Schedule
    schedule: Schedule
    steps: Steps | None
    flows: Flows | None
    notes: tuple[str, ...] = ()


def of_choice(question: Question, choice: Choice, price: str, combine: str) -> Answer:
    """The answer of one algorithm.

    Raises:
        InputError: if it does not fit, or has no closed form where one is asked for.
    """
    return beside_bounds(timed(question, choice, price, combine, window.MOST))


def timed(question: Question, choice: Choice, price: str, combine: str, most: int | None = None) -> Timed:
    """The time of one algorithm: all of its answer that it takes to choose among several.

    Where no price is asked for, it is the closed form where that is exact, and elsewhere flows; where these
    have too many sends to follow, steps.

    Raises:
        InputError: if it does not fit, or has no closed form where one is asked for.
    """
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
            f"{choice.name} has no closed form for {question.collective} on {question.cluster.name}; "
            "use --price steps or flows"
        )
    if combine == "max" and chosen != "formula":
        raise InputError(
            f"--combine max is a way to read a closed form; {choice.name} is priced by {chosen} here"
        )
    about = (question, cost, made, choice.name, choice.source)
    if price or chosen == "formula":
        return time_of(*about, chosen, combine, most)
    return at_hand(*about, combine)


def at_hand(
    question: Question, cost: Cost | None, made: Schedule, name: str, source: str, combine: str = "add"
) -> Timed:
    """The time of one schedule by flows; by steps, or the closed form, where there are too many sends.

    Args:
        question: What is asked.
        cost: The closed form, or None.
        made: As of `time_of`.
        name: Of the algorithm.
        source: Who chose it.
        combine: How a closed form joins latency and bandwidth.

    Raises:
        listing.TooManyError: if it has no closed form and too many sends even for steps.
        InputError: if a send finds no route.
    """
    about, refused = (question, cost, made, name, source), None
    for price in ("flows", "steps", *(["formula"] if cost is not None else [])):
        try:
            found = time_of(*about, price, combine)
        except listing.TooManyError as reason:
            refused = refused or reason
            continue
        why = f"{_BEYOND.get(price)}: {name} has too many sends to follow one by one"
        return found if refused is None else replace(found, notes=(why,))
    assert refused is not None
    raise refused


def time_of(
    question: Question, cost: Cost | None, made: Schedule, name: str, source: str, price: str, combine: str,
    most: int | None = None,
) -> Timed:  # fmt: skip
    """The time of one schedule.

    Args:
        question: What is asked.
        cost: The closed form, or None.
        made: On local ranks of one group; the user's own schedule is laid already.
        name: Of the algorithm.
        source: Who chose it.
        price: One of PRICES.
        combine: How a closed form joins latency and bandwidth.
        most: Sends to follow one by one at most.

    Raises:
        InputError: for an unknown price, or one that this schedule has not.
    """
    if price not in PRICES:
        raise names.unknown("price", price, PRICES)
    cluster, group = question.cluster, question.group
    own = question.schedule is not None
    laid = made if own else algebra.lay(made, group.all_groups, cluster.topology.vertices, group.hubs)
    stepped, flowed = None, None
    if price == "formula":
        if cost is None:
            raise InputError(f"{name} has no closed form; use --price steps or flows")
        parts, time = (cost.latency, cost.bandwidth), cost.total(combine)
    elif price == "flows":
        about = (laid, cluster, question.size, 0.0, question.shortcut, _few(laid, question.detail))
        kept = listing.WELCOME if question.detail else listing.FEW_LISTED
        flowed = simulate(*about, question.progress, most=most, kept=kept)
        time = flowed.seconds
        # Waits of the critical path during which the busiest link works cost nothing.
        busiest = float(_busy(flowed.load, cluster.topology).max(initial=0.0))
        latency = min(flowed.critical_latency(), max(time - busiest, 0.0))
        parts = (latency, time - latency)
    else:
        stepped = _stepped(question, laid, _MANY)
        if stepped is None:
            raise listing.TooManyError(
                f"{name} on {group.ranks} ranks is {_pairs(question):,.0f} sends: too many to list; "
                "use --price formula"
            )
        parts, time = (stepped.latency, stepped.bandwidth), stepped.latency + stepped.bandwidth
    return Timed(question, name, source, price, *parts, time, made, laid, stepped, flowed)


def beside_bounds(found: Timed) -> Answer:
    """The answer: beside its time the least that there could be, and what each link and step carries."""
    flowed, repeat = found.flows, found.made.repeat
    rough = (_ROUGH,) if flowed is not None and repeat is not None and repeat.shares_links else ()
    return Answer(
        found.question, found.algorithm, found.source, found.price, found.latency, found.bandwidth,
        found.time, found.made, found.schedule, found.steps, flowed,
        ((flowed.note,) if flowed is not None and flowed.note else ()) + rough + found.notes,
    )  # fmt: skip


def _busy(load: Floats, topology: Topology) -> Floats:
    """Seconds that each link needs for its bytes."""
    return np.divide(load, topology.bandwidth, out=np.zeros(len(load)), where=load > 0)


def _stepped(question: Question, laid: Schedule, many: int) -> Steps | None:
    """The step price, unless it takes listing more sends of one step than ``many``."""
    about = (laid, question.cluster, question.size)
    found = stepped_of(*about) or every_pair.stepped(*about)
    if found is None and (question.collective not in PAIRS or _pairs(question) <= many):
        found = steps(*about)
    return found


def _pairs(question: Question) -> float:
    return float(question.group.ranks) ** 2 * len(question.group.all_groups)


def _few(laid: Schedule, wanted: bool) -> bool:
    """Whether the times of all sends cost next to nothing, or a moment if they are ``wanted``."""
    orbit = None if laid.orbit is None else laid.orbit()
    if orbit is not None:
        return len(orbit.step) * laid.groups.size <= (_DETAILED if wanted else listing.FEW_SENDS)
    most, count = _FOLLOWED if wanted else _DETAILED, 0
    for rows in laid.steps():
        count += len(rows)
        if count > most:
            return False
    return True


def _bounds(
    question: Question, made: Schedule, laid: Schedule, used: Floats | None
) -> tuple[bounds.Bound, bounds.Bound]:
    """The least time on the links asked for, and on all. Detours round dead links count as asked for."""
    n, topology = question.group.ranks, question.cluster.topology
    standard = question.collective in NAMES and question.hint.matrix is None
    goal: Collective | Traffic = made.collective
    if standard:
        root, shift = question.hint.root, question.hint.shift
        goal = bounds_traffic.standard(question.collective, n, root=root, shift=shift)
    share = None if standard else made.share
    in_network = _in_network(question, made)
    axes = question.physical_axes
    links = None if axes is None else np.isin(topology.axis, axes)
    if links is not None and used is not None:
        links |= used > 0
    summing = hubs.used(laid, topology.chips, _READ) if in_network else None
    about = (question.cluster, goal, question.group.all_groups, question.size, links)
    return bounds.bound_and_limit(*about, in_network=in_network, share=share, summing=summing)


def _in_network(question: Question, made: Schedule) -> bool:
    """Whether switches reduce or multicast in it: whether any sends or receives by itself."""
    if question.schedule is None:
        # Of a forest switches only pass on, what comes in to one place.
        return made.vertices > made.ranks and made.algorithm.split(",")[0] != "forest"
    chips = question.cluster.topology.chips
    return question.cluster.topology.vertices > chips and any(
        max(int(rows.src.max(initial=0)), int(rows.dst.max(initial=0))) >= chips for rows in made.steps()
    )
