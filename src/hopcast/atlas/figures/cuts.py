"""What binds a collective: a chip's port, a cut through the middle, all parts at once, a node's way out."""

from collections.abc import Callable, Sequence

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import cluster_of
from hopcast.choose import answer
from hopcast.draw.cut import carry, cut_svg
from hopcast.names import InputError
from hopcast.verbs import ask
from hopcast.verbs._cut import binding

_MOST = 256


def _bound(collective: str, numbers: Numbers, why: str, dead: Sequence[str] = ()) -> Picture:
    """The cut of the bound, with a sentence on why it is that one."""
    on = f"{numbers.on},latency=0"
    if cluster_of(on).topology.chips > _MOST:
        raise InputError(f"--on {numbers.on}: this figure takes up to {_MOST} chips, such as mesh:4x4")
    q, where = ask.question(collective, on, size=numbers.size, dead=dead)
    a = answer(q)
    shown = binding(a)
    facts: dict[str, Fact] = {
        "size": q.size,
        "bound": a.bound.seconds,
        "time": a.time,
        "links": float(len(shown.cut.links)),
        "rate": carry(where.cluster.topology, shown.cut.links),
        "parts": float(shown.cut.parts),
        "kind": a.bound.kind,
    }
    faults = "".join(f" --dead {d}" for d in dead)
    title = shown.title.replace(where.cluster.name, numbers.on)
    return Picture(
        cut_svg(where.cluster, shown.cut, title=title, caption=f"{why} {shown.caption}"),
        facts,
        () if dead else (collective, on, numbers.size, "auto"),
        f"hopcast predict {collective} {on} --size {numbers.size}{faults}",
    )


def _of(collective: str, why: str) -> Callable[[Numbers], Picture]:
    return lambda numbers: _bound(collective, numbers, why)


def _dead(numbers: Numbers) -> Picture:
    """Two cables of the middle are gone."""
    shape = cluster_of(numbers.on).topology.shape
    if len(shape) != 2 or min(shape) < 4:
        raise InputError(f"--on {numbers.on}: this figure takes two axes of 4 chips or more, such as v5e:8x8")
    x, y = shape[0] // 2 - 1, shape[1] // 2 - 1
    dead = [f"{x},{k}:{x + 1},{k}" for k in (y, y + 1)]
    why = (
        "Half of what every chip has for the others must pass between the halves, and what is left there "
        "must carry it; the routes round the gaps meet on the cables beside them."
    )
    return _bound("all_to_all", numbers, why, dead)


FIGURES = (
    Figure(
        "cut_port", 0, "What binds an all-gather: a corner's port",
        _of("all_gather", "A corner has the fewest links, and all but its own shard must come in over them."),
        Numbers(0, "1GiB", "mesh:4x4"), "beyond",
    ),
    Figure(
        "cut_middle", 0, "What binds an all-to-all: the middle",
        _of("all_to_all", "Half of all data of one half of the chips is for the other half."),
        Numbers(0, "1GiB", "torus:4x8"), "beyond",
    ),
    Figure(
        "cut_parts", 0, "What binds an all-reduce: all chips at once",
        _of(
            "all_reduce",
            "Only chips add: the sum of N arrays takes N - 1 sends of the whole, and N - 1 more bring it to "
            "all others, over all links together. No single cut says so much.",
        ),
        Numbers(0, "1GiB", "mesh:4x4"), "beyond",
    ),
    Figure("cut_dead", 0, "What binds where cables are dead", _dead, Numbers(0, "1GiB", "v5e:8x8"), "beyond"),
    Figure(
        "cut_node", 0, "What binds GPUs: the way out of a node",
        _of(
            "all_to_all",
            "What the GPUs of a node have for those of other nodes must leave it over its NICs; NVLink is of "
            "no help.",
        ),
        Numbers(0, "1GiB", "dgx-h100:4"), "beyond",
    ),
)  # fmt: skip
