"""An axis of this slice is open, its ends not joined: it takes about twice as long as a ring."""

from hopcast.predict import Answer

SOURCE = "jax-ml scaling-book, chapters TPUs and Sharding; Google Cloud TPU v5p documentation, read 2026-11"


def when(answer: Answer) -> str | None:
    """A TPU slice, and an axis of the collective of length 3 or more that does not wrap."""
    q = answer.question
    axes = q.physical_axes
    if q.cluster.library != "xla" or axes is None or q.group.ranks == 1:
        return None
    open_axes = [q.cluster.topology.axes[a] for a in axes]
    open_axes = [a for a in open_axes if a.length > 2 and not a.wraps]
    if not open_axes:
        return None
    names = ", ".join(f"{a.name} (length {a.length})" for a in open_axes)
    several = len(open_axes) > 1
    return (
        f"{'axes' if several else 'axis'} {names} of {q.cluster.topology.name} "
        f"{'do' if several else 'does'} not wrap around: {_rule(q.cluster.family)}"
    )


def _rule(family: str) -> str:
    if family in ("v5e", "v6e"):
        return f"on {family} an axis wraps only at length 16"
    return f"on {family} axes wrap only where every axis is a multiple of 4"


def gain(answer: Answer) -> str:
    """The slice shapes of as many chips, ranked."""
    q = answer.question
    return (
        f"hopcast show {q.cluster.family}:16x16"
        if q.cluster.family in ("v5e", "v6e")
        else f"hopcast show {q.cluster.family}:4x4x4"
    )
