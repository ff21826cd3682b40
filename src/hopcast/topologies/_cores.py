"""A grid of chips seen by their cores: where a rank is a core, each chip is two ranks joined inside it.

The links between chips belong to the chip and serve both cores. Each core is given half of every one, so that
a chip sends and receives what it does as one rank; that is exact where both cores send alike, as they do in a
collective of all ranks, and slow by up to two for a core that sends alone along a single link. The cores of a
chip are the last axis, which counts fastest, as in jax.devices().

Source: jax-ml/jax, jax/_src/mesh_utils.py (the mesh of a slice whose chips show two devices has cores as its
last axis), read 2026-11.
"""

from dataclasses import replace

import numpy as np

from hopcast.ir.topology import Axis, Topology

from ._grid import grid

CORES = 2


def split(name: str, chips: Topology, bandwidth: float, latency: float) -> Topology:
    """The same grid with a vertex for each core.

    Args:
        name: For messages.
        chips: One vertex for each chip; no axis is twisted, all links are alike.
        bandwidth: From one core of a chip to the other, one way, bytes/s.
        latency: The same, seconds.

    >>> from hopcast.topologies import mesh
    >>> made = split("two", mesh.build("mesh:2x4", (2, 4), 90e9, 1e-6), 540e9, 1e-6)
    >>> made.chips, made.links, made.shape, made.axes[-1].name, sorted(set(made.bandwidth.tolist()))
    (16, 56, (2, 4, 2), 'core', [45000000000.0, 540000000000.0])
    """
    ici, late = (float(column.max(initial=0.0)) for column in (chips.bandwidth, chips.latency))
    wraps = [axis.wraps for axis in chips.axes]
    made = grid(name, (*chips.shape, CORES), (*wraps, False), ici / CORES, late)
    own = made.axis == len(chips.axes)
    return replace(
        made,
        bandwidth=np.where(own, bandwidth, made.bandwidth),
        latency=np.where(own, latency, made.latency),
        axes=(*made.axes[:-1], Axis("core", CORES, False, inner=True)),
    )
