"""All trees of a schedule at once on a network with switches: how many of their sends cross each link."""

import math
from collections.abc import Sequence

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.topology import Floats, Topology
from hopcast.routing import routes

from .boxes import around, width
from .geometry import Line
from .layout import Layout
from .sketch import Sketch
from .svg import BOXES
from .topology import draw_vertices
from .trees import Tree

_SIZE = 7.5  # of the numbers
_OFF = 9.0  # from a chip's edge to the middle of a number, downwards or upwards


def fits(plan: Layout, topology: Topology) -> bool:
    """Whether each vertex has a box of its own, so that each cable has a line of its own."""
    return not topology.is_grid and not plan.hidden and len(set(plan.boxes)) == topology.vertices


def crossings(cluster: Cluster, found: Sequence[Tree]) -> Floats:
    """How many sends of the trees cross each link, parts of a send that is cut by its routes as parts.

    Shapes: ``float64[m]`` for m links.

    >>> from hopcast.topologies import switch
    >>> three = Cluster("switch:3", switch.build("switch:3", (3,), 1.0, 0.0), "switch", "shortest")
    >>> both = crossings(three, [Tree(0, ((1, 0), (2, 0)), 1, 1.0, False, True)])
    >>> {three.topology.link_name(i): int(n) for i, n in enumerate(both) if n}
    {'x 0>switch 0': 2, 'x switch 0>1': 1, 'x switch 0>2': 1}
    """
    sends = [
        way
        for tree in found
        for child, parent in tree.parent
        for way, used in (((child, parent), tree.up), ((parent, child), tree.down))
        if used
    ]
    src, dst = np.array(sends, np.int32).reshape(-1, 2).T
    way = routes(cluster, src, dst)
    weight = np.repeat(way.weight, way.hops)
    return np.asarray(np.bincount(way.links, weight, cluster.topology.links), np.float64)


def _number(canvas: Sketch, line: Line, text: str, *, at_start: bool) -> None:
    """Words on a line, where it leaves a chip (slanting lines meet in their middles) or in its middle."""
    (ax, ay), (bx, by) = line[0], line[-1]
    middle = ((ax + bx) / 2, (ay + by) / 2)
    near = (ax, ay + math.copysign(_OFF, by - ay)) if at_start else middle
    for x, y in (near, middle):
        box = around(x, y, width(text, _SIZE) + 4, 12)
        if not any(box.meets(said) for said in canvas.words):
            canvas.box(box, [text], "blank", size=_SIZE, round_by=2, layer=BOXES)
            return


def together(canvas: Sketch, plan: Layout, cluster: Cluster, found: Sequence[Tree]) -> list[str]:
    """Draw the network, cables as thick as they are used, with two numbers; give what these mean."""
    topology, many = cluster.topology, crossings(cluster, found)
    back = {(int(a), int(b)): i for i, (a, b) in enumerate(zip(topology.src, topology.dst, strict=True))}
    most = float(many.max(initial=1.0))
    for link, (a, b) in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        other = back.get((b, a), link)
        if a > b and other != link:
            continue
        up, down = float(many[link]), float(many[other])
        for line in plan.ways(topology, link, 0.0):
            thick = 1.5 + 3.5 * max(up, down) / most if up or down else 1.0
            canvas.line(line, "cable" if up or down else "idle", width=thick)
            if not (up or down):
                continue
            _number(canvas, line, f"{up:.3g}/{down:.3g}", at_start=a < topology.chips)
    draw_vertices(canvas, plan, topology, set())
    edge = canvas.edge
    title = f"all {len(found)} at once, and how many sends cross each cable" if len(found) > 1 else "the tree"
    canvas.text(edge.left, edge.top - 12, title, size=12, cls="bold", anchor="start")
    return ["Two numbers at a cable: sends out of the chip, or up from a switch, and sends into it."]
