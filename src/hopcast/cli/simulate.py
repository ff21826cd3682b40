"""Every link while a collective runs: bytes, utilization, critical path, a trace."""

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    collective: o.CollectiveArgument,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    size: o.OptionalSizeOption = None,
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    algorithm: o.AlgorithmOption = "auto",
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    matrix: o.MatrixOption = None,
    moe: o.MoeOption = None,
    jitter: o.JitterOption = "0",
    samples: o.SamplesOption = 1,
    straggler: o.StragglerOption = None,
    background: o.BackgroundOption = None,
    seed: o.SeedOption = 0,
    no_shortcut: o.NoShortcutOption = False,
    out: o.TraceOption = None,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """Run a collective link by link, without barriers, all active sends sharing bandwidth max-min fairly.

    The table lists the links that carry bytes, hottest first; below it stand the stages, the ranks that
    end last, the critical path and what to change. How it was found is said too: where all ranks and links
    are alike one rank's sends stand for all, and --no-shortcut simulates every one. -o writes every send as
    a trace for ui.perfetto.dev or chrome://tracing.

    Real machines are uneven. --jitter 1% makes the bytes of each send take (1 + 0.01 |z|) times as long,
    with z a normal number of its own, and --samples runs it often; --straggler 3,3=10us is a rank that
    starts late, 3,3=2x one that sends at half speed; --background is traffic of others, which goes first.
    The same --seed gives the same numbers.

    Example:
      hopcast simulate all_gather mesh:4x4,bandwidth=45GB/s,latency=0 --size 16MiB --algorithm multi_axis
      hopcast simulate all_reduce v5e:4x4 --size 16MiB --over x --slow 0,0:1,0=0.5
      hopcast simulate all_reduce ring:256 --size 1GiB --algorithm ring --jitter 1% --samples 20
      hopcast simulate all_gather v5e:4x4 --size 16MiB --straggler 3,3=10us --background 0,0:0,3=10GB/s
    """
    from hopcast.cli import _output, _progress
    from hopcast.verbs.simulate import simulate, trace

    if out is not None and not out.endswith(".json"):
        raise ValueError(f"-o {out!r}: a trace is written as .json; the table goes to stdout")
    o.has_size(size, matrix, moe)
    with _progress.Progress() as progress:
        result = simulate(
            collective, o.one_cluster(cluster, on, nodes), size=size, over=over, mesh=mesh, order=order,
            algorithm=algorithm, per_rank=per_rank, root=root, shift=shift, seed=seed, slow=slow or [],
            dead=dead or [], matrix=matrix, moe=moe, jitter=jitter, samples=samples,
            straggler=straggler or [], background=background or [], shortcut=not no_shortcut,
            every=bool(out), progress=progress,
        )  # fmt: skip
        progress.doing("writing the trace")
        written = trace(result.detail) if out else ""
    if out:
        _output.write(out, written)
    _output.show(result, format, context.obj)
