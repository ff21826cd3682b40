"""The figures of the article and more, computed and drawn, on one page."""

from typing import Annotated

import typer


def command(
    only: Annotated[
        str | None, typer.Option("--only", metavar="ID,...", help="Figures by id or number; default all.")
    ] = None,
    ranks: Annotated[int, typer.Option("--ranks", metavar="N", help="Ranks, where a figure takes them.")] = 0,
    size: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="Bytes, where a figure takes them.")
    ] = "",
    on: Annotated[
        str, typer.Option("--on", metavar="CLUSTER", help="A cluster, where a figure takes one.")
    ] = "",
    live: Annotated[bool, typer.Option(help="Write the page of each figure on which it moves.")] = True,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="The folder to write into.")
    ] = "site",
) -> None:
    """Draw the atlas: each figure an SVG, its live page, and an index.html with all of them.

    Without --only all are made, in about half a minute. Figures of the folder that are not made anew stay.

    Example:
      hopcast atlas --only all_gather1 --ranks 12 -o site
      hopcast atlas --only 25,twisted_torus -o site
    """
    import sys

    from hopcast.atlas.site import atlas

    def told(name: str) -> None:
        print(f"\rhopcast: {name:<28}", end="", file=sys.stderr, flush=True)

    made = atlas(
        out,
        only=only,
        ranks=ranks,
        size=size,
        on=on,
        live=live,
        progress=told if sys.stderr.isatty() else None,
    )
    if sys.stderr.isatty():
        print(f"\r{'':<40}\r", end="", file=sys.stderr)
    print(f"hopcast: wrote {made}", file=sys.stderr)
