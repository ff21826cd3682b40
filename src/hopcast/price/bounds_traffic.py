"""What a collective must move, whatever the schedule: how much has to leave any set of its ranks."""

from dataclasses import dataclass

import numpy as np

from hopcast.ir.collective import ALL, NAMES, PAIRS, Collective
from hopcast.ir.topology import Bools, Floats, Ints
from hopcast.names import unknown


@dataclass(frozen=True, eq=False)
class Traffic:
    """The chunks of one group, summed up by where they start and where they must end.

    Shapes: n ranks, p pairs. All parts are of D.

    Attributes:
        ranks: n.
        summed_everywhere: Part whose sum over all ranks must be everywhere (all_reduce).
        summed_at: ``float64[n]``, part whose sum must be at each rank (reduce_scatter, reduce).
        copied_from: ``float64[n]``, part that each rank holds and all must get (all_gather, broadcast).
        each_pair: Part that every rank has for every other (all_to_all).
        pair_src, pair_dst: ``int32[p]``, two different ranks.
        pair_part: ``float64[p]``, part that must go from one to the other, besides ``each_pair``.
    """

    ranks: int
    summed_everywhere: float
    summed_at: Floats
    copied_from: Floats
    each_pair: float
    pair_src: Ints
    pair_dst: Ints
    pair_part: Floats

    @property
    def between_all(self) -> bool:
        """Whether some data must go from every rank to every other."""
        whole = self.summed_everywhere > 0 or self.each_pair > 0
        return whole or bool(np.all(self.summed_at > 0)) or bool(np.all(self.copied_from > 0))

    @property
    def alike(self) -> bool:
        """Whether every rank has and needs as much as any other, and of everyone."""
        even = all(np.all(part == part[0]) for part in (self.summed_at, self.copied_from))
        return even and not len(self.pair_part)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to move."""
        parts = (self.summed_at.sum(), self.copied_from.sum(), self.pair_part.sum())
        return self.ranks == 1 or self.summed_everywhere + self.each_pair + sum(parts) == 0

    def leaving(self, inside: Bools) -> Floats:
        """The least part of D that must go from some ranks to the others of the group.

        A copy leaves once if its holder is inside and somebody outside needs it. A sum leaves once if a
        contribution is inside and somebody outside needs it: what is inside can be summed first.

        Shapes: ``inside`` is ``bool[..., n]``; the result is ``float64[...]``.

        Source: Thompson 1979, Area-time complexity for VLSI (what must cross a cut); Zhao et al. 2024,
        arXiv:2402.06787 (for collectives).

        >>> parts = standard("all_gather", 4)
        >>> parts.leaving(np.array([[True, True, False, False], [True, True, True, True]])).tolist()
        [0.5, 0.0]
        """
        count = inside.sum(-1)
        some, short = count > 0, count < self.ranks
        part = self.summed_everywhere * (some & short) + self.each_pair * count * (self.ranks - count)
        outside = _weighed(~inside, self.ranks - count, self.summed_at)
        part = part + some * outside + short * _weighed(inside, count, self.copied_from)
        if not len(self.pair_part):
            return np.asarray(part, float)
        if len(self.pair_part) <= 4 * self.ranks:
            split = inside[..., self.pair_src] & ~inside[..., self.pair_dst]
            return np.asarray(part + split @ self.pair_part, float)
        # Many pairs are a matrix; the product does not need memory for each pair and each cut.
        matrix = np.zeros((self.ranks, self.ranks))
        np.add.at(matrix, (self.pair_src, self.pair_dst), self.pair_part)
        return np.asarray(part + ((inside.astype(float) @ matrix) * ~inside).sum(-1), float)

    def port(self) -> tuple[Floats, Floats]:
        """The least part of D that each rank must send and receive: two ``float64[n]``."""
        n = self.ranks
        common = self.summed_everywhere + self.each_pair * (n - 1)
        sent = np.bincount(self.pair_src, self.pair_part, n)
        received = np.bincount(self.pair_dst, self.pair_part, n)
        out = common + self.summed_at.sum() - self.summed_at + self.copied_from + sent
        into = common + self.summed_at + self.copied_from.sum() - self.copied_from + received
        return out, into

    def transfers(self, parts: Ints) -> Floats:
        """What must be sent between the parts that a group falls into, in D, if only ranks sum and copy.

        A sum for one rank: every other part sends once. A copy for all: every other part receives once. A sum
        for all needs both: until some part knows the sum all others have sent, and then all others receive.
        Single pairs are left out: on them the ports give as much.

        Shapes: ``parts`` is ``int[g]``, the number of parts of each group; the result is ``float64[g]``.

        Source: 2 (n - 1) one-way calls of gossiping, Hedetniemi, Hedetniemi and Liestman 1988,
        doi:10.1002/net.3230180406; packed trees reach it on cables (Tutte 1961, Nash-Williams 1961).
        """
        per_part = 2 * self.summed_everywhere + self.summed_at.sum() + self.copied_from.sum()
        return np.asarray(per_part * (parts - 1), float)


def _weighed(chosen: Bools, count: Ints, part: Floats) -> Floats:
    """Sums of the parts of those chosen, ``count`` of them; where all have the same, no matter who is."""
    if len(part) and np.all(part == part[0]):
        return np.asarray(count * part[0], float)
    return np.asarray(chosen @ part, float)


def standard(name: str, ranks: int, *, root: int = 0, shift: int = 1) -> Traffic:
    """Of a named collective with equal shards, without making its chunks.

    Args:
        name: One of the nine names.
        ranks: n.
        root: Of the rooted ones.
        shift: Of permute.

    Raises:
        InputError: for another name.

    Cost: O(n), also for all_to_all, whose n * n chunks are never made.

    >>> standard("all_to_all", 4).port()[0].tolist()
    [0.1875, 0.1875, 0.1875, 0.1875]
    """
    if name not in NAMES:
        raise unknown("collective", name, NAMES)
    n = ranks
    each, at_root, rank = np.full(n, 1 / n), np.zeros(n), np.arange(n)
    at_root[root] = 1.0
    summed = each if name == "reduce_scatter" else at_root if name == "reduce" else np.zeros(n)
    copied = each if name == "all_gather" else at_root if name == "broadcast" else np.zeros(n)
    ends = {
        "gather": (rank, np.full(n, root)),
        "scatter": (np.full(n, root), rank),
        "permute": (rank, (rank + shift) % n),
    }
    src, dst = ends.get(name, (rank[:0], rank[:0]))
    apart = src != dst
    return Traffic(
        n, float(name == "all_reduce"), summed, copied, 1 / n**2 if name in PAIRS and n > 1 else 0.0,
        src[apart].astype(np.int32), dst[apart].astype(np.int32), np.full(int(apart.sum()), 1 / n),
    )  # fmt: skip


def traffic(collective: Collective, share: Floats | None = None) -> Traffic:
    """Of any collective, from its columns.

    Args:
        collective: Of one group.
        share: ``float64[chunks]``, the part of D that each chunk is; equal if not given.

    Cost: O(chunks).

    >>> from hopcast.ir.collective import of
    >>> traffic(of("all_gather", 2), np.array([0.25, 0.75])).copied_from.tolist()
    [0.25, 0.75]
    """
    n, origin, goal = collective.ranks, collective.origin, collective.goal
    part = np.full(len(origin), 1 / max(len(origin), 1)) if share is None else np.asarray(share, float)
    summed, everywhere = origin == ALL, goal == ALL
    one, all_ends = summed & ~everywhere, ~summed & everywhere
    pair = ~summed & ~everywhere & (origin != goal)
    key, whose = np.unique(origin[pair].astype(np.int64) * n + goal[pair], return_inverse=True)
    between = np.bincount(whose, part[pair], len(key))
    each = 0.0
    if n > 1 and len(key) == n * (n - 1) and np.allclose(between, between[0], rtol=1e-12, atol=0):
        each, key, between = float(between.min()), key[:0], between[:0]
    at, by = np.bincount(goal[one], part[one], n), np.bincount(origin[all_ends], part[all_ends], n)
    return Traffic(
        n, float(part[summed & everywhere].sum()), at.astype(float), by.astype(float), each,
        (key // n).astype(np.int32), (key % n).astype(np.int32), between.astype(float),
    )  # fmt: skip
