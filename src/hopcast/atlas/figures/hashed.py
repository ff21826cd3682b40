"""Hashed routing beside an even spread: how busy every cable of a fat tree is in an all_to_all."""

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.choose import answer
from hopcast.draw.fabric import Side, fabric_svg, has_tiers, tiers
from hopcast.names import InputError
from hopcast.units import show_seconds, show_size
from hopcast.verbs import ask

_MOST = 1024
_WAYS = (("hashed", "ecmp"), ("spread evenly", "spread"))


def draw(numbers: Numbers) -> Picture:
    """Two sides, every cable of each."""
    given = cluster_of(numbers.on).topology
    if given.chips > _MOST or not has_tiers(given) or len(given.axes) < 2 or given.axes[0].length < 2:
        raise InputError(
            f"--on {numbers.on}: this figure takes nodes under leaves and spines, up to {_MOST:,} GPUs, "
            "such as dgx-h100:16"
        )
    sides, sizes, facts = list[Side](), set[float](), dict[str, Fact]()
    for word, rule in _WAYS:
        on = f"{numbers.on},routing={rule},latency=0"
        q, where = ask.question("all_to_all", on, size=numbers.size)
        a = answer(q, "direct", "flows")
        assert a.load is not None
        top = tiers(where.cluster.topology, a.load)[0]
        most = max(top.up.most, top.down.most)
        facts |= {f"{rule}.time": a.time, f"{rule}.most": most, f"{rule}.even": top.up.mean}
        facts |= {"size": q.size, f"{rule}.cables": top.cables}
        sizes.add(q.size)
        sides.append(Side(where.cluster, a.load, f"{word}: {show_seconds(a.time)}"))
    ratio = float(facts["ecmp.most"]) / float(facts["ecmp.even"])  # type: ignore[arg-type]
    slower = float(facts["ecmp.time"]) / float(facts["spread.time"])  # type: ignore[arg-type]
    facts |= {"ratio": ratio, "slower": slower}
    caption = (
        "A hash gives every pair of GPUs one cable at each switch, whatever the others do: some cables get "
        f"more pairs than others, the fullest {ratio:.2f} times its share, and the exchange is over when "
        f"that one is: {slower:.2f} times the time of an even spread."
    )
    size = show_size(sizes.pop())
    title = f"Where hashed flows meet: all-to-all of {size} on {numbers.on}"
    on = f"{numbers.on},routing=ecmp,latency=0"
    return Picture(
        fabric_svg(sides, title=title, caption=caption),
        facts,
        (),
        f"hopcast draw all_to_all {on} --size {numbers.size} --algorithm direct --load",
    )


FIGURES = (
    Figure(
        "heat_ecmp", 0, "Where hashed flows meet: load of a fat tree", draw,
        Numbers(0, "1GiB", "dgx-h100:16,oversubscription=2"), "beyond",
    ),
)  # fmt: skip
