"""The options that may stand behind a cluster's name: ``dgx-a100:2,nics=4,nic=100Gb/s``.

One record for each option of each kind of cluster: what it is, a cluster that has it, and the families that
take it. The parser takes its names from here, and so do `hopcast list options` and the docs.
"""

from dataclasses import dataclass

GRID, TPU, GPU, FILE = "generic", "tpu", "gpu", "file"
# What clusters of a kind are called in a list of all options.
WORDS = {GRID: "generic families", TPU: "TPU slices", GPU: "GPU machines", FILE: "./FILE.toml"}


@dataclass(frozen=True)
class Option:
    """An option of a kind of cluster.

    Attributes:
        kind: Of cluster, a key of WORDS.
        name: As it is written.
        what: What it is, in one line, with what holds where it is not given.
        example: A cluster with the option, and with those that it needs.
        only: Families that take it; empty: all of the kind.
    """

    kind: str
    name: str
    what: str
    example: str
    only: tuple[str, ...] = ()

    @property
    def families(self) -> str:
        """Who takes it, in words.

        >>> [o.families for o in of(TPU, "v2") if o.name in ("slices", "ranks")]
        ['TPU slices', 'v2, v3, 7x']
        """
        return ", ".join(self.only) or WORDS[self.kind]


OPTIONS = (
    Option(GRID, "bandwidth", "of a link, one way; default 45GB/s", "ring:8,bandwidth=50GB/s"),
    Option(GRID, "latency", "of a hop; default 1us", "torus:4x4,latency=0"),
    Option(GRID, "duplex", "full, or half: both ways of a cable share its bandwidth", "ring:8,duplex=half"),
    Option(GRID, "wraps", "the axes that close, as y or x+y; default none", "mesh:8x16,wraps=y", ("mesh",)),
    Option(
        GRID, "twisted", "wrap-arounds of short axes also move along the long ones; n x 2n and the like",
        "torus:4x8,twisted", ("torus",),
    ),
    Option(
        GRID, "sharp", "on: the switch reduces and multicasts; default off", "switch:8,sharp=on", ("switch",)
    ),
    Option(
        GRID, "antipodal", "halfway round a ring: split (half each way, the default) or forward",
        "ring:16,antipodal=forward", ("ring", "torus", "mesh", "chain", "hypercube"),
    ),
    Option(TPU, "slices", "how many slices the data centre network joins; default 1", "v5e:16x16,slices=4"),
    Option(
        TPU, "ranks", "chips (default), or cores: each of the two of a chip is a rank", "v3:4x4,ranks=cores",
        ("v2", "v3", "7x"),
    ),
    Option(TPU, "bandwidth", "of an ICI link, one way; default the data sheet's", "v5e:4x4,bandwidth=40GB/s"),
    Option(
        TPU, "latency", "of every class of routes that has no option of its own: ICI, cores, PCIe, network",
        "v5e:4x4,latency=0",
    ),
    Option(TPU, "ici_latency", "of an ICI link; default 1us", "v5e:4x4,ici_latency=2us"),
    Option(
        TPU, "twisted", "wrap-arounds of short axes also move along the long ones", "v5p:4x4x8,twisted",
        ("v4", "v5p", "7x", "8t"),
    ),
    Option(
        TPU, "core_bandwidth", "between the two cores of a chip, one way; with ranks=cores",
        "v3:4x4,ranks=cores,core_bandwidth=100GB/s", ("v2", "v3", "7x"),
    ),
    Option(
        TPU, "core_latency", "between the two cores of a chip; default a link's; with ranks=cores",
        "v3:4x4,ranks=cores,core_latency=0.5us", ("v2", "v3", "7x"),
    ),
    Option(
        TPU, "pcie_bandwidth", "from a chip to its host, one way; default the data sheet's, if any",
        "v5e:4x4,slices=2,pcie_bandwidth=32GB/s",
    ),
    Option(
        TPU, "pcie_latency", "from a chip to its host; default 1us", "v5e:4x4,slices=2,pcie_latency=2us"
    ),
    Option(
        TPU, "dcn_bandwidth", "from a chip to other slices, one way; default the data sheet's, if any",
        "v5e:4x4,slices=2,dcn_bandwidth=12.5GB/s",
    ),
    Option(
        TPU, "dcn_latency", "from host to host of two slices; default 10us",
        "v5e:4x4,slices=2,dcn_latency=20us",
    ),
    Option(GPU, "gpus", "GPUs of each node or rack that are used; default all", "dgx-h100:4,gpus=4"),
    Option(
        GPU, "nics", "NICs of each node or rack, which its GPUs share evenly; default the data sheet's",
        "dgx-a100:2,nics=4",
    ),
    Option(GPU, "nic", "rate of a NIC, one way; default the data sheet's", "dgx-a100:2,nics=4,nic=100Gb/s"),
    Option(
        GPU, "bandwidth", "NVLink of a GPU, one way (dgx1-v100, mi300x: of one cable)",
        "dgx-h100,bandwidth=200GB/s",
    ),
    Option(
        GPU, "oversubscription", "cables of a leaf down to NICs over those up; default 1",
        "dgx-h100:64,oversubscription=2",
    ),
    Option(
        GPU, "rails", "on (default): NICs of one number meet in one leaf; off: those of a node do",
        "dgx-h100:8,rails=off",
    ),
    Option(
        GPU, "sharp", "off: switches between nodes do not reduce; default on where they can",
        "dgx-h100:8,sharp=off",
    ),
    Option(
        GPU, "nvls", "off: switches inside a node do not reduce or multicast; default on where they can",
        "dgx-h100:2,nvls=off",
    ),
    Option(
        GPU, "routing", "spread evenly over spines (default), or ecmp: each flow hashed to one cable",
        "dgx-h100:64,routing=ecmp",
    ),
    Option(GPU, "seed", "another hash, with routing=ecmp; default 0", "dgx-h100:64,routing=ecmp,seed=1"),
    Option(
        GPU, "nodes", "numbers of the nodes or racks that are used, in rank order; default all",
        "dgx-h100:64,nodes=0-3+40",
    ),
    Option(
        GPU, "latency", "of every class of routes that has no option of its own: nvlink, nic, tier",
        "dgx-h100:4,latency=0",
    ),
    Option(GPU, "nvlink_latency", "from GPU to GPU of a node; default 1us", "dgx-h100,nvlink_latency=0.5us"),
    Option(
        GPU, "nic_latency", "from node to node through one leaf; default 2us", "dgx-h100:4,nic_latency=3us"
    ),
    Option(
        GPU, "tier_latency", "of each switch above the leaf; default 0.5us", "dgx-h100:64,tier_latency=0.3us"
    ),
    Option(GPU, "leaf", "leaf switches; default 8 for each 32 nodes", "fat-tree:32x8,leaf=16", ("fat-tree",)),
    Option(
        GPU, "spine", "spine switches; default as few as carry all uplinks", "fat-tree:32x8,leaf=8,spine=16",
        ("fat-tree",),
    ),
    Option(
        GPU, "uplinks", "cables of a leaf to spines; default as many as down",
        "fat-tree:32x8,leaf=8,spine=8,uplinks=16", ("fat-tree",),
    ),
    Option(FILE, "bandwidth", "of all links, one way, instead of the file's", "./FILE.toml,bandwidth=50GB/s"),
    Option(FILE, "latency", "of all hops, instead of the file's", "./FILE.toml,latency=0"),
)  # fmt: skip


def names(kind: str) -> tuple[str, ...]:
    """The options of a kind of cluster, as they are written.

    >>> names(FILE)
    ('bandwidth', 'latency')
    """
    return tuple(o.name for o in OPTIONS if o.kind == kind)


def of(kind: str, family: str) -> tuple[Option, ...]:
    """The options that a family takes.

    >>> [o.name for o in of(GRID, "switch")]
    ['bandwidth', 'latency', 'duplex', 'sharp']
    """
    return tuple(o for o in OPTIONS if o.kind == kind and (not o.only or family in o.only))
