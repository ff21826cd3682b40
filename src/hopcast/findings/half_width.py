"""The array is of 4-byte numbers: as bf16 half the bytes would go."""

import re

from hopcast.predict import Answer
from hopcast.units import show_seconds, show_size

from . import _command

SOURCE = "derived: half the bytes at the same bandwidth; sums keep fewer bits"
APPEARS = "predict all_gather v5e:4x4 --size f32[2048,8192]"
ABSENT = "predict all_gather v5e:4x4 --size bf16[2048,8192]"
_WIDE = re.compile(r"\s*(f32|fp32|float32)(?=\[)")
_SUMS = ("reduce_scatter", "all_reduce", "reduce")


def when(answer: Answer) -> str | None:
    """The size was given as an array of f32, and bytes outweigh latency."""
    q = answer.question
    if not _WIDE.match(q.said) or answer.is_latency_bound:
        return None
    time = answer.latency + answer.bandwidth / 2
    loss = "; sums in bf16 keep 8 bits, so look at the loss" if q.collective in _SUMS else ""
    return (
        f"as bf16 the array has {show_size(q.size / 2)} instead of {show_size(q.size)} and takes about "
        f"{show_seconds(time)} instead of {show_seconds(answer.time)}{loss}"
    )


def gain(answer: Answer) -> str:
    """The same array as bf16."""
    return _command.predict(answer, said=_WIDE.sub("bf16", answer.question.said))
