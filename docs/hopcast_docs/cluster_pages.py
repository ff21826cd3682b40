"""What may stand behind a cluster's name, and how a cluster of one's own is written in a file."""

import contextlib
import tempfile
from pathlib import Path

from hopcast.ir import cluster_options
from hopcast.read.cluster_toml import EXAMPLES
from hopcast.verbs.listing import listing

from .markdown import code, console, page, prose, table

_ABOUT = {
    cluster_options.GRID: "Families of networks without hardware: [topologies](topologies/index.md).",
    cluster_options.TPU: "Slices of [TPUs](chips/index.md), also as cloud accelerator types: "
    "`v5litepod-16,slices=2`.",
    cluster_options.GPU: "[Machines](machines/index.md) and clusters of them. What is not given is of the "
    "data sheet and of the vendor's reference network.",
    cluster_options.FILE: "[A cluster of your own](cluster_files.md).",
}


def pages() -> dict[str, str]:
    """By path in docs/."""
    return {"reference/cluster_options.md": _options(), "reference/cluster_files.md": _files()}


def _options() -> str:
    parts = []
    for kind, about in _ABOUT.items():
        rows = [
            [f"`{o.name}`", prose(o.what), ", ".join(o.only) or "all", f"`{o.example}`"]
            for o in cluster_options.OPTIONS
            if o.kind == kind
        ]
        head = cluster_options.WORDS[kind]
        title = head if head.startswith(".") else head[0].upper() + head[1:]
        parts.append(f"## {title}\n\n{about}\n\n{table(['option', '', 'families', 'as in'], rows)}")
    text = (
        "Behind a cluster's shape stand options, in any order: `dgx-a100:2,nics=4,nic=100Gb/s`. They never "
        "need quotes in a shell. An option that a cluster does not take is an error that names those it "
        "takes; `hopcast list options` prints this page. Bandwidths are one way; rates are decimal, "
        "`45GB/s` or `400Gb/s`; latencies are written `1us`, `0.5us` or `0`."
    )
    return page("Options of clusters", text, *parts)


def _files() -> str:
    text = (
        "A `.toml` file describes a network that has no name: a family with other figures, or any chips, "
        "switches and cables. It goes wherever a cluster does: `hopcast show ./lab.toml`. "
        "`hopcast list cluster_file` prints this page."
    )
    family = "## A family\n\nA grid of which only y closes:\n\n" + code(EXAMPLES["family"], "toml")
    network = (
        "## A network\n\nFour chips on a switch, and two cables of their own. Vertices are numbered chips "
        "first, then switches; every vertex needs a way to and from every chip. Data take the shortest "
        "route, which is the cable where there is one.\n\n" + code(EXAMPLES["network"], "toml")
    )
    rows = [[f"`{r['name']}`", r["of"], prose(r["what"])] for r in listing("cluster_file")]
    keys = table(["key", "of a", ""], rows)
    about = (
        "`bandwidth` and `latency` are needed, in the file or in each link. A key that is not known is an "
        "error that names the known ones, with the place in the file."
    )
    said = "## What it says\n\n" + _said("hopcast predict all_gather ./lab.toml --size 8MiB --algorithm best")
    return page("Cluster files", text, family, network, f"## Keys\n\n{about}\n\n{keys}", said)


def _said(command: str) -> str:
    """What a command says of the network above, which is lab.toml."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("lab.toml").write_text(EXAMPLES["network"], encoding="utf-8")
        return console(command)
