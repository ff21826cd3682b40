"""all_gather searched for on the links that are there: open axes, mixed wraps, dead links, any small graph.

Every rank's shard is cut into pieces. Step by step every link sends one piece: of those that its source has,
its destination lacks and nobody else is just sending there, one that nobody in a region behind the link has,
the narrowest region first, and of these the one that fewest ranks hold. A region is narrow if few links lead
into it for what all ranks outside have: so what has far to go goes on without a pause. Links with least to
choose from come first, equal ones and equally rare pieces in random order. Where some rank or region then
lacks more than its links can bring in as many steps as it must be done in, the last steps are taken back and
taken otherwise; and the search starts again with another seed until it meets the bound of the narrowest
region, or has tried often enough. No two sends ever share a link, so no barrier is needed: without one it is
never later than with one.

More pieces waste less of the last step and cost more steps; the number is chosen for the size asked.

Cost: steps (alpha + D / (N pieces W)). The steps are never fewer than deep + ceil(pieces outside / gates) of
any region: ranks, so many outside, so many links that lead in, and so many links on from these to the rank
inside that is farthest from them. On all meshes and tori tried, thin ones too, whole or with dead links, to
1,024 ranks, they are as many. That is pieces W / x rounded up, x being the best rate of each rank to all, but
where dead links leave so few that what comes last through them still has far to go: in mesh:2x5 without 0,1
to 0,2 six pieces of one side come through one link, and the far corner is two links on, so it takes 8 steps.
"""

import functools
import random
from dataclasses import replace

import numpy as np

from hopcast.ir import algebra
from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns, one_group
from hopcast.ir.topology import Ints

from . import _links, option
from ._regions import Region, Regions, regions_of

SOURCE = (
    "hopcast 2026 (narrowest region, then rarest piece, one a link and step); the idea of synthesis: Won et "
    "al. 2024, TACOS, arXiv:2304.05301; rarest first: Cohen 2003, Incentives build robustness in BitTorrent"
)
OPTIONS: dict[str, tuple[str, ...]] = {"pieces": ()}  # none given: the fastest number
Row = tuple[int, int, int]  # step, link, chunk
_State = tuple[list[int], list[int], list[int], dict[int, int], list[int], int]
MOST_RANKS, MOST_UNASKED = 1_024, 256
_MOST_SENDS = 66_000  # of a schedule of several pieces
_MOST_PIECES, _MOST_SEARCHES = 16, 4
_TRIES, _FEWEST_TRIES, _EFFORT = 40, 2, 140_000  # restarts, and sends of all of them together
_STEERED = 16  # regions that a link leads into, on average
_RETURNS, _FARTHEST = 60, 20  # times that steps are taken back, one at first and at last so many of them


def all_gather(group: Group, hint: Hint) -> Schedule:
    """The best schedule found."""
    return _searched(group, _links.of(group), hint)


def reduce_scatter(group: Group, hint: Hint) -> Schedule:
    """The mirror image of an all_gather over the links turned round."""
    return algebra.reverse(_searched(group, _back(_links.of(group)), hint))


def all_reduce(group: Group, hint: Hint) -> Schedule:
    """Sums, then copies of them; of the same pieces, though one way may lack links that the other has."""
    gather = all_gather(group, hint)
    pieces = {"pieces": str(gather.chunks // group.ranks)}
    scatter = reduce_scatter(group, replace(hint, options={**hint.options, **pieces}))
    return algebra.then(scatter, gather, "all_reduce")


def _back(links: Ints) -> Ints:
    """The links turned round; as they are where each has its like: what was searched for serves again."""
    back = np.ascontiguousarray(links[:, ::-1])
    return links if set(map(tuple, links.tolist())) == set(map(tuple, back.tolist())) else back


def _searched(group: Group, links: Ints, hint: Hint) -> Schedule:
    n = group.ranks
    rate = float(_links.rates(group).max())
    whole = hint.size / (n * rate) if rate else 0.0
    asked = int(option(OPTIONS, hint, "pieces") or 0)
    key = np.ascontiguousarray(links, np.int32).tobytes()
    step, link, chunk, pieces = _fastest(n, key, max(group.latency), whole, asked, hint.seed)
    columns = {"step": step, "src": links[link, 0], "dst": links[link, 1], "chunk": chunk}
    columns["lane"] = _links.colours(links)[link]
    return from_columns(of("all_gather", n, parts=pieces), "synthesized", one_group(n), columns)


def valid(collective: str, group: Group, hint: Hint) -> str | None:
    """It needs links between the ranks themselves, and not too many ranks."""
    if group.ranks > MOST_RANKS:
        return f"its search keeps {group.ranks:,}^2 pieces and stops at {MOST_RANKS:,} ranks; use multi_axis"
    links = _links.of(group)
    if not len(links):
        return "it needs links from rank to rank, and these meet in switches; use ring"
    if not _links.joined(links, group.ranks):
        return "the links between its ranks that are alive do not join all of them"
    return None


def unasked(collective: str, group: Group, hint: Hint) -> str | None:
    """Its search takes seconds where ranks are many."""
    many = group.ranks > MOST_UNASKED
    return f"its search takes seconds beyond {MOST_UNASKED} ranks" if many else None


@functools.lru_cache(maxsize=64)
def _fastest(
    n: int, key: bytes, alpha: float, whole: float, asked: int, seed: int
) -> tuple[Ints, Ints, Ints, int]:
    """The search of the number of pieces that takes least, and the number; ``whole`` is D / (N W).

    Those whose fewest possible steps promise most are searched first, until none promises more.
    """
    regions = _known(n, key)
    most = max(1, min(_MOST_PIECES, _MOST_SENDS // (n * n)))
    tried = [asked] if asked else range(1, most + 1)
    promised = sorted((regions.fewest(s) * (alpha + whole / s), s) for s in tried)
    best: tuple[float, int] | None = None
    for least, pieces in promised[:_MOST_SEARCHES]:
        if best is not None and least >= best[0] * (1 - 1e-12):
            break
        steps = int(_search(n, key, pieces, seed)[0][-1]) + 1
        time = steps * (alpha + whole / pieces)
        if best is None or time < best[0] * (1 - 1e-12):
            best = time, pieces
    assert best is not None
    return *_search(n, key, best[1], seed), best[1]


@functools.lru_cache(maxsize=8)
def _known(n: int, key: bytes) -> Regions:
    """The regions of the network whose links make up the key."""
    return regions_of(n, np.frombuffer(key, np.int32).reshape(-1, 2))


@functools.lru_cache(maxsize=32)
def _search(n: int, key: bytes, pieces: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Step, link number and chunk of all sends of the shortest schedule found.

    Cost: some 3 to 5 us for each send and try, and again for what is taken back; one try is enough almost
    always.
    """
    regions = _known(n, key)
    fewest = regions.fewest(pieces)
    steered = regions.narrowest(pieces, _STEERED * len(regions.links))
    tries = max(_FEWEST_TRIES, min(_TRIES, _EFFORT // (n * n * pieces)))
    best: list[Row] = []
    for k in range(tries):
        one = _Greedy(regions.links, steered, n, pieces, random.Random(1_000 * seed + k))
        found = one.found(fewest, best[-1][0] if best else 0)
        if found is not None:
            best = found
        if best[-1][0] + 1 <= fewest:
            break
    step, link, chunk = np.array(best, np.int32).T
    return step, link, chunk


class _Greedy:
    """One try.

    Sets of chunks are bits of whole numbers: those that a rank lacks, those that equally many ranks hold, and
    those that nobody in a region has.
    """

    def __init__(self, links: Ints, regions: list[Region], n: int, pieces: int, rng: random.Random) -> None:
        chunks = n * pieces
        self.chunks, self.rng = chunks, rng
        numbers = list(range(chunks))
        rng.shuffle(numbers)  # equally rare chunks in another order
        self.chunk_of = [0] * chunks
        for chunk, bit in enumerate(numbers):
            self.chunk_of[bit] = chunk
        self.ends = links.tolist()
        self.into = np.bincount(links[:, 1], minlength=n).tolist()
        self.order = list(range(len(self.ends)))
        full = (1 << chunks) - 1
        self.have = [sum(1 << numbers[r * pieces + k] for k in range(pieces)) for r in range(n)]
        self.lack = [full & ~h for h in self.have]
        self.holders = [1] * chunks
        self.held = {1: full}  # by how many ranks -> the chunks
        self.gates = [(region.deep, len(region.gates)) for region in regions]
        self.through: list[list[int]] = [[] for _ in self.ends]  # of each link the regions that it leads into
        self.new: list[int] = []  # to each region
        for i, region in enumerate(regions):
            for at in region.gates.tolist():
                self.through[at].append(i)
            self.new.append(sum(self.have[r] for r in np.flatnonzero(~region.inside).tolist()))
        self.rows: list[Row] = []
        self.wanted = n * (chunks - pieces)

    def found(self, fewest: int, longest: int) -> list[Row] | None:
        """All sends; None as soon as they cannot take fewer than ``longest`` steps (0: however many).

        While ``fewest`` steps are within reach, steps after which they are not are taken back and taken in
        another way.
        """
        before: list[_State] = []
        step = returns = 0
        while len(self.rows) < self.wanted:
            if longest and step >= longest:
                return None
            before.append(self.state())
            self.step(step)
            step += 1
            if returns < _RETURNS and self.late(fewest - step):
                back = min(1 + returns * _FARTHEST // _RETURNS, len(before))
                self.have, self.lack, self.holders, self.held, self.new, sends = before[-back]
                del self.rows[sends:], before[-back:]
                step, returns = step - back, returns + 1
            del before[:-_FARTHEST]
        return self.rows

    def late(self, left: int) -> bool:
        """Whether some rank or region lacks more than can come in so many steps."""
        most = max(left, 0)
        if any(k.bit_count() > most * i for k, i in zip(self.lack, self.into, strict=True)):
            return True
        new = zip(self.new, self.gates, strict=True)
        return any(k.bit_count() > max(left - deep, 0) * gates for k, (deep, gates) in new)

    def state(self) -> _State:
        """What a step changes."""
        held = self.held.copy()
        return self.have.copy(), self.lack.copy(), self.holders.copy(), held, self.new.copy(), len(self.rows)

    def step(self, step: int) -> None:
        """Every link sends the rarest chunk of those that serve most."""
        have, lack, holders, held, new = self.have, self.lack, self.holders, self.held, self.new
        ends, order, draw, before = self.ends, self.order, self.rng.random, self.have.copy()
        self.rng.shuffle(order)
        order.sort(key=lambda at: (before[ends[at][0]] & lack[ends[at][1]]).bit_count())
        levels = sorted(held)
        for at in order:
            src, dst = ends[at]
            useful = before[src] & lack[dst]
            if not useful:
                continue
            for region in self.through[at]:
                useful = useful & new[region] or useful
            rare = useful
            if useful & (useful - 1):  # more than one
                for level in levels:
                    rare = useful & held[level]
                    if rare:
                        break
            turn = int(draw() * self.chunks)
            rare = rare >> turn << turn or rare
            one = rare & -rare
            bit = one.bit_length() - 1
            lack[dst] ^= one
            have[dst] ^= one
            for region in self.through[at]:
                new[region] &= ~one
            many = holders[bit]
            holders[bit] = many + 1
            held[many] ^= one
            if many + 1 in held:
                held[many + 1] ^= one
            else:
                held[many + 1] = one
                levels = sorted(held)
            self.rows.append((step, at, self.chunk_of[bit]))
        self.held = {k: v for k, v in held.items() if v}
