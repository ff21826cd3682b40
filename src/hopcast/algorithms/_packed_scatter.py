"""scatter and gather over the trees of a broadcast: each takes an equal part of what every rank gets.

The root sends down each tree what is for the farthest rank first, and every rank passes on at once what is
not for itself. So a link of a tree carries one part a step, for as many steps as there are ranks behind it;
those of the root are busy from the first step to the last, and where trees use all of them no schedule takes
less. Sends of a link take turns in two lanes, so that one can wait for latency while the other sends. gather
is the mirror image on the links turned round.
"""

import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns, one_group

from . import _packed_root as packed

COLLECTIVES = "scatter", "gather"
MOST_SENDS = 400_000
_LANES = 2  # of a link
Longs = npt.NDArray[np.int64]


def scatter(group: Group, hint: Hint) -> Schedule:
    """Parts for each rank, the farthest first."""
    return _scheduled("scatter", group, hint)


def gather(group: Group, hint: Hint) -> Schedule:
    """The mirror image of a scatter over the links turned round."""
    return _scheduled("gather", group, hint)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs what a broadcast needs."""
    reason = packed.valid("reduce" if collective == "gather" else "broadcast", group, hint)
    if reason or "pieces" not in hint.options:
        return reason
    return f"{collective} sends no pieces of what one rank gets down a tree; leave pieces= off"


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """On grids other algorithms are at the bound already."""
    if not group.switched and not group.levels and group.ranks > _FEW:
        return "on grids multi_axis takes no longer"
    return packed.unasked("reduce" if collective == "gather" else "broadcast", group, hint)
