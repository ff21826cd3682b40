"""One slow or dead cable sets the pace of everything that crosses it."""

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Floats
from hopcast.predict import Answer

SOURCE = "derived: a ring runs at the pace of its slowest link"
APPEARS = "predict all_gather v5e:4x4 --size 8MiB --over x --algorithm chain --slow 3,3:2,3=0.5"
ABSENT = "predict all_gather v5e:4x4 --size 8MiB --over x --algorithm chain"
_FEW = 0.1  # of the links of a kind: so many may be slow by accident


def when(answer: Answer) -> str | None:
    """A link is below the others of its axis, and the hottest link is one of those or of the detour."""
    q = answer.question
    topology = q.cluster.topology
    usual = _usual(q.cluster)
    weak = np.flatnonzero(topology.bandwidth < usual)
    load = answer.load
    if not len(weak) or load is None or answer.time == 0:
        return None
    dead = weak[topology.bandwidth[weak] == 0]
    slow = weak[topology.bandwidth[weak] > 0]
    said = []
    if len(slow):
        rate = topology.bandwidth[slow[0]] / usual[slow[0]]
        said.append(f"{topology.link_name(int(slow[0]))} runs at {rate:.0%}")
    if len(dead):
        said.append(f"{topology.link_name(int(dead[0]))} is dead and its traffic goes round")
    return f"{len(weak)} links are below their rate: {'; '.join(said)}; {answer.bottleneck}"


def _usual(cluster: Cluster) -> Floats:
    """``float64[m]``: the rate that each link should have.

    Where no link was made slow it is the rate of the best link of the same axis between the same kinds of
    vertices, if nearly all others have it too: networks of unlike cables are meant to be like that.
    """
    if cluster.rated is not None:
        return cluster.rated
    topology = cluster.topology
    from_switch, to_switch = topology.src >= topology.chips, topology.dst >= topology.chips
    kind = topology.axis * 4 + from_switch * 2 + to_switch
    best = np.zeros(4 * len(topology.axes))
    np.maximum.at(best, kind, topology.bandwidth)
    below = topology.bandwidth < best[kind]
    few = np.bincount(kind, below, len(best)) <= _FEW * np.bincount(kind, minlength=len(best))
    return np.where(few[kind], best[kind], topology.bandwidth)


def gain(answer: Answer) -> str:
    """Another algorithm may avoid it."""
    return ""
