"""A network for a terminal: plain ASCII, routes marked by their numbers, loads as a table."""

import itertools
import textwrap
from collections.abc import Sequence

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Bools, Floats, Topology
from hopcast.units import show_rate, show_seconds, show_size

from .layout import MOST_ALONG, MOST_CHIPS, is_step, long_axes, too_large, way_of
from .topology import about, check_route, load_notes, route_words, shares
from .words import which_wrap

_WIDEST, _PER_ROW, _LOOP = 100, 12, 24
_BUSIEST, _BAR, _SWITCH_LINES = 8, 20, 48


def topology_text(
    cluster: Cluster, *, routes: Sequence[Sequence[int]] = (), load: Floats | None = None
) -> str:
    """A cluster's network as text.

    Shapes: m links.

    Args:
        cluster: What to draw.
        routes: Routes to mark, each a list of link numbers in the order in which they are crossed.
        load: ``float64[m]``, bytes over each link; a table then tells how busy they are.

    Returns:
        Lines of ASCII, without a newline at the end.

    Raises:
        InputError: if the network is too large to be read, a route is broken, or the loads do not fit.

    Cost: O(chips + links).

    >>> from hopcast.topologies import ring
    >>> network = ring.build("ring:5", (5,), 45e9, 0.0)
    >>> print(topology_text(Cluster("ring:5", network, "ring", "dimension_order")))
    ring:5: 5 chips, 10 links of 45 GB/s one way; x = 5 wraps
    <BLANKLINE>
     0 -- 1 -- 2
     |         |
     4 -- 3 ---+
    """
    topology = cluster.topology
    ways = [check_route(topology, route, i) for i, route in enumerate(routes)]
    busy = None if load is None else shares(topology, load)
    if topology.chips > MOST_CHIPS:
        raise too_large(topology)
    parts = [[about(cluster)], _picture(topology, ways)]
    if ways:
        parts.append([route_words(topology, way, i) for i, way in enumerate(ways)])
    if load is not None and busy is not None:
        parts.append(_load_table(topology, np.asarray(load, np.float64)[topology.wire], busy))
        parts.append(
            [line for note in load_notes(topology, load, busy) for line in textwrap.wrap(note, _WIDEST)]
        )
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part)


def _picture(topology: Topology, ways: list[list[int]]) -> list[str]:
    if not topology.is_grid:
        return _switches(topology)
    axes = long_axes(topology)
    if not axes:
        return [" " + topology.place(0)]
    if len(axes) == 1:
        marks = _Marks(topology, ways)
        closed = topology.axes[axes[0]].wraps and topology.chips <= _LOOP
        return _loop(topology, marks) if closed else _rows(topology, axes[0], marks)
    if max(topology.shape) > MOST_ALONG:
        raise too_large(topology)
    return _sheets(topology, axes, _Marks(topology, ways))


class _Marks:
    """Which routes cross which cables."""

    def __init__(self, topology: Topology, ways: list[list[int]]) -> None:
        self._topology = topology
        self._on: dict[tuple[int, int], str] = {}
        for i, way in enumerate(ways):
            for link in way:
                self._on.setdefault((int(topology.src[link]), int(topology.dst[link])), str((i + 1) % 10))

    def across(self, a: int, b: int, plain: str) -> str:
        """A cable from a on the left to b on the right; ``plain`` sets its length."""
        there, back = self._on.get((a, b)), self._on.get((b, a))
        if not there and not back:
            return plain
        word = f"<{there}>" if there and back else f"{there}>" if there else f"<{back}"
        return word.center(len(plain)) if len(plain) > 3 else word.rjust(len(plain))[: len(plain)]

    def down(self, a: int, b: int, plain: str = "|") -> str:
        """A cable from a above to b below."""
        there, back = self._on.get((a, b)), self._on.get((b, a))
        return "^v" if there and back else f"{there}v" if there else f"{back}^" if back else plain


def _loop(topology: Topology, marks: _Marks) -> list[str]:
    """A ring as two rows."""
    n = topology.chips
    half = -(-n // 2)
    top, bottom = list(range(half)), list(range(n - 1, half - 1, -1))
    wide = max(len(topology.place(v)) for v in range(n))

    def name(v: int) -> str:
        return topology.place(v).rjust(wide)

    def row(chips: list[int]) -> str:
        return name(chips[0]) + "".join(
            marks.across(a, b, " -- ") + name(b) for a, b in itertools.pairwise(chips)
        )

    upper, lower = row(top), row(bottom)
    left = marks.down(0, n - 1) if n > 2 else ""
    right = marks.down(half - 1, half)
    if n % 2:
        lower += " " + "-" * (len(upper) - len(lower) - 2) + "+"
    between = (
        left.rjust(wide).ljust(len(upper) - len(right)) + right
        if len(right) == 1
        else left.rjust(wide).ljust(len(upper) - 1) + right
    )
    return [" " + line for line in (upper, between, lower)]


def _rows(topology: Topology, axis: int, marks: _Marks) -> list[str]:
    """An open line, or a long ring, cut into rows."""
    n, wraps = topology.chips, topology.axes[axis].wraps
    wide = max(len(topology.place(v)) for v in range(n))
    lines = []
    for start in range(0, n, _PER_ROW):
        chips = list(range(start, min(start + _PER_ROW, n)))
        before = (
            marks.across(start - 1, start, " -- ")
            if start
            else marks.across(n - 1, 0, "  ~ ")
            if wraps
            else "    "
        )
        after = chips[-1] + 1
        end = (
            marks.across(after - 1, after, " -- ")
            if after < n
            else marks.across(n - 1, 0, " ~  ")
            if wraps
            else ""
        )
        body = topology.place(chips[0]).rjust(wide)
        for a, b in itertools.pairwise(chips):
            body += marks.across(a, b, " -- ") + topology.place(b).rjust(wide)
        lines.append((before if n > _PER_ROW or wraps else " ") + body + end)
    if wraps:
        lines += ["", "~ the two ends are joined"]
    elif n > _PER_ROW:
        lines += ["", "a row goes on in the next"]
    return lines


def _sheets(topology: Topology, axes: list[int], marks: _Marks) -> list[str]:
    """A sheet of the first two axes for each place along the others."""
    across, down, rest = axes[0], axes[1], axes[2:]
    names = [topology.place(v) for v in range(topology.chips)]
    named = topology.shape[across] * (max(map(len, names)) + 4) + 6 <= _WIDEST
    ends = _Ends(topology)
    lines: list[str] = []
    sheet_of: dict[tuple[int, ...], list[int]] = {}
    for v in range(topology.chips):
        sheet_of.setdefault(tuple(int(topology.coords[v, a]) for a in rest), []).append(v)
    for where, chips in sheet_of.items():
        if rest:
            lines += [
                "",
                ", ".join(f"{topology.axes[a].name} = {i}" for a, i in zip(rest, where, strict=True)),
            ][not lines :]
        at = {(int(topology.coords[v, across]), int(topology.coords[v, down])): v for v in chips}
        lines += _sheet(topology, (across, down), at, marks, ends, names if named else None)
    lines += ["", f"{topology.axes[across].name} runs across, {topology.axes[down].name} down"]
    wraps = [topology.axes[a].name for a in (across, down) if topology.axes[a].wraps]
    if wraps:
        askew = ", askew: the torus is twisted" if ends.askew else ""
        lines.append(f"~ the two ends of a line are joined: {which_wrap(wraps)}{askew}")
    for a in rest:
        axis = topology.axes[a]
        ring = f", and {axis.name} = {axis.length - 1} to {axis.name} = 0" if axis.wraps else ""
        lines.append(f"along {axis.name} each chip is joined to the same place on the next sheet{ring}")
    return lines


class _Ends:
    """The chip that each wrap-around of a grid leads to."""

    def __init__(self, topology: Topology) -> None:
        self._to: dict[tuple[int, int, int], int] = {}
        self.askew = False
        for link in range(topology.links):
            if not is_step(topology, link):
                src, axis = int(topology.src[link]), int(topology.axis[link])
                self._to[src, axis, way_of(topology, link)] = int(topology.dst[link])
                self.askew |= (
                    int(np.count_nonzero(topology.coords[topology.dst[link]] - topology.coords[src])) > 1
                )

    def of(self, chip: int, axis: int, way: int) -> int | None:
        """Where the link leads that leaves a chip round the end; None if there is none."""
        return self._to.get((chip, axis, way))


def _sheet(
    topology: Topology, axes: tuple[int, int], at: dict[tuple[int, int], int], marks: _Marks, ends: _Ends,
    names: list[str] | None,
) -> list[str]:  # fmt: skip
    """One sheet: with the chips' names, or as points between numbered rows and columns."""
    wide, tall = topology.shape[axes[0]], topology.shape[axes[1]]
    cell = max(map(len, names)) if names else 1
    cable, margin = (" -- ", "") if names else ("--", " " * 4)
    pad = margin + "   "
    lines = (
        []
        if names
        else [margin + "   " + "".join(str(i).rjust(2).ljust(3) for i in range(wide)).rstrip()[1:]]
    )

    def vertical(words: list[str]) -> str:
        left = cell // 2
        return pad + "".join((" " * left + w).ljust(cell + len(cable)) for w in words)

    tops = [ends.of(at[i, 0], axes[1], -1) for i in range(wide)]
    if any(t is not None for t in tops):
        lines.append(
            vertical([" " if t is None else marks.down(t, at[i, 0], "~") for i, t in enumerate(tops)])
        )
    for j in range(tall):
        left, right = at[0, j], at[wide - 1, j]
        far, near = ends.of(left, axes[0], -1), ends.of(right, axes[0], 1)
        row = (str(j).rjust(3) + " " if not names else "") + (
            "   " if far is None else marks.across(far, left, " ~ ").ljust(3)
        )
        for i in range(wide):
            row += (names[at[i, j]].ljust(cell) if names else "o") + (
                marks.across(at[i, j], at[i + 1, j], cable) if i < wide - 1 else ""
            )
        lines.append(row + ("" if near is None else marks.across(right, near, " ~ ")))
        if j < tall - 1:
            lines.append(vertical([marks.down(at[i, j], at[i, j + 1]) for i in range(wide)]))
    bottoms = [ends.of(at[i, tall - 1], axes[1], 1) for i in range(wide)]
    if any(b is not None for b in bottoms):
        lines.append(
            vertical(
                [" " if b is None else marks.down(at[i, tall - 1], b, "~") for i, b in enumerate(bottoms)]
            )
        )
    return lines


def _switches(topology: Topology) -> list[str]:
    """What each switch joins, equal ones in one line; then what joins chips without a switch."""
    near: dict[int, set[int]] = {v: set() for v in range(topology.chips, topology.vertices)}
    for a, b in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        if b >= topology.chips:
            near[b].add(a)
    alike: dict[tuple[int, ...], list[int]] = {}
    for v, others in near.items():
        alike.setdefault(tuple(sorted(others)), []).append(v)
    lines = []
    for around, here in alike.items():
        chips = [v for v in around if v < topology.chips]
        uplinks = [v for v in around if v >= topology.chips]
        words = [f"{'chip' if len(chips) == 1 else 'chips'} {runs(chips)}"] if chips else []
        words += [_switch_names(topology, uplinks)] if uplinks else []
        lines.append(f" {_switch_names(topology, here)}{' each' * (len(here) > 1)} -- {' and '.join(words)}")
    lines += _between_chips(topology)
    more = len(lines) - _SWITCH_LINES
    return lines if more <= 0 else [*lines[:_SWITCH_LINES], f" and {more:,} more like these"]


def _between_chips(topology: Topology) -> list[str]:
    """The chips that each chip has a cable to, each cable once, and those that it has only a link to."""
    joins = np.maximum(topology.src, topology.dst) < topology.chips
    there = set(zip(topology.src[joins].tolist(), topology.dst[joins].tolist(), strict=True))
    both: dict[int, list[int]] = {}
    one_way: dict[int, list[int]] = {}
    for a, b in sorted(there):
        if (b, a) not in there:
            one_way.setdefault(a, []).append(b)
        elif a < b:
            both.setdefault(a, []).append(b)
    return [
        f" chip {a} {sign} {'chip' if len(others) == 1 else 'chips'} {runs(others)}"
        for sign, found in (("--", both), ("->", one_way))
        for a, others in found.items()
    ]


def _switch_names(topology: Topology, vertices: Sequence[int]) -> str:
    """Switches by their own names, or by number."""
    if not topology.labels:
        return f"switch{'es' * (len(vertices) != 1)} {runs([v - topology.chips for v in vertices])}"
    names = [topology.place(v) for v in vertices]
    return ", ".join(names if len(names) <= 4 else [*names[:2], f"... {names[-1]} ({len(names)} in all)"])


def runs(numbers: Sequence[int]) -> str:
    """Numbers in short.

    >>> runs([0, 1, 2, 5, 8, 9])
    '0-2, 5, 8-9'
    """
    cuts = [i for i, v in enumerate(numbers) if i == 0 or v != numbers[i - 1] + 1]
    parts = [numbers[a:b] for a, b in zip(cuts, [*cuts[1:], len(numbers)], strict=True)]
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def _load_table(topology: Topology, load: Floats, busy: Floats) -> list[str]:
    """Loads by direction, and the busiest links."""
    head = ("links", "number", "least", "mean", "most", "busy")
    rows = [head]
    for name, mask in _directions(topology):
        part = load[mask]
        live = busy[mask & (busy >= 0)]
        mean = float(part.mean())
        rows.append(
            (
                name,
                f"{len(part):,}",
                show_size(float(part.min())),
                show_size(round(mean)),
                show_size(float(part.max())),
                f"{live.max(initial=0.0):.0%}",
            )
        )
    lines = aligned(rows)
    order = np.argsort(-busy, kind="stable")[:_BUSIEST]
    top = [("busiest", "bytes", "rate", "time", "")]
    for link in order[busy[order] > 0]:
        i = int(link)
        bar = "#" * max(1, round(_BAR * float(busy[i])))
        time = float(load[i]) / float(topology.bandwidth[i])
        top.append(
            (
                topology.link_name(i),
                show_size(float(load[i])),
                show_rate(float(topology.bandwidth[i])),
                show_seconds(time),
                bar,
            )
        )
    return [*lines, "", *aligned(top)] if len(top) > 1 else lines


def _directions(topology: Topology) -> list[tuple[str, Bools]]:
    """Kinds of links: along an axis up or down, or to and from switches."""
    src, dst = topology.src, topology.dst
    if topology.is_grid:
        up = topology.port[src, topology.axis, 0] == np.arange(topology.links)
        kinds = [
            (f"{a.name} {word}", (topology.axis == i) & (up == way))
            for i, a in enumerate(topology.axes)
            for word, way in (("up", True), ("down", False))
        ]
    else:
        chips = topology.chips
        kinds = [
            ("chip to switch", (src < chips) & (dst >= chips)),
            ("switch to chip", (src >= chips) & (dst < chips)),
            ("switch to switch", (src >= chips) & (dst >= chips)),
            ("chip to chip", (src < chips) & (dst < chips)),
        ]
    return [(name, np.asarray(mask, bool)) for name, mask in kinds if mask.any()]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns, the first and the last to the left, the others to the right."""
    wide = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    last = len(wide) - 1
    return [
        "  ".join(
            w.ljust(k) if i in (0, last) else w.rjust(k)
            for i, (w, k) in enumerate(zip(row, wide, strict=True))
        )
        for row in rows
    ]
