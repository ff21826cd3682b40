"""Links of a cluster of nodes: inside nodes, of their NICs, and above the leaves."""

import functools
import math

import numpy as np

from hopcast import clusters
from hopcast.graph import tiers
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Bools, Floats, Topology
from hopcast.predict import Answer


def is_pod(cluster: Cluster) -> bool:
    """Whether it is nodes of GPUs joined by a network."""
    topology = cluster.topology
    return "domains" in cluster.facts and len(topology.axes) == 2 and min(topology.shape) > 1


def nics(topology: Topology) -> Bools:
    """``bool[m]``: links that lead out of a node.

    A leaf below which there is one node only is of that node, and its cables up are what leads out.
    """
    of = node(topology)
    return np.asarray((of[topology.src] >= 0) & (of[topology.dst] < 0))


def uplinks(topology: Topology) -> Bools:
    """``bool[m]``: links between switches that serve several nodes, up and down."""
    of = node(topology)
    return np.asarray((of[topology.src] < 0) & (of[topology.dst] < 0))


def leaf_uplinks(topology: Topology) -> Bools:
    """``bool[m]``: links from the switches that nodes are joined to, upward."""
    return uplinks(topology) & np.isin(topology.src, topology.dst[nics(topology)])


@functools.lru_cache(maxsize=8)
def node(topology: Topology) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """``int32[v]``: the node of each vertex; -1 of what joins nodes."""
    found = next(tiers.parts(topology), None)
    return np.zeros(topology.vertices, np.int32) if found is None else found


def busy(topology: Topology, load: Floats, links: Bools) -> float:
    """Seconds that the busiest of these links takes for its bytes."""
    used = links & (load > 0)
    return float((load[used] / topology.bandwidth[used]).max(initial=0.0))


def crossing(answer: Answer) -> float:
    """The part of the bytes that leave nodes which crosses switches above the leaves."""
    topology, load = answer.question.cluster.topology, answer.load
    if load is None or not is_pod(answer.question.cluster):
        return 0.0
    out = float(load[nics(topology)].sum())
    return min(float(load[leaf_uplinks(topology)].sum()) / out, 1.0) if out > 0 else 0.0


def without(cluster: Cluster, *keys: str) -> str:
    """The name of the cluster with some options left out."""
    head, *options = cluster.name.split(",")
    return ",".join([head, *(o for o in options if o.partition("=")[0] not in keys)])


def rebuilt(cluster: Cluster, *keys: str) -> Cluster:
    """The cluster with some options left out."""
    return clusters.cluster(without(cluster, *keys))


def gpus(cluster: Cluster) -> int:
    """GPUs of a node."""
    return math.prod(cluster.topology.shape[1:])
