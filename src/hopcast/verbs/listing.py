"""list: what there is."""

import importlib

from hopcast import algorithms, chips, machines, registry
from hopcast.ir import cluster_options
from hopcast.ir.collective import NAMES
from hopcast.names import pick
from hopcast.read.cluster_toml import EXAMPLES, KEYS
from hopcast.result import Result, Row

KINDS = (
    "chips", "clusters", "options", "cluster_file", "topologies", "algorithms", "collectives", "findings",
    "formats",
)  # fmt: skip
_MEANING = {
    "all_gather": "each rank ends with every rank's shard",
    "reduce_scatter": "each rank ends with its shard of the sum",
    "all_reduce": "each rank ends with the whole sum",
    "all_to_all": "each rank sends a different part to every rank",
    "all_to_all_v": "the same with unequal messages, from --matrix or --moe",
    "broadcast": "every rank ends with the root's array",
    "reduce": "the root ends with the sum",
    "gather": "the root ends with every rank's shard",
    "scatter": "each rank ends with its shard of the root's array",
    "permute": "rank r sends to rank r + shift",
}


def listing(kind: str = "") -> Result:
    """Names and what they are.

    Args:
        kind: One of KINDS; empty: how many there are of each.

    >>> [row["name"] for row in listing("collectives")][:2]
    ['all_gather', 'reduce_scatter']
    """
    if not kind:
        return Result([{"kind": k, "count": len(_rows(k)), "see": f"hopcast list {k}"} for k in KINDS])
    kind = pick("kind of thing", kind, KINDS)
    return Result(_rows(kind), notes=_NOTES.get(kind, ()))


def _rows(kind: str) -> list[Row]:
    if kind == "collectives":
        return [{"name": name, "what": _MEANING[name]} for name in NAMES]
    if kind == "algorithms":
        return [_algorithm(algorithms.get(name)) for name in algorithms.names()]
    if kind == "chips":
        return [_chip(chips.load(name)) for name in chips.names()]
    if kind == "clusters":
        generic = [
            {"name": f"{row['name']}:SHAPE", "what": row["what"]}
            for row in _rows("topologies")
            if row["name"] not in ("twisted_torus", "fat_tree")
        ]
        slices = [
            {"name": f"{name}:SHAPE", "what": f"slice of {chips.load(name).title}"}
            for name in chips.names()
            if chips.load(name).axes
        ]
        own = {"name": "./FILE.toml", "what": "a cluster of your own"}
        return [*slices, *map(_machine, machines.names()), *generic, own]
    if kind == "options":
        return [
            {"name": o.name, "clusters": o.families, "what": o.what, "example": o.example}
            for o in cluster_options.OPTIONS
        ]
    if kind == "cluster_file":
        return _keys()
    if kind == "formats":
        return [{"name": name, "what": what} for name, what in _FORMATS.items()]
    return [{"name": name, "what": _first_line(f"hopcast.{kind}.{name}")} for name in registry.found(kind)]


_FORMATS = {
    "csv": "a schedule: columns step,src,dst,chunk,count,op,lane; writable by hand",
    "json": "a schedule: the same columns as lists",
    "npz": "a schedule: the same columns as numpy arrays",
    "py": "a schedule: mine.py:function, a builder (group, hint) -> Schedule",
    "toml": "a cluster of your own",
}


_NOTES = {
    "clusters": (
        "behind a cluster's name stand options: dgx-a100:2,nics=4,nic=100Gb/s; see: hopcast list options",
        "a file describes any other network; see: hopcast list cluster_file",
    ),
    "cluster_file": (
        "a family and its shape, say lab.toml, then hopcast show ./lab.toml:",
        EXAMPLES["family"].rstrip(),
        "any network, here four chips on a switch and two cables of their own:",
        EXAMPLES["network"].rstrip(),
    ),
    "options": ("write them behind the shape, in any order: dgx-h100:64,oversubscription=2,routing=ecmp",),
}


def _keys() -> list[Row]:
    """The keys of a cluster's file; those that a family and a network share once."""
    parts: dict[tuple[str, str], list[str]] = {}
    for part, keys in KEYS.items():
        for key, what in keys.items():
            parts.setdefault((key, what), []).append(part)
    return [{"name": key, "of": ", ".join(of), "what": what} for (key, what), of in parts.items()]


def _algorithm(one: algorithms.Algorithm) -> Row:
    options = " ".join(f"{k}={'|'.join(v) or 'N'}" for k, v in one.options.items())
    return {"name": one.name, "collectives": list(one.collectives), "options": options, "what": one.summary}


def _chip(chip: chips.Chip) -> Row:
    link = chip.figures.get("ici.bandwidth") or chip.figures.get("nvlink.bandwidth")
    hbm, flops = chip.figures.get("hbm.bandwidth"), chip.figures.get("flops.bf16")
    return {
        "name": chip.name,
        "what": chip.title,
        "axes": chip.axes,
        "link_GBps": link and link.value / 1e9,
        "hbm_GBps": hbm and hbm.value / 1e9,
        "bf16_TFLOPs": flops and flops.value / 1e12,
    }


def _machine(name: str) -> Row:
    machine = machines.load(name)
    shape = "NODESxGPUS" if name == "fat-tree" else f"{machine.unit.upper()}S"
    what = machine.title if name == "fat-tree" else f"{machine.unit}s of {machine.title}"
    return {"name": f"{name}:{shape}", "what": what}


def _first_line(module: str) -> str:
    return (importlib.import_module(module).__doc__ or "").strip().split("\n")[0]
