"""What there is: chips, clusters and their options, algorithms, findings and more."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="chips, clusters, options (of clusters), cluster_file (how to write one's own), topologies, "
            "algorithms, collectives, findings or formats.",
        ),
    ] = "",
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Everything that has a name on the command line.

    Example:
      hopcast list
      hopcast list options
      hopcast list cluster_file
      hopcast list algorithms
    """
    from hopcast.cli import _output
    from hopcast.verbs.listing import listing

    _output.show(listing(kind), format, context.obj)
