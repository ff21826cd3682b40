"""How long a schedule takes by formula, by steps and by flows, and how that is said."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from hopcast import algorithms, clusters
from hopcast.choose import answer
from hopcast.ir.cluster import Cluster
from hopcast.ir.group import Cost
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.question import Question
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs import ask

Own = Callable[[Question], tuple[Schedule, Cost]]
MOST_RANKS = 64  # of a figure that shows every rank


@dataclass(frozen=True, eq=False)
class Timing:
    """Three prices of one collective.

    Attributes:
        cluster: Where.
        schedule: Laid over all groups.
        size: D, bytes.
        rate: W, bytes/s one way of one link.
        formula, steps, flows: Seconds.
        detail: The answer by flows.
    """

    cluster: Cluster
    schedule: Schedule
    size: float
    rate: float
    formula: float
    steps: float
    flows: float
    detail: Answer

    def part(self, seconds: float) -> str:
        """A time in D / W."""
        return fraction(seconds * self.rate / self.size)

    @property
    def words(self) -> str:
        """The three prices in a sentence."""
        three = (self.formula, self.steps, self.flows)
        how = f"{show_size(self.size)} at {show_rate(self.rate)}"
        if max(three) - min(three) < 1e-6 * max(three):
            return f"{show_seconds(self.formula)} for {how}; formula, steps and flows agree"
        said = [
            f"{show_seconds(t)} by {n}" for n, t in zip(("formula", "steps", "flows"), three, strict=True)
        ]
        return f"for {how} {', '.join(said)}"

    @property
    def facts(self) -> dict[str, float]:
        """For tests."""
        return {
            "size": self.size,
            "rate": self.rate,
            "steps": float(self.schedule.step_count),
            "time_formula": self.formula,
            "time_steps": self.steps,
            "time_flows": self.flows,
        }


def timed(collective: str, cluster: str, size: str, algorithm: str | Own, over: str | None = None) -> Timing:
    """Price a collective in all three ways.

    Args:
        collective: Its name.
        cluster: Where.
        size: D as text.
        algorithm: Its name, or what makes a schedule and its closed form of the question.
        over: Axes.

    >>> t = timed("all_gather", "ring:8,bandwidth=45GB/s,latency=0", "8MiB", "bidirectional_ring")
    >>> t.part(t.formula), t.schedule.step_count
    ('1/2', 4)
    """
    q, where = ask.question(collective, cluster, size=size, over=over)
    if isinstance(algorithm, str):
        named, options = algorithms.parse(algorithm)
        cost = named.cost(q.collective, q.group, replace(q.hint, options=options))
        by_steps, by_flows = (answer(q, algorithm, p) for p in ("steps", "flows"))
    else:
        made, cost = algorithm(q)
        own, _ = ask.question(made, cluster, size=size, over=over)
        by_steps, by_flows = (answer(own, "auto", p) for p in ("steps", "flows"))
    assert cost is not None
    rate = float(where.cluster.topology.bandwidth.max())
    return Timing(
        where.cluster, by_flows.schedule, q.size, rate, cost.total(), by_steps.time, by_flows.time, by_flows
    )


def closed_form(collective: str, cluster: str, size: str, algorithm: str | Own) -> float:
    """The closed form alone, seconds: for more ranks than anyone would simulate for a picture."""
    q, _ = ask.question(collective, cluster, size=size)
    if not isinstance(algorithm, str):
        return algorithm(q)[1].total()
    named, options = algorithms.parse(algorithm)
    cost = named.cost(q.collective, q.group, replace(q.hint, options=options))
    assert cost is not None
    return cost.total()


def fraction(value: float) -> str:
    """A number as a fraction where it is a simple one.

    >>> fraction(0.46875), fraction(2.0), fraction(0.1234567)
    ('15/32', '2', '0.1235')
    """
    found = Fraction(value).limit_denominator(2048)
    if abs(float(found) - value) > 1e-9 * max(abs(value), 1e-9):
        return f"{value:.4g}"
    return str(found.numerator) if found.denominator == 1 else f"{found.numerator}/{found.denominator}"


def times(part: str, what: str = "D/W") -> str:
    """A factor before D/W.

    >>> times("1"), times("7/8"), times("2")
    ('D/W', '7/8 D/W', '2 D/W')
    """
    return what if part == "1" else f"{part} {what}"


def cluster_of(text: str) -> Cluster:
    """A cluster."""
    return clusters.cluster(text)


def at_most(ranks: int, least: int = 2, most: int = MOST_RANKS, even: bool = False) -> int:
    """The number of ranks, if a figure can show so many.

    Raises:
        InputError: if it cannot.
    """
    if not least <= ranks <= most or (even and ranks % 2):
        kind = "an even number" if even else "a number"
        raise InputError(f"--ranks {ranks}: this figure takes {kind} from {least} to {most}")
    return ranks
