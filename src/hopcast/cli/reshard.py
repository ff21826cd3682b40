"""Which collectives turn one sharding of an array into another, and their time."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    change: Annotated[
        str,
        typer.Argument(metavar="BEFORE->AFTER", help="As 'f32[i_x,j] -> f32[i,j_x]'; quote it."),
    ],
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    dims: Annotated[
        str | None, typer.Option("--dims", metavar="DIMS", help="Lengths of named dims: i=1024,j=4096.")
    ] = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Find the cheapest sequence of collectives from one sharding of an array to another.

    A dim is a length or a name, then _ and the mesh axes that cut it, the coarsest first: 1024_x, i_xy,
    1024_data+model. {U_x} behind the array says that it is the sum over x of what the devices hold. size is
    the array of one group, as predict takes it. slice sends nothing. backward is the collective of the
    transpose.

    Example:
      hopcast reshard "f32[i_x,j] -> f32[i,j_x]" v5e:4x4 --dims i=1024,j=4096
      hopcast reshard "bf16[8192_x,8192]{U_y} -> bf16[8192,8192_y]" v5p:4x4x4
      hopcast reshard "bf16[4096_data,4096] -> bf16[4096,4096_model]" v5e:4x8 --mesh data=4,model=8
    """
    from hopcast.cli import _output
    from hopcast.verbs.reshard import reshard

    result = reshard(
        change,
        o.one_cluster(cluster, on),
        dims=dims,
        mesh=mesh,
        order=order,
        algorithm=algorithm,
        slow=slow or [],
        dead=dead or [],
    )
    _output.show(result, format, context.obj)
