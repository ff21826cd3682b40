"""Sums in switches are 2 (n - 1) / n times as fast as a ring in theory, and less in practice."""

from hopcast import algorithms
from hopcast.ir.group import Hint
from hopcast.predict import Answer
from hopcast.units import show_seconds

SOURCE = (
    "ideal: Gordic 2026, Inside TPU and GPU clusters, part 6 (1.75 at 8 GPUs, about 1.3 in practice); "
    "measured: stas00/ml-engineering, network/benchmarks (H200, 8 GiB, NVLS on over off: 1.29 at 8 GPUs, "
    "1.00 at 4; B200 1.23 at 8), Scaling Book, https://jax-ml.github.io/scaling-book/gpus (H100, 8.6 GB: "
    "1.295), read 2026-11-29; between nodes: "
    "https://github.com/togethercomputer/together-nccl-tests (8 nodes of 8 B200, 32 GiB: busbw 546.3 GB/s "
    "with CollNet, 389.2 with rings), read 2026-11-30"
)
APPEARS = "predict all_reduce dgx-h100 --size 1GiB"
ABSENT = "predict all_reduce dgx-h100 --size 1GiB --algorithm ring"
_MEASURED = 1.3  # times as fast as rings on 8 GPUs, large sizes
_RINGS = 366 / 450  # of the rate of NVLink that rings reach there, in the same measurements
_BETWEEN, _RINGS_BETWEEN = 546.3, 389.2  # GB/s, busbw over nodes
_NICS = 400.0  # GB/s, of a node there: the ideal busbw of rings; sums on the way have 2 (n - 1) / n of it
_RANKS = 64
_NODES = 3  # over two it is another case


def when(answer: Answer) -> str | None:
    """all_reduce in the switches of a node or between nodes, where bytes outweigh latency."""
    q = answer.question
    by_switch = answer.algorithm.split(",")[0] in ("nvls", "sharp")
    if q.collective != "all_reduce" or not by_switch or answer.is_latency_bound:
        return None
    if q.group.levels:
        return _between_nodes(answer) if q.group.levels[0].ranks >= _NODES else None
    n = q.group.ranks
    cost = algorithms.get("ring").cost(q.collective, q.group, Hint(q.size, q.hint.alpha))
    if n < 3 or cost is None or cost.latency > cost.bandwidth or cost.total() <= answer.time:
        return None
    ring = cost.total()
    said = (
        f"a ring takes {show_seconds(ring)}: this is {ring / answer.time:.3g} times as fast, and a sum in "
        f"the switch at its best {2 * (n - 1) / n:.3g} times"
    )
    if n != 8:
        return f"{said}; measured on 8 GPUs it is about {_MEASURED} times"
    real = ring / _RINGS / _MEASURED
    return (
        f"{said}; measured on 8 GPUs it is about {_MEASURED} times as fast as real rings, which reach "
        f"{_RINGS:.0%} of the ideal: {show_seconds(real)} here"
    )


def _between_nodes(answer: Answer) -> str:
    """What was measured where switches between nodes add."""
    best = 2 * (_RANKS - 1) / _RANKS
    part = _BETWEEN / (best * _NICS)
    return (
        f"measured on 8 nodes of 8 B200, with {_NICS:g} GB/s of NICs each, sums in the switches between "
        f"nodes reach {part:.0%} of the ideal and rings {_RINGS_BETWEEN / _NICS:.0%}, so that the sums are "
        f"{_BETWEEN / _RINGS_BETWEEN:.2g} times as fast as rings and not {best:.3g} times; {part:.0%} here "
        f"is {show_seconds(answer.time / part)}"
    )


def gain(answer: Answer) -> str:
    """It is still the faster way."""
    return ""
