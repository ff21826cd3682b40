"""From words to what makes a run differ from rated: jitter, stragglers, the traffic of others."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hopcast import units
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Floats, Topology
from hopcast.ir.vertices import vertex
from hopcast.names import InputError
from hopcast.routing import routes
from hopcast.simulate.noise import Noise

MOST_SAMPLES = 10_000
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?")


def noise(topology: Topology, jitter: str | float, straggler: Sequence[str], seed: int) -> Noise | None:
    """Jitter and stragglers; None where all is as rated.

    Raises:
        InputError: for what cannot be read, or a straggler that is no rank.

    >>> from hopcast.clusters import cluster
    >>> noise(cluster("ring:8").topology, "1%", ["3=10us", "5=2x"], 0)
    Noise(jitter=0.01, seed=0, sample=0, late={3: 1e-05}, slow={5: 2.0})
    """
    part = _part("--jitter", jitter, "the mean size of what comes on top, as in 1%", most=10.0)
    late: dict[int, float] = {}
    slow: dict[int, float] = {}
    for text in straggler:
        name, equals, value = text.rpartition("=")
        example = "write a rank and how late it starts, 3,3=10us, or how much slower it sends, 3,3=2x"
        if not equals or not name:
            raise InputError(f"--straggler {text!r}: {example}")
        rank = vertex(topology, name)
        if rank >= topology.chips:
            raise InputError(f"--straggler {text!r}: {topology.place(rank)} is no rank; {example}")
        times = value.endswith("x")
        if rank in (slow if times else late):
            raise InputError(f"--straggler {text!r}: {topology.place(rank)} is said twice; say it once")
        if times and _NUMBER.fullmatch(value[:-1]):
            factor = float(value[:-1])
            if factor < 1:
                raise InputError(f"--straggler {text!r}: it sends at most as fast as rated; write 1x or more")
            slow[rank] = factor
        else:
            try:
                late[rank] = units.seconds(value)
            except ValueError:
                raise InputError(f"--straggler {text!r}: {example}") from None
    if not part and not late and not slow:
        return None
    return Noise(part, seed, late=late, slow=slow)


def background(was: Cluster, words: Sequence[str]) -> Cluster:
    """The cluster with the bandwidth that other traffic leaves.

    That traffic is steady and always served: ``20%`` of every link, or from ``0,0`` to ``3,3`` along the
    cluster's own route, one way (``0,0>3,3=10GB/s``) or both (``0,0:3,3=10GB/s``); ``=20%`` is that part of
    each link of the route. What is said of one link several times adds up.

    Raises:
        InputError: for what cannot be read, or if a link has nothing left.

    >>> from hopcast.clusters import cluster
    >>> ring = cluster("ring:8,bandwidth=40GB/s")
    >>> float(background(ring, ["10%", "0>2=6GB/s"]).topology.bandwidth.min() / 1e9)
    30.0
    """
    topology = was.topology
    if not words:
        return was
    taken = np.zeros(topology.links)
    for text in words:
        taken += _taken(was, text)
    left = topology.bandwidth - taken
    live = (topology.bandwidth > 0) & (topology.wire == np.arange(topology.links))
    none = np.flatnonzero(live & (left <= topology.bandwidth * 1e-9))
    if len(none):
        i = int(none[0])
        have, gone = (units.show_rate(float(v[i])) for v in (topology.bandwidth, taken))
        raise InputError(
            f"--background {' '.join(words)}: takes {gone} of the {have} of link {topology.link_name(i)}; "
            "leave some of it"
        )
    return replace(was, topology=topology.with_links(np.where(live, left, topology.bandwidth)))


def _taken(cluster: Cluster, text: str) -> Floats:
    """``float64[m]``: bytes/s that one word takes of each link."""
    topology = cluster.topology
    example = "write a part of every link, 20%, or a rate between two chips, 0,0:3,3=10GB/s"
    ends, equals, value = text.rpartition("=")
    if not equals:
        return topology.bandwidth * _part("--background", text, example)
    one_way = ">" in ends
    pair = ends.split(">" if one_way else ":")
    if len(pair) != 2:
        raise InputError(f"--background {text!r}: {example}")
    src, dst = (vertex(topology, p) for p in pair)
    if src == dst:
        raise InputError(f"--background {text!r}: from a chip to itself it crosses no link; {example}")
    both = [(src, dst)] if one_way else [(src, dst), (dst, src)]
    found = routes(cluster, *(np.array(c, np.int32) for c in zip(*both, strict=True)))
    wire = topology.wire[found.links]
    weight = np.bincount(wire, np.repeat(found.weight, found.hops), topology.links)
    if value.endswith("%"):
        return np.asarray(topology.bandwidth * weight * _part("--background", value, example), np.float64)
    try:
        return np.asarray(weight * units.rate(value), np.float64)
    except ValueError:
        raise InputError(f"--background {text!r}: {example}") from None


def samples(asked: int, uneven: Noise | None) -> int:
    """How many runs.

    Raises:
        InputError: for a number that makes no sense.
    """
    if not 1 <= asked <= MOST_SAMPLES:
        raise InputError(f"--samples {asked}: write 1 to {MOST_SAMPLES:,} runs")
    if asked > 1 and (uneven is None or not uneven.jitter):
        raise InputError(f"--samples {asked}: all runs are the same without --jitter; add --jitter 1%")
    return asked


def _part(option: str, given: str | float, example: str, most: float = 1.0) -> float:
    """A part from ``1%`` or ``0.01``."""
    text = str(given).strip()
    number = text.removesuffix("%")
    value = float(number) / (100 if text.endswith("%") else 1) if _NUMBER.fullmatch(number) else -1.0
    if not 0 <= value <= most:
        raise InputError(f"{option} {text!r}: {example} (0 to {most:.0%})")
    return value
