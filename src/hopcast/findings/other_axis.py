"""Along another axis of the slice the same array would take less time."""

from hopcast.ir import sharding
from hopcast.predict import Answer
from hopcast.units import show_seconds

from . import _command, _library

SOURCE = "jax-ml scaling-book, chapters TPUs and Sharding (an open axis takes twice as long as a wrapped one)"
APPEARS = "predict all_gather v5e:8x16 --size 64MiB --over x"
ABSENT = "predict all_gather v5e:8x16 --size 64MiB --over y"
_WORTH = 0.9  # said if at most this part of the time is left


def when(answer: Answer) -> str | None:
    """A collective over one axis, and by what the library runs another takes a tenth less."""
    found = _faster(answer)
    if found is None:
        return None
    name, time = found
    topology = answer.question.cluster.topology
    here, there = (next(a for a in topology.axes if a.name == n) for n in (answer.question.over[0], name))
    said = [f"{a.name} ({a.length} chips, {'wraps' if a.wraps else 'open'})" for a in (there, here)]
    return (
        f"over {said[0]} the same array takes {show_seconds(time)}, "
        f"over {said[1]} {show_seconds(answer.time)}"
    )


def gain(answer: Answer) -> str:
    """The same array over that axis."""
    found = _faster(answer)
    return "" if found is None else _command.predict(answer, over=found[0])


def _faster(answer: Answer) -> tuple[str, float] | None:
    """The axis of least time and that time, if it is worth it."""
    q = answer.question
    axes = q.physical_axes
    if len(q.over) != 1 or axes is None or len(axes) != 1 or q.schedule is not None:
        return None
    if q.cluster.topology.is_slices or sharding.is_sharded(q.said):  # then the axes say how large D is
        return None
    here = _library.seconds(q)
    others = [a.name for a in q.cluster.topology.axes if a.length > 1 and a.name != q.over[0]]
    times = [(t, n) for n in others if (t := _library.seconds(_library.elsewhere(q, over=(n,)))) is not None]
    if here is None or not times:
        return None
    time, name = min(times)
    return (name, time) if time <= _WORTH * min(here, answer.time) else None
