"""Traffic between ranks as a matrix: read from a file's numbers, or made by the experts of a model.

Entry (a, b) of a matrix is what rank a has for rank b. On the diagonal stands what a rank keeps: it is part
of D and is not sent.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from hopcast import units
from hopcast.names import InputError, unknown

from .collective import Collective
from .group import Hint
from .topology import Floats, Ints

_MOST_DRAWN = 4e9  # random numbers
_WEIGHT = np.float32


def checked(matrix: npt.ArrayLike, ranks: int, label: str) -> Floats:
    """A matrix of bytes that fits a group: ``float64[n, n]``.

    Args:
        matrix: Numbers.
        ranks: n.
        label: Where it comes from, for messages.

    Raises:
        InputError: if it is not square, not of that many ranks, all zero, or has a negative or missing
        number.

    >>> checked([[0, 3], [1, 0]], 2, "m.csv").sum()
    np.float64(4.0)
    """
    try:
        found = np.asarray(matrix, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{label}: a traffic matrix has numbers only, bytes from row to column") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        shape = " x ".join(map(str, found.shape)) or "one number"
        raise InputError(f"{label} is {shape}; a traffic matrix is square, bytes from row to column")
    if len(found) != ranks:
        raise InputError(
            f"{label} is of {len(found)} ranks and the group has {ranks}; "
            f"write {ranks} rows of {ranks} numbers"
        )
    for wrong, what in (
        (np.isnan(found), "no number"),
        (np.isinf(found), "infinite"),
        (found < 0, "negative"),
    ):
        if wrong.any():
            a, b = (int(i) for i in np.argwhere(wrong)[0])
            raise InputError(f"{label}: row {a}, column {b} is {what}; bytes from rank to rank are 0 or more")
    if not found.any():
        raise InputError(f"{label} is all zero; at least one pair of ranks has something to send")
    return found


def sparse(hint: Hint, ranks: int) -> tuple[Collective, Floats | None]:
    """all_to_all_v with one chunk for each pair that has any; without a matrix all pairs have equal parts.

    >>> task, share = sparse(Hint(matrix=np.array([[0.0, 0.75], [0.25, 0.0]])), 2)
    >>> task.origin.tolist(), task.goal.tolist(), share.tolist()
    ([0, 1], [1, 0], [0.75, 0.25])
    """
    if hint.matrix is None:
        src, dst = (c.astype(np.int32) for c in np.divmod(np.arange(ranks * ranks), ranks))
        return Collective("all_to_all_v", ranks, src, dst), None
    src, dst = (c.astype(np.int32) for c in np.nonzero(hint.matrix))
    part = hint.matrix[src, dst]
    return Collective("all_to_all_v", ranks, src, dst), np.asarray(part / part.sum(), np.float64)


def unevenness(matrix: Floats) -> float:
    """The largest entry off the diagonal over their mean: 1 where all pairs have alike.

    >>> unevenness(np.array([[9.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 4.0, 0.0]]))
    2.6666666666666665
    """
    apart = matrix[~np.eye(len(matrix), dtype=bool)]
    return float(apart.max() / apart.mean()) if len(apart) and apart.any() else 1.0


@dataclass(frozen=True)
class Moe:
    """A layer of experts, spread over the chips of a group.

    Attributes:
        tokens: Of each chip.
        hidden: Numbers of a token.
        dtype: Of them.
        experts: In all; chip c of n has those from ceil(c E / n) on, so that counts differ by one at most.
        top: Experts of a token.
        skew: s of Zipf's law: the k-th of the experts in order of popularity has weight k^-s; 0 is uniform.
        seed: Of the order of popularity and of all choices.
        phase: dispatch (tokens to experts) or combine (back).
    """

    tokens: int
    hidden: int
    dtype: str
    experts: int
    top: int
    skew: float = 0.0
    seed: int = 0
    phase: str = "dispatch"

    @property
    def token_bytes(self) -> float:
        """Bytes of one token."""
        return float(units.size(f"{self.dtype}[{self.hidden}]"))

    def homes(self, chips: int) -> Ints:
        """The chip of each expert: ``int32[experts]``.

        >>> Moe(1, 1, "bf16", 7, 2).homes(3).tolist()
        [0, 0, 0, 1, 1, 2, 2]
        """
        return (np.arange(self.experts) * chips // self.experts).astype(np.int32)

    def expected(self, chips: int) -> float | None:
        """Chips that a token of a uniform router goes to, on average; None with skew.

        A chip of e experts is not among them with probability C(E - e, k) / C(E, k).

        >>> round(Moe(1, 1, "bf16", 256, 8).expected(72), 3)
        7.716
        """
        if self.skew:
            return None
        whole = math.comb(self.experts, self.top)
        each = np.bincount(self.homes(chips), minlength=chips).tolist()
        return sum(1 - math.comb(self.experts - e, self.top) / whole for e in each)


def read_moe(text: str) -> Moe:
    """``tokens=4096,hidden=7168,dtype=bf16,experts=256,top=8,skew=zipf:1.0,seed=1``.

    Raises:
        InputError: for a key that is missing, unknown or given twice, and a value that cannot be.

    >>> read_moe("tokens=4096,hidden=7168,experts=256,top=8,skew=zipf:0.5").skew
    0.5
    """
    keys = [f.name for f in fields(Moe)]
    given: dict[str, str] = {"dtype": "bf16"}
    seen = set()
    for item in text.split(","):
        key, equals, value = (p.strip() for p in item.partition("="))
        if key not in keys:
            raise unknown("key", key, keys, of="--moe")
        if not equals or not value or key in seen:
            raise InputError(f"--moe {text!r}: write each key once, as in {key}=...")
        seen.add(key)
        given[key] = value
    missing = [k for k in ("tokens", "hidden", "experts", "top") if k not in given]
    if missing:
        raise InputError(
            f"--moe {text!r} lacks {', '.join(missing)}; as in tokens=4096,hidden=7168,experts=256,top=8"
        )
    whole = {k: _count(text, given, k) for k in ("tokens", "hidden", "experts", "top")}
    if whole["top"] > whole["experts"]:
        raise InputError(
            f"--moe {text!r}: top={whole['top']}: a token goes to at most all {whole['experts']} experts"
        )
    if given.get("phase", "dispatch") not in ("dispatch", "combine"):
        raise unknown("phase", given["phase"], ("dispatch", "combine"), of="--moe")
    seed = given.get("seed", "0")
    if not seed.isdecimal():
        raise InputError(f"--moe {text!r}: seed={seed}: it is a whole number")
    found = Moe(
        **whole, dtype=given["dtype"], skew=_skew(text, given.get("skew", "")), seed=int(seed),
        phase=given.get("phase", "dispatch"),
    )  # fmt: skip
    try:
        found.token_bytes  # noqa: B018  (a type that is none is refused here, with the user's own text)
    except ValueError as error:
        raise InputError(f"--moe {text!r}: dtype={found.dtype}: {error}") from None
    return found


def _count(text: str, given: dict[str, str], key: str) -> int:
    value = given[key]
    if not value.isdecimal() or int(value) < 1:
        raise InputError(f"--moe {text!r}: {key}={value}: it is a whole number from 1")
    return int(value)


def _skew(text: str, said: str) -> float:
    """The s of ``zipf:s``; 0 for uniform."""
    name, _, value = said.partition(":")
    try:
        s = 0.0 if said in ("", "uniform", "none") else float(value) if name == "zipf" else math.nan
    except ValueError:
        s = math.nan
    if not 0 <= s < math.inf:
        raise InputError(
            f"--moe {text!r}: skew={said}: it is uniform, or zipf:S with S from 0, as in skew=zipf:1.0"
        )
    return s


def route(moe: Moe, chips: int) -> tuple[Floats, float]:
    """Choose the experts of every token.

    A token's experts are drawn without replacement, each in proportion to its weight, and one copy goes to
    each chip that has some of them; combine sends one sum back for each copy.

    Returns:
        Bytes from chip to chip, ``float64[n, n]``, and the mean number of chips that a token goes to (its own
        chip counts).

    Raises:
        InputError: where that would be too many random numbers.

    Cost: O(chips tokens experts), in memory that of one chip.

    Source: Efraimidis and Spirakis 2006, doi:10.1016/j.ipl.2005.11.003 (the k least of exponential numbers
    over weights are a draw without replacement); the traffic of DeepSeek's DeepEP, one copy per destination.
    """
    drawn = float(chips) * moe.tokens * moe.experts
    if drawn > _MOST_DRAWN:
        most = int(_MOST_DRAWN // (chips * moe.experts))
        raise InputError(
            f"--moe tokens={moe.tokens} on {chips} chips draws {drawn:.3g} numbers; "
            f"write tokens={most} or fewer: the matrix then has the same shape"
        )
    rng = np.random.default_rng(moe.seed)
    popularity = rng.permutation(moe.experts)
    weight = ((popularity + 1.0) ** -moe.skew).astype(_WEIGHT)
    homes = moe.homes(chips)
    copies = np.zeros((chips, chips))
    for chip in range(chips):
        keys = rng.standard_exponential((moe.tokens, moe.experts), dtype=_WEIGHT)
        keys /= weight
        chosen = np.argpartition(keys, moe.top - 1, axis=1)[:, : moe.top]
        reached = np.zeros((moe.tokens, chips), bool)
        reached[np.arange(moe.tokens)[:, None], homes[chosen]] = True
        copies[chip] = reached.sum(0)
    touched = float(copies.sum() / (chips * moe.tokens))
    sent = copies * moe.token_bytes
    return (sent.T.copy() if moe.phase == "combine" else sent), touched
