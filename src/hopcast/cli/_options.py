"""Arguments and options that several commands share, so that each is spelled and explained once.

A command uses them as annotations:

>>> def command(cluster: ClusterArgument, format: FormatOption = Format.TABLE) -> None: ...
"""

from enum import StrEnum
from typing import Annotated

import typer

from hopcast.cli._usage import UsageError


class Format(StrEnum):
    """How a result is written. ``json`` and ``csv`` are exact and complete, the others are for reading."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


class Price(StrEnum):
    """Which of the three prices answers."""

    FORMULA = "formula"
    STEPS = "steps"
    FLOWS = "flows"


class Combine(StrEnum):
    """How latency and bandwidth time combine in a closed form."""

    ADD = "add"
    MAX = "max"


CollectiveArgument = Annotated[
    str,
    typer.Argument(
        metavar="COLLECTIVE",
        help="all_gather, all_reduce, ... or a schedule: mine.py:my_all_reduce, plan.npz, plan.csv, -",
    ),
]
ClusterArgument = Annotated[
    str,
    typer.Argument(
        metavar="CLUSTER",
        help="family:shape[,key=value...] such as v5e:4x4 or dgx-a100:2,nics=4, or a file; hopcast list "
        "clusters, list options and list cluster_file tell what can be written.",
    ),
]
OptionalClusterArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="CLUSTER",
        help="As v5e:4x4 or dgx-a100:2,nics=4, or a file; hopcast list clusters, list options and list "
        "cluster_file tell what can be written. Also accepted as --on.",
    ),
]
OnOption = Annotated[
    str | None, typer.Option("--on", metavar="CLUSTER", help="The cluster, as an option: --on v5e:4x4.")
]
SizeOption = Annotated[
    str,
    typer.Option(
        "--size",
        metavar="SIZE",
        help="Bytes of the whole array of one group: 8MiB, 128M (x 1024), 128MB (x 1000), bf16[1024_x,4096].",
    ),
]
OptionalSizeOption = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="SIZE",
        help="Bytes of the whole array of one group: 8MiB, 128M (x 1024), 128MB (x 1000), bf16[1024_x,4096]. "
        "A traffic matrix has its own.",
    ),
]
MatrixOption = Annotated[
    str | None,
    typer.Option("--matrix", metavar="FILE", help="Of all_to_all_v: a .csv or .npy of bytes, row to column."),
]
MoeOption = Annotated[
    str | None,
    typer.Option(
        "--moe",
        metavar="KEYS",
        help="Of all_to_all_v, a layer of experts: tokens=4096,hidden=7168,dtype=bf16,experts=256,top=8,"
        "skew=zipf:1.0,seed=1,phase=dispatch; tokens are those of each chip.",
    ),
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="OTHER",
        help="Another collective at the same time: 'all_gather:1GiB over gpu by ring'; a row for each.",
    ),
]
OverOption = Annotated[
    str | None,
    typer.Option(
        "--over", metavar="AXES", help="Axes that the collective runs over: x or x,y. Default: all chips."
    ),
]
MeshOption = Annotated[
    str | None,
    typer.Option("--mesh", metavar="AXES", help="Logical axes and their lengths: data=4,model=8."),
]
AlgorithmOption = Annotated[
    str,
    typer.Option(
        "--algorithm",
        metavar="NAME",
        help="auto (what the machine's software would run), best, all (a row each), or a name.",
    ),
]
PriceOption = Annotated[
    Price | None,
    typer.Option(
        "--price",
        help="Default: the formula where it is exact, else flows, or steps where sends are too many.",
    ),
]
CombineOption = Annotated[
    Combine,
    typer.Option("--combine", help="Latency adds to bandwidth time, or the larger of the two counts."),
]
PerRankOption = Annotated[
    bool,
    typer.Option(
        "--per-rank", help="The size of all_to_all or permute is that of one rank, as nccl-tests counts."
    ),
]
RootOption = Annotated[
    str, typer.Option("--root", metavar="RANK", help="The root of a rooted collective: 5, or 3,3.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every random choice.")]
NoShortcutOption = Annotated[
    bool, typer.Option("--no-shortcut", help="By flows: simulate every send, also where few stand for all.")
]
OutOption = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Write to this file instead of stdout.")
]
TraceOption = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="FILE.json", help="Write a trace of every send too, for Perfetto."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How the result is written.")]

NodesOption = Annotated[
    str | None,
    typer.Option(
        "--nodes",
        metavar="FILE",
        help="The nodes that are used: a file of their numbers in rank order, as 0-127 160. Few are written "
        "behind the cluster: dgx-h100:64,nodes=0-3+40.",
    ),
]
OrderOption = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="row|jax|z,y,x|FILE",
        help="How the mesh lies on the chips; default jax's on TPUs, else row. A FILE of chips in rank order "
        "needs no --mesh.",
    ),
]
ShiftOption = Annotated[int, typer.Option("--shift", metavar="K", help="permute sends from rank r to r + K.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Say how the number comes about.")]
SlowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--slow",
        metavar="A:B=F",
        help="A cable at part F of its rate: 3,3:3,4=0.5; switches by the names they are printed with, as in "
        "'rail 0 leaf:4 spines=0.5'. Repeatable.",
    ),
]
DeadOption = Annotated[
    list[str] | None, typer.Option("--dead", metavar="A:B", help="A cable that is cut: 3,3:3,4. Repeatable.")
]
JitterOption = Annotated[
    str,
    typer.Option(
        "--jitter", metavar="PART", help="Bytes of each send take longer by a random part: 1%, 0.01."
    ),
]
SamplesOption = Annotated[
    int,
    typer.Option(
        "--samples", metavar="N", help="Runs with jitter; percentiles p5, p50, p95, p99 of the time."
    ),
]
StragglerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--straggler",
        metavar="R=T|R=Fx",
        help="A rank that starts late, 3,3=10us, or whose bytes take longer, 3,3=2x. Repeatable.",
    ),
]
BackgroundOption = Annotated[
    list[str] | None,
    typer.Option(
        "--background",
        metavar="P|A:B=R",
        help="Others' traffic: 20% of every link, or 0,0:3,3=10GB/s along the route both ways (>: one way). "
        "Repeatable.",
    ),
]
AnySizeOption = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="SIZE",
        help="Bytes of the whole array, where chunk counts or what binds depend on it; default 1MiB.",
    ),
]
AnyMessageOption = Annotated[str, typer.Option("--size", metavar="SIZE", help="Bytes of the message.")]


def has_size(size: str | None, matrix: str | None, moe: str | None) -> None:
    """A size, or a matrix that has its own.

    Raises:
        UsageError: if there is neither.
    """
    if size is None and matrix is None and moe is None:
        raise UsageError("--size is missing")


def one_cluster(positional: str | None, on: str | None, nodes: str | None = None) -> str:
    """The cluster, wherever it was given, with the nodes of a file if there is one.

    Raises:
        UsageError: if it was given twice or not at all, or a collective stands in its place.
        ValueError: if the file lists no nodes.
    """
    if positional is not None and on is not None:
        raise UsageError(f"the cluster is given twice, {positional} and --on {on}; write it once")
    place = positional if positional is not None else on
    if place is None:
        raise UsageError("CLUSTER is missing")
    from hopcast.question import is_collective

    if is_collective(place):
        raise UsageError(f"{place!r} is a collective and stands where the cluster does")
    return place + (f",nodes={_listed(nodes)}" if nodes is not None else "")


def _listed(path: str) -> str:
    """Node numbers and ranges of a file, in its order, as the cluster option takes them: ``0-127+160``."""
    from hopcast.ir.files import read_text

    text = read_text(path, "it lists nodes, as in 0-127 160")
    words = " ".join(line.partition("#")[0] for line in text.splitlines()).replace(",", " ").replace("+", " ")
    if not words.split():
        raise ValueError(
            f"--nodes {path}: the file lists no nodes; write numbers and ranges, as in 0-127 160"
        )
    return "+".join(words.split())


def numbers(option: str, text: str | None) -> list[int] | None:
    """Whole numbers from ``0,1,2``; ``-1`` is one, for the start.

    Raises:
        ValueError: for anything else.
    """
    if text is None:
        return None
    parts = [p.strip() for p in text.split(",")]
    if not all(p.removeprefix("-").isdecimal() for p in parts):
        raise ValueError(f"{option} {text!r}: write whole numbers with commas, as in 0,1,2")
    return [int(p) for p in parts]
