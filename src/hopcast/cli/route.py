"""From one chip to another: hops, disjoint routes, latency and bandwidth time."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    cluster: o.ClusterArgument,
    src: Annotated[str, typer.Argument(metavar="SRC", help="3,3 | 'rank 15' | host:0 | 1/3,3 (slice 1).")],
    dst: Annotated[str, typer.Argument(metavar="DST", help="Another chip or host.")],
    size: o.AnyMessageOption = "1MiB",
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """How a message gets from one chip to another, over all link-disjoint routes at once.

    Latency and bandwidth time add up; over p routes of h hops each a message of D bytes takes h alpha + D
    / (p W). Over routes of different lengths it is cut so that all end together, and the latency is their
    mean by rate.

    Example:
      hopcast route v5e:4x4 3,3 0,0 --size "bf16[2048,2048]"
      hopcast route v5e:16x16,slices=2 0/3,3 1/0,0
      hopcast route torus:8x8,bandwidth=45GB/s 0,0 4,4 --dead 0,0:1,0
    """
    from hopcast.cli import _output
    from hopcast.verbs.route import route

    _output.show(route(cluster, src, dst, size=size, slow=slow or [], dead=dead or []), format, context.obj)
