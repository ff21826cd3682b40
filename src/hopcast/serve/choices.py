"""What the controls offer: families of clusters with a shape to begin with, collectives, algorithms."""

import math
from typing import Any

from hopcast import algorithms, chips, machines, registry
from hopcast.ir.collective import NAMES
from hopcast.verbs.listing import listing

_NEEDS_A_MATRIX = "all_to_all_v"
_OWN = "./FILE.toml"
_PICTURE = 8  # chips that make a picture


def choices() -> dict[str, Any]:
    """``collectives``: names; ``families``: name, shape and words; ``algorithms``: name and collectives.

    >>> found = choices()
    >>> [f["shape"] for f in found["families"] if f["name"] in ("v5p", "dgx-h100", "ring")]
    ['4x4x4', '2', '8']
    """
    rows = [row for row in listing("clusters").rows if row["name"] != _OWN]
    return {
        "collectives": [name for name in NAMES if name != _NEEDS_A_MATRIX],
        "families": [
            {"name": name, "shape": _shape(name), "what": row["what"].replace("``", "")}
            for row in rows
            for name in [row["name"].partition(":")[0]]
        ],
        "algorithms": [
            {"name": name, "collectives": list(algorithms.get(name).collectives)}
            for name in algorithms.names()
        ],
    }


def _shape(family: str) -> str:
    """A shape that exists and shows something."""
    if chips.known(family):
        return "x".join(["4"] * chips.load(family).axes)
    if machines.known(family):
        return "4x8" if family == "fat-tree" else "2"
    examples = registry.load("topologies", "topology", family).EXAMPLES
    several = [e for e in examples if len(e) > 1]
    enough = [e for e in examples if math.prod(e) >= _PICTURE]
    return "x".join(map(str, (several or enough or examples[-1:])[0]))
