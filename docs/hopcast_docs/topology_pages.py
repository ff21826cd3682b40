"""A page for each family of networks: its claims beside what they are on its examples, and a picture."""

from types import ModuleType

from hopcast import registry
from hopcast.chips.slices import spell

from .markdown import contents, page, prose, table

# How a family is written where its file has another name, and the example to draw.
_WRITTEN = {
    "twisted_torus": ("torus:{},twisted", "4x8"),
    "fat_tree": ("fat-tree:{}", "3x4"),
    "hypercube": ("hypercube:{}", "4"),
    "full_mesh": ("full_mesh:{}", "5"),
    "switch": ("switch:{}", "8"),
    "torus": ("torus:{}", "4x4"),
    "mesh": ("mesh:{}", "4x4"),
}


def pages() -> dict[str, str]:
    """By path in docs/."""
    names = registry.found("topologies")
    modules = {n: registry.load("topologies", "topology", n) for n in names}
    found = {f"reference/topologies/{n}.md": _family(n, m) for n, m in modules.items()}
    rows = [
        [f"[{n}]({n}.md)", f"`{_written(n, m)}`", prose((m.__doc__ or "").split("\n")[0])]
        for n, m in modules.items()
    ]
    text = (
        "One file of `src/hopcast/topologies` each. Its claims stand beside the builder, and "
        "`tests/test_every_topology.py` holds them against a search and a max-flow on every example."
    )
    listed = table(["family", "as in", ""], rows)
    found["reference/topologies/index.md"] = page("Topologies", text, listed, contents(names))
    return found


def _written(name: str, module: ModuleType) -> str:
    """How the drawn example is written on the command line."""
    pattern, shape = _WRITTEN.get(name, (f"{name}:{{}}", spell(module.EXAMPLES[-1])))
    return pattern.format(shape)


def _family(name: str, module: ModuleType) -> str:
    written = _written(name, module)
    rows = []
    for shape in module.EXAMPLES:
        built = module.build(f"{name}:{spell(shape)}", shape, 1.0, 0.0)
        rows.append([spell(shape), built.chips, built.links, module.diameter(shape), module.cut(shape)])
    claims = [
        f"- *diameter*: {prose((module.diameter.__doc__ or '').split(chr(10))[0])}",
        f"- *cut*: {prose((module.cut.__doc__ or '').split(chr(10))[0])}",
    ]
    return page(
        name.replace("_", " ").capitalize(),
        f"Written as `{written}`.",
        f"```{{drawing}} draw {written}\n{written}\n```",
        prose(module.__doc__ or ""),
        "## Claims",
        "\n".join(claims),
        table(["shape", "chips", "links, one way each", "diameter", "cut, links one way"], rows),
    )
