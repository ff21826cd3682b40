"""Concurrent flow: the least time in which a network carries all demands at once, split over any routes.

Demands with one source are one commodity, so the linear program has sources x links variables. What it says
is not taken on trust: its prices of links are a proof that anybody can check. Give every link a length; then
all demands together cross at least (demand x distance) in all, and the links carry (capacity x length) a
second. No schedule beats the ratio, whatever the lengths are; the program's are the best ones.

Source: Shahrokhi and Matula 1990, The maximum concurrent flow problem, doi:10.1145/77600.77620.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir.topology import Floats

from .reach import all_from
from .usable import Usable

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Demands:
    """What must go where.

    Shapes: s sources, v vertices.

    Attributes:
        sources: ``int64[s]``, different vertices.
        wanted: ``float64[s, v]``, bytes from each source to each vertex.
    """

    sources: Longs
    wanted: Floats


def lengths(network: Usable, demands: Demands) -> Floats:
    """The lengths of links that prove the most: ``float64[u]``, 0 of links that some best routing spares.

    At half duplex both directions of a cable have the same.

    Cost: a linear program of sources x links variables: some 30 ms for 16 x 80, a second for 32 x 160.

    >>> from hopcast.graph.usable import usable
    >>> from hopcast.topologies import chain
    >>> line = usable(chain.build("chain:3", (3,), 1.0, 0.0))
    >>> one_way = Demands(np.array([0]), np.array([[0.0, 1.0, 3.0]]))
    >>> seconds(line, one_way, lengths(line, one_way))
    4.0
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    s, v, u = len(demands.sources), network.topology.vertices, len(network.links)
    # What enters a vertex of a source's flow less what leaves it is what it wants; the source has no row.
    which, link = (x.ravel() for x in np.meshgrid(np.arange(s), np.arange(u), indexing="ij"))
    variable = which * u + link
    tail, head = which * v + network.src[link], which * v + network.dst[link]
    keep = np.ones((s, v), bool)
    keep[np.arange(s), demands.sources] = False
    row = np.where(keep.ravel(), np.cumsum(keep.ravel()) - 1, -1)
    rows, columns = np.concatenate([row[head], row[tail]]), np.concatenate([variable, variable])
    signs, real = np.repeat([1.0, -1.0], s * u), rows >= 0
    balance = coo_array((signs[real], (rows[real], columns[real])), (int(keep.sum()), s * u + 1))
    # Rates are taken relative to the largest, and demands to their sum: the solver likes numbers near 1.
    rate, total = network.rate / network.rate.max(), float(demands.wanted.sum())
    wires = len(rate)
    full = coo_array(
        (
            np.concatenate([np.ones(s * u), -rate]),
            (
                np.concatenate([network.wire[link], np.arange(wires)]),
                np.append(variable, np.full(wires, s * u)),
            ),
        ),
        (wires, s * u + 1),
    )
    cost = np.zeros(s * u + 1)
    cost[-1] = 1.0
    found = linprog(
        cost, full.tocsr(), np.zeros(wires), balance.tocsr(), demands.wanted[keep] / total, method="highs"
    )
    if found.status:
        return np.zeros(u)
    price = np.maximum(-found.ineqlin.marginals, 0.0)
    price[price < price.max(initial=0.0) * 1e-9] = 0.0
    return np.asarray(price[network.wire])


def seconds(network: Usable, demands: Demands, length: Floats) -> float:
    """What these lengths prove: demand x distance over capacity x length.

    Shapes: ``length`` is ``float64[u]``, alike for links that share a wire.
    """
    first = np.flatnonzero(np.diff(network.wire, prepend=-1))
    carried = float((network.rate * length[first]).sum())
    if carried <= 0:
        return 0.0
    far = all_from(network, length, demands.sources)
    asked = demands.wanted > 0
    return float((demands.wanted[asked] * far[asked]).sum()) / carried


def evenly(network: Usable, demands: Demands) -> float:
    """Seconds if all demands take routes of fewest links, shared out by what the last link of each carries.

    Some schedule is this fast, so a bound that is as large is the best one.
    """
    far = all_from(network, np.ones(len(network.links)), demands.sources)
    rate = network.rate[network.wire]
    load = np.zeros(len(network.links))
    amount = np.where(np.isfinite(far), demands.wanted, 0.0)
    for hop in range(int(far[np.isfinite(far)].max(initial=0.0)), 0, -1):
        on = (far[:, network.dst] == hop) & (far[:, network.src] == hop - 1)
        share = on * rate
        into = np.zeros_like(far)
        np.add.at(into.T, network.dst, share.T)
        share = np.divide(
            share * amount[:, network.dst], into[:, network.dst], out=np.zeros_like(share), where=on
        )
        load += share.sum(0)
        np.add.at(amount.T, network.src, share.T)
    wires = np.bincount(network.wire, load, len(network.rate))
    return float((wires / network.rate).max(initial=0.0))
