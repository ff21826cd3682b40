"""A picture of a cluster, a route, a schedule step by step, or the load of links."""

from typing import TYPE_CHECKING, Annotated

import typer

from hopcast.cli import _options as o

if TYPE_CHECKING:
    from hopcast.verbs.draw import Drawing


WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="[COLLECTIVE]",
        help="A collective or schedule; left out, the cluster is drawn. Or a figure: pyramid.",
    ),
]
RouteOption = Annotated[
    tuple[str, str] | None,
    typer.Option("--route", metavar="SRC DST", help="Disjoint routes between two chips."),
]
LoadOption = Annotated[bool, typer.Option("--load", help="Bytes on each link instead of the steps.")]
CutOption = Annotated[
    bool, typer.Option("--cut", help="What binds the collective; of a cluster alone its worst cut.")
]
TreesOption = Annotated[bool, typer.Option("--trees", help="The trees over which the parts of the array go.")]
SweepOption = Annotated[
    tuple[str, str] | None,
    typer.Option("--sweep", metavar="FIRST LAST", help="Time and busbw over size, a curve per algorithm."),
]
StepsOption = Annotated[str | None, typer.Option("--steps", metavar="0,1,2", help="Steps to draw.")]


def command(
    what: WhatArgument,
    cluster: Annotated[str | None, typer.Argument(metavar="CLUSTER", help="As v5e:4x4.")] = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    route: RouteOption = None,
    load: LoadOption = False,
    cut: CutOption = False,
    trees: TreesOption = False,
    sweep: SweepOption = None,
    steps: StepsOption = None,
    size: o.AnySizeOption = "1MiB",
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    seed: o.SeedOption = 0,
    out: o.OutOption = None,
) -> None:
    """Draw a cluster, or a collective on it.

    Ranks are columns, chunks are coloured cells, arrows are the sends of each step.

    Without -o the picture is text. -o FILE.svg writes an SVG that reads in light and dark.

    Example:
      hopcast draw v5e:4x4 --route 3,3 0,0
      hopcast draw all_gather ring:8 --algorithm bidirectional_ring
      hopcast draw all_to_all mesh:4x4 --load -o load.svg
      hopcast draw all_to_all mesh:4x4 --cut -o cut.svg
      hopcast draw all_reduce mesh:4x4 --algorithm tree_packing --size 1GiB --trees
      hopcast draw all_reduce dgx-h100 --sweep 1K 1G -o crossover.svg
      hopcast draw pyramid
    """
    from hopcast.verbs.draw import draw

    if _draws_figure(what, cluster or on, out):
        return
    place = o.one_cluster(cluster, on, nodes) if cluster is not None or on is not None else None
    of_collective = bool(over or mesh or order or load or trees or steps or algorithm != "auto")
    views = {"--load": load, "--cut": cut, "--trees": trees, "--sweep": sweep, "--steps": steps}
    _fits(what, place, of_collective, {"--route": route, **views})
    picture = draw(
        what,
        place,
        route=route,
        load=load,
        cut=cut,
        trees=trees,
        sweep=sweep,
        size=size,
        over=over,
        mesh=mesh,
        order=order,
        algorithm=algorithm,
        root=root,
        shift=shift,
        seed=seed,
        steps=o.numbers("--steps", steps),
        slow=slow or [],
        dead=dead or [],
    )
    _put(picture, out)


def _draws_figure(what: str, place: str | None, out: str | None) -> bool:
    """Draw a figure of the atlas, if the word is one and no collective on a cluster is meant."""
    if place is not None or not what.replace("_", "").isalnum():
        return False
    from hopcast.atlas import every, figure
    from hopcast.atlas.text import drawing
    from hopcast.question import is_collective

    if is_collective(what) or what not in {f.id for f in every()}:
        return False
    _put(drawing(figure(what)), out)
    return True


def _fits(what: str, place: str | None, of_collective: bool, views: dict[str, object]) -> None:
    """Refuse options that this picture has no use for, and views that exclude each other."""
    if place is None and of_collective:
        raise ValueError(
            f"{what!r} alone is a cluster; --over, --mesh, --algorithm, --load, --trees, --steps go with a "
            "collective"
        )
    asked = [key for key, value in views.items() if value]
    if len(asked) > 1:
        raise ValueError(f"{' and '.join(asked)}: each is a picture of its own; leave all but one off")


def _put(picture: "Drawing", out: str | None) -> None:
    """Write the picture to a file by its suffix, or print it as text."""
    from hopcast.cli import _output

    if out and out.endswith(".svg"):
        _output.write(out, picture.svg())
    elif out and out.endswith(".txt"):
        _output.write(out, str(picture) + "\n")
    elif out:
        raise ValueError(f"-o {out!r}: a picture is written as .svg or .txt")
    else:
        print(picture)
