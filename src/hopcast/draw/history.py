"""What every rank holds after each step of a schedule, and what of it still matters.

It steps through the schedule as `hopcast.interpret` does, but with sets of contributions in place of data.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.interpret import cells
from hopcast.ir.collective import ALL, Collective
from hopcast.ir.schedule import COPY, REDUCE, Schedule, Sends
from hopcast.ir.topology import Bools, Ints
from hopcast.names import InputError

_MOST_CELLS = 2**22
_SETS = 64  # ranks whose contributions fit a word
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Frame:
    """The first group after one step.

    Shapes: h holders (the group's ranks, then switches that hold chunks), c chunks.

    Attributes:
        step: Its number as in the schedule's column; -1 is the start.
        count: ``int32[h, c]``, contributions that a cell holds; 0: nothing.
        who: ``uint64[h, c]``, bit r: rank r's is among them; 0 above 64 ranks.
        live: ``bool[h, c]``, whether the cell is wanted: sent later, or part of the result.
        new: ``bool[h, c]``, whether the step wrote it.
        rows: The step's sends, between holders.
    """

    step: int
    count: Ints
    who: Words
    live: Bools
    new: Bools
    rows: Sends


@dataclass(frozen=True, eq=False)
class History:
    """Frames of the first group.

    Attributes:
        vertices: ``int32[h]``, the vertex of each holder.
        frames: In the order of steps, the start first where it was asked for.
        goal: ``bool[h, c]``, the cells that the collective must fill.
        full: Contributions of a finished cell.
    """

    vertices: Ints
    frames: list[Frame]
    goal: Bools
    full: int

    def done(self, frame: Frame) -> Bools:
        """``bool[h, c]``: cells of the result that are finished."""
        finished: Bools = self.goal & (frame.count == self.full)
        return finished


def check_steps(schedule: Schedule, steps: Iterable[int]) -> list[int]:
    """Step numbers in order, each once; -1 is the start.

    Raises:
        InputError: for a step that the schedule does not have.
    """
    asked = sorted({int(s) for s in steps})
    for s in asked:
        if not -1 <= s < schedule.step_count:
            raise InputError(
                f"step {s}: {schedule!r} has steps 0 to {schedule.step_count - 1}, and -1 for the start"
            )
    return asked


def thinned(schedule: Schedule, steps: Iterable[int] | None, most: int) -> list[int]:
    """The steps to draw: those asked for, or the start and all steps, or where they are many some of them.

    The first, the second and the last always stay; between them every k-th.
    """
    if steps is not None:
        return check_steps(schedule, steps)
    last = schedule.step_count - 1
    if last + 2 <= most:
        return list(range(-1, last + 1))
    between = np.linspace(1, last, most - 2).round().astype(int)
    return [-1, 0, *(int(s) for s in between)]


def progress(story: History, frame: Frame, collective: Collective) -> str:
    """How far a step has come, in words.

    All ranks are counted, also those that a picture leaves out.
    """
    ranks = collective.ranks
    if not collective.reduces and collective.name in ("all_gather", "broadcast"):
        held = np.count_nonzero(frame.count[:ranks], 1)
        low, high = int(held.min()), int(held.max())
        who = "each rank holds" if low == high else "ranks hold"
        return f"{who} {low:,}{'' if low == high else f' to {high:,}'} of {collective.chunks:,} chunks"
    done, all_ = int(np.count_nonzero(story.done(frame))), int(np.count_nonzero(story.goal))
    if collective.reduces:
        most = int(np.max(frame.count, initial=0, where=frame.live))
        return f"sums of up to {most:,} of {story.full:,}; {done:,} of {all_:,} results complete"
    return f"{done:,} of {all_:,} chunks are where they belong"


def history(schedule: Schedule, steps: Iterable[int]) -> History:
    """Step through the first group of a schedule.

    Args:
        schedule: On the ranks of a cluster.
        steps: Which frames to keep; -1 is the start.

    Raises:
        InputError: if a step does not exist, or the group is too large to be stepped through for a picture.

    Cost: two passes over the sends.

    >>> from hopcast.algorithms import get
    >>> from hopcast.ir.group import Group, Hint
    >>> from hopcast.ir.topology import Axis
    >>> ring = Group((Axis("x", 4, True),), False, (1.0,), (0.0,), np.arange(4)[None])
    >>> story = history(get("ring").build("all_gather", ring, Hint()), range(-1, 3))
    >>> [int(f.count[0].sum()) for f in story.frames]
    [1, 2, 3, 4]
    """
    keep = check_steps(schedule, steps)
    where = _Holders(schedule)
    h, c = len(where.vertices), schedule.chunks
    if h * c > _MOST_CELLS:
        raise InputError(
            f"{schedule!r}: {h:,} ranks x {c:,} chunks are too many to draw step by step "
            f"(at most {_MOST_CELLS:,}); draw the same algorithm on fewer ranks, such as ring:8 or torus:4x4"
        )
    reduces = schedule.collective.reduces
    goal = _named(schedule.collective.goal, schedule.ranks, h)
    live = _liveness(schedule, where, goal, keep)
    start = _named(schedule.collective.origin, schedule.ranks, h)
    count, who = start.astype(np.int32), np.zeros((h, c), np.uint64)
    if schedule.ranks <= _SETS:
        bit = np.left_shift(np.uint64(1), np.arange(h, dtype=np.uint64) % np.uint64(_SETS))
        who = np.where(start, bit[:, None], np.uint64(0)).astype(np.uint64)
    full = schedule.ranks if reduces else 1

    def wanted(step: int) -> Bools:
        # a finished cell of the result is wanted, also where a later send brings the same once more
        found: Bools = live[step] | (goal & (count == full))
        return found

    nothing = np.zeros((h, c), bool)
    frames = [Frame(-1, count.copy(), who.copy(), wanted(-1), nothing, where.none)] if -1 in live else []
    for i in range(max(keep, default=-1) + 1):
        rows = where.local(schedule.make(i))
        new = _advance(rows, count, who)
        if i in live:
            frames.append(Frame(i, count.copy(), who.copy(), wanted(i), new, rows))
    return History(where.vertices, frames, goal, full)


class _Holders:
    """Numbers of the first group's ranks, and of switches that it uses."""

    def __init__(self, schedule: Schedule) -> None:
        group = schedule.groups[0]
        self._number = np.full(schedule.vertices, -1, np.int32)
        self._number[group] = np.arange(len(group))
        shared = np.ones(schedule.vertices, bool)
        shared[schedule.groups.ravel()] = False
        extra: set[int] = set()
        if shared.any():
            for rows in schedule.steps():
                for near, far in ((rows.src, rows.dst), (rows.dst, rows.src)):
                    extra.update(np.unique(near[shared[near] & (self._number[far] >= 0)]).tolist())
        more = np.array(sorted(extra), np.int32)
        self._number[more] = len(group) + np.arange(len(more))
        self.vertices = np.concatenate([group, more]).astype(np.int32)
        zero = np.zeros(0, np.int32)
        self.none = Sends(zero, zero, zero, zero, zero.astype(np.uint8), zero.astype(np.uint16))

    def local(self, rows: Sends) -> Sends:
        """The sends between holders."""
        src, dst = self._number[rows.src], self._number[rows.dst]
        mine = (src >= 0) & (dst >= 0)
        return Sends(src[mine], dst[mine], rows.chunk[mine], rows.count[mine], rows.op[mine], rows.lane[mine])


def _named(column: Ints, ranks: int, holders: int) -> Bools:
    """``bool[h, c]``: the cells that a column of a collective names."""
    cell = np.zeros((holders, len(column)), bool)
    cell[:ranks] = (column[None] == ALL) | (column[None] == np.arange(ranks)[:, None])
    return cell


def _advance(rows: Sends, count: Ints, who: Words) -> Bools:
    """Do one step; give the cells that it wrote."""
    row, chunk = cells(rows, count.shape[1])
    src, dst, add = rows.src[row], rows.dst[row], rows.op[row] == REDUCE
    moved, bits = count[src, chunk], who[src, chunk]
    copy = ~add
    count[dst[copy], chunk[copy]], who[dst[copy], chunk[copy]] = moved[copy], bits[copy]
    np.add.at(count, (dst[add], chunk[add]), moved[add])
    np.bitwise_or.at(who, (dst[add], chunk[add]), bits[add])
    new = np.zeros(count.shape, bool)
    new[dst, chunk] = True
    return new


def _liveness(schedule: Schedule, where: _Holders, goal: Bools, keep: list[int]) -> dict[int, Bools]:
    """For each step to keep the cells that are wanted after it, found from the last step back."""
    wanted, live = goal.copy(), {}
    for i in reversed(range(max(min(keep, default=0), 0), schedule.step_count)):
        if i in keep:
            live[i] = wanted.copy()
        rows = where.local(schedule.make(i))
        row, chunk = cells(rows, schedule.chunks)
        src, dst, copy = rows.src[row], rows.dst[row], rows.op[row] == COPY
        use = wanted[dst, chunk]
        wanted[dst[copy], chunk[copy]] = False
        wanted[src[use], chunk[use]] = True
    if -1 in keep:
        live[-1] = wanted
    return live
