"""A matrix between two corners of a slice over two routes, and a ring drawn as one."""

from hopcast import clusters
from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import at_most, cluster_of
from hopcast.draw.topology import topology_svg
from hopcast.graph.flow import disjoint_routes
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs.route import route

_MATRIX = "bf16[2048,2048]"


def draw_two_routes(numbers: Numbers) -> Picture:
    """The routes and the time over one, over all, and with the hops."""
    cluster = cluster_of(numbers.on)
    topology = cluster.topology
    if not topology.is_grid or topology.chips < 2 or topology.chips > 256:
        raise InputError(f"--on {numbers.on}: this figure takes a grid of 2 to 256 chips, such as v5e:4x4")
    ends = [topology.place(topology.chips - 1), topology.place(0)]
    found = route(cluster, ends[0], ends[1], size=numbers.size).rows[0]
    ways = disjoint_routes(topology, clusters.vertex(topology, ends[0]), clusters.vertex(topology, ends[1]))
    rate = float(topology.bandwidth[ways[0][0]])
    alone = found["size_bytes"] / rate
    caption = (
        f"{numbers.size} is {found['size_bytes']:,} B. Over one route at {show_rate(rate)}: "
        f"{show_seconds(alone)}; cut in {len(ways)} parts over {len(ways)} routes that share no link: "
        f"{show_seconds(found['bandwidth_us'] * 1e-6)}. {found['hops']} hops add "
        f"{show_seconds(found['latency_us'] * 1e-6)}: {show_seconds(found['time_us'] * 1e-6)} in all."
    )
    title = f"{show_size(found['size_bytes'])} from chip {ends[0]} to chip {ends[1]} of {numbers.on}"
    facts = {
        k: float(found[k])
        for k in ("size_bytes", "hops", "disjoint_routes", "latency_us", "bandwidth_us", "time_us")
    }
    svg = topology_svg(cluster, routes=ways, title=title, caption=caption)
    ask = f"hopcast route {numbers.on} {ends[0]} {ends[1]} --size '{numbers.size}'"
    return Picture(svg, facts, (), ask)


def draw_ring(numbers: Numbers) -> Picture:
    """The network alone."""
    n = at_most(numbers.ranks, least=3)
    name = f"ring:{n}"
    cluster = cluster_of(f"{name},bandwidth=45GB/s,latency=1us")
    links = cluster.topology.links
    caption = (
        f"How a ring is drawn from here on: {n} chips, {links // 2} full-duplex cables. On a v5e only an "
        f"axis of 16 wraps; here one of {n} is taken to wrap, to keep pictures small."
    )
    svg = topology_svg(cluster, title=f"A ring of {n} chips", caption=caption)
    facts = {"chips": n, "cables": links // 2}
    return Picture(svg, facts, ("all_gather", name, "8MiB", "bidirectional_ring"), f"hopcast draw {name}")


FIGURES = (
    Figure(
        "tpu_example1", 7, "A matrix over two routes", draw_two_routes, Numbers(0, _MATRIX, "v5e:4x4"), "tpu"
    ),
    Figure("representation", 11, "A ring of 8, as it is drawn", draw_ring, Numbers(8), "gather"),
)
