"""What there is: chips, clusters, topologies, algorithms, findings, formats."""

from typing import Annotated

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="chips, clusters, topologies, algorithms, collectives, findings or formats.",
        ),
    ] = "",
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Everything that has a name on the command line.

    Example:
      hopcast list
      hopcast list algorithms
    """
    from hopcast.cli import _output
    from hopcast.verbs.listing import listing

    _output.show(listing(kind), format, context.obj)
