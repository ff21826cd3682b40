"""Pictures of a collective that are not its steps: what binds it, the load of links, its trees."""

from hopcast.draw import topology_svg, topology_text
from hopcast.draw.cut import cut_svg, cut_text
from hopcast.draw.fabric import Side, fabric_svg, fabric_text, has_tiers
from hopcast.draw.tree_picture import trees_svg
from hopcast.draw.tree_text import trees_text
from hopcast.draw.trees import trees as trees_of
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule
from hopcast.predict import Answer
from hopcast.units import show_seconds, show_size

from ._cut import Shown
from ._drawing import Drawing

_IN_ROWS = 72  # chips under switches that are drawn one by one: the largest domain of NVLink


def cut(where: Cluster, shown: Shown) -> Drawing:
    """A cut of a cluster."""
    return Drawing(
        lambda: cut_text(where, shown.cut, caption=shown.caption),
        lambda: cut_svg(where, shown.cut, title=shown.title, caption=shown.caption),
    )


def load(a: Answer) -> Drawing:
    """Bytes on each link: on the network, or tier by tier where cables are many or flows are hashed."""
    where, carried = a.question.cluster, a.load
    title = f"{a.question.collective} by {a.algorithm} on {where.name}"
    caption = f"{show_size(a.question.size)} in {show_seconds(a.time)}; {a.bottleneck}"
    hashed = where.routing.startswith("ecmp")
    if carried is not None and has_tiers(where.topology) and (hashed or where.topology.chips > _IN_ROWS):
        side = Side(where, carried, "hashed" if hashed else "spread evenly")
        return Drawing(
            lambda: fabric_text(side), lambda: fabric_svg([side], title=title, caption=f"{caption}.")
        )
    return Drawing(
        lambda: topology_text(where, load=carried),
        lambda: topology_svg(where, load=carried, title=title, caption=caption),
    )


def trees(made: Schedule, where: Cluster) -> Drawing:
    """The trees of a schedule."""
    found = trees_of(made)
    title = f"{made.collective.name} by {made.algorithm} on {where.name}: its trees"
    return Drawing(lambda: trees_text(where, found), lambda: trees_svg(where, found, title=title))
