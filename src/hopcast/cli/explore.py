"""One page to watch a collective move: chips, chunks, links, clock."""

from typing import Annotated

import typer

from hopcast.cli import _options as o

PageSizeOption = Annotated[
    str | None,
    typer.Option("--size", metavar="SIZE", help="Bytes of the whole array of one group; default 1MiB."),
]
CompareOption = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="ALGORITHM|CLUSTER",
        help="A second algorithm or cluster, side by side on one clock.",
    ),
]
PageOption = Annotated[str, typer.Option("--out", "-o", metavar="FILE.html", help="The page to write.")]


def command(
    context: typer.Context,
    collective: o.CollectiveArgument,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    size: PageSizeOption = None,
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    compare: CompareOption = None,
    price: o.PriceOption = None,
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    matrix: o.MatrixOption = None,
    moe: o.MoeOption = None,
    seed: o.SeedOption = 0,
    out: PageOption = "explore.html",
) -> None:
    """A page that opens from disk in any browser and asks nothing of the network.

    It shows the chips and links coloured by load, the schedule step by step, who holds what, one chunk's
    way, the lanes of each rank over time with the critical path, and the numbers. A link to a step, a view
    or a chunk is the page's own address.

    Example:
      hopcast explore all_gather ring:8 --size 8MiB --algorithm bidirectional_ring -o page.html
      hopcast explore all_gather v5e:16x16 --size 1GiB --over x,y -o page.html
      hopcast explore all_gather ring:8 --algorithm ring --compare bidirectional_ring -o page.html
    """
    import shlex
    import sys

    from hopcast.cli import _progress
    from hopcast.verbs.explore import explore

    if not out.endswith((".html", ".htm")):
        raise ValueError(f"-o {out!r}: a page is written as .html")
    with _progress.Progress("making the page"):
        made = explore(
            collective,
            o.one_cluster(cluster, on, nodes),
            size=size,
            over=over,
            mesh=mesh,
            order=order,
            algorithm=algorithm,
            compare=compare,
            price=price or "",
            per_rank=per_rank,
            root=root,
            shift=shift,
            slow=slow or [],
            dead=dead or [],
            matrix=matrix,
            moe=moe,
            seed=seed,
            out=out,
            command=shlex.join(context.obj or ()),
        )
    for warning in made.warnings:
        print(f"hopcast: note: {warning}", file=sys.stderr)
    print(f"hopcast: wrote {out}, {len(made.html):,} bytes; open it in a browser", file=sys.stderr)
