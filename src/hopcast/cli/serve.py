"""The explorer with controls, asked from a browser on this machine."""

from typing import Annotated

import typer


def command(
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Where to listen; default: a free port.")
    ] = 0,
    limit: Annotated[
        str, typer.Option("--limit", metavar="TIME", help="The longest that one question may take.")
    ] = "60s",
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> int:
    """The page of `hopcast explore` with fields for cluster, shape, collective, size, algorithm and cables.

    It listens on 127.0.0.1 only, and answers only who has the address that it prints: there is a token in it.
    Schedules and clusters in files are for the command line; the server opens none. Ctrl-C ends it.

    It needs two more packages: pip install 'hopcast[serve]'.

    Example:
      hopcast serve
    """
    import sys

    from hopcast import units
    from hopcast.cli._shell import INTERRUPTED
    from hopcast.serve.server import Server

    server = Server(port, units.seconds(limit))
    print(server.url, flush=True)
    print("hopcast: open this address in a browser; Ctrl-C ends the server", file=sys.stderr)
    if open:
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        return INTERRUPTED
    # A signal that comes as the loop ends asks the server to exit and raises nothing.
    return INTERRUPTED if server.should_exit else 0
