"""Which slice of so many chips, along which axes: shapes and orders, by time."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    collective: o.CollectiveArgument,
    chips: Annotated[int, typer.Option("--chips", metavar="N", help="Chips of one slice.")],
    size: o.SizeOption,
    on: Annotated[
        list[str] | None,
        typer.Option("--on", metavar="CHIP", help="A generation, as v5e or v5p,latency=0. Repeatable."),
    ] = None,
    mesh: o.MeshOption = None,
    over: o.OverOption = None,
    algorithm: Annotated[
        str,
        typer.Option("--algorithm", metavar="NAME", help="best, auto (the machine's software), or a name."),
    ] = "best",
    price: o.PriceOption = None,
    combine: o.CombineOption = o.Combine.ADD,
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    seed: o.SeedOption = 0,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Rank the slices of so many chips by how long a collective takes on them.

    Every shape that can be had is a row, twisted ones apart, with the axes that are closed. Without --on
    all generations are tried. With --mesh and --over the collective runs over some axes of a mesh, and each
    of jax's order and row-major orders over the physical axes that makes a difference is a row: order is
    what --order of predict takes, mesh says which physical axes that is. Other orders, as of blocks of
    chips, can be a FILE for predict; they are not tried. price says what the time is: the formula where it
    is exact, else flows, or steps (a barrier after each) for large schedules on slices whose chips are not
    alike. efficiency is bound / time; limit is the least time with every link of the slice.

    Example:
      hopcast advise all_gather --chips 16 --on v5e --on v5p --size 1GiB
      hopcast advise all_to_all --chips 128 --on v5p --size 1GiB --algorithm direct --price steps
      hopcast advise all_reduce --chips 64 --on v5e --size 1GiB --mesh data=16,model=4 --over model
    """
    from hopcast.cli import _output, _progress
    from hopcast.verbs.advise import advise

    with _progress.Progress() as progress:
        result = advise(
            collective,
            chips=chips,
            size=size,
            on=on or [],
            mesh=mesh,
            over=over,
            algorithm=algorithm,
            price=price or "",
            combine=combine,
            per_rank=per_rank,
            root=root,
            shift=shift,
            seed=seed,
            doing=progress.doing,
        )
    _output.show(result, format, context.obj)
