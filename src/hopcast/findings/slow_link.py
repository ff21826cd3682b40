"""One slow or dead cable sets the pace of everything that crosses it; another way round may be faster."""

import functools
import shlex
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hopcast import faults
from hopcast.choose import answer as answer_to
from hopcast.ir import mesh as meshes
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Floats
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.question import Question
from hopcast.units import show_seconds

from . import _command

SOURCE = "derived: a ring runs at the pace of its slowest link"
APPEARS = (
    "predict all_to_all hypercube:3,bandwidth=45GB/s,latency=0 --size 64MiB --slow 0:2=0.25 --algorithm best"
)
ABSENT = "predict permute full_mesh:5,bandwidth=45GB/s,latency=0 --size 64MiB --shift 2 --slow 0:4=0.25"
_WORTH = 0.95  # said if at most this part of the time is left on the other way round
_SAME = 1 - 1e-6  # of the time: what takes as long with every link at its rate is not slowed by a link
_PATIENT = 256  # ranks of all groups up to which another way round is timed
_TRIED = 3  # slow cables that are gone round, the slowest first
_FEW = 0.1  # of the links of a kind: so many may be slow by accident


def when(answer: Answer) -> str | None:
    """A link is below the others of its axis, and it takes less time where all are at their rate."""
    q = answer.question
    topology = q.cluster.topology
    usual = _usual(q.cluster)
    weak = np.flatnonzero(topology.bandwidth < usual)
    if not len(weak) or answer.load is None or answer.time == 0 or not _costs(answer, usual):
        return None
    dead = weak[topology.bandwidth[weak] == 0]
    slow = weak[topology.bandwidth[weak] > 0]
    said = []
    if len(slow):
        rate = topology.bandwidth[slow[0]] / usual[slow[0]]
        said.append(f"{topology.link_name(int(slow[0]))} runs at {100 * rate:.3g}%")
    if len(dead):
        said.append(f"{topology.link_name(int(dead[0]))} is dead and its traffic goes round")
    found = _round(q, answer.algorithm, answer.source, answer.price, answer.time)
    other = (
        f"; with nothing sent over {' and '.join(found[0])} it takes {show_seconds(found[1])} instead of "
        f"{show_seconds(answer.time)}"
        if found
        else ""
    )
    many = "1 link is below its" if len(weak) == 1 else f"{len(weak)} links are below their"
    return f"{many} rate: {'; '.join(said)}; {answer.bottleneck}{other}"


def _costs(answer: Answer, usual: Floats) -> bool:
    """Whether the same algorithm takes less time with every link at its rate; true where that is unknown."""
    q, slow = answer.question, answer.question.cluster.topology
    healthy = replace(q.cluster, topology=slow.with_links(usual), rated=None)
    algorithm = "auto" if q.schedule is not None else answer.algorithm
    try:
        time = answer_to(_on(q, healthy), algorithm, answer.price).time
    except InputError:
        return True
    return time < _SAME * answer.time


def _on(question: Question, cluster: Cluster) -> Question:
    """The same question on the same chips with other cables."""
    group = meshes.group(cluster, question.mesh, question.over)
    hint = replace(question.hint, alpha=max(group.latency, default=0.0))
    return replace(question, cluster=cluster, group=group, hint=hint)


@functools.lru_cache(maxsize=4)
def _round(
    question: Question, algorithm: str, source: str, price: str, time: float
) -> tuple[tuple[str, ...], float] | None:
    """The slow cables to leave alone, as they were written, and the time then; None where it is no better."""
    group = question.group
    if question.schedule is not None or price == "steps" or group.all_groups.size > _PATIENT:
        return None
    times = []
    for cables in _slow(question.words):
        try:
            there = _on(question, faults.degrade(question.cluster, dead=cables))
            times.append((answer_to(there, _asked(algorithm, source)).time, cables))
        except InputError:  # some chip has no other way
            continue
    if not times or min(times)[0] > _WORTH * time:
        return None
    return min(times)[::-1]


def _slow(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The slowest cable that the user named, the two slowest, ..."""
    named = [v.partition("=") for k, v in zip(words[::2], words[1::2], strict=True) if k == "--slow"]
    cables = [cable for cable, _, _ in sorted(named, key=lambda x: float(x[2]))]
    for count in range(1, min(len(cables), _TRIED) + 1):
        yield tuple(cables[:count])


def _asked(algorithm: str, source: str) -> str:
    """What `--algorithm` was, or does the same."""
    return {"library": "auto", "best": "best"}.get(source, algorithm)


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
    """The same with the slow cables taken for dead, where that is faster."""
    found = _round(answer.question, answer.algorithm, answer.source, answer.price, answer.time)
    if found is None:
        return ""
    algorithm = _asked(answer.algorithm, answer.source)
    same = _command.predict(answer, algorithm="" if algorithm == "auto" else algorithm)
    return " ".join([same, *(shlex.join(["--dead", cable]) for cable in found[0])])
