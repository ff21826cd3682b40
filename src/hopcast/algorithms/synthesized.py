"""all_gather searched for on the links that are there: open axes, mixed wraps, dead links, any small graph.

Every rank's shard is cut into pieces. Step by step every link sends one piece: of those that its source has,
its destination lacks and nobody else is just sending there, the one that fewest ranks hold. Links and equally
rare pieces are taken in random order, and the search starts again with another seed until it takes no more
steps than the bound of the busiest port allows, or has tried often enough. No two sends ever share a link, so
no barrier is needed: without one it is never later than with one.

More pieces waste less of the last step and cost more steps; the number is chosen for the size asked.

Cost: steps (alpha + D / (N pieces W)), and on all meshes and tori tried, whole or with dead links, the steps
are ceil(pieces (N - 1) / links into the poorest rank), which no schedule can better.
"""

import functools
import math
import random

import numpy as np

from hopcast.ir.collective import of
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns, one_group
from hopcast.ir.topology import Ints

from . import _links, option

SOURCE = (
    "hopcast 2026 (rarest piece first, one a link and step); the idea of synthesis: Won et al. 2024, TACOS, "
    "arXiv:2304.05301; rarest first: Cohen 2003, Incentives build robustness in BitTorrent"
)
OPTIONS: dict[str, tuple[str, ...]] = {"pieces": ()}  # none given: the fastest number
MOST_RANKS, MOST_UNASKED = 1_024, 256
_MOST_SENDS = 66_000  # of a schedule of several pieces
_MOST_PIECES, _MOST_SEARCHES = 16, 4
_TRIES, _EFFORT = 40, 140_000  # restarts, and sends of all of them together


def all_gather(group: Group, hint: Hint) -> Schedule:
    """The best schedule found."""
    links, n = _links.of(group), group.ranks
    rate = max(group.bandwidth)
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
    if group.ranks > MOST_UNASKED and "pieces" not in hint.options:
        return (
            f"its search takes seconds beyond {MOST_UNASKED} ranks; synthesized,pieces=1 asks for it, "
            f"up to {MOST_RANKS:,}"
        )
    links = _links.of(group)
    if not len(links):
        return "it needs links from rank to rank, and these meet in switches; use ring"
    if not _links.joined(links, group.ranks):
        return "the links between its ranks that are alive do not join all of them"
    return None


@functools.lru_cache(maxsize=64)
def _fastest(
    n: int, key: bytes, alpha: float, whole: float, asked: int, seed: int
) -> tuple[Ints, Ints, Ints, int]:
    """The search of the number of pieces that takes least, and the number; ``whole`` is D / (N W).

    Those whose fewest possible steps promise most are searched first, until none promises more.
    """
    links = np.frombuffer(key, np.int32).reshape(-1, 2)
    most = max(1, min(_MOST_PIECES, _MOST_SENDS // (n * n)))
    tried = [asked] if asked else range(1, most + 1)
    promised = sorted((_fewest(n, links, s) * (alpha + whole / s), s) for s in tried)
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


def _fewest(n: int, links: Ints, pieces: int) -> int:
    """Steps that the rank with fewest links into it needs."""
    into = int(np.bincount(links[:, 1], minlength=n).min())
    return math.ceil(pieces * (n - 1) / into)


@functools.lru_cache(maxsize=32)
def _search(n: int, key: bytes, pieces: int, seed: int) -> tuple[Ints, Ints, Ints]:
    """Step, link number and chunk of all sends of the shortest schedule found.

    Cost: some 3 us for each send and try.
    """
    links = np.frombuffer(key, np.int32).reshape(-1, 2)
    fewest = _fewest(n, links, pieces)
    tries = max(1, min(_TRIES, _EFFORT // (n * n * pieces)))
    best: list[tuple[int, int, int]] = []
    for k in range(tries):
        longest = best[-1][0] if best else 0
        found = _greedy(n, links, pieces, random.Random(1_000 * seed + k), longest, k % 2 == 0)
        if found is not None:
            best = found
        if best[-1][0] + 1 <= fewest:
            break
    step, link, chunk = np.array(best, np.int32).T
    return step, link, chunk


def _greedy(
    n: int, links: Ints, pieces: int, rng: random.Random, longest: int, poorest_first: bool
) -> list[tuple[int, int, int]] | None:
    """One try: rows of step, link, chunk; None as soon as it takes ``longest`` steps (0: however many).

    Sets of chunks are bits of whole numbers: those that a rank lacks, and those that equally many ranks hold.
    """
    chunks = n * pieces
    numbers = list(range(chunks))
    rng.shuffle(numbers)  # equally rare chunks in another order
    chunk_of = [0] * chunks
    for chunk, bit in enumerate(numbers):
        chunk_of[bit] = chunk
    have = [sum(1 << numbers[r * pieces + k] for k in range(pieces)) for r in range(n)]
    full = (1 << chunks) - 1
    lack = [full & ~h for h in have]
    holders = [1] * chunks
    held = {1: full}  # by how many ranks -> the chunks
    ends = links.tolist()
    order = list(range(len(ends)))
    rows: list[tuple[int, int, int]] = []
    left, step = n * (chunks - pieces), 0
    while left:
        if longest and step >= longest:
            return None
        rng.shuffle(order)
        before = have.copy()
        if poorest_first:
            order.sort(key=lambda at: (before[ends[at][0]] & lack[ends[at][1]]).bit_count())
        levels = sorted(held)
        for at in order:
            src, dst = ends[at]
            useful = before[src] & lack[dst]
            if not useful:
                continue
            for level in levels:
                rare = useful & held[level]
                if rare:
                    break
            turn = rng.randrange(chunks)
            bit = _lowest(rare >> turn << turn or rare)
            one = 1 << bit
            lack[dst] ^= one
            have[dst] |= one
            many = holders[bit]
            holders[bit] = many + 1
            held[many] ^= one
            if many + 1 not in held:
                held[many + 1] = 0
                levels.append(many + 1)
                levels.sort()
            held[many + 1] |= one
            rows.append((step, at, chunk_of[bit]))
            left -= 1
        held = {k: v for k, v in held.items() if v}
        step += 1
    return rows


def _lowest(bits: int) -> int:
    """The number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1
