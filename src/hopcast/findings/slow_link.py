"""One slow or dead cable sets the pace of everything that crosses it."""

import numpy as np

from hopcast.predict import Answer

SOURCE = "derived: a ring runs at the pace of its slowest link"


def when(answer: Answer) -> str | None:
    """A link is below the others of its axis, and the hottest link is one of those or of the detour."""
    q = answer.question
    topology = q.cluster.topology
    usual = np.array(
        [topology.bandwidth[topology.axis == a].max(initial=0.0) for a in range(len(topology.axes))]
    )
    weak = np.flatnonzero(topology.bandwidth < usual[topology.axis])
    load = answer.load
    if not len(weak) or load is None or answer.time == 0:
        return None
    dead = weak[topology.bandwidth[weak] == 0]
    slow = weak[topology.bandwidth[weak] > 0]
    said = []
    if len(slow):
        rate = topology.bandwidth[slow[0]] / usual[topology.axis[slow[0]]]
        said.append(f"{topology.link_name(int(slow[0]))} runs at {rate:.0%}")
    if len(dead):
        said.append(f"{topology.link_name(int(dead[0]))} is dead and its traffic goes round")
    return f"{len(weak)} links are below their rate: {'; '.join(said)}; {answer.bottleneck}"


def gain(answer: Answer) -> str:
    """Another algorithm may avoid it."""
    return ""
