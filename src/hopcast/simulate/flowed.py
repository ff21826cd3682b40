"""What came of a schedule by the rules of flows, whichever way it was found."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopcast.ir.schedule import sends
from hopcast.ir.topology import Floats

from . import reference
from .ran import Ran

if TYPE_CHECKING:
    from .windowed import Windowed


@dataclass(frozen=True, eq=False)
class Flows(reference.Flows):
    """What happened, and how it was found out.

    Attributes:
        how: Which way was taken, in words.
        solved: Sends that were simulated one by one.
        latency: Seconds of the critical path in which a send waits for its first byte.
        note: What whoever reads the time has to know; mostly nothing.
        pulled: Whether every send was followed, though the columns of sends were not kept.
    """

    how: str = ""
    solved: int = 0
    latency: float = 0.0
    note: str = ""
    pulled: bool = False

    @property
    def detailed(self) -> bool:
        """Whether the columns of sends are there; without them ``critical_path`` is empty."""
        return len(self.rows) > 0 or self.seconds == 0

    def critical_latency(self) -> float:
        """Seconds of the critical path in which a send waits for its first byte."""
        return self.latency


def brief(seconds: float, latency: float, load: Floats, events: int, how: str, solved: int) -> Flows:
    """Without the columns of sends."""
    none, no = np.zeros(0), np.zeros(0, np.int64)
    return Flows(seconds, load, none, none, none, no, no, sends([], [], []), events, how, solved, latency)


def noted(ran: "Ran | Windowed") -> str:
    """What whoever reads the time has to know of how it was found."""
    if not ran.window:
        return ""
    return f"flows: nearly all end at different times; those within {ran.window:.0%} were taken together"
