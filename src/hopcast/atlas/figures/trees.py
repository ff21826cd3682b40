"""all_gather by doubling and reduce_scatter by halving: log2(N) rounds for the bytes of a ring."""

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.atlas._steps import PORT, stepped
from hopcast.atlas._timing import at_most
from hopcast.names import InputError


def _power(ranks: int) -> int:
    if at_most(ranks, most=16) & (ranks - 1):
        raise InputError(f"--ranks {ranks}: this figure takes a power of two up to 16")
    return ranks


def _doubling(n: Numbers) -> Picture:
    ranks = _power(n.ranks)
    rounds = ", ".join(f"D/{ranks >> k}" for k in range(ranks.bit_length() - 1))
    return stepped(
        "all_gather", f"switch:{ranks}{PORT}", "recursive_doubling", n.size,
        title=f"All-gather of {ranks} GPUs by recursive doubling",
        how=f"In round k each GPU exchanges all it has with the one whose number differs in bit k: {rounds} "
        "a round.",
        law="D (N-1)/N / W, the bytes of a ring in log2(N) rounds instead of N-1",
    )  # fmt: skip


def _halving(n: Numbers) -> Picture:
    ranks = _power(n.ranks)
    rounds = ", ".join(f"D/{2 << k}" for k in range(ranks.bit_length() - 1))
    return stepped(
        "reduce_scatter", f"switch:{ranks}{PORT}", "recursive_halving", n.size,
        title=f"Reduce-scatter of {ranks} GPUs by recursive halving",
        how=f"In each round a GPU gives away the half of its sums that the other side will keep: {rounds}.",
        law="D (N-1)/N / W in log2(N) rounds",
    )  # fmt: skip


FIGURES = (
    Figure("ag_tree", 29, "All-gather by recursive doubling", _doubling, Numbers(8, "8MiB"), "node"),
    Figure("rs_tree", 30, "Reduce-scatter by recursive halving", _halving, Numbers(8, "8MiB"), "node"),
)
