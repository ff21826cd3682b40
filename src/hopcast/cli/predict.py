"""How long a collective takes, how far that is from the limit, and what to change."""

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
    price: o.PriceOption = None,
    combine: o.CombineOption = o.Combine.ADD,
    per_rank: o.PerRankOption = False,
    root: o.RootOption = "0",
    shift: o.ShiftOption = 1,
    explain: o.ExplainOption = False,
    slow: o.SlowOption = None,
    dead: o.DeadOption = None,
    matrix: o.MatrixOption = None,
    moe: o.MoeOption = None,
    beside: o.WithOption = None,
    no_shortcut: o.NoShortcutOption = False,
    seed: o.SeedOption = 0,
    format: o.FormatOption = o.Format.TABLE,
) -> None:
    """How long a collective takes on a cluster, beside the least time that physics allows.

    The size is that of the whole array of one group: for all_gather the gathered result, for all_reduce
    and reduce_scatter what each rank holds in full, for all_to_all and permute the sum over all ranks
    (--per-rank: of one). bound is the least time on the links the collective may use, limit the least with
    every link of the cluster.

    Example:
      hopcast predict all_gather v5e:4x4 --size 8MiB --over x
      hopcast predict all_reduce torus:16x16,bandwidth=45GB/s --size 1GiB --algorithm all
      hopcast predict all_reduce mesh:4x4 --size 1GiB --algorithm best
      hopcast predict all_reduce dgx-a100:2,nics=4,nic=100Gb/s --size 1GiB
      hopcast predict all_to_all_v gb200-nvl72 --moe tokens=512,hidden=7168,experts=256,top=8,skew=zipf:1.0
      hopcast predict all_to_all ring:16,bandwidth=45GB/s,latency=1us --size 1MiB --per-rank --price flows
      hopcast predict all_reduce dgx-h100:2 --size 1GiB --over node --with "all_gather:1GiB over gpu"
    """
    from hopcast.cli import _output, _progress
    from hopcast.verbs.predict import predict

    o.has_size(size, matrix, moe)
    with _progress.Progress() as progress:
        result = predict(
            collective,
            o.one_cluster(cluster, on, nodes),
            size=size,
            over=over,
            mesh=mesh,
            order=order,
            algorithm=algorithm,
            price=price or "",
            combine=combine,
            per_rank=per_rank,
            root=root,
            shift=shift,
            seed=seed,
            explain=explain,
            slow=slow or [],
            dead=dead or [],
            matrix=matrix,
            moe=moe,
            beside=_only(beside),
            shortcut=not no_shortcut,
            progress=progress,
        )
    _output.show(result, format, context.obj)


def _only(beside: list[str] | None) -> str | None:
    """The other collective; two of them would be three at once."""
    if beside and len(beside) > 1:
        raise ValueError(f"--with is given {len(beside)} times; it takes one other collective")
    return beside[0] if beside else None
