"""A schedule for a terminal: what every rank holds after each step, and who sends what."""

from collections.abc import Iterable

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ALL
from hopcast.ir.schedule import REDUCE, Schedule, Sends
from hopcast.ir.topology import Bools, Ints

from .arrange import part_of, rank_names
from .history import Frame, History, history, progress, thinned
from .schedule import describe

_MOST_RANKS, _MOST_CHUNKS = 16, 64
# ranks of a group, and how many of its states are written out at most
_MOST_STATES = ((8, 24), (16, 12), (2**31, 8))
_WIDEST, _SEND_LINES = 100, 3
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def schedule_text(
    schedule: Schedule, cluster: Cluster | None = None, *, steps: Iterable[int] | None = None
) -> str:
    """A schedule step by step, as text.

    Args:
        schedule: On the ranks of a cluster; its first group is drawn.
        cluster: Where it runs; it names the chips of ranks.
        steps: Step numbers to draw, as in the schedule's column, -1 being the start; by default all, or where
            they are many 8 to 24 of them.

    Returns:
        Lines of ASCII, without a newline at the end.

    Raises:
        InputError: for a step that does not exist, or a group too large to be stepped through.

    Cost: two passes over the sends.

    >>> from hopcast.algorithms import get
    >>> from hopcast.ir.group import Group, Hint
    >>> from hopcast.ir.topology import Axis
    >>> ring = Group((Axis("x", 3, True),), False, (1.0,), (0.0,), np.arange(3)[None])
    >>> print(schedule_text(get("ring").build("all_gather", ring, Hint())))
    all_gather by ring: 3 ranks, 3 chunks, 2 steps
    <BLANKLINE>
            rank 0  rank 1  rank 2
    start   0..     .1.     ..2     each rank holds 1 of 3 chunks
    step 0  0.2     01.     .12     each rank holds 2 of 3 chunks
            0>1[0]  1>2[1]  2>0[2]
    step 1  012     012     012     each rank holds 3 of 3 chunks
            0>1[2]  1>2[0]  2>0[1]
    <BLANKLINE>
    a character a chunk, by the rank it comes from; . not there
    a>b[c]  a sends chunk c to b
    """
    story = history(
        schedule, thinned(schedule, steps, next(most for n, most in _MOST_STATES if schedule.ranks <= n))
    )
    n, cells = schedule.ranks, _Cells(schedule, story)
    shown = [*range(min(n, _MOST_RANKS)), *range(n, min(len(story.vertices), n + 4))]
    ranks = rank_names(story.vertices[:n], cluster)
    names = [ranks[h] if h < n else f"vertex {story.vertices[h]}" for h in shown]
    body = _table(story, schedule, cells, shown, names)
    head = f"{schedule.collective.name} by {schedule.algorithm}: {describe(schedule, cluster)}"
    notes = [cells.legend(), *_notes(schedule, story, len(shown))]
    return "\n".join([head, "", *(line.rstrip() for line in body), "", *notes])


def _table(
    story: History, schedule: Schedule, cells: "_Cells", shown: list[int], names: list[str]
) -> list[str]:
    """Ranks side by side where they have room, else one below the other."""
    wide = [max(cells.width, len(name)) for name in names]
    first = max(len(_name(f)) for f in story.frames) if story.frames else 0
    beside = first + sum(w + 2 for w in wide) <= _WIDEST
    lines = (
        [" " * first + "".join("  " + name.ljust(w) for name, w in zip(names, wide, strict=True))]
        if beside
        else []
    )
    for frame in story.frames:
        held, words = [cells.of(frame, h) for h in shown], progress(story, frame, schedule.collective)
        if beside:
            lines.append(
                _name(frame).ljust(first)
                + "".join("  " + c.ljust(w) for c, w in zip(held, wide, strict=True))
                + f"  {words}"
            )
        else:
            lines += [
                f"{_name(frame)}: {words}",
                *(f"  {name.ljust(max(map(len, names)))}  {c}" for name, c in zip(names, held, strict=True)),
            ]
        indent = " " * (first + 2 if beside else 2)
        lines += [indent + line for line in _sends(frame.rows, story.vertices, schedule)]
    return lines


def _name(frame: Frame) -> str:
    return "start" if frame.step < 0 else f"step {frame.step}"


class _Cells:
    """A rank's chunks as characters."""

    def __init__(self, schedule: Schedule, story: History) -> None:
        c = schedule.collective
        self.full, self.reduces, self.ranks = story.full, c.reduces, c.ranks
        varied = [
            column
            for column in (c.origin, c.goal)
            if len(column) and column[0] != ALL and len(np.unique(column)) > 1
        ]
        left = any(bool((f.count.astype(bool) & ~f.live).any()) for f in story.frames)
        self.spent = "; - no longer needed" if left else ""
        self.pairs = c.name == "all_to_all"
        self.by = (
            "rank it goes to"
            if self.pairs or (varied and varied[0] is c.goal)
            else "rank it comes from"
            if varied
            else "number"
        )
        label: Ints = c.goal if self.pairs else varied[0] if varied else np.arange(c.chunks, dtype=np.int32)
        self.merge = (
            -(-c.chunks // 32) if c.chunks > _MOST_CHUNKS or int(label.max(initial=0)) >= len(_DIGITS) else 1
        )
        part = c.origin if self.pairs else part_of(label) if varied else np.zeros(c.chunks, np.int32)
        self.order = np.lexsort((label, part)) if self.merge == 1 else np.arange(c.chunks)
        self.label = [_DIGITS[int(v)] for v in label[self.order]] if self.merge == 1 else []
        self.starts = np.arange(0, c.chunks, self.merge)
        self.gaps = set((np.flatnonzero(np.diff(part)) + 1).tolist()) if self.merge == 1 else set()
        self.width = len(self.starts) + len(self.gaps)

    def of(self, frame: Frame, holder: int) -> str:
        """What a holder has after a step."""
        count, live = frame.count[holder, self.order], frame.live[holder, self.order]
        chars = self._merged(count, live) if self.merge > 1 else self._single(count, live)
        return "".join((" " if i in self.gaps else "") + ch for i, ch in enumerate(chars))

    def _single(self, count: Ints, live: Bools) -> list[str]:
        out = []
        for i, (k, wanted) in enumerate(zip(count.tolist(), live.tolist(), strict=True)):
            if not k or not wanted:
                out.append("-" if k else ".")
            elif not self.reduces:
                out.append(self.label[i])
            else:
                out.append("#" if k == self.full else _DIGITS[k] if k < len(_DIGITS) else "+")
        return out

    def _merged(self, count: Ints, live: Bools) -> list[str]:
        useful = np.where(live, np.minimum(count, self.full), 0)
        size = np.diff([*self.starts, len(count)])
        part = np.add.reduceat(useful, self.starts) / (self.full * size)
        return ["#" if p == 1 else "." if p == 0 else str(min(9, int(10 * p))) for p in part]

    def legend(self) -> str:
        """What the characters mean."""
        if self.merge > 1:
            tenths = "tenths of their sums" if self.reduces else "tenths of them"
            what = f"a character for {self.merge} chunks: {tenths}; # all"
            return f"{what}; . none that is needed"
        if self.reduces:
            words = (
                f", by the {self.by}{'; a word per part of the array' if self.gaps else ''}"
                if self.by != "number"
                else ""
            )
            return (
                f"a character a chunk{words}: contributions in its sum; # all {self.full}; . none{self.spent}"
            )
        words = "; a word per source" if self.pairs else "; a word per part of the array" if self.gaps else ""
        return f"a character a chunk, by the {self.by}{words}; . not there{self.spent}"


def _sends(rows: Sends, vertices: Ints, schedule: Schedule) -> list[str]:
    """Sends lane by lane, as many as have room, between ranks and vertices that are none."""
    lines: list[str] = []
    name = [*range(schedule.ranks), *vertices[schedule.ranks :].tolist()]
    for lane in np.unique(rows.lane).tolist():
        words = []
        for i in np.flatnonzero(rows.lane == lane).tolist():
            first, last = int(rows.chunk[i]), (int(rows.chunk[i]) + int(rows.count[i]) - 1) % schedule.chunks
            chunk = str(first) if first == last else f"{first}-{last}"
            arrow = "+>" if rows.op[i] == REDUCE else ">"
            words.append(f"{name[rows.src[i]]}{arrow}{name[rows.dst[i]]}[{chunk}]")
        lead = f"lane {lane}: " if schedule.lanes > 1 else ""
        lines += _packed(lead, words)
    return lines


def _packed(lead: str, words: list[str]) -> list[str]:
    """Words in columns of equal width, on a few lines; how many are left out."""
    wide = max(map(len, words)) + 2
    per = max(1, (_WIDEST - 8 - len(lead)) // wide)
    room = per * _SEND_LINES
    more = [f"and {len(words) - room + 1} more"] if len(words) > room else []
    kept = words[: room - 1] if more else words
    cells = [w.ljust(wide) for w in kept] + more
    rows = ["".join(cells[i : i + per]) for i in range(0, len(cells), per)]
    return [(lead if i == 0 else " " * len(lead)) + row for i, row in enumerate(rows)]


def _notes(schedule: Schedule, story: History, shown: int) -> list[str]:
    notes = []
    rows = [f.rows for f in story.frames if len(f.rows)]
    if rows:
        notes.append(
            "a+>b[c]  a adds chunk c to b's"
            if all((r.op == REDUCE).all() for r in rows)
            else "a>b[c]  a sends chunk c to b"
        )
        if len({bool(v) for r in rows for v in (r.op == REDUCE).tolist()}) == 2:
            notes.append("a+>b[c]  a adds chunk c to b's")
    if len(schedule.groups) > 1:
        notes.append(
            f"the first of {len(schedule.groups):,} groups; the others do the same on their own ranks"
        )
    if shown < schedule.ranks:
        notes.append(f"ranks 0 to {shown - 1} of {schedule.ranks:,}")
    if len(story.frames) < schedule.step_count + 1:
        notes.append(f"{len(story.frames)} of {schedule.step_count + 1:,} states, the start counted")
    return notes
