"""One collective over many sizes, in the columns of nccl-tests."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    collective: o.CollectiveArgument,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    first: Annotated[str, typer.Option("-b", "--minbytes", metavar="SIZE", help="Smallest size.")] = "8",
    last: Annotated[str, typer.Option("-e", "--maxbytes", metavar="SIZE", help="Largest size.")] = "8G",
    factor: Annotated[
        float, typer.Option("-f", "--stepfactor", metavar="F", help="Each size is F times the last.")
    ] = 2.0,
    step: Annotated[
        str | None, typer.Option("-i", "--stepbytes", metavar="SIZE", help="Or so many bytes more.")
    ] = None,
    dtype: Annotated[
        str, typer.Option("-d", "--datatype", metavar="TYPE", help="For the count column.")
    ] = "f32",
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    price: o.PriceOption = None,
    combine: o.CombineOption = o.Combine.ADD,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    seed: o.SeedOption = 0,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Predict a collective for every size of a range, as an nccl-tests log would list them.

    Sizes are nccl-tests': of all_to_all what one rank sends, of the others the whole array, and rounded down
    as it does: to whole elements, and where each rank has a part of its own to 16 bytes of it. --algorithm
    all gives a row for each algorithm at each size, so that one sees where they cross.

    Example:
      hopcast sweep all_reduce v5e:4x4 -b 1K -e 64M -f 4
      hopcast sweep all_gather ring:8,bandwidth=45GB/s -b 1M -e 16M --algorithm all --format csv
    """
    from hopcast.cli import _output, _progress
    from hopcast.verbs.sweep import sweep

    with _progress.Progress() as progress:
        result = sweep(
            collective,
            o.one_cluster(cluster, on, nodes),
            first=first,
            last=last,
            factor=factor,
            step=step,
            dtype=dtype,
            algorithm=algorithm,
            price=price or "",
            combine=combine,
            over=over,
            mesh=mesh,
            order=order,
            root=root,
            shift=shift,
            seed=seed,
            slow=slow or [],
            dead=dead or [],
            doing=progress.doing,
        )
    _output.show(result, format, context.obj)
