"""Rooted collectives over nodes: all NICs of the root's node carry their part, as does every rail.

broadcast: part i of the array goes from the root over NVLink to rank i of its node, from there over rail i,
the ranks i of all nodes, and every rank tells the others of its node what it has got. On a rail pieces follow
each other from node to node, or down two trees over the nodes in which no node has children in both (see
`double_tree`); an array in one piece goes down a binomial tree. The root has sent its own part over its NIC
alone; a piece of it goes to one other rank of the root's node, each time to another, which tells the rest: so
the root sends the array once, and not twice. Pieces may be told several at a time, which takes fewer sends.

scatter: what is for rank i of another node goes over NVLink to rank i of the root's node and over its NIC to
its goal, in pieces, each with the messages for all nodes; last the root sends what is for its own node. Each
message takes one way that leads to its goal, so all arrive.

reduce and gather are the mirror images.

Cost: with N nodes of g ranks, m pieces of D / (g m), the stage b of a NIC and h steps of filling, h = N - 2 for
a chain and about 2 log2 N for trees, broadcast takes about (h + m) b, and little more until all is told.
scatter of q pieces takes about q (N - 1) D / (N g q B) over NICs of rate B, and one piece over NVLink.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns, one_group

from . import _rates, double_tree

COLLECTIVES = "broadcast", "reduce", "gather", "scatter"
MOST_SENDS = 5_000_000  # that may be asked for
_TRIED_SENDS = 300_000  # that are followed in a second or two
_MOST_PIECES, _MOST_TOLD = 1_024, 32
_BLIND = 8  # pieces where nobody knows the links
_HARDLY = 1.01  # times the least time: not worth more pieces
_SPREAD, _RAIL, _TELL, _REST = 0, 1, 3, 4  # lanes; a rail has two
Longs = npt.NDArray[np.int64]


def broadcast(group: Group, hint: Hint) -> Schedule:
    """Inside the root's node, along the rails, inside all nodes."""
    plan, (nodes, g) = _broadcast_plan(group, hint), group_shape(group)
    columns = np.concatenate([*_spread(plan, g, hint.root), *_rails(plan, nodes, g, hint.root)], 1)
    whole = of("broadcast", nodes * g, root=hint.root, parts=g * plan.pieces)
    return _made(whole, columns)
