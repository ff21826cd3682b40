"""Which cut is drawn: what binds a collective, or the worst balanced cut of a cluster."""

from dataclasses import dataclass

import numpy as np

from hopcast.draw.cut import Cut, carries, of_links
from hopcast.graph.flow import max_flow
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Bools, Ints, Topology
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.price.bounds import Bound
from hopcast.units import show_seconds, show_size

from .bisect import worst_halving


@dataclass(frozen=True, eq=False)
class Shown:
    """A cut with its words.

    Attributes:
        cut: Parts and links.
        title: Headline.
        caption: What it means.
    """

    cut: Cut
    title: str
    caption: str


def halves(where: Cluster) -> Shown:
    """The balanced cut of least capacity.

    Raises:
        InputError: for one chip.

    >>> from hopcast.clusters import cluster
    >>> halves(cluster("mesh:4x4,bandwidth=45GB/s")).cut.head
    '180 GB/s over 4 links'
    """
    topology = where.topology
    if topology.chips < 2:
        raise InputError(f"{where.name} is one chip; a cut parts two or more, as of mesh:4x4")
    half = worst_halving(topology)
    inside, links = _least(topology, half.inside)
    names = [f"{half.what}, {int(half.inside.sum())} chips", f"the rest, {int((~half.inside).sum())} chips"]
    caption = "The balanced cut of least capacity: half of all chips against the other half."
    part = np.where(inside, 0, 1).astype(np.int32)
    cut = Cut(part, links, carries(topology, links), "one way", names)
    return Shown(cut, f"The worst cut of {where.name}", caption)


def _least(topology: Topology, inside: Bools) -> tuple[Bools, Ints]:
    """Sides of a cut between chips, with switches where least gets through, and the links that cross."""
    if topology.vertices == topology.chips:
        crosses = inside[topology.src] & ~inside[topology.dst] & (topology.bandwidth > 0)
        return inside, np.flatnonzero(crosses).astype(np.int32)
    found = max_flow(topology, np.flatnonzero(inside).tolist(), np.flatnonzero(~inside).tolist())
    return found.side, found.links


def binding(a: Answer) -> Shown:
    """What makes the bound of a collective as large as it is.

    Raises:
        InputError: where nothing has to move.
    """
    q, bound = a.question, a.bound
    topology = q.cluster.topology
    if bound.kind == "none":
        raise InputError(
            f"{q.collective} on {q.group.ranks} rank moves nothing, so nothing binds; take more ranks"
        )
    what = f"{bound.what[:1].upper()}{bound.what[1:]}"
    said = f"{what}: no schedule takes less than {show_seconds(bound.seconds)}."
    rest = f"{a.algorithm} takes {show_seconds(a.time)}; the bound is {a.efficiency:.1%} of that."
    size = f"{show_size(q.size)} " if bound.kind != "latency" else ""
    title = f"What binds {q.collective} of {size}on {q.cluster.name}".replace(" of on ", " on ")
    return Shown(_parted(a, topology, bound), title, f"{said} {rest}")


def _parted(a: Answer, topology: Topology, bound: Bound) -> Cut:
    """The parts between which a bound counts; of distance and latency there are none."""
    head = carries(topology, bound.links)
    nowhere = np.full(topology.vertices, -1, np.int32)
    if bound.kind == "distance":
        return Cut(nowhere, bound.links, head, what="what carries it")
    if bound.kind == "latency":
        return Cut(nowhere, bound.links, show_seconds(bound.seconds), what="the longest way")
    axes = a.question.physical_axes
    allowed = None if axes is None else np.isin(topology.axis, axes)
    rate = float(topology.bandwidth[np.unique(topology.wire[bound.links])].sum())
    must = f"at least {show_size(round(bound.bandwidth_seconds * rate))} must cross"
    return Cut(of_links(topology, bound.links, allowed), bound.links, head, must)
