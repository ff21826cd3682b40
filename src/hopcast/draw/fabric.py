"""How busy every cable under switches is: tiers as rows, a square for each cable, hot where flows met."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.graph.tiers import tiers as tiers_of
from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Bools, Floats, Topology
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds

from .boxes import Box
from .sketch import Sketch
from .svg import OVER
from .topology import about, shares
from .topology_text import aligned
from .words import counted

# Parts of the even share from which a cable is in the next class.
EDGES = (0.8, 0.95, 1.05, 1.2)
_NAMES = ("under 80%", "80 to 95%", "the even share", "105 to 120%", "over 120%")
_STRIP, _HIGHEST, _CELL = 216.0, 208.0, 13.0
_LEFT, _GAP = 168.0, 22.0
_MOST_COLUMNS, _MOST_ROWS = 216, 104
_SAME = 5e-3
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Way:
    """The cables of one tier in one direction.

    Shapes: a column for each lower switch, or node of chips; a row for each of its cables.

    Attributes:
        links: ``int64[rows, columns]``, -1 where there is none.
        busy: ``float64[rows, columns]``, seconds that its bytes take; NaN where there is none.
    """

    links: Longs
    busy: Floats

    @property
    def most(self) -> float:
        """Seconds of the busiest cable."""
        return float(np.nanmax(self.busy))

    @property
    def alike(self) -> bool:
        """Whether all cables are as busy."""
        return self.most <= float(np.nanmin(self.busy)) * (1 + _SAME)

    @property
    def mean(self) -> float:
        """The even share: seconds if all were alike."""
        return float(np.nanmean(self.busy))


@dataclass(frozen=True, eq=False)
class Tier:
    """Cables between two tiers.

    Attributes:
        name: ``leaf - spine``.
        cables: How many, each way.
        rates: Bytes/s of the slowest and of the fastest.
        up, down: Away from chips, and back.
    """

    name: str
    cables: int
    rates: tuple[float, float]
    up: Way
    down: Way


@dataclass(frozen=True, eq=False)
class Side:
    """One network with its load.

    Attributes:
        cluster: Where.
        load: ``float64[m]``, bytes over each link.
        title: What is above it.
    """

    cluster: Cluster
    load: Floats
    title: str


def has_tiers(topology: Topology) -> bool:
    """Whether chips meet in switches and in nothing else."""
    chips = topology.chips
    return topology.vertices > chips and bool(np.all(np.maximum(topology.src, topology.dst) >= chips))


def tiers(topology: Topology, load: Floats) -> list[Tier]:
    """The tiers of a network under switches, the highest first.

    Shapes: m links.

    Args:
        topology: Chips under switches.
        load: ``float64[m]``, bytes over each link.

    Raises:
        InputError: if loads do not fit, or chips are joined by cables.

    >>> from hopcast.topologies import fat_tree
    >>> pod = fat_tree.build("fat_tree:2x2", (2, 2), 4.0, 0.0)
    >>> [(t.name, t.cables, t.up.links.shape) for t in tiers(pod, np.ones(pod.links))]
    [('leaf - spine', 2, (1, 2)), ('chip - leaf', 4, (2, 2)), ('chip - nvswitch', 4, (2, 2))]
    """
    if not has_tiers(topology):
        raise InputError(f"{topology.name} has no tiers of switches; its load is drawn on its grid")
    shares(topology, load)  # refuses what does not fit
    level = tiers_of(topology)
    rate = topology.bandwidth
    busy = np.divide(load[topology.wire], rate, out=np.zeros(topology.links), where=rate > 0)
    inside = (
        topology.axis == len(topology.axes) - 1 if len(topology.axes) > 1 else np.zeros(topology.links, bool)
    )
    found = []
    for low in reversed(range(int(level.max()))):
        for mine in (~inside, inside):
            up = mine & (level[topology.src] == low) & (level[topology.dst] == low + 1)
            down = mine & (level[topology.dst] == low) & (level[topology.src] == low + 1)
            if up.any() and down.any():
                ways = [_way(topology, busy, np.flatnonzero(w), u) for w, u in ((up, True), (down, False))]
                rates = float(rate[up].min()), float(rate[up].max())
                found.append(Tier(_name(topology, up), int(up.sum()), rates, *ways))
    return found


def _way(topology: Topology, busy: Floats, links: Longs, up: bool) -> Way:
    """Links by their lower ends."""
    low, high = (topology.src, topology.dst) if up else (topology.dst, topology.src)
    column = low[links].astype(np.int64)
    if int(column.max()) < topology.chips and len(topology.axes) > 1:
        column = topology.coords[column, 0].astype(np.int64)
    order = np.lexsort((links, high[links], low[links], column))
    links, column = links[order], np.unique(column[order], return_inverse=True)[1]
    row = np.arange(len(links)) - np.searchsorted(column, column)
    grid = np.full((int(row.max()) + 1, int(column.max()) + 1), -1)
    grid[row, column] = links
    return Way(grid, np.where(grid >= 0, busy[grid], np.nan))


def _name(topology: Topology, up: Bools) -> str:
    """What the two tiers are."""
    link = int(np.flatnonzero(up)[0])
    return " - ".join(_kind(topology, int(v[link])) for v in (topology.src, topology.dst))


def _kind(topology: Topology, vertex: int) -> str:
    """A vertex without its number: chip, leaf, spine."""
    if vertex < topology.chips:
        return "chip"
    words = [w for w in topology.place(vertex).split() if not any(c.isdigit() for c in w)]
    return words[-1].removesuffix("s") if words else "switch"


def heat_class(part: float) -> int:
    """1 to 5 by the part of the even share; 0 for an idle cable.

    >>> [heat_class(p) for p in (0.0, 0.5, 0.9, 1.0, 1.1, 2.0)]
    [0, 1, 2, 3, 4, 5]
    """
    return int(part > 0) + sum(part > edge for edge in EDGES)


def fabric_svg(sides: Sequence[Side], *, title: str, caption: str = "") -> str:
    """The load of every cable, of one network or of two side by side.

    Args:
        sides: Networks with the same tiers.
        title: Headline.
        caption: Sentences under the picture.

    Returns:
        An SVG file that stands alone.

    Raises:
        InputError: if tiers differ, or there are too many cables to be seen.
    """
    found = [tiers(s.cluster.topology, s.load) for s in sides]
    names = [[t.name for t in f] for f in found]
    if any(n != names[0] for n in names):
        raise InputError(f"{sides[1].cluster.name} has not the tiers of {sides[0].cluster.name}")
    canvas = Sketch()
    for k, side in enumerate(sides):
        x = _LEFT + k * (2 * _STRIP + 2 * _GAP + 16)
        canvas.text(x, 0, side.title, size=12, cls="bold", anchor="start")
        for w, word in enumerate(("up", "down")):
            canvas.text(x + w * (_STRIP + _GAP), 18, word, size=10, cls="muted", anchor="start")
    y = 26.0
    for rows in zip(*found, strict=True):
        y = _tier(canvas, rows, sides, y) + 34
    _key(canvas, y + 4)
    notes = [*([caption] if caption else []), *(_hottest(s, f) for s, f in zip(sides, found, strict=True))]
    notes.append(
        "A square is a cable: a column for each node or switch below, a row for each of its cables. "
        "Numbers are percent of the even share, which each tier has for itself; idle tiers look like busy "
        "ones, so the times below tell which binds."
    )
    return canvas.finish(title, about(sides[0].cluster), notes)


def _tier(canvas: Sketch, rows: Sequence[Tier], sides: Sequence[Side], top: float) -> float:
    """A row of strips; gives its bottom."""
    tall = max(w.links.shape[0] for t in rows for w in (t.up, t.down))
    wide = max(w.links.shape[1] for t in rows for w in (t.up, t.down))
    if tall > _MOST_ROWS or wide > _MOST_COLUMNS:
        raise InputError(
            f"{sides[0].cluster.name}: {rows[0].name} has {wide} columns of {tall} cables; at most "
            f"{_MOST_COLUMNS} columns of {_MOST_ROWS} can be seen, as of dgx-h100:128"
        )
    alike = all(w.alike for t in rows for w in (t.up, t.down))
    high = 28.0 if alike else min(_HIGHEST, max(tall * _CELL, 28.0) if wide > 10 else tall * 22.0)
    for k, (tier, side) in enumerate(zip(rows, sides, strict=True)):
        x = _LEFT + k * (2 * _STRIP + 2 * _GAP + 16)
        hottest = max(t.most for t in (tier.up, tier.down))
        whole = float(np.max(shares_of(side)))
        for w, way in enumerate((tier.up, tier.down)):
            left = x + w * (_STRIP + _GAP)
            _strip(canvas, way, Box(left, top, left + _STRIP, top + high))
            binds = way.most >= whole * (1 - 1e-9) and way.most == hottest
            said = f"busiest {show_seconds(way.most)}"
            if way.alike:
                said = f"{show_seconds(way.most)}, all alike"
            else:
                said += f", {way.most / way.mean:.2f} x even"
            canvas.text(
                left, top + high + 14, said, size=9.5, cls="bold" if binds else "muted", anchor="start"
            )
    kinds = list(dict.fromkeys(_cables(t) for t in rows))
    names = [rows[0].name, *(w if not i else f"right: {w}" for i, w in enumerate(kinds))]
    for i, words in enumerate(names):
        canvas.text(0, top + 12 + 15 * i, words, size=12 if not i else 9.5, cls="muted" if i else "bold",
                    anchor="start")  # fmt: skip
    return top + high


def shares_of(side: Side) -> Floats:
    """``float64[m]``: seconds that each link's bytes take."""
    topology = side.cluster.topology
    rate = topology.bandwidth
    return np.divide(side.load[topology.wire], rate, out=np.zeros(topology.links), where=rate > 0)


def _cables(tier: Tier) -> str:
    low, high = tier.rates
    rate = show_rate(high) if low == high else f"{show_rate(low)} to {show_rate(high)}"
    bundled = tier.cables == tier.up.links.shape[1] and tier.name.startswith("leaf")
    noun = "bundle" if bundled else "cable"
    return f"{counted(tier.cables, noun)} of {rate}"


def _strip(canvas: Sketch, way: Way, box: Box) -> None:
    """The cables of a tier one way, the busiest with a rim where they differ."""
    tall, wide = way.links.shape
    across, down = (box.right - box.left) / wide, (box.bottom - box.top) / tall
    thin = 0.5 if min(across, down) > 5 else 0.0
    if way.alike and not thin:
        canvas.rect(box, f"t{heat_class(1.0)}" if way.mean > 0 else "panel")
        return
    mean = way.mean
    hottest = np.unravel_index(int(np.nanargmax(way.busy)), way.busy.shape)
    for (r, c), value in np.ndenumerate(way.busy):
        if np.isnan(value):
            continue
        x, y = box.left + int(c) * across, box.top + int(r) * down
        cell = Box(x, y, x + across, y + down).grown(-thin)
        shade = heat_class(float(value) / mean) if mean > 0 else 0
        canvas.rect(cell, f"t{shade}" if shade else "panel")
        if across >= 22 and down >= 13 and shade:
            cls = "bg" if shade > 2 else "ink"
            canvas.middle_text(cell, f"{value / mean * 100:.0f}", size=8.5, cls=cls)
        if (r, c) == hottest and not way.alike:
            canvas.rect(cell.grown(1), "new", layer=OVER)


def _key(canvas: Sketch, y: float) -> None:
    """Samples of the classes."""
    x = _LEFT
    for k, words in enumerate(_NAMES, 1):
        canvas.rect(Box(x, y - 9, x + 18, y + 1), f"t{k}")
        canvas.text(x + 23, y, words, size=9.5, cls="muted", anchor="start")
        x += 36 + 6.6 * len(words)
    canvas.rect(Box(x, y - 9, x + 18, y + 1), "new", layer=OVER)
    canvas.text(x + 23, y, "the busiest of its tier", size=9.5, cls="muted", anchor="start")


def _hottest(side: Side, found: Sequence[Tier]) -> str:
    """The busiest cable of all, by name."""
    topology, busy = side.cluster.topology, shares_of(side)
    link = int(busy.argmax())
    way = next(w for t in found for w in (t.up, t.down) if np.any(w.links == link))
    name = " > ".join(topology.place(int(v[link])) for v in (topology.src, topology.dst))
    alike = int(np.count_nonzero(busy > busy[link] * (1 - 1e-9)))
    more = f" and {alike - 1:,} more" if alike > 1 else ""
    return (
        f"{side.title}: the busiest cable is {name}{more}, busy for "
        f"{show_seconds(float(busy[link]))}, {busy[link] / way.mean:.2f} times its even share."
    )


def fabric_text(side: Side) -> str:
    """The same as a table: tiers by direction, least, even share and most, then the busiest cables.

    >>> from hopcast.topologies import fat_tree
    >>> pod = fat_tree.build("fat_tree:2x2", (2, 2), 4e9, 0.0)
    >>> print(fabric_text(Side(Cluster("pod", pod, "fat_tree", ""), np.full(pod.links, 4e3), "even")))
    ... # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    fat_tree:2x2: 4 chips, 5 switches, 20 links of ...
    <BLANKLINE>
    tier                  cables  least  even share  most  most / even
    leaf - spine up            2 ...
    """
    topology = side.cluster.topology
    found = tiers(topology, side.load)
    rows = [("tier", "cables", "least", "even share", "most", "most / even")]
    for tier in found:
        for word, way in (("up", tier.up), ("down", tier.down)):
            least = show_seconds(float(np.nanmin(way.busy)))
            ratio = f"{way.most / way.mean:.2f}" if way.mean > 0 else "-"
            even, most = show_seconds(way.mean), show_seconds(way.most)
            rows.append((f"{tier.name} {word}", f"{tier.cables:,}", least, even, most, ratio))
    return "\n".join(
        [about(side.cluster), "", *(line.rstrip() for line in aligned(rows)), "", _hottest(side, found)]
    )
