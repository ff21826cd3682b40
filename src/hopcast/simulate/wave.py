"""Sends that wait for nothing: when the last of them ends, where two bounds of that meet.

A flow never gets less than an equal part of the link that holds it up, among all the flows that ever cross
that link. So it ends at the latest after its latency and as long as such a part takes on the worst of its
links. And a link has not carried its load before its first byte could come, and its busy time after that.
Where the two agree the time is known, and no event has to be followed: so it is with equal sends to all when
the busiest link is crossed by those of the longest latency.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2 (every flow has a bottleneck link, on which
none is faster).
"""

import numpy as np

from .network import Problem

_SAME = 1e-12  # of the time: what lies closer is one, as in the reference


def ended(problem: Problem) -> tuple[float, float] | None:
    """Seconds until all sends are received, and of these the latency of the last; None if bounds disagree.

    Cost: a few passes over the crossings of distinct pairs.

    >>> from hopcast.simulate.arcs import Arcs
    >>> from hopcast.simulate.network import Paths
    >>> none = Arcs(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(3, np.int32))
    >>> one, two = np.ones(3), np.arange(4)
    >>> lag, link = np.array([0.0, 0.5, 0.5]), np.array([0, 1, 1], np.int32)
    >>> shared = Paths(two, one, lag, two, link, np.ones(3, np.int32))
    >>> ended(Problem(np.ones(2), shared, np.arange(3), one, 0 * one, none))
    (2.5, 0.5)
    """
    paths = problem.paths
    many = np.diff(paths.hop)
    if not len(problem.volume) or len(problem.arcs.target) or problem.after.any() or np.any(many == 0):
        return None
    load = problem.load()
    if np.any(problem.capacity[load > 0] <= 0):
        return None
    _, send, piece = problem.spread()
    flows = np.bincount(piece, minlength=len(many))
    crossed = np.bincount(paths.link, np.repeat(flows, many) * paths.times, len(load))
    part, busy = (np.divide(x, problem.capacity, out=np.zeros(len(x)), where=x > 0) for x in (crossed, load))
    worst = np.maximum.reduceat(part[paths.link], paths.hop[:-1])
    largest = np.zeros(len(many))
    np.maximum.at(largest, piece, problem.volume[send])
    latest = float((paths.lag + worst * largest * paths.weight).max())
    least = np.full(len(load), np.inf)
    may = (busy + paths.lag.max() >= latest * (1 - _SAME))[paths.link]
    np.minimum.at(least, paths.link[may], np.repeat(paths.lag, many)[may])
    whole = np.where(np.isfinite(least), least + busy, 0.0)
    last = int(whole.argmax())
    if whole[last] < latest * (1 - _SAME):
        return None
    return float(whole[last]), float(least[last])
