"""Every link while a collective runs: bytes, utilization, critical path, a trace."""

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    collective: o.CollectiveArgument,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    size: o.SizeOption = ...,  # type: ignore[assignment]
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    seed: o.SeedOption = 0,
    no_shortcut: o.NoShortcutOption = False,
    out: o.OutOption = None,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Run a collective link by link, without barriers, all active sends sharing bandwidth max-min fairly.

    The table lists the links that carry bytes, hottest first; below it stand the critical path and what
    to change. How it was found is said too: where all ranks and links are alike one rank's sends stand for
    all, and --no-shortcut simulates every one. -o writes every send as a trace for ui.perfetto.dev or
    chrome://tracing.

    Example:
      hopcast simulate all_gather mesh:4x4,bandwidth=45GB/s,latency=0 --size 16MiB --algorithm multi_axis
      hopcast simulate all_reduce v5e:4x4 --size 16MiB --over x --slow 0,0:1,0=0.5
    """
    from hopcast.cli import _output, _progress
    from hopcast.verbs.simulate import simulate, trace

    with _progress.Progress() as progress:
        result = simulate(
            collective,
            o.one_cluster(cluster, on, nodes),
            size=size,
            over=over,
            mesh=mesh,
            order=order,
            algorithm=algorithm,
            per_rank=per_rank,
            root=root,
            shift=shift,
            seed=seed,
            slow=slow or [],
            dead=dead or [],
            shortcut=not no_shortcut,
            progress=progress,
        )
    if out:
        _output.write(out, trace(result.detail))
    _output.show(result, format, context.obj)
