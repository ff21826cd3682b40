"""Twisted wrap-arounds bring chips nearer: they help all_to_all, and hurt what goes round rings."""

from hopcast import chips, clusters
from hopcast.graph.search import Neighbours
from hopcast.ir.cluster import Cluster
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.topologies import twisted_torus
from hopcast.units import show_seconds

from . import _command, _library

SOURCE = (
    "Camara et al. 2010, IEEE TPDS 21(12), 1765 (twisted tori are edge-symmetric); "
    "Google Cloud TPU v4 and v5p documentation (which shapes), read 2026-11"
)
APPEARS = "predict all_to_all v5p:4x4x8 --size 1GiB"
ABSENT = "predict all_to_all v5p:4x4x4 --size 1GiB"
_WORTH = 0.98


def when(answer: Answer) -> str | None:
    """all_to_all on a torus that could be twisted; or rings on one that is."""
    name, time = _better(answer)
    if not name:
        return None
    if name.endswith(",twisted"):
        return (
            f"twisted, this shape has shorter ways between chips: its bound is {show_seconds(time)}, "
            f"and this takes {show_seconds(answer.time)}"
        )
    return (
        "rings along the short axes do not close on a twisted torus: "
        f"on the plain one they take {show_seconds(time)}, here {show_seconds(answer.time)}; "
        "trees that fill all links do not mind"
    )


def gain(answer: Answer) -> str:
    """The same on a twisted torus, or on trees where it is twisted already."""
    name, _ = _better(answer)
    if name and not name.endswith(",twisted"):
        return _command.predict(answer, algorithm="translated_tree")
    return _command.predict(answer, cluster=name) if name else ""


def _better(answer: Answer) -> tuple[str, float]:
    """The other torus, twisted or plain, and its time; an empty name where it is no better."""
    q = answer.question
    topology = q.cluster.topology
    whole = q.group.ranks == topology.chips > 1 and not topology.is_slices
    if not whole or answer.is_latency_bound or topology.bandwidth.min() < topology.bandwidth.max():
        return "", 0.0
    words = q.cluster.name.split(",")
    twisted = "twisted" in words
    other = [w for w in words if w != "twisted"] + ([] if twisted else ["twisted"])
    name = ",".join(other)
    if not chips.known(q.cluster.family) or not twisted_torus.twistable(topology.shape):
        return "", 0.0
    if (q.collective == "all_to_all") == twisted:
        return "", 0.0
    try:
        time = _time(answer, clusters.cluster(name), twisted)
    except InputError:  # slices of this chip are not twisted
        return "", 0.0
    return (name, time) if time is not None and time < _WORTH * answer.time else ("", 0.0)


def _time(answer: Answer, other: Cluster, twisted: bool) -> float | None:
    """Of the plain torus its closed form; of the twisted one the bound that all_to_all all but meets.

    A twisted torus looks the same from every chip, so distances from one give the mean; all links together
    carry the bytes times the links that they go.
    """
    q, topology = answer.question, other.topology
    if twisted:
        return _library.seconds(_library.elsewhere(q, other))
    mean = float(Neighbours(topology).hops(0).mean())
    return q.size * mean / float(topology.bandwidth.sum())
