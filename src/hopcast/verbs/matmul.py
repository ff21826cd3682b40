"""matmul: which collectives a matmul of sharded arrays needs, how long it takes itself, and which binds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hopcast.dtypes import itemsize
from hopcast.ir import sharding
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.sharding import Axes, Sharding
from hopcast.names import InputError
from hopcast.result import Result, Row
from hopcast.units import show_seconds

from . import ask
from ._matmul import Plan, Rates, best, case, contraction, cut_of, outputs, plans
from ._moves import Prices, Step
from .predict import IDEAL
from .reshard import axes_of, memory
from .roofline import flops_of

_OVERLAPPED = (
    "overlapped is an ideal that no run reaches: arrays are cut into many parts, and while one is computed "
    "another is sent; whole arrays take serial"
)
SHOWN = ("stage", "what", "over", "size_bytes", "time_us", "bound_us", "before", "after")


@dataclass(frozen=True)
class Operands:
    """Both operands and the result with a name for every dim.

    Attributes:
        a, b: Operands.
        out: The result, not cut unless it was asked for.
        asked: Whether it was.
        labels: How the names are written for people.
    """

    a: Sharding
    b: Sharding
    out: Sharding
    asked: bool
    labels: Mapping[str, str]

    def show(self, s: Sharding) -> str:
        """A sharding as the user wrote it."""
        return str(replace(s, names=tuple(self.labels[n] for n in s.names)))


def matmul(
    product: str,
    cluster: str | Cluster,
    *,
    dims: str | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    algorithm: str = "auto",
    backward: bool = True,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
) -> Result:
    """A matmul of sharded arrays: what must be sent, and whether that or the computing takes longer.

    The last dim of the left operand is contracted with the first of the right one. Where no sharding of the
    result is asked for it stays cut as the operands are, and sums are reduced.

    Args:
        product: ``bf16[b,d_x] @ bf16[d_x,f]``, with ``-> bf16[b,f_x]`` if the result shall lie so.
        cluster: A name or an object.
        dims: Lengths of the dims that have names, ``b=1024,d=4096,f=16384``.
        mesh: Logical axes; default the cluster's own.
        order: How the mesh lies on the chips.
        algorithm: Of the collectives.
        backward: Whether to plan the two matmuls of the gradients as well.
        slow: Slow cables.
        dead: Dead cables.

    Returns:
        A row for each step: stage (forward, backward_left, backward_right), what (a collective, slice,
        matmul, and of a stage that sends something the two totals, serial and overlapped), over, size_bytes
        (D of one group; of a matmul what one device reads and writes), flops (of one device), time_us,
        bound_us, before, after, and binds.

    Raises:
        InputError: for anything that cannot be read, or dims that do not match.

    Source: jax-ml scaling-book, chapters Rooflines (the larger of both counts if they overlap) and Sharding;
    Wang et al. 2023, doi:10.1145/3567955.3567959 (overlap by parts).

    >>> r = matmul("bf16[1024,8192_x] @ bf16[8192_x,8192]", "v5e:16x16,latency=0", backward=False)
    >>> [(row["what"], row["over"], round(row["time_us"], 1)) for row in r.rows]
    [('matmul', '', 43.6), ('all_reduce', 'x', 349.5), ('serial', '', 393.1), ('overlapped', '', 349.5)]
    """
    where = ask.place(cluster, None, mesh, order, slow, dead)
    axes = axes_of(where)
    given = _operands(product, axes, sharding.lengths_of(dims))
    prices = Prices(where, axes, algorithm)
    rates = _rates(where.cluster, given)
    outs = [given.out] if given.asked else outputs(given.a, given.b, given.out)
    plan, out = min(((best(prices, given.a, given.b, o, rates), o) for o in outs), key=lambda p: p[0].key)
    stages = {"forward": plan}
    if backward:
        # The cotangent of a sum is the same for every summand.
        cotangent = replace(out, partial=())
        stages["backward_left"] = best(prices, cotangent, given.b, given.a, rates)
        stages["backward_right"] = best(prices, given.a, cotangent, given.b, rates)
    rows = [row for stage, p in stages.items() for row in _rows(stage, p, given)]
    notes = [case(given.a, given.b, given.out), *_instead(prices, given, out, plan, rates)]
    notes += [_summary(stage, p) for stage, p in stages.items()]
    if any(p.communication and p.computing for p in stages.values()):
        notes.append(_OVERLAPPED)
    if rates.flops is None:
        notes.append(_unknown(where.cluster, given))
    notes += memory(where.cluster, [s for p in stages.values() for s in p.steps], axes)
    title = (
        f"{given.show(given.a)} @ {given.show(given.b)} -> {given.show(out)} on {where.cluster.name}: {IDEAL}"
    )
    inputs = {
        "cluster": where.cluster.name,
        "product": product,
        "result": given.show(out),
        "mesh": dict(axes),
    }
    return Result(rows, SHOWN, title, notes, where.warnings, inputs, stages)


def _operands(product: str, axes: Axes, lengths: Mapping[str, int]) -> Operands:
    """Both operands and the result from text."""
    head, arrow, tail = (p.strip() for p in product.partition("->"))
    texts = [t.strip() for t in head.split("@")]
    if len(texts) != 2 or not all(texts) or (arrow and not tail):
        raise InputError(
            f"{product!r} is no matmul; write 'bf16[b,d_x] @ bf16[d_x,f]', and '-> bf16[b,f]' if need be"
        )
    a, b = (sharding.parse(t, axes, lengths) for t in texts)
    for s in (a, b):
        if s.partial:
            raise InputError(
                f"{s} is a partial sum: reduce it first, as in hopcast reshard '{s} -> {_reduced(s)}'"
            )
    if a.shape[-1] != b.shape[0] or len({n for n in (a.names[-1], b.names[0]) if not n.isdecimal()}) > 1:
        raise InputError(
            f"{product!r}: the last dim of the left operand ({a.names[-1]}) and the first of the right one "
            f"({b.names[0]}) are multiplied, so they must be the same"
        )
    labels: dict[str, str] = {}
    left, right = (_named(s, side, labels) for s, side in ((a, "left"), (b, "right")))
    key = left.names[-1] if not left.names[-1].startswith("#") else right.names[0]
    left, right = replace(left, names=(*left.names[:-1], key)), replace(right, names=(key, *right.names[1:]))
    names = (*left.names[:-1], *right.names[1:])
    if len({*names, key}) <= len(names):
        raise InputError(f"{product!r}: a dim stands twice beside the contracted one; give it another name")
    shape = (*left.shape[:-1], *right.shape[1:])
    if not names:
        raise InputError(f"{product!r} has a number as its result; leave it a dim, as in bf16[1,d]")
    dtype = max((a.dtype, b.dtype), key=itemsize)
    out = Sharding(dtype, names, shape, ((),) * len(names))
    if not arrow:
        return Operands(left, right, out, False, labels)
    asked = sharding.parse(dtype * tail.startswith("[") + tail, axes, lengths)
    said = [(g, labels[n]) for g, n in zip(asked.names, names, strict=False) if not g.isdecimal()]
    if asked.shape != shape or any(g != n and not n.isdecimal() for g, n in said):
        dims = ",".join(labels[n] for n in names)
        raise InputError(
            f"{product!r}: the result has the dims [{dims}]; the one behind -> must have the same"
        )
    return Operands(left, right, replace(asked, names=names), True, labels)


def _reduced(s: Sharding) -> Sharding:
    return replace(s, partial=())


def _named(s: Sharding, side: str, labels: dict[str, str]) -> Sharding:
    """Every dim with a name of its own; a # stands in none that a user gives."""
    names = tuple(f"#{side}{i}" if n.isdecimal() else n for i, n in enumerate(s.names))
    labels |= dict(zip(names, s.names, strict=True))
    if len(set(names)) < len(names):
        raise InputError(f"{s} names a dim twice; give every dim its own name")
    return replace(s, names=names)


def _rates(cluster: Cluster, given: Operands) -> Rates:
    """What one rank computes and reads; a rank may be a part of a chip."""
    figures = cluster.figures
    devices = figures.get("devices")
    chips = cluster.facts.get("devices", 0) / devices.value if devices else 0
    part = chips / cluster.topology.chips if chips else 1.0
    dtype = max((given.a.dtype, given.b.dtype), key=itemsize)
    flops, hbm = flops_of(figures, dtype), figures.get("hbm.bandwidth")
    return Rates(flops.value * part if flops else None, hbm.value * part if hbm else None)


def _unknown(cluster: Cluster, given: Operands) -> str:
    dtype = max((given.a.dtype, given.b.dtype), key=itemsize)
    have = [k.removeprefix("flops.") for k in cluster.figures if k.startswith("flops.")]
    known = f"; there is {', '.join(have)}" if have else ""
    return f"no FLOP/s of {dtype} is known for {cluster.name}{known}: only communication and memory are timed"


def _rows(stage: str, plan: Plan, given: Operands) -> list[Row]:
    """Steps before, the matmul, steps after, and where any of them takes time the two totals."""
    x, y = plan.operands
    computing = plan.computing * 1e6 if plan.compute or plan.memory else None
    middle = _row(stage, "matmul", "", plan.traffic, computing, computing, binds=plan.inner)
    middle |= {
        "flops": plan.flops,
        "before": f"{given.show(x)} @ {given.show(y)}",
        "after": given.show(plan.product),
    }
    before = [_step(stage, s, given) for s in (*plan.left, *plan.right)]
    rows = [*before, middle, *(_step(stage, s, given) for s in plan.after)]
    if not plan.communication:
        return rows  # the matmul is all that takes time
    sent = sum(s.answer.bound.seconds for s in plan.steps if s.answer) * 1e6
    time, work = plan.communication * 1e6, plan.computing * 1e6
    rows.append(_row(stage, "serial", "", None, time + work, sent + work, binds=plan.binds))
    rows.append(_row(stage, "overlapped", "", None, max(time, work), max(sent, work), binds=plan.binds))
    return rows


def _row(
    stage: str,
    what: str,
    over: str,
    size: float | None,
    time: float | None,
    bound: float | None,
    binds: str | None,
) -> Row:
    whole = int(size) if size is not None and size.is_integer() else size
    return {
        "stage": stage,
        "what": what,
        "over": over,
        "size_bytes": whole,
        "flops": None,
        "time_us": time,
        "bound_us": bound,
        "before": None,
        "after": None,
        "binds": binds,
    }


def _step(stage: str, s: Step, given: Operands) -> Row:
    bound = s.answer.bound.seconds * 1e6 if s.answer else 0.0
    row = _row(stage, s.move.name, ",".join(s.move.over), s.move.size, s.time * 1e6, bound, None)
    return row | {"before": given.show(s.before), "after": given.show(s.move.after)}


def _summary(stage: str, plan: Plan) -> str:
    """Both times, in words."""
    said = f"{stage}: communication {show_seconds(plan.communication)}"
    if plan.compute is not None:
        said += f", FLOPs {show_seconds(plan.compute)}"
    if plan.memory is not None:
        said += f", HBM {show_seconds(plan.memory)}"
    if not plan.communication:
        return f"{said}; {plan.binds} binds"
    both = plan.communication + plan.computing
    over = max(plan.communication, plan.computing)
    known = "" if plan.compute is not None else "of what is known, "
    return (
        f"{said}; {known}{plan.binds} binds: {show_seconds(over)} overlapped, "
        f"{show_seconds(both)} one after the other"
    )


def _instead(prices: Prices, given: Operands, out: Sharding, chosen: Plan, rates: Rates) -> list[str]:
    """The best plan that cuts the contraction in another way."""

    def cut(plan: Plan) -> tuple[tuple[str, ...], ...]:
        return tuple(cut_of(plan.operands[0], n) for n in contraction(given.a, given.b, given.out))

    ranked = sorted(plans(prices, given.a, given.b, out, rates), key=lambda p: p.key)
    other = next((p for p in ranked if cut(p) != cut(chosen)), None)
    if other is None or not other.steps:
        return []
    words = [f"{s.move.name} over {','.join(s.move.over)} of {given.show(s.before)}" for s in other.steps]
    return [
        f"instead: {', then '.join(words)}, {show_seconds(other.communication)} of communication and "
        f"{show_seconds(other.computing)} of computing"
        if rates.flops
        else f"instead: {', then '.join(words)}, {show_seconds(other.communication)} of communication"
    ]
