"""What a run of an event loop gives back."""

from dataclasses import dataclass

from hopcast.ir.topology import Bools, Floats

from .network import Longs


@dataclass(frozen=True, eq=False)
class Ran:
    """What came of it.

    Shapes: s sends.

    Attributes:
        ready, start, end: ``float64[s]``, seconds: when a send was ready, when its bytes began, when it was
            received.
        blame: ``int64[s]``: the send whose arrival made it ready, or -1.
        left: ``bool[s]``: sends that were never received.
        events: Times at which rates changed.
        window: Ends within this part of the clock were taken together at last; 0: never.
    """

    ready: Floats
    start: Floats
    end: Floats
    blame: Longs
    left: Bools
    events: int
    window: float = 0.0

    @property
    def seconds(self) -> float:
        """When the last send was received."""
        return float(self.end.max(initial=0.0))

    def latency(self) -> float:
        """Seconds of the critical path in which a send waits for its first byte."""
        at, waited = int(self.end.argmax()) if len(self.end) else -1, 0.0
        while at >= 0:
            waited += float(self.start[at] - self.ready[at])
            at = int(self.blame[at])
        return waited
