"""Max-min fair rates by progressive filling.

Source: Bertsekas and Gallager 1992, Data Networks, section 6.5.2.
"""

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Floats, Ints


class Incidence:
    """Which links each flow crosses: flow i crosses ``links[start[i]:start[i + 1]]``."""

    def __init__(self, start: npt.NDArray[np.int64], links: Ints) -> None:
        self.start, self.links = start, links

    def of(self, flows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Ints]:
        """The crossings of some flows: position in ``flows`` and link, both ``[crossings]``."""
        hops = self.start[flows + 1] - self.start[flows]
        nth = np.arange(int(hops.sum())) - np.repeat(np.cumsum(hops) - hops, hops)
        return np.repeat(np.arange(len(flows)), hops), self.links[np.repeat(self.start[flows], hops) + nth]


def fair_rates(incidence: Incidence, flows: npt.NDArray[np.int64], capacity: Floats) -> Floats:
    """``float64[flows]``: the rates at which no flow can have more without a slower one having less.

    Cost: one pass over the crossings for each level of rates.

    >>> two_share_one = Incidence(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32))
    >>> fair_rates(two_share_one, np.array([0, 1]), np.array([2.0, 5.0])).tolist()
    [1.0, 1.0]
    """
    flow, link = incidence.of(flows)
    rate = np.full(len(flows), np.inf)
    room = capacity.astype(float).copy()
    while len(flow):
        users = np.bincount(link, minlength=len(room))
        share = np.full(len(room), np.inf)
        np.divide(room, users, out=share, where=users > 0)
        level = share.min()
        full = share <= level * (1 + 1e-12)
        frozen = np.zeros(len(flows), bool)
        frozen[flow[full[link]]] = True
        rate[frozen] = level
        gone = frozen[flow]
        room = np.maximum(room - level * np.bincount(link[gone], minlength=len(room)), 0.0)
        flow, link = flow[~gone], link[~gone]
    return rate
