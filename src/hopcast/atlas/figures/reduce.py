"""reduce_scatter on a ring both ways and one way and on an open line, and all_reduce of both halves."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._steps import LINK, stepped
from hopcast.atlas._timing import at_most


def _ring_both_ways(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, most=8)
    return stepped(
        "reduce_scatter", f"ring:{ranks}{LINK}", "bidirectional_ring", n.size,
        title=f"Reduce-scatter on a ring of {ranks}, both directions at once",
        how="All-gather backwards: partial sums travel towards their owner from both sides, and every chip "
        "adds its own part before it passes them on.",
        law="floor(N/2) steps of (D/N)/W, D/(2W) for even N",
    )  # fmt: skip


def _all_reduce(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, most=8)
    return stepped(
        "all_reduce", f"ring:{ranks}{LINK}", "bidirectional_ring", n.size,
        title=f"All-reduce on a ring of {ranks}: reduce-scatter, then all-gather",
        how="First every chip comes to own the complete sum of one shard, then all shards are gathered, over "
        "the same links.",
        law="2 floor(N/2) steps of (D/N)/W, D/W for even N",
    )  # fmt: skip


def _ring_one_way(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, least=3, most=8)
    return stepped(
        "reduce_scatter", f"ring:{ranks}{LINK}", "ring", n.size,
        title=f"Reduce-scatter on a ring of {ranks}, one direction",
        how="The partial sum of each shard starts behind its owner, goes once round and takes in one "
        "contribution at each chip.",
        law="(N-1) steps of (D/N)/W, D/W for large N",
    )  # fmt: skip


def _chain(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, most=8)
    return stepped(
        "reduce_scatter", f"chain:{ranks}{LINK}", "chain", n.size,
        title=f"Reduce-scatter on an open line of {ranks} chips",
        how="Sums come in from both ends; the chips at the ends send all shards but their own over one link.",
        law="(N-1) steps of (D/N)/W, D/W for large N",
    )  # fmt: skip


FIGURES = (
    Figure("rs1", 17, "Reduce-scatter, ring, both directions", _ring_both_ways, Numbers(8, "8MiB"), "reduce"),
    Figure(
        "all_reduce",
        18,
        "All-reduce = reduce-scatter + all-gather",
        _all_reduce,
        Numbers(4, "8MiB"),
        "reduce",
    ),
    Figure("rs2", 19, "Reduce-scatter, ring, one direction", _ring_one_way, Numbers(4, "8MiB"), "reduce"),
    Figure("rs3", 20, "Reduce-scatter, open line", _chain, Numbers(4, "8MiB"), "reduce"),
)
