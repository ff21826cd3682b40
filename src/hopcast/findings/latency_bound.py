"""The fixed time of the hops outweighs the bytes.

A faster link would not help; fewer steps or a larger size would.
"""

from hopcast.predict import Answer
from hopcast.units import show_seconds, show_size

SOURCE = "jax-ml scaling-book, chapter Sharding (latency-bound below about 45 kB per hop on a 45 GB/s link)"


def when(answer: Answer) -> str | None:
    """Latency is more than half of the time."""
    if answer.time == 0 or answer.latency <= answer.bandwidth:
        return None
    cross = answer.question.size * answer.latency / answer.bandwidth if answer.bandwidth > 0 else float("inf")
    return (
        f"latency is {answer.latency / answer.time:.0%} of the time "
        f"({show_seconds(answer.latency)} in {answer.schedule.step_count} steps); "
        f"bytes outweigh it from about {show_size(float(f'{cross:.2g}'))} on"
    )


def gain(answer: Answer) -> str:
    """Nothing but a larger or rarer message changes this."""
    return ""
