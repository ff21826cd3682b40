"""The ways to lay a logical mesh on the axes of a slice, as far as a collective over some of it can tell."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from hopcast.ir import mesh as meshes
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.topology import Topology
from hopcast.names import InputError


@dataclass(frozen=True)
class Layout:
    """One way.

    Attributes:
        order: As ``--order`` takes it.
        words: Which physical axes each logical axis lies on.
        alike: How many more orders there are in which the collective crosses as much.
    """

    order: str
    words: str
    alike: int = 0


def layouts(cluster: Cluster, axes: Sequence[tuple[str, int]], over: Sequence[str]) -> list[Layout]:
    """The order of jax, where it has one, and row-major over the physical axes in every order.

    Of those in which the axes ``over`` lie on axes of equal length, wrap and link the first is kept. Axes of
    a twisted slice are all taken to differ.

    Args:
        cluster: One slice.
        axes: Logical axes with their lengths.
        over: Those of the collective; empty: all, and then the order makes no difference.

    Raises:
        InputError: if the mesh does not fit the slice.

    Cost: one mesh for each order of the axes, of which there are at most 24.

    >>> from hopcast.clusters import cluster
    >>> for one in layouts(cluster("v5p:4x4x8"), [("data", 16), ("model", 8)], ["model"]):
    ...     print(one.order, "|", one.words)
    jax | data=16 on x x y, model=8 on z
    x,z,y | data=16 on x x z[4 of 8, every 2], model=8 on z[2 of 8] x y
    z,x,y | data=16 on z x x[2 of 4, every 2], model=8 on x[2 of 4] x y
    """
    own = [a.name for a in cluster.topology.axes]
    found: dict[object, Layout] = {}
    for order in ("jax", *(",".join(p) for p in itertools.permutations(own))):
        try:
            made = meshes.logical(cluster, axes, order)
        except InputError:
            if order != "jax":
                raise
            continue
        key = _crossed(cluster, made, over)
        was = found.get(key)
        words = made.describe(cluster.topology).rpartition(" (")[0]
        found[key] = Layout(order, words) if was is None else Layout(was.order, was.words, was.alike + 1)
    return list(found.values())


def _crossed(cluster: Cluster, made: Mesh, over: Sequence[str]) -> object:
    """What tells two ways apart: the parts of physical axes that the axes of the collective are."""
    inside = [f for n, f in zip(made.names, made.factors, strict=True) if not over or n in over]
    if any(f is None for f in inside):
        return made.order
    kinds = [_kind(cluster.topology, a) for a in range(len(cluster.topology.axes))]
    twisted = cluster.routing == "twisted"
    parts = [f for some in inside for f in some or ()]
    return tuple(sorted((kinds[f.axis], f.axis * twisted, f.length, f.stride) for f in parts))


def _kind(topology: Topology, a: int) -> tuple[int, bool, float, float]:
    """Length, wrap, and the bandwidth and latency of a link of an axis."""
    links = topology.axis == a
    axis = topology.axes[a]
    rate, lag = (float(c[links].max(initial=0.0)) for c in (topology.bandwidth, topology.latency))
    return axis.length, axis.wraps, rate, lag
