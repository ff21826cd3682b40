"""The ranks of one collective and the links that they may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .cluster import Cluster
from .topology import Axis, Floats, Ints


@dataclass(frozen=True, eq=False)
class Group:
    """What a builder sees of the ranks that take part: a small grid, or the ports of a switch.

    A group is one of several equal ones (the rows of a torus, say); builders number its ranks 0..n-1,
    row-major over ``axes``, and `algebra.lay` puts the schedule on all of them.

    Shapes: ``all_groups`` is ``int32[groups, n]`` of ranks of the cluster; ``hubs`` is ``int32[groups, k]``;
    ``above`` is ``int32[n + k]``.

    Attributes:
        axes: Axes of the group; one axis where ranks are joined by a switch.
        switched: Whether ranks are joined by a switch, any rank reaching any other in one hop.
        bandwidth: One way, of one link of each axis (of one port of the switch), bytes/s; 0 where links of it
            differ.
        latency: One hop along each axis (one crossing of the switch), seconds.
        all_groups: The ranks of every group.
        apart: Whether no link serves two groups, so that one group tells the time of all.
        duplex: Whether a cable carries both ways at once at full rate.
        name: The cluster's name, for messages.
        levels: Where ranks are joined in two ways, chips in a slice or a node and these over a network: a
            group for each level, the outer first; ranks are row-major over them. Empty where one way joins
            all.
        hubs: The switches of each group, as vertices; switch j is local vertex n + j. None known: k = 0.
        above: Local vertex of the switch above each rank and switch, -1 at the top; empty with levels.
        ability: How these switches reduce and multicast: ``nvls``, ``sharp``, or empty if they do not.
        links: ``int32[l, 2]``, local src and dst of every link between two ranks that is alive in all groups;
            None where nobody said: then it has those of its axes.
        cluster: Whose network it is, for builders that look at routes and single links; None where nobody
            said.
    """

    axes: tuple[Axis, ...]
    switched: bool
    bandwidth: tuple[float, ...]
    latency: tuple[float, ...]
    all_groups: Ints
    apart: bool = True
    duplex: bool = True
    name: str = ""
    levels: tuple["Group", ...] = ()
    hubs: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    above: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    ability: str = ""
    links: Ints | None = None
    cluster: Cluster | None = None

    @property
    def own_hubs(self) -> bool:
        """Whether no switch serves two groups, whose sums would meet in it."""
        each = sum(len(np.unique(row)) for row in self.hubs)
        return len(np.unique(self.hubs)) == each

    @property
    def ranks(self) -> int:
        """Ranks of one group."""
        return int(self.all_groups.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(a.length for a in self.axes)

    @property
    def uniform_rates(self) -> bool:
        """Whether the links of each axis are alike."""
        return all(b > 0 for b in self.bandwidth)

    @property
    def uniform(self) -> bool:
        """Whether besides each link serves one group only, both ways at once: where closed forms hold."""
        return self.uniform_rates and self.apart and self.duplex

    @property
    def equal_axes(self) -> bool:
        """Whether all axes have the same length, wrap and link."""
        kinds = {
            (a.length, a.wraps, b, c) for a, b, c in zip(self.axes, self.bandwidth, self.latency, strict=True)
        }
        return len(kinds) == 1

    def line(self, axis: int) -> "Group":
        """The group of one axis alone, as builders of one axis see it."""
        n = self.axes[axis].length
        return Group(
            (self.axes[axis],),
            self.switched,
            (self.bandwidth[axis],),
            (self.latency[axis],),
            np.arange(n, dtype=np.int32)[None],
            self.apart,
            self.duplex,
            self.name,
        )


@dataclass(frozen=True)
class Hint:
    """What a builder may know of the call. Size and alpha only choose chunk counts.

    Attributes:
        size: D, bytes.
        alpha: Latency of one hop, seconds.
        root: Local rank of the root.
        shift: Of permute.
        seed: For builders that search.
        options: ``split=on`` and the like, behind the algorithm's name.
        matrix: ``float64[n, n]``, of all_to_all_v: the part of D that each rank has for each. None: equal.
    """

    size: float = 1.0
    alpha: float = 0.0
    root: int = 0
    shift: int = 1
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    matrix: Floats | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Cost:
    """A closed form: the part that latency takes and the part that bytes take, seconds."""

    latency: float
    bandwidth: float

    def times(self, k: float) -> "Cost":
        """The cost of doing it k times."""
        return Cost(self.latency * k, self.bandwidth * k)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.latency + other.latency, self.bandwidth + other.bandwidth)

    def total(self, combine: str = "add") -> float:
        """Seconds: the sum, or with ``max`` the larger part (the Scaling Book's form)."""
        return max(self.latency, self.bandwidth) if combine == "max" else self.latency + self.bandwidth
