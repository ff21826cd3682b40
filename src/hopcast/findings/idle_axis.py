"""Links of other axes lie idle while this collective runs: spread over them too it could be faster."""

from hopcast.predict import Answer
from hopcast.units import show_seconds

SOURCE = (
    "jax-ml scaling-book, chapter Sharding (all_gather over several axes divides the time by their number)"
)


def when(answer: Answer) -> str | None:
    """It runs over some axes only, and the limit with all links is clearly lower than the bound of these."""
    q = answer.question
    axes = q.physical_axes
    if axes is None or q.group.ranks == 1 or answer.latency > answer.bandwidth:
        return None
    idle = [a.name for i, a in enumerate(q.cluster.topology.axes) if i not in axes and a.length > 1]
    if not idle or answer.limit.seconds > 0.99 * answer.bound.seconds:
        return None
    return (
        f"the links of {', '.join(idle)} are idle: with them the limit is {show_seconds(answer.limit.seconds)}, "
        f"on {','.join(q.over) or 'these axes'} alone {show_seconds(answer.bound.seconds)}"
    )


def gain(answer: Answer) -> str:
    """Sharding over all axes: another question, so no command answers this one faster."""
    return ""
