"""What a cluster is: chips, links, axes and wraps, hosts, bandwidths, bisection."""

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """What a cluster is.

    Every number of real hardware is shown with its source, and with what other sources say.

    Links are directed: a cable is two. Bandwidths are one way. injection is what the weakest chip can
    send on all its links.

    A cluster of your own is a file of a few lines; hopcast list cluster_file shows them.

    Example:
      hopcast show v5e:8x16
      hopcast show 8i
      hopcast show torus:4x4x4,bandwidth=45GB/s
      hopcast show dgx-a100:2,nics=4,nic=100Gb/s
    """
    from hopcast.cli import _output
    from hopcast.verbs.show import show

    _output.show(show(o.one_cluster(cluster, on, nodes)), format, context.obj)
