"""A network as an SVG picture: the links, routes on them, or how busy each of them is."""

import itertools
from collections.abc import Sequence

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Floats, Topology
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds, show_size

from . import theme
from .boxes import Box, wrap
from .geometry import Line, middle
from .impaired import impaired, mark_slow, slow_links
from .layout import Layout, lay_out
from .svg import BACK, BOXES, LEAST_WIDTH, LINES, OVER, SMALL, Canvas
from .words import counted

CLASSES = 5  # of load, each a fifth


def topology_svg(
    cluster: Cluster, *, routes: Sequence[Sequence[int]] = (), load: Floats | None = None,
    title: str = "", caption: str = "",
) -> str:  # fmt: skip
    """A picture of a cluster's network.

    Shapes: m links.

    Args:
        cluster: What to draw.
        routes: Routes to show on it, each a list of link numbers in the order in which they are crossed.
        load: ``float64[m]``, bytes over each link; colour and width then tell how busy it is.
        title: Headline; by default the cluster's name.
        caption: A sentence under the picture, before what the drawing has to say itself.

    Returns:
        An SVG file that stands alone, the same bytes for the same input.

    Raises:
        InputError: if the network is too large to be read, a route is broken, or the loads do not fit.

    Cost: O(chips + links).

    >>> from hopcast.topologies import ring
    >>> network = ring.build("ring:4", (4,), 1.0, 0.0)
    >>> picture = topology_svg(Cluster("ring:4", network, "ring", "dimension_order"))
    >>> picture.startswith("<svg"), "4 chips, 8 links" in picture
    (True, True)
    """
    topology = cluster.topology
    busy = None if load is None else shares(topology, load)
    ways = [check_route(topology, route, i) for i, route in enumerate(routes)]
    keep = {int(v) for r in ways for i in r for v in (topology.src[i], topology.dst[i])}
    if busy is not None and topology.links:
        top = int(np.argmax(busy))
        keep |= {int(topology.src[top]), int(topology.dst[top])}
    plan, canvas = lay_out(topology, busy is None, keep), Canvas()
    draw_cables(canvas, plan, topology, busy)
    slow = slow_links(cluster).tolist()
    half = 6.0 if busy is None else plan.lane + plan.widest / 2 + 1.5
    once = {tuple(sorted((int(topology.src[i]), int(topology.dst[i])))): i for i in slow}
    for link in once.values():
        for way in plan.ways(topology, link, 0.0)[:1]:
            mark_slow(canvas, way, half)
    for i, route in enumerate(ways):
        _route(canvas, plan, topology, route, i)
    draw_vertices(
        canvas,
        plan,
        topology,
        {v for r in ways if r for v in (int(topology.src[r[0]]), int(topology.dst[r[-1]]))},
    )
    if busy is not None:
        _percent(canvas, plan, topology, busy)
    canvas.widen(LEAST_WIDTH)
    if busy is not None:
        _load_key(canvas)
    left = canvas.edge.left  # of all lines of the key: each of them moves the edge a little
    for i, route in enumerate(ways):
        _route_key(canvas, topology, route, i, left)
    notes = [*([caption] if caption else []), *plan.notes, *load_notes(topology, load, busy)]
    if slow:
        notes.append("Two strokes across a cable: it is slow.")
    if busy is not None and not topology.half_duplex:
        notes.append("A link is drawn on the right of its direction.")
    canvas.footer(notes)
    head, under = title or cluster.name, about(cluster)
    canvas.headline(head, under.removeprefix(f"{head}: "))
    return canvas.render(
        head,
        " ".join(
            [
                f"{under}.",
                *(route_words(topology, r, i) + "." for i, r in enumerate(ways)),
                *notes,
            ]
        ),
    )


def summary(topology: Topology) -> str:
    """A network in a line.

    >>> from hopcast.topologies import torus
    >>> summary(torus.build("torus:4x2", (4, 2), 45e9, 0.0))
    'torus:4x2: 8 chips, 24 links of 45 GB/s one way; x = 4 wraps, y = 2 open'
    """
    switches = topology.vertices - topology.chips
    words = f"{topology.name}: {counted(topology.chips, 'chip')}"
    words += f", {counted(switches, 'switch')}" if switches else ""
    rates = np.unique(topology.bandwidth)
    rates = rates[rates > 0]
    words += f", {counted(topology.links, 'link')}"
    if len(rates):
        words += f" of {show_rate(float(rates[0]))}" + (
            f" to {show_rate(float(rates[-1]))}" if len(rates) > 1 else ""
        )
        words += " both ways together" if topology.half_duplex else " one way"
    if topology.is_grid and topology.axes:
        words += "; " + ", ".join(
            f"{a.name} = {a.length} {'wraps' if a.wraps else 'open'}" for a in topology.axes
        )
    return words


def about(cluster: Cluster) -> str:
    """A cluster's network in a line, with what is slow or dead."""
    return "; ".join(filter(None, (summary(cluster.topology), impaired(cluster))))


def shares(topology: Topology, load: Floats) -> Floats:
    """How busy each link is beside the busiest: ``float64[m]``, 0..1, and -1 for dead links.

    Raises:
        InputError: if there is not one number for each link, one is negative, or a dead link carries bytes.
    """
    given = np.asarray(load, np.float64)
    if given.shape != (topology.links,):
        raise InputError(
            f"load has shape {given.shape}; {topology.name} has {topology.links} links, one number each"
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0):
        bad = int(np.flatnonzero(~np.isfinite(given) | (given < 0))[0])
        raise InputError(
            f"load of link {topology.link_name(bad)} is {given[bad]:g} bytes; it must be 0 or more"
        )
    dead = topology.bandwidth == 0
    if np.any(given[dead] > 0):
        bad = int(np.flatnonzero(dead & (given > 0))[0])
        raise InputError(
            f"dead link {topology.link_name(bad)} has a load of {given[bad]:g} bytes; it can carry none"
        )
    whole = given[topology.wire]
    time = np.divide(whole, topology.bandwidth, out=np.zeros(topology.links), where=~dead)
    return np.where(dead, -1.0, time / (time.max(initial=0.0) or 1.0))


def check_route(topology: Topology, route: Sequence[int], nth: int) -> list[int]:
    """The route's links as plain numbers.

    Raises:
        InputError: if a link does not exist or two that follow one another do not meet.
    """
    links = [int(i) for i in route]
    for i in links:
        if not 0 <= i < topology.links:
            raise InputError(
                f"route {nth + 1} has link {i}; {topology.name} has links 0 to {topology.links - 1}"
            )
    for a, b in itertools.pairwise(links):
        if topology.dst[a] != topology.src[b]:
            raise InputError(
                f"route {nth + 1} goes from link {topology.link_name(a)} to link {topology.link_name(b)}; "
                "a link must start where the last one ends"
            )
    return links


def route_words(topology: Topology, route: Sequence[int], nth: int) -> str:
    """A route in words: ``route 1: 3,3 > 2,3 > 1,3, 2 hops``."""
    if not route:
        return f"route {nth + 1}: no hops"
    stops = [
        topology.place(int(topology.src[route[0]])),
        *(topology.place(int(topology.dst[i])) for i in route),
    ]
    return f"route {nth + 1}: {' > '.join(stops)}, {counted(len(route), 'hop')}"


def load_notes(topology: Topology, load: Floats | None, busy: Floats | None) -> list[str]:
    """What the percentages mean."""
    if load is None or busy is None or not topology.links:
        return []
    top = int(np.argmax(busy))
    if busy[top] <= 0:
        return ["No link carries anything."]
    volume, rate = float(load[topology.wire[top]]), float(topology.bandwidth[top])
    live = busy[busy >= 0]
    alike = int(np.count_nonzero(live > 1 - 1e-9))
    more = f" and {alike - 1:,} more" if alike > 1 else ""
    both = "a cable both ways" if topology.half_duplex else "a link"
    return [
        f"100% is the busiest link, {topology.link_name(top)}{more}: "
        f"{show_size(volume)} at {show_rate(rate)}, {show_seconds(volume / rate)}. "
        f"On average {both} is busy {float(live.mean()):.0%} of that time."
    ]


def load_class(share: float) -> int:
    """1 to 5, a fifth each; 0 for idle links.

    >>> [load_class(s) for s in (0.0, 0.01, 0.2, 0.21, 1.0)]
    [0, 1, 1, 2, 5]
    """
    return min(CLASSES, int(np.ceil(share * CLASSES - 1e-9)))


def draw_cables(canvas: Canvas, plan: Layout, topology: Topology, busy: Floats | None) -> None:
    """All links: cables, or arrows as thick and dark as they are busy. Shapes: ``busy`` is ``float64[m]``."""
    drawn: set[tuple[int, int, bool]] = set()
    there = set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    corner = 9.0
    for link in range(topology.links):
        a, b = int(topology.src[link]), int(topology.dst[link])
        trace = plan.traces[link]
        if not trace.lines:
            continue
        dead = topology.bandwidth[link] == 0
        if busy is None or dead or topology.half_duplex:
            key = (min(a, b), max(a, b), bool(trace.wraps))
            if key in drawn:
                continue
            drawn.add(key)
        if busy is None or dead:
            cls = "dead" if dead else "wrap" if trace.wraps else "cable"
            tip, size = ("", 0.0) if (b, a) in there else ("bundletip", 9.0)
            for way in plan.ways(topology, link, 0.0):
                canvas.line(way, cls, radius=corner, tip=tip, size=size)
            if dead:
                _cross(canvas, plan.ways(topology, link, 0.0)[0])
            continue
        shade = load_class(float(busy[link]))
        aside = 0.0 if topology.half_duplex else plan.lane
        ways = plan.ways(topology, link, aside)
        for way in ways[:1] if trace.ticks else ways:
            if not shade:
                canvas.line(way, "idle", radius=corner)
                continue
            thick = plan.widest * (0.25 + 0.75 * float(busy[link]))
            canvas.line(
                way, f"u{shade}", radius=corner, width=thick, tip=f"t{shade}", size=plan.widest + thick * 0.9
            )
    for line in plan.bundles:
        canvas.line(line, "bundle", tip="bundletip", size=9)
        canvas.line(line[::-1], "bundle", tip="bundletip", size=9)


def _cross(canvas: Canvas, line: Line) -> None:
    (x, y), _ = middle(line)
    for way in (1, -1):
        canvas.line(((x - 4, y - 4 * way), (x + 4, y + 4 * way)), "cross", layer=BOXES)


def _route(canvas: Canvas, plan: Layout, topology: Topology, route: Sequence[int], nth: int) -> None:
    """Thick arrows along the links; a thin line where a hop leads to another sheet."""
    colour = theme.route_number(nth)
    wide = max(1.6, plan.widest * 0.6)
    for link in route:
        aside = plan.lane * (1 + nth // len(theme.DASHES))
        ways = plan.ways(topology, link, aside)
        for i, way in enumerate(ways):
            last = i == len(ways) - 1
            tip, size = (f"h{colour}", wide * 2.4 + 3) if last else ("", 0.0)
            canvas.line(
                way, f"r{colour}", radius=9, width=wide, tip=tip, size=size, layer=BOXES if last else LINES
            )
        if plan.traces[link].ticks:
            canvas.line((ways[0][-1], ways[1][0]), f"r{colour}", width=1.2, layer=BACK)


def draw_vertices(canvas: Canvas, plan: Layout, topology: Topology, ends: set[int]) -> None:
    """All chips and switches, some of them with a thick rim, and the words of the layout."""
    seen: set[Box] = set()
    for v, box in enumerate(plan.boxes):
        if box in seen or v in plan.hidden:
            continue
        seen.add(box)
        cls = "switch" if v >= topology.chips else "end" if v in ends else "chip"
        canvas.rect(box, cls, round_by=min(5.0, (box.bottom - box.top) / 4), solid=True, layer=OVER)
        if text := plan.label(v):
            canvas.middle_text(box, text, size=10.0 if v >= topology.chips else plan.size)
    for (x, y), text, anchor in plan.marks:
        size, cls = (8.0, "muted") if text.isdecimal() else (SMALL, "bold")
        canvas.text(x, y, text, size=size, cls=cls, anchor=anchor)
    for (x, y), text, anchor in plan.stubs:
        canvas.text(x, y, text, size=7.5, cls="muted", anchor=anchor, optional=True)


def _percent(canvas: Canvas, plan: Layout, topology: Topology, busy: Floats) -> None:
    """Numbers beside the links, where there is room for them."""
    if plan.size < 8.5 or topology.links > 160:
        return
    beside = plan.lane + plan.widest / 2 + 3
    for link in range(topology.links):
        trace = plan.traces[link]
        if busy[link] <= 0 or trace.ticks or not trace.lines:
            continue
        (x, y), (dx, dy) = middle(plan.ways(topology, link, 0.0)[0])
        if trace.upright and abs(dx) > 0.5:  # slanting links cross others, and numbers would lie on those
            continue
        right, down = -dy, dx
        anchor = "start" if right > 0.5 else "end" if right < -0.5 else "middle"
        canvas.text(
            x + right * beside,
            y + down * (beside + 3) + 3,
            f"{busy[link]:.0%}",
            size=8.5,
            cls="muted",
            anchor=anchor,
            optional=True,
        )


def _load_key(canvas: Canvas) -> None:
    """Samples of the classes of load."""
    left, y = canvas.edge.left, canvas.edge.bottom + 22
    x = left
    for shade in range(CLASSES + 1):
        text = f"{shade * 100 // CLASSES - 19} to {shade * 100 // CLASSES}%" if shade else "idle"
        text = text.replace("1 to 20%", "up to 20%") if shade == 1 else text
        if shade:
            thick = 6.0 * (0.25 + 0.75 * (shade - 0.5) / CLASSES)
            canvas.line(
                ((x, y - 4), (x + 24, y - 4)), f"u{shade}", width=thick, tip=f"t{shade}", size=4 + thick
            )
        else:
            canvas.line(((x, y - 4), (x + 24, y - 4)), "idle")
        canvas.text(x + 29, y, text, size=9.0, cls="muted", anchor="start")
        x += 44 + len(text) * 6.2


def _route_key(canvas: Canvas, topology: Topology, route: Sequence[int], nth: int, left: float) -> None:
    """A sample of a route's line and its stops, on as many lines as they need."""
    colour, y = theme.route_number(nth), canvas.edge.bottom + 20
    canvas.line(((left, y - 4), (left + 30, y - 4)), f"r{colour}", width=3, tip=f"h{colour}", size=9)
    room = canvas.edge.right - left - 36
    for i, text in enumerate(wrap(route_words(topology, route, nth), room, SMALL)):
        canvas.text(left + 36, y + 16 * i, text, size=SMALL, cls="ink", anchor="start")
