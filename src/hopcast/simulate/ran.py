"""What a run of an event loop gives back."""

from dataclasses import dataclass, replace

import numpy as np

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

    def taken(self, at: Longs) -> "Ran":
        """The same sends in another order: send i was ``at[i]``.

        >>> import numpy as np
        >>> ran = Ran(*(np.array([0.0, 1.0]) for _ in range(3)), np.array([-1, 0]), np.zeros(2, bool), 2)
        >>> ran.taken(np.array([1, 0])).blame.tolist()
        [1, -1]
        """
        back = np.empty(len(at) + 1, np.int64)
        back[at], back[-1] = np.arange(len(at)), -1  # nobody to blame stays nobody
        return replace(
            self, ready=self.ready[at], start=self.start[at], end=self.end[at], left=self.left[at],
            blame=back[self.blame[at]],
        )  # fmt: skip
