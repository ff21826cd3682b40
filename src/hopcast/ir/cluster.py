"""A topology with the numbers of real hardware."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .topology import Floats, Topology


@dataclass(frozen=True)
class Figure:
    """One number of a data sheet: SI value, where it was read and when.

    Attributes:
        value: SI units: bytes, bytes/s one way, FLOP/s, seconds; or a plain count, of a shape all its points.
        source: Where it stands.
        seen: ISO date of reading.
        trust: A primary source, B relayed, C derived here, M from memory (asked, not sourced).
        other: Disagreeing figures, each with its own source, as text.
        shape: Lengths, where the figure is a shape.
    """

    value: float
    source: str
    seen: str
    trust: str = "A"
    other: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Cluster:
    """Where a collective runs.

    Attributes:
        name: As on the command line, for example ``v5e:4x4``.
        topology: Chips, switches, links.
        family: The word before the colon.
        routing: Name of the routing rule (a file of ``routing/``).
        options: What was asked for behind the shape, for example ``latency=0``.
        figures: Numbers of the hardware by dotted key, for example ``hbm.bandwidth``; empty on generic
            families.
        stack: Whose collectives run on it where nothing is said: ``xla``, ``nccl``, ``rccl`` or none.
        notes: What a reader of `show` should know: wraps that are missing, disputes, derived counts.
        assumed: What was not given and had to be assumed; said with every answer.
        facts: Counts that are not links: ``chips``, ``devices``, ``hosts``, ``vms``, ``cubes``.
        rated: ``float64[m]``, bandwidths of the links before some were made slow or dead; None if none was.
    """

    name: str
    topology: Topology
    family: str
    routing: str
    options: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    stack: str = ""
    notes: tuple[str, ...] = ()
    facts: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    rated: Floats | None = None

    def __repr__(self) -> str:
        return f"Cluster({self.name}, chips={self.topology.chips})"
