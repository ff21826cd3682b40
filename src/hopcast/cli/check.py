"""Whether a schedule computes its collective, or the first thing that is wrong."""

import typer

from hopcast.cli import _options as o


def command(
    context: typer.Context,
    collective: o.CollectiveArgument,
    cluster: o.OptionalClusterArgument = None,
    on: o.OnOption = None,
    nodes: o.NodesOption = None,
    algorithm: o.AlgorithmOption = "auto",
    size: o.AnySizeOption = None,
    over: o.OverOption = None,
    mesh: o.MeshOption = None,
    order: o.OrderOption = "",
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    matrix: o.MatrixOption = None,
    moe: o.MoeOption = None,
    seed: o.SeedOption = 0,
    format: o.FormatOption = o.Format.TABLE,
) -> int:
    """Check that a schedule computes its collective on every rank; exit status 1 where it does not.

    Every contribution is a random token, so that a lost, doubled or misplaced one shows. The row names
    the first wrong rank and chunk, and the step where it can be told. --algorithm all checks every one
    that fits.

    Example:
      hopcast check all_reduce torus:4x4 --algorithm multi_axis
      hopcast check all_gather ring:8 --algorithm all
    """
    from hopcast.cli import _output, _progress
    from hopcast.verbs import _traffic, ask
    from hopcast.verbs.check import check_rows

    where = o.one_cluster(cluster, on, nodes)
    sent = _traffic.asked(matrix, moe, size, where, over, mesh, order)
    q, place = ask.question(
        collective,
        where,
        size=sent.size or "1MiB",
        over=over,
        mesh=mesh,
        order=order,
        root=root,
        shift=shift,
        seed=seed,
        per_rank=per_rank,
        slow=slow or [],
        dead=dead or [],
        matrix=sent.matrix,
        words=sent.words,
    )
    with _progress.Progress() as progress:
        result = check_rows(q, algorithm, place.warnings, progress.doing)
    _output.show(result, format, context.obj)
    return 0 if all(row["valid"] for row in result.rows) else 1
