"""Which collectives a matmul of sharded arrays needs, their time, and which binds."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    product: Annotated[
        str,
        typer.Argument(
            metavar="PRODUCT", help="As 'bf16[b,d_x] @ bf16[d_x,f]', with '-> bf16[b,f_x]' if need be."
        ),
    ],
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    dims: Annotated[
        str | None, typer.Option("--dims", metavar="DIMS", help="Lengths of named dims: b=1024,d=4096.")
    ] = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    backward: Annotated[bool, typer.Option(help="The two matmuls of the gradients as well.")] = True,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Plan a matmul of sharded arrays: what is sent, how long that and the matmul take, and which binds.

    A dim is a length or a name, then _ and the mesh axes that cut it. The last dim of the left operand and
    the first of the right one are contracted. The result stays cut as the operands are, unless it is said
    behind ->. The size of a collective is the array of one group, that of the matmul what a device reads and
    writes. serial is one after the other, overlapped the ideal of many parts that are sent and computed at
    once.

    Example:
      hopcast matmul "bf16[b,d_x] @ bf16[d_x,f]" v5e:16x16 --dims b=1024,d=8192,f=8192
      hopcast matmul "bf16[b_x,d] @ bf16[d_x,f_y] -> bf16[b_x,f_y]" v5p:4x4x4 --dims b=65536,d=8192,f=32768
      hopcast matmul "bf16[4096_data,8192] @ bf16[8192,32768_model]" v5e:4x8 --mesh data=4,model=8
    """
    from hopcast.cli import _output
    from hopcast.verbs.matmul import matmul

    result = matmul(
        product,
        o.one_cluster(cluster, on),
        dims=dims,
        mesh=mesh,
        order=order,
        algorithm=algorithm,
        backward=backward,
        slow=slow or [],
        dead=dead or [],
    )
    _output.show(result, format, context.obj)
