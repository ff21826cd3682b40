"""A picture of a cluster, a route, a schedule step by step, or the load of links."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hopcast.cli import _options as o
from hopcast.cli._usage import UsageError

if TYPE_CHECKING:
    from hopcast.verbs.draw import Drawing


WhatArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[COLLECTIVE]",
        help="A collective or schedule; left out, the cluster is drawn. Or a figure of the atlas: pyramid.",
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


_VIEWS = ("--route", "--cut", "--load", "--trees", "--sweep", "--steps")
_DRAWING = "drawing"
_OF_CLUSTER = {
    "--route",
    "--cut",
    "--on",
    "--nodes",
    "--slow",
    "--dead",
    "--out",
}  # without a collective, too


def command(
    context: typer.Context,
    what: WhatArgument = None,
    cluster: Annotated[str | None, typer.Argument(metavar="CLUSTER", help="As v5e:4x4.")] = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    route: RouteOption = None,
    load: LoadOption = False,
    cut: CutOption = False,
    trees: TreesOption = False,
    sweep: SweepOption = None,
    steps: StepsOption = None,
    size: o.AnySizeOption = None,
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    matrix: o.MatrixOption = None,
    moe: o.MoeOption = None,
    seed: o.SeedOption = 0,
    out: o.OutOption = None,
) -> None:
    """Draw a cluster, or a collective on it.

    Ranks are columns, chunks are coloured cells, arrows are the sends of each step.

    Without -o the picture is text. -o FILE.svg writes an SVG that reads in light and dark.

    Example:
      hopcast draw v5e:4x4 --route 3,3 0,0
      hopcast draw all_gather ring:8 --algorithm bidirectional_ring
      hopcast draw all_reduce ring:8 --algorithm ring --steps 0,6,7
      hopcast draw all_to_all mesh:4x4 --load -o load.svg
      hopcast draw all_to_all mesh:4x4 --cut -o cut.svg
      hopcast draw all_reduce mesh:4x4 --algorithm tree_packing --size 1GiB --trees
      hopcast draw all_reduce dgx-h100 --sweep 1K 1G -o crossover.svg
      hopcast draw pyramid v5p
    """
    from hopcast.cli import _progress
    from hopcast.verbs.draw import draw

    if what is None:
        what, on = on, None
    place = o.one_cluster(cluster, on, nodes) if cluster is not None or on is not None else None
    given = _given(context)
    what = _one_picture(what, place, given, route)
    if _is_figure(what, place is None):
        _draw_figure(what, place or "", size or "", given, out)
        return
    if place is None:
        _fits_alone(what, [key for key in given if key not in _OF_CLUSTER])
        what = o.one_cluster(what, None, nodes)
    with _progress.Progress(_DRAWING):
        picture = draw(
            what, place, route=route, load=load, cut=cut, trees=trees, sweep=sweep, size=size, over=over,
            mesh=mesh, order=order, algorithm=algorithm, per_rank=per_rank, root=root, shift=shift, seed=seed,
            steps=o.numbers("--steps", steps), slow=slow or [], dead=dead or [], matrix=matrix, moe=moe,
        )  # fmt: skip
    _put(picture, out)


def _given(context: typer.Context) -> list[str]:
    """The options that stand on the command line."""
    options = [p for p in context.command.params if p.name and p.opts[0].startswith("-")]
    sources = ((p.opts[0], context.get_parameter_source(p.name or "")) for p in options)
    return [key for key, source in sources if source is not None and source.name == "COMMANDLINE"]


def _one_picture(what: str | None, place: str | None, given: list[str], route: tuple[str, str] | None) -> str:
    """What is drawn. A command line that says nothing to draw, or two things, is refused."""
    views = [key for key in given if key in _VIEWS]
    if len(views) > 1:
        raise ValueError(f"{' and '.join(views)}: each is a picture of its own; leave all but one off")
    if what is None:
        lacks = "a cluster is" if set(given) <= _OF_CLUSTER else "a collective and a cluster are"
        raise UsageError(f"{lacks} missing")
    if place is not None and route is not None:
        raise ValueError(f"a route is of a cluster alone: hopcast draw {place} --route {' '.join(route)}")
    return what


def _is_figure(what: str, alone: bool) -> bool:
    """Whether a word is a figure of the atlas, and no collective.

    Raises:
        ValueError: for a slip of the pen, if the word stands alone; beside a cluster it is rather one for a
            collective.
    """
    if not what.replace("_", "").isalnum():
        return False
    import difflib

    from hopcast.atlas import every
    from hopcast.question import is_collective

    known = [figure.id for figure in every()]
    near = difflib.get_close_matches(what, known, 1, 0.8)
    if is_collective(what) or not near:
        return False
    if near[0] != what and not alone:
        return False
    if near[0] != what:
        raise ValueError(
            f"{what!r} is no figure and no cluster; did you mean {near[0]}? (see: hopcast draw --help)"
        )
    return True


def _draw_figure(what: str, place: str, size: str, given: list[str], out: str | None) -> None:
    """A figure of the atlas, as it stands there or for another cluster or size."""
    from hopcast.atlas import figure
    from hopcast.atlas.text import drawing
    from hopcast.cli import _progress

    found = figure(what)
    idle = [key for key in given if key not in ("--on", "--nodes", "--size", "--out")]
    idle += ["cluster"] if place and not found.takes.on else []
    idle += ["--size"] if size and not found.takes.size else []
    if idle:
        raise ValueError(f"{what} is a figure of the atlas and takes no {' or '.join(idle)}")
    try:
        with _progress.Progress(_DRAWING):
            picture = drawing(found, found.given(size=size, on=place))
    except ValueError as error:  # the cluster of a picture needs no option
        raise ValueError(str(error).removeprefix("--on ")) from None
    _put(picture, out)


def _fits_alone(what: str, asked: list[str]) -> None:
    """Refuse a collective without a cluster, and a cluster with options that are of a collective."""
    from hopcast.question import is_collective
    from hopcast.read.schedule import is_schedule

    if is_collective(what) or is_schedule(what):
        raise UsageError(f"{what!r} is drawn on a cluster, which is missing")
    if asked:
        raise UsageError(f"{' and '.join(asked)}: for a collective, and none stands before {what!r}")


def _put(picture: "Drawing", out: str | None) -> None:
    """Write the picture to a file by its suffix, or print it as text; what to know of it goes to stderr."""
    from hopcast.cli import _output, _progress

    if out is not None and not out.endswith((".svg", ".txt")):
        raise ValueError(f"-o {out!r}: a picture is written as .svg or .txt")
    with _progress.Progress(_DRAWING):
        made = picture.svg() if out and out.endswith(".svg") else str(picture)
    for warning in picture.warnings:
        print(f"hopcast: note: {warning}", file=sys.stderr)
    if out:
        _output.write(out, made if out.endswith(".svg") else made + "\n")
    else:
        print(made)
