"""Capacity across a cut of a cluster, one way and both."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    split: Annotated[
        str, typer.Option("--split", metavar="A/B", help="The first A in rank order against the other B.")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="UNIT",
            help="What the split counts: chips, nodes, racks, su. Default: what adds up.",
        ),
    ] = "",
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """How many bytes per second can cross between two parts of a cluster.

    Without --split: the worst balanced cut.

    Example:
      hopcast bisect v5e:16x16
      hopcast bisect switch:8,bandwidth=450GB/s --split 4/4
      hopcast bisect dgx-h100:128 --split 88/40
    """
    from hopcast.cli import _output
    from hopcast.verbs.bisect import bisect

    _output.show(bisect(o.one_cluster(cluster, on, nodes), split=split, by=by), format, context.obj)
