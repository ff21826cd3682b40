"""all_gather on a ring both ways and one way, on an open line, and on both axes of a torus."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._steps import LINK, stepped
from hopcast.atlas._timing import at_most, cluster_of
from hopcast.names import InputError


def _ring_both_ways(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, most=16)
    return stepped(
        "all_gather", f"ring:{ranks}{LINK}", "bidirectional_ring", n.size,
        title=f"All-gather on a ring of {ranks}, both directions at once",
        how="In every step each chip passes on, to the right what came from the left and to the left what "
        "came from the right, so it gains two shards a step.",
        law="floor(N/2) steps of (D/N)/W = D/(2W)" if ranks % 2 == 0 else "floor(N/2) steps of (D/N)/W",
    )  # fmt: skip


def _ring_one_way(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, least=3, most=16)
    return stepped(
        "all_gather", f"ring:{ranks}{LINK}", "ring", n.size,
        title=f"All-gather on a ring of {ranks}, one direction",
        how="Every chip passes on what it received last, so each shard goes once round.",
        law="(N-1) steps of (D/N)/W, D/W for large N",
    )  # fmt: skip


def _chain(n: Numbers) -> Picture:
    ranks = at_most(n.ranks, most=16)
    return stepped(
        "all_gather", f"chain:{ranks}{LINK}", "chain", n.size,
        title=f"All-gather on an open line of {ranks} chips",
        how="Without a wraparound a shard must cross the whole line: the links of the end chips carry all "
        "shards but one, which is twice what they carry in a closed ring.",
        law="(N-1) steps of (D/N)/W, D/W for large N",
    )  # fmt: skip


def _torus(n: Numbers) -> Picture:
    cluster = cluster_of(n.on)
    axes = [a for a in cluster.topology.axes if a.length > 1]
    if not cluster.topology.is_grid or len(axes) != 2 or cluster.topology.chips > 64:
        raise InputError(f"--on {n.on}: this figure takes a grid of two axes and at most 64 chips, torus:4x4")
    both = all(a.wraps for a in axes) and axes[0].length == axes[1].length
    law = "D (1 - 1/N) / (4W), D/(4W) for large N" if both else "what the fullest link carries, over W"
    return stepped(
        "all_gather", f"{n.on}{LINK}", "multi_axis", n.size,
        title=f"All-gather on both axes of a {n.on.replace(':', ' of ')}",
        how="One half of every shard goes along x and then along y, the other along y and then along x: so "
        "all four links of a chip are busy all the time.",
        law=law,
    )  # fmt: skip


FIGURES = (
    Figure(
        "all_gather1", 12, "All-gather, ring, both directions", _ring_both_ways, Numbers(8, "8MiB"), "gather"
    ),
    Figure("all_gather2", 13, "All-gather, ring, one direction", _ring_one_way, Numbers(4, "8MiB"), "gather"),
    Figure("all_gather3", 14, "All-gather, open line", _chain, Numbers(4, "8MiB"), "gather"),
    Figure(
        "all_gather4",
        15,
        "All-gather, both axes of a torus",
        _torus,
        Numbers(0, "8MiB", "torus:4x4"),
        "gather",
    ),
)
