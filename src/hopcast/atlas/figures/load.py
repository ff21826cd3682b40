"""How busy every link is: all_to_all on a slice without wraparounds, and gather to one chip of a mesh."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.choose import answer
from hopcast.draw.topology import topology_svg
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size
from hopcast.verbs import ask


def _heat(collective: str, numbers: Numbers, algorithm: str, how: str) -> Picture:
    cluster = cluster_of(numbers.on)
    if cluster.topology.chips > 256:
        raise InputError(f"--on {numbers.on}: this figure takes up to 256 chips, such as v5e:8x8")
    q, where = ask.question(collective, f"{numbers.on},latency=0", size=numbers.size)
    a = answer(q, algorithm, "flows")
    assert a.load is not None
    title = f"{collective} of {show_size(q.size)} on {numbers.on}: load of the links"
    caption = f"{how} {show_seconds(a.time)} by flows; {a.bottleneck}."
    svg = topology_svg(where.cluster, load=a.load, title=title, caption=caption)
    busy = a.load / where.cluster.topology.bandwidth
    facts = {
        "size": q.size,
        "time": a.time,
        "most": float(busy.max()),
        "mean": float(busy.mean()),
        "bound": a.bound.seconds,
    }
    words = f"{collective} {numbers.on},latency=0 --size {numbers.size} --algorithm {algorithm}"
    ask_ = f"hopcast draw {words} --load -o load.svg"
    return Picture(svg, facts, (collective, f"{numbers.on},latency=0", numbers.size, algorithm), ask_)


def draw_exchange(numbers: Numbers) -> Picture:
    """The axis without a wraparound is the bottleneck."""
    return _heat(
        "all_to_all", numbers, "direct",
        "On an open axis everything between its halves crosses the middle, so links are the busier the "
        "nearer they are to it; on an axis that wraps all are alike.",
    )  # fmt: skip


def draw_gather(numbers: Numbers) -> Picture:
    """All data go to one chip."""
    return _heat(
        "gather", numbers, "multi_axis",
        "All shards end at chip 0,0, which has two links on an open grid: they bind, and the far corner is "
        "almost idle.",
    )  # fmt: skip


FIGURES = (
    Figure(
        "heat_all_to_all",
        0,
        "Load of an all-to-all on v5e 8x8",
        draw_exchange,
        Numbers(0, "1GiB", "v5e:8x8"),
        "beyond",
    ),
    Figure(
        "heat_gather", 0, "Load of a gather on v5e 4x4", draw_gather, Numbers(0, "1GiB", "v5e:4x4"), "beyond"
    ),
)
