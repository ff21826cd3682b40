"""The compiled loop of `window`: what sends that are dropped leave behind for their lanes."""

from hopcast.ir.topology import Bools

from .compiled import outer
from .state import Floats, Longs


@outer
def leave(
    blame: Longs, ready: Floats, start: Floats, end: Floats, left: Bools, lane: Longs,
    late: Floats, carried: Floats, ended: Floats,
) -> None:  # fmt: skip
    """Latency on the way to each send that is ready, and to the last of each lane that was received.

    Shapes: s sends, in order of their steps, so of each that which it waited for last stands before it; lanes
    for the last two.
    """
    for i in range(len(blame)):
        by = blame[i]
        if by >= 0:
            late[i] = late[by] + (start[by] - ready[by])
        if not left[i] and end[i] >= ended[lane[i]]:
            ended[lane[i]] = end[i]
            carried[lane[i]] = late[i] + (start[i] - ready[i])
