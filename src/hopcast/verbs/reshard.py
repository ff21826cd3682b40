"""reshard: which collectives turn one sharding of an array into another, and how long they take."""

import math
from collections.abc import Sequence
from dataclasses import replace

from hopcast.ir import sharding
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.resharding import TRANSPOSE
from hopcast.ir.sharding import Axes, Sharding
from hopcast.names import InputError
from hopcast.result import Result, Row
from hopcast.units import show_seconds, show_size

from . import ask
from ._moves import Prices, Step, cheapest
from .predict import IDEAL

SHOWN = ("step", "collective", "over", "size_bytes", "time_us", "bound_us", "before", "after", "backward")
_MOST_IDLE = 256  # chips up to which idle axes are tried as well
_WORTH = 0.95  # and said if they leave at most this part of the time


def reshard(
    change: str,
    cluster: str | Cluster,
    *,
    dims: str | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    algorithm: str = "auto",
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
) -> Result:
    """The cheapest sequence of collectives from one sharding to another.

    Args:
        change: ``f32[i_x,j] -> f32[i,j_x]``.
        cluster: A name or an object.
        dims: Lengths of the dims that have names, ``i=1024,j=4096``.
        mesh: Logical axes, ``data=4,model=8``; default the cluster's own.
        order: How the mesh lies on the chips.
        algorithm: Of the collectives, as in predict.
        slow: Slow cables.
        dead: Dead cables.

    Returns:
        A row for each step: collective (slice sends nothing), over, size_bytes (D of one group), time_us,
        bound_us, price, algorithm, the array before and after, device_bytes after it, placements after it in
        torch's words and as JAX's PartitionSpec, and backward: the collective of the transpose.

    Raises:
        InputError: for anything that cannot be read, or a sharding that no collectives lead to.

    Cost: a search over all shardings of the array on the mesh; some 0.1 s for three axes.

    >>> r = reshard("bf16[8192_x,8192] -> bf16[8192,8192_x]", "v5e:16x16,latency=0")
    >>> [(row["collective"], row["over"], round(row["time_us"], 1)) for row in r.rows]
    [('all_to_all', 'x', 372.8)]
    """
    where = ask.place(cluster, None, mesh, order, slow, dead)
    axes = axes_of(where)
    start, goal = _ends(change, axes, sharding.lengths_of(dims))
    prices = Prices(where, axes, algorithm)
    steps = cheapest(prices, start, goal)
    total = sum(s.time for s in steps)
    sent = sum(s.answer is not None for s in steps)
    title = (
        f"{start} -> {goal} on {where.cluster.name}: {show_seconds(total)} in {sent} "
        f"collective{'s' * (sent != 1)}; {IDEAL}"
    )
    notes = [*_placed((start, goal), axes), *memory(where.cluster, steps, axes), *_backward(steps, goal)]
    notes += _idle(prices, start, goal, total)
    inputs = {"cluster": where.cluster.name, "before": str(start), "after": str(goal), "mesh": dict(axes)}
    rows = rows_of(steps, axes) or [_nothing(start, axes)]
    return Result(rows, SHOWN, title, notes, where.warnings, inputs, steps)


def axes_of(where: ask.Place) -> dict[str, int]:
    """The mesh as names and lengths."""
    return dict(zip(where.mesh.names, where.mesh.shape, strict=True))


def _ends(change: str, axes: Axes, lengths: dict[str, int]) -> tuple[Sharding, Sharding]:
    """Both shardings, of one array."""
    texts = [t.strip() for t in change.split("->")]
    if len(texts) != 2 or not all(texts):
        raise InputError(f"{change!r} is no reshard; write 'f32[i_x,j] -> f32[i,j_x]'")
    # Another dtype or dim is the mistake, whether or not the lengths are known.
    kinds = [t.partition("[")[0] for t in texts]
    texts[1] = texts[1] if kinds[1] else kinds[0] + texts[1]
    left, right = (sharding.dims(t) for t in texts)
    same = len(left) == len(right) and not any(_differ(*names) for names in zip(left, right, strict=True))
    if left and right and not same:
        raise _other_dims(change, left)
    if left and right and kinds[1] not in ("", kinds[0]):
        raise InputError(
            f"{change!r} changes {kinds[0]} into {kinds[1]}; a reshard only moves: write {kinds[0]}"
        )
    start, goal = (sharding.parse(t, axes, lengths) for t in texts)
    if start.shape != goal.shape:
        raise _other_dims(change, start.names)
    new = [a for a in goal.partial if a not in start.partial]
    if new:
        raise InputError(
            f"{change!r} would make partial sums over {','.join(new)} of what is none; "
            "leave {U} off the right side"
        )
    return start, replace(goal, names=start.names)


def _differ(left: str, right: str) -> bool:
    """Whether two dims cannot be one: two names, or two numbers."""
    return left != right and left.isdecimal() == right.isdecimal()


def _other_dims(change: str, dims: Sequence[str]) -> InputError:
    return InputError(
        f"{change!r}: both sides must have the same dims in the same order; the right one is "
        f"[{','.join(dims)}] too"
    )


def rows_of(steps: Sequence[Step], axes: Axes) -> list[Row]:
    """One row for each step."""
    return [_row(i, s, axes) for i, s in enumerate(steps, 1)]


def _row(i: int, s: Step, axes: Axes) -> Row:
    return {
        "step": i,
        "collective": s.move.name,
        "over": ",".join(s.move.over),
        "size_bytes": int(s.move.size) if s.move.size.is_integer() else s.move.size,
        "time_us": s.time * 1e6,
        "bound_us": s.answer.bound.seconds * 1e6 if s.answer else 0.0,
        "price": s.answer.price if s.answer else None,
        "algorithm": s.answer.algorithm if s.answer else None,
        "before": str(s.before),
        **_state(s.move.after, axes),
        "backward": TRANSPOSE[s.move.name],
    }


def _state(s: Sharding, axes: Axes) -> Row:
    return {
        "after": str(s),
        "device_bytes": sharding.device_bytes(s, axes),
        "placements": list(sharding.torch_placements(s, axes)),
        "partition_spec": sharding.partition_spec(s),
    }


def _nothing(s: Sharding, axes: Axes) -> Row:
    """The row of a reshard that has nothing to do."""
    empty = {"step": 0, "collective": "none", "over": "", "size_bytes": 0, "time_us": 0.0, "bound_us": 0.0}
    return {
        **empty,
        "price": None,
        "algorithm": None,
        "before": str(s),
        **_state(s, axes),
        "backward": "none",
    }


def _placed(shardings: Sequence[Sharding], axes: Axes) -> list[str]:
    """Placements as torch and JAX write them."""
    mesh = ", ".join(f"{a}={n}" for a, n in axes.items())
    lines = []
    for s in shardings:
        torch = "(" + ", ".join(sharding.torch_placements(s, axes)) + ")"
        if not sharding.torch_order(s, axes):
            torch += " with the axes of the mesh in the order of the dim"
        held = show_size(sharding.device_bytes(s, axes))
        lines.append(f"  {s}: torch {torch}, jax {sharding.partition_spec(s)}; {held} on each device")
    return [f"placements on ({mesh}):\n" + "\n".join(lines)]


def memory(cluster: Cluster, steps: Sequence[Step], axes: Axes) -> list[str]:
    """Whether what a step leaves fits in the memory of a device."""
    figure = cluster.figures.get("hbm.capacity")
    most = max((sharding.device_bytes(s.move.after, axes) for s in steps), default=0.0)
    have = math.inf if figure is None else figure.value / cluster.topology.cores
    if most <= have:
        return []
    worst = max(steps, key=lambda s: sharding.device_bytes(s.move.after, axes))
    return [
        f"memory: {worst.move.name} leaves {show_size(most)} on each device and HBM holds "
        f"{show_size(have)}; cut the array further, or stream it in parts"
    ]


def _backward(steps: Sequence[Step], goal: Sharding) -> list[str]:
    """The transposes, last step first."""
    sent = [s for s in reversed(steps) if s.answer is not None]
    if not sent:
        return []
    words = [f"{TRANSPOSE[s.move.name]} over {','.join(s.move.over)}" for s in sent]
    said = f"backward: {', then '.join(words)}, as long as forward"
    if "all_reduce" in {s.move.name for s in sent}:
        said += "; an all_reduce has none to do where its cotangent is the same on all devices already"
    return [said]


def _idle(prices: Prices, start: Sharding, goal: Sharding, total: float) -> list[str]:
    """Whether links of axes that neither side uses could help."""
    spare = [
        a
        for a in prices.axes
        if prices.axes[a] > 1 and a not in (*goal.sharded, *start.sharded, *start.partial)
    ]
    if not spare or not total or prices.where.cluster.topology.chips > _MOST_IDLE:
        return []
    steps = cheapest(prices, start, goal, idle=True)
    time = sum(s.time for s in steps)
    if time > _WORTH * total:
        return []
    words = [f"{s.move.name} over {','.join(s.move.over)}" for s in steps]
    return [
        f"idle links: {', '.join(spare)} hold copies; {', then '.join(words)} would take "
        f"{show_seconds(time)} instead of {show_seconds(total)}"
    ]
