"""A page for each chip and each machine: every figure with its source, and the slices that exist."""

from collections.abc import Iterable, Mapping

from hopcast import chips, machines
from hopcast.chips import Chip, SliceRule, slices
from hopcast.ir.cluster import Figure
from hopcast.machines import Machine

from .markdown import contents, linked, page, prose, said, table

_TRUST = (
    "Trust: A a primary source, B relayed by another, C derived here, M from memory and still to be "
    "confirmed. Where sources disagree the others stand beside."
)
_ONE_WAY = (
    "Every bandwidth is **one way**. A vendor's total of a link counts both directions, and that of a chip "
    "all its links besides; the file of the chip quotes it and converts it once."
)
_SHOWN_SLICES = 16


def pages() -> dict[str, str]:
    """By path in docs/."""
    found = {f"reference/chips/{n}.md": _chip(chips.load(n)) for n in chips.names()}
    found |= {f"reference/machines/{n}.md": _machine(machines.load(n)) for n in machines.names()}
    found["reference/chips/index.md"] = _chips_index()
    found["reference/machines/index.md"] = _machines_index()
    return found


def _chips_index() -> str:
    rows = []
    for name in chips.names():
        one = chips.load(name)
        link = next((k for k in ("ici.bandwidth", "nvlink.bandwidth") if k in one.figures), "")
        rate = one.figures[link].value if link else 0.0
        keys = ("hbm.bandwidth", "flops.bf16")
        rows.append(
            [
                f"[{name}]({name}.md)",
                one.title,
                _network(one),
                said(link, rate) if link else None,
                said(link, 2 * rate) if link else None,
                *(said(k, one.figures[k].value) if k in one.figures else None for k in keys),
            ]
        )
    header = ["chip", "", "network", "link, one way", "link, both ways", "HBM", "bf16"]
    text = "One file of `src/hopcast/chips` each. For a GPU the link is all its NVLink ports together."
    return page("Chips", text, _ONE_WAY, table(header, rows), contents(chips.names()))


def _network(one: Chip) -> str:
    if one.axes:
        return f"{one.axes}-D torus"
    return {"nccl": "NVLink", "rccl": "xGMI"}.get(one.stack, "")


def _chip(one: Chip) -> str:
    names = ", ".join(f"`{a}`" for a in (one.name, *one.aliases))
    library = {"xla": "XLA", "nccl": "NCCL", "rccl": "RCCL"}.get(one.stack, one.stack)
    about = [f"Written {names}. Its own software's collectives: {library}."]
    if one.slices is not None and "ici.bandwidth" in one.figures:
        about.append(_drawn(one.slices, one.name))
    return page(
        one.title,
        *about,
        "## Figures",
        f"{_ONE_WAY} {_TRUST}",
        _figures(one.figures, {k: slices.spell(v) for k, v in one.shapes.items()}),
        _notes(one.notes),
        _slices(one, one.slices) if one.slices is not None else "",
    )


def _notes(notes: Iterable[str]) -> str:
    listed = "\n".join(f"- {prose(note)}" for note in notes)
    return f"## Notes\n\n{listed}" if listed else ""


def _figures(figures: Mapping[str, Figure], shapes: Mapping[str, str]) -> str:
    rows = [
        [
            f"`{key}`",
            shapes.get(key) or said(key, f.value),
            f.trust,
            linked(f.source),
            f.seen,
            "; ".join(map(linked, f.other)),
        ]
        for key, f in sorted(figures.items())
    ]
    return table(["figure", "value", "trust", "source", "seen", "others say"], rows)


def _drawn(rule: SliceRule, name: str) -> str:
    """A slice small enough to look at: the largest listed one of up to 64 chips."""
    small = [s for s in rule.shapes if 4 <= _product(s) <= 64] or [rule.shapes[0]]
    shape = slices.spell(max(small, key=_product))
    return f"```{{drawing}} draw {name}:{shape}\nA slice of {shape} chips, its links as they are.\n```"


def _product(shape: Iterable[int]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


def _slices(one: Chip, rule: SliceRule) -> str:
    law = (
        f"All axes wrap if every one is a multiple of {rule.cube}, and none does otherwise: "
        f"wrap-arounds run through optical switches between cubes of {rule.cube}x{rule.cube}x{rule.cube}."
        if rule.cube
        else f"An axis wraps exactly if it is {rule.wraps_at} long."
    )
    shapes = list(rule.shapes)
    if rule.cube and rule.prefixes:
        shapes = list(slices.types(one).values())
    shown, rows = shapes[:_SHOWN_SLICES], []
    for shape in shown:
        had = slices.slice_of(one, shape)
        wrapped = "".join(a for a, w in zip("xyz", had.wraps, strict=False) if w) or "none"
        kind = slices.slice_to_type(one, shape) if rule.prefixes else None
        rows.append([slices.spell(shape), had.chips, had.devices, had.hosts, wrapped, kind and f"`{kind}`"])
    more = f"\n\nand {len(shapes) - len(shown)} more default shapes" if len(shapes) > len(shown) else ""
    if rule.cube:
        more += f"{', or' if more else chr(10) * 2 + 'and'} any shape of whole cubes up to {rule.most_cubes}"
    text = table(["shape", "chips", "devices", "hosts", "axes that wrap", "accelerator type"], rows)
    source = f"Source: {linked(rule.source)} (read {rule.seen}, trust {rule.trust})."
    more += "." if more else ""
    return f"## Slices\n\n{law} An axis of length 2 is one cable.\n\n{text}{more}\n\n{source}"


def _machines_index() -> str:
    rows = []
    for name in machines.names():
        one = machines.load(name)
        keys = ("domain.chips", "nvlink.bandwidth", "nic.bandwidth")
        figures = [said(k, one.value(k)) if k in one.figures else None for k in keys]
        rows.append([f"[{name}]({name}.md)", one.title, one.unit, *figures])
    header = ["machine", "", "unit", "GPUs of a domain", "NVLink of a GPU, one way", "NIC, one way"]
    text = "One file of `src/hopcast/machines` each; `dgx-h100:32` is 32 of them on a fat tree."
    return page("Machines", text, table(header, rows), contents(machines.names()))


def _machine(one: Machine) -> str:
    shape = "NODESxGPUS" if one.name == "fat-tree" else f"{one.unit.upper()}S"
    inside = {"switch": "meet in switches", "mesh": "have a cable to each other", "cube": "form a cube"}
    about = f"Written `{one.name}:{shape}`. The GPUs of a {one.unit} {inside[one.inside]}."
    pods = ""
    if one.pods.rows:
        header = ["units", f"{one.unit}s", "leaf switches", "spine switches", "core switches"]
        pods = f"## Whole pods\n\n{table(header, one.pods.rows)}\n\nSource: {linked(one.pods.source)}."
        pods += f" {one.pods.words}." if one.pods.words else ""
    figures = _figures(one.figures, {})
    return page(one.title, about, f"{_ONE_WAY} {_TRUST}", figures, pods, _notes(one.notes))
