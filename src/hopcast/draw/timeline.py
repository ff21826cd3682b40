"""How busy each link is at each moment, a line for each link and one clock for all that is compared."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Floats, Topology
from hopcast.names import InputError
from hopcast.routing import routes
from hopcast.simulate.reference import Flows
from hopcast.units import show_seconds

from .boxes import Box
from .charts import evenly
from .sketch import Sketch
from .svg import BACK, OVER
from .topology import load_class

MOST_LINES = 96  # links of which each has a line
_CELLS = 12_000_000


def busy_over_time(
    schedule: Schedule, cluster: Cluster, size: float, flows: Flows, until: float, moments: int
) -> Floats:
    """The part of each moment in which each link is busy.

    A send is taken to flow evenly from its first byte to its last: over all moments the bytes are right, but
    a moment in which sends that share a link change their rates may come out above 1.

    Shapes: m links.

    Args:
        schedule: What ran.
        cluster: Where.
        size: D, bytes.
        flows: When its sends were under way.
        until: End of the clock, seconds.
        moments: Equal parts of the clock.

    Returns:
        ``float64[m, moments]``, 1 where a link is busy all the time.

    Raises:
        InputError: if the simulation has not the times of single sends, or there are too many.

    Cost: O(links crossed x moments).

    >>> from hopcast.choose import answer
    >>> from hopcast.verbs import ask
    >>> q, where = ask.question("all_gather", "ring:4,bandwidth=1GB/s,latency=0", size=4e9)
    >>> a = answer(q, "ring", "flows")
    >>> busy_over_time(a.schedule, where.cluster, q.size, a.flows, 4.0, 4)[0].tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    rows, topology = flows.rows, cluster.topology
    if not len(rows) or len(rows) * moments > _CELLS:
        raise InputError(
            f"{len(rows):,} sends with their times at {moments} moments cannot be drawn; take fewer ranks"
        )
    way = routes(cluster, rows.src, rows.dst)
    piece = np.repeat(np.arange(len(way.pair)), way.hops)
    send = way.pair[piece]
    volume = schedule.bytes(rows, size)[send] * way.weight[piece]
    edges = np.linspace(0.0, until, moments + 1)
    span = np.maximum(flows.end - flows.start, 1e-300)
    done = np.clip((edges[None] - flows.start[:, None]) / span[:, None], 0.0, 1.0)
    moved = np.diff(done, axis=1)
    total = np.zeros((topology.links, moments))
    np.add.at(total, topology.wire[way.links], moved[send] * volume[:, None])
    rate = topology.bandwidth[topology.wire] * until / moments
    whole = total[topology.wire]
    return np.divide(whole, rate[:, None], out=np.zeros_like(whole), where=rate[:, None] > 0)


@dataclass(frozen=True, eq=False)
class Run:
    """One run of the clock.

    Attributes:
        title: What ran.
        busy: ``float64[m, moments]``, of `busy_over_time`.
        seconds: When it was over.
    """

    title: str
    busy: Floats
    seconds: float


def lines(
    canvas: Sketch, topology: Topology, runs: Sequence[Run], until: float, *, left: float = 90.0,
    room: float = 720.0, high: float = 4.2,
) -> Box:  # fmt: skip
    """Runs one below the other on one clock, each a line for each link, in the order of axes.

    Args:
        canvas: Where.
        topology: Whose links they are.
        runs: What is compared.
        until: End of the clock, seconds.
        left: Of the clock.
        room: Its length.
        high: Of a line.

    Returns:
        The box of all of them.

    Raises:
        InputError: for more links than can be seen.
    """
    if topology.links > MOST_LINES:
        raise InputError(
            f"{topology.name} has {topology.links} links; at most {MOST_LINES} can be seen, as of mesh:4x4"
        )
    order = np.lexsort((np.arange(topology.links), topology.src > topology.dst, topology.axis))
    y = 0.0
    for run in runs:
        canvas.text(left, y, run.title, size=12, cls="bold", anchor="start")
        y += 8
        canvas.rect(Box(left, y, left + room, y + high * topology.links), "panel", layer=BACK)
        for i, link in enumerate(order.tolist()):
            _line(canvas, run.busy[link], left, room, y + i * high, high)
        _kinds(canvas, topology, order, left, y, high)
        end = left + room * run.seconds / until
        bottom = y + high * topology.links
        canvas.line(((end, y - 4), (end, bottom + 4)), "border", layer=OVER)
        canvas.text(end, bottom + 16, show_seconds(run.seconds), size=10, cls="bold")
        y = bottom + 46
    for tick in evenly(until)[:-1] if len(runs) else []:
        if tick <= until:
            x = left + room * tick / until
            canvas.line(((x, y - 22), (x, y - 16)), "cable")
            canvas.text(x, y - 4, show_seconds(tick), size=9, cls="muted")
    canvas.line(((left, y - 22), (left + room, y - 22)), "cable")
    return Box(left, 0, left + room, y)


def _line(canvas: Sketch, busy: Floats, left: float, room: float, y: float, high: float) -> None:
    """One link: a bar for each stretch of moments in the same class."""
    shade = [load_class(float(b)) if b > 0.02 else 0 for b in busy]
    step = room / len(shade)
    start = 0
    for k in range(1, len(shade) + 1):
        if k == len(shade) or shade[k] != shade[start]:
            if shade[start]:
                box = Box(left + start * step, y + 0.3, left + k * step, y + high - 0.3)
                canvas.rect(box, f"t{shade[start]}")
            start = k


def _kinds(
    canvas: Sketch, topology: Topology, order: np.ndarray, left: float, top: float, high: float
) -> None:
    """Names of the axes at the left of their links."""
    axis = topology.axis[order]
    for a in np.unique(axis).tolist():
        mine = np.flatnonzero(axis == a)
        y0, y1 = top + float(mine[0]) * high, top + float(mine[-1] + 1) * high
        canvas.line(((left - 6, y0 + 1), (left - 6, y1 - 1)), "cable")
        said = f"{len(mine)} links {topology.axes[a].name}"
        canvas.text(left - 12, (y0 + y1) / 2 + 3, said, size=9.5, cls="muted", anchor="end")
