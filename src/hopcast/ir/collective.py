"""What a collective must do: where each chunk starts and where it must end."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .topology import AnyInts, Ints

ALL = -1
NAMES = (
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "permute",
)
ALIASES = {
    "sendrecv": "permute",
    "collective_permute": "permute",
    "bcast": "broadcast",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all_v",
    "ragged_all_to_all": "all_to_all_v",
}
PAIRS = ("all_to_all", "all_to_all_v")  # every rank has something for every other
ROOTED = ("broadcast", "reduce", "gather", "scatter")
REVERSE = {
    "all_gather": "reduce_scatter",
    "reduce_scatter": "all_gather",
    "broadcast": "reduce",
    "reduce": "broadcast",
    "gather": "scatter",
    "scatter": "gather",
    "all_to_all": "all_to_all",
    "all_to_all_v": "all_to_all_v",
    "permute": "permute",
}


@dataclass(frozen=True, eq=False, repr=False)
class Collective:
    """Two columns: the rank that holds a chunk before, and the rank that must hold it after.

    Where ``origin`` is ALL every rank holds its own contribution and the result is their sum; where ``goal``
    is ALL every rank must end with it. That covers all collectives, so one checker and one bound serve all.

    Shapes: n ranks of one group, c chunks. ``origin`` and ``goal`` are ``int32[c]`` of local ranks, or ALL.

    Attributes:
        name: One of NAMES, or the user's own word for a schedule from a file.
        ranks: n.
        origin, goal: Columns.
        root: Of broadcast, reduce, gather and scatter.
        shift: Of permute: rank r sends to r + shift.
    """

    name: str
    ranks: int
    origin: Ints
    goal: Ints
    root: int = 0
    shift: int = 1

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.origin)

    @property
    def reduces(self) -> bool:
        """Whether contributions are summed."""
        return bool(len(self.origin) and self.origin[0] == ALL)

    def __repr__(self) -> str:
        return f"Collective({self.name}, ranks={self.ranks}, chunks={self.chunks})"


class Unlisted(Collective):
    """A collective of pairs whose columns are made when they are asked for.

    There are 80 million chunks and more on the largest pod, of which nothing that goes by symmetry needs one.
    Who inherits from it gives ``chunks``, ``origin`` and ``goal``.
    """

    def __new__(cls, *_: Any, **columns: Any) -> Any:
        """With columns, as `dataclasses.replace` calls it, it is an ordinary collective."""
        return Collective(**columns) if "origin" in columns else super().__new__(cls)

    def __init__(self, name: str, ranks: int) -> None:
        for key, value in (("name", name), ("ranks", ranks), ("root", 0), ("shift", 1)):
            object.__setattr__(self, key, value)

    @property
    def reduces(self) -> bool:
        """Nothing is summed."""
        return False


class EveryPair(Unlisted):
    """all_to_all with chunk ``src * n + dst``."""

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.ranks * self.ranks

    @functools.cached_property
    def origin(self) -> Ints:
        """Each rank n times."""
        return np.repeat(np.arange(self.ranks, dtype=np.int32), self.ranks)

    @functools.cached_property
    def goal(self) -> Ints:
        """All ranks, n times."""
        return np.tile(np.arange(self.ranks, dtype=np.int32), self.ranks)


def of(
    name: str, ranks: int, owner: AnyInts | None = None, *, root: int = 0, shift: int = 1, parts: int = 1
) -> Collective:
    """The collective of that name.

    Args:
        name: One of NAMES.
        ranks: n.
        owner: ``int32[c]``, the rank of each chunk's shard; default ``parts`` chunks for each rank in order.
            For all_to_all the default is chunk ``src * n + dst``; for all_reduce, broadcast and reduce
            ``parts`` chunks.
        root: For the rooted ones.
        shift: For permute.
        parts: Chunks of one shard.

    >>> of("all_gather", 3, parts=2).origin.tolist()
    [0, 0, 1, 1, 2, 2]
    >>> of("all_to_all", 2).origin.tolist(), of("all_to_all", 2).goal.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    n = ranks
    if name == "all_to_all" and owner is None and parts == 1:
        return EveryPair(name, n)
    whole = name in ("all_reduce", "broadcast", "reduce")
    if owner is None:
        pairs = name in PAIRS
        count = parts if whole else n * n * parts if pairs else n * parts
        owner = np.arange(count) // parts // (n if pairs else 1)
    everyone, at_root = np.full(len(owner), ALL), np.full(len(owner), root)
    origin, goal = {
        "all_gather": (owner, everyone),
        "reduce_scatter": (everyone, owner),
        "all_reduce": (everyone, everyone),
        "all_to_all": (owner, np.arange(len(owner)) // parts % n),
        "all_to_all_v": (owner, np.arange(len(owner)) // parts % n),
        "broadcast": (at_root, everyone),
        "reduce": (everyone, at_root),
        "gather": (owner, at_root),
        "scatter": (at_root, owner),
        "permute": (owner, (owner + shift) % n),
    }[name]
    return Collective(name, n, np.asarray(origin, np.int32), np.asarray(goal, np.int32), root, shift)


def per_rank_size(name: str, ranks: int, size: float) -> float:
    """The size as nccl-tests counts it: D / n for all_to_all and permute, D for the others.

    >>> per_rank_size("all_to_all", 8, 800.0), per_rank_size("all_gather", 8, 800.0)
    (100.0, 800.0)
    """
    return size / ranks if name in (*PAIRS, "permute") else size


def busbw_factor(name: str, ranks: int) -> float:
    """Busbw / algbw of nccl-tests.

    Source: NVIDIA/nccl-tests doc/PERFORMANCE.md.

    >>> busbw_factor("all_reduce", 8), busbw_factor("all_gather", 8), busbw_factor("broadcast", 8)
    (1.75, 0.875, 1.0)
    """
    if name == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1.0 if name in ("broadcast", "reduce", "permute") else (ranks - 1) / ranks
