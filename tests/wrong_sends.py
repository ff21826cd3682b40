"""Schedules with one wrong send, and what a check says of them."""

from dataclasses import replace

import numpy as np

from hopcast.interpret import CheckError
from hopcast.ir.schedule import COPY, REDUCE, take


def damaged(made, step, at, how):
    """The schedule with one send of one step dropped, doubled, sent elsewhere or of another op.

    What it claims of all ranks doing alike is still claimed.
    """

    def make(i):
        rows = made.make(i)
        if i != step:
            return rows
        keep = np.arange(len(rows))
        dst, op = rows.dst.copy(), rows.op.copy()
        if how == "dropped":
            keep = np.delete(keep, at)
        elif how == "doubled":
            keep = np.append(keep, at)
        elif how == "elsewhere":
            dst[at] = (dst[at] + 1) % made.ranks
        else:
            op[at] = COPY if op[at] == REDUCE else REDUCE
        return take(replace(rows, dst=dst, op=op), keep)

    return replace(made, make=make)


def verdict(follow, made):
    """None, or what is wrong."""
    try:
        follow(made, 0)
    except CheckError as wrong:
        return str(wrong)
    return None
