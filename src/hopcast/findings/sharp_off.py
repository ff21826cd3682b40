"""The switches between nodes could add (SHARP), and are not asked to."""

from dataclasses import replace

from hopcast import algorithms
from hopcast.predict import Answer
from hopcast.units import show_seconds

from . import _command

SOURCE = (
    "Graham et al. 2016, doi:10.1109/COMHPC.2016.006 (reduction in InfiniBand switches); measured: "
    "https://github.com/togethercomputer/together-nccl-tests (8 nodes of 8 B200, 32 GiB: busbw 546 GB/s "
    "with CollNet, 389 with rings), read 2026-11-30"
)
APPEARS = "predict all_reduce dgx-h100:8 --size 8GiB"
ABSENT = "predict all_reduce dgx-h100:8,sharp=off --size 8GiB"
_NODES = 3  # between two, trees of nodes are faster (busbw 720 GB/s against 598, the same source)
_WORTH = 0.9  # said if at most this part of the time is left
_MEASURED = 546.3 / 389.2


def when(answer: Answer) -> str | None:
    """all_reduce of much data between nodes whose switches reduce, by other means."""
    q = answer.question
    asked = q.collective == "all_reduce" and q.schedule is None and len(q.group.levels) > 1
    if (
        not asked
        or q.group.levels[0].ranks < _NODES
        or answer.algorithm.split(",")[0] == "sharp"
        or answer.is_latency_bound
    ):
        return None
    why_not = algorithms.get("sharp").valid(q.collective, q.group, replace(q.hint, options={}))
    least = answer.limit.seconds
    if why_not is not None or least > _WORTH * answer.time:
        return None
    return (
        f"the switches between nodes can add (SHARP), which takes {show_seconds(least)} at best instead of "
        f"{show_seconds(answer.time)}, {answer.time / least:.3g} times as fast; measured on 8 nodes it is "
        f"{_MEASURED:.2g} times"
    )


def gain(answer: Answer) -> str:
    """The same with it."""
    return _command.predict(answer, algorithm="sharp")
