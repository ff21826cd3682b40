"""The fixed time of the hops outweighs the bytes.

A faster link would not help; fewer steps or a larger size would.
"""

import numpy as np

from hopcast.predict import Answer
from hopcast.units import show_rate, show_seconds, show_size

SOURCE = "jax-ml scaling-book, chapter Sharding (latency-bound below about 45 kB per hop on a 45 GB/s link)"
APPEARS = "predict all_gather v5e:4x4 --size 64KiB --over x"
ABSENT = "predict all_gather v5e:4x4 --size 64MiB --over x"


def when(answer: Answer) -> str | None:
    """Latency takes longer than the bytes on the busiest link."""
    if answer.time == 0 or not answer.is_latency_bound:
        return None
    count = answer.schedule.step_count
    bytes_take = answer.bandwidth
    cross = answer.question.size * answer.waits / bytes_take if bytes_take > 0 else float("inf")
    return (
        f"latency is {answer.waits / answer.time:.0%} of the time "
        f"({show_seconds(answer.waits)} in {count} step{'s' * (count > 1)}){_per_step(answer)}; "
        f"bytes outweigh it from about {show_size(float(f'{cross:.2g}'))} on"
    )


def _per_step(answer: Answer) -> str:
    """What the busiest link carries in a step, beside what it could in the step's latency."""
    load, topology = answer.load, answer.question.cluster.topology
    if load is None or not load.any():
        return ""
    used = np.flatnonzero(load)
    link = used[(load[used] / topology.bandwidth[used]).argmax()]
    steps = answer.schedule.step_count
    wait, rate = answer.waits / steps, float(topology.bandwidth[link])
    return (
        f": the busiest link carries {_round(load[link] / steps)} a step, and {_round(wait * rate)} would go "
        f"over it in the {show_seconds(wait)} that a step waits ({show_rate(rate)})"
    )


def _round(value: float) -> str:
    return show_size(float(f"{value:.3g}"))


def gain(answer: Answer) -> str:
    """Nothing but a larger or rarer message changes this."""
    return ""
