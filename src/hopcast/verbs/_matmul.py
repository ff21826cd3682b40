"""A matmul of sharded arrays as a plan: what moves before it, what it computes, what moves after it.

On one device the product of two blocks is a block of the result, or a summand of it, exactly if both operands
are cut alike along the contraction and no axis cuts both along other dims. The plan brings the operands to
such shardings, multiplies, and brings the result to where it shall be. All shardings that only gather, or
slice along an axis that the other operand is cut over, are tried.

Source: jax-ml scaling-book, chapter Sharding, "Computation with sharded arrays" (the four cases).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hopcast.ir.resharding import Cut
from hopcast.ir.sharding import Axes, Sharding, device_bytes, uneven
from hopcast.names import InputError

from ._moves import Prices, Step


@dataclass(frozen=True)
class Rates:
    """What one device computes and reads; None where it is not known.

    Attributes:
        flops: FLOP/s.
        hbm: Bytes/s.
    """

    flops: float | None
    hbm: float | None


@dataclass(frozen=True)
class Plan:
    """One way to multiply.

    Attributes:
        left, right: Steps before, of each operand.
        operands: Shardings that are multiplied.
        after: Steps from the result as it comes out.
        product: The result as it comes out.
        flops: Of one device.
        traffic: Bytes that one device reads and writes.
        compute, memory: Seconds that they take; None where the rate is not known.
    """

    left: tuple[Step, ...]
    right: tuple[Step, ...]
    operands: tuple[Sharding, Sharding]
    after: tuple[Step, ...]
    product: Sharding
    flops: float
    traffic: float
    compute: float | None
    memory: float | None

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps that are no computing."""
        return (*self.left, *self.right, *self.after)

    @property
    def communication(self) -> float:
        """Seconds."""
        return sum(s.time for s in self.steps)

    @property
    def computing(self) -> float:
        """Seconds, or 0 where no rate is known."""
        return max(self.compute or 0.0, self.memory or 0.0)

    @property
    def inner(self) -> str | None:
        """What the computing itself goes to."""
        if self.compute is None and self.memory is None:
            return None
        return "compute" if (self.compute or 0.0) >= (self.memory or 0.0) else "HBM"

    @property
    def binds(self) -> str:
        """What takes longest where communication and computing overlap."""
        if self.inner is None or self.communication > self.computing:
            return "communication"
        return self.inner

    @property
    def key(self) -> tuple[float, float, int]:
        """What makes one plan better than another: time, then work, then steps."""
        return (self.communication + self.computing, self.flops, len(self.steps))


def contraction(a: Sharding, b: Sharding, out: Sharding) -> tuple[str, ...]:
    """Dims of both operands that the result has not."""
    return tuple(n for n in a.names if n in b.names and n not in out.names)


def cut_of(s: Sharding, dim: str) -> Cut:
    """The axes that cut a dim."""
    return s.axes[s.names.index(dim)]


def best(prices: Prices, a: Sharding, b: Sharding, out: Sharding, rates: Rates) -> Plan:
    """The plan of least time, communication and computing one after the other.

    Args:
        prices: Of the mesh.
        a: Left operand.
        b: Right operand.
        out: The result; its dims are those that a and b do not share.
        rates: Of one device.

    Raises:
        InputError: where no plan leads there.
    """
    return min(plans(prices, a, b, out, rates), key=lambda p: p.key)


def plans(prices: Prices, a: Sharding, b: Sharding, out: Sharding, rates: Rates) -> list[Plan]:
    """All plans, as of `best`."""
    found, refused = [], None
    for x, y in _workable(a, b, out, prices.axes):
        try:
            found.append(_plan(prices, (a, b), (x, y), out, rates))
        except InputError as error:
            refused = error
    if not found:
        raise refused or InputError(f"no collectives bring {a} and {b} to where they can be multiplied")
    return found


def product(x: Sharding, y: Sharding, out: Sharding) -> Sharding:
    """The result of multiplying blocks: cut as the operands are, partial over what cuts the contraction."""
    where = {n: c for s in (x, y) for n, c in zip(s.names, s.axes, strict=True)}
    sums = [a for n in contraction(x, y, out) for a in cut_of(x, n)]
    return replace(out, axes=tuple(where[n] for n in out.names), partial=tuple(sums))


def _workable(a: Sharding, b: Sharding, out: Sharding, axes: Axes) -> Iterator[tuple[Sharding, Sharding]]:
    """Pairs of shardings whose blocks can be multiplied."""
    shared = contraction(a, b, out)
    choices = [
        [(n, c) for c in _contracted(cut_of(a, n), cut_of(b, n))]
        if n in shared
        else [(n, c) for c in _coarser(cut)]
        for s in (a, b)
        for n, cut in zip(s.names, s.axes, strict=True)
        if s is a or n not in shared
    ]
    for chosen in itertools.product(*choices):
        cuts = dict(chosen)
        used = [axis for cut in cuts.values() for axis in cut]
        if len(set(used)) < len(used):
            continue
        x, y = (replace(s, axes=tuple(cuts[n] for n in s.names)) for s in (a, b))
        if not uneven(x, axes) and not uneven(y, axes):
            yield x, y


def _coarser(cut: Cut) -> list[Cut]:
    return [cut[:k] for k in range(len(cut), -1, -1)]


def _contracted(a: Cut, b: Cut) -> list[Cut]:
    """How a contracted dim may be cut: as one operand is, or coarser."""
    return list(dict.fromkeys([*_coarser(a), *_coarser(b)]))


def _plan(
    prices: Prices,
    given: tuple[Sharding, Sharding],
    used: tuple[Sharding, Sharding],
    out: Sharding,
    rates: Rates,
) -> Plan:
    axes = prices.axes
    made = product(*used, out)
    made = replace(made, partial=tuple(a for a in axes if a in made.partial))
    if uneven(made, axes):
        raise InputError(f"{made}: {uneven(made, axes)}")
    left, right = (prices.path(s, w) for s, w in zip(given, used, strict=True))
    after = prices.path(made, out)
    flops = work(*used, out) / math.prod(axes[a] for a in (*made.sharded, *made.partial))
    traffic = sum(device_bytes(s, axes) for s in (*used, made))
    compute = flops / rates.flops if rates.flops else None
    memory = traffic / rates.hbm if rates.hbm else None
    return Plan(left, right, used, after, made, flops, traffic, compute, memory)


def work(a: Sharding, b: Sharding, out: Sharding) -> float:
    """FLOPs of the whole matmul: a multiplication and an addition for each triple."""
    summed = [a.shape[a.names.index(n)] for n in contraction(a, b, out)]
    return 2.0 * math.prod(out.shape) * math.prod(summed)


def outputs(a: Sharding, b: Sharding, out: Sharding) -> list[Sharding]:
    """Shardings of the result where none is asked for: as the operands are cut, an axis of both on either."""
    found = []
    for first, second in ((a, b), (b, a)):
        cuts: dict[str, Cut] = {n: c for n, c in zip(first.names, first.axes, strict=True) if n in out.names}
        taken = [axis for cut in cuts.values() for axis in cut]
        for n, cut in zip(second.names, second.axes, strict=True):
            if n in out.names:
                free = next((k for k, axis in enumerate(cut) if axis in taken), len(cut))
                cuts[n] = cut[:free]
        found.append(replace(out, axes=tuple(cuts[n] for n in out.names), partial=()))
    return list(dict.fromkeys(found))


def case(a: Sharding, b: Sharding, out: Sharding) -> str:
    """Which of the Scaling Book's four cases this is, in words."""
    shared = contraction(a, b, out)
    left, right = ([axis for n in shared for axis in cut_of(s, n)] for s in (a, b))
    free = [[x for n, c in zip(s.names, s.axes, strict=True) if n not in shared for x in c] for s in (a, b)]
    both = sorted({*free[0]} & {*free[1]} | {*free[0]} & {*right} | {*left} & {*free[1]})
    said = []
    if set(free[0]) & set(free[1]):
        twice = ",".join(x for x in free[0] if x in free[1])
        said.append(
            f"case 4: {twice} cuts both operands along dims that stay, so one of them must be gathered"
        )
    if left and left == right:
        sums = ",".join(left)
        said.append(
            f"case 3: both are cut over {sums} along the contraction, so blocks give partial sums over {sums}"
        )
    elif left or right:
        which = (
            "left operand is" if not right else "right operand is" if not left else "operands are unequally"
        )
        said.append(
            f"case 2: the {which} cut over {_words(left, right)} along the contraction, so it is gathered, "
            "or the other is sliced and sums are reduced"
        )
    if not said:
        said.append("case 1: the contraction is not cut and no axis is used twice, so nothing is sent")
    clash = [x for x in both if x not in free[0] or x not in free[1]]
    if clash:
        said.append(
            f"{','.join(clash)} cuts the contraction of one operand and a dim that stays of the other"
        )
    return "; ".join(said)


def _words(left: Sequence[str], right: Sequence[str]) -> str:
    return " and ".join(",".join(s) for s in (left, right) if s)
