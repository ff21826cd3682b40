"""Axis after axis, the shorter way round each; what is half way round goes up whole (``antipodal=forward``).

As simulators route that know one route for a pair: one direction of an even ring carries more than the other.
Source: the torus zones of SimGrid, which take the positive direction at a tie.
"""

from hopcast.ir.topology import Ints, Topology

from . import Routes, dimension_order


def routes(topology: Topology, src: Ints, dst: Ints) -> Routes:
    """One minimal route per pair, x first."""
    return dimension_order.routes(topology, src, dst, split=False)
